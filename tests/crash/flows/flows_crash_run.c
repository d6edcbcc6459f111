/*
 * flows_crash_run.c - see flows_crash.h: the model of the rig.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/flows/flows_crash_checks.h"
#include "crash/flows/flows_crash_shared.h"
#include "db/clock.h"
#include "execution/state.h"

/* Most orders come within a few transactions. */
enum { STATEMENTS_MAX = 40, STATEMENTS_SUPERVISOR_MAX = 8 };

void flows_crash_options_init(struct flows_crash_options *self, uint64_t seed,
                              enum weir_engine engine, uint32_t flows, uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, OUTAGES_MAX = 6, LOSE_EVERY = 60 };
    uint32_t outages = faults / FAULTS_PER_OUTAGE;

    *self =
        (struct flows_crash_options){.rig = {
                                         .seed = seed,
                                         .work = flows,
                                         .faults = faults,
                                         .outages = engine == WEIR_SQLITE   ? 0
                                                    : outages < OUTAGES_MAX ? outages
                                                                            : OUTAGES_MAX,
                                         .lose_every = LOSE_EVERY,
                                         .lease_ms = FLOWS_CRASH_LEASE_MS,
                                         .wait_limit_ns = WEIR_SECONDS(60),
                                     }};
}

/* ---- processes --------------------------------------------------------------------- */

static void act(struct rig *rig)
{
    if (rig->slot < FLOWS_CRASH_FIRST_WORKER)
        flows_crash_compose(rig->state);
    else if (rig->slot < FLOWS_CRASH_FIRST_SIGNALLER)
        flows_crash_labour(rig->state);
    else if (rig->slot < FLOWS_CRASH_FIRST_SUPERVISOR)
        flows_crash_tell(rig->state);
    else
        rig_client_supervise(rig, 1000);
}

static uint32_t choose_order(struct rig *rig, uint32_t slot, int signal_number)
{
    return rig_order_statements(
        rig, signal_number,
        slot < FLOWS_CRASH_FIRST_SUPERVISOR ? STATEMENTS_MAX : STATEMENTS_SUPERVISOR_MAX);
}

static void plan(struct rig *rig)
{
    flows_crash_prepare(rig->state);
}

static int64_t count_unbuilt(struct rig *rig)
{
    const struct flows_crash *run = rig->state;

    return (int64_t)rig->options.work - (int64_t)atomic_load(&run->shared->built);
}

static void hurry(struct rig *rig)
{
    const struct flows_crash *run = rig->state;

    atomic_store(&run->shared->hurry, true);
}

static int64_t count_open(struct rig *rig)
{
    return flows_crash_count_open(rig->state);
}

static void audit(struct rig *rig)
{
    struct flows_crash *run = rig->state;

    flows_crash_index_history(rig->fixture);
    flows_crash_read_events(run);
    flows_crash_audit(run);
    flows_crash_count(run);
    if (run->options->plants)
        flows_crash_audit_plants(run);
}

static const struct rig_model MODEL = {
    .slots = FLOWS_CRASH_PROCESS_SLOTS,
    .writers = FLOWS_CRASH_FIRST_WORKER,
    .together = FLOWS_CRASH_FIRST_SUPERVISOR,
    .gap_ms_min = 30,
    .gap_ms_max = 350,
    .stop_ms_more = 400,
    .stops = 3,
    .stops_of = 10,
    .stopped_max = 2,
    .stopped_max_on_sqlite = 2,
    .plan = plan,
    .act = act,
    .audit = audit,
    .choose_order = choose_order,
    .settle = hurry,
    .unwritten = count_unbuilt,
    .unfinished = count_open,
};

void flows_crash_run(struct fixture *fixture, const struct flows_crash_options *options,
                     struct flows_crash_result *out)
{
    struct flows_crash_shared *shared = rig_share(sizeof *shared);
    struct flows_crash run = {.options = options, .result = out, .shared = shared};

    *out = (struct flows_crash_result){0};
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

static void print_work(const struct flows_crash_result *result)
{
    printf("# %" PRId64 " members (%" PRId64 " completed, %" PRId64 " failed, %" PRId64
           " cancelled, %" PRId64 " expired, %" PRId64 " skipped, %" PRId64
           " left waiting), %" PRId64 " leases lost; joins: %" PRId64
           " satisfied, %" PRId64 " impossible, %" PRId64 " pending, %" PRId64
           " members cancelled by them\n",
           result->members, result->states[WEIR_EXEC_SUCCEEDED],
           result->states[WEIR_EXEC_FAILED], result->states[WEIR_EXEC_CANCELLED],
           result->states[WEIR_EXEC_EXPIRED], result->states[WEIR_EXEC_SKIPPED],
           result->left_waiting, result->lost_leases, result->decided[1],
           result->decided[2], result->decided[0], result->siblings);
    printf("# %" PRId64 " suspensions ended, %" PRId64 " by timeout; %" PRId64
           " signals came (told: %" PRId64 " resumed, %" PRId64 " kept, %" PRId64
           " buffered, %" PRId64 " ignored, %" PRId64 " duplicate, %" PRId64
           " late); %" PRId64 " reports counted, %" PRId64 " refused, %" PRId64
           " held back, %" PRId64 " resets; %" PRId64 " replies lost\n",
           result->suspensions, result->timeouts, result->signals,
           result->effects[WEIR_SIGNAL_RESUMED], result->effects[WEIR_SIGNAL_KEPT],
           result->effects[WEIR_SIGNAL_BUFFERED], result->effects[WEIR_SIGNAL_IGNORED],
           result->effects[WEIR_SIGNAL_DUPLICATE], result->effects[WEIR_SIGNAL_LATE],
           result->reports, result->refused, result->held_back, result->resets,
           result->asked_again);
}

void flows_crash_print(const struct fixture *fixture,
                       const struct flows_crash_options *options,
                       const struct flows_crash_result *result)
{
    static const char *const RULES[FLOWS_CRASH_RULES] = {"signals", "winner", "joins",
                                                         "stuck",   "flows",  "data",
                                                         "ledger",  "limits", "told"};

    rig_print(fixture, &options->rig, &result->rig);
    print_work(result);
    for (int i = 0; i < FLOWS_CRASH_RULES; i++) {
        if (result->broken[i] > 0)
            printf("# %s: %" PRId64 " violations, the first: %s\n", RULES[i],
                   result->broken[i], result->first[i]);
    }
    if (options->plants)
        printf("# %u planted\n", result->planted);
}
