/*
 * Processes that are killed while they deliver, and what the next one gets.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "kit/server/process.h"

/* The `n`th message, from 1, that was given to anybody. */
static const struct process_pool_record *
record_of(const struct process_pool *process_pool, size_t n)
{
    wait_until(atomic_load(&process_pool->ledger->records[n - 1].written));
    return &process_pool->ledger->records[n - 1];
}

static size_t count_of(const struct process_pool *process_pool)
{
    return atomic_load(&process_pool->ledger->count);
}

static void wait_for_holders(const struct process_pool *process_pool, uint32_t wanted)
{
    wait_until(atomic_load(&process_pool->ledger->holding) >= wanted);
}

/* Kill it in the middle of a call; what it holds is forgotten. */
static void kill_holder(struct process_pool *process_pool, pid_t pid)
{
    process_pool_kill(process_pool, pid);
    atomic_store(&process_pool->ledger->holding, 0);
}

OUTBOX_TEST(kill, in_a_batch_brings_the_same_messages_again)
{
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture, &(struct process_pool_options){.batch = 3});
    process_pool_enqueue(&process_pool, 0, 3);
    atomic_store(&process_pool.ledger->hold[0], true);
    pid = process_pool_start(&process_pool);
    wait_for_holders(&process_pool, 1);
    kill_holder(&process_pool, pid);
    check_int(count_of(&process_pool), 3);
    atomic_store(&process_pool.ledger->hold[0], false);

    pid = process_pool_start(&process_pool);
    wait_until(process_pool_done(&process_pool) == 3);

    for (size_t n = 1; n <= 3; n++) {
        const struct process_pool_record *before = record_of(&process_pool, n);
        const struct process_pool_record *after = record_of(&process_pool, n + 3);

        check_int(after->seq, before->seq);
        check(memcmp(after->uid, before->uid, WEIR_UID_SIZE) == 0);
        check(after->epoch > before->epoch);
    }
    check_int(record_of(&process_pool, 1)->attempts, 0);
    check_int(record_of(&process_pool, 4)->attempts, 0);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* Not the first, whose call has no mark, and not the second, which others may have run
 * beside. */
OUTBOX_TEST(kill, counts_an_attempt_of_a_message_that_was_alone)
{
    enum { KILLS = 4, UNCOUNTED = 2 };
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_MILLISECONDS(200)});
    process_pool_enqueue(&process_pool, 0, 1);
    atomic_store(&process_pool.ledger->hold[0], true);
    for (size_t i = 0; i < KILLS; i++) {
        pid = process_pool_start(&process_pool);
        wait_for_holders(&process_pool, 1);
        check_int(record_of(&process_pool, i + 1)->attempts,
                  i > UNCOUNTED ? i - UNCOUNTED : 0);
        kill_holder(&process_pool, pid);
    }
    atomic_store(&process_pool.ledger->hold[0], false);

    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 1);

    check_int(record_of(&process_pool, KILLS + 1)->attempts, KILLS - UNCOUNTED);
    check_int(process_pool_read(&process_pool, 0).crashes, 0);
    check_int(process_pool_read(&process_pool, 0).attempts, 0);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* Start processes until one of them lives for long enough to deliver everything. */
OUTBOX_TEST(poison, is_alone_in_its_batch_after_a_few_rounds)
{
    enum { MESSAGES = 100, POISON = 70, ROUNDS_MAX = 12 };
    struct process_pool process_pool;
    const struct process_pool_record *last = NULL;
    const struct process_pool_record *record;
    size_t from = 0;
    pid_t pid;
    int rounds = 0;

    process_pool_open(
        &process_pool, fixture,
        &(struct process_pool_options){.batch = 50, .lease_ns = WEIR_MILLISECONDS(200)});
    process_pool_enqueue(&process_pool, 0, MESSAGES);
    atomic_store(&process_pool.ledger->poison, POISON);
    do {
        check_in_range(++rounds, 1, ROUNDS_MAX);
        pid = process_pool_spawn(&process_pool);
        wait_until(process_has_ended(pid));
        last = record_of(&process_pool, count_of(&process_pool));
        check_int(last->number, POISON);
    } while (last->batch > 1);

    /* everything before it was delivered and acknowledged, and nothing behind it */
    check_int(process_pool_read(&process_pool, 0).seq, POISON - 1);
    while ((record = process_pool_next(&process_pool, 0, &from)) != NULL)
        check(record->number <= POISON);

    /* it stays alone */
    pid = process_pool_spawn(&process_pool);
    wait_until(process_has_ended(pid));
    last = record_of(&process_pool, count_of(&process_pool));
    check_int(last->number, POISON);
    check_int(last->batch, 1);

    /* and once it is mended everything flows */
    atomic_store(&process_pool.ledger->poison, 0);
    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == MESSAGES);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(poison, delays_no_other_partition)
{
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .lease_ns = WEIR_MILLISECONDS(200)});
    atomic_store(&process_pool.ledger->poison, 1);
    for (int i = 0; i < 3; i++) {
        process_pool_enqueue(&process_pool, 0, 1);
        pid = process_pool_spawn(&process_pool);
        wait_until(process_has_ended(pid));
    }
    atomic_store(&process_pool.ledger->poison, 0);
    process_pool_enqueue(&process_pool, 1, 20);
    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 23);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* One message after the other, until the point comes at which the process is killed. */
