/*
 * torture_produce.c - a process that writes transactions, one after the other, until it
 * is told that it is enough, or until it is killed in the middle of one.
 *
 * Whether a transaction has committed is noted before and after: one whose process was
 * killed in between is in doubt.
 */
#include <signal.h>
#include <string.h>

#include "crash/torture/torture_shared.h"
#include "db/connection.h"
#include "kit/db/adopted.h"
#include "kit/outbox/effects.h"
#include "weir/outbox.h"

/* At most so many messages wait: what is killed is to be in the middle of work, not of
 * a backlog. */
enum { MESSAGES_MAX = 40, WAITING_MAX = 1500, PAYLOAD_SIZE = 200 };

struct producer {
    struct torture *run;
    struct weir_db *db;
    struct weir_outbox *outbox;
    uint32_t transaction;
    struct weir_draft drafts[MESSAGES_MAX];
    char payloads[MESSAGES_MAX][PAYLOAD_SIZE];
    struct weir_error error;
};

/* The world is to blame, and will be better. */
static bool is_passing(enum weir_status status)
{
    return weir_status_class(status) == WEIR_CLASS_RETRY;
}

static void must(struct producer *self, const char *what, enum weir_status status)
{
    if (status != WEIR_OK && !is_passing(status))
        rig_give_up(&self->run->rig, "%s: %s: %s", what, weir_status_name(status),
                    self->error.text);
}

static void pass(struct producer *self, const char *place)
{
    torture_pass(self->run, place);
}

/* Inside a transaction. On SQLite everybody waits for it. */
static void linger(struct producer *self)
{
    uint32_t us = rig_roll(&self->run->rig, 30000);

    rig_rest_us(self->run->rig.fixture->engine == WEIR_SQLITE ? us / 30 : us);
}

/* ---- messages ---------------------------------------------------------------------- */

static void swap(struct weir_draft *a, struct weir_draft *b)
{
    struct weir_draft other = *a;

    *a = *b;
    *b = other;
}

static void make_drafts(struct producer *self, int queue, uint32_t count)
{
    struct torture *run = self->run;

    for (uint32_t i = 0; i < count; i++) {
        int32_t partition = (int32_t)rig_roll(&run->rig, TORTURE_PARTITIONS);
        struct delivery_audit_note note =
            delivery_audit_write(run->delivery_audit, self->transaction,
                                 queue * TORTURE_PARTITIONS + partition);

        memcpy(self->payloads[i], &note, sizeof note);
        self->drafts[i] = (struct weir_draft){
            .route = weir_route_to_partition(partition),
            .type = "text",
            .payload = self->payloads[i],
            .payload_size =
                sizeof note + rig_roll(&run->rig, PAYLOAD_SIZE - (uint32_t)sizeof note)};
    }
    for (uint32_t i = 0; run->options->plant == TORTURE_ENQUEUE_INVERTED && i < count / 2;
         i++)
        swap(&self->drafts[i], &self->drafts[count - 1 - i]);
}

static enum weir_status write_to(struct producer *self,
                                 struct weir_connection *connection, int queue,
                                 uint32_t count)
{
    make_drafts(self, queue, count);
    return weir_enqueue_batch(self->outbox, connection, TORTURE_QUEUE_NAMES[queue],
                              self->drafts, count, NULL, &self->error);
}

/* One to many, for both queues. */
static enum weir_status write_some(struct producer *self,
                                   struct weir_connection *connection)
{
    struct torture *run = self->run;
    uint32_t most = rig_roll(&run->rig, 10) == 0 ? MESSAGES_MAX : 5;
    enum weir_status status = WEIR_OK;

    for (int queue = 0; queue < TORTURE_QUEUES && status == WEIR_OK; queue++) {
        status = write_to(self, connection, queue, 1 + rig_roll(&run->rig, most));
        pass(self, "producer.written");
        if (connection != NULL)
            linger(self);
    }
    return status;
}

/* ---- transactions ------------------------------------------------------------------ */

static _Atomic uint32_t *committing(struct producer *self)
{
    return &self->run->shared->transaction[self->run->rig.slot];
}

static void begin_commit(struct producer *self)
{
    atomic_store(committing(self), self->transaction);
}

static void end_commit(struct producer *self, enum weir_status status)
{
    must(self, "commit", status);
    pass(self, "producer.committed");
    if (status == WEIR_OK)
        (void)delivery_audit_commit(self->run->delivery_audit, self->transaction);
    else if (status == WEIR_IN_DOUBT)
        delivery_audit_doubt(self->run->delivery_audit, self->transaction);
    atomic_store(committing(self), 0);
}

