/*
 * Processes that are killed, and which messages that counts against: only one that was alone in the
 * hands of a suspect when its process ended (mark.h).
 */
#include <signal.h>
#include <string.h>

#include "lib/crew.h"
#include "lib/effects.h"
#include "lib/outbox_engines.h"
#include "lib/process.h"

enum { INNOCENT = 15, ATTEMPTS_MAX = 2, MESSAGES = 10, POISON = 1 };

static int64_t letters(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter");
}

/* Five owners of a queue that is paused are killed: none has called a handler. */
OUTBOX_TEST(deaths, of_owners_of_a_paused_queue_reject_nothing)
{
    enum { KILLS = 5, PARTITIONS = 2 };
    struct crew crew;
    char name[32];
    pid_t pid;

    crew_open(&crew, fixture,
              &(struct crew_options){.partitions = PARTITIONS,
                                     .attempts_max = 1,
                                     .lease_ns = WEIR_MILLISECONDS(200)});
    crew_pause(&crew, true);
    for (int32_t p = 0; p < PARTITIONS; p++)
        crew_enqueue(&crew, p, 2);
    for (uint32_t i = 0; i < KILLS; i++) {
        pid = crew_start(&crew);
        crew_name(i, name, sizeof name);
        wait_until(crew_share(&crew, name) == PARTITIONS);
        crew_kill(&crew, pid);
    }
    check_int(atomic_load(&crew.ledger->count), 0);
    crew_pause(&crew, false);
    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == PARTITIONS * 2);

    check_int(letters(fixture), 0);
    crew_end(&crew, pid);
    crew_audit(&crew);
    crew_close(&crew);
}

/* One process after the other, until one is still there when everything is passed. Returns how many
 * have died. */
static uint32_t run_until_passed(struct crew *crew, int64_t wanted)
{
    uint32_t deaths = 0;
    pid_t pid = crew_spawn(crew);

    while (crew_stored(crew) < wanted) {
        if (!process_has_ended(pid))
            continue;
        for (int p = 0; p < CREW_PARTITIONS_MAX; p++)
            atomic_store(&crew->ledger->owner[p], 0);
        deaths++;
        pid = crew_spawn(crew);
    }
    crew_end(crew, pid);
    return deaths;
}

/* The first message of partition 0 kills; those of the others are in handlers at the same time. */
static uint32_t poison_one_of_many(struct crew *crew, struct fixture *fixture,
                                   const struct crew_options *options)
{
    uint32_t deaths;

    crew_open(crew, fixture, options);
    atomic_store(&crew->ledger->slow_ns, WEIR_MILLISECONDS(5));
    for (int32_t p = 0; p < options->partitions; p++)
        crew_enqueue(crew, p, MESSAGES);
    atomic_store(&crew->ledger->poison, POISON);
    deaths = run_until_passed(crew, options->partitions * MESSAGES);
    check_int(letters(fixture), 1);
    check_int(fixture_ask(fixture, "SELECT seq FROM weir_dead_letter"), POISON);
    check_int(fixture_ask(fixture, "SELECT attempts FROM weir_dead_letter"),
              ATTEMPTS_MAX);
    return deaths;
}

OUTBOX_TEST(poison, beside_innocent_partitions_is_the_only_dead_letter)
{
    struct crew crew;
    uint32_t deaths =
        poison_one_of_many(&crew, fixture,
                           &(struct crew_options){.partitions = INNOCENT + 1,
                                                  .handlers = INNOCENT + 1,
                                                  .batch = 1,
                                                  .attempts_max = ATTEMPTS_MAX,
                                                  .lease_ns = WEIR_MILLISECONDS(200)});

    check_int(deaths, ATTEMPTS_MAX + 2);
    crew_audit(&crew);
    crew_close(&crew);
}

OUTBOX_TEST(poison, of_a_transactional_handler_is_the_only_dead_letter)
{
    struct crew crew;
    uint32_t deaths;

    effects_prepare(fixture);
    deaths =
        poison_one_of_many(&crew, fixture,
                           &(struct crew_options){.partitions = 4,
                                                  .handlers = 4,
                                                  .batch = 1,
                                                  .transactional = true,
                                                  .attempts_max = ATTEMPTS_MAX,
                                                  .lease_ns = WEIR_MILLISECONDS(200)});

    check_int(deaths, ATTEMPTS_MAX + 2);
    check_int(effects_count(fixture), 4 * MESSAGES - 1);
    check_int(effects_repeated(fixture), 0);
    crew_close(&crew);
}

/* Nothing that takes time is between them, so it cannot be told from a death in the call. */
OUTBOX_TEST(deaths, between_mark_and_call_are_those_of_the_call)
{
    struct crew crew;
    pid_t pid;

    crew_open(
        &crew, fixture,
        &(struct crew_options){.attempts_max = 1, .lease_ns = WEIR_MILLISECONDS(200)});
    crew_enqueue(&crew, 0, 1);
    atomic_store(&crew.ledger->poison, POISON);
    pid = crew_spawn(&crew);
    wait_until(process_has_ended(pid));
    (void)strcpy(crew.ledger->point, "caller.marked");
    crew.ledger->point_at = 1;
    for (int i = 0; i < 2; i++) { /* beside, and alone */
        pid = crew_spawn(&crew);
        wait_until(process_has_ended(pid));
    }
    crew.ledger->point[0] = '\0';
    pid = crew_start(&crew);
    wait_until(crew_stored(&crew) == 1);

    check_int(letters(fixture), 1);
    check_int(atomic_load(&crew.ledger->count), 1);
    crew_end(&crew, pid);
    crew_close(&crew);
}
