/*
 * Statistics in the pipeline: what each kind of worker counts, and what the reporter
 * writes.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kit/outbox/outbox_fixture.h"
#include "weir/stats.h"

enum { MESSAGES = 6, LINE_SIZE = 256 };

/* ---- counts ------------------------------------------------------------------------ */

static struct weir_stats_row row_of(struct weir_outbox *outbox, const char *category)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count =
        weir_stats_read(weir_outbox_stats(outbox), rows, WEIR_STATS_CATEGORIES_MAX);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].category, category) == 0)
            return rows[i];
    }
    return (struct weir_stats_row){.category = ""};
}

static struct weir_outbox *one_by_one(struct fixture *fixture, struct recorder *recorder)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve_one_by_one(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

OUTBOX_TEST(statistics, have_a_category_for_each_kind_of_worker)
{
    static const struct {
        const char *category;
        size_t workers;
    } kinds[] = {
        {"lane", 4}, {"dispatcher", 2}, {"acker", 1}, {"lease_keeper", 1}, {"sweep", 1},
    };
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct weir_stats_row row = row_of(outbox, kinds[i].category);

        check_str(row.category, kinds[i].category);
        check_int(row.workers, kinds[i].workers);
    }
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(statistics, of_lanes_count_each_message_that_is_dispatched)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    recorder_answer(recorder, 2, 2, ANSWER_RETRY);
    recorder_answer(recorder, 4, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == MESSAGES);
    wait_until(row_of(outbox, "lane").messages == MESSAGES + 2);
    check_int(row_of(outbox, "lane").failures, 0);
    check_int(recorder_count(recorder), MESSAGES + 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(statistics, of_the_acker_count_positions_that_are_moved)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    recorder_answer(recorder, 2, 2, ANSWER_RETRY);
    recorder_answer(recorder, 4, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);

    wait_until(row_of(outbox, "acker").messages == MESSAGES + 2);
    check_int(outbox_fixture_seq(fixture, outbox, "orders", 0), MESSAGES);
    check_int(row_of(outbox, "acker").failures, 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(statistics, of_the_dispatcher_count_rows_that_are_read)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == MESSAGES);

    wait_until(row_of(outbox, "dispatcher").messages == MESSAGES);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(statistics, of_the_keeper_count_no_messages)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == MESSAGES);
    wait_until(row_of(outbox, "lease_keeper").executions > 0);

    check_int(row_of(outbox, "lease_keeper").messages, 0);
    check_int(row_of(outbox, "lease_keeper").failures, 0);
    outbox_fixture_close(outbox);
}

/* On PostgreSQL segments are emptied when later ones are being filled. */
OUTBOX_TEST(statistics, of_the_sweep_count_rows_that_are_removed)
{
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, 4);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 200);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 200);

    wait_until(row_of(outbox, "sweep").messages > 0);
    if (fixture->engine == WEIR_SQLITE)
        wait_until(row_of(outbox, "sweep").messages == 200);
    check_in_range(row_of(outbox, "sweep").messages, 1, 200);
    outbox_fixture_close(outbox);
}

/* ---- reports ----------------------------------------------------------------------- */

/* What the lines of the reporter say, summed up. */
struct paper {
    pthread_mutex_t mutex; /* guards all that follows */
    size_t reports;
    size_t categories;
    uint64_t messages[2];   /* lane, acker */
    char leased[LINE_SIZE]; /* the last line of that category */
};

static void add_category(struct paper *self, const char *line)
{
    static const char *const names[] = {"category=lane ", "category=acker "};
    const char *messages = strstr(line, "msgs=");

    self->categories++;
    for (int i = 0; i < 2; i++) {
        if (strstr(line, names[i]) != NULL && messages != NULL)
            self->messages[i] += strtoull(messages + strlen("msgs="), NULL, 10);
    }
    if (strstr(line, names[0]) != NULL)
        strncpy(self->leased, line, LINE_SIZE - 1);
}

