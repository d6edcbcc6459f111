/*
 * Owners that stop, hang or come too late, and what becomes of their partitions.
 */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/process_pool.h"
#include "outbox/outbox.h"

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* How often a point was passed. Armed so that it never fires. */
static uint64_t passes(const struct weir_fault_points *points)
{
    return atomic_load(&points->armed[0].passed);
}

static void count_renewals(struct weir_fault_points *points)
{
    weir_fault_points_init(points);
    weir_fault_points_arm(points, "lease_keeper.renewed", UINT64_MAX);
}

/* Renewals come every third of a lease: after so many a lease that is not renewed is
 * over. */
static void wait_for_renewals(const struct weir_fault_points *points, uint64_t count)
{
    uint64_t before = passes(points);

    wait_until(passes(points) >= before + count);
}

static int count_by(const struct process_pool *process_pool, int32_t partition,
                    uint32_t process)
{
    const struct process_pool_record *record;
    size_t from = 0;
    int count = 0;

    while ((record = process_pool_next(process_pool, partition, &from)) != NULL)
        count += record->process == process;
    return count;
}

/* Enqueue until this process has delivered one. */
static void deliver_by(struct process_pool *process_pool, int32_t partition,
                       uint32_t process)
{
    int64_t deadline_ms = fixture_deadline();

    while (count_by(process_pool, partition, process) == 0) {
        process_pool_enqueue(process_pool, partition, 1);
        wait_until(process_pool_read(process_pool, partition).seq ==
                   process_pool->enqueued[partition]);
        fixture_wait(__FILE__, __LINE__, "its share", deadline_ms);
    }
}

OUTBOX_TEST(stopped_process, moves_nothing_when_it_is_continued)
{
    struct process_pool process_pool;
    pid_t one, two;
    int64_t epoch;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .batch = 3,
                                                     .lease_ns = WEIR_MILLISECONDS(800),
                                                     .budget_ns = WEIR_SECONDS(60)});
    process_pool_enqueue(&process_pool, 0, 3);
    atomic_store(&process_pool.ledger->hold[0], true);
    one = process_pool_start(&process_pool);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    epoch = process_pool_read(&process_pool, 0).epoch;
    check_int(kill(one, SIGSTOP), 0);
    two = process_pool_start(&process_pool);
    wait_until(atomic_load(&process_pool.ledger->holding) == 2);
    check(process_pool_read(&process_pool, 0).epoch > epoch);
    epoch = process_pool_read(&process_pool, 0).epoch;

    /* its handler answers "done" for all three while the other one is still at them */
    atomic_store(&process_pool.ledger->exempt, 1);
    check_int(kill(one, SIGCONT), 0);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    deliver_by(&process_pool, 1, 0); /* it works on, acks included */

    check_int(process_pool_read(&process_pool, 0).seq, 0);
    check_int(process_pool_read(&process_pool, 0).epoch, epoch);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(process_pool_stored(&process_pool) == 3 + process_pool.enqueued[1]);
    process_pool_end(&process_pool, one);
    process_pool_end(&process_pool, two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(hanging_handler, loses_its_partition_and_no_other)
{
    struct process_pool process_pool;
    struct pool_process *one, *two;
    const struct process_pool_record *record = NULL;
    const struct process_pool_record *next;
    size_t from = 0;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 4,
                                                     .lease_ns = WEIR_MILLISECONDS(300)});
    atomic_store(&process_pool.ledger->hold[0], true);
    one = process_pool_join(&process_pool);
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    for (int p = 1; p < 4; p++)
        process_pool_enqueue(&process_pool, p, 5);
    wait_until(process_pool_stored(&process_pool) == 15);

    atomic_store(&process_pool.ledger->exempt, 2);
    two = process_pool_join(&process_pool);
    wait_until(process_pool_read(&process_pool, 0).seq == 1);

    while ((next = process_pool_next(&process_pool, 0, &from)) != NULL)
        record = next;
    check_int(record->process, 1);
    check_int(record->attempts, 0); /* its first call had no mark */
    wait_until(process_pool_quota(&process_pool, "crew-0") == 2);
    for (int p = 1; p < 4; p++)
        process_pool_enqueue(&process_pool, p, 5);
    wait_until(process_pool_stored(&process_pool) == 31);

    /* what it answers at last counts for nothing */
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(process_pool_stored(&process_pool) == 32);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(atomic_load(&process_pool.ledger->holding) == 0);
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(process_pool_stored(&process_pool) == 33);
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(hanging_handler, gets_its_message_again_when_it_returns_after_its_lease)
{
    struct process_pool process_pool;
    struct pool_process *one;
    struct weir_fault_points points;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_MILLISECONDS(200)});
    atomic_store(&process_pool.ledger->hold[0], true);
    count_renewals(&points);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    wait_until(process_pool_read(&process_pool, 0).lease_left_us == 0);
    wait_for_renewals(&points, 6);

    /* not by the process in which it hangs */
    check_int(atomic_load(&process_pool.ledger->count), 1);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(process_pool_stored(&process_pool) == 1);

    check_int(process_pool.ledger->records[1].attempts, 0);
    check(process_pool.ledger->records[1].epoch > process_pool.ledger->records[0].epoch);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* ---- renewals ---------------------------------------------------------------------- */

