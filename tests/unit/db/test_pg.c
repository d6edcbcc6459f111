/* Tests of db/postgres/driver.c: transactions, the clock, durability, many rows that
 * come back. */
#include "unit/db/postgres_fixture.h"
#include "ward/system.h"

/* ---- transactions ---- */

POSTGRES_LINK_TEST(pg, begins_at_read_committed)
{
    postgres_fixture_exec(postgres_fixture, link,
                          "SET default_transaction_isolation = 'serializable'");

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    check_str(postgres_fixture_text(postgres_fixture, link, "SHOW transaction_isolation"),
              "read committed");
    check_str(postgres_fixture_text(postgres_fixture, link, "SHOW transaction_read_only"),
              "off");
    check_int(pg->transaction(link), WEIR_TRANSACTION_OPEN);
    pg->rollback(link);
    check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_ONLY, &postgres_fixture->error),
                           WEIR_OK);
    check_str(postgres_fixture_text(postgres_fixture, link, "SHOW transaction_isolation"),
              "read committed");
    check_str(postgres_fixture_text(postgres_fixture, link, "SHOW transaction_read_only"),
              "on");
    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_OK);
}

/* The server answers COMMIT with ROLLBACK then, and calls that a success. */
POSTGRES_LINK_TEST(pg, does_not_call_it_a_commit_when_the_transaction_had_failed)
{
    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try(postgres_fixture, link, "SELECT 1/0"),
                           WEIR_INVALID);
    check_int(pg->transaction(link), WEIR_TRANSACTION_FAILED);

    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_FAILED);

    check_str(postgres_fixture->error.text,
              "the transaction had failed and was rolled back");
    check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);
}

POSTGRES_LINK_TEST(pg, reports_constraints_that_are_checked_at_commit)
{
    postgres_fixture_exec(
        postgres_fixture, link,
        "CREATE TABLE t (a bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    postgres_fixture_exec(postgres_fixture, link, "INSERT INTO t VALUES (1), (1)");

    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_CONSTRAINT);

    check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);
}

/* Its farewell is here: the commit is not even sent. */
POSTGRES_LINK_TEST(pg, is_lost_and_not_in_doubt_when_the_session_ended_before_the_commit)
{
    char text[128];

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    snprintf(text, sizeof text, "SELECT count(*) FROM pg_terminate_backend(%d, 10000) x",
             PQbackendPID(pg->native(link)));
    check_int(postgres_fixture_peek(postgres_fixture, text), 1);

    server_await_hangup(PQsocket(pg->native(link)));

    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_LOST);

    check_int(postgres_fixture->error.status, WEIR_LOST);
    check(link->lost);
    check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);
}

POSTGRES_LINK_TEST(pg, has_no_transaction_after_a_commit_that_could_not_be_sent)
{
    postgres_fixture_exec(postgres_fixture, link, "CREATE TABLE t (a bigint)");
    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    postgres_fixture_exec(postgres_fixture, link, "INSERT INTO t VALUES (1)");
    weir_fault_points_arm(&postgres_fixture->points, "db.fail", 2);
    weir_fault_points_fires(&postgres_fixture->points,
                            "db.fail"); /* the next one, and not the rollback */

    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_FAILED);

    weir_fault_points_init(&postgres_fixture->points);
    check(!link->lost);
    check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT count(*) FROM t"), 0);
}

WEIR_TEST(pg, is_lost_when_it_cannot_roll_back)
{
    static const char *const points[] = {"db.fail", "db.lose"};
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct weir_link *link = postgres_fixture_link(&postgres_fixture);

        check_postgres_fixture(&postgres_fixture,
                               pg->begin(link, WEIR_READ_WRITE, &postgres_fixture.error),
                               WEIR_OK);
        weir_fault_points_arm(&postgres_fixture.points, points[i], 1);
        pg->rollback(link);
        weir_fault_points_init(&postgres_fixture.points);
        check(link->lost);
        postgres_fixture_unlink(link);
    }
    postgres_fixture_close(&postgres_fixture);
}

/* ---- rows ---- */

POSTGRES_LINK_TEST(pg, reads_many_rows_without_copying)
{
    struct weir_cursor cursor;
    struct weir_value value;
    int64_t sum = 0;
    bool fits;
    void *prepared;

    prepared = postgres_fixture_prepare(postgres_fixture, link,
                                        "SELECT i, repeat('x', i::int % 100) FROM"
                                        " generate_series(1::bigint, 100000) i",
                                        "");
    check_postgres_fixture(
        postgres_fixture,
        pg->run(link, prepared, NULL, &cursor, &postgres_fixture->error), WEIR_OK);
    check_int(cursor.column_count, 2);

    while (pg->next(link, &cursor, &postgres_fixture->error) == WEIR_OK) {
        int64_t number;

        pg->read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
        number = value.as.integer;
        pg->read(&cursor, 1, WEIR_TYPE_TEXT, &value, &fits);
        check(fits && (int64_t)value.as.text.size == number % 100);
        sum += number;
    }

    check_int(sum, INT64_C(5000050000));
    check_int(pg->next(link, &cursor, &postgres_fixture->error), WEIR_NO_ROW);
    pg->finish(link, &cursor);
    pg->unprepare(link, prepared);
}

/* ---- the clock ---- */

POSTGRES_LINK_TEST(pg, tells_the_time_of_the_server_also_inside_a_transaction)
{
    int64_t first_us = 0;
    int64_t second_us = 0;

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);

    check_postgres_fixture(postgres_fixture,
                           pg->clock(link, &first_us, &postgres_fixture->error), WEIR_OK);
    postgres_fixture_exec(postgres_fixture, link, "SELECT pg_sleep(0.01)");
    check_postgres_fixture(
        postgres_fixture, pg->clock(link, &second_us, &postgres_fixture->error), WEIR_OK);

    check(second_us >= first_us + 10000);
    check_in_range(first_us - weir_system_wall_us(), -60000000, 60000000);
    pg->rollback(link);
}

