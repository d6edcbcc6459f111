/*
 * The supervisor: what it is told, whom it leaves alone, when it looks, and what it
 * does about rows that cannot be put right.
 */
#include <sys/stat.h>

#include "contract/flow/reconcile/supervisor_fixture.h"

enum { SHORT_US = 20000, LONG_US = 60000000 };

/* ---- settings ---------------------------------------------------------------------- */

FLOW_SQLITE_TEST(supervisor, has_the_intervals_of_the_specification)
{
    static const int64_t INTERVALS[] = {2000, 1500,  2000, 15000, 15000,
                                        1000, 10000, 750,  5000,  60000};
    struct weir_execution_supervisor_options options;

    (void)fixture;
    weir_execution_supervisor_options_init(&options);

    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        check_int(options.interval_ms[i], INTERVALS[i]);
    check_int(options.dependency_stale_ms, 15000);
    check_int(options.budget_partitions, 32);
    check_int(options.retention_ms, 24 * 3600 * 1000);
    check_str(weir_reconciler_name(WEIR_RECONCILER_BUDGET_RESET), "budget_reset");
    check_str(weir_reconciler_name((enum weir_reconciler)99), "unknown");
}

static void refused(struct fixture *fixture,
                    const struct weir_execution_supervisor_options *options,
                    const char *text)
{
    struct weir_execution_supervisor *supervisor = (void *)fixture;

    check_db(weir_execution_supervisor_create(options, &supervisor, &fixture->error),
             WEIR_INVALID);
    check_str(fixture->error.text, text);
    check(supervisor == NULL);
}

FLOW_SQLITE_TEST(supervisor, names_what_is_wrong_with_its_options)
{
    struct weir_execution_supervisor_options good, bad;
    char long_text[WEIR_TAG_SIZE_MAX + 2];
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    weir_execution_supervisor_options_init(&good);
    good.executions = supervisor_fixture.executions;

    refused(fixture, NULL, "create supervisor: options is NULL, must be given");
    bad = good;
    bad.executions = NULL;
    refused(fixture, &bad, "create supervisor: executions is NULL, must be an engine");
    bad = good;
    bad.interval_ms[WEIR_RECONCILER_DEPENDENCY] =
        99; /* checked, though it does not run */
    refused(fixture, &bad,
            "create supervisor: interval_ms of dependency is 99, must be from 100 to "
            "31622400000");
    bad.interval_ms[WEIR_RECONCILER_DEPENDENCY] = INT64_C(31622400001);
    refused(fixture, &bad,
            "create supervisor: interval_ms of dependency is 31622400001, must be from "
            "100 to 31622400000");
    bad = good;
    bad.dependency_stale_ms = -1;
    refused(fixture, &bad,
            "create supervisor: dependency_stale_ms is -1, must be from 0 to "
            "3155760000000");
    bad = good;
    bad.retention_ms = -1;
    refused(fixture, &bad,
            "create supervisor: retention_ms is -1, must be from 0 to 3155760000000");
    bad = good;
    bad.budget_partitions = 0;
    refused(fixture, &bad,
            "create supervisor: budget_partitions is 0, must be from 1 to 65535");
    bad = good;
    bad.tag_key = "app.zone";
    refused(fixture, &bad,
            "create supervisor: tag_value is NULL, must be given with tag_key");
    bad.tag_value = long_text;
    refused(fixture, &bad, "create supervisor: tag_value has more than 256 bytes");
    bad.tag_value = "\xff";
    refused(fixture, &bad, "create supervisor: tag_value must be UTF-8");
    bad = good;
    bad.tag_key = "zone";
    bad.tag_value = "west";
    check_db(weir_execution_supervisor_create(
                 &bad, &(struct weir_execution_supervisor *){NULL}, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "zone") != NULL);
    bad = good;
    bad.name_space = "";
    check_db(weir_execution_supervisor_create(
                 &bad, &(struct weir_execution_supervisor *){NULL}, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "name_space") != NULL);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(supervisor, runs_all_reconcilers)
{
    enum { COUNT = WEIR_RECONCILER_COUNT };
    struct weir_scan_info infos[COUNT];
    struct patrol patrol;

    patrol_open(&patrol, fixture);

    check_int(weir_execution_supervisor_read(patrol.supervisor, infos, COUNT), COUNT);
    for (int i = 0; i < COUNT; i++) {
        enum weir_reconciler which = (enum weir_reconciler)i;

        check_str(infos[i].name, weir_reconciler_name(which));
        check_int(infos[i].scope, WEIR_SCAN_GLOBAL); /* all partitions at once */
        patrol_wait(&patrol, which);
        check_int(patrol_scan(&patrol, which).ticks_failed, 0);
    }
    patrol_close(&patrol);
}

/* Nothing but its own statements is committed once the log is long. */
FLOW_SQLITE_TEST(supervisor, moves_a_log_that_is_over_the_limit)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct patrol patrol;
    struct stat about;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    draft.delay_ms = 1;
    (void)supervisor_fixture_submit(&supervisor_fixture, &draft);
    (void)fixture_ask(fixture, "CREATE TABLE filler AS SELECT zeroblob(70000000) AS a");
    check_int(stat(fixture->database, &about), 0);
    check(about.st_size < 1000000);

    patrol_open(&patrol, fixture);

    wait_until(stat(fixture->database, &about) == 0 && about.st_size > 70000000);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- whom it leaves alone ---------------------------------------------------------- */

/* Delayed until now, for somebody. */
static struct weir_execution_id put(struct supervisor_fixture *supervisor_fixture,
                                    const char *name_space, const struct weir_tag *tag)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);

    draft.delay_ms = 1;
    draft.name_space = name_space;
    draft.tags = tag;
    draft.tag_count = tag != NULL;
    return supervisor_fixture_submit(supervisor_fixture, &draft);
}

