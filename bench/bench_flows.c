/*
 * bench_flows.c - how fast executions follow each other in flows, and go on after a
 * signal.
 *
 *   bench_flows [--quick] [ENGINE...] [SECTION...]
 *
 * The other half of bench_flow, on the same ground: SQLite and PostgreSQL, databases on
 * disk, commits that are flushed. Another process is played by a second engine of this
 * one, with connections of its own: neither knows of the other but through the
 * database. docs/internals/bench.md explains how to read it; a target that is missed is
 * printed and does not change the exit code. A flow that does not end as it should
 * does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/suspension.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/execution_load.h"
#include "lib/flow_load.h"
#include "lib/must.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum {
    TIMES_MAX = 2000,
    NODES = 10, /* of a flow whose rate is measured */
    WEAVER_BATCH = 10,
    SIBLINGS = 100,
    FAN = 10000,
    FAN_PART = 5000, /* added in one call */
    FAN_BATCH = 100,
    COUNTED = 20, /* flows, signals or hops whose statements are counted */
};

#define WAIT_LIMIT_MS 30000

/* A worker works so long before it completes, and the next one waits by then. */
#define WORK_NS WEIR_MILLISECONDS(4)

struct plan {
    size_t rounds;
    size_t hops;  /* of a chain */
    size_t flows; /* of a round */
    size_t quorums;
    size_t signals;
    size_t fans;
};

static const struct plan FULL = {
    .rounds = 5,
    .hops = 200,
    .flows = 10 * BENCH_MILLERS,
    .quorums = 40,
    .signals = 300,
    .fans = 3,
};

static const struct plan LONG = {
    .rounds = 15,
    .hops = 1500,
    .flows = 40 * BENCH_MILLERS,
    .quorums = 200,
    .signals = 1500,
    .fans = 9,
};

static const struct plan QUICK = {
    .rounds = 2,
    .hops = 40,
    .flows = BENCH_MILLERS,
    .quorums = 10,
    .signals = 40,
    .fans = 1,
};

/* One engine. */
struct setup {
    const struct plan *plan;
    struct bench_database *database;
    enum weir_engine engine;
};

/* Two engines on one database. */
static struct bench_execution_load execution_load;
static struct bench_execution_load second;

static void begin_section(const struct setup *self, const char *title, const char *other)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%s: %s", weir_engine_name(self->engine), title);
    bench_section(text, "weir", other);
}

static void open_execution_load(struct setup *self, const char *name, bool counted,
                                bool supervised)
{
    struct bench_execution_load_options options = {
        .url = bench_database_add(self->database, name, counted),
        .supervised = supervised};

    bench_execution_load_open(&execution_load, &options);
}

/* The supervisor is the second one's. */
static void open_both(struct setup *self, const char *name)
{
    struct bench_execution_load_options options = {
        .url = bench_database_add(self->database, name, false)};

    bench_execution_load_open(&execution_load, &options);
    options.supervised = true;
    bench_execution_load_open(&second, &options);
}

static void close_both(void)
{
    bench_execution_load_close(&second);
    bench_execution_load_close(&execution_load);
}

/* Sorts them. */
static void print_times(const char *name, int64_t *times_ns, size_t count,
                        struct bench_target p95)
{
    char text[80];

    bench_sort_ns(times_ns, count);
    (void)snprintf(text, sizeof text, "%s: p50", name);
    bench_row_value(text, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(times_ns, count, 50), BENCH_UNJUDGED);
    (void)snprintf(text, sizeof text, "%s: p95", name);
    bench_row_value(text, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(times_ns, count, 95), p95);
}

static void print_statements(const char *name, const struct bench_statements *before,
                             const struct bench_statements *after, double count)
{
    bench_row_value(name, BENCH_DECIMAL,
                    (double)(after->statements - before->statements) / count,
                    BENCH_UNJUDGED);
}

static void work_off(struct bench_execution_load *where, const char *lane)
{
    struct weir_claimed *claimed = NULL;
    size_t count = bench_execution_load_claim_in(where, lane, 1, 0, &claimed);

    bench_must(count == 1, "the next one can be claimed");
    bench_execution_load_complete(where, claimed, count);
    weir_claimed_free(where->executions, claimed);
}

