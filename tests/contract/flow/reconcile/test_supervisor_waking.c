/*
 * What wakes a supervisor: times that were set in its process, in another one, or in a
 * transaction of the application's. Its intervals are an hour, so nothing but a wake
 * can have done it.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "db/clock.h"
#include "execution/reconcile/reconciler.h"
#include "kit/sim/script.h"
#include "ward/executor.h"

enum { HOUR_MS = 3600 * 1000, LONG_US = 60000000 };

static const enum weir_reconciler TIMERS[] = {
    WEIR_RECONCILER_ATTEMPT_TIMEOUT, WEIR_RECONCILER_LEASE_EXPIRY,
    WEIR_RECONCILER_DELAYED_PROMOTER, WEIR_RECONCILER_EXECUTION_DEADLINE};

static void init_sleepy(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->options.interval_ms[i] = HOUR_MS;
}

static void wait_for_first_looks(struct patrol *self)
{
    for (size_t i = 0; i < sizeof TIMERS / sizeof TIMERS[0]; i++)
        wait_until(patrol_scan(self, TIMERS[i]).cycles > 0);
}

static void open_sleepy(struct patrol *self, struct fixture *fixture)
{
    init_sleepy(self, fixture);
    patrol_start(self);
    wait_for_first_looks(self);
}

/* Set in `supervisor_fixture`: one time of each kind, as short as tests need them. All
 * are kept. */
static void set_times_and_see_them_kept(struct supervisor_fixture *supervisor_fixture)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_execution_id delayed, doomed;
    struct weir_claim lost, slow;

    policy.attempt_timeout_ms = 100;
    slow = supervisor_fixture_employ(supervisor_fixture, &draft, LONG_US);
    wait_until(supervisor_fixture_state(supervisor_fixture, &slow.id) ==
               WEIR_STATE_EXPIRED);
    policy.attempt_timeout_ms = 0;
    lost = supervisor_fixture_employ(supervisor_fixture, &draft, 100000);
    wait_until(supervisor_fixture_state(supervisor_fixture, &lost.id) ==
               WEIR_STATE_WAITING);
    draft.delay_ms = 100;
    delayed = supervisor_fixture_submit(supervisor_fixture, &draft);
    wait_until(supervisor_fixture_state(supervisor_fixture, &delayed) ==
               WEIR_STATE_WAITING);
    draft.delay_ms = 10000;
    draft.deadline_ms = 200;
    doomed = supervisor_fixture_submit(supervisor_fixture, &draft);
    wait_until(supervisor_fixture_state(supervisor_fixture, &doomed) ==
               WEIR_STATE_EXPIRED);
}

FLOW_TEST(supervisor, is_woken_by_a_time_that_is_set_in_its_process)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    open_sleepy(&patrol, fixture);
    supervisor_fixture =
        (struct supervisor_fixture){.fixture = fixture, .executions = patrol.executions};

    set_times_and_see_them_kept(&supervisor_fixture);

    patrol_close(&patrol);
}

/* Between its first look and the end of start(). */
static void set_one_early(void *argument)
{
    struct patrol *patrol = argument;
    struct supervisor_fixture supervisor_fixture = {.fixture = patrol->fixture,
                                                    .executions = patrol->executions};
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);

    wait_for_first_looks(patrol);
    draft.delay_ms = 100;
    (void)supervisor_fixture_submit(&supervisor_fixture, &draft);
}

FLOW_TEST(supervisor, misses_nothing_while_it_starts)
{
    struct patrol patrol;

    init_sleepy(&patrol, fixture);
    weir_fault_points_arm_call(&patrol.points, "supervisor.started", 1, set_one_early,
                               &patrol);
    patrol_make(&patrol);
    weir_executions_watch(
        patrol.executions); /* so that it is no news when the supervisor does */
    patrol_wait_until_calm(&patrol);
    check_db(weir_execution_supervisor_start(patrol.supervisor, &fixture->error),
             WEIR_OK);

    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                    " WHERE state = 1") == 1);

    patrol_close(&patrol);
}

/* Each has a handle of its own, and they have nothing in common but the database. */
FLOW_TEST(supervisor, is_woken_by_a_time_that_is_set_in_another_process)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    open_sleepy(&patrol, fixture);
    patrol_wait_until_calm(&patrol);

    set_times_and_see_them_kept(&supervisor_fixture);

    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* With its own engine; but nobody tells it when such a transaction commits. */