static void write_line(void *state, enum weir_log_level level, const char *line)
{
    struct paper *self = state;

    (void)level;
    pthread_mutex_lock(&self->mutex);
    self->reports += strncmp(line, "stats.report period=", 20) == 0;
    if (strncmp(line, "stats.category ", 15) == 0)
        add_category(self, line);
    pthread_mutex_unlock(&self->mutex);
}

static struct paper paper_read(struct paper *self)
{
    struct paper copy;

    pthread_mutex_lock(&self->mutex);
    copy = *self;
    pthread_mutex_unlock(&self->mutex);
    return copy;
}

/* An outbox that writes its reports there, on a database handle of its own. */
struct env {
    struct paper paper;
    struct weir_db *db;
    struct weir_outbox *outbox;
};

static void open_env(struct fixture *fixture, struct env *self, int64_t interval_ns)
{
    struct weir_db_options database = fixture_options(fixture);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());

    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->paper.mutex, NULL);
    database.log = (struct weir_log){write_line, &self->paper, WEIR_LOG_INFO};
    self->db = fixture_open(fixture, &database);
    options.db = self->db;
    options.stats_interval_ns = interval_ns;
    self->outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, self->outbox, "orders", 1);
    outbox_fixture_short_lease(&handler); /* the lease keeper has to do often */
    outbox_fixture_add(fixture, self->outbox, &handler);
    outbox_fixture_start(fixture, self->outbox);
}

static void close_env(struct env *self)
{
    outbox_fixture_close(self->outbox);
    weir_db_destroy(self->db);
    pthread_mutex_destroy(&self->paper.mutex);
}

OUTBOX_TEST(reports, are_written_while_messages_are_delivered)
{
    struct env env;

    open_env(fixture, &env, WEIR_MILLISECONDS(10));
    outbox_fixture_send(fixture, env.outbox, "orders", 0, MESSAGES);

    wait_until(paper_read(&env.paper).messages[0] == MESSAGES);
    check(paper_read(&env.paper).reports > 0);
    check(strstr(env.paper.leased, "workers=4 execs=") != NULL);
    check(strstr(env.paper.leased, "fails=0 exec=\"") != NULL);
    close_env(&env);
}

/* The readers look and the lease keeper beats, for nobody. */
OUTBOX_TEST(reports, are_not_written_while_there_is_nothing_to_do)
{
    struct env env;

    open_env(fixture, &env, WEIR_MILLISECONDS(1));

    wait_until(row_of(env.outbox, "lease_keeper").noops >= 5);
    wait_until(row_of(env.outbox, "dispatcher").noops >= 2);
    outbox_fixture_stop(env.outbox);

    check_int(env.paper.reports, 0);
    check_int(env.paper.categories, 0);
    close_env(&env);
}

OUTBOX_TEST(reports, end_with_one_at_the_stop)
{
    struct env env;

    open_env(fixture, &env, WEIR_SECONDS(3600));
    outbox_fixture_send(fixture, env.outbox, "orders", 0, MESSAGES);
    wait_until(row_of(env.outbox, "lane").messages == MESSAGES);
    wait_until(row_of(env.outbox, "acker").messages > 0);
    check_int(paper_read(&env.paper).reports, 0);

    outbox_fixture_stop(env.outbox);

    check_int(env.paper.reports, 1);
    check_int(env.paper.messages[0], MESSAGES);
    check(env.paper.messages[1] > 0);
    close_env(&env);
}

OUTBOX_TEST(reports, are_not_written_when_switched_off)
{
    struct env env;

    open_env(fixture, &env, 0);
    outbox_fixture_send(fixture, env.outbox, "orders", 0, MESSAGES);
    wait_until(outbox_fixture_seq(fixture, env.outbox, "orders", 0) == MESSAGES);

    outbox_fixture_stop(env.outbox);

    check_int(env.paper.reports, 0);
    close_env(&env);
}