static void serve_for(struct fixture *fixture, struct weir_outbox *outbox,
                      const char *queue, int64_t lease_ns)
{
    struct weir_handler_options handler = outbox_fixture_handler(queue, recorder_new());

    handler.lease.duration_ns = lease_ns;
    handler.lease.headroom_ns = lease_ns / 4;
    outbox_fixture_queue(fixture, outbox, queue, 2);
    outbox_fixture_add(fixture, outbox, &handler);
}

/* Two of one length, and one of another between them. */
OUTBOX_TEST(lease, of_every_queue_is_renewed_whatever_its_length)
{
    static const char *const QUEUES[] = {"orders", "audit", "mail"};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_fault_points points;

    count_renewals(&points);
    weir_outbox_set_fault_points(outbox, &points);
    serve_for(fixture, outbox, "orders", WEIR_MILLISECONDS(600));
    serve_for(fixture, outbox, "audit", WEIR_SECONDS(1));
    serve_for(fixture, outbox, "mail", WEIR_MILLISECONDS(600));
    outbox_fixture_start(fixture, outbox);

    wait_for_renewals(&points, 9); /* 1.8 s: each of them would be over */

    for (size_t i = 0; i < 3; i++) {
        for (int32_t partition = 0; partition < 2; partition++) {
            struct partition_view view = outbox_fixture_partition(
                fixture, outbox, QUEUES[i], "default", partition);

            check_str(view.owner, "anna");
            check_int(view.epoch, 1);
        }
    }
    outbox_fixture_close(outbox);
}

/* Memory that is never given back, nor lost: for what a handler that hangs still
 * touches. */
static void *keep_for_ever(void *state, void *memory, size_t size)
{
    static _Alignas(16) char store[16 * 1024 * 1024];
    static _Atomic size_t used;
    size_t room = 16 + (size + 15) / 16 * 16; /* its size stands before it */
    size_t at;

    (void)state;
    if (size == 0)
        return NULL;
    at = atomic_fetch_add(&used, room);
    if (at + room > sizeof store)
        return NULL;
    memcpy(store + at, &size, sizeof size);
    if (memory != NULL) {
        size_t before;

        memcpy(&before, (char *)memory - 16, sizeof before);
        memcpy(store + at + 16, memory, before < size ? before : size);
    }
    return store + at + 16;
}

OUTBOX_TEST(hanging_handler, is_left_behind_by_stop)
{
    static const struct weir_heap FOR_EVER = {.resize = keep_for_ever};
    struct weir_db_options options = fixture_options(fixture);
    struct process_pool process_pool;
    struct pool_process *one, *two;
    struct weir_outbox *outbox;
    struct weir_db *db;

    /* what a handler that hangs still touches is never freed: not from the fixture's
     * heap */
    options.heap = &FOR_EVER;
    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_MILLISECONDS(300)});
    atomic_store(&process_pool.ledger->hold[0], true);
    one = process_pool_join_with(
        &process_pool,
        &(struct process_pool_joining){.db = fixture_open(fixture, &options)});
    outbox = one->outbox;
    db = one->db;
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);

    check_int(weir_outbox_stop(outbox, WEIR_MILLISECONDS(10)), 1);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);

    atomic_store(&process_pool.ledger->exempt, 2);
    two = process_pool_join(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 1);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(atomic_load(&process_pool.ledger->holding) == 0);
    nap_ms(50); /* it returns into what is left; only a sanitizer could tell */
    process_pool_leave(two);
    process_pool_close(&process_pool);
}

/* ---- budgets ----------------------------------------------------------------------- */

struct lateness {
    const struct weir_fault_points *renewals; /* linger for some; NULL: return at once */
    _Atomic int calls;
    int64_t first_seq[2];
    uint32_t attempts[2];
    int64_t epoch[2];
    int64_t remaining_ns[2]; /* at the beginning and at the end of the first call */
    bool stopped[2];
    enum weir_status late_ack;
};

/* In the first call ack one message in time and the second too late. */
static enum weir_outcome be_late(struct weir_context *context, void *state,
                                 struct weir_batch *batch, struct weir_reason *reason)
{
    struct lateness *self = state;
    int call = atomic_load(&self->calls);
    const struct weir_message *message = weir_batch_next(batch);

