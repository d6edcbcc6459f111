/*
 * bench_flow.c - how fast executions are submitted, claimed and completed, and what the
 * engine costs when there is nothing to do.
 *
 *   bench_flow [--quick] [ENGINE...] [SECTION...]
 *
 * On SQLite and PostgreSQL; databases are on disk and commits are flushed. In each
 * round of a rate the plain writes of lib/plain.h and the engine have the same number
 * of rows, one right after the other. The targets are those of the engine on two cores
 * that it shares with the server; on a busy machine only the ratios mean something.
 * docs/internals/bench.md explains how to read it; a target that is missed is printed
 * and does not change the exit code. An execution that is not completed exactly once
 * does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/execution_load.h"
#include "lib/must.h"
#include "lib/plain.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { BATCH = 100, LEASES = 10000, TIMERS_MAX = 2000, TIMER_POOL = 4, TIMER_BATCH = 16 };

/* Calls before it counts: connections are made, and each plans its statements a few
 * times. */
enum { WARM_UP = 8 * BENCH_MILLERS };

/* How long delays are: long enough to be submitted all, and read. */
enum { DELAY_MIN_MS = 500, TIMER_RATE = 50 /* due in a second */ };

struct plan {
    size_t rounds;
    uint64_t batched; /* executions of a round */
    uint64_t single;
    uint64_t empties; /* claims of a round */
    int64_t idle_ns;
    size_t timers; /* of each row */
};

static const struct plan FULL = {
    .rounds = 5,
    .batched = 6 * BATCH * BENCH_MILLERS,
    .single = 100 * BENCH_MILLERS,
    .empties = 1000,
    .idle_ns = WEIR_SECONDS(15),
    .timers = 300,
};

static const struct plan LONG = {
    .rounds = 15,
    .batched = 20 * BATCH * BENCH_MILLERS,
    .single = 300 * BENCH_MILLERS,
    .empties = 3000,
    .idle_ns = WEIR_SECONDS(60),
    .timers = 1500,
};

static const struct plan QUICK = {
    .rounds = 2,
    .batched = BATCH * BENCH_MILLERS,
    .single = 15 * BENCH_MILLERS,
    .empties = 100,
    .idle_ns = WEIR_SECONDS(4),
    .timers = 100,
};

/* One engine. */
struct setup {
    const struct plan *plan;
    struct bench_database *database;
    enum weir_engine engine;
};

static struct bench_execution_load execution_load;
static struct bench_plain plain;

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

/* ---- rates ------------------------------------------------------------------------- */

static void print_times(const struct bench_execution_load_times *times, size_t batch)
{
    double calls = (double)times->calls;
    char name[64];

    (void)snprintf(name, sizeof name, "a call of %zu: submit", batch);
    bench_row_value(name, BENCH_NANOSECONDS, (double)times->submit_ns / calls,
                    BENCH_UNJUDGED);
    bench_row_value("claim", BENCH_NANOSECONDS, (double)times->claim_ns / calls,
                    BENCH_UNJUDGED);
    bench_row_value("complete", BENCH_NANOSECONDS, (double)times->settle_ns / calls,
                    BENCH_UNJUDGED);
}

/* Statements of all connections, per call of one thread: three calls are a turn. */
static void print_statements(struct setup *self, const char *name, size_t batch)
{
    uint64_t count = batch * BENCH_MILLERS * 4;
    struct bench_statements before;
    struct bench_statements after;

    open_execution_load(self, name, true, false);
    (void)bench_execution_load_run(&execution_load, count, batch, NULL);
    before = bench_database_statements(self->database);
    (void)bench_execution_load_run(&execution_load, count, batch, NULL);
    after = bench_database_statements(self->database);
    bench_execution_load_close(&execution_load);
    bench_row_value("statements per submit, claim and complete", BENCH_DECIMAL,
                    (double)(after.statements - before.statements) /
                        ((double)count / (double)batch),
                    BENCH_UNJUDGED);
    if (self->engine == WEIR_SQLITE)
        bench_row_value("with each row of a loop counted", BENCH_DECIMAL,
                        (double)(after.runs - before.runs) /
                            ((double)count / (double)batch),
                        BENCH_UNJUDGED);
}