/* ---- durability ---- */

struct findings {
    size_t count;
    char text[512];
};

static void note_finding(void *state, const struct weir_finding *finding)
{
    struct findings *self = state;
    size_t size = strlen(self->text);

    self->count++;
    snprintf(self->text + size, sizeof self->text - size, "%s=%s not %s;",
             finding->setting, finding->found, finding->needed);
}

static struct findings look(struct postgres_fixture *postgres_fixture,
                            struct weir_link *link)
{
    struct findings findings = {0};

    check_postgres_fixture(
        postgres_fixture,
        pg->durability(link, note_finding, &findings, &postgres_fixture->error), WEIR_OK);
    return findings;
}

POSTGRES_LINK_TEST(pg, finds_nothing_wrong_with_a_durable_server)
{
    check_str(look(postgres_fixture, link).text, "");
    postgres_fixture_exec(postgres_fixture, link, "SET synchronous_commit = 'local'");
    check_str(look(postgres_fixture, link).text, "");
}

POSTGRES_LINK_TEST(pg, finds_commits_that_do_not_wait)
{
    postgres_fixture_exec(postgres_fixture, link, "SET synchronous_commit = off");

    check_str(look(postgres_fixture, link).text, "synchronous_commit=off not on;");
}

/* Standbys that are never there would stop every commit: only local ones are made
 * here. */
WEIR_TEST(pg, finds_every_setting_that_loses_commits)
{
    static const char *const settings[] = {"fsync=off", "full_page_writes=off",
                                           "synchronous_commit=local",
                                           "synchronous_standby_names=nobody", NULL};
    const struct server_options options = {.settings = settings};
    struct server *server = server_create(WEIR_POSTGRESQL, &options);
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open_on(&postgres_fixture, server);
    link = postgres_fixture_link(&postgres_fixture);

    check_str(look(&postgres_fixture, link).text,
              "fsync=off not on;full_page_writes=off not on;"
              "synchronous_commit=local not on;");

    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
    server_destroy(server);
}

/* ---- faults ---- */

/* Everything a link does once, until something fails. */
static enum weir_status do_everything(struct postgres_fixture *postgres_fixture,
                                      struct weir_link *link, void *select, void *insert)
{
    const struct weir_value value = weir_integer(7);
    struct weir_driver_step step = {.prepared = select, .values = &value};
    struct findings findings = {0};
    struct weir_cursor cursor;
    int64_t number;
    size_t failed;
    enum weir_status status = pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error);

    if (status == WEIR_OK)
        status = pg->exec(link, "SAVEPOINT s", &postgres_fixture->error);
    if (status == WEIR_OK)
        status = pg->run(link, select, &value, &cursor, &postgres_fixture->error);
    if (status == WEIR_OK)
        pg->finish(link, &cursor);
    if (status == WEIR_OK)
        status =
            pg->run_many(link, insert, &value, 1, 1, &number, &postgres_fixture->error);
    if (status == WEIR_OK)
        status = pg->run_steps(link, &step, 1, &failed, &postgres_fixture->error);
    if (status == WEIR_OK)
        status = pg->clock(link, &number, &postgres_fixture->error);
    if (status == WEIR_OK)
        status = pg->durability(link, note_finding, &findings, &postgres_fixture->error);
    if (status != WEIR_OK && !link->lost)
        pg->rollback(link);
    return status != WEIR_OK ? status : pg->commit(link, &postgres_fixture->error);
}

/* The nth call fails, for n until all goes well: nothing leaks, no transaction stays
 * open. */
static void sweep(const char *point, enum weir_status want, enum weir_status at_commit)
{
    struct postgres_fixture postgres_fixture;
    enum weir_status status;
    uint64_t nth = 0;

    postgres_fixture_open(&postgres_fixture);
    server_execute(postgres_fixture.server, postgres_fixture.database,
                   "CREATE TABLE t (a bigint)");
    do {
        struct weir_link *link = postgres_fixture_link(&postgres_fixture);
        void *select =
            postgres_fixture_prepare(&postgres_fixture, link, "SELECT $1", "i");
        void *insert = postgres_fixture_prepare(&postgres_fixture, link,
                                                "INSERT INTO t SELECT unnest($1)", "I");

        nth++;
        weir_fault_points_arm(&postgres_fixture.points, point, 1000);
        for (uint64_t i = nth; i < 1000; i++)
            weir_fault_points_fires(&postgres_fixture.points, point);
        status = do_everything(&postgres_fixture, link, select, insert);
        weir_fault_points_init(&postgres_fixture.points);

        if (status != want && status != at_commit && status != WEIR_OK)
            check_postgres_fixture(&postgres_fixture, status, want);
        check_int(link->lost, status == WEIR_LOST || status == WEIR_IN_DOUBT);
        if (!link->lost)
            check_int(pg->transaction(link), WEIR_TRANSACTION_NONE);
        check_int(postgres_fixture_peek(&postgres_fixture, "SELECT count(*) FROM t"),
                  status == WEIR_OK);
        pg->unprepare(link, select);
        pg->unprepare(link, insert);
        postgres_fixture_unlink(link);
    } while (status != WEIR_OK);
    check_in_range(nth, 9, 20);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg, survives_a_loss_at_any_call)
{
    sweep("db.lose", WEIR_LOST, WEIR_IN_DOUBT);
}

WEIR_TEST(pg, survives_a_failure_at_any_call)
{
    sweep("db.fail", WEIR_FAILED, WEIR_FAILED);
}