/* ---- hops -------------------------------------------------------------------------- */

static const char *const TURNS[] = {"left", "right"};

/* A chain, whose members are worked on in turn by two workers, each in a lane of its
 * own. */
struct chain {
    struct bench_flow_load flow_load;
    size_t count;
    int64_t claimed_ns[TIMES_MAX];
    int64_t ended_ns[TIMES_MAX];  /* before the call that completes it */
    int64_t stored_ns[TIMES_MAX]; /* and after it */
};

struct hopper {
    struct chain *chain;
    struct bench_execution_load *execution_load;
    size_t turn;
};

static void make_chain(struct chain *self, size_t count, const char *const *lanes)
{
    self->count = count;
    bench_flow_load_begin(&self->flow_load, &execution_load, count, count);
    for (size_t i = 0; i < count; i++) {
        (void)bench_flow_load_add(&self->flow_load, lanes[i % 2]);
        if (i > 0)
            bench_flow_load_lead(&self->flow_load, i - 1, i);
    }
    bench_flow_load_extend(&self->flow_load);
}

static void *hop(void *state)
{
    struct hopper *self = state;
    struct chain *chain = self->chain;

    for (size_t i = self->turn; i < chain->count; i += 2) {
        struct weir_claimed *claimed = NULL;
        size_t count = bench_execution_load_claim_in(
            self->execution_load, TURNS[self->turn], 1, WAIT_LIMIT_MS, &claimed);

        chain->claimed_ns[i] = bench_now_ns();
        bench_must(count == 1 &&
                       memcmp(claimed->claim.id.uuid, chain->flow_load.ids[i].uuid,
                              WEIR_UUID_SIZE) == 0,
                   "members come one after the other");
        bench_sleep_ns(WORK_NS);
        chain->ended_ns[i] = bench_now_ns();
        bench_execution_load_complete(self->execution_load, claimed, 1);
        chain->stored_ns[i] = bench_now_ns();
        weir_claimed_free(self->execution_load->executions, claimed);
    }
    return NULL;
}

static void print_chain(struct chain *self, const char *who)
{
    static int64_t stored_ns[TIMES_MAX];
    static int64_t claimed_ns[TIMES_MAX];
    char name[80];

    for (size_t i = 0; i + 1 < self->count; i++) {
        stored_ns[i] = self->stored_ns[i] - self->ended_ns[i];
        claimed_ns[i] = self->claimed_ns[i + 1] - self->ended_ns[i];
    }
    (void)snprintf(name, sizeof name, "%s: can be claimed", who);
    print_times(name, stored_ns, self->count - 1, BENCH_BELOW(50e6));
    (void)snprintf(name, sizeof name, "%s: is claimed", who);
    print_times(name, claimed_ns, self->count - 1, BENCH_BELOW(50e6));
}

