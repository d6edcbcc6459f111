/*
 * Many messages at once: what they cost in memory, and what one partition that stands
 * still costs the others. Nothing here is about speed; `script/bench outbox-large` is.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/outbox/outbox_engines.h"
#include "outbox/delivery/partition_table_private.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum {
    PARTITIONS = 64,
    MANY = 80000,
    TOO_MANY_TO_COUNT = WEIR_LAG_EXACT_MAX + 30000,
    FEW = 2000,
    TOGETHER = 1000,
    STUCK = 7,
    PAYLOAD_SIZE = 1600 /* all of them are twice of what is allowed */
};

#define MEMORY_MAX ((size_t)64 * 1024 * 1024)
#define NOBODY (-1)
#define EVERYBODY (-2)

/* A sanitizer keeps what was freed, and shadows of all of it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITH_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITH_SANITIZER 1
#endif
#ifndef WITH_SANITIZER
#define WITH_SANITIZER 0
#endif

/* ---- memory ------------------------------------------------------------------------ */

/* The C library's heap, with its bytes counted. */
struct scale {
    struct weir_heap heap;
    _Atomic size_t size;
    _Atomic size_t peak;
};

static void note_peak(struct scale *self, size_t size)
{
    size_t peak = atomic_load(&self->peak);

    while (size > peak && !atomic_compare_exchange_weak(&self->peak, &peak, size))
        ;
}

static void *resize(void *state, void *memory, size_t size)
{
    struct scale *self = state;
    size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = NULL;
    size_t after;

    if (size == 0)
        free(memory);
    else if ((moved = realloc(memory, size)) == NULL)
        return NULL;
    after = moved != NULL ? malloc_usable_size(moved) : 0;
    note_peak(self, atomic_fetch_add(&self->size, after) + after);
    (void)atomic_fetch_sub(&self->size, before);
    return moved;
}