FLOW_TEST(supervisor, with_a_filter_looks_after_nobody_else)
{
    static const struct weir_tag WEST = {"app.zone", "west"};
    static const struct weir_tag EAST = {"app.zone", "east"};
    struct weir_execution_id other, bare, east, west;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    other = put(&supervisor_fixture, "theirs", &WEST);
    bare = put(&supervisor_fixture, "ours", NULL);
    east = put(&supervisor_fixture, "ours", &EAST);
    west = put(&supervisor_fixture, "ours", &WEST);
    patrol_init(&patrol, fixture);
    patrol.options.name_space = "ours";
    patrol.options.tag_key = "app.zone";
    patrol.options.tag_value = "west";
    patrol_start(&patrol);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &west) ==
               WEIR_STATE_WAITING);
    patrol_wait(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER);
    check_int(supervisor_fixture_state(&supervisor_fixture, &other), WEIR_STATE_DELAYED);
    check_int(supervisor_fixture_state(&supervisor_fixture, &bare), WEIR_STATE_DELAYED);
    check_int(supervisor_fixture_state(&supervisor_fixture, &east), WEIR_STATE_DELAYED);
    patrol_close(&patrol);

    patrol_init(&patrol, fixture);
    patrol.options.name_space = "ours";
    patrol_start(&patrol);
    wait_until(
        supervisor_fixture_state(&supervisor_fixture, &bare) == WEIR_STATE_WAITING &&
        supervisor_fixture_state(&supervisor_fixture, &east) == WEIR_STATE_WAITING);
    patrol_wait(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER);
    check_int(supervisor_fixture_state(&supervisor_fixture, &other), WEIR_STATE_DELAYED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- when it looks ----------------------------------------------------------------- */

enum { HOUR_MS = 3600 * 1000 };

/* Looks by itself once an hour. */
static void open_sleepy(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->options.interval_ms[i] = HOUR_MS;
    patrol_start(self);
    wait_until(patrol_scan(self, WEIR_RECONCILER_LEASE_EXPIRY).cycles > 0 &&
               patrol_scan(self, WEIR_RECONCILER_ATTEMPT_TIMEOUT).cycles > 0 &&
               patrol_scan(self, WEIR_RECONCILER_EXECUTION_DEADLINE).cycles > 0 &&
               patrol_scan(self, WEIR_RECONCILER_DELAYED_PROMOTER).cycles > 0);
}

/* Set before it began: its first look tells it when to come again. */
FLOW_TEST(supervisor, sleeps_until_something_is_due)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id first, second;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    draft.delay_ms = 500;
    first = supervisor_fixture_submit(&supervisor_fixture, &draft);
    draft.delay_ms = 800;
    second = supervisor_fixture_submit(&supervisor_fixture, &draft);
    open_sleepy(&patrol, fixture);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &first) ==
               WEIR_STATE_WAITING);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &second) ==
               WEIR_STATE_WAITING);

    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER).processed == 2);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* At most: what one of them sees the others know. */
FLOW_TEST(supervisor, asks_one_question_when_nothing_is_due)
{
    enum { LOOKS, PICKS };
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    uint64_t cycles;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    draft.delay_ms = 60000;
    (void)supervisor_fixture_submit(&supervisor_fixture, &draft);
    patrol_init(&patrol, fixture);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        patrol.options.interval_ms[i] = HOUR_MS;
    patrol.options.interval_ms[WEIR_RECONCILER_LEASE_EXPIRY] = 100;
    weir_fault_points_arm(&patrol.points, "next due", UINT64_MAX);
    weir_fault_points_arm(&patrol.points, "pick due", UINT64_MAX);
    patrol_start(&patrol);

    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles >= 10);
    check_int(weir_execution_supervisor_stop(patrol.supervisor, WEIR_SECONDS(60)), 0);

    cycles = 0;
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        cycles += patrol_scan(&patrol, (enum weir_reconciler)i).cycles;
    check_in_range((int64_t)atomic_load(&patrol.points.armed[LOOKS].passed),
                   (int64_t)patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles,
                   (int64_t)cycles);
    check_int(atomic_load(&patrol.points.armed[PICKS].passed), 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- rows that cannot be put right ------------------------------------------------- */

/* Its attempt is in the log already, so it cannot end. */
static void poison(struct fixture *fixture, const struct weir_claim *claim)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO {p}_attempt (no, number, type, outcome, epoch,"
                   " started_us, ended_us, worker, instance, failure)"
                   " VALUES (%lld, 0, 0, 1, 1, 1, 1, '', '', '')",
                   (long long)claim->no);
    fixture_prepare(fixture, sql);
}

