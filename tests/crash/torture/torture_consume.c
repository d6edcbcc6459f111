/*
 * torture_consume.c - a process that serves both queues, from its start until it must
 * leave, or until it is killed. What its handlers are given is noted before they do
 * anything else.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "crash/torture/torture_shared.h"
#include "db/connection.h"
#include "kit/outbox/effects.h"
#include "outbox/outbox.h"
#include "weir/outbox.h"

/* A handler takes so long for a message, at most: most signals find one at work. */
enum { HANDLING_US_MAX = 4000, HANDLERS = 6, STOP_S = 30 };

struct consumer {
    struct torture *run;
    struct weir_outbox *outbox;
};

/* A handler of one subscription. */
struct reader {
    struct torture *run;
    int queue;
    int stream;
};

/* ---- handlers ---------------------------------------------------------------------- */

/* A bug that was planted shows in some messages, whoever has them. */
static bool is_planted(const struct reader *self, enum torture_plant plant,
                       const struct weir_message *message)
{
    return self->run->options->plant == plant && message->seq % 10 == 7;
}

static void note(const struct reader *self, const struct weir_message *message)
{
    struct torture_shared *shared = self->run->shared;
    size_t slot = atomic_fetch_add(&shared->record_count, 1);
    struct torture_record *record;

    if (slot >= TORTURE_RECORDS_MAX)
        rig_give_up(&self->run->rig, "there is no room for more records");
    record = &shared->records[slot];
    record->lane = (uint8_t)torture_lane(self->stream, self->queue, message->partition);
    record->process = self->run->rig.process;
    if (is_planted(self, TORTURE_WRONG_PROCESS, message))
        record->process = TORTURE_NOBODY;
    record->seq = message->seq;
    record->epoch = message->epoch;
    record->at_us = process_set_now_us();
    if (is_planted(self, TORTURE_WORK_LATE, message))
        record->at_us += 1000000;
    memcpy(record->uid, message->uid, WEIR_UID_SIZE);
    atomic_store(&record->written, true);
    delivery_audit_deliver(self->run->delivery_audit, self->stream,
                           self->queue * TORTURE_PARTITIONS + message->partition,
                           message->seq, message->payload, message->payload_size);
}

/* The same message takes the same time wherever it comes. */
static void work(const struct reader *self, const struct weir_message *message)
{
    uint64_t luck = rig_mix(self->run->options->rig.seed ^ (uint64_t)message->seq << 8 ^
                            (uint64_t)message->partition);

    note(self, message);
    if (self->run->rig.fixture->engine != WEIR_SQLITE || self->queue == TORTURE_LEASED)
        rig_rest_us((uint32_t)(luck % HANDLING_US_MAX));
}

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    (void)context;
    work(state, message);
    if (is_planted(state, TORTURE_RETRY_DONE, message) && message->attempts == 0)
        return weir_retry(reason, "once more");
    if (is_planted(state, TORTURE_REJECT, message))
        return weir_reject(reason, "not this one");
    return WEIR_DONE;
}

static enum weir_outcome on_batch(struct weir_context *context, void *state,
                                  struct weir_batch *batch, struct weir_reason *reason)
{
    const struct weir_message *message;
    struct weir_error error;

    (void)context;
    while (!weir_batch_stopped(batch) && (message = weir_batch_next(batch)) != NULL) {
        work(state, message);
        if (weir_batch_ack(batch, &error) != WEIR_OK)
            return weir_retry(reason, "too late");
    }
    return weir_batch_processed(batch) < weir_batch_count(batch)
               ? weir_retry(reason, "stopped")
               : WEIR_DONE;
}

static bool write_effect(const struct reader *self, struct weir_connection *connection,
                         const struct weir_message *message)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql, "INSERT INTO effect VALUES (%d, %lld)",
                   torture_lane(self->stream, self->queue, message->partition),
                   (long long)message->seq);
    return effects_run(connection, sql);
}

static enum weir_outcome on_message_tx(struct weir_context *context, void *state,
                                       struct weir_connection *connection,
                                       const struct weir_message *message,
                                       struct weir_reason *reason)
{
    (void)context;
    work(state, message);
    return write_effect(state, connection, message) ? WEIR_DONE
                                                    : weir_retry(reason, "no effect");
}

static enum weir_outcome on_batch_tx(struct weir_context *context, void *state,
                                     struct weir_connection *connection,
                                     struct weir_batch *batch, struct weir_reason *reason)
{
    const struct weir_message *message;
    struct weir_error error;

    (void)context;
    while (!weir_batch_stopped(batch) && (message = weir_batch_next(batch)) != NULL) {
        work(state, message);
        if (!write_effect(state, connection, message) ||
            weir_batch_ack(batch, &error) != WEIR_OK)
            return weir_retry(reason, "no effect");
    }
    return weir_batch_processed(batch) < weir_batch_count(batch)
               ? weir_retry(reason, "stopped")
               : WEIR_DONE;
}

/* ---- being held up ----------------------------------------------------------------- */

static const struct weir_sql SQL_KNOCK = {
    .name = "knock",
    .text = "INSERT INTO knock VALUES ({1})",
    .parameters = "i",
};

/* As a renewal of leases would, to see how long one takes now. That one fails tells the
 * same. */