static size_t resident_size(void)
{
    unsigned long total = 0;
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    check(file != NULL);
    check_int(fscanf(file, "%lu %lu", &total, &resident), 2);
    (void)fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- an office --------------------------------------------------------------------- */

/* One queue with a handler that checks the order. */
struct env {
    struct fixture *fixture;
    struct scale scale;
    struct weir_db *db;
    struct weir_outbox *outbox;
    int64_t sent[PARTITIONS];
    int64_t seq[PARTITIONS]; /* delivered; the handler's, one partition at a time */
    _Atomic int64_t taken;
    _Atomic int64_t disorder;
    _Atomic size_t resident_peak;

    pthread_mutex_t lock;
    pthread_cond_t change;
    int32_t stuck; /* its handler does not return; or NOBODY, EVERYBODY */
};

static void wait_while_stuck(struct env *self, int32_t partition)
{
    (void)pthread_mutex_lock(&self->lock);
    while (self->stuck == partition || self->stuck == EVERYBODY)
        (void)pthread_cond_wait(&self->change, &self->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

static void set_stuck(struct env *self, int32_t partition)
{
    (void)pthread_mutex_lock(&self->lock);
    self->stuck = partition;
    (void)pthread_cond_broadcast(&self->change);
    (void)pthread_mutex_unlock(&self->lock);
}

static void note_resident(struct env *self)
{
    size_t size = resident_size();
    size_t peak = atomic_load(&self->resident_peak);

    while (size > peak &&
           !atomic_compare_exchange_weak(&self->resident_peak, &peak, size))
        ;
}

static enum weir_outcome take(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct env *self = state;
    int64_t number = 0;

    (void)context;
    (void)reason;
    wait_while_stuck(self, message->partition);
    if (message->payload_size == PAYLOAD_SIZE)
        memcpy(&number, message->payload, sizeof number);
    if (message->seq != ++self->seq[message->partition] || number != message->seq)
        (void)atomic_fetch_add(&self->disorder, 1);
    if (atomic_fetch_add(&self->taken, 1) % 500 == 0)
        note_resident(self);
    return WEIR_DONE;
}

static void add_queue_and_handler(struct env *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_queue_options queue;
    struct weir_handler_options handler;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = PARTITIONS;
    check_db(weir_outbox_add_queue(self->outbox, &queue, &fixture->error), WEIR_OK);
    weir_handler_options_init(&handler);
    handler.queue = "orders";
    handler.on_message = take;
    handler.state = self;
    handler.lease.duration_ns = WEIR_HOURS(1); /* nobody takes over what is stuck */
    check_db(weir_outbox_add_handler(self->outbox, &handler, &fixture->error), WEIR_OK);
    check_db(weir_outbox_start(self->outbox, &fixture->error), WEIR_OK);
}

static void open_env(struct env *self, struct fixture *fixture)
{
    struct weir_db_options db = fixture_options(fixture);
    struct weir_outbox_options options;

    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    self->stuck = NOBODY;
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_cond_init(&self->change, NULL);
    self->scale.heap = (struct weir_heap){.resize = resize, .state = &self->scale};
    db.heap = &self->scale.heap;
    self->db = fixture_open(fixture, &db);
    weir_outbox_options_init(&options);
    options.db = self->db;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    check_db(weir_outbox_create(&options, &self->outbox, &fixture->error), WEIR_OK);
    add_queue_and_handler(self);
}

static void close_env(struct env *self)
{
    check_int(weir_outbox_stop(self->outbox, WEIR_SECONDS(30)), 0);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    check_int(atomic_load(&self->scale.size), 0);
    (void)pthread_cond_destroy(&self->change);
    (void)pthread_mutex_destroy(&self->lock);
}

struct call {
    struct env *env;
    size_t count;
    int64_t before[PARTITIONS]; /* what was sent earlier */
};

/* Message n of a partition says n. */
static enum weir_status send_all(struct weir_outbox *outbox,
                                 struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct call *call = argument;
    static char payloads[TOGETHER][PAYLOAD_SIZE];
    struct weir_draft drafts[TOGETHER];
    enum weir_status status = WEIR_OK;

    memcpy(call->env->sent, call->before, sizeof call->before); /* if run again */
    for (size_t done = 0; done < call->count && status == WEIR_OK; done += TOGETHER) {
        for (size_t i = 0; i < TOGETHER; i++) {
            int32_t partition = (int32_t)((done + i) % PARTITIONS);

            call->env->sent[partition]++;
            memcpy(payloads[i], &call->env->sent[partition], sizeof(int64_t));
            drafts[i] = (struct weir_draft){.route = weir_route_to_partition(partition),
                                            .type = "n",
                                            .payload = payloads[i],
                                            .payload_size = PAYLOAD_SIZE};
        }
        status = weir_enqueue_batch(outbox, connection, "orders", drafts, TOGETHER, NULL,
                                    error);
    }
    return status;
}

/* In one transaction; a multiple of TOGETHER. */
static void send(struct env *self, size_t count)
{
    struct fixture *fixture = self->fixture;
    struct call call = {.env = self, .count = count};

    memcpy(call.before, self->sent, sizeof call.before);
    check_db(weir_outbox_transact(self->outbox, send_all, &call, &fixture->error),
             WEIR_OK);
}

/* ---- memory ------------------------------------------------------------------------ */

/* The reader was sent away for want of memory, or there is nothing left to read. */
static bool nothing_more_is_read(struct env *self)
{
    struct weir_partition_table *partition_table = self->outbox->partition_table;
    struct weir_partition_table_info info;
    bool sent_away;

    weir_partition_table_read(partition_table, &info);
    weir_lock_acquire(&partition_table->lock);
    sent_away = partition_table->waits[WEIR_READER_MAIN];
    weir_lock_release(&partition_table->lock);
    return info.messages >= MANY || (info.messages >= MANY / 20 && sent_away);
}

/* Handlers wait until as much as may be is in memory; then they are as fast as they
 * can. */
OUTBOX_TEST(large, transaction_is_delivered_in_little_memory)
{
    static struct env env;
    size_t idle_size, idle_resident;

    open_env(&env, fixture);
    send(&env, TOGETHER); /* connections, lanes and statements are there */
    wait_until(atomic_load(&env.taken) == TOGETHER);
    idle_size = atomic_load(&env.scale.size);
    idle_resident = resident_size();
    atomic_store(&env.scale.peak, idle_size);

    set_stuck(&env, EVERYBODY);
    send(&env, MANY);
    wait_until(nothing_more_is_read(&env));
    set_stuck(&env, NOBODY);
    wait_until(atomic_load(&env.taken) == TOGETHER + MANY);

    check_int(atomic_load(&env.disorder), 0);
    check(atomic_load(&env.scale.peak) - idle_size < MEMORY_MAX);
    check(WITH_SANITIZER || atomic_load(&env.resident_peak) < idle_resident + MEMORY_MAX);
    close_env(&env);
}

/* ---- one that stands still --------------------------------------------------------- */

static int64_t sum_of_others(const struct env *self)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < PARTITIONS; i++)
        sum += i == STUCK ? 0 : self->sent[i];
    return sum;
}

OUTBOX_TEST(large, backlog_of_a_stuck_partition_stops_no_other)
{
    static struct env env;

    open_env(&env, fixture);
    set_stuck(&env, STUCK);

    send(&env, MANY);
    wait_until(atomic_load(&env.taken) == sum_of_others(&env));

    check_int(env.seq[STUCK], 0);
    set_stuck(&env, NOBODY);
    wait_until(atomic_load(&env.taken) == MANY);
    check_int(atomic_load(&env.disorder), 0);
    close_env(&env);
}

/* ---- status ------------------------------------------------------------------------ */

static void keep_queue(void *state, const struct weir_queue_info *info)
{
    struct weir_queue_info *kept = state;

    *kept = *info;
}

struct partitions {
    int64_t waiting;
    int count;
    int estimates;
};

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct partitions *sum = state;

    sum->waiting += info->waiting;
    sum->count++;
    sum->estimates += info->waiting_is_estimate;
}

