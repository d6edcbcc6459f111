/*
 * Processes that are killed, and which messages that counts against: only one that was
 * alone in the hands of a suspect when its process ended (mark.h).
 */
#include <signal.h>
#include <string.h>

#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "kit/server/process.h"

enum { INNOCENT = 15, ATTEMPTS_MAX = 2, MESSAGES = 10, POISON = 1 };

static int64_t letters(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter");
}

/* Five owners of a queue that is paused are killed: none has called a handler. */
OUTBOX_TEST(deaths, of_owners_of_a_paused_queue_reject_nothing)
{
    enum { KILLS = 5, PARTITIONS = 2 };
    struct process_pool process_pool;
    char name[32];
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .attempts_max = 1,
                                                     .lease_ns = WEIR_MILLISECONDS(200)});
    process_pool_pause(&process_pool, true);
    for (int32_t p = 0; p < PARTITIONS; p++)
        process_pool_enqueue(&process_pool, p, 2);
    for (uint32_t i = 0; i < KILLS; i++) {
        pid = process_pool_start(&process_pool);
        process_pool_name(i, name, sizeof name);
        wait_until(process_pool_quota(&process_pool, name) == PARTITIONS);
        process_pool_kill(&process_pool, pid);
    }
    check_int(atomic_load(&process_pool.ledger->count), 0);
    process_pool_pause(&process_pool, false);
    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == PARTITIONS * 2);

    check_int(letters(fixture), 0);
    process_pool_end(&process_pool, pid);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* One process after the other, until one is still there when everything is passed.
 * Returns how many have died. */
static uint32_t run_until_passed(struct process_pool *process_pool, int64_t wanted)
{
    uint32_t deaths = 0;
    pid_t pid = process_pool_spawn(process_pool);

    while (process_pool_stored(process_pool) < wanted) {
        if (!process_has_ended(pid))
            continue;
        for (int p = 0; p < PROCESS_POOL_PARTITIONS_MAX; p++)
            atomic_store(&process_pool->ledger->owner[p], 0);
        deaths++;
        pid = process_pool_spawn(process_pool);
    }
    process_pool_end(process_pool, pid);
    return deaths;
}

/* The first message of partition 0 kills; those of the others are in handlers at the
 * same time. */
static uint32_t poison_one_of_many(struct process_pool *process_pool,
                                   struct fixture *fixture,
                                   const struct process_pool_options *options)
{
    uint32_t deaths;

    process_pool_open(process_pool, fixture, options);
    atomic_store(&process_pool->ledger->slow_ns, WEIR_MILLISECONDS(5));
    for (int32_t p = 0; p < options->partitions; p++)
        process_pool_enqueue(process_pool, p, MESSAGES);
    atomic_store(&process_pool->ledger->poison, POISON);
    deaths = run_until_passed(process_pool, options->partitions * MESSAGES);
    check_int(letters(fixture), 1);
    check_int(fixture_ask(fixture, "SELECT seq FROM weir_dead_letter"), POISON);
    check_int(fixture_ask(fixture, "SELECT attempts FROM weir_dead_letter"),
              ATTEMPTS_MAX);
    return deaths;
}

OUTBOX_TEST(poison, beside_innocent_partitions_is_the_only_dead_letter)
{
    struct process_pool process_pool;
    uint32_t deaths = poison_one_of_many(
        &process_pool, fixture,
        &(struct process_pool_options){.partitions = INNOCENT + 1,
                                       .handlers = INNOCENT + 1,
                                       .batch = 1,
                                       .attempts_max = ATTEMPTS_MAX,
                                       .lease_ns = WEIR_MILLISECONDS(200)});

    check_int(deaths, ATTEMPTS_MAX + 2);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(poison, of_a_transactional_handler_is_the_only_dead_letter)
{
    struct process_pool process_pool;
    uint32_t deaths;

    effects_prepare(fixture);
    deaths = poison_one_of_many(
        &process_pool, fixture,
        &(struct process_pool_options){.partitions = 4,
                                       .handlers = 4,
                                       .batch = 1,
                                       .transactional = true,
                                       .attempts_max = ATTEMPTS_MAX,
                                       .lease_ns = WEIR_MILLISECONDS(200)});

    check_int(deaths, ATTEMPTS_MAX + 2);
    check_int(effects_count(fixture), 4 * MESSAGES - 1);
    check_int(effects_repeated(fixture), 0);
    process_pool_close(&process_pool);
}

/* Nothing that takes time is between them, so it cannot be told from a death in the
 * call. */
OUTBOX_TEST(deaths, between_mark_and_call_are_those_of_the_call)
{
    struct process_pool process_pool;
    pid_t pid;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.attempts_max = 1,
                                                     .lease_ns = WEIR_MILLISECONDS(200)});
    process_pool_enqueue(&process_pool, 0, 1);
    atomic_store(&process_pool.ledger->poison, POISON);
    pid = process_pool_spawn(&process_pool);
    wait_until(process_has_ended(pid));
    (void)strcpy(process_pool.ledger->point, "handler_runner.marked");
    process_pool.ledger->point_at = 1;
    for (int i = 0; i < 2; i++) { /* beside, and alone */
        pid = process_pool_spawn(&process_pool);
        wait_until(process_has_ended(pid));
    }
    process_pool.ledger->point[0] = '\0';
    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 1);

    check_int(letters(fixture), 1);
    check_int(atomic_load(&process_pool.ledger->count), 1);
    process_pool_end(&process_pool, pid);
    process_pool_close(&process_pool);
}
