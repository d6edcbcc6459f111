/* Tests of ward/reporter.c. */
#include "weir/reporter.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "weir/executor.h"
#include "weir/notifier.h"
#include "weir/poker.h"
#include "weir/sim.h"
#include "weir/stats.h"
#include "weir/ward.h"

enum { LINES_MAX = 32, LINE_SIZE = 512 };

/* Keeps the first lines and counts them all. */
struct lines {
    pthread_mutex_t mutex; /* guards all that follows */
    size_t count;
    enum weir_log_level level; /* of the last one */
    char text[LINES_MAX][LINE_SIZE];
    uint64_t execs; /* as the lines say, summed up */
};

static void write_line(void *state, enum weir_log_level level, const char *line)
{
    struct lines *self = state;
    const char *execs = strstr(line, "execs=");

    pthread_mutex_lock(&self->mutex);
    if (self->count < LINES_MAX)
        strncpy(self->text[self->count], line, LINE_SIZE - 1);
    self->count++;
    self->level = level;
    if (execs != NULL)
        self->execs += strtoull(execs + strlen("execs="), NULL, 10);
    pthread_mutex_unlock(&self->mutex);
}

static size_t lines_count(struct lines *self)
{
    size_t count;

    pthread_mutex_lock(&self->mutex);
    count = self->count;
    pthread_mutex_unlock(&self->mutex);
    return count;
}

static const struct weir_report_type MAIL = {"mail"};

static uint64_t mails(void *state, const struct weir_directive *directive)
{
    const uint64_t *count = weir_directive_report(directive, &MAIL);

    (void)state;
    return count != NULL ? *count : 0;
}

/* Ten mails in 1.5 ms. */
static enum weir_status send_mails(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    static const uint64_t count = 10;

    (void)state;
    (void)error;
    weir_sleep_through(context, WEIR_MICROSECONDS(1500));
    *out = weir_directive_with(weir_idle(), &MAIL, &count);
    return WEIR_OK;
}

static enum weir_status send_nothing(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)out;
    return weir_error_set(error, WEIR_FAILED, "no network");
}

static enum weir_status proceed(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    _Atomic uint64_t *calls = state;

    (void)context;
    (void)error;
    ++*calls;
    *out = weir_proceed();
    return WEIR_OK;
}

/* A ward with a registry in virtual time, and a reporter that reports each minute. */
struct post_env {
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct weir_stats *stats;
    struct weir_reporter *reporter;
    struct weir_poker *poker; /* wakes the worker */
    struct lines lines;
};

static void open_env_with(struct post_env *self, bool noops_are_nothing)
{
    struct weir_sim_options sim = {.seed = 1};
    struct weir_ward_options ward = {.name = "post"};
    struct weir_reporter_options options;

    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lines.mutex, NULL);
    check_status(weir_sim_create(&sim, &self->sim, NULL), WEIR_OK);
    check_status(weir_ward_create(weir_sim_executor(self->sim), &ward, &self->ward, NULL),
                 WEIR_OK);
    check_status(weir_stats_create(weir_sim_executor(self->sim), &self->stats), WEIR_OK);
    weir_reporter_options_init(&options);
    options.ward = self->ward;
    options.stats = self->stats;
    options.log = (struct weir_log){write_line, &self->lines, WEIR_LOG_INFO};
    options.noops_are_nothing = noops_are_nothing;
    check_status(weir_reporter_create(&options, &self->reporter, NULL), WEIR_OK);
}

static void open_env(struct post_env *self)
{
    open_env_with(self, false);
}

/* A worker of this category that acts every `interval_ns`. At most one per office. */
static void employ(struct post_env *self, const char *category, weir_action_fn action,
                   int64_t interval_ns)
{
    struct weir_worker_options options;
    struct weir_notifier *notifier;
    const struct weir_listener *listener;

    check_status(weir_stats_add(self->stats, category, mails, NULL, &listener, NULL),
                 WEIR_OK);
    check_status(weir_poker_create(self->ward, interval_ns, &self->poker, NULL), WEIR_OK);
    notifier = weir_poker_notifier(self->poker);
    weir_worker_options_init(&options);
    options.name = "mailer";
    options.action = action;
    options.notifiers = &notifier;
    options.notifier_count = 1;
    options.listeners = &listener;
    options.listener_count = 1;
    options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    check_status(weir_ward_spawn(self->ward, &options, NULL, NULL), WEIR_OK);
}

