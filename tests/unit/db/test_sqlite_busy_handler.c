/* Tests of db/sqlite/busy_handler.c: waiting for locks, timeouts, cancelling. */
#include "db/sqlite/busy_handler.h"

#include <pthread.h>
#include <sched.h>

#include "db/clock.h"
#include "kit/sim/script.h"
#include "kit/test.h"
#include "unit/db/sqlite_fixture.h"
#include "ward/system.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

/* ---- in a simulation ---- */

/* Takes the write lock after a while, keeps it, and gives it back. */
struct guest {
    struct sqlite_fixture *sqlite_fixture;
    struct weir_link *link;
    int64_t comes_ns;
    int64_t stays_ns;
    enum weir_status status; /* of begin() */
    int64_t entered_ns;      /* when begin() returned */
};

static enum weir_status visit(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct guest *self = state;

    (void)out;
    weir_sleep_through(context, self->comes_ns);
    self->status = driver->begin(self->link, WEIR_READ_WRITE, error);
    self->entered_ns = weir_context_now(context);
    if (self->status != WEIR_OK)
        return WEIR_OK;
    weir_sleep_through(context, self->stays_ns);
    return driver->commit(self->link, error);
}

static void invite(struct script *script, struct guest *guest)
{
    struct weir_notifier *bell = script_bell(script);
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = "guest";
    options.action = visit;
    options.state = guest;
    options.notifiers = &bell;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(script->ward, &options, NULL, NULL), WEIR_OK);
}

/* Anna comes at once and stays three seconds, Bert comes after one. */
static void let_them_meet(enum sqlite_fixture_kind kind, int64_t lock_timeout_ns,
                          struct guest *bert, int64_t run_ns)
{
    struct sqlite_fixture sqlite_fixture;
    struct script script;
    struct guest anna = {.stays_ns = WEIR_SECONDS(3)};
    int64_t began_ns = weir_system_now_ns();

    sqlite_fixture_open(&sqlite_fixture, kind);
    sqlite_fixture.config.lock_timeout_ns = lock_timeout_ns;
    anna.sqlite_fixture = bert->sqlite_fixture = &sqlite_fixture;
    anna.link = sqlite_fixture_link(&sqlite_fixture);
    bert->link = sqlite_fixture_link(&sqlite_fixture);
    bert->comes_ns = WEIR_SECONDS(1);
    script_open(&script, IN_SIMULATION);
    invite(&script, &anna);
    invite(&script, bert);

    weir_sim_run_until(script.sim, run_ns);
    weir_ward_cancel(script.ward);
    weir_sim_run_until(script.sim, run_ns + WEIR_SECONDS(10));

    check_status(anna.status, WEIR_OK);
    check_int(anna.entered_ns, 0);
    /* Bert asked about a hundred times; somebody who spins asks a million times. */
    check(weir_sim_steps(script.sim) < 10000);
    check(weir_system_now_ns() - began_ns < WEIR_SECONDS(30));
    script_close(&script);
    sqlite_fixture_unlink(anna.link);
    sqlite_fixture_unlink(bert->link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_patience, waits_for_the_write_lock_in_virtual_time)
{
    for (enum sqlite_fixture_kind kind = A_FILE; kind <= IN_MEMORY; kind++) {
        struct guest bert = {0};

        let_them_meet(kind, WEIR_SECONDS(10), &bert, WEIR_SECONDS(20));

        check_status(bert.status, WEIR_OK);
        check_in_range(bert.entered_ns, WEIR_SECONDS(3), WEIR_SECONDS(3) + MS(20));
    }
}

WEIR_TEST(sqlite_patience, gives_up_when_the_lock_timeout_is_over)
{
    struct guest bert = {0};

    let_them_meet(A_FILE, MS(1500), &bert, WEIR_SECONDS(20));

    check_status(bert.status, WEIR_LOCKED);
    check_int(bert.entered_ns, WEIR_SECONDS(1) + MS(1500));
}

WEIR_TEST(sqlite_patience, stops_waiting_when_its_worker_is_cancelled)
{
    struct guest bert = {0};

    let_them_meet(A_FILE, 0, &bert, WEIR_SECONDS(2));

    check_status(bert.status, WEIR_CANCELLED);
    check_int(bert.entered_ns, WEIR_SECONDS(2));
}

/* Waiting for a lock is part of the statement. */
WEIR_TEST(sqlite_patience, counts_waiting_as_time_of_the_statement)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *anna, *bert;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.lock_timeout_ns = 0;
    sqlite_fixture.config.statement_timeout_ns = MS(5);
    anna = sqlite_fixture_link(&sqlite_fixture);
    bert = sqlite_fixture_link(&sqlite_fixture);
    check_status(driver->begin(anna, WEIR_READ_WRITE, &sqlite_fixture.error), WEIR_OK);

    check_status(driver->begin(bert, WEIR_READ_WRITE, &sqlite_fixture.error),
                 WEIR_TIMEOUT);

    sqlite_fixture_unlink(anna);
    sqlite_fixture_unlink(bert);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Between two rows ten timeouts pass; the rows themselves take no virtual time. */
static enum weir_status read_slowly(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct guest *self = state;
    struct weir_cursor cursor;
    void *prepared = NULL;
    enum weir_status status = driver->prepare(
        self->link,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "SELECT i FROM n",
        "", &prepared, error);

    (void)out;
    if (status != WEIR_OK)
        return status;
    status = driver->run(self->link, prepared, NULL, &cursor, error);
    for (int row = 0; status == WEIR_OK; row++) {
        status = driver->next(self->link, &cursor, error);
        if (row % 1000 == 0)
            weir_sleep_through(context, WEIR_SECONDS(10));
    }
    self->status = status;
    driver->finish(self->link, &cursor);
    driver->unprepare(self->link, prepared);
    return WEIR_OK;
}

WEIR_TEST(sqlite_patience, does_not_count_the_callers_time_between_rows)
{
    struct sqlite_fixture sqlite_fixture;
    struct script script;
    struct guest reader = {.status = WEIR_FAILED};
    struct weir_worker_options options;
    struct weir_notifier *bell;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    sqlite_fixture.config.statement_timeout_ns = WEIR_SECONDS(1);
    reader.link = sqlite_fixture_link(&sqlite_fixture);
    script_open(&script, IN_SIMULATION);
    bell = script_bell(&script);
    weir_worker_options_init(&options);
    options.name = "reader";
    options.action = read_slowly;
    options.state = &reader;
    options.notifiers = &bell;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(script.ward, &options, NULL, NULL), WEIR_OK);

