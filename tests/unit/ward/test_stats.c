/* Tests of ward/stats.c and, through it, ward/tally.c. */
#include "weir/stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "weir/executor.h"
#include "weir/notifier.h"
#include "weir/sim.h"
#include "weir/ward.h"

/* A registry in virtual time, and room for what it says. */
struct fixture {
    struct weir_sim *sim;
    struct weir_stats *stats;
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
};

static const struct weir_report_type MAIL = {"mail"};

static void fixture_init(struct fixture *self)
{
    struct weir_sim_options options = {.seed = 1};

    memset(self, 0, sizeof *self);
    check_status(weir_sim_create(&options, &self->sim, NULL), WEIR_OK);
    check_status(weir_stats_create(weir_sim_executor(self->sim), &self->stats), WEIR_OK);
}

static void fixture_fini(struct fixture *self)
{
    weir_stats_destroy(self->stats);
    weir_sim_destroy(self->sim);
}

static uint64_t mails(void *state, const struct weir_directive *directive)
{
    const uint64_t *count = weir_directive_report(directive, &MAIL);

    (void)state;
    return count != NULL ? *count : 0;
}

static const struct weir_listener *add(struct fixture *self, const char *category)
{
    const struct weir_listener *listener;

    check_status(weir_stats_add(self->stats, category, mails, NULL, &listener, NULL),
                 WEIR_OK);
    return listener;
}

static void pass(struct fixture *self, int64_t duration_ns)
{
    weir_sim_run_until(self->sim, weir_sim_now(self->sim) + duration_ns);
}

static void complete(const struct weir_listener *listener, int64_t elapsed_ns,
                     uint64_t count)
{
    struct weir_directive directive = weir_directive_with(weir_proceed(), &MAIL, &count);

    listener->on_execute_start(listener->state, "mailer");
    listener->on_complete(listener->state, "mailer", elapsed_ns, &directive);
}

static void fail(const struct weir_listener *listener, int64_t elapsed_ns)
{
    listener->on_execute_start(listener->state, "mailer");
    listener->on_error(listener->state, "mailer", elapsed_ns, "no network", 1, 1);
}

static struct weir_stats_row *drain(struct fixture *self)
{
    memset(self->rows, 0xee, sizeof self->rows);
    check(weir_stats_drain(self->stats, self->rows, WEIR_STATS_CATEGORIES_MAX, NULL) > 0);
    return &self->rows[0];
}

static struct weir_stats_row *read_all(struct fixture *self)
{
    memset(self->rows, 0xee, sizeof self->rows);
    check(weir_stats_read(self->stats, self->rows, WEIR_STATS_CATEGORIES_MAX) > 0);
    return &self->rows[0];
}

static void check_all_zero(const struct weir_stats_row *row)
{
    check_int(row->executions, 0);
    check_int(row->noops, 0);
    check_int(row->failures, 0);
    check_int(row->messages, 0);
    check_int(row->execution_us_total, 0);
    check_int(row->execution_us_max, 0);
    check_int(row->idle_us_total, 0);
}

/* --- counting --- */

WEIR_TEST(stats, count_a_completed_execution_with_its_time_and_messages)
{
    struct fixture fixture;
    struct weir_stats_row *row;

    fixture_init(&fixture);
    complete(add(&fixture, "lane"), WEIR_MICROSECONDS(250), 10);

    row = drain(&fixture);
    check_str(row->category, "lane");
    check_int(row->executions, 1);
    check_int(row->noops, 0);
    check_int(row->failures, 0);
    check_int(row->messages, 10);
    check_int(row->execution_us_total, 250);
    check_int(row->execution_us_max, 250);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, count_an_execution_without_messages_as_a_noop)
{
    struct fixture fixture;
    const struct weir_listener *lane;
    struct weir_stats_row *row;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    complete(lane, WEIR_MICROSECONDS(5), 0);
    complete(lane, WEIR_MICROSECONDS(5), 3);
    complete(lane, WEIR_MICROSECONDS(5), 0);

    row = drain(&fixture);
    check_int(row->executions, 3);
    check_int(row->noops, 2);
    check_int(row->messages, 3);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, count_no_messages_without_a_function_that_knows_them)
{
    struct fixture fixture;
    const struct weir_listener *lane;
    struct weir_stats_row *row;

    fixture_init(&fixture);
    check_status(weir_stats_add(fixture.stats, "lane", NULL, NULL, &lane, NULL), WEIR_OK);
    complete(lane, WEIR_MICROSECONDS(5), 10);

    row = drain(&fixture);
    check_int(row->executions, 1);
    check_int(row->noops, 1);
    check_int(row->messages, 0);
    fixture_fini(&fixture);
}