/* What is left to do after a test has destroyed some of it in an order of its own. */
static void close_env(struct post_env *self)
{
    weir_reporter_destroy(self->reporter);
    weir_poker_destroy(self->poker);
    weir_ward_destroy(self->ward);
    weir_stats_destroy(self->stats);
    weir_sim_destroy(self->sim);
    pthread_mutex_destroy(&self->lines.mutex);
}

/* --- what it says --- */

/* Executions at 25 s and 50 s; 24.9985 s lie between them. */
WEIR_TEST(reporter, logs_the_period_and_a_line_per_category)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    check_int(env.lines.count, 2);
    check_str(env.lines.text[0], "stats.report period=\"60.0 s\"");
    check_str(env.lines.text[1],
              "stats.category category=lane workers=1 execs=2 noop=0 fails=0 "
              "exec=\"3.0 ms\" avg=\"1.5 ms\" max=\"1.5 ms\" idle=\"24.9 s\" msgs=20 "
              "avg_batch=10");
    check(env.lines.level == WEIR_LOG_INFO);
    close_env(&env);
}

WEIR_TEST(reporter, formats_a_category_without_executions)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_nothing, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    check_str(env.lines.text[1],
              "stats.category category=lane workers=1 execs=0 noop=0 fails=2 "
              "exec=\"0 µs\" avg=\"0 µs\" max=\"0 µs\" idle=\"25.0 s\" msgs=0 "
              "avg_batch=0");
    close_env(&env);
}

WEIR_TEST(reporter, begins_anew_with_each_period)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(50));

    weir_sim_run_until(env.sim, WEIR_SECONDS(170)); /* executes at 50, 100 and 150 s */

    check_int(env.lines.count, 4);
    check(strstr(env.lines.text[1], "execs=1 ") != NULL);
    check(strstr(env.lines.text[1], "idle=\"0 µs\"") != NULL);
    check_str(env.lines.text[2], "stats.report period=\"60.0 s\"");
    check(strstr(env.lines.text[3], "execs=1 ") != NULL);
    check(strstr(env.lines.text[3], "idle=\"49.9 s\"") != NULL);
    close_env(&env);
}

WEIR_TEST(reporter, is_silent_about_a_period_in_which_nothing_happened)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(150));

    weir_sim_run_until(env.sim, WEIR_SECONDS(120));
    check_int(env.lines.count, 0);

    weir_sim_run_until(env.sim, WEIR_SECONDS(180));
    check_int(env.lines.count, 2);
    check_str(env.lines.text[0], "stats.report period=\"60.0 s\"");
    close_env(&env);
}

static enum weir_status look_into_the_box(struct weir_context *context, void *state,
                                          struct weir_directive *out,
                                          struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)error;
    *out = weir_idle();
    return WEIR_OK;
}

WEIR_TEST(reporter, reports_executions_without_messages)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", look_into_the_box, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    check_int(env.lines.count, 2);
    check(strstr(env.lines.text[1], "execs=2 noop=2 ") != NULL);
    close_env(&env);
}

