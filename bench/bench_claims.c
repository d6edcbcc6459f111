/*
 * bench_claims.c - claims of executions while somebody holds an old snapshot of their
 * database.
 *
 *   bench_claims [--quick] [ENGINE...]
 *
 * Two databases on two servers of their own (on SQLite: two files), each with as many
 * executions as were ready once and have ended: 240,000. Of one database a snapshot is
 * held since before that, as a report or a dump would, so nothing of it can be cleaned
 * up. Then each side in turn submits some hundred executions, claims them one by one
 * and completes them; only the claims are measured. In each round one is given back,
 * and so ready again with an old number. docs/internals/bench.md explains how to read
 * it; a target that is missed is printed and does not change the exit code.
 */
#include <stdio.h>
#include <string.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/execution_load.h"
#include "lib/frame.h"
#include "lib/must.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { PORTION = 1000, LEASE_MS = 60000 };

/* The two databases, by these names too: files of SQLite share a folder. */
enum { HELD, FREE, SIDES };
static const char *const NAMES[SIDES] = {"held", "free"};

struct plan {
    size_t rounds;
    uint64_t history; /* executions that have ended */
    size_t claims;    /* of a round */
};

static const struct plan FULL = {.rounds = 20, .history = 240000, .claims = 300};
static const struct plan QUICK = {.rounds = 3, .history = 20000, .claims = 100};

struct setup {
    const struct plan *plan;
    struct bench_database *grounds[SIDES];
    struct bench_execution_load mills[SIDES];
    int64_t slowest_ns[SIDES];
};

/* ---- the load ---------------------------------------------------------------------- */

static void make_history(struct bench_execution_load *execution_load, uint64_t count)
{
    for (uint64_t done = 0; done < count; done += PORTION) {
        struct weir_claimed *claimed = NULL;
        size_t got;

        bench_execution_load_submit(execution_load, PORTION, NULL, NULL);
        got = bench_execution_load_claim(execution_load, PORTION, LEASE_MS, 0, &claimed);
        bench_must(got == PORTION, "all of a portion are claimed");
        bench_execution_load_complete(execution_load, claimed, got);
        weir_claimed_free(execution_load->executions, claimed);
    }
}

/* One claim, which there must be something for, and its end. */
static int64_t claim_one(struct bench_execution_load *execution_load)
{
    struct weir_claimed *claimed = NULL;
    int64_t begun_ns = bench_now_ns();
    size_t got = bench_execution_load_claim(execution_load, 1, LEASE_MS, 0, &claimed);
    int64_t taken_ns = bench_now_ns() - begun_ns;

    bench_must(got == 1, "there is something to claim");
    bench_execution_load_complete(execution_load, claimed, got);
    weir_claimed_free(execution_load->executions, claimed);
    return taken_ns;
}

/* Claims per second. */
static double load(struct setup *self, size_t side)
{
    int64_t taken_ns = 0;

    bench_execution_load_submit(&self->mills[side], self->plan->claims, NULL, NULL);
    for (size_t i = 0; i < self->plan->claims; i++) {
        int64_t one_ns = claim_one(&self->mills[side]);

        taken_ns += one_ns;
        if (one_ns > self->slowest_ns[side])
            self->slowest_ns[side] = one_ns;
    }
    return bench_per_second(self->plan->claims, taken_ns);
}

/* Who comes first changes: what the one leaves to be done is done beside the other. */
static void run_round(struct setup *self, size_t round, struct bench_pair *pair)
{
    double rates[SIDES];

    for (size_t i = 0; i < SIDES; i++) {
        size_t side = (i + round) % SIDES;

        rates[side] = load(self, side);
    }
    bench_pair_add(pair, rates[HELD], rates[FREE]);
}

/* ---- what becomes ready again ------------------------------------------------------ */

