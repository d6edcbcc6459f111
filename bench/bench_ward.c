/*
 * bench_ward.c - what the worker runtime costs, against what one would do without it.
 *
 *   bench_ward [--quick] [SECTION...]
 *
 * Every figure with a baseline is the median of several rounds; in each round both
 * sides run one right after the other. A target that is missed is printed and does not
 * change the exit code: on a busy machine it says little. docs/internals/bench.md
 * explains the figures.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weir/time.h>

#include "lib/clock.h"
#include "lib/proc.h"
#include "lib/table.h"
#include "lib/ward.h"

static const struct bench_ward_plan FULL = {
    .rounds = 7,
    .short_rounds = 51,
    .noops = 20000,
    .spins = 1000,
    .pings = 10000,
    .idle_ns = WEIR_SECONDS(10),
    .sleeper_count = 100000,
    .sleeper_rounds = 5,
    .groups_max = 100000,
    .paced_count = 1000,
    .storm_ns = WEIR_MILLISECONDS(250),
};

static const struct bench_ward_plan QUICK = {
    .rounds = 3,
    .short_rounds = 11,
    .noops = 20000,
    .spins = 1000,
    .pings = 1000,
    .idle_ns = WEIR_SECONDS(1),
    .sleeper_count = 10000,
    .sleeper_rounds = 1,
    .groups_max = 10000,
    .paced_count = 0,
    .storm_ns = WEIR_MILLISECONDS(50),
};

struct section {
    const char *name;
    void (*run)(const struct bench_ward_plan *plan);
};

/* In this order: the memory of the first is counted before others have used any. */
static const struct section SECTIONS[] = {
    {"idle", bench_ward_idle},         {"noops", bench_ward_noops},
    {"scaling", bench_ward_scaling},   {"latency", bench_ward_latency},
    {"sleepers", bench_ward_sleepers}, {"groups", bench_ward_groups},
    {"storms", bench_ward_storms},
};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static int usage(void)
{
    (void)fprintf(stderr, "usage: bench_ward [--quick] [SECTION...]\nsections:");
    for (size_t i = 0; i < SECTION_COUNT; i++)
        (void)fprintf(stderr, " %s", SECTIONS[i].name);
    (void)fprintf(stderr, "\n");
    return 2;
}

static bool choose(const char *name, bool *chosen)
{
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(name, SECTIONS[i].name) == 0)
            return chosen[i] = true;
    }
    return false;
}

int main(int argc, char **argv)
{
    const struct bench_ward_plan *plan = &FULL;
    bool chosen[SECTION_COUNT] = {false};
    bool all = true;
    int64_t begun_ns = bench_now_ns();

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            plan = &QUICK;
        else if (choose(argv[i], chosen))
            all = false;
        else
            return usage();
    }
    (void)printf("%zu cores, load %.2f, medians of %zu to %zu rounds%s\n",
                 bench_core_count(), bench_load(), plan->rounds, plan->short_rounds,
                 plan == &QUICK ? " (quick: too few to mean much)" : "");
    (void)fflush(stdout);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (all || chosen[i])
            SECTIONS[i].run(plan);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
