/*
 * Processes that share the partitions of a queue: coming, going and dying.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "lib/crew.h"
#include "lib/outbox_engines.h"
#include "lib/process.h"

enum { PARTITIONS = 8 };

static const struct crew_options OPTIONS = {.partitions = PARTITIONS,
                                            .batch = 5,
                                            .lease_ns = WEIR_SECONDS(2)};

static void enqueue_everywhere(struct crew *crew, int count)
{
    for (int32_t p = 0; p < crew->ledger->options.partitions; p++)
        crew_enqueue_together(crew, p, count);
}

static int64_t enqueued(const struct crew *crew)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < crew->ledger->options.partitions; p++)
        sum += crew->enqueued[p];
    return sum;
}

/* Nobody died, so nobody was told of a failed attempt; and no two were at one partition. */
static void check_quiet(const struct crew *crew)
{
    for (int32_t p = 0; p < crew->ledger->options.partitions; p++) {
        const struct crew_record *record;
        size_t from = 0;

        while ((record = crew_next(crew, p, &from)) != NULL)
            check_int(record->attempts, 0);
    }
    check_int(atomic_load(&crew->ledger->overlaps), 0);
}

OUTBOX_TEST(shares, are_equal_and_follow_who_comes_and_goes)
{
    struct crew crew;
    struct crew_member *one, *two, *three;

    crew_open(&crew, fixture, &OPTIONS);
    one = crew_join(&crew);
    check_int(crew_share_of(&crew, one), PARTITIONS);

    two = crew_join(&crew);
    wait_until(crew_share_of(&crew, one) == 4 && crew_share_of(&crew, two) == 4);
    three = crew_join(&crew);
    wait_until(crew_share_of(&crew, one) <= 3 && crew_share_of(&crew, two) <= 3 &&
               crew_share_of(&crew, three) >= 2);
    wait_until(crew_share_of(&crew, one) + crew_share_of(&crew, two) +
                   crew_share_of(&crew, three) ==
               PARTITIONS);
    crew_leave(two);
    wait_until(crew_share_of(&crew, one) == 4 && crew_share_of(&crew, three) == 4);
    crew_leave(one);
    wait_until(crew_share_of(&crew, three) == PARTITIONS);

    enqueue_everywhere(&crew, 1);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(three);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

/* ---- to within one --------------------------------------------------------------------------- */

enum { MEMBERS_MAX = 3 };

/* Everything is held, and nobody has two more than another. */
static bool are_fair(struct crew *crew, struct crew_member *const *members, int count)
{
    int least = CREW_PARTITIONS_MAX;
    int most = 0;
    int sum = 0;

    for (int i = 0; i < count; i++) {
        int share = crew_share_of(crew, members[i]);

        least = share < least ? share : least;
        most = share > most ? share : most;
        sum += share;
    }
    return sum == crew->ledger->options.partitions && most - least <= 1;
}

/* Nothing came twice. */
static void check_once(const struct crew *crew)
{
    check_int((int64_t)atomic_load(&crew->ledger->count), enqueued(crew));
    check_quiet(crew);
}

/* One, two, three, two, one of them, while messages flow. */
static void come_and_go(struct fixture *fixture, int32_t partitions)
{
    static const int COUNTS[] = {1, 2, 3, 2, 1};
    struct weir_fault_points points;
    struct crew crew;
    struct crew_member *members[MEMBERS_MAX];
    int count = 0;

    crew_open(&crew, fixture,
              &(struct crew_options){
                  .partitions = partitions, .batch = 5, .lease_ns = WEIR_SECONDS(300)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "keeper.eager", 1);
    for (int i = 0; i < 5; i++) {
        enqueue_everywhere(&crew, 10);
        while (count < COUNTS[i])
            members[count++] =
                crew_join_with(&crew, &(struct crew_joining){.points = &points});
        while (count > COUNTS[i]) { /* not always the one that came last */
            crew_leave(members[0]);
            memmove(members, members + 1, (size_t)--count * sizeof members[0]);
        }
        wait_until(are_fair(&crew, members, count));
    }
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(members[0]);
    check_once(&crew);
    crew_audit(&crew);
    crew_close(&crew);
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
    struct crew crew;
    pid_t processes[MEMBERS_MAX];

    crew_open(&crew, fixture, &OPTIONS);
    atomic_store(&crew.ledger->slow_ns, WEIR_MILLISECONDS(1));
    for (int i = 0; i < MEMBERS_MAX; i++)
        processes[i] = crew_start(&crew);
    for (int i = 0; i < MEMBERS_MAX; i++) {
        int64_t before = crew_done(&crew);

        enqueue_everywhere(&crew, 50);
        wait_until(crew_done(&crew) > before + 40);
        crew_end(&crew, processes[i]);
        enqueue_everywhere(&crew, 20);
        processes[i] = crew_start(&crew);
    }
    wait_until(crew_stored(&crew) == enqueued(&crew));
    for (int i = 0; i < MEMBERS_MAX; i++)
        crew_end(&crew, processes[i]);
    check_once(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(shares, are_handed_over_between_batches_under_load)
{
    struct crew crew;
    struct crew_member *one, *two, *three;

    crew_open(&crew, fixture, &OPTIONS);
    atomic_store(&crew.ledger->slow_ns, WEIR_MILLISECONDS(2));
    one = crew_join(&crew);
    enqueue_everywhere(&crew, 100);
    two = crew_join(&crew);
    wait_until(crew_share_of(&crew, two) == 4);
    enqueue_everywhere(&crew, 50);
    three = crew_join(&crew);
    wait_until(crew_share_of(&crew, three) >= 2);
    crew_leave(one);
    enqueue_everywhere(&crew, 50);
    wait_until(crew_share_of(&crew, two) == 4 && crew_share_of(&crew, three) == 4);
    crew_leave(two);
    atomic_store(&crew.ledger->slow_ns, 0);

    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(three);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(shares, of_a_process_that_dies_are_taken_over)
{
    struct crew crew;
    struct crew_member *one;
    pid_t two;

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = PARTITIONS,
                                     .lease_ns = WEIR_MILLISECONDS(600)});
    one = crew_join(&crew);
    two = crew_start(&crew);
    wait_until(crew_share_of(&crew, one) == 4 && crew_share(&crew, "crew-1") == 4);
    crew_kill(&crew, two);
    wait_until(crew_share_of(&crew, one) == PARTITIONS);
    enqueue_everywhere(&crew, 3);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(one);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(shares, leave_a_process_waiting_when_there_are_too_few_partitions)
{
    struct crew crew;
    struct crew_member *members[3];

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = 2, .lease_ns = WEIR_SECONDS(2)});
    for (int i = 0; i < 2; i++)
        members[i] = crew_join(&crew);
    wait_until(crew_share_of(&crew, members[0]) == 1 &&
               crew_share_of(&crew, members[1]) == 1);
    members[2] = crew_join(&crew); /* not sooner: it might be quicker than the second */
    check_int(crew_share_of(&crew, members[2]), 0);
    crew_leave(members[0]);
    wait_until(crew_share_of(&crew, members[2]) == 1);
    enqueue_everywhere(&crew, 2);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(members[1]);
    crew_leave(members[2]);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

/* The call that began first may last for ever: it is not what a newcomer is made to wait for. */
OUTBOX_TEST(shares, of_a_newcomer_do_not_wait_for_a_long_call)
{
    struct weir_fault_points points;
    struct crew crew;
    struct crew_member *one, *two;
    uint64_t renewals;

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = 2,
                                     .lease_ns = WEIR_MILLISECONDS(1500),
                                     .budget_ns = WEIR_SECONDS(300)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "keeper.renewed", UINT64_MAX); /* to count */
    one = crew_join_with(&crew, &(struct crew_joining){.points = &points});
    for (int32_t p = 0; p < 2; p++) {
        atomic_store(&crew.ledger->hold[p], true);
        crew_enqueue(&crew, p, 1);
        wait_until(atomic_load(&crew.ledger->holding) == (uint32_t)p + 1);
    }
    two = crew_join(&crew);
    renewals =
        atomic_load(&points.armed[0].passed); /* it beats as often: it has chosen */
    wait_until(atomic_load(&points.armed[0].passed) >= renewals + 3);
    atomic_store(&crew.ledger->hold[1], false);
    wait_until(crew_share_of(&crew, two) == 1);

    check_int(crew_share_of(&crew, one), 1);
    check_int(atomic_load(&crew.ledger->holding), 1);
    atomic_store(&crew.ledger->hold[0], false);
    wait_until(crew_stored(&crew) == 2);
    crew_leave(one);
    crew_leave(two);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(shares, are_taken_over_at_once_when_a_process_leaves_in_order)
{
    struct crew crew;
    struct crew_member *one, *two;

    /* if they were not released, the leases would outlast the test's patience */
    crew_open(
        &crew, fixture,
        &(struct crew_options){.partitions = PARTITIONS, .lease_ns = WEIR_SECONDS(300)});
    one = crew_join(&crew);
    enqueue_everywhere(&crew, 2);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(one);
    two = crew_join(&crew);
    check_int(crew_share_of(&crew, two), PARTITIONS);
    enqueue_everywhere(&crew, 2);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(two);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
}

static void die_idle(struct fixture *fixture, int32_t partitions)
{
    struct crew crew;
    struct crew_member *two;
    pid_t one;

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = partitions,
                                     .lease_ns = WEIR_MILLISECONDS(400)});
    one = crew_start(&crew);
    enqueue_everywhere(&crew, 3);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_kill(&crew, one);

    for (int32_t p = 0; p < partitions; p++)
        wait_until(crew_read(&crew, p).lease_left_us == 0);
    two = crew_join(&crew);
    for (int32_t p = 0; p < partitions; p++)
        wait_until(crew_read(&crew, p).crashes == 0);
    enqueue_everywhere(&crew, 3);
    wait_until(crew_stored(&crew) == enqueued(&crew));

    crew_leave(two);
    check_quiet(&crew);
    crew_audit(&crew);
    crew_close(&crew);
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
    struct crew crew;
    struct crew_member *two, *three;
    pid_t one;

    crew_open(&crew, fixture, &(struct crew_options){.lease_ns = WEIR_MILLISECONDS(400)});
    atomic_store(&crew.ledger->poison, 1);
    crew_enqueue_together(&crew, 0, 3);
    one = crew_spawn(&crew);
    wait_until(process_has_ended(one));
    atomic_store(&crew.ledger->owner[0], 0);
    atomic_store(&crew.ledger->poison, 0);
    check_db(weir_outbox_pause_queue(crew.outbox, "crew", &fixture->error), WEIR_OK);

    two = crew_join(&crew);
    wait_until(crew_share_of(&crew, two) == 1);
    crew_leave(two);
    check_db(weir_outbox_resume_queue(crew.outbox, "crew", &fixture->error), WEIR_OK);
    three = crew_join(&crew);
    wait_until(crew_stored(&crew) == 3);

    check_int(crew.ledger->records[1].batch, 1);
    crew_leave(three);
    crew_close(&crew);
}
