/*
 * Two workers and a supervisor in virtual time, on a database that is lost again and
 * again, with handlers that do whatever handlers do: everything ends, and nothing is
 * done by two at once.
 */
#include "contract/flow/worker/flow_worker_fixture.h"
#include "weir/execution_supervisor.h"

enum { SEEDS = 12, COUNT = 40, SECONDS_MAX = 4 * 3600, TROUBLE = 15 };

/* One world. Executions are told by the number that is their input. */
struct world {
    uint64_t dice;
    int inside[COUNT]; /* handlers that may believe to have it */
    int calls;
    int overlaps;
};

static uint64_t throw_dice(struct world *self, uint64_t sides)
{
    self->dice = weir_mix_u64(self->dice + 1);
    return self->dice % sides;
}

/* It listens, but for a handler that is busy: those are late by up to three seconds,
 * which is what is left of a lease when the signal comes. */
static enum weir_answer do_anything(struct weir_context *context, void *state,
                                    struct weir_task *task)
{
    struct world *self = state;
    int number = *(const int *)weir_task_claimed(task)->input;
    uint64_t what = throw_dice(self, 20);
    bool listens = what % 2 == 0;
    int64_t length_ns = WEIR_MILLISECONDS(throw_dice(self, 40000));
    bool stopped = false;

    self->calls++;
    self->overlaps += self->inside[number] > 0;
    self->inside[number]++;
    if (listens)
        stopped = weir_sleep(context, length_ns) != WEIR_OK;
    else
        weir_sleep_through(context, length_ns % WEIR_SECONDS(3));
    self->inside[number]--;
    if (stopped || what == 0)
        return WEIR_NOT_ANSWERED;
    if (what == 1)
        weir_panic(context, "%d", number);
    if (what == 2 || what == 3)
        return weir_task_fail(task, "%d", number);
    if (what == 4)
        return weir_task_delay(task, (int64_t)throw_dice(self, 5000));
    return weir_task_complete(task, &number, sizeof number);
}

static void employ(struct flow_worker_fixture *flow_worker_fixture, struct world *world,
                   const char *instance, uint64_t seed)
{
    struct fixture *fixture = flow_worker_fixture->fixture;

    flow_worker_fixture->options.claim.instance = instance;
    flow_worker_fixture->options.permits = 3;
    flow_worker_fixture->options.prefetch = 2;
    flow_worker_fixture->dice = weir_mix_u64(seed);
    flow_worker_fixture->trouble = TROUBLE;
    check_db(weir_execution_worker_create(&flow_worker_fixture->options,
                                          &flow_worker_fixture->worker, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_worker_add(flow_worker_fixture->worker, NULL, do_anything,
                                       world, &fixture->error),
             WEIR_OK);
    flow_worker_fixture_start(flow_worker_fixture);
}

static void submit_all(struct flow_worker_fixture *flow_worker_fixture,
                       struct weir_execution_id *ids)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.retries_max = 100;
    for (int i = 0; i < COUNT; i++) {
        struct weir_execution_draft draft = flow_fixture_draft("orders");

        draft.policy = &policy;
        draft.input = &i;
        draft.input_size = sizeof i;
        ids[i] = flow_fixture_submit_draft(flow_worker_fixture->fixture,
                                           flow_worker_fixture->eyes, &draft);
    }
}

static int64_t unfinished(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE ended_us = 0");
}

/* Returns how many leases were lost. */
static int run_world(struct fixture *fixture, uint64_t seed)
{
    struct world world = {.dice = seed * 7919};
    struct weir_execution_id ids[COUNT];
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;
    struct flow_worker_fixture anna, bert;
    struct script script;
    int64_t seconds = 0;
    int fenced = 0;

    flow_worker_fixture_open(&anna, fixture);
    flow_worker_fixture_open(&bert, fixture);
    script_open_seeded(&script, seed);
    anna.script = &script;
    anna.options.executor = bert.options.executor = script.executor;
    submit_all(&anna, ids);
    weir_execution_supervisor_options_init(&options);
    options.executions = anna.eyes;
    options.executor = script.executor;
    check_db(weir_execution_supervisor_create(&options, &supervisor, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_supervisor_start(supervisor, &fixture->error), WEIR_OK);
    employ(&anna, &world, "anna", seed);
    employ(&bert, &world, "bert", seed + 1000);

    while (unfinished(fixture) > 0 && seconds < SECONDS_MAX) {
        bert.gone = seconds / 45 % 3 == 1; /* for longer than a lease */
        flow_worker_fixture_run(&anna, WEIR_SECONDS(15));
        seconds += 15;
    }
    check_int(unfinished(fixture), 0);
    for (int i = 0; i < COUNT; i++)
        check_str(flow_fixture_state(fixture, anna.eyes, &ids[i]), "completed");
    check_int(world.overlaps, 0);
    check(world.calls >= COUNT);
    anna.trouble = bert.trouble = 0;
    bert.gone = false;
    fenced += (int)(flow_worker_fixture_stats(&anna).fenced +
                    flow_worker_fixture_stats(&bert).fenced);
    check_int(weir_execution_worker_stop(bert.worker, WEIR_SECONDS(60)), 0);
    check_int(weir_execution_worker_stop(anna.worker, WEIR_SECONDS(60)), 0);
    weir_execution_supervisor_destroy(supervisor);
    flow_worker_fixture_close(&bert);
    flow_worker_fixture_close(&anna);
    fixture_prepare(fixture, "DELETE FROM {p}_execution");
    return fenced;
}

FLOW_SQLITE_TEST(workers, end_everything_and_share_nothing_whatever_the_seed)
{
    int fenced = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        fenced += run_world(fixture, seed);
    check(fenced > 0); /* else there was no trouble */
}