WEIR_TEST(reporter, is_silent_about_executions_without_messages_if_asked_for)
{
    struct post_env env;

    open_env_with(&env, true);
    employ(&env, "lane", look_into_the_box, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    close_env(&env);
    check_int(env.lines.count, 0);
}

WEIR_TEST(reporter, tells_of_failures_also_when_noops_are_nothing)
{
    struct post_env env;

    open_env_with(&env, true);
    employ(&env, "lane", send_nothing, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    check_int(env.lines.count, 2);
    close_env(&env);
}

WEIR_TEST(reporter, is_silent_about_a_category_in_which_nothing_happened)
{
    struct post_env env;
    const struct weir_listener *listener;

    open_env(&env);
    check_status(weir_stats_add(env.stats, "sweep", NULL, NULL, &listener, NULL),
                 WEIR_OK);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(60));

    check_int(env.lines.count, 2);
    check(strstr(env.lines.text[1], "category=lane ") != NULL);
    close_env(&env);
}

WEIR_TEST(reporter, says_nothing_to_a_log_that_wants_warnings_only)
{
    struct post_env env;
    struct weir_reporter_options options;

    open_env(&env);
    weir_reporter_destroy(env.reporter);
    weir_reporter_options_init(&options);
    options.ward = env.ward;
    options.stats = env.stats;
    options.log = (struct weir_log){write_line, &env.lines, WEIR_LOG_WARNING};
    check_status(weir_reporter_create(&options, &env.reporter, NULL), WEIR_OK);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));

    weir_sim_run_until(env.sim, WEIR_SECONDS(210));

    check_int(env.lines.count, 0);
    close_env(&env);
}

/* --- its end --- */

WEIR_TEST(reporter, reports_a_last_time_when_it_is_destroyed)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));
    weir_sim_run_until(env.sim, WEIR_SECONDS(110)); /* reported up to 60 s */
    check_int(env.lines.count, 2);

    weir_reporter_destroy(env.reporter);
    env.reporter = NULL;

    check_int(env.lines.count, 4);
    check_str(env.lines.text[2], "stats.report period=\"50.0 s\"");
    check(strstr(env.lines.text[3], "execs=2 ") != NULL); /* at 75 s and at 100 s */
    close_env(&env);
}

WEIR_TEST(reporter, has_no_last_words_when_nothing_happened)
{
    struct post_env env;

    open_env(&env);
    weir_sim_run_until(env.sim, WEIR_SECONDS(30));
    weir_reporter_destroy(env.reporter);
    env.reporter = NULL;

    check_int(env.lines.count, 0);
    close_env(&env);
}

/* Its worker ends by itself, without the ward being stopped; the mailer goes on. */
WEIR_TEST(reporter, is_silent_after_it_was_destroyed)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));
    weir_reporter_destroy(env.reporter);
    env.reporter = NULL;

    weir_sim_run_until(env.sim, WEIR_SECONDS(310));

    check_int(env.lines.count, 0);
    check_int(weir_ward_count(env.ward), 1);
    close_env(&env);
}

WEIR_TEST(reporter, may_be_destroyed_after_its_ward_was_stopped)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));
    weir_sim_run_until(env.sim, WEIR_SECONDS(30));
    check_int(weir_ward_stop(env.ward, 0), 0);

    weir_reporter_destroy(env.reporter);
    env.reporter = NULL;

    check_int(env.lines.count, 2);
    check_str(env.lines.text[0], "stats.report period=\"30.0 s\"");
    close_env(&env);
}

WEIR_TEST(reporter, may_be_destroyed_after_its_ward_was_destroyed)
{
    struct post_env env;

    open_env(&env);
    employ(&env, "lane", send_mails, WEIR_SECONDS(25));
    weir_sim_run_until(env.sim, WEIR_SECONDS(30));
    weir_ward_destroy(env.ward);
    env.ward = NULL;

    weir_reporter_destroy(env.reporter);
    env.reporter = NULL;

    check_int(env.lines.count, 2);
    close_env(&env);
}

WEIR_TEST(reporter, that_is_null_may_be_destroyed)
{
    weir_reporter_destroy(NULL);
}

/* --- refusals and memory --- */

