/*
 * Processes that are killed while they deliver, and what the next one gets.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/crew.h"
#include "lib/outbox_engines.h"
#include "lib/process.h"

/* The `n`th message, from 1, that was given to anybody. */
static const struct crew_record *record_of(const struct crew *crew, size_t n)
{
    wait_until(atomic_load(&crew->ledger->records[n - 1].written));
    return &crew->ledger->records[n - 1];
}

static size_t count_of(const struct crew *crew)
{
    return atomic_load(&crew->ledger->count);
}

static void wait_for_holders(const struct crew *crew, uint32_t wanted)
{
    wait_until(atomic_load(&crew->ledger->holding) >= wanted);
}

/* Kill it in the middle of a call; what it holds is forgotten. */
static void kill_holder(struct crew *crew, pid_t pid)
{
    crew_kill(crew, pid);
    atomic_store(&crew->ledger->holding, 0);
}

OUTBOX_TEST(kill, in_a_batch_brings_the_same_messages_again)
{
    struct crew crew;
    pid_t pid;

    crew_open(&crew, fixture, &(struct crew_options){.batch = 3});
    crew_enqueue(&crew, 0, 3);
    atomic_store(&crew.ledger->hold[0], true);
    pid = crew_start(&crew);
    wait_for_holders(&crew, 1);
    kill_holder(&crew, pid);
    check_int(count_of(&crew), 3);
    atomic_store(&crew.ledger->hold[0], false);

    pid = crew_start(&crew);
    wait_until(crew_done(&crew) == 3);

    for (size_t n = 1; n <= 3; n++) {
        const struct crew_record *before = record_of(&crew, n);
        const struct crew_record *after = record_of(&crew, n + 3);

        check_int(after->seq, before->seq);
        check(memcmp(after->uid, before->uid, WEIR_UID_SIZE) == 0);
        check(after->epoch > before->epoch);
    }
    check_int(record_of(&crew, 1)->attempts, 0);
    check_int(record_of(&crew, 4)->attempts, 0);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

/* Not the first, whose call has no mark, and not the second, which others may have run beside. */
OUTBOX_TEST(kill, counts_an_attempt_of_a_message_that_was_alone)
{
    enum { KILLS = 4, UNCOUNTED = 2 };
    struct crew crew;
    pid_t pid;

    crew_open(&crew, fixture, &(struct crew_options){.lease_ns = WEIR_MILLISECONDS(200)});
    crew_enqueue(&crew, 0, 1);
    atomic_store(&crew.ledger->hold[0], true);
    for (size_t i = 0; i < KILLS; i++) {
        pid = crew_start(&crew);
        wait_for_holders(&crew, 1);
        check_int(record_of(&crew, i + 1)->attempts, i > UNCOUNTED ? i - UNCOUNTED : 0);
        kill_holder(&crew, pid);
    }
    atomic_store(&crew.ledger->hold[0], false);

    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == 1);

    check_int(record_of(&crew, KILLS + 1)->attempts, KILLS - UNCOUNTED);
    check_int(crew_read(&crew, 0).crashes, 0);
    check_int(crew_read(&crew, 0).attempts, 0);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

/* Start processes until one of them lives for long enough to deliver everything. */
OUTBOX_TEST(poison, is_alone_in_its_batch_after_a_few_rounds)
{
    enum { MESSAGES = 100, POISON = 70, ROUNDS_MAX = 12 };
    struct crew crew;
    const struct crew_record *last = NULL;
    const struct crew_record *record;
    size_t from = 0;
    pid_t pid;
    int rounds = 0;

    crew_open(&crew, fixture,
              &(struct crew_options){.batch = 50, .lease_ns = WEIR_MILLISECONDS(200)});
    crew_enqueue(&crew, 0, MESSAGES);
    atomic_store(&crew.ledger->poison, POISON);
    do {
        check_in_range(++rounds, 1, ROUNDS_MAX);
        pid = crew_spawn(&crew);
        wait_until(process_has_ended(pid));
        last = record_of(&crew, count_of(&crew));
        check_int(last->number, POISON);
    } while (last->batch > 1);

    /* everything before it was delivered and acknowledged, and nothing behind it */
    check_int(crew_read(&crew, 0).seq, POISON - 1);
    while ((record = crew_next(&crew, 0, &from)) != NULL)
        check(record->number <= POISON);

    /* it stays alone */
    pid = crew_spawn(&crew);
    wait_until(process_has_ended(pid));
    last = record_of(&crew, count_of(&crew));
    check_int(last->number, POISON);
    check_int(last->batch, 1);

    /* and once it is mended everything flows */
    atomic_store(&crew.ledger->poison, 0);
    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == MESSAGES);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(poison, delays_no_other_partition)
{
    struct crew crew;
    pid_t pid;

    crew_open(
        &crew, fixture,
        &(struct crew_options){.partitions = 2, .lease_ns = WEIR_MILLISECONDS(200)});
    atomic_store(&crew.ledger->poison, 1);
    for (int i = 0; i < 3; i++) {
        crew_enqueue(&crew, 0, 1);
        pid = crew_spawn(&crew);
        wait_until(process_has_ended(pid));
    }
    atomic_store(&crew.ledger->poison, 0);
    crew_enqueue(&crew, 1, 20);
    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == 23);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

/* One message after the other, until the point comes at which the process is killed. */
static void keep_busy_until_end(struct crew *crew, pid_t pid)
{
    int64_t deadline_ms = fixture_deadline();

    while (!process_has_ended(pid)) {
        crew_enqueue(crew, 1, 1);
        fixture_wait(__FILE__, __LINE__, crew->ledger->point, deadline_ms);
    }
}

/* Kill at each of these, each time with messages in two partitions under way. */
static const char *const POINTS[] = {
    "caller.begun", "caller.answered", "acker.collected",     "acker.moved",
    "keeper.taken", "keeper.renewed",  "dispatcher.advanced", "dispatcher.read",
};

OUTBOX_TEST(kill, at_any_named_point_loses_nothing)
{
    enum { COUNT = sizeof POINTS / sizeof POINTS[0], AT_MAX = 2 };
    struct crew crew;
    pid_t pid;

    crew_open(&crew, fixture,
              &(struct crew_options){
                  .partitions = 2, .batch = 4, .lease_ns = WEIR_MILLISECONDS(150)});
    for (uint64_t at = 1; at <= AT_MAX; at++) {
        for (size_t i = 0; i < COUNT; i++) {
            if (at > 1 && strcmp(POINTS[i], "keeper.taken") == 0)
                continue; /* one process takes once */
            snprintf(crew.ledger->point, CREW_POINT_SIZE, "%s", POINTS[i]);
            crew.ledger->point_at = at;
            crew_enqueue(&crew, 0, 5);
            pid = crew_spawn(&crew);
            keep_busy_until_end(&crew, pid);
            crew_note_stored(&crew);
        }
    }
    crew.ledger->point[0] = '\0';

    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == crew.enqueued[0] + crew.enqueued[1]);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(kill, while_leases_are_given_up_loses_nothing)
{
    static const char *const PLACES[] = {"keeper.leaving", "keeper.released"};
    struct crew crew;
    pid_t pid;

    crew_open(
        &crew, fixture,
        &(struct crew_options){.partitions = 2, .lease_ns = WEIR_MILLISECONDS(150)});
    for (int i = 0; i < 2; i++) {
        snprintf(crew.ledger->point, CREW_POINT_SIZE, "%s", PLACES[i]);
        crew.ledger->point_at = 1;
        crew_enqueue(&crew, 0, 20);
        pid = crew_start(&crew);
        wait_until(crew_done(&crew) > i * 20);
        crew_end(&crew, pid);
        crew_note_stored(&crew);
    }
    crew.ledger->point[0] = '\0';

    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == 40);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(kill, at_random_moments_loses_nothing_and_keeps_the_order)
{
    enum { KILLS = 20, PARTITIONS = 4, MESSAGES = 5000 };
    struct crew crew;
    pid_t pids[2];
    int sent = 0;

    srand(1);
    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = PARTITIONS,
                                     .batch = 20,
                                     .lease_ns = WEIR_MILLISECONDS(150)});
    atomic_store(&crew.ledger->slow_ns, WEIR_MILLISECONDS(1));
    pids[0] = crew_start(&crew);
    pids[1] = crew_start(&crew);
    for (int i = 0; i < KILLS; i++) {
        for (int end = MESSAGES * (i + 1) / KILLS; sent < end; sent += 10)
            crew_enqueue_together(&crew, rand() % PARTITIONS, 10);
        nanosleep(&(struct timespec){.tv_nsec = rand() % 150 * 1000000L}, NULL);
        crew_kill(&crew, pids[i % 2]);
        crew_note_stored(&crew);
        pids[i % 2] = crew_start(&crew);
    }
    atomic_store(&crew.ledger->slow_ns, 0);

    wait_until(crew_stored(&crew) == MESSAGES);
    crew_end(&crew, pids[0]);
    crew_end(&crew, pids[1]);
    crew_audit(&crew);
    crew_close(&crew);
}