/* The same with events in the outbox, for which nobody has asked. */
static void run_with_events(struct setup *self, const char *name, uint64_t count,
                            size_t batch)
{
    struct bench_execution_load_options options = {
        .url = bench_database_add(self->database, name, false), .events = true};
    struct bench_sample rates = {.count = 0};

    bench_execution_load_open(&execution_load, &options);
    (void)bench_execution_load_run(&execution_load, WARM_UP * batch, batch, NULL);
    for (size_t i = 0; i < (self->plan->rounds + 1) / 2; i++)
        bench_sample_add(
            &rates, bench_per_second(count, bench_execution_load_run(
                                                &execution_load, count, batch, NULL)));
    bench_execution_load_close(&execution_load);
    bench_row_sample("the same, with events", BENCH_PER_SECOND, &rates, BENCH_UNJUDGED);
}

struct rate {
    const char *title;
    const char *name; /* of its databases */
    size_t batch;
    uint64_t count;
    struct bench_target target;
};

static void bench_rate(struct setup *self, const struct rate *rate)
{
    struct bench_execution_load_times times = {.calls = 0};
    struct bench_pair pair;
    char name[32];

    memset(&pair, 0, sizeof pair);
    (void)snprintf(name, sizeof name, "%s_plain", rate->name);
    bench_plain_open(&plain, bench_database_add(self->database, name, false));
    open_execution_load(self, rate->name, false, false);
    (void)bench_plain_run(&plain, WARM_UP * rate->batch, rate->batch, BENCH_MILLERS);
    (void)bench_execution_load_run(&execution_load, WARM_UP * rate->batch, rate->batch,
                                   NULL);
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double baseline =
            bench_per_second(rate->count, bench_plain_run(&plain, rate->count,
                                                          rate->batch, BENCH_MILLERS));

        bench_pair_add(&pair,
                       bench_per_second(rate->count, bench_execution_load_run(
                                                         &execution_load, rate->count,
                                                         rate->batch, &times)),
                       baseline);
    }
    bench_execution_load_close(&execution_load);
    bench_plain_close(&plain);
    begin_section(self, rate->title, "plain writes");
    bench_row_pair("executions a second, of plain writes", BENCH_PER_SECOND, &pair,
                   BENCH_UNJUDGED);
    bench_row_sample("executions a second", BENCH_PER_SECOND, &pair.ours, rate->target);
    print_times(&times, rate->batch);
    (void)snprintf(name, sizeof name, "%s_events", rate->name);
    run_with_events(self, name, rate->count, rate->batch);
    (void)snprintf(name, sizeof name, "%s_counted", rate->name);
    print_statements(self, name, rate->batch);
}

static void bench_batched(struct setup *self)
{
    const struct rate rate = {
        .title = "submit, claim, complete 100 at a time, 16 workers",
        .name = "batched",
        .batch = BATCH,
        .count = self->plan->batched,
        .target = BENCH_AT_LEAST(self->engine == WEIR_SQLITE ? 10000 : 5000),
    };

    bench_rate(self, &rate);
}

static void bench_single(struct setup *self)
{
    const struct rate rate = {
        .title = "submit, claim, complete one by one, 16 workers",
        .name = "single",
        .batch = 1,
        .count = self->plan->single,
        .target = self->engine == WEIR_SQLITE ? BENCH_UNJUDGED : BENCH_AT_LEAST(1000),
    };

    bench_rate(self, &rate);
}

/* ---- nothing to do ----------------------------------------------------------------- */

static int64_t time_empty_claims(uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    for (uint64_t i = 0; i < count; i++) {
        struct weir_claimed *claimed;

        bench_must(bench_execution_load_claim(&execution_load, 1, 30000, 0, &claimed) ==
                       0,
                   "there is nothing to claim");
    }
    return bench_now_ns() - begun_ns;
}

/* History and a lane that is known, but nothing in it. */
static void open_empty_execution_load(struct setup *self, const char *name, bool counted)
{
    open_execution_load(self, name, counted, false);
    (void)bench_execution_load_run(&execution_load, BATCH * BENCH_MILLERS, BATCH, NULL);
    (void)time_empty_claims(1);
}

