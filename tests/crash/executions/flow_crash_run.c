/*
 * flow_crash_run.c - see flow_crash.h: the model of the rig.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/executions/flow_crash_shared.h"
#include "db/clock.h"
#include "execution/state.h"

/* Most orders come within a few transactions. */
enum { STATEMENTS_MAX = 40, STATEMENTS_SUPERVISOR_MAX = 6 };

void flow_crash_options_init(struct flow_crash_options *self, uint64_t seed,
                             enum weir_engine engine, uint32_t executions,
                             uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, FAULTS_PER_END = 8, LOSE_EVERY = 60 };

    *self = (struct flow_crash_options){
        .rig = {
            .seed = seed,
            .work = executions,
            .faults = faults,
            .outages = engine == WEIR_SQLITE ? 0 : faults / FAULTS_PER_OUTAGE,
            .ends = faults / FAULTS_PER_END,
            .lose_every = LOSE_EVERY,
            .lease_ms = FLOW_CRASH_LEASE_MS,
            .wait_limit_ns = WEIR_SECONDS(60),
        }};
}

/* ---- processes --------------------------------------------------------------------- */

static void act(struct rig *rig)
{
    if (rig->slot < FLOW_CRASH_FIRST_WORKER)
        flow_crash_submit(rig->state);
    else if (rig->slot < FLOW_CRASH_FIRST_SUPERVISOR)
        flow_crash_labour(rig->state);
    else
        rig_client_supervise(rig, 0);
}

static uint32_t choose_order(struct rig *rig, uint32_t slot, int signal_number)
{
    return rig_order_statements(
        rig, signal_number,
        slot < FLOW_CRASH_FIRST_SUPERVISOR ? STATEMENTS_MAX : STATEMENTS_SUPERVISOR_MAX);
}

static int64_t count_uncommitted(struct rig *rig)
{
    const struct flow_crash *run = rig->state;

    return (int64_t)rig->options.work - (int64_t)atomic_load(&run->shared->committed);
}

static int64_t count_open(struct rig *rig)
{
    return fixture_ask(rig->fixture,
                       "SELECT count(*) FROM weir_execution WHERE state < 10");
}

/* ---- audits ------------------------------------------------------------------------ */

static uint32_t count_audits(const struct flow_crash_options *options)
{
    uint32_t count = 0;

    while (options->plants != NULL && options->plants[count] != FLOW_CRASH_SOUND)
        count++;
    check(count <= FLOW_CRASH_AUDITS_MAX);
    return count > 0 ? count : 1;
}

/* What was planted stays; each time the audit must find more than before. */
static void audit_plants(struct flow_crash *run)
{
    const enum flow_crash_plant *plants = run->options->plants;
    const struct flow_crash_result blank = *run->result;
    enum flow_crash_plant missed = FLOW_CRASH_SOUND;
    int64_t found = 0;

    for (uint32_t i = 0; plants[i] != FLOW_CRASH_SOUND; i++) {
        int64_t *broken = &run->result->broken[run->options->rule];

        *run->result = blank;
        flow_crash_tamper(run, plants[i]);
        flow_crash_audit(run, i);
        if (*broken <= found)
            missed = plants[i];
        found = *broken;
    }
    run->result->missed = missed;
}

static void plan(struct rig *rig)
{
    struct flow_crash *run = rig->state;
    struct fixture *fixture = rig->fixture;

    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    flow_crash_subscribe(run, count_audits(run->options));
}

static void audit(struct rig *rig)
{
    struct flow_crash *run = rig->state;

    if (run->options->plants == NULL)
        flow_crash_audit(run, 0);
    else
        audit_plants(run);
}

static const struct rig_model MODEL = {
    .slots = FLOW_CRASH_PROCESS_SLOTS,
    .writers = FLOW_CRASH_FIRST_WORKER,
    .together = FLOW_CRASH_FIRST_SUPERVISOR,
    .gap_ms_min = 50,
    .gap_ms_max = 900,
    .stop_ms_more = 700,
    .stops = 2,
    .stops_of = 5,
    .stopped_max = 2,
    .stopped_max_on_sqlite = 1,
    .plan = plan,
    .act = act,
    .audit = audit,
    .choose_order = choose_order,
    .unwritten = count_uncommitted,
    .unfinished = count_open,
};

void flow_crash_run(struct fixture *fixture, const struct flow_crash_options *options,
                    struct flow_crash_result *out)
{
    struct flow_crash_shared *shared = rig_share(sizeof *shared);
    struct flow_crash run = {.options = options, .result = out, .shared = shared};

    *out = (struct flow_crash_result){0};
    run.rig = (struct rig){.model = &MODEL,
                           .options = options->rig,
                           .state = &run,
                           .fixture = fixture,
                           .shared = &shared->rig,
                           .counts = &out->rig};
    rig_run(&run.rig);
    (void)munmap(shared, sizeof *shared);
}

/* ---- figures ----------------------------------------------------------------------- */

static void print_lives(const struct flow_crash_result *result)
{
    printf("# %" PRId64 " executions (%" PRId64 " completed, %" PRId64 " failed, %" PRId64
           " cancelled, %" PRId64 " expired), %" PRId64 " drafts undone, %" PRId64
           " doubted, %" PRId64 " submitted again; %" PRId64 " events\n",
           result->executions, result->states[WEIR_EXEC_SUCCEEDED],
           result->states[WEIR_EXEC_FAILED], result->states[WEIR_EXEC_CANCELLED],
           result->states[WEIR_EXEC_EXPIRED], result->rolled_back, result->doubted,
           result->resubmitted, result->events);
    printf("# %" PRId64 " attempts (%" PRId64 " to be retried, %" PRId64
           " lost their lease, %" PRId64 " timed out); %" PRId64 " claims told, %" PRId64
           " settlements OK, %" PRId64 " fenced, %" PRId64 " asked again\n",
           result->attempts, result->outcomes[WEIR_OUTCOME_RETRY],
           result->outcomes[WEIR_OUTCOME_LEASE_LOST],
           result->outcomes[WEIR_OUTCOME_INTERRUPTED], result->claims, result->told_ok,
           result->told_fenced, result->asked_again);
}

void flow_crash_print(const struct fixture *fixture,
                      const struct flow_crash_options *options,
                      const struct flow_crash_result *result)
{
    rig_print(fixture, &options->rig, &result->rig);
    print_lives(result);
    if (result->violations > 0)
        printf("# %" PRId64 " violations (E1 %" PRId64 ", E2 %" PRId64 ", E3 %" PRId64
               ", E4 %" PRId64 ", E5 %" PRId64 ", E6 %" PRId64 ", E7 %" PRId64
               ", E8 %" PRId64 "), the first: %s\n",
               result->violations, result->broken[FLOW_CRASH_E1],
               result->broken[FLOW_CRASH_E2], result->broken[FLOW_CRASH_E3],
               result->broken[FLOW_CRASH_E4], result->broken[FLOW_CRASH_E5],
               result->broken[FLOW_CRASH_E6], result->broken[FLOW_CRASH_E7],
               result->broken[FLOW_CRASH_E8], result->first);
}
