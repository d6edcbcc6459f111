/*
 * Processes that share the partitions of a queue: coming, going and dying.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "kit/server/process.h"

enum { PARTITIONS = 8 };

static const struct process_pool_options OPTIONS = {.partitions = PARTITIONS,
                                                    .batch = 5,
                                                    .lease_ns = WEIR_SECONDS(2)};

static void enqueue_everywhere(struct process_pool *process_pool, int count)
{
    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
        process_pool_enqueue_together(process_pool, p, count);
}

static int64_t enqueued(const struct process_pool *process_pool)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
        sum += process_pool->enqueued[p];
    return sum;
}

/* Nobody died, so nobody was told of a failed attempt; and no two were at one
 * partition. */
static void check_quiet(const struct process_pool *process_pool)
{
    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++) {
        const struct process_pool_record *record;
        size_t from = 0;

        while ((record = process_pool_next(process_pool, p, &from)) != NULL)
            check_int(record->attempts, 0);
    }
    check_int(atomic_load(&process_pool->ledger->overlaps), 0);
}

OUTBOX_TEST(shares, are_equal_and_follow_who_comes_and_goes)
{
    struct process_pool process_pool;
    struct pool_process *one, *two, *three;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    one = process_pool_join(&process_pool);
    check_int(process_pool_quota_of(&process_pool, one), PARTITIONS);

    two = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota_of(&process_pool, two) == 4);
    three = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) <= 3 &&
               process_pool_quota_of(&process_pool, two) <= 3 &&
               process_pool_quota_of(&process_pool, three) >= 2);
    wait_until(process_pool_quota_of(&process_pool, one) +
                   process_pool_quota_of(&process_pool, two) +
                   process_pool_quota_of(&process_pool, three) ==
               PARTITIONS);
    process_pool_leave(two);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota_of(&process_pool, three) == 4);
    process_pool_leave(one);
    wait_until(process_pool_quota_of(&process_pool, three) == PARTITIONS);

    enqueue_everywhere(&process_pool, 1);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(three);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* ---- to within one ----------------------------------------------------------------- */

enum { MEMBERS_MAX = 3 };

/* Everything is held, and nobody has two more than another. */
static bool are_fair(struct process_pool *process_pool,
                     struct pool_process *const *members, int count)
{
    int least = PROCESS_POOL_PARTITIONS_MAX;
    int most = 0;
    int sum = 0;

    for (int i = 0; i < count; i++) {
        int share = process_pool_quota_of(process_pool, members[i]);

        least = share < least ? share : least;
        most = share > most ? share : most;
        sum += share;
    }
    return sum == process_pool->ledger->options.partitions && most - least <= 1;
}

/* Nothing came twice. */
static void check_once(const struct process_pool *process_pool)
{
    check_int((int64_t)atomic_load(&process_pool->ledger->count), enqueued(process_pool));
    check_quiet(process_pool);
}

/* One, two, three, two, one of them, while messages flow. */
static void come_and_go(struct fixture *fixture, int32_t partitions)
{
    static const int COUNTS[] = {1, 2, 3, 2, 1};
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *members[MEMBERS_MAX];
    int count = 0;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = partitions,
                                                     .batch = 5,
                                                     .lease_ns = WEIR_SECONDS(300)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "lease_keeper.eager", 1);
    for (int i = 0; i < 5; i++) {
        enqueue_everywhere(&process_pool, 10);
        while (count < COUNTS[i])
            members[count++] = process_pool_join_with(
                &process_pool, &(struct process_pool_joining){.points = &points});
        while (count > COUNTS[i]) { /* not always the one that came last */
            process_pool_leave(members[0]);
            memmove(members, members + 1, (size_t)--count * sizeof members[0]);
        }
        wait_until(are_fair(&process_pool, members, count));
    }
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(members[0]);
    check_once(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(shares, of_8_partitions_differ_by_one_at_most)
{
    come_and_go(fixture, 8);
}

OUTBOX_TEST(shares, of_64_partitions_differ_by_one_at_most)
{
    come_and_go(fixture, 64);
}

/* Each is ended in order and begun again, one after the other. */
OUTBOX_TEST(shares, of_processes_restarted_in_turn_repeat_nothing)
{
    struct process_pool process_pool;
    pid_t processes[MEMBERS_MAX];

    process_pool_open(&process_pool, fixture, &OPTIONS);
    atomic_store(&process_pool.ledger->slow_ns, WEIR_MILLISECONDS(1));
    for (int i = 0; i < MEMBERS_MAX; i++)
        processes[i] = process_pool_start(&process_pool);
    for (int i = 0; i < MEMBERS_MAX; i++) {
        int64_t before = process_pool_done(&process_pool);

        enqueue_everywhere(&process_pool, 50);
        wait_until(process_pool_done(&process_pool) > before + 40);
        process_pool_end(&process_pool, processes[i]);
        enqueue_everywhere(&process_pool, 20);
        processes[i] = process_pool_start(&process_pool);
    }
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    for (int i = 0; i < MEMBERS_MAX; i++)
        process_pool_end(&process_pool, processes[i]);
    check_once(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(shares, are_handed_over_between_batches_under_load)
{
    struct process_pool process_pool;
    struct pool_process *one, *two, *three;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    atomic_store(&process_pool.ledger->slow_ns, WEIR_MILLISECONDS(2));
    one = process_pool_join(&process_pool);
    enqueue_everywhere(&process_pool, 100);
    two = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, two) == 4);
    enqueue_everywhere(&process_pool, 50);
    three = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, three) >= 2);
    process_pool_leave(one);
    enqueue_everywhere(&process_pool, 50);
    wait_until(process_pool_quota_of(&process_pool, two) == 4 &&
               process_pool_quota_of(&process_pool, three) == 4);
    process_pool_leave(two);
    atomic_store(&process_pool.ledger->slow_ns, 0);

    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(three);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(shares, of_a_process_that_dies_are_taken_over)
{
    struct process_pool process_pool;
    struct pool_process *one;
    pid_t two;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .lease_ns = WEIR_MILLISECONDS(600)});
    one = process_pool_join(&process_pool);
    two = process_pool_start(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota(&process_pool, "crew-1") == 4);
    process_pool_kill(&process_pool, two);
    wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS);
    enqueue_everywhere(&process_pool, 3);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(shares, leave_a_process_waiting_when_there_are_too_few_partitions)
{
    struct process_pool process_pool;
    struct pool_process *members[3];

    process_pool_open(
        &process_pool, fixture,
        &(struct process_pool_options){.partitions = 2, .lease_ns = WEIR_SECONDS(2)});
    for (int i = 0; i < 2; i++)
        members[i] = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, members[0]) == 1 &&
               process_pool_quota_of(&process_pool, members[1]) == 1);
    members[2] = process_pool_join(
        &process_pool); /* not sooner: it might be quicker than the second */
    check_int(process_pool_quota_of(&process_pool, members[2]), 0);
    process_pool_leave(members[0]);
    wait_until(process_pool_quota_of(&process_pool, members[2]) == 1);
    enqueue_everywhere(&process_pool, 2);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(members[1]);
    process_pool_leave(members[2]);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* The call that began first may last for ever: it is not what a newcomer is made to
 * wait for. */