/* How long until one that was given back, of an old number, is claimed again. */
static int64_t claim_again(struct bench_execution_load *execution_load)
{
    struct weir_claimed *claimed = NULL;
    struct weir_settlement back = {.verb = WEIR_SETTLE_DELAY};
    struct weir_error error = {0};
    size_t got = bench_execution_load_claim(execution_load, 1, LEASE_MS, 0, &claimed);
    int64_t begun_ns;

    bench_must(got == 1, "there is something to claim");
    back.claim = claimed->claim;
    bench_must_ok(weir_execution_settle(execution_load->executions, &back, 1, &error),
                  &error, "give back");
    weir_claimed_free(execution_load->executions, claimed);
    begun_ns = bench_now_ns();
    do {
        got = bench_execution_load_claim(execution_load, 1, LEASE_MS, 0, &claimed);
        bench_must(got == 1, "there is something to claim");
        bench_execution_load_complete(execution_load, claimed, got);
        got = claimed->claim.no == back.claim.no;
        weir_claimed_free(execution_load->executions, claimed);
    } while (got == 0);
    return bench_now_ns() - begun_ns;
}

static void measure_again(struct setup *self, struct bench_pair *pair)
{
    double took_ns[SIDES];

    for (size_t side = 0; side < SIDES; side++) {
        bench_execution_load_submit(&self->mills[side], self->plan->claims, NULL, NULL);
        took_ns[side] = (double)claim_again(&self->mills[side]);
        for (size_t i = 1; i < self->plan->claims; i++)
            (void)claim_one(&self->mills[side]);
    }
    bench_pair_add(pair, took_ns[HELD], took_ns[FREE]);
}

/* ---- the report -------------------------------------------------------------------- */

static void print_setup(struct setup *self, enum weir_engine engine,
                        const struct bench_pair *rates, const struct bench_pair *again)
{
    struct bench_pair slowest;
    char text[128];

    memset(&slowest, 0, sizeof slowest);
    bench_pair_add(&slowest, (double)self->slowest_ns[HELD],
                   (double)self->slowest_ns[FREE]);
    bench_frame_section(engine, "claims, an old snapshot is held", "without it");
    bench_row_pair("claims, one by one", BENCH_PER_SECOND, rates,
                   BENCH_AT_LEAST(1 / 1.5));
    bench_row_pair("until one is claimed that is ready again", BENCH_NANOSECONDS, again,
                   BENCH_UNJUDGED);
    bench_row_pair("the slowest claim", BENCH_NANOSECONDS, &slowest, BENCH_UNJUDGED);
    (void)snprintf(text, sizeof text, "%llu executions have ended since the snapshot",
                   (unsigned long long)self->plan->history);
    bench_note(text);
}

static void bench_engine(enum weir_engine engine, const struct plan *plan)
{
    struct setup setup = {.plan = plan};
    struct bench_pair rates, again;
    void *snapshot = NULL;

    memset(&rates, 0, sizeof rates);
    memset(&again, 0, sizeof again);
    for (size_t side = 0; side < SIDES; side++) {
        struct bench_execution_load_options options = {.supervised = false};

        setup.grounds[side] = bench_database_open(engine);
        options.url = bench_database_add(setup.grounds[side], NAMES[side], false);
        bench_execution_load_open(&setup.mills[side], &options);
        if (side == HELD)
            snapshot = bench_snapshot_hold(setup.grounds[side], NAMES[side]);
        make_history(&setup.mills[side], plan->history);
    }
    (void)load(&setup, HELD); /* while plans are made */
    (void)load(&setup, FREE);
    memset(setup.slowest_ns, 0, sizeof setup.slowest_ns);
    for (size_t round = 0; round < plan->rounds; round++) {
        run_round(&setup, round, &rates);
        measure_again(&setup, &again);
    }
    print_setup(&setup, engine, &rates, &again);
    bench_snapshot_drop(setup.grounds[HELD], snapshot);
    for (size_t side = 0; side < SIDES; side++) {
        bench_execution_load_close(&setup.mills[side]);
        bench_database_close(setup.grounds[side]);
    }
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_POSTGRESQL, WEIR_SQLITE};
    struct bench_choice choice = {.section_count = 0};
    const struct plan *plan;
    struct bench_frame frame;

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    plan = choice.quick ? &QUICK : &FULL;
    bench_frame_begin(&frame, plan->rounds, choice.quick);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            bench_engine(ENGINES[i], plan);
    }
    bench_frame_end(&frame);
    return 0;
}