FLOW_TEST(poison, keeps_nobody_else_waiting_and_is_set_aside_and_shown)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_claim bad, before, after;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    uint64_t loads, errors;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    before = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    bad = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    poison(fixture, &bad);
    patrol_init(&patrol, fixture);
    weir_fault_points_arm(
        &patrol.points, fixture_choose(fixture, "load execution", "load executions", ""),
        UINT64_MAX);
    patrol_start(&patrol);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &before.id) ==
               WEIR_STATE_WAITING);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).skipped > 0);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).failing_items, 1);
    check(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).errors >= 3);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).ticks_failed, 0);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).errors, 0);
    check_int(supervisor_fixture_state(&supervisor_fixture, &bad.id), WEIR_STATE_ACTIVE);
    check_int(supervisor_fixture_claim(&supervisor_fixture, LONG_US, &after, 1),
              1); /* the one before it */
    loads = atomic_load(&patrol.points.armed[0].passed);
    errors = patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).errors;
    after = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &after.id) ==
               WEIR_STATE_WAITING);
    if (patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).errors == errors) /* as yet */
        check_int(atomic_load(&patrol.points.armed[0].passed), loads); /* in a batch */

    fixture_prepare(fixture, "DELETE FROM {p}_attempt WHERE epoch = 1 AND worker = ''");
    wait_until(supervisor_fixture_state(&supervisor_fixture, &bad.id) ==
               WEIR_STATE_WAITING);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).failing_items == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(unknown, numbers_stop_their_reconciler_with_a_clear_text_and_no_other)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_scan_info info;
    struct weir_execution_id delayed;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    fixture_prepare(fixture, "UPDATE {p}_execution SET hold = 99");
    patrol_open(&patrol, fixture);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).ticks_failed > 1);

    info = patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY);
    (void)weir_execution_id_format(&claim.id, id);
    check(strstr(info.last_error, id) != NULL);
    check(strstr(info.last_error, "hold 99, which this library does not know") != NULL);
    check_int(info.processed, 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 4"),
              1);

    draft.delay_ms = 1;
    delayed = supervisor_fixture_submit(&supervisor_fixture, &draft);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &delayed) ==
               WEIR_STATE_WAITING);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_DELAYED_PROMOTER).ticks_failed, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- stopping ---------------------------------------------------------------------- */

static int64_t waiting_for_locks(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM pg_locks l JOIN pg_database d"
                                " ON d.oid = l.database WHERE NOT l.granted"
                                " AND d.datname = current_database()");
}

/* Ticks that wait for a lock are counted, their statements end, and what they did is
 * undone. */
FLOW_POSTGRESQL_TEST(supervisor, counts_what_hangs_and_ends_it)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "LOCK TABLE {p}_attempt");
    patrol_init(&patrol, fixture);
    weir_db_destroy(patrol.db);
    options.lock_timeout_ns = 0; /* for ever */
    options.statement_timeout_ns = 0;
    patrol.db = fixture_open(fixture, &options);
    patrol_start(&patrol);
    wait_until(waiting_for_locks(fixture) > 0);

    check_int(weir_execution_supervisor_stop(patrol.supervisor, WEIR_SECONDS(1)), 1);
    weir_execution_supervisor_destroy(patrol.supervisor);
    patrol.supervisor = NULL;

    check_int(waiting_for_locks(fixture), 0);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    check_int(supervisor_fixture_state(&supervisor_fixture, &claim.id),
              WEIR_STATE_ACTIVE);
    check_int(supervisor_fixture_look(&supervisor_fixture, &claim.id).info.epoch,
              claim.epoch);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(supervisor, may_be_destroyed_at_any_moment)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (int i = 0; i < 10; i++) {
        struct patrol patrol;

        (void)supervisor_fixture_employ(&supervisor_fixture, &draft, 1);
        patrol_open(&patrol, fixture);
        weir_execution_supervisor_destroy(patrol.supervisor); /* without a stop */
        patrol.supervisor = NULL;
        patrol_close(&patrol);
    }
    supervisor_fixture_close(&supervisor_fixture);
}
