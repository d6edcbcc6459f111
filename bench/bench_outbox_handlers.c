/*
 * bench_outbox_handlers.c - what transactional handlers and dead letters cost.
 *
 *   bench_outbox_handlers [--quick] [ENGINE...] [SECTION...]
 *
 * Sections: transactional, dead_letters. Messages are gathered while the queue is
 * paused; then it is measured how long it takes until all of them are delivered and
 * acknowledged. Both sides of a ratio work on as many messages of the same kind, one
 * side right after the other. docs/internals/bench.md explains how to read it; a target
 * that is missed is printed and does not change the exit code. A message out of order
 * does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weir/dead_letter.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/effect.h"
#include "lib/frame.h"
#include "lib/must.h"
#include "lib/outbox_load.h"
#include "lib/sample.h"
#include "lib/table.h"

enum {
    SEND_BATCH = 100,
    CALL_MAX = WEIR_TRANSACTIONAL_BATCH_MAX,
    /* Every partition has whole calls. */
    TURN = BENCH_PARTITIONS * CALL_MAX
};

struct plan {
    size_t rounds;
    int64_t bare_ns; /* how long the baseline of a round should take */
    uint64_t turns_max;
    uint64_t letters; /* dead letters of a round */
};

static const struct plan FULL = {
    .rounds = 5,
    .bare_ns = WEIR_MILLISECONDS(1500),
    .turns_max = 12,
    .letters = 10000,
};

static const struct plan QUICK = {
    .rounds = 3,
    .bare_ns = WEIR_MILLISECONDS(300),
    .turns_max = 1,
    .letters = 2000,
};

/* One engine. */
struct setup {
    const struct plan *plan;
    struct bench_database *database;
    const struct bench_effect *effect;
};

static struct bench_outbox_load line;

/* From when the queue is resumed until everything is acknowledged. */
static int64_t time_delivery(uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_resume(&line);
    bench_outbox_load_await(&line, count);
    bench_outbox_load_settle(&line);
    return bench_now_ns() - begun_ns;
}

static void gather(uint64_t count)
{
    bench_outbox_load_pause(&line);
    bench_outbox_load_send(&line, count, SEND_BATCH);
}

/* ---- transactional ----------------------------------------------------------------- */

/* The handler's. One call at a time. */
struct env {
    const struct bench_effect *effect;
    uint64_t calls;
};

static enum weir_outcome book(struct weir_context *context, void *state,
                              struct weir_connection *connection,
                              struct weir_batch *batch, struct weir_reason *reason)
{
    struct env *self = state;
    void *effect = self->effect->open(weir_connection_native(connection));
    const struct weir_message *message;
    struct weir_error error;

    (void)context;
    (void)reason;
    self->calls++;
    while ((message = weir_batch_next(batch)) != NULL) {
        self->effect->insert(effect, &(struct bench_effect_row){
                                         .uid = message->uid,
                                         .key = message->key,
                                         .payload = message->payload,
                                         .payload_size = message->payload_size,
                                     });
        bench_must_ok(weir_batch_ack(batch, &error), &error, "acknowledge");
        bench_outbox_load_take(&line, message);
    }
    self->effect->close(effect);
    return WEIR_DONE;
}

/* The same by hand, on a connection with a database of its own. */
struct manual {
    const struct bench_effect *effect;
    struct weir_db *db;
    struct weir_connection *connection;
    void *prepared;
};

static struct weir_db *open_database(const char *url)
{
    struct weir_db_options options;
    struct weir_error error;
    struct weir_db *db;

    weir_db_options_init(&options);
    options.url = url;
    bench_must_ok(weir_db_create(&options, &db, &error), &error, "open the database");
    return db;
}

static struct weir_connection *create_tables(const struct bench_effect *effect,
                                             struct weir_db *db)
{
    struct weir_connection *connection;
    struct weir_error error;

    bench_must_ok(weir_db_acquire(db, &connection, &error), &error, "connect");
    effect->create(weir_connection_native(connection));
    return connection;
}

static void manual_open(struct manual *self, const struct setup *setup)
{
    self->effect = setup->effect;
    self->db = open_database(bench_database_add(setup->database, "by_hand", false));
    self->connection = create_tables(self->effect, self->db);
    self->prepared = self->effect->open(weir_connection_native(self->connection));
}

