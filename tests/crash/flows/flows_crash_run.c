/*
 * flows_crash_run.c - see flows_crash.h. The test's process, which starts, strikes,
 * replaces and ends the others.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/flows/flows_crash_checks.h"
#include "crash/flows/flows_crash_shared.h"
#include "crash/order/order_shared.h"
#include "db/clock.h"
#include "execution/state.h"

/* Between two faults; and how much longer than its lease a process is stopped. */
enum { GAP_MS_MIN = 30, GAP_MS_MAX = 350, STOP_MS_MORE = 400, BRIEF_MS = 60 };

/* Most orders come within a few transactions. */
enum { STATEMENTS_MAX = 40, STATEMENTS_SUPERVISOR_MAX = 8 };

enum { LYING_MAX = 2 };

struct driver {
    struct flows_crash run; /* what forked processes go on with */
    struct process_set process_set;
};

void flows_crash_options_init(struct flows_crash_options *self, uint64_t seed,
                              enum weir_engine engine, uint32_t flows, uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, OUTAGES_MAX = 6, LOSE_EVERY = 60 };
    uint32_t outages = faults / FAULTS_PER_OUTAGE;

    *self = (struct flows_crash_options){
        .seed = seed,
        .flows = flows,
        .faults = faults,
        .outages = engine == WEIR_SQLITE   ? 0
                   : outages < OUTAGES_MAX ? outages
                                           : OUTAGES_MAX,
        .lose_every = LOSE_EVERY,
        .wait_limit_ns = WEIR_SECONDS(60),
    };
}

/* ---- processes --------------------------------------------------------------------- */

static bool is_supervisor(uint32_t process_slot)
{
    return process_slot >= FLOWS_CRASH_FIRST_SUPERVISOR;
}

static void live(void *state, uint32_t process_slot)
{
    struct driver *self = state;
    struct flows_crash *run = &self->run;

    run->process_slot = process_slot;
    run->chance = order_mix(run->chance ^ (process_slot + 1) * 1000003U);
    if (process_slot < FLOWS_CRASH_FIRST_WORKER)
        flows_crash_compose(run);
    else if (process_slot < FLOWS_CRASH_FIRST_SIGNALLER)
        flows_crash_labour(run);
    else if (process_slot < FLOWS_CRASH_FIRST_SUPERVISOR)
        flows_crash_tell(run);
    else
        flows_crash_supervise(run);
}

static void start(struct driver *self, uint32_t process_slot)
{
    struct flows_crash *run = &self->run;

    atomic_store(&run->shared->leave[process_slot], false);
    atomic_store(&run->shared->ready[process_slot], false);
    run->process = atomic_fetch_add(&run->shared->processes, 1);
    run->chance = order_mix(run->chance);
    process_set_start(&self->process_set, process_slot);
}

static void start_all(struct driver *self)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(60);

    for (uint32_t i = 0; i < FLOWS_CRASH_PROCESS_SLOTS; i++)
        start(self, i);
    for (uint32_t i = 0; i < FLOWS_CRASH_PROCESS_SLOTS; i++) {
        while (!atomic_load(&self->run.shared->ready[i])) {
            if (weir_clock_now_ns() > end_ns)
                process_set_fail(&self->process_set, "a process does not get ready");
            process_set_rest(&self->process_set, 5);
        }
    }
}

static void end_from(struct driver *self, uint32_t first, uint32_t behind)
{
    for (uint32_t i = first; i < behind; i++) {
        atomic_store(&self->run.shared->leave[i], true);
        process_set_go_on(&self->process_set, i);
    }
    for (uint32_t i = first; i < behind; i++)
        process_set_await(&self->process_set, i, "a process does not end");
}

/* ---- faults ------------------------------------------------------------------------ */

static void stop_other_supervisors(struct driver *self)
{
    bool at_order;
    int64_t begin_us;

    for (uint32_t i = FLOWS_CRASH_FIRST_SUPERVISOR; i < FLOWS_CRASH_PROCESS_SLOTS; i++) {
        if (!self->process_set.process_slots[i].lies)
            process_set_strike(&self->process_set, i, SIGSTOP, 0, &at_order, &begin_us);
    }
}