static void run_chain(size_t count, struct bench_execution_load *other, const char *who)
{
    static struct chain chain;
    struct hopper hoppers[] = {{&chain, &execution_load, 0}, {&chain, other, 1}};
    pthread_t threads[2];

    make_chain(&chain, count, TURNS);
    for (size_t i = 0; i < 2; i++)
        bench_must(pthread_create(&threads[i], NULL, hop, &hoppers[i]) == 0,
                   "start a thread");
    for (size_t i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    bench_must(bench_flow_load_state(&chain.flow_load) == WEIR_FLOW_COMPLETED,
               "the chain comes to its end");
    bench_flow_load_end(&chain.flow_load);
    print_chain(&chain, who);
}

/* A claim and a completion, of one in the middle of a chain, and of one in no flow. */
static void count_hops(struct setup *self)
{
    static const char *const LANES[] = {BENCH_LANE, BENCH_LANE};
    static struct chain chain;
    struct bench_statements marks[3];

    open_execution_load(self, "hop_counted", true, false);
    make_chain(&chain, COUNTED + 10, LANES);
    for (size_t i = 0; i < 9; i++)
        work_off(&execution_load, BENCH_LANE);
    marks[0] = bench_database_statements(self->database);
    for (size_t i = 0; i < COUNTED; i++)
        work_off(&execution_load, BENCH_LANE);
    marks[1] = bench_database_statements(self->database);
    work_off(&execution_load, BENCH_LANE);
    print_statements("statements of a claim and a completion", &marks[0], &marks[1],
                     COUNTED);
    bench_execution_load_submit(&execution_load, COUNTED + 1, NULL, NULL);
    work_off(&execution_load, BENCH_LANE);
    marks[1] = bench_database_statements(self->database);
    for (size_t i = 0; i < COUNTED; i++)
        work_off(&execution_load, BENCH_LANE);
    marks[2] = bench_database_statements(self->database);
    print_statements("of one in no flow", &marks[1], &marks[2], COUNTED);
    bench_flow_load_end(&chain.flow_load);
    bench_execution_load_close(&execution_load);
}

static void bench_hop(struct setup *self)
{
    open_both(self, "hop");
    begin_section(self, "from the end of a member until the one behind it", "");
    run_chain(self->plan->hops, &execution_load, "same process");
    run_chain(self->plan->hops, &second, "another one");
    close_both();
    count_hops(self);
}

/* ---- rate -------------------------------------------------------------------------- */

/* How long calls took, in sum. */
struct weaver_times {
    int64_t make_ns;
    int64_t claim_ns;
    int64_t settle_ns;
    uint64_t flows;
    uint64_t calls; /* of claims that found something */
};

struct weaver {
    pthread_t thread;
    struct bench_flow_load *weaves; /* its share */
    size_t share;
    _Atomic size_t *left; /* members that nobody has completed */
    struct weaver_times times;
};

/*
 *   0 -> 1 2 3 4 -> 5 -> 6 7 8 -> 9
 */
static void make_flow(struct bench_flow_load *self)
{
    bench_flow_load_begin(self, &execution_load, NODES, 14);
    for (size_t i = 0; i < NODES; i++)
        (void)bench_flow_load_add(self, BENCH_LANE);
    for (size_t i = 1; i <= 4; i++) {
        bench_flow_load_lead(self, 0, i);
        bench_flow_load_lead(self, i, 5);
    }
    for (size_t i = 6; i <= 8; i++) {
        bench_flow_load_lead(self, 5, i);
        bench_flow_load_lead(self, i, 9);
    }
    bench_flow_load_extend(self);
}

static void grind(struct weaver *self, int64_t wait_ms)
{
    struct weir_claimed *claimed = NULL;
    int64_t begun_ns = bench_now_ns();
    size_t count = bench_execution_load_claim_in(&execution_load, BENCH_LANE,
                                                 WEAVER_BATCH, wait_ms, &claimed);
    int64_t claimed_ns = bench_now_ns();

    if (count == 0)
        return;
    bench_execution_load_complete(&execution_load, claimed, count);
    self->times.claim_ns += claimed_ns - begun_ns;
    self->times.settle_ns += bench_now_ns() - claimed_ns;
    self->times.calls++;
    weir_claimed_free(execution_load.executions, claimed);
    (void)atomic_fetch_sub(self->left, count);
}

static void *flow_load(void *state)
{
    struct weaver *self = state;

    for (size_t i = 0; i < self->share; i++) {
        int64_t begun_ns = bench_now_ns();

        make_flow(&self->weaves[i]);
        self->times.make_ns += bench_now_ns() - begun_ns;
        self->times.flows++;
        grind(self, 0);
    }
    while (atomic_load(self->left) > 0)
        grind(self, 20);
    return NULL;
}

static void add_times(struct weaver_times *self, const struct weaver_times *other)
{
    self->make_ns += other->make_ns;
    self->claim_ns += other->claim_ns;
    self->settle_ns += other->settle_ns;
    self->flows += other->flows;
    self->calls += other->calls;
}

/* Returns how long it took, from the first flow to the end of the last one. */
static int64_t run_flows(size_t count, struct weaver_times *times)
{
    struct bench_flow_load *weaves = bench_must_alloc(count, sizeof *weaves);
    struct weaver weavers[BENCH_MILLERS];
    _Atomic size_t left = count * NODES;
    size_t share = count / BENCH_MILLERS;
    int64_t begun_ns = bench_now_ns();
    int64_t taken_ns;

    bench_must(count % BENCH_MILLERS == 0, "flows that can be divided");
    for (size_t i = 0; i < BENCH_MILLERS; i++) {
        weavers[i] =
            (struct weaver){.weaves = weaves + i * share, .share = share, .left = &left};
        bench_must(pthread_create(&weavers[i].thread, NULL, flow_load, &weavers[i]) == 0,
                   "start a thread");
    }
    for (size_t i = 0; i < BENCH_MILLERS; i++) {
        (void)pthread_join(weavers[i].thread, NULL);
        add_times(times, &weavers[i].times);
    }
    taken_ns = bench_now_ns() - begun_ns;
    for (size_t i = 0; i < count; i++) {
        bench_must(bench_flow_load_state(&weaves[i]) == WEIR_FLOW_COMPLETED,
                   "each flow comes to its end");
        bench_flow_load_end(&weaves[i]);
    }
    free(weaves);
    return taken_ns;
}

/* One worker, and all statements. */
static void count_flows(struct setup *self)
{
    struct weaver weaver = {.weaves = NULL};
    struct bench_flow_load weaves[COUNTED];
    _Atomic size_t left = NODES;
    struct bench_statements before;
    struct bench_statements made;
    struct bench_statements after;

    open_execution_load(self, "rate_counted", true, false);
    weaver.left = &left;
    make_flow(&weaves[0]);
    while (atomic_load(&left) > 0)
        grind(&weaver, 0);
    left = (COUNTED - 1) * NODES;
    before = bench_database_statements(self->database);
    for (size_t i = 1; i < COUNTED; i++)
        make_flow(&weaves[i]);
    made = bench_database_statements(self->database);
    while (atomic_load(&left) > 0)
        grind(&weaver, 0);
    after = bench_database_statements(self->database);
    print_statements("statements to create and extend one", &before, &made, COUNTED - 1);
    print_statements("statements to work it off, ten at a time", &made, &after,
                     COUNTED - 1);
    for (size_t i = 0; i < COUNTED; i++)
        bench_flow_load_end(&weaves[i]);
    bench_execution_load_close(&execution_load);
}

static void bench_rate(struct setup *self)
{
    size_t count = self->plan->flows;
    struct weaver_times times = {.flows = 0};
    struct weaver_times warm_up = {.flows = 0};
    struct bench_pair pair;

    memset(&pair, 0, sizeof pair);
    open_execution_load(self, "rate", false, true);
    (void)bench_execution_load_run(&execution_load, (uint64_t)BENCH_MILLERS * NODES * 2,
                                   NODES, NULL);
    (void)run_flows(BENCH_MILLERS, &warm_up);
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double baseline = bench_per_second(
            count, bench_execution_load_run(&execution_load, (uint64_t)count * NODES,
                                            NODES, NULL));

        bench_pair_add(&pair, bench_per_second(count, run_flows(count, &times)),
                       baseline);
    }
    bench_execution_load_close(&execution_load);
    begin_section(self, "flows of 10 executions, 16 workers", "no edges");
    bench_row_pair("flows a second, of as many executions in none", BENCH_PER_SECOND,
                   &pair, BENCH_UNJUDGED);
    bench_row_sample("flows a second", BENCH_PER_SECOND, &pair.ours, BENCH_AT_LEAST(60));
    bench_row_value("a call: create and extend", BENCH_NANOSECONDS,
                    (double)times.make_ns / (double)times.flows, BENCH_UNJUDGED);
    bench_row_value("claim up to 10", BENCH_NANOSECONDS,
                    (double)times.claim_ns / (double)times.calls, BENCH_UNJUDGED);
    bench_row_value("complete them", BENCH_NANOSECONDS,
                    (double)times.settle_ns / (double)times.calls, BENCH_UNJUDGED);
    count_flows(self);
}