static void manual_close(struct manual *self)
{
    self->effect->close(self->prepared);
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
}

static int64_t time_by_hand(struct manual *self, uint64_t count)
{
    static struct bench_writer writer;
    struct bench_effect_row rows[CALL_MAX];
    int64_t begun_ns = bench_now_ns();
    int64_t taken_ns;

    for (uint64_t done = 0; done < count; done += CALL_MAX) {
        bench_writer_fill(&writer, CALL_MAX);
        for (size_t i = 0; i < CALL_MAX; i++)
            rows[i] = (struct bench_effect_row){
                .uid = writer.letters[i].uid,
                .key = writer.letters[i].key,
                .payload = writer.letters[i].payload,
                .payload_size = BENCH_PAYLOAD_SIZE,
            };
        self->effect->run(self->prepared, rows, CALL_MAX);
    }
    taken_ns = bench_now_ns() - begun_ns;
    self->effect->clear(self->prepared);
    return taken_ns;
}

/* So many that the baseline takes as long as planned. */
static uint64_t choose_count(const struct setup *self, struct manual *manual)
{
    uint64_t turns =
        (uint64_t)(self->plan->bare_ns / (time_by_hand(manual, TURN) + 1)) + 1;

    return TURN * (turns < self->plan->turns_max ? turns : self->plan->turns_max);
}

static void open_transactional(struct setup *self, struct env *env)
{
    struct bench_outbox_load_options options = {
        .url = bench_database_add(self->database, "transactional", false),
        .deliver = true,
        .on_batch_tx = book,
        .state = env,
        .handlers = 1,
    };
    struct weir_db *db = open_database(options.url);

    weir_db_release(db, create_tables(self->effect, db));
    weir_db_destroy(db);
    bench_outbox_load_open(&line, &options);
}

static void run_rounds(const struct setup *self, struct manual *manual, uint64_t count,
                       struct bench_pair *pair)
{
    for (size_t i = 0; i < self->plan->rounds; i++) {
        double baseline;

        gather(count);
        baseline = bench_per_second(count, time_by_hand(manual, count));
        bench_pair_add(pair, bench_per_second(count, time_delivery(count)), baseline);
    }
}

static void bench_transactional(struct setup *self)
{
    struct env env = {.effect = self->effect};
    struct bench_pair pair;
    struct manual manual;
    uint64_t count;
    char name[64];

    memset(&pair, 0, sizeof pair);
    manual_open(&manual, self);
    open_transactional(self, &env);
    count = choose_count(self, &manual);
    gather(TURN);
    (void)time_delivery(TURN); /* plans are made */
    env.calls = 0;
    run_rounds(self, &manual, count, &pair);
    bench_frame_section(self->effect->engine, "transactional, batch 100", "by hand");
    (void)snprintf(name, sizeof name, "%llu messages, one call at a time",
                   (unsigned long long)count);
    bench_row_pair(name, BENCH_PER_SECOND, &pair, BENCH_AT_LEAST(0.5));
    bench_row_value("messages per call (of 60 at most)", BENCH_DECIMAL,
                    (double)(count * self->plan->rounds) / (double)env.calls,
                    BENCH_UNJUDGED);
    bench_outbox_load_check_order(&line);
    bench_outbox_load_close(&line);
    manual_close(&manual);
}

/* ---- dead letters ------------------------------------------------------------------ */

struct letter_rates {
    struct bench_pair rejected; /* against done */
    struct bench_pair through;  /* the same, end to end */
    struct bench_pair requeued; /* against enqueued */
};

static double rate_delivery(uint64_t count, bool rejecting)
{
    gather(count);
    bench_outbox_load_reject(&line, rejecting);
    return bench_per_second(count, time_delivery(count));
}

/* From the first enqueue on, while it is delivered. */
static double rate_through(uint64_t count, bool rejecting)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_reject(&line, rejecting);
    bench_outbox_load_send(&line, count, SEND_BATCH);
    bench_outbox_load_await(&line, count);
    bench_outbox_load_settle(&line);
    return bench_per_second(count, bench_now_ns() - begun_ns);
}

/* In transactions as large as a step of requeueing. */
static double rate_enqueue(uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    bench_outbox_load_send(&line, count, WEIR_DEAD_LETTER_STEP);
    return bench_per_second(count, bench_now_ns() - begun_ns);
}

