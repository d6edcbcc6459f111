/*
 * bench_cli.c - what the program `weir` costs, against the library in this process.
 *
 *   bench_cli [--quick] [ENGINE...] [SECTION...]
 *
 * Sections: rates, idle, start. In each round of a rate the library and the program do
 * the same work one right after the other; the median of the rounds' ratios is judged.
 * docs/internals/bench.md explains how to read it; a target that is missed is printed
 * and does not change the exit code. A message that is lost does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/temp_dir.h"
#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/must.h"
#include "lib/outbox_load.h"
#include "lib/proc.h"
#include "lib/program.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { BATCH = 1000, QUEUES = 10, PATH_SIZE = 512, WORDS_SIZE = 2048 };

struct plan {
    size_t rounds;
    uint64_t messages; /* of a round */
    uint64_t million;  /* lines, once */
    int64_t idle_ns;   /* how long an idle relay is looked at */
    size_t starts;
};

static const struct plan FULL = {
    .rounds = 3,
    .messages = 100000,
    .million = 1000000,
    .idle_ns = WEIR_SECONDS(20),
    .starts = 11,
};

static const struct plan LONG = {
    .rounds = 9,
    .messages = 200000,
    .million = 1000000,
    .idle_ns = WEIR_SECONDS(120),
    .starts = 41,
};

static const struct plan QUICK = {
    .rounds = 1,
    .messages = 10000,
    .million = 20000,
    .idle_ns = WEIR_SECONDS(3),
    .starts = 3,
};

/* One engine. */
struct setup {
    const struct plan *plan;
    struct bench_database *database;
    enum weir_engine engine;
};

static struct bench_outbox_load line;  /* the library: delivers */
static struct bench_outbox_load quiet; /* the library: only enqueues */

static void begin_section(const struct setup *self, const char *title,
                          const char *baseline)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%s, profile %s: %s",
                   weir_engine_name(self->engine), BENCH_PROFILE_NAME, title);
    bench_section(text, "program", baseline);
}

/* A database with tables and queues called q0, q1, ... */
static const char *prepare(struct setup *self, const char *name, size_t queues,
                           bool counted)
{
    const char *url = bench_database_add(self->database, name, counted);
    char words[64];

    (void)bench_program_run(url, "migrate");
    for (size_t i = 0; i < queues; i++) {
        (void)snprintf(words, sizeof words, "queue add q%zu --partitions %d", i,
                       BENCH_PARTITIONS);
        (void)bench_program_run(url, words);
    }
    return url;
}

/* ---- files ------------------------------------------------------------------------- */

static const char *path_of(const char *name, char *path)
{
    (void)snprintf(path, PATH_SIZE, "%s/%s", temp_dir_on_disk(), name);
    return path;
}

static uint64_t size_of(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

/* As long as the library's payloads. */
static void write_lines(const char *path, uint64_t count)
{
    FILE *file = fopen(path, "w");

    bench_must(file != NULL, "cannot write lines");
    for (uint64_t i = 0; i < count; i++)
        (void)fprintf(file, "{\"number\": %010llu, \"text\": \"%0*d\"}\n",
                      (unsigned long long)i, BENCH_PAYLOAD_SIZE - 34, 0);
    bench_must(fclose(file) == 0, "cannot write lines");
}

static uint64_t count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    uint64_t count = 0;
    int byte;

    bench_must(file != NULL, "cannot read lines");
    while ((byte = getc_unlocked(file)) != EOF)
        count += byte == '\n';
    (void)fclose(file);
    return count;
}

/* ---- rates ------------------------------------------------------------------------- */

struct rates {
    struct bench_pair enqueue;
    struct bench_pair through; /* draining, against the library's end to end */
};

static double lines_per_second(const char *url, uint64_t count)
{
    char path[PATH_SIZE];
    char words[WORDS_SIZE];

    write_lines(path_of("lines", path), count);
    (void)snprintf(words, sizeof words, "enqueue q0 --lines --batch %d <%s", BATCH, path);
    return bench_per_second(count, bench_program_run(url, words));
}