    weir_sim_run_until(script.sim, WEIR_SECONDS(1000));

    check_status(reader.status, WEIR_NO_ROW);
    script_close(&script);
    sqlite_fixture_unlink(reader.link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- in real time ---- */

WEIR_TEST(sqlite_patience, ends_a_statement_that_takes_too_long)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    int64_t answer;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    sqlite_fixture.config.statement_timeout_ns = MS(5);
    link = sqlite_fixture_link(&sqlite_fixture);

    check_status(sqlite_fixture_try_ask(&sqlite_fixture, link, ENDLESS, &answer),
                 WEIR_TIMEOUT);
    check_int(sqlite_fixture.error.native_code, SQLITE_INTERRUPT);
    check_int(sqlite_fixture_ask(&sqlite_fixture, link, "SELECT 7"), 7);

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Called by a statement, as by another thread in just that moment. */
static void call_off(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct weir_link *link = sqlite3_user_data(context);

    atomic_store(&link->cancelled, true);
    sqlite3_result_value(context, arguments[count - 1]);
}

/* SQLite asks once more whether to go on when a statement has ended. An insert that is
 * committed must not be told as a failure. */
WEIR_TEST(sqlite_patience, never_fails_a_statement_that_is_done)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value value = weir_integer(1);
    void *prepared = NULL;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    check_int(sqlite3_create_function(sqlite_fixture_native(link), "call_off", 1,
                                      SQLITE_UTF8, link, call_off, NULL, NULL),
              SQLITE_OK);
    check_status(driver->prepare(link, "INSERT INTO t VALUES (call_off(?1))", "i",
                                 &prepared, &sqlite_fixture.error),
                 WEIR_OK);

    for (int i = 0; i < 1000; i++) { /* long enough for several looks */
        check_status(driver->run(link, prepared, &value, &cursor, &sqlite_fixture.error),
                     WEIR_OK);
        driver->finish(link, &cursor);
    }

    check_int(sqlite_fixture_ask(&sqlite_fixture, link, "SELECT count(*) FROM t"), 1000);
    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

struct canceller {
    struct weir_link *link;
    _Atomic bool over;
    pthread_t thread;
};

static void *cancel_until_over(void *argument)
{
    struct canceller *self = argument;

    while (!atomic_load(&self->over)) {
        driver->cancel(self->link);
        (void)sched_yield();
    }
    return NULL;
}

static void canceller_start(struct canceller *self, struct weir_link *link)
{
    self->link = link;
    atomic_init(&self->over, false);
    check_int(pthread_create(&self->thread, NULL, cancel_until_over, self), 0);
}

static void canceller_stop(struct canceller *self)
{
    atomic_store(&self->over, true);
    check_int(pthread_join(self->thread, NULL), 0);
}

WEIR_TEST(sqlite_patience, ends_a_statement_that_another_thread_cancels)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    struct canceller canceller;
    int64_t answer;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    sqlite_fixture.config.statement_timeout_ns = 0;
    link = sqlite_fixture_link(&sqlite_fixture);

    canceller_start(&canceller, link);
    check_status(sqlite_fixture_try_ask(&sqlite_fixture, link, ENDLESS, &answer),
                 WEIR_CANCELLED);
    canceller_stop(&canceller);

    check_int(sqlite_fixture_ask(&sqlite_fixture, link, "SELECT 7"), 7);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* sqlite3_interrupt() does not reach a busy handler. */
WEIR_TEST(sqlite_patience, ends_a_wait_for_a_lock_that_another_thread_cancels)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *anna, *bert;
    struct canceller canceller;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.lock_timeout_ns = 0;
    sqlite_fixture.config.statement_timeout_ns = 0;
    anna = sqlite_fixture_link(&sqlite_fixture);
    bert = sqlite_fixture_link(&sqlite_fixture);
    check_status(driver->begin(anna, WEIR_READ_WRITE, &sqlite_fixture.error), WEIR_OK);

    canceller_start(&canceller, bert);
    check_status(driver->begin(bert, WEIR_READ_WRITE, &sqlite_fixture.error),
                 WEIR_CANCELLED);
    canceller_stop(&canceller);

    driver->rollback(anna);
    check_status(driver->begin(bert, WEIR_READ_WRITE, &sqlite_fixture.error), WEIR_OK);
    sqlite_fixture_unlink(anna);
    sqlite_fixture_unlink(bert);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_patience, waits_longer_each_time_and_never_long)
{
    int64_t most_ns = WEIR_MICROSECONDS(200);

    for (int attempt = 0; attempt < 20; attempt++) {
        for (int64_t now_ns = 0; now_ns < 100; now_ns++)
            check_in_range(weir_sqlite_wait_ns(attempt, now_ns), most_ns / 2, most_ns);
        most_ns = 2 * most_ns < MS(20) ? 2 * most_ns : MS(20);
    }
    check(weir_sqlite_wait_ns(9, 1) != weir_sqlite_wait_ns(9, 2));
}