/* A call that is a transaction by itself. */
static void write_alone(struct producer *self)
{
    struct torture *run = self->run;
    int queue = (int)rig_roll(&run->rig, TORTURE_QUEUES);

    begin_commit(self);
    end_commit(self, write_to(self, NULL, queue, 1 + rig_roll(&run->rig, 5)));
}

static enum weir_status write_inside(struct producer *self,
                                     struct weir_connection *connection)
{
    enum weir_status status = WEIR_OK;
    bool outside = self->run->options->plant == TORTURE_ENQUEUE_OUTSIDE;

    if (outside)
        status = write_some(self, NULL);
    if (status == WEIR_OK)
        status = weir_connection_begin(connection, &self->error);
    pass(self, "producer.begun");
    if (status == WEIR_OK && !outside)
        status = write_some(self, connection);
    return status;
}

static void write_on(struct producer *self, struct weir_connection *connection)
{
    bool keep = rig_roll(&self->run->rig, 6) > 0;
    enum weir_status status = write_inside(self, connection);

    must(self, "write", status);
    if (status != WEIR_OK || !keep) {
        weir_connection_rollback(connection);
        return;
    }
    begin_commit(self);
    end_commit(self, weir_connection_commit(connection, &self->error));
}

static void write_transaction(struct producer *self)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, &self->error);

    must(self, "connect", status);
    if (status != WEIR_OK)
        return;
    write_on(self, connection);
    weir_db_release(self->db, connection);
}

/* ---- on a connection of the application's ------------------------------------------ */

/* Whatever goes wrong in a COMMIT, it may have been done. */
static void commit_adopted(struct producer *self, struct weir_connection *connection)
{
    begin_commit(self);
    end_commit(self, effects_run(connection, "COMMIT") ? WEIR_OK : WEIR_IN_DOUBT);
}

static void write_adopted_on(struct producer *self, struct weir_connection *connection)
{
    bool keep = rig_roll(&self->run->rig, 6) > 0;
    enum weir_status status;

    if (!effects_run(connection, "BEGIN"))
        return;
    pass(self, "producer.begun");
    status = write_some(self, connection);
    must(self, "write on an adopted connection", status);
    if (status == WEIR_OK && keep)
        commit_adopted(self, connection);
    else
        (void)effects_run(connection, "ROLLBACK");
}

static void write_adopted(struct producer *self)
{
    struct adopted adopted;
    enum weir_status status =
        adopted_open(&adopted, self->run->rig.fixture, self->db, &self->error);

    must(self, "adopt", status);
    if (status == WEIR_OK)
        write_adopted_on(self, adopted.connection);
    adopted_close(&adopted);
}

/* ---- all of it --------------------------------------------------------------------- */

static bool is_far_ahead(const struct torture *run)
{
    int64_t delivered = delivery_audit_delivered(run->delivery_audit, TORTURE_SINGLE);
    int64_t other = delivery_audit_delivered(run->delivery_audit, TORTURE_TOGETHER);

    return delivery_audit_committed(run->delivery_audit) -
               (delivered < other ? delivered : other) >
           WAITING_MAX;
}

static void write_all(struct producer *self)
{
    struct torture *run = self->run;

    while (!rig_must_leave(&run->rig)) {
        uint32_t luck = rig_roll(&run->rig, 10);

        if (is_far_ahead(run)) {
            rig_rest_us(5000);
            continue;
        }
        self->transaction = delivery_audit_begin(run->delivery_audit);
        if (self->transaction == 0)
            rig_give_up(&run->rig, "the ledger is full");
        if (luck < 2 && run->options->plant != TORTURE_ENQUEUE_OUTSIDE)
            write_alone(self);
        else if (luck < 4 && run->options->plant != TORTURE_ENQUEUE_OUTSIDE)
            write_adopted(self);
        else
            write_transaction(self);
        rig_rest_us(rig_roll(&run->rig, 20000));
    }
}

void torture_produce(struct torture *run)
{
    static struct producer self; /* large */
    struct weir_outbox_options options;
    enum weir_status status;

    self.run = run;
    self.db = rig_open_db(&run->rig);
    (void)signal(SIGPIPE, SIG_IGN); /* drivers write to servers that are gone */
    weir_error_clear(&self.error);
    weir_outbox_options_init(&options);
    options.db = self.db;
    options.stats_interval_ns = 0;
    while ((status = weir_outbox_create(&options, &self.outbox, &self.error)) !=
           WEIR_OK) {
        must(&self, "create", status);
        rig_rest_us(5000);
    }
    rig_be_ready(&run->rig);
    write_all(&self);
    weir_outbox_destroy(self.outbox);
    weir_db_destroy(self.db);
}
