/*
 * Random flows on a server against the reference of a hundred lines; see
 * lib/graph_run.h. On SQLite there are many more of them (sim/test_graphs.c).
 *
 * WEIR_PLAN="seed=7 ..." runs only that one and prints what happens in it.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/execution/flow_engines.h"
#include "kit/execution/graph_run.h"
#include "weir/executor.h"
#include "weir/notifier.h"
#include "weir/ward.h"
#include "weir/worker.h"

enum { SEEDS = 100, TEXT_SIZE = 200 };

/* One flow, on a thread of its own: reconcilers want to be run by a worker. */
struct setup {
    struct graph_run *run;
    struct weir_db *db;
    _Atomic bool done;
};

static enum weir_status play(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct setup *self = state;
    struct graph_ground ground = {.db = self->db, .context = context};

    (void)error;
    graph_run_go(self->run, &ground);
    *out = weir_idle();
    atomic_store(&self->done, true);
    return WEIR_OK;
}

static void wait_for(struct setup *self)
{
    struct weir_executor_options threads;
    struct weir_worker_options options;
    struct weir_executor *executor = NULL;
    struct weir_notifier *begin = NULL;
    struct weir_ward *ward = NULL;

    weir_executor_options_init(&threads);
    threads.threads = 1;
    check_status(weir_executor_create(&threads, &executor, NULL), WEIR_OK);
    check_status(weir_notifier_create(executor, &begin), WEIR_OK);
    check_status(weir_ward_create(executor, &(struct weir_ward_options){.name = "stage"},
                                  &ward, NULL),
                 WEIR_OK);
    weir_worker_options_init(&options);
    options.name = "play";
    options.action = play;
    options.state = self;
    options.notifiers = &begin;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(ward, &options, NULL, NULL), WEIR_OK);
    weir_notifier_notify_one(begin);
    wait_until(atomic_load(&self->done));
    check_int(weir_ward_stop(ward, WEIR_SECONDS(60)), 0);
    weir_ward_destroy(ward);
    weir_notifier_destroy(begin);
    weir_executor_destroy(executor);
}

static void run(struct fixture *fixture, const struct graph_plan *plan, bool loud,
                struct graph_outcome *out)
{
    struct weir_db_options options = fixture_options(fixture);
    struct setup setup = {.run = graph_run_create(plan, loud),
                          .db = fixture_open(fixture, &options)};
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_set_oracle(&points, graph_run_decides, setup.run);
    weir_db_set_fault_points(setup.db, &points);
    wait_for(&setup);
    graph_run_outcome(setup.run, out);
    weir_db_destroy(setup.db);
    graph_run_destroy(setup.run);
}

FLOW_POSTGRESQL_TEST(random_flow, comes_out_as_the_model_says_for_every_seed)
{
    const char *text = getenv("WEIR_PLAN");
    struct graph_outcome outcome;
    struct graph_plan plan;
    uint32_t joins = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        plan = graph_plan_of_seed(seed);
        if (text != NULL)
            check(graph_plan_parse(&plan, text));
        run(fixture, &plan, text != NULL, &outcome);
        if (outcome.violation[0] != '\0') {
            char again[TEXT_SIZE];

            graph_plan_format(&plan, again, sizeof again);
            weir_test_fail(__FILE__, __LINE__, "%s: replay with WEIR_PLAN=\"%s\"",
                           outcome.violation, again);
        }
        joins += outcome.joins;
        if (text != NULL)
            return;
    }
    printf("# %d flows, %u joins decided\n", SEEDS, joins);
    check(joins > 0);
}
