/*
 * order_write.c - a process that writes transactions of all kinds, one after the other.
 */
#include <string.h>
#include <sys/mman.h>

#include "crash/order/order_shared.h"
#include "db/connection.h"
#include "kit/outbox/sql_producer.h"
#include "weir/outbox.h"

enum {
    BATCH_ROWS = 500, /* of a large transaction, between two looks at the commits */
    PAYLOAD_MAX = 40 * 1024
};

/* Inside a transaction. On SQLite everybody waits for it. */
static void linger(struct order_run *self, uint32_t us_max)
{
    uint32_t us = rig_roll(&self->rig, us_max);

    rig_rest_us(self->rig.fixture->engine == WEIR_SQLITE ? us / 50 : us);
}

struct writer {
    struct order_run *run;
    struct weir_outbox *outbox;
    struct weir_db *db;
    struct weir_connection *connection;
    bool in_sql;
    uint32_t transaction;
    struct weir_draft drafts[BATCH_ROWS];
    char *payloads; /* BATCH_ROWS of PAYLOAD_MAX; only the beginnings are touched */
    struct weir_error error;
};

static size_t roll_size(struct order_run *run)
{
    uint32_t luck = rig_roll(&run->rig, 1000);
    size_t head = sizeof(struct delivery_audit_note);

    if (luck == 0)
        return PAYLOAD_MAX;
    return luck < 20 ? head + rig_roll(&run->rig, 4000) : head + rig_roll(&run->rig, 64);
}

/* One after the other; a transaction by itself is one of them. */
static enum weir_status enqueue_in_sql(struct writer *self, uint32_t count)
{
    enum weir_status status = WEIR_OK;

    for (uint32_t i = 0; i < count && status == WEIR_OK; i++)
        status =
            sql_producer_enqueue(self->connection, ORDER_QUEUE, DELIVERY_AUDIT_PARTITIONS,
                                 &self->drafts[i], &self->error);
    return status;
}

/* So many messages, in one call. */
static enum weir_status write_batch(struct writer *self,
                                    struct weir_connection *connection, uint32_t count)
{
    struct order_run *run = self->run;

    for (uint32_t i = 0; i < count; i++) {
        int32_t partition = (int32_t)rig_roll(&run->rig, DELIVERY_AUDIT_PARTITIONS);
        char *payload = self->payloads + (size_t)i * PAYLOAD_MAX;
        struct delivery_audit_note note =
            delivery_audit_write(run->delivery_audit, self->transaction, partition);

        memcpy(payload, &note, sizeof note);
        self->drafts[i] = (struct weir_draft){.route = weir_route_to_partition(partition),
                                              .type = "text",
                                              .payload = payload,
                                              .payload_size = roll_size(run)};
    }
    if (self->in_sql)
        return enqueue_in_sql(self, count);
    return weir_enqueue_batch(self->outbox, connection, ORDER_QUEUE, self->drafts, count,
                              NULL, &self->error);
}

/* So many, `at_once` of them in a call, with up to `us` between two calls. */
static enum weir_status write_many(struct writer *self, uint32_t count, uint32_t at_once,
                                   uint32_t us)
{
    enum weir_status status = WEIR_OK;

    while (count > 0 && status == WEIR_OK) {
        uint32_t n = count < at_once ? count : at_once;

        status = write_batch(self, self->connection, n);
        count -= n;
        if (us > 0)
            linger(self->run, us);
    }
    return status;
}

/* The transaction has a number long before it has a message. */
static enum weir_status write_late(struct writer *self)
{
    const char *text = self->run->rig.fixture->engine == WEIR_POSTGRESQL
                           ? "SELECT pg_current_xact_id()"
                           : "DELETE FROM {p}_meta WHERE name = 'nobody'";
    enum weir_status status =
        weir_connection_execute_text(self->connection, text, &self->error);

    linger(self->run, 60000);
    return status == WEIR_OK ? write_many(self, order_roll_between(self->run, 1, 8), 1, 0)
                             : status;
}

/* Some of its messages are taken back. */
static enum weir_status write_and_undo(struct writer *self)
{
    struct order_run *run = self->run;
    uint32_t count = order_roll_between(run, 1, 4);
    enum weir_status status = write_many(self, order_roll_between(run, 1, 4), 1, 0);

    if (status == WEIR_OK)
        status = weir_connection_savepoint(self->connection, &self->error);
    if (status == WEIR_OK)
        status = write_batch(self, self->connection, count);
    if (status != WEIR_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        delivery_audit_undo(run->delivery_audit, self->transaction,
                            self->drafts[i].route.partition);
    status = weir_connection_savepoint_undo(self->connection, &self->error);
    return status == WEIR_OK ? write_many(self, order_roll_between(run, 1, 4), 1, 0)
                             : status;
}

static enum weir_status write_sleepily(struct writer *self)
{
    enum weir_status status = write_many(self, order_roll_between(self->run, 1, 5), 2, 0);

