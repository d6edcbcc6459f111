/*
 * outbox_load.c - see outbox_load.h.
 */
#include "lib/outbox_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/inspect.h>
#include <weir/stats.h>

#include "lib/clock.h"
#include "lib/must.h"

/* A message that is held must not cost its lease. */
#define LEASE_NS WEIR_HOURS(1)

/* A sweep that has more to do comes back within a second. */
#define SWEEP_OVER_NS WEIR_MILLISECONDS(1500)
#define LOOK_NS WEIR_MILLISECONDS(50)

enum { WAIT_LIMIT_S = 600 };

/* ---- the handler ------------------------------------------------------------------- */

static void wait_while_stuck(struct bench_outbox_load *self, int32_t partition)
{
    (void)pthread_mutex_lock(&self->lock);
    while (atomic_load(&self->stuck) == partition)
        (void)pthread_cond_wait(&self->change, &self->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

static void tell(struct bench_outbox_load *self)
{
    (void)pthread_mutex_lock(&self->lock);
    (void)pthread_cond_broadcast(&self->change);
    (void)pthread_mutex_unlock(&self->lock);
}

static bool is_next(struct bench_reader *reader, const struct weir_message *message)
{
    bool next = message->seq == ++reader->seq;
    uint64_t count = 0;

    if (message->header_count > 0)
        return next; /* requeued */
    if (message->payload_size == BENCH_PAYLOAD_SIZE)
        memcpy(&count, message->payload, sizeof count);
    return count == ++reader->count && next;
}

/* Behind the counter of its partition a payload has the number of its letter. */
static void note_time(struct bench_outbox_load *self, const struct weir_message *message)
{
    uint64_t number = 0;

    if (self->entered_ns == NULL || message->payload_size != BENCH_PAYLOAD_SIZE)
        return;
    memcpy(&number, (const char *)message->payload + sizeof number, sizeof number);
    if (number - self->timed_from < self->timed_count)
        self->entered_ns[number - self->timed_from] = bench_now_ns();
}

void bench_outbox_load_time(struct bench_outbox_load *self, int64_t *entered_ns,
                            uint64_t count)
{
    self->timed_from = self->writer.next;
    self->timed_count = count;
    self->entered_ns = entered_ns;
}

void bench_outbox_load_take(struct bench_outbox_load *self,
                            const struct weir_message *message)
{
    if (!is_next(&self->readers[message->partition], message))
        (void)atomic_fetch_add(&self->disorder, 1);
    if (atomic_fetch_add(&self->taken, 1) + 1 == atomic_load(&self->awaited))
        tell(self);
}

static enum weir_outcome take(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct bench_outbox_load *self = state;

    (void)context;
    note_time(self, message);
    if (atomic_load_explicit(&self->stuck, memory_order_relaxed) == message->partition)
        wait_while_stuck(self, message->partition);
    bench_outbox_load_take(self, message);
    if (atomic_load_explicit(&self->rejecting, memory_order_relaxed))
        return weir_reject(reason, "nobody wants it");
    return WEIR_DONE;
}

/* ---- life -------------------------------------------------------------------------- */

static void init(struct bench_outbox_load *self)
{
    pthread_condattr_t attributes;

    memset(self, 0, sizeof *self);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->change, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    atomic_store(&self->stuck, BENCH_NOBODY);
    for (size_t i = 0; i < BENCH_BATCH_MAX; i++) {
        struct bench_letter *letter = &self->writer.letters[i];

        memset(letter->payload, (int)('!' + i % 64), BENCH_PAYLOAD_SIZE);
        self->writer.drafts[i] = (struct weir_draft){.key = letter->key,
                                                     .type = BENCH_MESSAGE_TYPE,
                                                     .payload = letter->payload,
                                                     .payload_size = BENCH_PAYLOAD_SIZE};
    }
}

static void add_handler(struct bench_outbox_load *self,
                        const struct bench_outbox_load_options *options,
                        struct weir_error *error)
{
    struct weir_handler_options handler;

    weir_handler_options_init(&handler);
    handler.queue = BENCH_QUEUE;
    handler.on_message = options->on_batch_tx == NULL ? take : NULL;
    handler.on_batch_tx = options->on_batch_tx;
    handler.state = options->on_batch_tx == NULL ? self : options->state;
    handler.lease.duration_ns = LEASE_NS;
    bench_must_ok(weir_outbox_add_handler(self->outbox, &handler, error), error,
                  "add the handler");
    bench_must_ok(weir_outbox_start(self->outbox, error), error, "start");
    bench_outbox_load_send(self, BENCH_PARTITIONS,
                           BENCH_PARTITIONS); /* every lane is there */
    bench_outbox_load_await(self, BENCH_PARTITIONS);
    bench_sleep_ns(WEIR_MILLISECONDS(300));
}

void bench_outbox_load_open(struct bench_outbox_load *self,
                            const struct bench_outbox_load_options *options)
{
    struct weir_db_options db;
    struct weir_outbox_options outbox;
    struct weir_queue_options queue;
    struct weir_error error;

    init(self);
    weir_db_options_init(&db);
    db.url = options->url;
    db.heap = options->heap;
    bench_must_ok(weir_db_create(&db, &self->db, &error), &error, "open the database");
    bench_must_ok(weir_outbox_migrate(self->db, &error), &error, "migrate");
    weir_outbox_options_init(&outbox);
    outbox.db = self->db;
    outbox.profile = BENCH_PROFILE;
    if (options->handlers > 0)
        outbox.handlers = options->handlers;
    bench_must_ok(weir_outbox_create(&outbox, &self->outbox, &error), &error,
                  "create the outbox");
    weir_queue_options_init(&queue);
    queue.name = BENCH_QUEUE;
    queue.partitions = BENCH_PARTITIONS;
    bench_must_ok(weir_outbox_add_queue(self->outbox, &queue, &error), &error,
                  "add the queue");
    if (options->deliver)
        add_handler(self, options, &error);
}

void bench_outbox_load_close(struct bench_outbox_load *self)
{
    bench_outbox_load_hold(self, BENCH_NOBODY);
    bench_must(weir_outbox_stop(self->outbox, WEIR_SECONDS(30)) == 0,
               "the outbox does not stop");
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    (void)pthread_cond_destroy(&self->change);
    (void)pthread_mutex_destroy(&self->lock);
}

/* ---- sending ----------------------------------------------------------------------- */

/* Partitions are written in turn and a key has one of its own: keys are looked for
 * once, ahead of what is measured. */
enum { KEYS_OF_A_PARTITION = 64 };
static char keys[BENCH_PARTITIONS][KEYS_OF_A_PARTITION][BENCH_KEY_SIZE];
static pthread_once_t keys_found = PTHREAD_ONCE_INIT;

static void find_keys(void)
{
    size_t counts[BENCH_PARTITIONS] = {0};
    size_t full = 0;

    for (unsigned number = 0; full < BENCH_PARTITIONS; number++) {
        char key[BENCH_KEY_SIZE];
        int size = snprintf(key, sizeof key, "c%u", number);
        int32_t partition = weir_partition_of_key(key, (size_t)size, BENCH_PARTITIONS);

        if (counts[partition] == KEYS_OF_A_PARTITION)
            continue;
        memcpy(keys[partition][counts[partition]++], key, sizeof key);
        full += counts[partition] == KEYS_OF_A_PARTITION;
    }
}

void bench_writer_fill(struct bench_writer *self, size_t count)
{
    (void)pthread_once(&keys_found, find_keys);
    for (size_t i = 0; i < count; i++) {
        struct bench_letter *letter = &self->letters[i];
        uint64_t number = self->next++;
        int32_t partition = (int32_t)(number % BENCH_PARTITIONS);
        uint64_t counter = ++self->sent[partition];

        letter->partition = partition;
        memcpy(letter->key,
               keys[partition][number / BENCH_PARTITIONS % KEYS_OF_A_PARTITION],
               sizeof letter->key);
        memcpy(letter->uid, &number, sizeof number);
        memcpy(letter->payload, &counter, sizeof counter);
        memcpy(letter->payload + sizeof counter, &number, sizeof number);
    }
}

static size_t next_batch(uint64_t left, size_t batch)
{
    return left < batch ? (size_t)left : batch;
}

void bench_outbox_load_send(struct bench_outbox_load *self, uint64_t count, size_t batch)
{
    struct weir_error error;

    for (size_t n; count > 0; count -= n) {
        n = next_batch(count, batch);
        bench_writer_fill(&self->writer, n);
        bench_must_ok(weir_enqueue_batch(self->outbox, NULL, BENCH_QUEUE,
                                         self->writer.drafts, n, NULL, &error),
                      &error, "enqueue");
    }
}

/* Nobody is in the way, so the body runs once. */
static enum weir_status send_all(struct weir_outbox *outbox,
                                 struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct bench_outbox_load *self = ((void **)argument)[0];
    uint64_t left = *(uint64_t *)((void **)argument)[1];
    enum weir_status status = WEIR_OK;

    for (size_t n; left > 0 && status == WEIR_OK; left -= n) {
        n = next_batch(left, BENCH_BATCH_MAX);
        bench_writer_fill(&self->writer, n);
        status = weir_enqueue_batch(outbox, connection, BENCH_QUEUE, self->writer.drafts,
                                    n, NULL, error);
    }
    return status;
}

void bench_outbox_load_send_at_once(struct bench_outbox_load *self, uint64_t count)
{
    void *arguments[] = {self, &count};
    struct weir_error error;

    bench_must_ok(weir_outbox_transact(self->outbox, send_all, arguments, &error), &error,
                  "enqueue in one transaction");
}

/* ---- waiting ----------------------------------------------------------------------- */

/* `taken` counts from the last await on; nothing is under way when it is set back. */
void bench_outbox_load_await(struct bench_outbox_load *self, uint64_t count)
{
    struct timespec end;
    bool in_time = true;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAIT_LIMIT_S;
    (void)pthread_mutex_lock(&self->lock);
    atomic_store(&self->awaited, count);
    while (atomic_load(&self->taken) < count && in_time)
        in_time = pthread_cond_timedwait(&self->change, &self->lock, &end) != ETIMEDOUT;
    (void)pthread_mutex_unlock(&self->lock);
    bench_must(in_time, "messages do not arrive");
    bench_must(atomic_load(&self->taken) == count, "messages came twice");
    atomic_store(&self->awaited, 0);
    atomic_store(&self->taken, 0);
}

void bench_outbox_load_hold(struct bench_outbox_load *self, int32_t partition)
{
    atomic_store(&self->stuck, partition);
    tell(self);
}

/* ---- answers and pauses ------------------------------------------------------------ */

void bench_outbox_load_pause(struct bench_outbox_load *self)
{
    struct weir_error error;

    bench_must_ok(weir_outbox_pause_queue(self->outbox, BENCH_QUEUE, &error), &error,
                  "pause the queue");
}

void bench_outbox_load_resume(struct bench_outbox_load *self)
{
    struct weir_error error;

    bench_must_ok(weir_outbox_resume_queue(self->outbox, BENCH_QUEUE, &error), &error,
                  "resume the queue");
}

void bench_outbox_load_reject(struct bench_outbox_load *self, bool rejecting)
{
    atomic_store(&self->rejecting, rejecting);
}

/* ---- resting ----------------------------------------------------------------------- */

/* Partitions whose position is not what the handler has answered for. */
struct unsettled {
    const struct bench_outbox_load *line;
    size_t count;
};

static void count_unsettled(void *state, const struct weir_partition_info *info)
{
    struct unsettled *self = state;

    self->count += info->seq != self->line->readers[info->partition].seq;
}

static size_t unsettled_count(struct bench_outbox_load *self)
{
    struct unsettled unsettled = {.line = self};
    struct weir_error error;

    bench_must_ok(weir_outbox_read_partitions(self->outbox, BENCH_QUEUE, count_unsettled,
                                              &unsettled, &error),
                  &error, "read the partitions");
    return unsettled.count;
}

static uint64_t sweep_runs(struct bench_outbox_load *self)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count =
        weir_stats_read(weir_outbox_stats(self->outbox), rows, WEIR_STATS_CATEGORIES_MAX);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].category, "sweep") == 0)
            return rows[i].executions + rows[i].failures;
    }
    return 0;
}

