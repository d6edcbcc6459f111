/*
 * bench_outbox.c - what the outbox costs, against inserting the same columns by hand.
 *
 *   bench_outbox [--quick] [ENGINE...] [SECTION...]
 *
 * Sections: memory, rates, latency, statements, single, snapshot. In each round of a
 * rate the baseline and the outbox send the same messages one right after the other; the
 * median of the rounds' ratios is judged. docs/internals/bench.md explains how to read
 * it; a target that is missed is printed and does not change the exit code. A message
 * out of order does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/frame.h"
#include "lib/meter.h"
#include "lib/must.h"
#include "lib/outbox_load.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { LATENCIES_MAX = 8000, SENDS_MAX = 4000 };

struct plan {
    size_t rounds;
    int64_t bare_ns; /* how long the baseline of a round should take */
    uint64_t messages_max;
    uint64_t backlog;   /* for the memory */
    size_t latency_s;   /* at each rate */
    uint64_t statement; /* messages while statements are counted */
};

static const struct plan FULL = {
    .rounds = 5,
    .bare_ns = WEIR_MILLISECONDS(400),
    .messages_max = 60000,
    .backlog = 200000,
    .latency_s = 6,
    .statement = 50000,
};

static const struct plan QUICK = {
    .rounds = 3,
    .bare_ns = WEIR_MILLISECONDS(200),
    .messages_max = 10000,
    .backlog = 50000,
    .latency_s = 2,
    .statement = 50000,
};

/* One engine. */
struct setup {
    const struct plan *plan;
    struct bench_database *database;
    const struct bench_bare_log *bare;
};

static struct bench_outbox_load line; /* delivers */
static struct bench_outbox_load
    second; /* of another process, as far as the first can tell */

static const char *open_line(struct setup *self, const char *name, bool counted)
{
    struct bench_outbox_load_options options = {
        .url = bench_database_add(self->database, name, counted), .deliver = true};

    bench_outbox_load_open(&line, &options);
    return options.url;
}

static void close_line(void)
{
    bench_outbox_load_check_order(&line);
    bench_outbox_load_close(&line);
}

/* ---- memory ------------------------------------------------------------------------ */

/* First of all, so that nothing that was freed before hides what is needed now. */
static void bench_memory(struct setup *self)
{
    uint64_t count = self->plan->backlog;
    struct bench_meter meter;
    size_t size;
    char name[64];

    (void)open_line(self, "memory", false);
    bench_meter_begin(&meter);
    bench_outbox_load_send_at_once(&line, count);
    bench_outbox_load_await(&line, count);
    size = bench_meter_end(&meter);
    close_line();
    bench_frame_section(self->bare->engine, "memory", "");
    (void)snprintf(name, sizeof name, "%llu messages at once: above idle",
                   (unsigned long long)count);
    bench_row_value(name, BENCH_BYTES, (double)size, BENCH_BELOW(64e6));
}

/* ---- rates ------------------------------------------------------------------------- */

struct rates {
    struct bench_pair quiet; /* enqueueing while nobody delivers */
    struct bench_pair busy;  /* enqueueing while it is delivered */
    struct bench_pair through;
};

static int64_t time_bare(struct setup *self, void *bare, uint64_t count, size_t batch)
{
    static struct bench_writer writer;
    int64_t begun_ns = bench_now_ns();

    for (uint64_t done = 0; done < count; done += batch) {
        bench_writer_fill(&writer, batch);
        self->bare->insert(bare, writer.letters, batch);
    }
    return bench_now_ns() - begun_ns;
}

/* So many that the baseline takes as long as planned; whole batches. */
static uint64_t choose_count(struct setup *self, void *bare, size_t batch)
{
    uint64_t sends = 16;
    int64_t taken_ns = time_bare(self, bare, sends * batch, batch);

    sends = (uint64_t)(self->plan->bare_ns / (taken_ns / (int64_t)sends + 1)) + 1;
    if (sends * batch > self->plan->messages_max)
        sends = self->plan->messages_max / batch;
    if (sends > SENDS_MAX)
        sends = SENDS_MAX;
    self->bare->clear(bare);
    return sends * batch;
}

/* Send and wait; *sent_ns is when the last commit had returned. */
static int64_t time_through(uint64_t count, size_t batch, int64_t *sent_ns)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_send(&line, count, batch);
    *sent_ns = bench_now_ns() - begun_ns;
    bench_outbox_load_await(&line, count);
    return bench_now_ns() - begun_ns;
}

