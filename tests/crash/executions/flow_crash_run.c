/*
 * flow_crash_run.c - see flow_crash.h. The test's process, which starts, strikes,
 * replaces and ends the others.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/executions/flow_crash_shared.h"
#include "crash/order/order_shared.h"
#include "db/clock.h"
#include "execution/state.h"

/* Between two faults; and how much longer than its lease a process is stopped. */
enum { GAP_MS_MIN = 50, GAP_MS_MAX = 900, STOP_MS_MORE = 700, BRIEF_MS = 60 };

/* Most orders come within a few transactions. */
enum { STATEMENTS_MAX = 40, STATEMENTS_SUPERVISOR_MAX = 6 };

struct driver {
    struct flow_crash run; /* what forked processes go on with */
    struct process_set process_set;
};

void flow_crash_options_init(struct flow_crash_options *self, uint64_t seed,
                             enum weir_engine engine, uint32_t executions,
                             uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, FAULTS_PER_END = 8, LOSE_EVERY = 60 };

    *self = (struct flow_crash_options){
        .seed = seed,
        .executions = executions,
        .faults = faults,
        .outages = engine == WEIR_SQLITE ? 0 : faults / FAULTS_PER_OUTAGE,
        .ends = faults / FAULTS_PER_END,
        .lose_every = LOSE_EVERY,
        .wait_limit_ns = WEIR_SECONDS(60),
    };
}

/* ---- processes --------------------------------------------------------------------- */

static bool is_submitter(uint32_t process_slot)
{
    return process_slot < FLOW_CRASH_SUBMITTERS;
}

static bool is_worker(uint32_t process_slot)
{
    return !is_submitter(process_slot) &&
           process_slot < FLOW_CRASH_SUBMITTERS + FLOW_CRASH_WORKERS;
}

static bool is_supervisor(uint32_t process_slot)
{
    return !is_submitter(process_slot) && !is_worker(process_slot);
}

static void live(void *state, uint32_t process_slot)
{
    struct driver *self = state;
    struct flow_crash *run = &self->run;

    run->process_slot = process_slot;
    run->chance = order_mix(run->chance ^ (process_slot + 1) * 1000003U);
    if (is_submitter(process_slot))
        flow_crash_submit(run);
    else if (is_worker(process_slot))
        flow_crash_labour(run);
    else
        flow_crash_supervise(run);
}

static void start(struct driver *self, uint32_t process_slot)
{
    struct flow_crash *run = &self->run;

    atomic_store(&run->shared->leave[process_slot], false);
    atomic_store(&run->shared->ready[process_slot], false);
    run->process = atomic_fetch_add(&run->shared->processes, 1);
    run->chance = order_mix(run->chance);
    process_set_start(&self->process_set, process_slot);
}

static void wait_until_ready(struct driver *self, uint32_t process_slot)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(60);

    while (!atomic_load(&self->run.shared->ready[process_slot])) {
        if (weir_clock_now_ns() > end_ns)
            process_set_fail(&self->process_set, "a process does not get ready");
        process_set_rest(&self->process_set, 5);
    }
}

static void start_all(struct driver *self)
{
    for (uint32_t i = 0; i < FLOW_CRASH_PROCESS_SLOTS; i++)
        start(self, i);
    for (uint32_t i = 0; i < FLOW_CRASH_PROCESS_SLOTS; i++)
        wait_until_ready(self, i);
}

static void end(struct driver *self, uint32_t process_slot)
{
    atomic_store(&self->run.shared->leave[process_slot], true);
    process_set_go_on(&self->process_set, process_slot);
    process_set_await(&self->process_set, process_slot, "a process does not end");
}

/* ---- faults ------------------------------------------------------------------------ */

/* Then nobody reconciles, and the fence alone keeps out whoever has lost its lease. */
static void stop_other_supervisors(struct driver *self)
{
    bool at_order;
    int64_t begin_us;

    for (uint32_t i = FLOW_CRASH_SUBMITTERS + FLOW_CRASH_WORKERS;
         i < FLOW_CRASH_PROCESS_SLOTS; i++) {
        if (!self->process_set.process_slots[i].lies)
            process_set_strike(&self->process_set, i, SIGSTOP, 0, &at_order, &begin_us);
    }
}