static void knock(const struct torture *run, struct weir_db *db)
{
    struct weir_connection *connection;
    struct weir_error error;

    if (weir_db_acquire(db, &connection, &error) != WEIR_OK)
        return;
    if (weir_connection_execute(connection, &SQL_KNOCK,
                                VALUES(weir_integer(run->rig.process)), NULL,
                                &error) != WEIR_OK)
        rig_rest_us(10000);
    weir_db_release(db, connection);
}

/* Notes when this process was not let run, or got no answer, for longer than leases
 * allow. SQLite has no server that could be slow. */
static void *watch(void *argument)
{
    struct torture *run = argument;
    struct weir_db *db =
        run->rig.fixture->engine != WEIR_SQLITE ? rig_open_db(&run->rig) : NULL;
    int64_t most_us = run->options->rig.lease_ms * 1000 / 5;
    int64_t before_us = process_set_now_us();

    for (;;) {
        int64_t now_us;

        rig_rest_us(10000);
        if (db != NULL)
            knock(run, db);
        now_us = process_set_now_us();
        if (now_us - before_us > most_us)
            (void)torture_add_fault(run->shared,
                                    &(struct torture_fault){.kind = TORTURE_HELD_UP,
                                                            .process = run->rig.process,
                                                            .begin_us = before_us,
                                                            .end_us = now_us});
        before_us = now_us;
    }
    return NULL;
}

static void start_watch(struct torture *run)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, watch, run) != 0)
        rig_give_up(&run->rig, "no thread");
    (void)pthread_detach(thread);
}

/* ---- serving ----------------------------------------------------------------------- */

/* Try again while that may help. */
static bool failed(struct consumer *self, const char *what, enum weir_status status,
                   const struct weir_error *error)
{
    if (rig_went_well(&self->run->rig, what, status, error))
        return false;
    rig_rest_us(5000);
    return true;
}

static void choose_handler(const struct reader *reader,
                           struct weir_handler_options *options)
{
    if (reader->queue == TORTURE_LEASED && reader->stream == TORTURE_SINGLE)
        options->on_message = on_message;
    else if (reader->queue == TORTURE_LEASED)
        options->on_batch = on_batch;
    else if (reader->stream == TORTURE_SINGLE)
        options->on_message_tx = on_message_tx;
    else
        options->on_batch_tx = on_batch_tx;
}

static void add_handler(struct consumer *self, struct reader *reader)
{
    struct weir_tuning tuning = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE);
    int64_t lease_ms = self->run->options->rig.lease_ms;
    struct weir_handler_options options;
    struct weir_error error;

    weir_error_clear(&error);
    tuning.batch = TORTURE_BATCH;
    tuning.retry_base_ns = WEIR_MILLISECONDS(5);
    tuning.retry_max_ns = WEIR_MILLISECONDS(50);
    weir_handler_options_init(&options);
    options.queue = TORTURE_QUEUE_NAMES[reader->queue];
    options.subscription = TORTURE_SUBSCRIPTIONS[reader->stream];
    options.state = reader;
    options.tuning = &tuning;
    options.lease.duration_ns = WEIR_MILLISECONDS(lease_ms);
    options.lease.headroom_ns = WEIR_MILLISECONDS(lease_ms) / 5;
    choose_handler(reader, &options);
    while (failed(self, "add handler",
                  weir_outbox_add_handler(self->outbox, &options, &error), &error))
        continue;
}

static void start(struct consumer *self, struct weir_db *db, struct reader *readers)
{
    struct torture *run = self->run;
    struct weir_tuning sweep = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_SWEEP);
    struct weir_outbox_options options;
    struct weir_error error;

    weir_error_clear(&error);
    sweep.idle_ns = WEIR_MILLISECONDS(200);
    weir_outbox_options_init(&options);
    options.db = db;
    options.profile = WEIR_PROFILE_LOW_LATENCY;
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.handlers = HANDLERS;
    options.stats_interval_ns = 0;
    while (failed(self, "create", weir_outbox_create(&options, &self->outbox, &error),
                  &error))
        continue;
    weir_outbox_set_fault_points(self->outbox, &run->shared->rig.points);
    for (int i = 0; i < TORTURE_QUEUES * DELIVERY_AUDIT_STREAMS; i++) {
        readers[i] =
            (struct reader){run, i / DELIVERY_AUDIT_STREAMS, i % DELIVERY_AUDIT_STREAMS};
        add_handler(self, &readers[i]);
    }
    while (failed(self, "start", weir_outbox_start(self->outbox, &error), &error))
        continue;
}

void torture_consume(struct torture *run)
{
    struct consumer self = {.run = run};
    struct reader readers[TORTURE_QUEUES * DELIVERY_AUDIT_STREAMS];
    struct weir_db *db;

    (void)signal(SIGPIPE, SIG_IGN);
    atomic_fetch_add(&run->shared->consumers, 1);
    start_watch(run);
    db = rig_open_db(&run->rig);
    start(&self, db, readers);
    rig_be_ready(&run->rig);
    while (!rig_must_leave(&run->rig))
        rig_rest_us(5000);
    if (weir_outbox_stop(self.outbox, WEIR_SECONDS(STOP_S)) != 0)
        rig_give_up(&run->rig, "a consumer does not stop");
    weir_outbox_destroy(self.outbox);
    weir_db_destroy(db);
}