WEIR_TEST(reporter, is_refused_with_an_interval_out_of_range)
{
    struct post_env env;
    struct weir_reporter *reporter;
    struct weir_reporter_options options;
    struct weir_error error;

    open_env(&env);
    weir_reporter_options_init(&options);
    options.ward = env.ward;
    options.stats = env.stats;

    options.interval_ns = 0;
    check_status(weir_reporter_create(&options, &reporter, &error), WEIR_INVALID);
    check_str(error.text,
              "create reporter: interval_ns is 0, must be from 1 ms to 366 d");
    check(reporter == NULL);
    options.interval_ns = WEIR_MICROSECONDS(999);
    check_status(weir_reporter_create(&options, &reporter, &error), WEIR_INVALID);
    options.interval_ns = WEIR_DURATION_MAX + 1;
    check_status(weir_reporter_create(&options, &reporter, NULL), WEIR_INVALID);
    check_int(weir_ward_count(env.ward), 1);
    close_env(&env);
}

WEIR_TEST(reporter, is_refused_with_a_name_that_no_worker_may_have)
{
    struct post_env env;
    struct weir_reporter *reporter;
    struct weir_reporter_options options;

    open_env(&env);
    weir_reporter_options_init(&options);
    options.ward = env.ward;
    options.stats = env.stats;
    options.name = "two words";

    check_status(weir_reporter_create(&options, &reporter, NULL), WEIR_INVALID);
    check(reporter == NULL);
    check_int(weir_ward_count(env.ward), 1);
    close_env(&env);
}

WEIR_TEST(reporter, is_refused_by_a_ward_that_was_cancelled)
{
    struct post_env env;
    struct weir_reporter *reporter;
    struct weir_reporter_options options;

    open_env(&env);
    weir_ward_cancel(env.ward);
    weir_reporter_options_init(&options);
    options.ward = env.ward;
    options.stats = env.stats;

    check_status(weir_reporter_create(&options, &reporter, NULL), WEIR_CLOSED);
    check(reporter == NULL);
    close_env(&env);
}

static enum weir_status report_once(const struct weir_heap *heap)
{
    struct weir_sim_options sim_options = {.heap = heap};
    struct weir_ward_options ward_options = {.name = "post"};
    struct weir_reporter_options options;
    struct weir_sim *sim = NULL;
    struct weir_ward *ward = NULL;
    struct weir_stats *stats = NULL;
    struct weir_reporter *reporter = NULL;
    enum weir_status status;

    weir_reporter_options_init(&options);
    status = weir_sim_create(&sim_options, &sim, NULL);
    if (status == WEIR_OK)
        status = weir_ward_create(weir_sim_executor(sim), &ward_options, &ward, NULL);
    if (status == WEIR_OK)
        status = weir_stats_create(weir_sim_executor(sim), &stats);
    if (status == WEIR_OK) {
        options.ward = ward;
        options.stats = stats;
        status = weir_reporter_create(&options, &reporter, NULL);
    }
    if (status == WEIR_OK)
        weir_sim_run_until(sim, WEIR_SECONDS(90));
    weir_reporter_destroy(reporter);
    weir_ward_destroy(ward);
    weir_stats_destroy(stats);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(reporter, survives_any_failing_allocation)
{
    check_alloc_failures(report_once);
}

/* --- on threads --- */

/* The same on a pool, with a worker that never rests and a report each millisecond. */
struct factory {
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_stats *stats;
    struct weir_reporter *reporter;
    struct weir_notifier *notifier;
    _Atomic uint64_t calls;
    struct lines lines;
};

static void open_factory(struct factory *self, struct weir_log log)
{
    struct weir_executor_options executor;
    struct weir_ward_options ward = {.name = "factory"};
    struct weir_reporter_options options;

    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lines.mutex, NULL);
    weir_executor_options_init(&executor);
    executor.threads = 2;
    check_status(weir_executor_create(&executor, &self->executor, NULL), WEIR_OK);
    check_status(weir_ward_create(self->executor, &ward, &self->ward, NULL), WEIR_OK);
    check_status(weir_stats_create(self->executor, &self->stats), WEIR_OK);
    check_status(weir_notifier_create(self->executor, &self->notifier), WEIR_OK);
    weir_reporter_options_init(&options);
    options.ward = self->ward;
    options.stats = self->stats;
    options.interval_ns = WEIR_MILLISECONDS(1);
    options.log = log;
    if (log.write == NULL)
        options.log = (struct weir_log){write_line, &self->lines, WEIR_LOG_INFO};
    check_status(weir_reporter_create(&options, &self->reporter, NULL), WEIR_OK);
}