FLOW_TEST(supervisor, is_woken_by_a_time_that_an_application_has_committed)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_submission submission;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    open_sleepy(&patrol, fixture);
    patrol_wait_until_calm(&patrol);
    supervisor_fixture =
        (struct supervisor_fixture){.fixture = fixture, .executions = patrol.executions};
    draft.delay_ms = 100;
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_execution_submit(patrol.executions, connection, &draft, 1, &submission,
                                   &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &submission.id) ==
               WEIR_STATE_WAITING);

    fixture_give(fixture, connection);
    patrol_close(&patrol);
}

/* Two of them, one with a filter: whoever has it in his care is woken. */
FLOW_TEST(two_supervisors, are_both_woken)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id here, there;
    struct patrol all, some;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    open_sleepy(&all, fixture);
    init_sleepy(&some, fixture);
    some.options.name_space = "there";
    patrol_start(&some);
    patrol_wait_until_calm(&all);
    patrol_wait_until_calm(&some);
    draft.delay_ms = 100;
    here = supervisor_fixture_submit(&supervisor_fixture, &draft);
    draft.name_space = "there";
    there = supervisor_fixture_submit(&supervisor_fixture, &draft);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &here) ==
               WEIR_STATE_WAITING);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &there) ==
               WEIR_STATE_WAITING);

    patrol_close(&all);
    there = supervisor_fixture_submit(&supervisor_fixture, &draft);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &there) ==
               WEIR_STATE_WAITING);
    patrol_close(&some);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- what it costs ----------------------------------------------------------------- */

/* An engine whose statements are counted. */
struct counted {
    struct weir_db *db;
    struct weir_fault_points points;
    struct supervisor_fixture supervisor_fixture;
};

enum { TELLS, TELLS_OF_TIMES };

static void counted_open(struct counted *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct counted){.db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "notify waiters", UINT64_MAX);
    weir_fault_points_arm(&self->points, "notify due times", UINT64_MAX);
    weir_db_set_fault_points(self->db, &self->points);
    self->supervisor_fixture = (struct supervisor_fixture){
        .fixture = fixture,
        .executions = supervisor_fixture_make_flow(fixture, self->db, NULL)};
}

static void counted_close(struct counted *self)
{
    weir_executions_destroy(self->supervisor_fixture.executions);
    weir_db_destroy(self->db);
}

static int64_t counted_get(struct counted *self, int which)
{
    return (int64_t)atomic_load(&self->points.armed[which].passed);
}

FLOW_POSTGRESQL_TEST(times, that_are_far_off_are_told_to_nobody)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct counted counted;
    struct weir_claim claim;

    counted_open(&counted, fixture);
    policy.attempt_timeout_ms = WEIR_ATTEMPT_LOOK_MS + 1000;
    draft.deadline_ms = WEIR_DEADLINE_LOOK_MS + 1000;
    draft.delay_ms = WEIR_DELAYED_LOOK_MS + 1000;
    (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);
    draft.delay_ms = 0;
    (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);
    check_int(supervisor_fixture_claim(&counted.supervisor_fixture,
                                       (WEIR_LEASE_LOOK_MS + 1000) * 1000, &claim, 1),
              1);

    check_int(counted_get(&counted, TELLS), 1); /* of the one that was ready */
    check_int(counted_get(&counted, TELLS_OF_TIMES), 0);
    counted_close(&counted);
}

/* The last time that it has told of delays lies ahead: so it is not over within the
 * test. */
FLOW_POSTGRESQL_TEST(times, are_told_once_in_a_while)
{
    enum { COUNT = 20 };
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct counted counted;

    counted_open(&counted, fixture);
    draft.delay_ms = 100;
    (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);
    check_int(counted_get(&counted, TELLS_OF_TIMES), 1);
    check_int(
        weir_notify_throttle_due(&counted.supervisor_fixture.executions->notify_throttle,
                                 WEIR_DUE_TIMERS, weir_clock_now_ns() - WEIR_SECONDS(1)),
        WEIR_DUE_TIMERS & ~(1U << WEIR_DUE_DELAYED));
    atomic_store(
        &counted.supervisor_fixture.executions->notify_throttle.told_ns[WEIR_DUE_DELAYED],
        INT64_MAX / 2);
    for (int i = 0; i < COUNT; i++)
        (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);
    check_int(counted_get(&counted, TELLS_OF_TIMES), 1);
    draft.deadline_ms = 500;
    (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);

    check_int(counted_get(&counted, TELLS_OF_TIMES), 2); /* that is another kind */
    check_int(counted_get(&counted, TELLS), 0);
    counted_close(&counted);
}