    (void)context;
    (void)reason;
    if (call < 2) {
        self->first_seq[call] = message->seq;
        self->attempts[call] = message->attempts;
        self->epoch[call] = message->epoch;
    }
    if (call == 0) {
        self->remaining_ns[0] = weir_batch_remaining_ns(batch);
        self->stopped[0] = weir_batch_stopped(batch);
        if (weir_batch_ack(batch, NULL) != WEIR_OK)
            self->first_seq[0] = -1;
        (void)weir_batch_next(batch);
        while (!weir_batch_stopped(batch))
            nap_ms(1);
        self->stopped[1] = true;
        self->remaining_ns[1] = weir_batch_remaining_ns(batch);
        self->late_ack = weir_batch_ack(batch, NULL);
        if (self->renewals != NULL)
            wait_for_renewals(self->renewals, 1);
    }
    atomic_fetch_add(&self->calls, 1);
    return WEIR_DONE;
}

OUTBOX_TEST(budget, is_seen_by_the_handler_and_keeps_what_was_acked_in_time)
{
    struct process_pool process_pool;
    struct pool_process *one;
    struct lateness late = {.calls = 0};

    process_pool_open(
        &process_pool, fixture,
        &(struct process_pool_options){.lease_ns = WEIR_SECONDS(20),
                                       .budget_ns = WEIR_MILLISECONDS(200)});
    process_pool_enqueue_together(&process_pool, 0, 3);
    one = process_pool_join_with(&process_pool, &(struct process_pool_joining){
                                                    .on_batch = be_late, .state = &late});
    wait_until(process_pool_stored(&process_pool) == 3);

    check_in_range(late.remaining_ns[0], 1, WEIR_MILLISECONDS(200));
    check(!late.stopped[0]);
    check(late.stopped[1]);
    check_int(late.remaining_ns[1], 0);
    check_status(late.late_ack, WEIR_FENCED);
    check_int(late.first_seq[0], 1);
    check_int(late.first_seq[1], 2);
    check_int(late.attempts[1], 1);
    check_int(late.epoch[1], late.epoch[0]);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(budget, when_it_is_over_costs_no_lease_once_the_handler_has_returned)
{
    struct process_pool process_pool;
    struct pool_process *one;
    struct weir_fault_points points;
    struct lateness late = {.renewals = &points};

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_SECONDS(1),
                                                     .budget_ns = WEIR_MILLISECONDS(20),
                                                     .retry_ns = WEIR_SECONDS(30)});
    process_pool_enqueue_together(&process_pool, 0, 3);
    count_renewals(&points);
    one = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){
                           .points = &points, .on_batch = be_late, .state = &late});
    wait_until(process_pool_stored(&process_pool) == 1);
    wait_for_renewals(&points,
                      6); /* two leases: it waits for its retry, and is renewed */

    check_int(process_pool_read(&process_pool, 0).epoch, late.epoch[0]);
    check(process_pool_read(&process_pool, 0).lease_left_us > 0);
    check_int(process_pool_read(&process_pool, 0).attempts, 1);
    check_int(process_pool_read(&process_pool, 0).crashes, 0);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(budget, longer_than_the_lease_keeps_the_partition)
{
    struct process_pool process_pool;
    struct pool_process *one, *two;
    struct weir_fault_points points;
    int64_t epoch[4];

    /* one thread for handlers, and it is busy for all of the time */
    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 4,
                                                     .handlers = 1,
                                                     .lease_ns = WEIR_SECONDS(1),
                                                     .budget_ns = WEIR_SECONDS(60)});
    atomic_store(&process_pool.ledger->hold[0], true);
    count_renewals(&points);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    two = process_pool_join(&process_pool);
    wait_until(process_pool_quota(&process_pool, "crew-0") == 2 &&
               process_pool_quota(&process_pool, "crew-1") == 2);
    for (int p = 0; p < 4; p++)
        epoch[p] = process_pool_read(&process_pool, p).epoch;
    wait_for_renewals(&points, 6); /* two leases */

    for (int p = 0; p < 4; p++)
        check_int(process_pool_read(&process_pool, p).epoch, epoch[p]);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(process_pool_stored(&process_pool) == 1);
    check_int(atomic_load(&process_pool.ledger->count), 1);
    check_int(process_pool.ledger->records[0].attempts, 0);
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(lease, of_a_tenth_of_a_second_is_measured_by_the_databases_clock)
{
    struct process_pool process_pool;
    pid_t one, two;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_MILLISECONDS(100)});
    atomic_store(&process_pool.ledger->hold[0], true);
    process_pool_enqueue(&process_pool, 0, 1);
    one = process_pool_start(&process_pool);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);
    for (int i = 0; i < 20; i++)
        check_in_range(process_pool_read(&process_pool, 0).lease_left_us, 0, 100000);
    process_pool_kill(&process_pool, one);
    wait_until(process_pool_read(&process_pool, 0).lease_left_us == 0);

    atomic_store(&process_pool.ledger->hold[0], false);
    two = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 1);
    process_pool_end(&process_pool, two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}
