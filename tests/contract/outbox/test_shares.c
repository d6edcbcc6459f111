/*
 * Processes that share the partitions of a queue: coming, going and dying.
 */
#include <stdio.h>
#include <string.h>

#include "lib/crew.h"
#include "lib/outbox_engines.h"
#include "lib/process.h"

enum { PARTITIONS = 8 };

static const struct crew_options OPTIONS = {.partitions = PARTITIONS,
                                            .batch = 5,
                                            .lease_ns = WEIR_SECONDS(2)};

static int share_of(struct crew *crew, const struct crew_member *member)
{
    char name[32];

    crew_name(member->process, name, sizeof name);
    return crew_share(crew, name);
}

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
    check_int(share_of(&crew, one), PARTITIONS);

    two = crew_join(&crew);
    wait_until(share_of(&crew, one) == 4 && share_of(&crew, two) == 4);
    three = crew_join(&crew);
    wait_until(share_of(&crew, one) <= 3 && share_of(&crew, two) <= 3 &&
               share_of(&crew, three) >= 2);
    wait_until(share_of(&crew, one) + share_of(&crew, two) + share_of(&crew, three) ==
               PARTITIONS);
    crew_leave(two);
    wait_until(share_of(&crew, one) == 4 && share_of(&crew, three) == 4);
    crew_leave(one);
    wait_until(share_of(&crew, three) == PARTITIONS);

    enqueue_everywhere(&crew, 1);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(three);
    check_quiet(&crew);
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
    wait_until(share_of(&crew, two) == 4);
    enqueue_everywhere(&crew, 50);
    three = crew_join(&crew);
    wait_until(share_of(&crew, three) >= 2);
    crew_leave(one);
    enqueue_everywhere(&crew, 50);
    wait_until(share_of(&crew, two) == 4 && share_of(&crew, three) == 4);
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
    wait_until(share_of(&crew, one) == 4 && crew_share(&crew, "crew-1") == 4);
    crew_kill(&crew, two);
    wait_until(share_of(&crew, one) == PARTITIONS);
    enqueue_everywhere(&crew, 3);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(one);
    crew_audit(&crew);
    crew_close(&crew);
}

/* Two have one each; *waiting is the third, whichever that is. */
static bool two_of_three_serve(struct crew *crew, struct crew_member **members,
                               int *waiting)
{
    int serving = 0;

    for (int i = 0; i < 3; i++) {
        if (share_of(crew, members[i]) == 1)
            serving++;
        else
            *waiting = i;
    }
    return serving == 2 && share_of(crew, members[*waiting]) == 0;
}

OUTBOX_TEST(shares, leave_a_process_waiting_when_there_are_too_few_partitions)
{
    struct crew crew;
    struct crew_member *members[3];
    int waiting = 0;

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = 2, .lease_ns = WEIR_SECONDS(2)});
    for (int i = 0; i < 3; i++)
        members[i] = crew_join(&crew);
    wait_until(two_of_three_serve(&crew, members, &waiting));
    crew_leave(members[(waiting + 1) % 3]);
    wait_until(share_of(&crew, members[waiting]) == 1);
    enqueue_everywhere(&crew, 2);
    wait_until(crew_stored(&crew) == enqueued(&crew));
    crew_leave(members[(waiting + 2) % 3]);
    crew_leave(members[waiting]);
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
    check_int(share_of(&crew, two), PARTITIONS);
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
    crew_enqueue(&crew, 0, 1);
    one = crew_spawn(&crew);
    wait_until(process_has_ended(one));
    atomic_store(&crew.ledger->owner[0], 0);
    atomic_store(&crew.ledger->poison, 0);
    check_db(weir_outbox_pause_queue(crew.outbox, "crew", &fixture->error), WEIR_OK);

    two = crew_join(&crew);
    wait_until(share_of(&crew, two) == 1);
    crew_leave(two);
    check_db(weir_outbox_resume_queue(crew.outbox, "crew", &fixture->error), WEIR_OK);
    three = crew_join(&crew);
    wait_until(crew_stored(&crew) == 1);

    check_int(crew.ledger->records[1].attempts, 1);
    crew_leave(three);
    crew_close(&crew);
}