/* On SQLite one of them may be in the middle of writing, and then everybody waits for
 * it: not for long.
 */
static void let_lie(struct driver *self, uint32_t process_slot)
{
    struct flows_crash *run = &self->run;
    int64_t ms = FLOWS_CRASH_LEASE_MS + 100 + flows_crash_roll(run, STOP_MS_MORE);

    run->result->stops++;
    if (is_supervisor(process_slot))
        stop_other_supervisors(self);
    if (process_set_blocks_everybody(&self->process_set)) {
        ms = BRIEF_MS;
        run->result->brief_stops++;
    }
    for (uint32_t i = 0; i < FLOWS_CRASH_PROCESS_SLOTS; i++) {
        if (i == process_slot || (is_supervisor(process_slot) && is_supervisor(i)))
            process_set_lay(&self->process_set, i, ms);
    }
}

static uint32_t choose_order(struct driver *self, uint32_t process_slot,
                             int signal_number)
{
    uint32_t most =
        is_supervisor(process_slot) ? STATEMENTS_SUPERVISOR_MAX : STATEMENTS_MAX;

    if (flows_crash_roll(&self->run, 3) == 0)
        return 0;
    return flows_crash_order(signal_number, 1 + flows_crash_roll(&self->run, most));
}

/* Somebody who runs; a second one may lie at the same time. */
static void strike_somebody(struct driver *self)
{
    struct flows_crash *run = &self->run;
    int signal_number = flows_crash_roll(run, 10) < 3 ? SIGSTOP : SIGKILL;
    bool at_order;
    int64_t begin_us;
    uint32_t process_slot;

    while (process_set_lying(&self->process_set) >= LYING_MAX)
        process_set_rest(&self->process_set, 2);
    do {
        process_slot = flows_crash_roll(run, FLOWS_CRASH_PROCESS_SLOTS);
    } while (self->process_set.process_slots[process_slot].lies);
    process_set_strike(&self->process_set, process_slot, signal_number,
                       choose_order(self, process_slot, signal_number), &at_order,
                       &begin_us);
    run->result->at_statements += at_order;
    if (signal_number == SIGSTOP) {
        let_lie(self, process_slot);
    } else {
        run->result->kills++;
        start(self, process_slot);
    }
}

static void make_outage(struct driver *self)
{
    struct flows_crash *run = &self->run;

    server_kill(run->fixture->server);
    order_rest_us(flows_crash_roll(run, 300000));
    server_restart(run->fixture->server);
    run->result->outages++;
}

/* So that there is work until the last fault. */
static void allow(struct driver *self, uint32_t left)
{
    const struct flows_crash_options *options = self->run.options;
    uint64_t begun = options->faults - left + 1;

    atomic_store(&self->run.shared->allowed,
                 (uint32_t)(options->flows * begun / (options->faults + 1)));
}

/* For whoever waits for a long run. */
static void print_progress(struct driver *self, uint32_t left)
{
    enum { EACH = 100 };

    if (left % EACH != 0 || left == 0)
        return;
    printf("# %s: %u faults to go, %u flows\n",
           weir_engine_name(self->run.fixture->engine), left,
           atomic_load(&self->run.shared->built));
    (void)fflush(stdout);
}

static void strike_all(struct driver *self)
{
    struct flows_crash *run = &self->run;
    uint32_t outages = run->options->outages;
    uint32_t others = run->options->faults - run->options->outages;

    while (outages + others > 0) {
        uint32_t luck = flows_crash_roll(run, outages + others);

        print_progress(self, outages + others);
        allow(self, outages + others);
        process_set_rest(&self->process_set,
                         GAP_MS_MIN + flows_crash_roll(run, GAP_MS_MAX - GAP_MS_MIN));
        if (luck < outages) {
            make_outage(self);
            outages--;
        } else {
            strike_somebody(self);
            others--;
        }
    }
    process_set_let_go_on(&self->process_set, true);
    atomic_store(&run->shared->allowed, run->options->flows);
}

/* ---- afterwards -------------------------------------------------------------------- */

/* How many are left of what is waited for, and until when it must get less. */
struct wait {
    int64_t least;
    int64_t end_ns;
};

/* There is something left, and hope. A slow machine takes its time; what stands still
 * never ends. */