/* Neither its time nor its number is in any figure of the executions. */
WEIR_TEST(stats, count_an_error_as_a_failure_and_not_as_an_execution)
{
    struct fixture fixture;
    struct weir_stats_row *row;

    fixture_init(&fixture);
    fail(add(&fixture, "lane"), WEIR_SECONDS(1));

    row = drain(&fixture);
    check_int(row->failures, 1);
    row->failures = 0;
    check_all_zero(row);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, raise_the_maximum_only_for_a_longer_execution)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");

    complete(lane, WEIR_MICROSECONDS(20), 1);
    check_int(read_all(&fixture)->execution_us_max, 20);
    complete(lane, WEIR_MICROSECONDS(50), 1);
    check_int(read_all(&fixture)->execution_us_max, 50);
    complete(lane, WEIR_MICROSECONDS(30), 1);
    check_int(read_all(&fixture)->execution_us_max, 50);
    complete(lane, WEIR_MICROSECONDS(50), 1);
    check_int(drain(&fixture)->execution_us_max, 50);
    fixture_fini(&fixture);
}

/* A maximum that was reported is not reported again; the next one may be smaller. */
WEIR_TEST(stats, have_a_maximum_of_its_own_in_each_period)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");

    complete(lane, WEIR_MICROSECONDS(50), 1);
    check_int(drain(&fixture)->execution_us_max, 50);
    complete(lane, WEIR_MICROSECONDS(30), 1);
    check_int(drain(&fixture)->execution_us_max, 30);
    check_int(drain(&fixture)->execution_us_max, 0);
    check_int(read_all(&fixture)->execution_us_max, 50);
    fixture_fini(&fixture);
}

/* From an end, of a success or of a failure, to the next start; not while it executes. */
WEIR_TEST(stats, count_the_time_between_two_executions_as_idle)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    complete(lane, 0, 1);
    pass(&fixture, WEIR_MILLISECONDS(3));
    fail(lane, 0);
    pass(&fixture, WEIR_MILLISECONDS(4));
    lane->on_execute_start(lane->state, "mailer");
    pass(&fixture, WEIR_SECONDS(1));

    check_int(drain(&fixture)->idle_us_total, 7000);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, do_not_count_the_time_before_the_first_execution_as_idle)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    pass(&fixture, WEIR_HOURS(1));
    complete(lane, 0, 1);

    check_int(drain(&fixture)->idle_us_total, 0);
    fixture_fini(&fixture);
}

/* Three executions of 400 ns are 1.2 microseconds, although each alone is none. */
WEIR_TEST(stats, add_up_executions_that_are_shorter_than_a_microsecond)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");

    complete(lane, 400, 1);
    check_int(drain(&fixture)->execution_us_total, 0);
    complete(lane, 400, 1);
    complete(lane, 400, 1);
    check_int(drain(&fixture)->execution_us_total, 1);
    fixture_fini(&fixture);
}

/* A clock that goes back is a bug elsewhere; here it must not become 584 years. */
WEIR_TEST(stats, count_a_negative_time_as_none)
{
    struct fixture fixture;
    struct weir_stats_row *row;

    fixture_init(&fixture);
    complete(add(&fixture, "lane"), -5, 1);

    row = drain(&fixture);
    check_int(row->executions, 1);
    check_int(row->execution_us_total, 0);
    check_int(row->execution_us_max, 0);
    fixture_fini(&fixture);
}

/* --- averages --- */

WEIR_TEST(stats, have_averages_cut_to_whole_numbers)
{
    struct weir_stats_row row = {
        .executions = 3, .messages = 20, .execution_us_total = 1000, .failures = 5};

    check_int(weir_stats_row_batch_average(&row), 6);
    check_int(weir_stats_row_execution_us_average(&row), 333);
}