/* On SQLite one of them may be in the middle of writing, and then everybody waits for
 * it: not for long.
 */
static void let_lie(struct driver *self, uint32_t process_slot)
{
    struct flow_crash *run = &self->run;
    int64_t ms = FLOW_CRASH_LEASE_MS + 100 + flow_crash_roll(run, STOP_MS_MORE);

    run->result->stops++;
    if (is_supervisor(process_slot))
        stop_other_supervisors(self);
    if (process_set_blocks_everybody(&self->process_set)) {
        ms = BRIEF_MS;
        run->result->brief_stops++;
    }
    for (uint32_t i = 0; i < FLOW_CRASH_PROCESS_SLOTS; i++) {
        if (i == process_slot || (is_supervisor(process_slot) && is_supervisor(i)))
            process_set_lay(&self->process_set, i, ms);
    }
}

static uint32_t choose_order(struct driver *self, uint32_t process_slot,
                             int signal_number)
{
    uint32_t most =
        is_supervisor(process_slot) ? STATEMENTS_SUPERVISOR_MAX : STATEMENTS_MAX;

    if (flow_crash_roll(&self->run, 3) == 0)
        return 0;
    return flow_crash_order(signal_number, 1 + flow_crash_roll(&self->run, most));
}

/* Somebody who runs. */
static uint32_t choose_victim(struct driver *self)
{
    uint32_t process_slot;

    do {
        process_slot = flow_crash_roll(&self->run, FLOW_CRASH_PROCESS_SLOTS);
    } while (self->process_set.process_slots[process_slot].lies);
    return process_slot;
}

/* On a server a second one may lie at the same time; supervisors lie together. */
static void strike_somebody(struct driver *self)
{
    struct flow_crash *run = &self->run;
    uint32_t lying_max = run->fixture->engine == WEIR_SQLITE ? 1 : 2;
    int signal_number = flow_crash_roll(run, 5) < 2 ? SIGSTOP : SIGKILL;
    bool at_order;
    int64_t begin_us;
    uint32_t process_slot;

    while (process_set_lying(&self->process_set) >= lying_max)
        process_set_rest(&self->process_set, 2);
    process_slot = choose_victim(self);
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
    struct flow_crash *run = &self->run;

    server_kill(run->fixture->server);
    order_rest_us(flow_crash_roll(run, 300000));
    server_restart(run->fixture->server);
    run->result->outages++;
}

static void end_somebody(struct driver *self)
{
    struct flow_crash *run = &self->run;
    uint32_t process_slot = run->result->ends++ % FLOW_CRASH_PROCESS_SLOTS;

    end(self, process_slot);
    start(self, process_slot);
    wait_until_ready(self, process_slot);
}

/* ---- a run ------------------------------------------------------------------------- */

/* So that there is work until the last fault. */
static void allow(struct driver *self, uint32_t left, uint32_t all)
{
    struct flow_crash *run = &self->run;
    uint64_t begun = all - left + 1;

    atomic_store(&run->shared->allowed,
                 (uint32_t)(run->options->executions * begun / (all + 1)));
}

/* For whoever waits for a long run. */
static void print_progress(struct driver *self, uint32_t left)
{
    enum { EACH = 100 };

    if (left % EACH != 0 || left == 0)
        return;
    printf("# %s: %u faults and ends to go, %u executions\n",
           weir_engine_name(self->run.fixture->engine), left,
           atomic_load(&self->run.shared->committed));
    (void)fflush(stdout);
}