/* ---- siblings ---------------------------------------------------------------------- */

static void take_state(void *state, const struct weir_execution_info *info)
{
    *(enum weir_public_state *)state = info->state;
}

static bool is_cancelled(struct bench_execution_load *where,
                         const struct weir_execution_id *id)
{
    enum weir_public_state state = WEIR_STATE_WAITING;
    struct weir_error error;

    bench_must_ok(weir_execution_get(where->executions, id, take_state, &state, &error),
                  &error, "read an execution");
    return state == WEIR_STATE_CANCELLED;
}

/* One of 101 is enough. Returns the time from before its completion until somebody who
 * asks every millisecond sees that the others are cancelled. They are so together: the
 * last one tells. */
static int64_t reach_quorum(struct bench_execution_load *where)
{
    struct weir_claimed *claimed = NULL;
    struct bench_flow_load flow_load;
    int64_t begun_ns;
    int64_t taken_ns;
    size_t join;

    bench_flow_load_begin(&flow_load, where, SIBLINGS + 2, SIBLINGS + 1);
    join = bench_flow_load_add(&flow_load, "join");
    for (size_t i = 0; i <= SIBLINGS; i++)
        bench_flow_load_lead(&flow_load, bench_flow_load_add(&flow_load, BENCH_LANE),
                             join);
    bench_flow_load_quorum(&flow_load, join, 1);
    bench_flow_load_extend(&flow_load);
    bench_must(bench_execution_load_claim_in(where, BENCH_LANE, 1, 0, &claimed) == 1,
               "one of them can be claimed");
    begun_ns = bench_now_ns();
    bench_execution_load_complete(where, claimed, 1);
    while (!is_cancelled(where, &flow_load.ids[SIBLINGS + 1]))
        bench_sleep_ns(WEIR_MILLISECONDS(1));
    taken_ns = bench_now_ns() - begun_ns;
    bench_must(bench_flow_load_count(&flow_load, WEIR_STATE_CANCELLED) == SIBLINGS,
               "all others are cancelled");
    weir_claimed_free(where->executions, claimed);
    work_off(where, "join");
    bench_flow_load_end(&flow_load);
    return taken_ns;
}