static void read_status(struct env *self, struct weir_queue_info *queue,
                        struct partitions *partitions)
{
    struct fixture *fixture = self->fixture;

    memset(queue, 0, sizeof *queue);
    memset(partitions, 0, sizeof *partitions);
    check_db(weir_outbox_read_queues(self->outbox, keep_queue, queue, &fixture->error),
             WEIR_OK);
    check_db(weir_outbox_read_partitions(self->outbox, "orders", add_partition,
                                         partitions, &fixture->error),
             WEIR_OK);
}

OUTBOX_TEST(large, backlog_is_told_as_an_estimate)
{
    static struct env env;
    struct weir_queue_info queue;
    struct partitions partitions;

    open_env(&env, fixture);
    check_db(weir_outbox_pause_queue(env.outbox, "orders", &fixture->error), WEIR_OK);

    send(&env, TOO_MANY_TO_COUNT);
    read_status(&env, &queue, &partitions);

    check(queue.waiting_is_estimate);
    check(queue.waiting > TOO_MANY_TO_COUNT * 9 / 10);
    check(queue.waiting < TOO_MANY_TO_COUNT * 11 / 10);
    check_int(partitions.count, PARTITIONS);
    check_int(partitions.estimates, PARTITIONS);
    close_env(&env);
}

OUTBOX_TEST(large, backlog_that_can_be_counted_is_exact)
{
    static struct env env;
    struct weir_queue_info queue;
    struct partitions partitions;

    open_env(&env, fixture);
    check_db(weir_outbox_pause_queue(env.outbox, "orders", &fixture->error), WEIR_OK);

    send(&env, FEW);
    read_status(&env, &queue, &partitions);

    check(!queue.waiting_is_estimate);
    check_int(queue.waiting, FEW);
    check_int(partitions.waiting, FEW);
    check_int(partitions.estimates, 0);
    close_env(&env);
}