WEIR_TEST(stats, have_averages_of_0_without_executions)
{
    struct weir_stats_row row = {.failures = 5, .messages = 7, .execution_us_total = 7};

    check_int(weir_stats_row_batch_average(&row), 0);
    check_int(weir_stats_row_execution_us_average(&row), 0);
}

/* --- draining and reading --- */

WEIR_TEST(stats, are_zero_after_a_drain)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    complete(lane, WEIR_MICROSECONDS(250), 10);
    pass(&fixture, WEIR_MILLISECONDS(1));
    complete(lane, WEIR_MICROSECONDS(250), 0);
    fail(lane, WEIR_MICROSECONDS(250));

    check_int(drain(&fixture)->executions, 2);

    check_all_zero(drain(&fixture));
    check_int(fixture.rows[0].workers, 1);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, of_an_empty_registry_have_no_rows)
{
    struct fixture fixture;

    fixture_init(&fixture);

    check_int(weir_stats_drain(fixture.stats, fixture.rows, 1, NULL), 0);
    check_int(weir_stats_read(fixture.stats, NULL, 0), 0);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, of_a_worker_that_did_nothing_are_zero)
{
    struct fixture fixture;

    fixture_init(&fixture);
    (void)add(&fixture, "lane");

    check_all_zero(drain(&fixture));
    check_int(fixture.rows[0].workers, 1);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, are_merged_by_category_in_the_order_of_first_mention)
{
    struct fixture fixture;
    const struct weir_listener *lane, *sweep, *second_lane;
    struct weir_stats_row *rows;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    sweep = add(&fixture, "sweep");
    second_lane = add(&fixture, "lane");
    complete(lane, WEIR_MICROSECONDS(100), 1);
    complete(second_lane, WEIR_MICROSECONDS(300), 2);
    fail(second_lane, 0);
    complete(sweep, WEIR_MICROSECONDS(7), 0);

    check_int(weir_stats_drain(fixture.stats, fixture.rows, 3, NULL), 2);
    rows = fixture.rows;
    check_str(rows[0].category, "lane");
    check_int(rows[0].workers, 2);
    check_int(rows[0].executions, 2);
    check_int(rows[0].failures, 1);
    check_int(rows[0].messages, 3);
    check_int(rows[0].execution_us_total, 400);
    check_int(rows[0].execution_us_max, 300); /* the maximum of both, not the sum */
    check_str(rows[1].category, "sweep");
    check_int(rows[1].workers, 1);
    check_int(rows[1].noops, 1);
    check_int(rows[1].execution_us_max, 7);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, read_since_the_beginning_whatever_was_drained)
{
    struct fixture fixture;
    const struct weir_listener *lane;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    complete(lane, WEIR_MICROSECONDS(10), 1);
    (void)drain(&fixture);
    complete(lane, WEIR_MICROSECONDS(10), 1);

    check_int(read_all(&fixture)->executions, 2);
    check_int(fixture.rows[0].execution_us_total, 20);
    check_int(read_all(&fixture)->executions, 2);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, are_not_disturbed_by_reading_when_they_are_drained)
{
    struct fixture fixture;

    fixture_init(&fixture);
    complete(add(&fixture, "lane"), WEIR_MICROSECONDS(10), 1);
    (void)read_all(&fixture);

    check_int(drain(&fixture)->executions, 1);
    check_int(fixture.rows[0].execution_us_max, 10);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, say_how_long_the_drained_period_was)
{
    struct fixture fixture;
    int64_t period_ns = -1;

    fixture_init(&fixture);

    pass(&fixture, WEIR_SECONDS(60));
    (void)weir_stats_drain(fixture.stats, fixture.rows, 1, &period_ns);
    check_int(period_ns, WEIR_SECONDS(60));
    pass(&fixture, WEIR_SECONDS(5));
    (void)weir_stats_drain(fixture.stats, fixture.rows, 1, &period_ns);
    check_int(period_ns, WEIR_SECONDS(5));
    fixture_fini(&fixture);
}

