/*
 * bench_takeover.c - how long partitions wait for a new owner when their process is
 * killed.
 *
 *   bench_takeover [--quick] [ENGINE...] [SECTION...]
 *
 * Two processes consume a queue with the defaults: profile, handlers, a lease of 30 s.
 * Each partition gets a message every 50 ms. When both have their share one of them is
 * killed (SIGKILL), at a random moment; measured is, for each partition that it had,
 * from then until the other one's handler is called for it. Then a new process takes
 * the place of the dead one, and the survivor is the next to die. Several such pairs,
 * each with a database of its own, do that side by side: most of the time nothing
 * happens but that somebody waits.
 *
 * Sections: killed, lease. The second is the baseline: PostgreSQL as behind a
 * transaction pooler, where no session tells that a process is dead, and partitions
 * wait for the end of its lease. A message that is lost or out of order ends the bench
 * with 1. docs/internals/bench.md explains how to read it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/must.h"
#include "lib/proc.h"
#include "lib/process_pool.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { PAIRS = 5, KILLS_MAX = 64, TIMES_MAX = KILLS_MAX * BENCH_PARTITIONS };

/* Of the defaults: weir_handler_options_init(). */
#define LEASE_NS WEIR_SECONDS(30)

#define FLOW_NS WEIR_MILLISECONDS(50)
#define LOOK_NS WEIR_MILLISECONDS(2)
#define MOMENT_NS WEIR_SECONDS(1) /* kills are spread over so long */
#define WAIT_LIMIT_NS WEIR_SECONDS(120)

struct plan {
    size_t killed; /* kills by each pair */
    size_t lease;
};

static const struct plan FULL = {.killed = 4, .lease = 1};
static const struct plan LONG = {.killed = 12, .lease = 4};
static const struct plan QUICK = {.killed = 1, .lease = 1};

/* What was measured in a section. */
struct tally {
    int64_t times_ns[TIMES_MAX]; /* of each partition of each victim */
    size_t time_count;
    int64_t slowest_ns[KILLS_MAX]; /* of each victim's partitions */
    size_t kill_count;
    uint64_t repeats;
};

/*
 *   SETTLING --both have their share--> DOOMED --its moment comes--> WATCHING --all are
 *   back-->
 *       ^                                                                |              |
 *       +-------------------- one more is to be killed ------------------+ OVER
 */
enum state { SETTLING, DOOMED, WATCHING, OVER };

struct pair {
    struct bench_process_pool process_pool;
    enum state state;
    int64_t since_ns; /* when the state began */
    uint32_t older;
    uint32_t newer;
    size_t kills_left;
    int64_t moment_ns;
    int64_t killed_ns;
    int64_t slowest_ns;
    bool orphan[BENCH_PARTITIONS]; /* waits for a new owner */
};

static struct pair pairs[PAIRS];
static unsigned short randomness[3] = {8, 1, 5};

/* ---- one pair ---------------------------------------------------------------------- */

static void enter(struct pair *self, enum state state)
{
    self->state = state;
    self->since_ns = bench_now_ns();
}

static void check_wait_limit(const struct pair *self, int64_t limit_ns, const char *what)
{
    bench_must(bench_now_ns() < self->since_ns + limit_ns, what);
}

static void open_pair(struct pair *self, const char *url, size_t kills)
{
    struct bench_process_pool_options options = {.url = url,
                                                 .profile = WEIR_PROFILE_DEFAULT};

    memset(self, 0, sizeof *self);
    bench_process_pool_open(&self->process_pool, &options);
    self->older = bench_process_pool_start(&self->process_pool);
    self->newer = bench_process_pool_start(&self->process_pool);
    self->kills_left = kills;
    enter(self, SETTLING);
}

static void settle(struct pair *self)
{
    check_wait_limit(self, WAIT_LIMIT_NS, "the partitions are not shared evenly");
    if (!bench_process_pool_is_even(&self->process_pool))
        return;
    self->moment_ns = bench_now_ns() + (int64_t)(erand48(randomness) * (double)MOMENT_NS);
    enter(self, DOOMED);
}

/* What it had is known only when it can take nothing more. */
static void kill_older(struct pair *self)
{
    self->killed_ns = bench_process_pool_kill(&self->process_pool, self->older);
    self->slowest_ns = 0;
    for (size_t i = 0; i < BENCH_PARTITIONS; i++)
        self->orphan[i] =
            atomic_load(&self->process_pool.board->desks[i].member) == self->older;
    enter(self, WATCHING);
}

static void await_moment(struct pair *self)
{
    if (bench_now_ns() < self->moment_ns)
        return;
    if (bench_process_pool_is_even(&self->process_pool))
        kill_older(self);
    else
        enter(self, SETTLING);
}

static void note_return(struct pair *self, size_t partition, struct tally *tally)
{
    const struct bench_env *env = &self->process_pool.board->desks[partition];
    int64_t taken_ns = atomic_load(&env->since_ns) - self->killed_ns;

    self->orphan[partition] = false;
    self->slowest_ns = taken_ns > self->slowest_ns ? taken_ns : self->slowest_ns;
    tally->times_ns[tally->time_count++] = taken_ns;
}

static void replace_dead(struct pair *self)
{
    self->older = self->newer;
    self->newer = bench_process_pool_start(&self->process_pool);
    enter(self, SETTLING);
}

static void watch(struct pair *self, struct tally *tally)
{
    size_t orphans = 0;

    check_wait_limit(self, LEASE_NS + WAIT_LIMIT_NS, "nobody takes a partition over");
    for (size_t i = 0; i < BENCH_PARTITIONS; i++) {
        if (self->orphan[i] &&
            atomic_load(&self->process_pool.board->desks[i].member) == self->newer)
            note_return(self, i, tally);
        orphans += self->orphan[i];
    }
    if (orphans > 0)
        return;
    tally->slowest_ns[tally->kill_count++] = self->slowest_ns;
    if (--self->kills_left > 0)
        replace_dead(self);
    else
        enter(self, OVER);
}

