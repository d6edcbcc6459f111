/*
 * test_graphs.c - random flows against a reference of a hundred lines; see
 * kit/execution/graph_run.h.
 *
 * WEIR_SEEDS=n runs so many flows instead of 2,000 (20,000 with WEIR_LONG);
 * WEIR_PLAN="seed=7 ..." runs only that one and prints what happens in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/choice.h"
#include "kit/db/sqlite_file.h"
#include "kit/execution/graph_run.h"
#include "kit/execution/migrated_file.h"
#include "kit/sim/sim_process.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "weir/executions.h"
#include "weir/outbox.h"

enum {
    SEEDS = 2000,
    SEEDS_LONG = 20000,

    SHRINK_RUNS = 100,
    TEXT_SIZE = 200
};

/* ---- a world ----------------------------------------------------------------------- */

struct sim {
    struct graph_run *run;
    struct sim_process *sim_process;
};

/* A migrated database, made once. */
static const char *template(void)
{
    static char path[TEMP_DIR_SIZE + 16];

    if (path[0] != '\0')
        return path;
    (void)snprintf(path, sizeof path, "%s/graph", temp_dir_of_program());
    migrated_file_make(path, true);
    return path;
}

static void turn_clock(void *state, int64_t error_us)
{
    sim_process_set_wall_error(((struct sim *)state)->sim_process, error_us);
}

static void live(struct sim_process *sim_process, struct weir_context *context,
                 uint32_t index, void *argument)
{
    struct sim *sim = argument;
    struct graph_ground ground = {.db = sim_process_db(sim_process),
                                  .context = context,
                                  .turn_clock = turn_clock,
                                  .state = sim};

    (void)index;
    sim->sim_process = sim_process;
    graph_run_go(sim->run, &ground);
}

static void run_sim(const struct graph_plan *plan, bool loud, struct graph_outcome *out)
{
    struct sim sim = {.run = graph_run_create(plan, loud)};
    char path[TEMP_DIR_SIZE + 16];
    char url[TEMP_DIR_SIZE + 32];
    struct sim_process *sim_process;
    int64_t left;

    (void)snprintf(path, sizeof path, "%s/g", temp_dir_of_program());
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    sqlite_file_copy(template(), path);
    sim_process =
        sim_process_boot(&(struct sim_process_options){.name = "one",
                                                       .seed = plan->seed,
                                                       .url = url,
                                                       .oracle = graph_run_decides,
                                                       .oracle_argument = sim.run,
                                                       .main = live,
                                                       .argument = &sim,
                                                       .mains = 1});
    while (!sim_process_is_done(sim_process))
        sim_process_run_until(sim_process, sim_process_next_ns(sim_process));
    left = sim_process_end(sim_process);
    graph_run_outcome(sim.run, out);
    if (left != 0 && out->violation[0] == '\0')
        (void)snprintf(out->violation, sizeof out->violation,
                       "%" PRId64 " blocks of memory are left", left);
    graph_run_destroy(sim.run);
    sqlite_file_remove(path);
}

static void run_quietly(const struct graph_plan *plan, struct graph_outcome *out)
{
    run_sim(plan, false, out);
}

/* ---- many -------------------------------------------------------------------------- */

/* What repeats it, as small as can be found quickly. */
static void report(const struct graph_plan *plan, const struct graph_outcome *outcome)
{
    struct graph_plan small = graph_plan_shrink(plan, run_quietly, SHRINK_RUNS);
    struct graph_outcome again;
    char text[TEXT_SIZE];

    graph_plan_format(&small, text, sizeof text);
    run_sim(&small, true, &again);
    printf("# seed %" PRIu64
           ": %s\n# a smaller flow: %s\n# replay with WEIR_PLAN=\"%s\"\n",
           plan->seed, outcome->violation, again.violation, text);
}

WEIR_TEST(random_flow, comes_out_as_the_model_says_for_every_seed)
{
    struct graph_outcome sum = {.members = 0};

    if (getenv("WEIR_PLAN") != NULL)
        return; /* the next test runs it */
    for (uint64_t seed = 1; seed <= choice_seeds(SEEDS, SEEDS_LONG); seed++) {
        struct graph_plan plan = graph_plan_of_seed(seed);
        struct graph_outcome outcome;

        run_sim(&plan, false, &outcome);
        if (outcome.violation[0] != '\0') {
            report(&plan, &outcome);
            weir_test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s", seed,
                           outcome.violation);
        }
        sum.members += outcome.members;
        sum.edges += outcome.edges;
        sum.steps += outcome.steps;
        sum.crashes += outcome.crashes;
        sum.joins += outcome.joins;
        sum.siblings += outcome.siblings;
    }
    printf("# %" PRIu64 " flows, %u members, %u edges, %u steps, %u joins decided, %u"
           " siblings not needed, %u crashes\n",
           choice_seeds(SEEDS, SEEDS_LONG), sum.members, sum.edges, sum.steps, sum.joins,
           sum.siblings, sum.crashes);
    check(sum.joins > 0 && sum.siblings > 0 && sum.crashes > 0);
}

WEIR_TEST(random_flow, runs_a_plan_that_is_given)
{
    const char *text = getenv("WEIR_PLAN");
    struct graph_outcome outcome;
    struct graph_plan plan;

    check(graph_plan_parse(&plan,
                           text != NULL ? text : "seed=1 nodes=5 steps=20 chances=511"));
    run_sim(&plan, text != NULL, &outcome);
    check_str(outcome.violation, "");
}