/* A transaction that is undone has told nobody, so the next one does. */
FLOW_POSTGRESQL_TEST(times, are_told_again_after_a_rollback)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_connection *connection;
    struct counted counted;

    counted_open(&counted, fixture);
    draft.delay_ms = 100;
    check_db(weir_db_acquire(counted.db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_execution_submit(counted.supervisor_fixture.executions, connection,
                                   &draft, 1, NULL, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(connection);
    weir_db_release(counted.db, connection);

    (void)supervisor_fixture_submit(&counted.supervisor_fixture, &draft);

    check_int(counted_get(&counted, TELLS_OF_TIMES), 2);
    counted_close(&counted);
}

static uint64_t cycles(struct patrol *self)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof TIMERS / sizeof TIMERS[0]; i++)
        sum += patrol_scan(self, TIMERS[i]).cycles;
    return sum;
}

/* Polls are for claims that wait. */
FLOW_POSTGRESQL_TEST(supervisor, is_not_woken_by_polls)
{
    struct patrol patrol;
    uint64_t before;

    open_sleepy(&patrol, fixture);
    patrol_wait_until_calm(&patrol);
    before = cycles(&patrol);

    patrol_wait_until_calm(&patrol);

    check_int(cycles(&patrol), before);
    patrol_close(&patrol);
}

static void notify(struct fixture *fixture, uint32_t kinds, uint64_t teller)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT pg_notify('weir_execution', '0 %x %llx')",
                   kinds, (unsigned long long)teller);
    fixture_prepare(fixture, sql);
}

/* What its own process tells others is known already. Notifications come in order. */
FLOW_POSTGRESQL_TEST(supervisor, does_not_listen_to_its_own_process)
{
    struct patrol patrol;
    uint64_t promoted, expired;

    open_sleepy(&patrol, fixture);
    patrol_wait_until_calm(&patrol);
    promoted = patrol_scan(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER).cycles;
    expired = patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles;

    notify(fixture, 1U << WEIR_DUE_DELAYED, patrol.executions->notify_throttle.teller);
    notify(fixture, 1U << WEIR_DUE_LEASE, 0);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles > expired);

    check_int(patrol_scan(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER).cycles, promoted);
    patrol_close(&patrol);
}

/* ---- attention, in virtual time ---------------------------------------------------- */

/* Seconds are virtual here. Nobody listens in a simulation, so the test says what is
 * heard. */
struct watch {
    struct script script;
    struct patrol patrol;
};

static void watch_open(struct watch *self, struct fixture *fixture)
{
    script_open(&self->script, IN_SIMULATION);
    init_sleepy(&self->patrol, fixture);
    self->patrol.options.executor = self->script.executor;
    patrol_start(&self->patrol);
    weir_sim_run_until(self->script.sim, WEIR_SECONDS(1));
}

static void watch_close(struct watch *self)
{
    patrol_close(&self->patrol);
    script_close(&self->script);
}

static void watch_hear(struct watch *self, uint32_t kinds, int64_t silence_ns)
{
    weir_pending_wakeups_send(
        self->patrol.executions,
        &(struct weir_pending_wakeups){.nameless = kinds, .silence_ns = silence_ns});
}

/* A time that has passed long ago is set in its process. */
static void watch_name(struct watch *self, enum weir_due_kind kind)
{
    struct weir_pending_wakeups pending_wakeups = {.ready = false};

    pending_wakeups.due_us[kind] = 1;
    weir_pending_wakeups_send(self->patrol.executions, &pending_wakeups);
}

static void watch_run(struct watch *self, int64_t duration_ns)
{
    weir_sim_run_until(self->script.sim, weir_sim_now(self->script.sim) + duration_ns);
}

static int64_t watch_looks(struct watch *self, enum weir_reconciler which)
{
    return (int64_t)patrol_scan(&self->patrol, which).cycles;
}

FLOW_SQLITE_TEST(attention, lasts_as_long_as_others_may_be_silent_and_is_for_one_kind)
{
    const int64_t looks = WEIR_ATTENTION_NS / WEIR_RECONCILER_PERIOD_NS;
    struct watch watch;
    int64_t before;

    watch_open(&watch, fixture);
    before = watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY);
    check_int(before, 1);
    watch_hear(&watch, 1U << WEIR_DUE_LEASE, WEIR_ATTENTION_NS);
    watch_run(&watch, WEIR_SECONDS(60));

    check_in_range(watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY) - before, looks,
                   looks + 1);
    check_int(watch_looks(&watch, WEIR_RECONCILER_DELAYED_PROMOTER), 1);
    check_int(watch_looks(&watch, WEIR_RECONCILER_ATTEMPT_TIMEOUT), 1);
    check_int(watch_looks(&watch, WEIR_RECONCILER_EXECUTION_DEADLINE), 1);
    check_int(watch_looks(&watch, WEIR_RECONCILER_HOUSEKEEPING), 1);
    watch_close(&watch);
}