    linger(self->run, 200000);
    return status;
}

/* What is between BEGIN and its end; *keep: commit. */
static enum weir_status write_body(struct writer *self, bool *keep)
{
    struct order_run *run = self->run;
    uint32_t luck = rig_roll(&run->rig, 1000);

    *keep = true;
    if (luck < 450)
        return write_many(self, order_roll_between(run, 1, 5), 1, 0);
    if (luck < 550) {
        *keep = false;
        return write_many(self, order_roll_between(run, 1, 60), 7, 500);
    }
    if (luck < 650)
        return write_many(self, order_roll_between(run, 5, 20), 1, 4000);
    if (luck < 750)
        return write_late(self);
    if (luck < 820)
        return write_sleepily(self);
    if (luck < 900)
        return write_and_undo(self);
    if (luck < 996)
        return write_many(self, order_roll_between(run, 20, 120), 40, 1000);
    *keep = rig_roll(&run->rig, 4) > 0;
    return write_many(self, (uint32_t)run->options->large + rig_roll(&run->rig, 1000),
                      BATCH_ROWS, 20000);
}

/* However fast they are, outages find everybody at work. */
static void note_commit(struct writer *self)
{
    const struct order_options *options = self->run->options;
    struct order_shared *shared = self->run->shared;

    if (delivery_audit_commit(self->run->delivery_audit, self->transaction) >=
            options->messages &&
        atomic_load(&shared->outages) == options->outages)
        atomic_store(&shared->written, true);
}

/* The connection is gone: another one, when there is a server again. */
static void connect_anew(struct writer *self)
{
    struct order_run *run = self->run;
    enum weir_status status;

    weir_db_release(self->db, self->connection);
    self->connection = NULL;
    while ((status = weir_db_acquire(self->db, &self->connection, &self->error)) !=
               WEIR_OK &&
           order_is_passing(run, status) && !atomic_load(&run->shared->written))
        rig_rest_us(5000);
    if (!atomic_load(&run->shared->written))
        order_must(run, "connect", status, &self->error);
}

static void note_failure(struct writer *self, const char *what, enum weir_status status)
{
    if (!order_is_passing(self->run, status))
        order_must(self->run, what, status, &self->error);
    if (status == WEIR_IN_DOUBT)
        delivery_audit_doubt(self->run->delivery_audit, self->transaction);
}

static void write_transaction(struct writer *self)
{
    bool keep = true;
    enum weir_status status = weir_connection_begin(self->connection, &self->error);

    if (status == WEIR_OK)
        status = write_body(self, &keep);
    if (status == WEIR_OK && keep)
        status = weir_connection_commit(self->connection, &self->error);
    else
        weir_connection_rollback(self->connection);
    if (status != WEIR_OK)
        note_failure(self, "write", status);
    else if (keep)
        note_commit(self);
    if (status != WEIR_OK && self->run->options->outages > 0)
        connect_anew(self);
}

/* A call that is a transaction by itself. */
static void write_alone(struct writer *self)
{
    uint32_t count = self->in_sql ? 1 : order_roll_between(self->run, 1, 8);
    enum weir_status status = write_batch(self, NULL, count);

    if (status == WEIR_OK)
        note_commit(self);
    else
        note_failure(self, "enqueue", status);
}

static void write_all(struct writer *self)
{
    struct order_run *run = self->run;
    struct order_shared *shared = run->shared;

    while (!atomic_load(&shared->written)) {
        atomic_fetch_add(&shared->busy, 1);
        if (!atomic_load(&shared->lull)) {
            self->transaction = delivery_audit_begin(run->delivery_audit);
            if (self->transaction == 0)
                rig_give_up(&run->rig, "the ledger is full");
            if (rig_roll(&run->rig, 5) == 0)
                write_alone(self);
            else
                write_transaction(self);
        }
        atomic_fetch_sub(&shared->busy, 1);
        rig_rest_us(atomic_load(&shared->lull) ? 2000 : rig_roll(&run->rig, 2000));
    }
}

void order_write(struct order_run *run, uint32_t number)
{
    struct writer self = {.run = run};
    struct weir_outbox_options options;
    size_t size = (size_t)BATCH_ROWS * PAYLOAD_MAX;

    run->rig.chance = rig_mix(run->options->seed ^ (number + 1) * 1000003U);
    weir_error_clear(&self.error);
    self.payloads = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (self.payloads == MAP_FAILED)
        rig_give_up(&run->rig, "no memory for payloads");
    weir_outbox_options_init(&options);
    options.db = rig_open_db(&run->rig);
    options.stats_interval_ns = 0;
    order_must(run, "create", weir_outbox_create(&options, &self.outbox, &self.error),
               &self.error);
    self.db = options.db;
    order_must(run, "connect", weir_db_acquire(self.db, &self.connection, &self.error),
               &self.error);
    self.in_sql = run->options->in_sql && number % 2 == 1;
    if (self.in_sql && !sql_producer_prepare(self.connection))
        rig_give_up(&run->rig, "the extension for SQLite cannot be loaded");
    write_all(&self);
    weir_db_release(self.db, self.connection);
    weir_outbox_destroy(self.outbox);
    weir_db_destroy(self.db);
}