static void run_round(struct setup *self, void *bare, uint64_t count, size_t batch,
                      struct rates *rates)
{
    double baseline = bench_per_second(count, time_bare(self, bare, count, batch));
    int64_t quiet_ns = bench_now_ns();
    int64_t busy_ns = 0;
    int64_t through_ns;

    bench_outbox_load_send(&second, count, batch);
    quiet_ns = bench_now_ns() - quiet_ns;
    through_ns = time_through(count, batch, &busy_ns);
    bench_pair_add(&rates->quiet, bench_per_second(count, quiet_ns), baseline);
    bench_pair_add(&rates->busy, bench_per_second(count, busy_ns), baseline);
    bench_pair_add(&rates->through, bench_per_second(count, through_ns), baseline);
    self->bare->clear(bare);
}

static void bench_batch(struct setup *self, void *bare, size_t batch)
{
    uint64_t count = choose_count(self, bare, batch);
    struct bench_target target =
        BENCH_AT_LEAST(self->bare->engine == WEIR_MARIADB ? 0.25 : 0.4);
    struct rates rates;
    struct rates warm_up;
    char name[64];

    memset(&rates, 0, sizeof rates);
    memset(&warm_up, 0, sizeof warm_up);
    run_round(self, bare, batch * 16, batch, &warm_up);
    for (size_t i = 0; i < self->plan->rounds; i++)
        run_round(self, bare, count, batch, &rates);
    (void)snprintf(name, sizeof name, "batch %zu: enqueue, nobody delivers", batch);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.quiet, BENCH_UNJUDGED);
    (void)snprintf(name, sizeof name, "batch %zu: enqueue while it is delivered", batch);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.busy, BENCH_UNJUDGED);
    (void)snprintf(name, sizeof name, "batch %zu: end to end, in order", batch);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.through,
                   batch == 100 ? target : BENCH_UNJUDGED);
}

static void print_deadlocks(struct setup *self)
{
    if (self->bare->engine != WEIR_MARIADB)
        return;
    bench_row_value(
        "deadlocks so far", BENCH_COUNT,
        (double)bench_database_ask(self->database, "rates",
                                   "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM"
                                   " information_schema.GLOBAL_STATUS"
                                   " WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'"),
        BENCH_AT_MOST(0));
}

static void bench_rates(struct setup *self)
{
    static const size_t BATCHES[] = {1, 100, 1000};
    struct bench_outbox_load_options quiet = {
        .url = bench_database_add(self->database, "quiet", false)};
    void *bare = self->bare->open(bench_database_add(self->database, "bare", false));

    (void)open_line(self, "rates", false);
    bench_outbox_load_open(&second, &quiet);
    bench_frame_section(self->bare->engine, "rates", self->bare->name);
    for (size_t i = 0; i < sizeof BATCHES / sizeof BATCHES[0]; i++)
        bench_batch(self, bare, BATCHES[i]);
    print_deadlocks(self);
    bench_outbox_load_close(&second);
    close_line();
    self->bare->close(bare);
}

/* ---- latency ----------------------------------------------------------------------- */

/* The messages of both senders are of the same partitions: each counts on from the
 * other. */
static void share_counts(struct bench_writer *to, const struct bench_writer *from)
{
    memmove(to->sent, from->sent, sizeof to->sent);
    to->next = from->next;
}

struct latencies {
    int64_t entered_ns[LATENCIES_MAX]; /* of all, also those that do not count */
    int64_t commit_ns[LATENCIES_MAX];
    int64_t handler_ns[LATENCIES_MAX]; /* from the return of the commit */
};

/* Notifications, pace and plans have settled when it is over. */
enum { WARM_UP_S = 1 };

static const unsigned RATES[] = {50, 200, 1000};

/* Messages do not come at equal distances, which would be in step with any poll: each has
 * its place anywhere in its own interval. */
static int64_t due_ns(int64_t begun_ns, int64_t interval_ns, size_t n)
{
    return begun_ns + interval_ns * (int64_t)n +
           interval_ns * (int64_t)(n * 7919 % 1000) / 1000;
}

/* What is late is sent at once: the load does not depend on how fast it is served. */
static void send_at(struct bench_outbox_load *sender, int64_t due, int64_t *begun_ns,
                    int64_t *sent_ns)
{
    int64_t ahead_ns = due - bench_now_ns();

    if (ahead_ns > 0)
        bench_sleep_ns(ahead_ns);
    *begun_ns = bench_now_ns();
    bench_outbox_load_send(sender, 1, 1);
    *sent_ns = bench_now_ns();
}