/* However often something is heard: every 50 ms, and once more for the last. */
FLOW_SQLITE_TEST(attention, is_no_more_for_much_news_than_for_little)
{
    enum { HINTS = 1000 };
    const int64_t looks = WEIR_SECONDS(1) / WEIR_RECONCILER_PERIOD_NS;
    struct watch watch;

    watch_open(&watch, fixture);
    for (int i = 0; i < HINTS; i++) {
        watch_hear(&watch, WEIR_DUE_TIMERS, 0);
        watch_run(&watch, WEIR_SECONDS(1) / HINTS);
    }
    watch_run(&watch, WEIR_SECONDS(60));

    check_in_range(watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY), looks, looks + 3);
    watch_hear(&watch, WEIR_DUE_TIMERS, 0);
    watch_run(&watch, WEIR_SECONDS(60));
    check_in_range(watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY), looks + 1,
                   looks + 5);
    watch_close(&watch);
}

/* A time that was set without a word. */
static void set_silently(struct watch *self,
                         struct supervisor_fixture *supervisor_fixture, int64_t delay_us)
{
    struct weir_executor *executor = self->script.executor;
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    char sql[128];

    draft.delay_ms = 3600 * 1000;
    (void)supervisor_fixture_submit(supervisor_fixture, &draft);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE {p}_execution SET due_us = %lld WHERE state = 2",
                   (long long)(executor->ops->wall_us(executor) + delay_us));
    fixture_prepare(supervisor_fixture->fixture, sql);
}

FLOW_SQLITE_TEST(attention, keeps_what_is_set_in_silence_from_being_late)
{
    struct watch watch;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    watch_open(&watch, fixture);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
    watch_hear(&watch, 1U << WEIR_DUE_DELAYED, WEIR_ATTENTION_NS);
    for (int i = 1; i <= 7; i++) {
        watch_run(&watch, MS(130));
        set_silently(&watch, &supervisor_fixture, 10000 * i);
        watch_run(&watch, MS(9 * i));
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                       " WHERE state = 1"),
                  i - 1);
        watch_run(&watch, MS(i) + WEIR_RECONCILER_PERIOD_NS);
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                       " WHERE state = 1"),
                  i);
        watch_hear(&watch, 1U << WEIR_DUE_DELAYED, WEIR_ATTENTION_NS);
    }

    set_silently(&watch, &supervisor_fixture,
                 10000); /* somebody who is silent for too long */
    watch_run(&watch, WEIR_SECONDS(60));
    set_silently(&watch, &supervisor_fixture, 10000);
    watch_run(&watch, WEIR_SECONDS(60));
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 2"),
              1);
    watch_close(&watch);
    supervisor_fixture_close(&supervisor_fixture);
}

/* What fails is tried at its interval, and not whenever somebody commits. */
FLOW_SQLITE_TEST(attention, is_not_for_one_that_fails)
{
    struct watch watch;
    int64_t before;

    watch_open(&watch, fixture);
    before = watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY);
    weir_fault_points_arm(&watch.patrol.points, "db.fail", 1);
    weir_pending_wakeups_send(watch.patrol.executions, &(struct weir_pending_wakeups){
                                                           .due_us[WEIR_DUE_LEASE] = 1});
    watch_run(&watch, MS(10));
    check_int(patrol_scan(&watch.patrol, WEIR_RECONCILER_LEASE_EXPIRY).ticks_failed, 1);
    for (int i = 0; i < 100; i++) {
        watch_hear(&watch, 1U << WEIR_DUE_LEASE, WEIR_ATTENTION_NS);
        watch_name(&watch, WEIR_DUE_LEASE);
        watch_run(&watch, MS(20));
    }
    check_int(watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY) - before, 1);

    weir_fault_points_arm(&watch.patrol.points, "db.fail", UINT64_MAX);
    watch_run(&watch, WEIR_HOURS(1));
    before = watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY);
    watch_hear(&watch, 1U << WEIR_DUE_LEASE, 0);
    watch_run(&watch, MS(10));

    check_int(watch_looks(&watch, WEIR_RECONCILER_LEASE_EXPIRY) - before, 1);
    watch_close(&watch);
}