static void put_to_work(struct factory *self)
{
    struct weir_worker_options options;
    const struct weir_listener *listener;

    check_status(weir_stats_add(self->stats, "machine", NULL, NULL, &listener, NULL),
                 WEIR_OK);
    weir_worker_options_init(&options);
    options.name = "machine";
    options.action = proceed;
    options.state = &self->calls;
    options.notifiers = &self->notifier;
    options.notifier_count = 1;
    options.listeners = &listener;
    options.listener_count = 1;
    options.pace = weir_pace_none();
    check_status(weir_ward_spawn(self->ward, &options, NULL, NULL), WEIR_OK);
    weir_notifier_notify_one(self->notifier);
}

static void close_factory(struct factory *self)
{
    weir_reporter_destroy(self->reporter);
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->notifier);
    weir_stats_destroy(self->stats);
    weir_executor_destroy(self->executor);
    pthread_mutex_destroy(&self->lines.mutex);
}

/* Whatever was counted is in exactly one report, the last one included. */
WEIR_TEST(reporter, reports_each_execution_once_on_threads)
{
    struct factory factory;

    open_factory(&factory, (struct weir_log){0});
    put_to_work(&factory);
    while (lines_count(&factory.lines) < 10)
        sched_yield();

    check_int(weir_ward_stop(factory.ward, WEIR_FOREVER), 0);
    weir_reporter_destroy(factory.reporter);
    factory.reporter = NULL;

    check_int(factory.lines.execs, factory.calls);
    close_factory(&factory);
}

WEIR_TEST(reporter, may_be_destroyed_while_its_ward_is_busy)
{
    struct factory factory;

    open_factory(&factory, (struct weir_log){0});
    put_to_work(&factory);
    while (lines_count(&factory.lines) < 2)
        sched_yield();

    weir_reporter_destroy(factory.reporter);
    factory.reporter = NULL;

    check_int(weir_ward_stop(factory.ward, WEIR_FOREVER), 0);
    close_factory(&factory);
}

/* A log that is stuck in its first line until it is let go. */
struct slow_log {
    _Atomic bool stuck;
    _Atomic bool let_go;
    _Atomic int lines;
};

static void write_slowly(void *state, enum weir_log_level level, const char *line)
{
    struct slow_log *self = state;

    (void)level;
    (void)line;
    self->stuck = true;
    while (!self->let_go)
        sched_yield();
    self->lines++;
}

struct demolition {
    struct weir_reporter *reporter;
    struct slow_log *log;
    int lines_after; /* that were written when destroy() returned */
};

static void *demolish(void *state)
{
    struct demolition *self = state;

    weir_reporter_destroy(self->reporter);
    self->lines_after = self->log->lines;
    return NULL;
}

static bool reporter_is_cancelled(struct weir_ward *ward)
{
    struct weir_worker_info info;

    check(weir_ward_read(ward, &info, 1) > 0);
    check_str(info.name, "reporter");
    return info.cancelled;
}

WEIR_TEST(reporter, is_destroyed_only_after_the_report_that_is_being_written)
{
    struct factory factory;
    struct slow_log log = {0};
    struct demolition demolition;
    pthread_t thread;

    open_factory(&factory, (struct weir_log){write_slowly, &log, WEIR_LOG_INFO});
    put_to_work(&factory);
    while (!log.stuck)
        sched_yield();
    demolition = (struct demolition){factory.reporter, &log, 0};
    check_int(pthread_create(&thread, NULL, demolish, &demolition), 0);
    while (!reporter_is_cancelled(factory.ward))
        sched_yield();

    log.let_go = true;
    check_int(pthread_join(thread, NULL), 0);

    check(demolition.lines_after >= 2); /* the report that was stuck is complete */
    check_int(weir_ward_stop(factory.ward, WEIR_FOREVER), 0);
    check_int(log.lines, demolition.lines_after);
    factory.reporter = NULL;
    close_factory(&factory);
}