/* One by one, `rate` a second; returns how many count. */
static size_t take_latencies(struct bench_outbox_load *sender, unsigned rate,
                             size_t seconds, struct latencies *out)
{
    size_t warm_up = (size_t)rate * WARM_UP_S;
    size_t count = (size_t)rate * seconds;
    int64_t start_ns;

    share_counts(&line.writer, &sender->writer);
    bench_outbox_load_time(&line, out->entered_ns, warm_up + count);
    start_ns = bench_now_ns();
    for (size_t n = 0; n < warm_up + count; n++) {
        size_t i = n < warm_up ? 0 : n - warm_up;
        int64_t begun_ns;
        int64_t sent_ns;

        send_at(sender, due_ns(start_ns, WEIR_SECONDS(1) / rate, n), &begun_ns, &sent_ns);
        out->commit_ns[i] = sent_ns - begun_ns;
        out->handler_ns[i] = sent_ns;
    }
    bench_outbox_load_await(&line, warm_up + count);
    bench_outbox_load_time(&line, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        int64_t taken_ns = out->entered_ns[warm_up + i] - out->handler_ns[i];

        /* It may have been called before the commit had returned here. */
        out->handler_ns[i] = taken_ns < 0 ? 0 : taken_ns;
    }
    share_counts(&line.writer, &sender->writer);
    bench_sort_ns(out->commit_ns, count);
    bench_sort_ns(out->handler_ns, count);
    return count;
}

static void print_latency(const char *sender, unsigned rate, const char *what,
                          const int64_t *all_ns, size_t count, unsigned percent,
                          struct bench_target target)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s, %u/s: %s, p%u", sender, rate, what, percent);
    bench_row_value(name, BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(all_ns, count, percent), target);
}

/* Only PostgreSQL has targets: its order needs a flush of its own behind the commit. */
static void bench_latency_of(struct setup *self, const char *name,
                             struct bench_outbox_load *sender)
{
    static struct latencies all;
    bool judged = self->bare->engine == WEIR_POSTGRESQL;

    for (size_t i = 0; i < sizeof RATES / sizeof RATES[0]; i++) {
        double p50_ns = RATES[i] < 1000 ? 1.5e6 : 2.5e6;
        size_t count = take_latencies(sender, RATES[i], self->plan->latency_s, &all);

        print_latency(name, RATES[i], "commit", all.commit_ns, count, 50, BENCH_UNJUDGED);
        print_latency(name, RATES[i], "to handler", all.handler_ns, count, 50,
                      judged ? BENCH_AT_MOST(p50_ns) : BENCH_UNJUDGED);
        print_latency(name, RATES[i], "to handler", all.handler_ns, count, 99,
                      judged ? BENCH_AT_MOST(6e6) : BENCH_UNJUDGED);
    }
}

static void bench_latency(struct setup *self)
{
    struct bench_outbox_load_options options = {.url = open_line(self, "latency", false)};

    bench_outbox_load_open(&second, &options);
    bench_frame_section(self->bare->engine, "latency, one by one", "");
    bench_latency_of(self, "same", &line);
    share_counts(&second.writer, &line.writer);
    bench_latency_of(self, "other", &second);
    bench_outbox_load_close(&second);
    close_line();
}

/* ---- statements -------------------------------------------------------------------- */

static void bench_statements(struct setup *self)
{
    uint64_t count = self->plan->statement;
    double thousands = (double)count / 1000;
    struct bench_statements before;
    struct bench_statements after;
    int64_t sent_ns;

    (void)open_line(self, "statements", true);
    before = bench_database_statements(self->database);
    (void)time_through(count, 100, &sent_ns);
    bench_sleep_ns(WEIR_SECONDS(2)); /* the last acks, and the sweep */
    after = bench_database_statements(self->database);
    close_line();
    bench_frame_section(self->bare->engine, "statements per 1,000 messages, batch 100",
                        "");
    bench_row_value("all", BENCH_COUNT,
                    (double)(after.statements - before.statements) / thousands,
                    BENCH_BELOW(100));
    if (self->bare->engine == WEIR_SQLITE)
        bench_row_value("with each row of a loop counted", BENCH_COUNT,
                        (double)(after.runs - before.runs) / thousands, BENCH_UNJUDGED);
}

/* ---- one message per transaction --------------------------------------------------- */