static void run_quorums(size_t count, struct bench_execution_load *where, const char *who)
{
    static int64_t times_ns[TIMES_MAX];

    for (size_t i = 0; i < 3; i++)
        (void)reach_quorum(where);
    for (size_t i = 0; i < count; i++)
        times_ns[i] = reach_quorum(where);
    print_times(who, times_ns, count, BENCH_BELOW(50e6));
}

static void bench_siblings(struct setup *self)
{
    open_both(self, "siblings");
    begin_section(self, "from the end that makes a quorum until 100 are cancelled", "");
    run_quorums(self->plan->quorums, &second, "same process as the supervisor");
    run_quorums(self->plan->quorums, &execution_load, "another one");
    close_both();
}

/* ---- signals ----------------------------------------------------------------------- */

struct signal_times {
    int64_t suspend_ns;
    int64_t signal_ns;
};

static void suspend(const struct weir_claim *claim, struct weir_waitpoint *waitpoint)
{
    struct weir_suspend_options options;
    struct weir_error error;
    bool satisfied = false;

    weir_suspend_options_init(&options);
    options.waitpoints = waitpoint;
    options.waitpoint_count = 1;
    options.until = "approved@gate";
    options.timeout_ms = WAIT_LIMIT_MS;
    bench_must_ok(weir_execution_suspend(execution_load.executions, claim, &options,
                                         &satisfied, NULL, &error),
                  &error, "suspend");
    bench_must(!satisfied, "nobody has signalled before");
}

static void signal_gate(const struct weir_claim *claim,
                        const struct weir_waitpoint *waitpoint)
{
    struct weir_signal signal = {.id = claim->id,
                                 .token = waitpoint->token,
                                 .name = "approved",
                                 .source_type = "user",
                                 .source = "anna",
                                 .key = "once"};
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
    struct weir_error error;

    memcpy(signal.waitpoint, waitpoint->uuid, WEIR_UUID_SIZE);
    bench_must_ok(
        weir_execution_signal(execution_load.executions, &signal, &effect, &error),
        &error, "signal");
    bench_must(effect == WEIR_SIGNAL_RESUMED, "one signal is enough");
}