OUTBOX_TEST(shares, of_a_newcomer_do_not_wait_for_a_long_call)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one, *two;
    uint64_t renewals;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .lease_ns = WEIR_MILLISECONDS(1500),
                                                     .budget_ns = WEIR_SECONDS(300)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "lease_keeper.renewed", UINT64_MAX); /* to count */
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    for (int32_t p = 0; p < 2; p++) {
        atomic_store(&process_pool.ledger->hold[p], true);
        process_pool_enqueue(&process_pool, p, 1);
        wait_until(atomic_load(&process_pool.ledger->holding) == (uint32_t)p + 1);
    }
    two = process_pool_join(&process_pool);
    renewals =
        atomic_load(&points.armed[0].passed); /* it beats as often: it has chosen */
    wait_until(atomic_load(&points.armed[0].passed) >= renewals + 3);
    atomic_store(&process_pool.ledger->hold[1], false);
    wait_until(process_pool_quota_of(&process_pool, two) == 1);

    check_int(process_pool_quota_of(&process_pool, one), 1);
    check_int(atomic_load(&process_pool.ledger->holding), 1);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(process_pool_stored(&process_pool) == 2);
    process_pool_leave(one);
    process_pool_leave(two);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(shares, are_taken_over_at_once_when_a_process_leaves_in_order)
{
    struct process_pool process_pool;
    struct pool_process *one, *two;

    /* if they were not released, the leases would outlast the test's patience */
    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .lease_ns = WEIR_SECONDS(300)});
    one = process_pool_join(&process_pool);
    enqueue_everywhere(&process_pool, 2);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(one);
    two = process_pool_join(&process_pool);
    check_int(process_pool_quota_of(&process_pool, two), PARTITIONS);
    enqueue_everywhere(&process_pool, 2);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_leave(two);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

static void die_idle(struct fixture *fixture, int32_t partitions)
{
    struct process_pool process_pool;
    struct pool_process *two;
    pid_t one;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = partitions,
                                                     .lease_ns = WEIR_MILLISECONDS(400)});
    one = process_pool_start(&process_pool);
    enqueue_everywhere(&process_pool, 3);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_kill(&process_pool, one);

    for (int32_t p = 0; p < partitions; p++)
        wait_until(process_pool_read(&process_pool, p).lease_left_us == 0);
    two = process_pool_join(&process_pool);
    for (int32_t p = 0; p < partitions; p++)
        wait_until(process_pool_read(&process_pool, p).crashes == 0);
    enqueue_everywhere(&process_pool, 3);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));

    process_pool_leave(two);
    check_quiet(&process_pool);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(death, while_nothing_waits_adds_no_attempt)
{
    die_idle(fixture, 1);
}

OUTBOX_TEST(death, while_nothing_waits_in_two_partitions_adds_no_attempt)
{
    die_idle(fixture, 2);
}

/* Who has never run it cannot say that it is harmless. */
OUTBOX_TEST(death, is_remembered_over_an_owner_that_did_not_run_the_message)
{
    struct process_pool process_pool;
    struct pool_process *two, *three;
    pid_t one;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_MILLISECONDS(400)});
    atomic_store(&process_pool.ledger->poison, 1);
    process_pool_enqueue_together(&process_pool, 0, 3);
    one = process_pool_spawn(&process_pool);
    wait_until(process_has_ended(one));
    atomic_store(&process_pool.ledger->owner[0], 0);
    atomic_store(&process_pool.ledger->poison, 0);
    check_db(weir_outbox_pause_queue(process_pool.outbox, "crew", &fixture->error),
             WEIR_OK);

    two = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, two) == 1);
    process_pool_leave(two);
    check_db(weir_outbox_resume_queue(process_pool.outbox, "crew", &fixture->error),
             WEIR_OK);
    three = process_pool_join(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 3);

    check_int(process_pool.ledger->records[1].batch, 1);
    process_pool_leave(three);
    process_pool_close(&process_pool);
}
