/*
 * Processes with transactional handlers that do everything wrong, on a database that
 * loses connections and replies, and that are killed again and again: each message
 * takes effect once.
 */
#include <stdio.h>

#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "kit/server/process.h"
#include "weir/inspect.h"

enum { PARTITIONS = 8, MESSAGES = 20000, KILLS = 8, PROCESSES = 2 };

static void enqueue_all(struct process_pool *process_pool)
{
    enum { TOGETHER = 100 };

    for (int i = 0; i < MESSAGES / TOGETHER; i++)
        process_pool_enqueue_together(process_pool, i % PARTITIONS, TOGETHER);
}

/* Dead letters of the numbers that are no good, one each. */
static int64_t rejected(const struct process_pool *process_pool)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < PARTITIONS; p++)
        sum += process_pool->enqueued[p] / PROCESS_POOL_REJECTED;
    return sum;
}

static void add_dead_letters(void *state, const struct weir_queue_info *info)
{
    *(int64_t *)state += info->dead_letters;
}

static int64_t dead_letters(struct process_pool *process_pool)
{
    struct fixture *fixture = process_pool->fixture;
    int64_t sum = 0;

    check_db(weir_outbox_read_queues(process_pool->outbox, add_dead_letters, &sum,
                                     &fixture->error),
             WEIR_OK);
    return sum;
}

/* One process after the other is killed at another moment, and replaced. */
static void kill_and_replace(struct process_pool *process_pool, pid_t pids[PROCESSES])
{
    int64_t step = MESSAGES / (KILLS + 2);

    for (int i = 0; i < KILLS; i++) {
        pid_t *pid = &pids[i % PROCESSES];

        wait_until(process_pool_stored(process_pool) >= (i + 1) * step);
        process_pool_kill(process_pool, *pid);
        *pid = process_pool_spawn(process_pool);
    }
}

/* On SQLite each row that is read is a pass, and a page has to come to its end now and
 * then. */
OUTBOX_TEST(exactly_once, holds_for_20000_messages_through_faults_and_kills)
{
    uint64_t rare = fixture->engine == WEIR_SQLITE ? 4 : 1;
    const struct process_pool_options options = {
        .partitions = PARTITIONS,
        .batch = 30,
        .handlers = 2,
        .lease_ns = WEIR_MILLISECONDS(600),
        .retry_ns = WEIR_MILLISECONDS(2),
        .transactional = true,
        .mischief = 8,
        .lose_every = 4001 * rare,
        .fail_every = 2003 * rare,
        .lose_reply_every = 53,
    };
    pid_t pids[PROCESSES];
    struct process_pool process_pool;

    effects_prepare(fixture);
    process_pool_open(&process_pool, fixture, &options);
    enqueue_all(&process_pool);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = process_pool_start(&process_pool);
    kill_and_replace(&process_pool, pids);

    wait_until(process_pool_stored(&process_pool) == MESSAGES);

    for (int i = 0; i < PROCESSES; i++)
        process_pool_end(&process_pool, pids[i]);
    process_pool_audit_effects(&process_pool);
    check_int(dead_letters(&process_pool), rejected(&process_pool));
    process_pool_close(&process_pool);
}

/* Kill one process at its `at`th pass of a point; another one goes on. */
static void kill_at(struct fixture *fixture, const char *point, uint64_t at)
{
    struct process_pool process_pool;
    pid_t pid;

    effects_prepare(fixture);
    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.transactional = true,
                                                     .batch = 5,
                                                     .lease_ns = WEIR_MILLISECONDS(300)});
    process_pool_enqueue_together(&process_pool, 0, 30);
    snprintf(process_pool.ledger->point, sizeof process_pool.ledger->point, "%s", point);
    process_pool.ledger->point_at = at;
    pid = process_pool_spawn(&process_pool);
    wait_until(process_has_ended(pid));
    process_pool.ledger->point[0] = '\0';

    pid = process_pool_start(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 30);

    process_pool_end(&process_pool, pid);
    process_pool_audit_effects(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(exactly_once, holds_when_killed_in_the_handler)
{
    kill_at(fixture, "handler_runner.begun", 2);
}

OUTBOX_TEST(exactly_once, holds_when_killed_before_the_position_is_moved)
{
    kill_at(fixture, "tx.commit", 2);
}

OUTBOX_TEST(exactly_once, holds_when_killed_before_the_commit)
{
    kill_at(fixture, "tx.moved", 2);
}

OUTBOX_TEST(exactly_once, holds_when_killed_after_the_commit)
{
    kill_at(fixture, "tx.committed", 2);
}