WEIR_TEST(stats, that_found_no_room_are_kept_for_the_next_drain)
{
    struct fixture fixture;
    const struct weir_listener *lane, *sweep;

    fixture_init(&fixture);
    lane = add(&fixture, "lane");
    sweep = add(&fixture, "sweep");
    complete(lane, 1, 1);
    complete(sweep, 1, 1);

    check_int(weir_stats_drain(fixture.stats, fixture.rows, 1, NULL), 2);

    (void)drain(&fixture);
    check_int(fixture.rows[0].executions, 0);
    check_int(fixture.rows[1].executions, 1);
    fixture_fini(&fixture);
}

/* --- workers that come and go --- */

WEIR_TEST(stats, of_a_removed_worker_stay_in_its_category_until_drained)
{
    struct fixture fixture;
    const struct weir_listener *gone, *there;

    fixture_init(&fixture);
    gone = add(&fixture, "lane");
    there = add(&fixture, "lane");
    complete(gone, WEIR_MICROSECONDS(90), 5);
    fail(gone, 0);
    complete(there, WEIR_MICROSECONDS(10), 1);
    weir_stats_remove(fixture.stats, gone);

    (void)drain(&fixture);
    check_int(fixture.rows[0].workers, 1);
    check_int(fixture.rows[0].executions, 2);
    check_int(fixture.rows[0].failures, 1);
    check_int(fixture.rows[0].messages, 6);
    check_int(fixture.rows[0].execution_us_total, 100);
    check_int(fixture.rows[0].execution_us_max, 90);
    check_all_zero(drain(&fixture));
    fixture_fini(&fixture);
}

/* What was drained while the worker was there does not come again when it goes. */
WEIR_TEST(stats, of_a_removed_worker_are_not_drained_twice)
{
    struct fixture fixture;
    const struct weir_listener *gone;

    fixture_init(&fixture);
    gone = add(&fixture, "lane");
    complete(gone, WEIR_MICROSECONDS(90), 5);
    (void)drain(&fixture);
    complete(gone, WEIR_MICROSECONDS(20), 1);
    weir_stats_remove(fixture.stats, gone);

    (void)drain(&fixture);
    check_int(fixture.rows[0].executions, 1);
    check_int(fixture.rows[0].messages, 1);
    check_int(fixture.rows[0].execution_us_total, 20);
    check_int(fixture.rows[0].execution_us_max, 20);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, since_the_beginning_never_shrink_when_workers_go)
{
    struct fixture fixture;
    const struct weir_listener *gone;

    fixture_init(&fixture);
    gone = add(&fixture, "lane");
    complete(gone, WEIR_MICROSECONDS(90), 5);
    weir_stats_remove(fixture.stats, gone);
    (void)drain(&fixture);

    (void)read_all(&fixture);
    check_int(fixture.rows[0].workers, 0);
    check_int(fixture.rows[0].executions, 1);
    check_int(fixture.rows[0].execution_us_max, 90);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, accept_removing_nobody_and_destroying_nothing)
{
    struct fixture fixture;

    fixture_init(&fixture);

    weir_stats_remove(fixture.stats, NULL);
    weir_stats_destroy(NULL);
    fixture_fini(&fixture);
}

/* --- refusals --- */

WEIR_TEST(stats, refuse_a_category_without_a_proper_name)
{
    struct fixture fixture;
    const struct weir_listener *listener = &(struct weir_listener){0};
    struct weir_error error;

    fixture_init(&fixture);

    check_status(weir_stats_add(fixture.stats, "", mails, NULL, &listener, &error),
                 WEIR_INVALID);
    check(listener == NULL);
    check(strstr(error.text, "category") != NULL);
    check_status(
        weir_stats_add(fixture.stats, "two words", mails, NULL, &listener, &error),
        WEIR_INVALID);
    check_int(weir_stats_read(fixture.stats, NULL, 0), 0);
    fixture_fini(&fixture);
}

