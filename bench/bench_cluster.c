/*
 * bench_cluster.c - what a second and two more consuming processes bring, on one server.
 *
 *   bench_cluster [--quick] [ENGINE...]
 *
 * On PostgreSQL, unless others are named. Three teams of 1, 2 and 4 processes, each
 * with a database of its own on the same server, 64 partitions and 8 handler calls at
 * once per process; a handler waits 2 ms at each message. In each round every team in
 * turn is sent as many messages per process, in one transaction, while the others have
 * nothing to do. Measured is from the first call of a handler to the end of the last
 * one. The ratios are of rounds. docs/internals/bench.md explains how to read it; a
 * target that is missed is printed and does not change the exit code. A message that is
 * lost, repeated or out of order does.
 */
#include <stdio.h>
#include <string.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/frame.h"
#include "lib/must.h"
#include "lib/process_pool.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { TEAMS = 3, HANDLERS = 8 };

static const size_t SIZES[TEAMS] = {1, 2, 4};

#define WAIT_NS WEIR_MILLISECONDS(2)

struct plan {
    size_t rounds;
    uint64_t messages; /* of a round, per process */
};

static const struct plan FULL = {.rounds = 9, .messages = 16000};
static const struct plan LONG = {.rounds = 25, .messages = 16000};
static const struct plan QUICK = {.rounds = 2, .messages = 3200};

static struct bench_process_pool teams[TEAMS];

static void open_teams(struct bench_database *database)
{
    for (size_t i = 0; i < TEAMS; i++) {
        struct bench_process_pool_options options = {
            .profile = BENCH_PROFILE, .handlers = HANDLERS, .wait_ns = WAIT_NS};
        char name[32];

        (void)snprintf(name, sizeof name, "of%zu", SIZES[i]);
        options.url = bench_database_add(database, name, false);
        bench_process_pool_open(&teams[i], &options);
        for (size_t n = 0; n < SIZES[i]; n++)
            (void)bench_process_pool_start(&teams[i]);
    }
    for (size_t i = 0; i < TEAMS; i++)
        bench_process_pool_await_even(&teams[i]);
}

static void close_teams(void)
{
    for (size_t i = 0; i < TEAMS; i++) {
        bench_must(atomic_load(&teams[i].board->repeats) == 0, "messages came twice");
        bench_process_pool_close(&teams[i]);
    }
}

static double rate_of(struct bench_process_pool *process_pool, uint64_t count)
{
    bench_process_pool_send_at_once(process_pool, count);
    return bench_per_second(count, bench_process_pool_await(process_pool));
}

static void print_rates(enum weir_engine engine, const struct bench_sample *alone,
                        const struct bench_pair *pairs)
{
    const double most = HANDLERS * 1e9 / (double)WAIT_NS;
    char text[96];

    bench_frame_section(engine, "messages per second", "1 process");
    bench_row_sample("1 process", BENCH_PER_SECOND, alone, BENCH_UNJUDGED);
    bench_row_pair("2 processes", BENCH_PER_SECOND, &pairs[1], BENCH_AT_LEAST(1.8));
    bench_row_pair("4 processes", BENCH_PER_SECOND, &pairs[2], BENCH_UNJUDGED);
    (void)snprintf(text, sizeof text, "%d calls of 2 ms at once are %.0f a second",
                   HANDLERS, most);
    bench_note(text);
}

static void bench_rates(struct bench_database *database, const struct plan *plan)
{
    struct bench_sample alone;
    struct bench_pair pairs[TEAMS];

    memset(&alone, 0, sizeof alone);
    memset(pairs, 0, sizeof pairs);
    open_teams(database);
    for (size_t round = 0; round < plan->rounds; round++) {
        double rates[TEAMS];

        for (size_t i = 0; i < TEAMS; i++)
            rates[i] = rate_of(&teams[i], plan->messages * SIZES[i]);
        bench_sample_add(&alone, rates[0]);
        for (size_t i = 1; i < TEAMS; i++)
            bench_pair_add(&pairs[i], rates[i], rates[0]);
    }
    print_rates(bench_database_engine(database), &alone, pairs);
    close_teams();
}

static const struct plan *choose_plan(const struct bench_choice *choice)
{
    if (choice->quick)
        return &QUICK;
    return bench_choice_is_long(choice) ? &LONG : &FULL;
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL,
                                               WEIR_MARIADB};
    struct bench_choice choice = {.section_count = 0};
    const struct plan *plan;
    struct bench_frame frame;

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    if (choice.engines_wanted == 0)
        choice.engines_wanted = 1U << WEIR_POSTGRESQL;
    plan = choose_plan(&choice);
    bench_frame_begin(&frame, plan->rounds, choice.quick);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        struct bench_database *database;

        if (!bench_choice_has_engine(&choice, ENGINES[i]))
            continue;
        database = bench_database_open(ENGINES[i]);
        bench_rates(database, plan);
        bench_database_close(database);
    }
    bench_frame_end(&frame);
    return 0;
}