static bool goes_on(struct driver *self, struct wait *wait, int64_t left)
{
    if (wait->end_ns == 0 || left < wait->least) {
        wait->least = left;
        wait->end_ns = weir_clock_now_ns() + self->run.options->wait_limit_ns;
    }
    return left > 0 && weir_clock_now_ns() < wait->end_ns;
}

static int64_t count_unbuilt(struct driver *self)
{
    return (int64_t)self->run.options->flows -
           (int64_t)atomic_load(&self->run.shared->built);
}

/* The audit sees what has not ended. */
static void end_all(struct driver *self)
{
    struct wait building = {0};
    struct wait working = {0};

    while (goes_on(self, &building, count_unbuilt(self)))
        process_set_rest(&self->process_set, 10);
    if (count_unbuilt(self) > 0)
        process_set_fail(&self->process_set, "composers do not get on");
    end_from(self, 0, FLOWS_CRASH_FIRST_WORKER);
    atomic_store(&self->run.shared->hurry, true);
    while (goes_on(self, &working, flows_crash_count_open(&self->run)))
        process_set_rest(&self->process_set, 50);
    end_from(self, FLOWS_CRASH_FIRST_WORKER, FLOWS_CRASH_PROCESS_SLOTS);
}

/* ---- a run ------------------------------------------------------------------------- */

/* Asked at each point that is not armed: in front of each statement. */
static bool pass(void *argument, const char *name)
{
    (void)name;
    flows_crash_pass(argument);
    return false;
}

static struct flows_crash_shared *make_shared(struct flows_crash *run)
{
    struct flows_crash_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    check(shared != MAP_FAILED);
    weir_fault_points_init(&shared->points);
    if (run->options->lose_every > 0)
        weir_fault_points_arm(&shared->points, "db.lose_after_commit",
                              run->options->lose_every);
    weir_fault_points_set_oracle(&shared->points, pass, run);
    return shared;
}

void flows_crash_run(struct fixture *fixture, const struct flows_crash_options *options,
                     struct flows_crash_result *out)
{
    struct driver self = {.run = {.fixture = fixture,
                                  .options = options,
                                  .result = out,
                                  .chance = order_mix(options->seed)}};
    int64_t begin_ns = weir_clock_now_ns();

    *out = (struct flows_crash_result){0};
    self.run.shared = make_shared(&self.run);
    self.process_set =
        (struct process_set){.fixture = fixture,
                             .board = &self.run.shared->board,
                             .seed = options->seed,
                             .process_slot_count = FLOWS_CRASH_PROCESS_SLOTS,
                             .state = &self,
                             .live = live};
    flows_crash_prepare(&self.run);
    process_set_close_fixture(&self.process_set);
    start_all(&self);
    strike_all(&self);
    out->struck_ns = weir_clock_now_ns() - begin_ns;
    end_all(&self);
    out->ended_ns = weir_clock_now_ns() - begin_ns;
    process_set_open_fixture(&self.process_set);
    flows_crash_index_history(fixture);
    flows_crash_read_events(&self.run);
    flows_crash_audit(&self.run);
    flows_crash_count(&self.run);
    if (options->plants)
        flows_crash_audit_plants(&self.run);
    (void)munmap(self.run.shared, sizeof *self.run.shared);
    out->took_ns = weir_clock_now_ns() - begin_ns;
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

    printf("# %s, WEIR_SEED=%" PRIu64
           ": %u kills, %u stops (%u brief), %u outages, %u of them in front of a "
           "statement; %" PRId64 " ms, with the rest of the work %" PRId64
           ", with the audit"
           " %" PRId64 "\n",
           weir_engine_name(fixture->engine), options->seed, result->kills, result->stops,
           result->brief_stops, result->outages, result->at_statements,
           result->struck_ns / 1000000, result->ended_ns / 1000000,
           result->took_ns / 1000000);
    print_work(result);
    for (int i = 0; i < FLOWS_CRASH_RULES; i++) {
        if (result->broken[i] > 0)
            printf("# %s: %" PRId64 " violations, the first: %s\n", RULES[i],
                   result->broken[i], result->first[i]);
    }
    if (options->plants)
        printf("# %u planted\n", result->planted);
}
