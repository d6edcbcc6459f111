/*
 * bench_snapshot.c - the outbox under load while somebody holds an old snapshot of its
 * database.
 *
 *   bench_snapshot [--quick] [ENGINE...]
 *
 * Two outboxes on two servers of their own (on SQLite: two files), each with a producer
 * and handlers that only look at the order. Of one database a snapshot is held from the
 * beginning to the end, as a report or a dump would. Both are loaded in turn, in
 * windows of a few seconds: messages in transactions of 100, as fast as they are taken,
 * each lap until its last one is delivered. The load under the snapshot adds up to two
 * minutes on PostgreSQL, and to less on the others unless WEIR_LONG=1 is set.
 * docs/internals/bench.md explains how to read it; a target that is missed is printed
 * and does not change the exit code. A message that is lost, repeated or out of order
 * does.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kit/temp_dir.h"
#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/frame.h"
#include "lib/outbox_load.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { BATCH = 100, LAP = 5000, PATH_SIZE = 512 };

/* The two databases, by these names too: files of SQLite share a folder. */
enum { HELD, FREE, SIDES };
static const char *const NAMES[SIDES] = {"held", "free"};

struct plan {
    size_t rounds;
    int64_t window_ns[SIDES];
};

/* Rounds are short, so that what else the machine does meets both sides of most of
 * them. */
static const struct plan TWO_MINUTES = {.rounds = 40,
                                        .window_ns = {WEIR_SECONDS(3), WEIR_SECONDS(1)}};
static const struct plan SHORTER = {
    .rounds = 12,
    .window_ns = {WEIR_SECONDS(2), WEIR_MILLISECONDS(800)}};
static const struct plan QUICK = {.rounds = 3,
                                  .window_ns = {WEIR_SECONDS(1), WEIR_MILLISECONDS(500)}};

/* One engine. */
struct setup {
    const struct plan *plan;
    enum weir_engine engine;
    struct bench_database *grounds[SIDES];
    int64_t load_ns[SIDES];
    uint64_t messages[SIDES];
};

static struct bench_outbox_load lines[SIDES];

/* ---- the load ---------------------------------------------------------------------- */

/* Whole laps, for at least so long; messages per second. */
static double load(struct setup *self, size_t side, int64_t window_ns)
{
    int64_t begun_ns = bench_now_ns();
    int64_t taken_ns = 0;
    uint64_t count = 0;

    while (taken_ns < window_ns) {
        bench_outbox_load_send(&lines[side], LAP, BATCH);
        bench_outbox_load_await(&lines[side], LAP);
        count += LAP;
        taken_ns = bench_now_ns() - begun_ns;
    }
    self->load_ns[side] += taken_ns;
    self->messages[side] += count;
    return bench_per_second(count, taken_ns);
}

/* Who comes first changes: what the one leaves to be done is done beside the other. */
static void run_round(struct setup *self, size_t round, struct bench_pair *pair)
{
    double rates[SIDES];

    for (size_t i = 0; i < SIDES; i++) {
        size_t side = (i + round) % SIDES;

        rates[side] = load(self, side, self->plan->window_ns[side]);
    }
    bench_pair_add(pair, rates[HELD], rates[FREE]);
}

/* ---- what a snapshot leaves behind ------------------------------------------------- */

#define ROTATED "relname ~ '^weir_(log|ack|cut)_[0-9]$'"
#define OURS "relname ~ '^weir_' AND relkind = 'r'"

/* Counted row by row; and as the server's own statistics say. */
static const char SQL_DEAD[] =
    "SELECT coalesce(sum((pgstattuple(oid)).dead_tuple_count), 0)::bigint FROM pg_class"
    " WHERE " ROTATED;
static const char SQL_DEAD_BY_STATISTICS[] =
    "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE " ROTATED;
static const char SQL_DEAD_ELSEWHERE[] =
    "SELECT coalesce(sum((pgstattuple(oid)).dead_tuple_count), 0)::bigint FROM pg_class"
    " WHERE " OURS " AND NOT " ROTATED;

static const char SQL_SIZE_ON_POSTGRESQL[] =
    "SELECT pg_database_size(current_database())";
static const char SQL_SIZE_ON_MARIADB[] =
    "SELECT CAST(coalesce(sum(FILE_SIZE), 0) AS SIGNED)"
    " FROM information_schema.INNODB_SYS_TABLESPACES"
    " WHERE NAME LIKE concat(database(), '/%')";

/* Changes that cannot be forgotten yet. */
static const char SQL_HISTORY[] =
    "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS"
    " WHERE VARIABLE_NAME = 'INNODB_HISTORY_LIST_LENGTH'";

static int64_t ask(struct setup *self, size_t side, const char *sql)
{
    return bench_database_ask(self->grounds[side], NAMES[side], sql);
}

static int64_t size_of_file(size_t side, const char *suffix)
{
    struct stat found;
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "%s/%s.db%s", temp_dir_on_disk(), NAMES[side],
                   suffix);
    return stat(path, &found) == 0 ? (int64_t)found.st_size : 0;
}

static int64_t size_on_disk(struct setup *self, size_t side)
{
    switch (self->engine) {
    case WEIR_POSTGRESQL:
        return ask(self, side, SQL_SIZE_ON_POSTGRESQL);
    case WEIR_MARIADB:
        return ask(self, side, SQL_SIZE_ON_MARIADB);
    case WEIR_SQLITE:
        break;
    }
    return size_of_file(side, "") + size_of_file(side, "-wal");
}