static void bench_empty(struct setup *self)
{
    uint64_t count = self->plan->empties;
    struct bench_pair pair;
    struct bench_statements before;
    struct bench_statements after;

    memset(&pair, 0, sizeof pair);
    bench_plain_open(&plain, bench_database_add(self->database, "empty_plain", false));
    (void)bench_plain_run(&plain, BATCH, BATCH, 1);
    open_empty_execution_load(self, "empty", false);
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double baseline = bench_per_second(count, bench_plain_find(&plain, count));

        bench_pair_add(&pair, bench_per_second(count, time_empty_claims(count)),
                       baseline);
    }
    bench_execution_load_close(&execution_load);
    bench_plain_close(&plain);
    open_empty_execution_load(self, "empty_counted", true);
    before = bench_database_statements(self->database);
    (void)time_empty_claims(count);
    after = bench_database_statements(self->database);
    bench_execution_load_close(&execution_load);
    begin_section(self, "claims of one worker that find nothing", "a row by key");
    bench_row_pair("calls a second", BENCH_PER_SECOND, &pair, BENCH_UNJUDGED);
    bench_row_value("a call takes", BENCH_NANOSECONDS,
                    1e9 / bench_sample_median(&pair.ours), BENCH_UNJUDGED);
    bench_row_value("statements of a call", BENCH_DECIMAL,
                    (double)(after.statements - before.statements) / (double)count,
                    BENCH_UNJUDGED);
}

/* Waits for as long as the bench looks, and a little more. */
static void *wait_in_vain(void *state)
{
    const int64_t *wait_ms = state;
    struct weir_claimed *claimed;

    bench_must(
        bench_execution_load_claim(&execution_load, 1, 30000, *wait_ms, &claimed) == 0,
        "there is nothing to claim");
    return NULL;
}

static void bench_idle(struct setup *self)
{
    const int64_t settle_ns = WEIR_SECONDS(2);
    int64_t wait_ms = (settle_ns + self->plan->idle_ns) / WEIR_MILLISECONDS(1) + 500;
    double seconds = (double)self->plan->idle_ns / 1e9;
    struct bench_statements before;
    struct bench_statements after;
    pthread_t waiter;

    open_execution_load(self, "idle", true, true);
    (void)bench_execution_load_run(&execution_load, BATCH * BENCH_MILLERS, BATCH, NULL);
    bench_must(pthread_create(&waiter, NULL, wait_in_vain, &wait_ms) == 0,
               "start a thread");
    bench_sleep_ns(settle_ns);
    before = bench_database_statements(self->database);
    bench_sleep_ns(self->plan->idle_ns);
    after = bench_database_statements(self->database);
    (void)pthread_join(waiter, NULL);
    bench_execution_load_close(&execution_load);
    begin_section(self, "a supervisor and a waiting claim, and nothing to do", "");
    bench_row_value("statements a second", BENCH_DECIMAL,
                    (double)(after.statements - before.statements) / seconds,
                    BENCH_BELOW(5));
}

/* ---- times ------------------------------------------------------------------------- */

/* The database's clock: it is on the same machine. */
static int64_t wall_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* From the end of the leases until the last of them can be claimed again. */
static double recover(void)
{
    struct weir_claimed *claimed = NULL;
    uint64_t before =
        bench_execution_load_handled(&execution_load, WEIR_RECONCILER_LEASE_EXPIRY);
    size_t count = bench_execution_load_claim(&execution_load, LEASES, 2000, 0, &claimed);
    int64_t lease_us;

    bench_must(count == LEASES, "all of them are claimed");
    lease_us = claimed[0].lease_us;
    weir_claimed_free(execution_load.executions, claimed);
    while (bench_execution_load_handled(&execution_load, WEIR_RECONCILER_LEASE_EXPIRY) -
               before <
           LEASES)
        bench_sleep_ns(WEIR_MILLISECONDS(1));
    return (double)(wall_us() - lease_us) * 1000;
}

static void bench_recover(struct setup *self)
{
    struct bench_pair pair;

    memset(&pair, 0, sizeof pair);
    bench_plain_open(&plain, bench_database_add(self->database, "recover_plain", false));
    (void)bench_plain_run(&plain, LEASES, LEASES, 1);
    open_execution_load(self, "recover", false, true);
    bench_execution_load_submit(&execution_load, LEASES, NULL, NULL);
    (void)recover();
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double baseline = (double)bench_plain_update(&plain, LEASES);

        bench_pair_add(&pair, recover(), baseline);
    }
    bench_execution_load_close(&execution_load);
    bench_plain_close(&plain);
    begin_section(self, "10,000 leases run out at once", "one UPDATE");
    bench_row_pair("until all can be claimed, of a plain update", BENCH_NANOSECONDS,
                   &pair, BENCH_UNJUDGED);
    bench_row_sample("until all can be claimed", BENCH_NANOSECONDS, &pair.ours,
                     BENCH_AT_MOST(1e9));
}