/* Faults of all kinds in any order, as many of each as were asked for. */
static void strike_all(struct driver *self)
{
    struct flow_crash *run = &self->run;
    const struct flow_crash_options *options = run->options;
    uint32_t outages = options->outages;
    uint32_t ends = options->ends;
    uint32_t others = options->faults - options->outages;
    uint32_t all = outages + ends + others;

    while (outages + ends + others > 0) {
        uint32_t luck = flow_crash_roll(run, outages + ends + others);

        print_progress(self, outages + ends + others);
        allow(self, outages + ends + others, all);
        process_set_rest(&self->process_set,
                         GAP_MS_MIN + flow_crash_roll(run, GAP_MS_MAX - GAP_MS_MIN));
        if (luck < outages) {
            make_outage(self);
            outages--;
        } else if (luck < outages + ends) {
            end_somebody(self);
            ends--;
        } else {
            strike_somebody(self);
            others--;
        }
    }
    process_set_let_go_on(&self->process_set, true);
    atomic_store(&run->shared->allowed, options->executions);
}

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

static int64_t count_uncommitted(struct driver *self)
{
    return (int64_t)self->run.options->executions -
           (int64_t)atomic_load(&self->run.shared->committed);
}

static void wait_until_committed(struct driver *self)
{
    struct wait wait = {0};

    while (goes_on(self, &wait, count_uncommitted(self)))
        process_set_rest(&self->process_set, 10);
    if (count_uncommitted(self) > 0)
        process_set_fail(&self->process_set, "submitters do not get on");
}

static int64_t count_open(struct driver *self)
{
    return fixture_ask(self->run.fixture,
                       "SELECT count(*) FROM weir_execution WHERE state < 10");
}

/* The audit sees what has not ended. */
static void wait_until_over(struct driver *self)
{
    struct wait wait = {0};

    while (goes_on(self, &wait, count_open(self)))
        process_set_rest(&self->process_set, 50);
}

static void end_all(struct driver *self)
{
    wait_until_committed(self);
    for (uint32_t i = 0; i < FLOW_CRASH_SUBMITTERS; i++)
        end(self, i);
    wait_until_over(self);
    for (uint32_t i = FLOW_CRASH_SUBMITTERS; i < FLOW_CRASH_PROCESS_SLOTS; i++)
        end(self, i);
}

/* Asked at each point that is not armed: in front of each statement. */
static bool pass(void *argument, const char *name)
{
    (void)name;
    flow_crash_pass(argument);
    return false;
}

static struct flow_crash_shared *make_shared(struct flow_crash *run)
{
    struct flow_crash_shared *shared =
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

void flow_crash_run(struct fixture *fixture, const struct flow_crash_options *options,
                    struct flow_crash_result *out)
{
    struct driver self = {.run = {.fixture = fixture,
                                  .options = options,
                                  .result = out,
                                  .chance = order_mix(options->seed)}};
    int64_t begin_ns = weir_clock_now_ns();

    *out = (struct flow_crash_result){0};
    self.run.shared = make_shared(&self.run);
    self.process_set =
        (struct process_set){.fixture = fixture,
                             .board = &self.run.shared->board,
                             .seed = options->seed,
                             .process_slot_count = FLOW_CRASH_PROCESS_SLOTS,
                             .state = &self,
                             .live = live};
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    flow_crash_subscribe(&self.run, count_audits(options));
    process_set_close_fixture(&self.process_set);
    start_all(&self);
    strike_all(&self);
    end_all(&self);
    process_set_open_fixture(&self.process_set);
    if (options->plants == NULL)
        flow_crash_audit(&self.run, 0);
    else
        audit_plants(&self.run);
    (void)munmap(self.run.shared, sizeof *self.run.shared);
    out->took_ns = weir_clock_now_ns() - begin_ns;
}

/* ---- figures ----------------------------------------------------------------------- */

static void print_faults(const struct fixture *fixture,
                         const struct flow_crash_options *options,
                         const struct flow_crash_result *result)
{
    printf("# %s, WEIR_SEED=%" PRIu64
           ": %u kills, %u stops (%u brief), %u outages, %u of "
           "them in front of a statement; %u ended in good order; %" PRId64 " ms\n",
           weir_engine_name(fixture->engine), options->seed, result->kills, result->stops,
           result->brief_stops, result->outages, result->at_statements, result->ends,
           result->took_ns / 1000000);
}

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
    print_faults(fixture, options, result);
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