static void await_acks(struct bench_outbox_load *self, int64_t pause_ns)
{
    int64_t end_ns = bench_now_ns() + WEIR_SECONDS(WAIT_LIMIT_S);

    while (unsettled_count(self) > 0) {
        bench_must(bench_now_ns() < end_ns, "acks do not arrive");
        bench_sleep_ns(pause_ns);
    }
}

/* It is part of what is measured: little may be added. */
void bench_outbox_load_settle(struct bench_outbox_load *self)
{
    await_acks(self, WEIR_MILLISECONDS(1));
}

void bench_outbox_load_rest(struct bench_outbox_load *self)
{
    int64_t end_ns = bench_now_ns() + WEIR_SECONDS(WAIT_LIMIT_S);
    int64_t over_ns = bench_now_ns() + SWEEP_OVER_NS;
    uint64_t runs = sweep_runs(self);

    await_acks(self, LOOK_NS);
    while (bench_now_ns() < over_ns && bench_now_ns() < end_ns) {
        bench_sleep_ns(LOOK_NS);
        if (sweep_runs(self) != runs)
            over_ns = bench_now_ns() + SWEEP_OVER_NS;
        runs = sweep_runs(self);
    }
    bench_must(bench_now_ns() < end_ns, "the outbox does not come to rest");
}

void bench_outbox_load_check_order(struct bench_outbox_load *self)
{
    bench_must(atomic_load(&self->disorder) == 0, "messages are out of order");
}