WEIR_TEST(stats, refuse_one_category_too_many_and_go_on)
{
    struct fixture fixture;
    const struct weir_listener *listener;
    struct weir_error error;
    char name[16];

    fixture_init(&fixture);
    for (int i = 0; i < WEIR_STATS_CATEGORIES_MAX; i++) {
        snprintf(name, sizeof name, "c%d", i);
        (void)add(&fixture, name);
    }

    check_status(weir_stats_add(fixture.stats, "more", mails, NULL, &listener, &error),
                 WEIR_INVALID);
    check_str(error.text, "category \"more\" is one too many, there are 64 at most");
    check(listener == NULL);
    (void)add(&fixture, "c7");
    (void)drain(&fixture);
    check_int(fixture.rows[7].workers, 2);
    fixture_fini(&fixture);
}

/* --- memory --- */

static enum weir_status add_twice(struct weir_stats *stats)
{
    const struct weir_listener *first = NULL, *second = NULL;
    enum weir_status status = weir_stats_add(stats, "lane", mails, NULL, &first, NULL);

    if (status == WEIR_OK)
        status = weir_stats_add(stats, "lane", mails, NULL, &second, NULL);
    check((status == WEIR_OK) == (second != NULL));
    check_int(weir_stats_read(stats, NULL, 0), first != NULL ? 1 : 0);
    weir_stats_remove(stats, first); /* the second one is left to destroy() */
    return status;
}

static enum weir_status use_a_registry(const struct weir_heap *heap)
{
    struct weir_sim_options options = {.heap = heap};
    struct weir_sim *sim = NULL;
    struct weir_stats *stats = NULL;
    enum weir_status status;

    status = weir_sim_create(&options, &sim, NULL);
    if (status == WEIR_OK)
        status = weir_stats_create(weir_sim_executor(sim), &stats);
    if (status == WEIR_OK)
        status = add_twice(stats);
    weir_stats_destroy(stats);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(stats, survive_any_failing_allocation)
{
    check_alloc_failures(use_a_registry);
}

/* --- a real worker --- */

/* Three mails in 2 ms at the first call, nothing at once at the second, then an error. */
static enum weir_status send_mails(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    static const uint64_t counts[] = {3, 0};
    int *calls = state;

    if (*calls == 2)
        return weir_error_set(error, WEIR_FAILED, "no network");
    if (*calls == 0)
        weir_sleep_through(context, WEIR_MILLISECONDS(2));
    *out = weir_directive_with(weir_proceed(), &MAIL, &counts[*calls]);
    ++*calls;
    return WEIR_OK;
}

/* Pace 50 ms without a ramp: 2 ms of work, idle, nothing to do, idle, an error. */
WEIR_TEST(stats, count_what_a_worker_in_a_ward_does)
{
    struct fixture fixture;
    struct weir_ward *ward;
    struct weir_ward_options ward_options = {.name = "post"};
    struct weir_worker_options options;
    struct weir_notifier *notifier;
    const struct weir_listener *listener;
    int calls = 0;

    fixture_init(&fixture);
    listener = add(&fixture, "lane");
    check_status(
        weir_ward_create(weir_sim_executor(fixture.sim), &ward_options, &ward, NULL),
        WEIR_OK);
    check_status(weir_notifier_create(weir_sim_executor(fixture.sim), &notifier),
                 WEIR_OK);
    weir_worker_options_init(&options);
    options.name = "mailer";
    options.action = send_mails;
    options.state = &calls;
    options.notifiers = &notifier;
    options.notifier_count = 1;
    options.listeners = &listener;
    options.listener_count = 1;
    options.pace = (struct weir_pace){.min_ns = WEIR_MILLISECONDS(50),
                                      .active_ns = WEIR_MILLISECONDS(50)};
    options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    check_status(weir_ward_spawn(ward, &options, NULL, NULL), WEIR_OK);
    weir_notifier_notify_one(notifier);

    weir_sim_run_until(fixture.sim, WEIR_SECONDS(10));

    (void)drain(&fixture);
    check_int(fixture.rows[0].executions, 2);
    check_int(fixture.rows[0].noops, 1);
    check_int(fixture.rows[0].failures, 1);
    check_int(fixture.rows[0].messages, 3);
    check_int(fixture.rows[0].execution_us_total, 2000);
    check_int(fixture.rows[0].execution_us_max, 2000);
    check_int(fixture.rows[0].idle_us_total, 100000);
    check_int(weir_ward_stop(ward, 0), 0);
    weir_ward_destroy(ward);
    weir_notifier_destroy(notifier);
    fixture_fini(&fixture);
}

/* --- threads --- */

enum { ROUNDS = 20000, LANES = 500, PRODUCERS = 2 };

struct peers {
    struct weir_executor *executor;
    struct weir_stats *stats;
    _Atomic int working; /* producers that are not done */
};

static void peers_init(struct peers *self)
{
    struct weir_executor_options options;

    weir_executor_options_init(&options);
    options.threads = 1;
    check_status(weir_executor_create(&options, &self->executor, NULL), WEIR_OK);
    check_status(weir_stats_create(self->executor, &self->stats), WEIR_OK);
    atomic_init(&self->working, PRODUCERS);
}

/* Start the producers, drain until all are done, and once more; returns the sums. */
static struct weir_stats_row drain_while(struct peers *self, void *(*produce)(void *))
{
    pthread_t producers[PRODUCERS];
    struct weir_stats_row row, sums = {0};
    bool done = false;