static void keep_busy_until_end(struct process_pool *process_pool, pid_t pid)
{
    int64_t deadline_ms = fixture_deadline();

    while (!process_has_ended(pid)) {
        process_pool_enqueue(process_pool, 1, 1);
        fixture_wait(__FILE__, __LINE__, process_pool->ledger->point, deadline_ms);
    }
}

/* Kill at each of these, each time with messages in two partitions under way. */
static const char *const POINTS[] = {
    "handler_runner.begun", "handler_runner.answered", "acker.collected",
    "acker.moved",          "lease_keeper.taken",      "lease_keeper.renewed",
    "dispatcher.advanced",  "dispatcher.read",
};

OUTBOX_TEST(kill, at_any_named_point_loses_nothing)
{
    enum { COUNT = sizeof POINTS / sizeof POINTS[0], AT_MAX = 2 };
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .batch = 4,
                                                     .lease_ns = WEIR_MILLISECONDS(150)});
    for (uint64_t at = 1; at <= AT_MAX; at++) {
        for (size_t i = 0; i < COUNT; i++) {
            if (at > 1 && strcmp(POINTS[i], "lease_keeper.taken") == 0)
                continue; /* one process takes once */
            snprintf(process_pool.ledger->point, PROCESS_POOL_POINT_SIZE, "%s",
                     POINTS[i]);
            process_pool.ledger->point_at = at;
            process_pool_enqueue(&process_pool, 0, 5);
            pid = process_pool_spawn(&process_pool);
            keep_busy_until_end(&process_pool, pid);
            process_pool_note_stored(&process_pool);
        }
    }
    process_pool.ledger->point[0] = '\0';

    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) ==
               process_pool.enqueued[0] + process_pool.enqueued[1]);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(kill, while_leases_are_given_up_loses_nothing)
{
    static const char *const PLACES[] = {"lease_keeper.leaving", "lease_keeper.released"};
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .lease_ns = WEIR_MILLISECONDS(150)});
    for (int i = 0; i < 2; i++) {
        snprintf(process_pool.ledger->point, PROCESS_POOL_POINT_SIZE, "%s", PLACES[i]);
        process_pool.ledger->point_at = 1;
        process_pool_enqueue(&process_pool, 0, 20);
        pid = process_pool_start(&process_pool);
        wait_until(process_pool_done(&process_pool) > i * 20);
        process_pool_end(&process_pool, pid);
        process_pool_note_stored(&process_pool);
    }
    process_pool.ledger->point[0] = '\0';

    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 40);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(kill, at_random_moments_loses_nothing_and_keeps_the_order)
{
    enum { KILLS = 20, PARTITIONS = 4, MESSAGES = 5000 };
    struct process_pool process_pool;
    pid_t pids[2];
    int sent = 0;

    srand(1);
    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .batch = 20,
                                                     .lease_ns = WEIR_MILLISECONDS(150)});
    atomic_store(&process_pool.ledger->slow_ns, WEIR_MILLISECONDS(1));
    pids[0] = process_pool_start(&process_pool);
    pids[1] = process_pool_start(&process_pool);
    for (int i = 0; i < KILLS; i++) {
        for (int end = MESSAGES * (i + 1) / KILLS; sent < end; sent += 10)
            process_pool_enqueue_together(&process_pool, rand() % PARTITIONS, 10);
        nanosleep(&(struct timespec){.tv_nsec = rand() % 150 * 1000000L}, NULL);
        process_pool_kill(&process_pool, pids[i % 2]);
        process_pool_note_stored(&process_pool);
        pids[i % 2] = process_pool_start(&process_pool);
    }
    atomic_store(&process_pool.ledger->slow_ns, 0);

    wait_until(process_pool_stored(&process_pool) == MESSAGES);
    process_pool_end(&process_pool, pids[0]);
    process_pool_end(&process_pool, pids[1]);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}