static double drained_per_second(const char *url, uint64_t count)
{
    char path[PATH_SIZE];
    char words[WORDS_SIZE];
    int64_t taken_ns;

    (void)snprintf(words, sizeof words, "relay --queue q0 --to file:%s --drain",
                   path_of("drained", path));
    taken_ns = bench_program_run(url, words);
    bench_must(count_lines(path) == count, "the relay did not deliver each message once");
    (void)unlink(path);
    return bench_per_second(count, taken_ns);
}

static double library_enqueues(uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_send(&quiet, count, BATCH);
    return bench_per_second(count, bench_now_ns() - begun_ns);
}

static double library_through(uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_send(&line, count, BATCH);
    bench_outbox_load_await(&line, count);
    return bench_per_second(count, bench_now_ns() - begun_ns);
}

static void run_round(const char *url, uint64_t count, struct rates *rates)
{
    double lines = lines_per_second(url, count);
    double through;

    bench_pair_add(&rates->enqueue, lines, library_enqueues(count));
    through = library_through(count);
    bench_pair_add(&rates->through, drained_per_second(url, count), through);
}

static void print_rate(uint64_t count, const char *what, const struct bench_pair *pair,
                       struct bench_target target)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%llu %s", (unsigned long long)count, what);
    bench_row_pair(name, BENCH_PER_SECOND, pair, target);
}

static void bench_million(const char *url, uint64_t count)
{
    struct bench_pair pair;
    double ours;

    memset(&pair, 0, sizeof pair);
    ours = lines_per_second(url, count);
    bench_pair_add(&pair, ours, library_enqueues(count));
    print_rate(count, "once: enqueue --lines", &pair, BENCH_AT_LEAST(0.5));
}

static void bench_rates(struct setup *self)
{
    uint64_t count = self->plan->messages;
    const char *url = prepare(self, "program", 1, false);
    struct rates warm_up;
    struct rates rates;

    memset(&warm_up, 0, sizeof warm_up);
    memset(&rates, 0, sizeof rates);
    bench_outbox_load_open(
        &line, &(struct bench_outbox_load_options){
                   .url = bench_database_add(self->database, "library", false),
                   .deliver = true});
    bench_outbox_load_open(
        &quiet, &(struct bench_outbox_load_options){
                    .url = bench_database_add(self->database, "quiet", false)});
    begin_section(self, "rates, batch 1000", "the library");
    run_round(url, BATCH * 5, &warm_up);
    for (size_t i = 0; i < self->plan->rounds; i++)
        run_round(url, count, &rates);
    print_rate(count, "messages: enqueue --lines", &rates.enqueue, BENCH_AT_LEAST(0.5));
    bench_million(url, self->plan->million);
    print_rate(count, "messages: relay --drain, of end to end", &rates.through,
               BENCH_AT_LEAST(0.4));
    bench_outbox_load_check_order(&line);
    bench_outbox_load_close(&line);
    bench_outbox_load_close(&quiet);
}

/* ---- a relay that runs ------------------------------------------------------------- */

struct relay {
    pid_t pid;
    int64_t begun_ns;
    char path[PATH_SIZE]; /* of its file */
};

static void start_relay(struct relay *self, const char *url, size_t queues)
{
    char words[WORDS_SIZE] = "relay";
    size_t size = strlen(words);

    (void)unlink(path_of("relayed", self->path));
    for (size_t i = 0; i < queues; i++)
        size += (size_t)snprintf(words + size, sizeof words - size, " --queue q%zu", i);
    (void)snprintf(words + size, sizeof words - size, " --to file:%s", self->path);
    self->begun_ns = bench_now_ns();
    self->pid = bench_program_start(url, words);
}

/* Returns how long it took since the start. */
static int64_t await_first_line(const struct relay *self)
{
    int64_t taken_ns = 0;

    while (size_of(self->path) == 0) {
        bench_sleep_ns(WEIR_MICROSECONDS(500));
        taken_ns = bench_now_ns() - self->begun_ns;
        bench_must(taken_ns < WEIR_SECONDS(60), "the relay does not deliver");
    }
    return taken_ns;
}

