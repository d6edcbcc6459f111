/*
 * Processes with transactional handlers that do everything wrong, on a database that loses
 * connections and replies, and that are killed again and again: each message takes effect once.
 */
#include <stdio.h>

#include "lib/crew.h"
#include "lib/effects.h"
#include "lib/outbox_engines.h"
#include "lib/process.h"
#include "weir/inspect.h"

enum { PARTITIONS = 8, MESSAGES = 20000, KILLS = 8, PROCESSES = 2 };

static void enqueue_all(struct crew *crew)
{
    enum { TOGETHER = 100 };

    for (int i = 0; i < MESSAGES / TOGETHER; i++)
        crew_enqueue_together(crew, i % PARTITIONS, TOGETHER);
}

/* Dead letters of the numbers that are no good, one each. */
static int64_t rejected(const struct crew *crew)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < PARTITIONS; p++)
        sum += crew->enqueued[p] / CREW_REJECTED;
    return sum;
}

static void add_dead_letters(void *state, const struct weir_queue_info *info)
{
    *(int64_t *)state += info->dead_letters;
}

static int64_t dead_letters(struct crew *crew)
{
    struct fixture *fixture = crew->fixture;
    int64_t sum = 0;

    check_db(
        weir_outbox_read_queues(crew->outbox, add_dead_letters, &sum, &fixture->error),
        WEIR_OK);
    return sum;
}

/* One process after the other is killed at another moment, and replaced. */
static void kill_and_replace(struct crew *crew, pid_t pids[PROCESSES])
{
    int64_t step = MESSAGES / (KILLS + 2);

    for (int i = 0; i < KILLS; i++) {
        pid_t *pid = &pids[i % PROCESSES];

        wait_until(crew_stored(crew) >= (i + 1) * step);
        crew_kill(crew, *pid);
        *pid = crew_spawn(crew);
    }
}

/* On SQLite each row that is read is a pass, and a page has to come to its end now and then. */
OUTBOX_TEST(exactly_once, holds_for_20000_messages_through_faults_and_kills)
{
    uint64_t rare = fixture->engine == WEIR_SQLITE ? 4 : 1;
    const struct crew_options options = {
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
    struct crew crew;

    effects_prepare(fixture);
    crew_open(&crew, fixture, &options);
    enqueue_all(&crew);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = crew_start(&crew);
    kill_and_replace(&crew, pids);

    wait_until(crew_stored(&crew) == MESSAGES);

    for (int i = 0; i < PROCESSES; i++)
        crew_end(&crew, pids[i]);
    crew_audit_effects(&crew);
    check_int(dead_letters(&crew), rejected(&crew));
    crew_close(&crew);
}

/* Kill one process at its `at`th pass of a point; another one goes on. */
static void kill_at(struct fixture *fixture, const char *point, uint64_t at)
{
    struct crew crew;
    pid_t pid;

    effects_prepare(fixture);
    crew_open(&crew, fixture,
              &(struct crew_options){
                  .transactional = true, .batch = 5, .lease_ns = WEIR_MILLISECONDS(300)});
    crew_enqueue_together(&crew, 0, 30);
    snprintf(crew.ledger->point, sizeof crew.ledger->point, "%s", point);
    crew.ledger->point_at = at;
    pid = crew_spawn(&crew);
    wait_until(process_has_ended(pid));
    crew.ledger->point[0] = '\0';

    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == 30);

    crew_end(&crew, pid);
    crew_audit_effects(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(exactly_once, holds_when_killed_in_the_handler)
{
    kill_at(fixture, "caller.begun", 2);
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