/* Suspends what it has claimed, signals, and claims it again. */
static struct signal_times pass_gate(void)
{
    struct weir_waitpoint waitpoint = {.key = "gate"};
    struct weir_claimed *claimed = NULL;
    struct signal_times times;
    int64_t begun_ns;

    bench_execution_load_submit(&execution_load, 1, NULL, NULL);
    bench_must(
        bench_execution_load_claim_in(&execution_load, BENCH_LANE, 1, 0, &claimed) == 1,
        "it can be claimed");
    begun_ns = bench_now_ns();
    suspend(&claimed->claim, &waitpoint);
    times.suspend_ns = bench_now_ns() - begun_ns;
    signal_gate(&claimed->claim, &waitpoint);
    times.signal_ns = bench_now_ns() - begun_ns - times.suspend_ns;
    weir_claimed_free(execution_load.executions, claimed);
    work_off(&execution_load, BENCH_LANE);
    return times;
}

static void bench_signal(struct setup *self)
{
    static int64_t suspend_ns[TIMES_MAX];
    static int64_t signal_ns[TIMES_MAX];
    static int64_t both_ns[TIMES_MAX];
    size_t count = self->plan->signals;
    struct bench_statements before;
    struct bench_statements after;

    open_execution_load(self, "signal", false, true);
    for (size_t i = 0; i < 10; i++)
        (void)pass_gate();
    for (size_t i = 0; i < count; i++) {
        struct signal_times times = pass_gate();

        suspend_ns[i] = times.suspend_ns;
        signal_ns[i] = times.signal_ns;
        both_ns[i] = times.suspend_ns + times.signal_ns;
    }
    bench_execution_load_close(&execution_load);
    open_execution_load(self, "signal_counted", true, false);
    (void)pass_gate();
    before = bench_database_statements(self->database);
    for (size_t i = 0; i < COUNTED; i++)
        (void)pass_gate();
    after = bench_database_statements(self->database);
    bench_execution_load_close(&execution_load);
    begin_section(self, "suspend, signal, and it can be claimed", "");
    print_times("suspend", suspend_ns, count, BENCH_UNJUDGED);
    print_times("signal", signal_ns, count, BENCH_UNJUDGED);
    print_times("from one to the end of the other", both_ns, count, BENCH_BELOW(15e6));
    print_statements("statements from submit to complete", &before, &after, COUNTED);
}

/* ---- fan --------------------------------------------------------------------------- */

struct fan {
    struct bench_flow_load flow_load;
    _Atomic size_t left; /* members that nobody has completed */
    int64_t joined_ns;
};

/* The root and the join come with the first part. */
static void make_fan(struct fan *self)
{
    bench_flow_load_begin(&self->flow_load, &execution_load, FAN + 2, (size_t)FAN * 2);
    (void)bench_flow_load_add(&self->flow_load, "root");
    (void)bench_flow_load_add(&self->flow_load, "join");
    for (size_t i = 1; i <= FAN; i++) {
        size_t member = bench_flow_load_add(&self->flow_load, BENCH_LANE);

        bench_flow_load_lead(&self->flow_load, 0, member);
        bench_flow_load_lead(&self->flow_load, member, 1);
        if (i % FAN_PART == 0)
            bench_flow_load_extend(&self->flow_load);
    }
}

static void *fan_out(void *state)
{
    struct fan *self = state;

    while (atomic_load(&self->left) > 0) {
        struct weir_claimed *claimed = NULL;
        size_t count = bench_execution_load_claim_in(&execution_load, BENCH_LANE,
                                                     FAN_BATCH, 20, &claimed);

        if (count > 0)
            bench_execution_load_complete(&execution_load, claimed, count);
        weir_claimed_free(execution_load.executions, claimed);
        (void)atomic_fetch_sub(&self->left, count);
    }
    return NULL;
}