/* Those who wait for delayed executions. */
struct idle_poll {
    struct bench_execution_load *execution_load;
    size_t count;
    _Atomic size_t taken;
    struct weir_submission submissions[TIMERS_MAX];
    int64_t delays_ms[TIMERS_MAX];
    int64_t claimed_us[TIMERS_MAX];
    int64_t late_ns[TIMERS_MAX];
};

static void note_claims(struct idle_poll *self, const struct weir_claimed *claimed,
                        size_t count, int64_t now_us)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < self->count && memcmp(self->submissions[at].id.uuid,
                                          claimed[i].claim.id.uuid, WEIR_UUID_SIZE) != 0)
            at++;
        bench_must(at < self->count, "only what was submitted is claimed");
        self->claimed_us[at] = now_us;
    }
    (void)atomic_fetch_add(&self->taken, count);
}

static void *keep_idle_poll(void *state)
{
    struct idle_poll *self = state;

    while (atomic_load(&self->taken) < self->count) {
        struct weir_claimed *claimed = NULL;
        size_t count = bench_execution_load_claim(self->execution_load, TIMER_BATCH,
                                                  30000, 500, &claimed);

        note_claims(self, claimed, count, wall_us());
        if (count > 0)
            bench_execution_load_complete(self->execution_load, claimed, count);
        weir_claimed_free(self->execution_load->executions, claimed);
    }
    return NULL;
}

static void submit_timers(struct idle_poll *self)
{
    unsigned short randomness[3] = {9, 1, 1};
    int64_t span_ms = (int64_t)self->count * 1000 / TIMER_RATE;

    for (size_t i = 0; i < self->count; i++)
        self->delays_ms[i] =
            DELAY_MIN_MS + (int64_t)(erand48(randomness) * (double)span_ms);
    bench_execution_load_submit(self->execution_load, self->count, self->delays_ms,
                                self->submissions);
}

static void print_idle_poll(struct idle_poll *self, const char *who)
{
    char name[64];

    for (size_t i = 0; i < self->count; i++) {
        int64_t due_us = bench_execution_load_created_us(self->execution_load,
                                                         &self->submissions[i].id) +
                         self->delays_ms[i] * 1000;

        bench_must(self->claimed_us[i] >= due_us, "nothing is claimed before its time");
        self->late_ns[i] = (self->claimed_us[i] - due_us) * 1000;
    }
    bench_sort_ns(self->late_ns, self->count);
    (void)snprintf(name, sizeof name, "%s: p50", who);
    bench_row_value(name, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(self->late_ns, self->count, 50),
                    BENCH_UNJUDGED);
    (void)snprintf(name, sizeof name, "%s: p95", who);
    bench_row_value(name, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(self->late_ns, self->count, 95),
                    BENCH_BELOW(50e6));
    (void)snprintf(name, sizeof name, "%s: max", who);
    bench_row_value(name, BENCH_NANOSECONDS, (double)self->late_ns[self->count - 1],
                    BENCH_UNJUDGED);
}

/* The workers are there before the first is due. */
static void take_timers(struct bench_execution_load *workers, size_t count,
                        const char *who)
{
    static struct idle_poll idle_poll;
    pthread_t pool[TIMER_POOL];

    memset(&idle_poll, 0, sizeof idle_poll);
    idle_poll.execution_load = workers;
    idle_poll.count = count;
    submit_timers(&idle_poll);
    for (size_t i = 0; i < TIMER_POOL; i++)
        bench_must(pthread_create(&pool[i], NULL, keep_idle_poll, &idle_poll) == 0,
                   "start a thread");
    for (size_t i = 0; i < TIMER_POOL; i++)
        (void)pthread_join(pool[i], NULL);
    print_idle_poll(&idle_poll, who);
}

static void bench_timers(struct setup *self)
{
    static struct bench_execution_load
        second; /* another process, as far as the first can tell */
    struct bench_execution_load_options options = {
        .url = bench_database_add(self->database, "timers", false), .supervised = true};

    bench_execution_load_open(&execution_load, &options);
    options.supervised = false;
    bench_execution_load_open(&second, &options);
    begin_section(self, "from the time that is due to the claim of a waiting worker", "");
    take_timers(&execution_load, self->plan->timers, "same process as the supervisor");
    take_timers(&second, self->plan->timers, "another one");
    bench_execution_load_close(&second);
    bench_execution_load_close(&execution_load);
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct setup *setup) = {
    bench_batched, bench_single, bench_empty, bench_idle, bench_recover, bench_timers,
};
static const char *const SECTION_NAMES[] = {
    "batched", "single", "empty", "idle", "recover", "timers",
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