/* ---- idle -------------------------------------------------------------------------- */

static void bench_idle(struct setup *self)
{
    const char *url = prepare(self, "idle", QUEUES, true);
    double seconds = (double)self->plan->idle_ns / 1e9;
    struct bench_statements before;
    struct bench_statements after;
    struct relay relay;
    int64_t used_ns;
    size_t size;

    (void)bench_program_run(url, "enqueue q0 first");
    start_relay(&relay, url, QUEUES);
    (void)await_first_line(&relay);
    bench_sleep_ns(WEIR_SECONDS(3)); /* the first sweep, and looks after a delivery */
    before = bench_database_statements(self->database);
    used_ns = bench_program_processor_ns(relay.pid);
    bench_sleep_ns(self->plan->idle_ns);
    used_ns = bench_program_processor_ns(relay.pid) - used_ns;
    after = bench_database_statements(self->database);
    size = bench_program_resident_size(relay.pid);
    bench_program_stop(relay.pid);
    begin_section(self, "an idle relay, 10 queues of 64 partitions", "");
    bench_row_value("resident memory", BENCH_BYTES, (double)size, BENCH_BELOW(15e6));
    bench_row_value("of a core", BENCH_PERCENT, (double)used_ns / seconds / 1e7,
                    BENCH_BELOW(0.3));
    if (self->engine == WEIR_POSTGRESQL)
        bench_row_value("statements a second", BENCH_DECIMAL,
                        (double)(after.statements - before.statements) / seconds,
                        BENCH_BELOW(2));
}

/* ---- start ------------------------------------------------------------------------- */

/* Messages wait in one queue, as many relays start one after the other. */
static void time_starts(struct setup *self, const char *url, size_t queues,
                        struct bench_sample *out)
{
    for (size_t i = 0; i < self->plan->starts; i++) {
        struct relay relay;

        (void)bench_program_run(url, "enqueue q0 first");
        start_relay(&relay, url, queues);
        bench_sample_add(out, (double)await_first_line(&relay));
        bench_program_stop(relay.pid);
    }
}

static void time_connecting(struct setup *self, const char *url, struct bench_sample *out)
{
    for (size_t i = 0; i < self->plan->starts; i++)
        bench_sample_add(out, (double)bench_program_run(url, "queue list --quiet"));
}

static void bench_start(struct setup *self)
{
    const char *url = prepare(self, "start", QUEUES, false);
    struct bench_sample samples[3];

    memset(samples, 0, sizeof samples);
    time_connecting(self, url, &samples[0]);
    time_starts(self, url, 1, &samples[1]);
    time_starts(self, url, QUEUES, &samples[2]);
    begin_section(self, "from the start of the process", "");
    bench_row_sample("to its end, for the names of the queues", BENCH_NANOSECONDS,
                     &samples[0], BENCH_UNJUDGED);
    bench_row_sample("to a relay's first delivery", BENCH_NANOSECONDS, &samples[1],
                     BENCH_BELOW(100e6));
    bench_row_sample("the same with 10 queues", BENCH_NANOSECONDS, &samples[2],
                     BENCH_UNJUDGED);
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct setup *setup) = {
    bench_rates,
    bench_idle,
    bench_start,
};
static const char *const SECTION_NAMES[] = {"rates", "idle", "start"};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL};
enum { ENGINE_COUNT = sizeof ENGINES / sizeof ENGINES[0] };

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
    struct bench_choice choice = {.sections = SECTION_NAMES,
                                  .section_count = SECTION_COUNT};
    const struct plan *plan;
    int64_t begun_ns = bench_now_ns();

    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    plan = choose_plan(&choice);
    (void)printf("%zu cores, load %.2f, medians of %zu rounds and %zu starts%s; "
                 "%d partitions, %d byte payloads, durable commits\n",
                 bench_core_count(), bench_load(), plan->rounds, plan->starts,
                 choice.quick ? " (quick: too few to mean much)" : "", BENCH_PARTITIONS,
                 BENCH_PAYLOAD_SIZE);
    (void)fflush(stdout);
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            bench_engine(&choice, plan, ENGINES[i]);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