static void *await_join(void *state)
{
    struct fan *self = state;
    struct weir_claimed *claimed = NULL;

    bench_must(bench_execution_load_claim_in(&execution_load, "join", 1,
                                             4 * (int64_t)WAIT_LIMIT_MS, &claimed) == 1,
               "the join can be claimed");
    self->joined_ns = bench_now_ns();
    bench_execution_load_complete(&execution_load, claimed, 1);
    weir_claimed_free(execution_load.executions, claimed);
    return NULL;
}

/* Returns the time from before the first extension until a waiting worker has claimed
 * the join. */
static int64_t run_fan(int64_t *make_ns)
{
    static struct fan fan;
    pthread_t pool[BENCH_MILLERS];
    pthread_t waiter;
    int64_t begun_ns = bench_now_ns();

    memset(&fan, 0, sizeof fan);
    atomic_init(&fan.left, FAN);
    make_fan(&fan);
    *make_ns = bench_now_ns() - begun_ns;
    bench_must(pthread_create(&waiter, NULL, await_join, &fan) == 0, "start a thread");
    for (size_t i = 0; i < BENCH_MILLERS; i++)
        bench_must(pthread_create(&pool[i], NULL, fan_out, &fan) == 0, "start a thread");
    work_off(&execution_load, "root");
    for (size_t i = 0; i < BENCH_MILLERS; i++)
        (void)pthread_join(pool[i], NULL);
    (void)pthread_join(waiter, NULL);
    bench_must(bench_flow_load_state(&fan.flow_load) == WEIR_FLOW_COMPLETED,
               "the flow comes to its end");
    bench_flow_load_end(&fan.flow_load);
    return fan.joined_ns - begun_ns;
}

static void bench_fan(struct setup *self)
{
    struct bench_sample made = {.count = 0};
    struct bench_sample joined = {.count = 0};

    open_execution_load(self, "fan", false, true);
    for (size_t i = 0; i < self->plan->fans; i++) {
        int64_t make_ns = 0;

        bench_sample_add(&joined, (double)run_fan(&make_ns));
        bench_sample_add(&made, (double)make_ns);
    }
    bench_execution_load_close(&execution_load);
    begin_section(self, "one leads to 10,000, and these to one", "");
    bench_row_sample("create, and add 10,002 members and 20,000 edges", BENCH_NANOSECONDS,
                     &made, BENCH_UNJUDGED);
    bench_row_sample("until the last one is claimed", BENCH_NANOSECONDS, &joined,
                     BENCH_BELOW(5e9));
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct setup *setup) = {
    bench_hop, bench_rate, bench_siblings, bench_signal, bench_fan,
};
static const char *const SECTION_NAMES[] = {
    "hop", "rate", "siblings", "signal", "fan",
};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static void bench_engine(const struct bench_choice *choice, const struct plan *plan,
                         enum weir_engine engine)
{
    struct setup setup = {.plan = plan, .engine = engine};

    setup.database = bench_database_open(engine);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (bench_choice_has_section(choice, i))
            SECTIONS[i](&setup);
    }
    bench_database_close(setup.database);
}

static const struct plan *choose_plan(const struct bench_choice *choice)
{
    if (choice->quick)
        return &QUICK;
    return bench_choice_is_long(choice) ? &LONG : &FULL;
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL};
    struct bench_choice choice = {.sections = SECTION_NAMES,
                                  .section_count = SECTION_COUNT};
    int64_t begun_ns = bench_now_ns();
    const struct plan *plan;

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    plan = choose_plan(&choice);
    (void)printf("%zu cores, load %.2f, medians of %zu rounds%s; %d byte inputs, "
                 "%d byte results, durable commits\n",
                 bench_core_count(), bench_load(), plan->rounds,
                 choice.quick ? " (quick: too few to mean much)" : "", BENCH_GRAIN_SIZE,
                 BENCH_FLOUR_SIZE);
    (void)fflush(stdout);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            bench_engine(&choice, plan, ENGINES[i]);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