    for (int i = 0; i < PRODUCERS; i++)
        check_int(pthread_create(&producers[i], NULL, produce, self), 0);
    while (!done) {
        done = self->working == 0;
        if (weir_stats_drain(self->stats, &row, 1, NULL) == 0)
            continue;
        sums.executions += row.executions;
        sums.failures += row.failures;
        sums.messages += row.messages;
        sums.execution_us_total += row.execution_us_total;
        if (row.execution_us_max > sums.execution_us_max)
            sums.execution_us_max = row.execution_us_max;
    }
    for (int i = 0; i < PRODUCERS; i++)
        check_int(pthread_join(producers[i], NULL), 0);
    return sums;
}

static void peers_fini(struct peers *self)
{
    weir_stats_destroy(self->stats);
    weir_executor_destroy(self->executor);
}

static void *work_hard(void *state)
{
    struct peers *self = state;
    const struct weir_listener *listener;

    check_status(weir_stats_add(self->stats, "lane", mails, NULL, &listener, NULL),
                 WEIR_OK);
    for (int i = 1; i <= ROUNDS; i++) {
        complete(listener, WEIR_MICROSECONDS(i), 2);
        fail(listener, 1);
    }
    self->working--;
    return NULL;
}

WEIR_TEST(stats, lose_nothing_when_drained_while_two_threads_count)
{
    struct peers peers;
    struct weir_stats_row sums, total;

    peers_init(&peers);

    sums = drain_while(&peers, work_hard);

    check_int(sums.executions, PRODUCERS * ROUNDS);
    check_int(sums.failures, PRODUCERS * ROUNDS);
    check_int(sums.messages, PRODUCERS * ROUNDS * 2);
    check_int(sums.execution_us_total, (int64_t)PRODUCERS * ROUNDS * (ROUNDS + 1) / 2);
    check_int(sums.execution_us_max, ROUNDS);
    check_int(weir_stats_read(peers.stats, &total, 1), 1);
    check_int(total.executions, PRODUCERS * ROUNDS);
    peers_fini(&peers);
}

static void *come_and_go(void *state)
{
    struct peers *self = state;
    const struct weir_listener *listener;

    for (int i = 1; i <= LANES; i++) {
        check_status(weir_stats_add(self->stats, "lane", mails, NULL, &listener, NULL),
                     WEIR_OK);
        complete(listener, WEIR_MICROSECONDS(i), 1);
        weir_stats_remove(self->stats, listener);
    }
    self->working--;
    return NULL;
}

WEIR_TEST(stats, lose_nothing_when_drained_while_workers_come_and_go)
{
    struct peers peers;
    struct weir_stats_row sums, last;

    peers_init(&peers);

    sums = drain_while(&peers, come_and_go);

    check_int(sums.executions, PRODUCERS * LANES);
    check_int(sums.messages, PRODUCERS * LANES);
    check_int(sums.execution_us_max, LANES);
    check_int(weir_stats_drain(peers.stats, &last, 1, NULL), 1);
    check_int(last.workers, 0);
    check_all_zero(&last);
    peers_fini(&peers);
}