static double rate_requeue(uint64_t count)
{
    struct weir_dead_letter_scope scope;
    struct weir_dead_letter_progress progress;
    struct weir_error error;
    int64_t begun_ns = bench_now_ns();

    weir_dead_letter_scope_init(&scope);
    scope.queue = BENCH_QUEUE;
    bench_must_ok(
        weir_dead_letter_requeue_all(line.outbox, &scope, NULL, NULL, &progress, &error),
        &error, "requeue");
    bench_must(progress.done == (int64_t)count, "letters were not requeued");
    return bench_per_second(count, bench_now_ns() - begun_ns);
}

/* Pending ones, and those that were requeued. */
static void remove_letters(void)
{
    struct weir_dead_letter_scope scope;
    struct weir_error error;
    int64_t removed;

    weir_dead_letter_scope_init(&scope);
    bench_must_ok(
        weir_dead_letter_discard_all(line.outbox, NULL, &scope, &removed, &error), &error,
        "discard letters");
    bench_must_ok(weir_dead_letter_cleanup(line.outbox, NULL, &scope, &removed, &error),
                  &error, "remove letters");
}

/* At the end everything is delivered, and no letter is left. */
static void run_letters(uint64_t count, struct letter_rates *rates)
{
    double done = rate_through(count, false);
    double enqueued;

    bench_pair_add(&rates->through, rate_through(count, true), done);
    remove_letters();
    done = rate_delivery(count, false);
    bench_pair_add(&rates->rejected, rate_delivery(count, true), done);
    bench_outbox_load_pause(&line);
    bench_outbox_load_reject(&line, false);
    enqueued = rate_enqueue(count);
    bench_pair_add(&rates->requeued, rate_requeue(count), enqueued);
    (void)time_delivery(2 * count);
    remove_letters();
}

static void bench_dead_letters(struct setup *self)
{
    uint64_t count = self->plan->letters;
    struct bench_outbox_load_options options = {
        .url = bench_database_add(self->database, "dead_letters", false),
        .deliver = true};
    struct letter_rates warm_up;
    struct letter_rates rates;
    char name[64];

    memset(&warm_up, 0, sizeof warm_up);
    memset(&rates, 0, sizeof rates);
    bench_outbox_load_open(&line, &options);
    run_letters(count / 10, &warm_up);
    for (size_t i = 0; i < self->plan->rounds; i++)
        run_letters(count, &rates);
    bench_frame_section(self->effect->engine, "dead letters", "done");
    (void)snprintf(name, sizeof name, "%llu rejected, end to end, batch %d",
                   (unsigned long long)count, SEND_BATCH);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.through, BENCH_UNJUDGED);
    (void)snprintf(name, sizeof name, "%llu rejected that are in memory",
                   (unsigned long long)count);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.rejected, BENCH_UNJUDGED);
    bench_frame_section(self->effect->engine, "requeue all, nobody delivers", "enqueue");
    (void)snprintf(name, sizeof name, "%llu letters, in transactions of %d",
                   (unsigned long long)count, WEIR_DEAD_LETTER_STEP);
    bench_row_pair(name, BENCH_PER_SECOND, &rates.requeued, BENCH_UNJUDGED);
    bench_outbox_load_check_order(&line);
    bench_outbox_load_close(&line);
}

/* ---- the report -------------------------------------------------------------------- */

static void (*const SECTIONS[])(struct setup *setup) = {bench_transactional,
                                                        bench_dead_letters};
static const char *const SECTION_NAMES[] = {"transactional", "dead_letters"};
enum { SECTION_COUNT = sizeof SECTIONS / sizeof SECTIONS[0] };

static const struct bench_effect *const EFFECTS[] = {&bench_effect_sqlite,
                                                     &bench_effect_postgresql};
enum { ENGINE_COUNT = sizeof EFFECTS / sizeof EFFECTS[0] };

static void bench_engine(const struct bench_choice *choice, const struct plan *plan,
                         const struct bench_effect *effect)
{
    struct setup setup = {.plan = plan, .effect = effect};

    setup.database = bench_database_open(effect->engine);
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
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        if (bench_choice_has_engine(&choice, EFFECTS[i]->engine))
            bench_engine(&choice, plan, EFFECTS[i]);
    }
    bench_frame_end(&frame);
    return 0;
}