static void print_both(const char *name, enum bench_unit unit, int64_t held, int64_t free)
{
    struct bench_pair pair;

    memset(&pair, 0, sizeof pair);
    bench_pair_add(&pair, (double)held, (double)free);
    bench_row_pair(name, unit, &pair, BENCH_UNJUDGED);
}

static void print_remains(struct setup *self)
{
    if (self->engine == WEIR_POSTGRESQL) {
        bench_row_value("dead rows in log, acks and cuts", BENCH_COUNT,
                        (double)ask(self, HELD, SQL_DEAD), BENCH_AT_MOST(0));
        bench_row_value("the same, by the statistics", BENCH_COUNT,
                        (double)ask(self, HELD, SQL_DEAD_BY_STATISTICS),
                        BENCH_AT_MOST(0));
        bench_row_value("dead rows in all other tables", BENCH_COUNT,
                        (double)ask(self, HELD, SQL_DEAD_ELSEWHERE), BENCH_UNJUDGED);
    }
    if (self->engine == WEIR_MARIADB)
        print_both("history of the server", BENCH_COUNT, ask(self, HELD, SQL_HISTORY),
                   ask(self, FREE, SQL_HISTORY));
    print_both("the database on disk", BENCH_BYTES, size_on_disk(self, HELD),
               size_on_disk(self, FREE));
}

/* ---- the report -------------------------------------------------------------------- */

/* The rounds in which the snapshot was oldest. */
static struct bench_pair last_third(const struct bench_pair *all)
{
    size_t count = all->ratios.count;
    struct bench_pair last;

    memset(&last, 0, sizeof last);
    for (size_t i = count - (count + 2) / 3; i < count; i++)
        bench_pair_add(&last, all->ours.values[i], all->baseline.values[i]);
    return last;
}

static void print_setup(struct setup *self, const struct bench_pair *pair, int64_t age_ns)
{
    struct bench_pair last = last_third(pair);
    char text[128];

    bench_frame_section(self->engine, "an old snapshot is held, batch 100", "without it");
    bench_row_pair("end to end, in order", BENCH_PER_SECOND, pair,
                   self->engine == WEIR_POSTGRESQL ? BENCH_AT_LEAST(0.9)
                                                   : BENCH_UNJUDGED);
    bench_row_pair("the same, in the last third", BENCH_PER_SECOND, &last,
                   BENCH_UNJUDGED);
    print_remains(self);
    (void)snprintf(text, sizeof text,
                   "%.0f s of load and %.1f million messages under it, %.0f s and %.1f "
                   "million without; it is %.0f s old",
                   (double)self->load_ns[HELD] / 1e9, (double)self->messages[HELD] / 1e6,
                   (double)self->load_ns[FREE] / 1e9, (double)self->messages[FREE] / 1e6,
                   (double)age_ns / 1e9);
    bench_note(text);
}

static void open_sides(struct setup *self)
{
    for (size_t side = 0; side < SIDES; side++) {
        struct bench_outbox_load_options options = {.deliver = true};

        self->grounds[side] = bench_database_open(self->engine);
        options.url = bench_database_add(self->grounds[side], NAMES[side], false);
        bench_outbox_load_open(&lines[side], &options);
        (void)load(self, side, 0); /* a lap, while plans are made */
        self->load_ns[side] = 0;
        self->messages[side] = 0;
    }
}

static void close_sides(struct setup *self)
{
    for (size_t side = 0; side < SIDES; side++) {
        bench_outbox_load_check_order(&lines[side]);
        bench_outbox_load_close(&lines[side]);
        bench_database_close(self->grounds[side]);
    }
}

static void bench_engine(enum weir_engine engine, const struct plan *plan)
{
    struct setup setup = {.plan = plan, .engine = engine};
    struct bench_pair pair;
    int64_t held_ns;
    void *snapshot;

    memset(&pair, 0, sizeof pair);
    open_sides(&setup);
    held_ns = bench_now_ns();
    snapshot = bench_snapshot_hold(setup.grounds[HELD], NAMES[HELD]);
    for (size_t round = 0; round < plan->rounds; round++)
        run_round(&setup, round, &pair);
    print_setup(&setup, &pair, bench_now_ns() - held_ns);
    bench_snapshot_drop(setup.grounds[HELD], snapshot);
    close_sides(&setup);
}

static const struct plan *choose_plan(const struct bench_choice *choice,
                                      enum weir_engine engine)
{
    if (choice->quick)
        return &QUICK;
    return engine == WEIR_POSTGRESQL || bench_choice_is_long(choice) ? &TWO_MINUTES
                                                                     : &SHORTER;
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_POSTGRESQL, WEIR_MARIADB,
                                               WEIR_SQLITE};
    struct bench_choice choice = {.section_count = 0};
    struct bench_frame frame;

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    bench_frame_begin(&frame, choose_plan(&choice, WEIR_POSTGRESQL)->rounds,
                      choice.quick);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            bench_engine(ENGINES[i], choose_plan(&choice, ENGINES[i]));
    }
    bench_frame_end(&frame);
    return 0;
}