/* There is one writer at a time: every other transaction that writes is one that the
 * producer may have to wait for. `pause_ns` lies between two messages. */
static void print_transactions(struct setup *self, const char *name, uint64_t count,
                               int64_t pause_ns)
{
    uint32_t before = bench_database_write_transactions(self->database, "single");
    uint32_t after;

    for (uint64_t i = 0; i < count; i++) {
        bench_outbox_load_send(&line, 1, 1);
        if (pause_ns > 0)
            bench_sleep_ns(pause_ns);
    }
    bench_outbox_load_await(&line, count);
    bench_outbox_load_settle(&line);
    after = bench_database_write_transactions(self->database, "single");
    bench_row_value(name, BENCH_DECIMAL, (double)(after - before) / (double)count,
                    BENCH_AT_MOST(1.1));
}

static void bench_single(struct setup *self)
{
    uint64_t count = self->plan->statement / 25;

    if (self->bare->engine != WEIR_SQLITE)
        return;
    (void)open_line(self, "single", false);
    bench_frame_section(self->bare->engine, "write transactions per message, one by one",
                        "");
    print_transactions(self, "one after the other", count, 0);
    print_transactions(self, "1 ms between them", count, WEIR_MILLISECONDS(1));
    close_line();
}

/* ---- an old snapshot --------------------------------------------------------------- */

#define DEAD_ROWS                                                                        \
    "SELECT coalesce(sum((pgstattuple(oid)).dead_tuple_count), 0)::bigint FROM pg_class" \
    " WHERE relname ~ '^weir_(log|ack|cut)_[0-9]$'"

static void print_dead_rows(struct setup *self)
{
    if (self->bare->engine != WEIR_POSTGRESQL)
        return;
    bench_row_value("dead rows in log, acks and cuts", BENCH_COUNT,
                    (double)bench_database_ask(self->database, "snapshot", DEAD_ROWS),
                    BENCH_AT_MOST(0));
}

static double rate_through(uint64_t count)
{
    int64_t sent_ns;

    return bench_per_second(count, time_through(count, 100, &sent_ns));
}

/* The snapshot is as old as the round before. */
static void bench_snapshot(struct setup *self)
{
    uint64_t count = self->plan->messages_max / 2;
    struct bench_pair pair;

    memset(&pair, 0, sizeof pair);
    (void)open_line(self, "snapshot", false);
    (void)rate_through(count);
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double without = rate_through(count);
        void *snapshot = bench_snapshot_hold(self->database, "snapshot");

        (void)rate_through(count / 4);
        bench_pair_add(&pair, rate_through(count), without);
        bench_snapshot_drop(self->database, snapshot);
    }
    bench_frame_section(self->bare->engine, "an old snapshot is held open, batch 100",
                        "without it");
    bench_row_pair("end to end, in order", BENCH_PER_SECOND, &pair,
                   BENCH_AT_LEAST(self->bare->engine == WEIR_MARIADB ? 0.67 : 0.9));
    print_dead_rows(self);
    close_line();
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct setup *setup) = {
    bench_memory,     bench_rates,  bench_latency,
    bench_statements, bench_single, bench_snapshot,
};
static const char *const SECTION_NAMES[] = {
    "memory", "rates", "latency", "statements", "single", "snapshot",
};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static const struct bench_bare_log *const BARE[] = {
    &bench_bare_log_sqlite, &bench_bare_log_postgresql, &bench_bare_log_mariadb};
enum { ENGINE_COUNT = sizeof BARE / sizeof BARE[0] };

static void bench_engine(const struct bench_choice *choice, const struct plan *plan,
                         const struct bench_bare_log *bare)
{
    struct setup setup = {.plan = plan, .bare = bare};

    setup.database = bench_database_open(bare->engine);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (bench_choice_has_section(choice, i))
            SECTIONS[i](&setup);
    }
    bench_database_close(setup.database);
}

int main(int argc, char **argv)
{
    struct bench_choice choice = {.sections = SECTION_NAMES,
                                  .section_count = SECTION_COUNT};
    struct bench_frame frame;
    const struct plan *plan;

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    plan = choice.quick ? &QUICK : &FULL;
    bench_frame_begin(&frame, plan->rounds, choice.quick);
    for (size_t engine = 0; engine < ENGINE_COUNT; engine++) {
        if (bench_choice_has_engine(&choice, BARE[engine]->engine))
            bench_engine(&choice, plan, BARE[engine]);
    }
    bench_frame_end(&frame);
    return 0;
}