static void step(struct pair *self, struct tally *tally)
{
    switch (self->state) {
    case SETTLING:
        settle(self);
        break;
    case DOOMED:
        await_moment(self);
        break;
    case WATCHING:
        watch(self, tally);
        break;
    case OVER:
        break;
    }
}

/* ---- a section --------------------------------------------------------------------- */

static bool all_are_over(void)
{
    for (size_t i = 0; i < PAIRS; i++) {
        if (pairs[i].state != OVER)
            return false;
    }
    return true;
}

static void open_pairs(struct bench_database *database, const char *section,
                       const char *words, size_t kills)
{
    for (size_t i = 0; i < PAIRS; i++) {
        char name[32];
        char url[BENCH_PROCESS_POOL_URL_SIZE];

        (void)snprintf(name, sizeof name, "%s%zu", section, i);
        (void)snprintf(url, sizeof url, "%s%s", bench_database_add(database, name, false),
                       words);
        open_pair(&pairs[i], url, kills);
    }
}

static void run_pairs(struct tally *tally)
{
    int64_t flow_ns = bench_now_ns();

    while (!all_are_over()) {
        bool flows = bench_now_ns() >= flow_ns;

        for (size_t i = 0; i < PAIRS; i++) {
            if (flows && pairs[i].state != OVER)
                bench_process_pool_send(&pairs[i].process_pool, BENCH_PARTITIONS,
                                        BENCH_PARTITIONS);
            step(&pairs[i], tally);
        }
        if (flows)
            flow_ns = bench_now_ns() + FLOW_NS;
        bench_sleep_ns(LOOK_NS);
    }
}

static void close_pairs(struct tally *tally)
{
    for (size_t i = 0; i < PAIRS; i++) {
        (void)bench_process_pool_await(&pairs[i].process_pool);
        tally->repeats += atomic_load(&pairs[i].process_pool.board->repeats);
        bench_process_pool_close(&pairs[i].process_pool);
    }
}

static void print_tally(struct tally *tally, struct bench_target soon)
{
    size_t count = tally->time_count;
    char name[64];

    bench_sort_ns(tally->times_ns, count);
    bench_sort_ns(tally->slowest_ns, tally->kill_count);
    (void)snprintf(name, sizeof name, "%zu kills, %zu partitions: p50", tally->kill_count,
                   count);
    bench_row_value(name, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(tally->times_ns, count, 50), soon);
    bench_row_value("p99", BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(tally->times_ns, count, 99),
                    BENCH_UNJUDGED);
    bench_row_value("max: the lease and a second", BENCH_NANOSECONDS,
                    (double)tally->times_ns[count - 1],
                    BENCH_AT_MOST((double)(LEASE_NS + WEIR_SECONDS(1))));
    bench_row_value("until the last partition is back, p50", BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(tally->slowest_ns, tally->kill_count, 50),
                    BENCH_UNJUDGED);
    bench_row_value("messages given twice, per kill", BENCH_DECIMAL,
                    (double)tally->repeats / (double)tally->kill_count, BENCH_UNJUDGED);
}

static void run_section(struct bench_database *database, const char *section,
                        const char *words, size_t kills, struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
    open_pairs(database, section, words, kills);
    run_pairs(tally);
    close_pairs(tally);
}

static void bench_killed(struct bench_database *database, const struct plan *plan)
{
    static struct tally tally;
    char title[96];

    run_section(database, "killed", "", plan->killed, &tally);
    (void)snprintf(title, sizeof title, "%s: from the kill to the next delivery",
                   weir_engine_name(bench_database_engine(database)));
    bench_section(title, "weir", "");
    print_tally(&tally, BENCH_BELOW((double)WEIR_SECONDS(1)));
}

/* The server itself answers: what is switched off is all that needs a session. */
static void bench_lease(struct bench_database *database, const struct plan *plan)
{
    static struct tally tally;

    if (bench_database_engine(database) != WEIR_POSTGRESQL)
        return;
    run_section(database, "lease", "?pooler=transaction", plan->lease, &tally);
    bench_section("postgresql, pooler=transaction: by the lease alone", "weir", "");
    print_tally(&tally, BENCH_UNJUDGED);
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct bench_database *database,
                                const struct plan *plan) = {bench_killed, bench_lease};
static const char *const SECTION_NAMES[] = {"killed", "lease"};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static void bench_engine(const struct bench_choice *choice, const struct plan *plan,
                         enum weir_engine engine)
{
    struct bench_database *database = bench_database_open(engine);

    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (bench_choice_has_section(choice, i))
            SECTIONS[i](database, plan);
    }
    bench_database_close(database);
}

static const struct plan *choose_plan(const struct bench_choice *choice)
{
    if (choice->quick)
        return &QUICK;
    return bench_choice_is_long(choice) ? &LONG : &FULL;
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL,
                                               WEIR_MARIADB};
    struct bench_choice choice = {.sections = SECTION_NAMES,
                                  .section_count = SECTION_COUNT};
    int64_t begun_ns = bench_now_ns();

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    (void)printf(
        "%zu cores, load %.2f; %d pairs of processes side by side, %d partitions, "
        "a lease of 30 s, durable commits\n",
        bench_core_count(), bench_load(), PAIRS, BENCH_PARTITIONS);
    (void)fflush(stdout);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            bench_engine(&choice, choose_plan(&choice), ENGINES[i]);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
