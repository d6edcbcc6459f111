/* Tests of db/postgres/statement.c: what the session keeps, and what happens when it
 * does not; and of every type on its way to the server and back. */
#include "db/postgres/statement.h"

#include <float.h>
#include <math.h>

#include "unit/db/postgres_fixture.h"

#define COUNT_PREPARED                                                                   \
    "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'weir%'"

/* Run `prepared`, which takes nothing and gives an integer. */
static int64_t run(struct postgres_fixture *postgres_fixture, struct weir_link *link,
                   void *prepared)
{
    struct weir_value value;

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try_read(postgres_fixture, link, prepared,
                                                     NULL, WEIR_TYPE_INTEGER, &value),
                           WEIR_OK);
    check_int(value.type, WEIR_TYPE_INTEGER);
    return value.as.integer;
}

/* ---- names ---- */

POSTGRES_LINK_TEST(pg_statement, is_prepared_when_it_is_run_and_once)
{
    PGconn *connection;
    void *first;
    void *second;

    connection = pg->native(link);
    first = postgres_fixture_prepare(postgres_fixture, link, "SELECT 1", "");
    second = postgres_fixture_prepare(postgres_fixture, link, COUNT_PREPARED, "");

    check_int(run(postgres_fixture, link, second), 1);
    for (int i = 0; i < 3; i++)
        check_int(run(postgres_fixture, link, first), 1);

    check_int(run(postgres_fixture, link, second), 2);
    check_int(PQtransactionStatus(connection), PQTRANS_IDLE);
    pg->unprepare(link, first);
    pg->unprepare(link, second);
}

WEIR_TEST(pg_statement, stays_unnamed_behind_a_pooler)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    const struct weir_value value = weir_integer(7);
    struct weir_driver_step step = {.values = &value};
    size_t failed;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.url.transaction_pooler = true;
    link = postgres_fixture_link(&postgres_fixture);
    prepared = postgres_fixture_prepare(&postgres_fixture, link, "SELECT $1", "i");
    step.prepared = prepared;

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, link, prepared, &value), WEIR_OK);
    check_postgres_fixture(
        &postgres_fixture,
        pg->run_steps(link, &step, 1, &failed, &postgres_fixture.error), WEIR_OK);

    check_int(postgres_fixture_ask(&postgres_fixture, link,
                                   "SELECT count(*) FROM pg_prepared_statements"),
              0);
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

POSTGRES_LINK_TEST(pg_statement, refuses_letters_that_are_none)
{
    char letters[WEIR_PG_PARAMETERS_MAX + 2];
    void *prepared;

    memset(letters, 'i', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';

    check_postgres_fixture(
        postgres_fixture,
        pg->prepare(link, "SELECT $1", "x", &prepared, &postgres_fixture->error),
        WEIR_INVALID);
    check_str(postgres_fixture->error.text, "parameter 1 has no type 'x'");
    check_postgres_fixture(
        postgres_fixture,
        pg->prepare(link, "SELECT 1", letters, &prepared, &postgres_fixture->error),
        WEIR_INVALID);
}

/* ---- a session that forgets ---- */

POSTGRES_LINK_TEST(pg_statement, is_prepared_again_after_deallocate_all)
{
    void *prepared;

    prepared = postgres_fixture_prepare(postgres_fixture, link, "SELECT 7", "");
    check_int(run(postgres_fixture, link, prepared), 7);

    postgres_fixture_exec(postgres_fixture, link, "DEALLOCATE ALL");

    check_int(run(postgres_fixture, link, prepared), 7);
    check_int(run(postgres_fixture, link, prepared), 7);
    pg->unprepare(link, prepared);
}

/* Only one is gone: the others are still there under their names. */
POSTGRES_LINK_TEST(pg_statement, takes_a_new_name_when_it_is_prepared_again)
{
    void *first;
    void *second;

    first = postgres_fixture_prepare(postgres_fixture, link, "SELECT 1", "");
    second = postgres_fixture_prepare(postgres_fixture, link, "SELECT 2", "");
    check_int(run(postgres_fixture, link, first), 1);
    check_int(run(postgres_fixture, link, second), 2);

    postgres_fixture_exec(postgres_fixture, link, "DEALLOCATE weir_1");

    check_int(run(postgres_fixture, link, first), 1);
    check_int(run(postgres_fixture, link, second), 2);
    pg->unprepare(link, first);
    pg->unprepare(link, second);
}

WEIR_TEST(pg_statement, finds_that_the_session_has_lost_its_settings_too)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.lock_timeout_ns = WEIR_SECONDS(7);
    link = postgres_fixture_link(&postgres_fixture);
    prepared = postgres_fixture_prepare(&postgres_fixture, link, "SELECT 7", "");
    check_int(run(&postgres_fixture, link, prepared), 7);

    postgres_fixture_exec(&postgres_fixture, link, "DISCARD ALL");
    check_int(run(&postgres_fixture, link, prepared), 7);

    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW lock_timeout"), "7s");
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

/* The transaction has failed by then; repeating all of it works. */
POSTGRES_LINK_TEST(pg_statement, is_a_conflict_when_forgotten_inside_a_transaction)
{
    void *prepared;

    prepared = postgres_fixture_prepare(postgres_fixture, link, "SELECT 7", "");
    check_int(run(postgres_fixture, link, prepared), 7);
    postgres_fixture_exec(postgres_fixture, link, "DEALLOCATE ALL");

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, NULL),
                           WEIR_CONFLICT);
    check_int(postgres_fixture->error.status, WEIR_CONFLICT);
    check_str(postgres_fixture->error.sqlstate, "26000");
    check_int(pg->transaction(link), WEIR_TRANSACTION_FAILED);
    pg->rollback(link);

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    check_int(run(postgres_fixture, link, prepared), 7);
    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_OK);
    pg->unprepare(link, prepared);
}

/* Where one is gone all are: the others do not find out one failed transaction at a
 * time. */
POSTGRES_LINK_TEST(pg_statement, is_prepared_again_with_all_others)
{
    void *first;
    void *second;

    first = postgres_fixture_prepare(postgres_fixture, link, "SELECT 1", "");
    second = postgres_fixture_prepare(postgres_fixture, link, "SELECT 2", "");
    check_int(run(postgres_fixture, link, first), 1);
    check_int(run(postgres_fixture, link, second), 2);
    postgres_fixture_exec(postgres_fixture, link, "DEALLOCATE ALL");
    check_int(run(postgres_fixture, link, first), 1);

    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_WRITE, &postgres_fixture->error),
                           WEIR_OK);
    check_int(run(postgres_fixture, link, second), 2);
    check_postgres_fixture(postgres_fixture, pg->commit(link, &postgres_fixture->error),
                           WEIR_OK);

    pg->unprepare(link, first);
    pg->unprepare(link, second);
}

/* "cached plan must not change result type": a rolling upgrade widened a column. */
POSTGRES_LINK_TEST(pg_statement, is_prepared_again_when_a_table_has_changed)
{
    void *prepared;

    postgres_fixture_exec(postgres_fixture, link,
                          "CREATE TABLE t (a integer); INSERT INTO t VALUES (7)");
    prepared = postgres_fixture_prepare(postgres_fixture, link, "SELECT a FROM t", "");
    check_int(run(postgres_fixture, link, prepared), 7);

    postgres_fixture_exec(postgres_fixture, link, "ALTER TABLE t ALTER a TYPE bigint");
    check_int(run(postgres_fixture, link, prepared), 7);

    postgres_fixture_exec(postgres_fixture, link,
                          "ALTER TABLE t ALTER a TYPE integer; BEGIN");
    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, NULL),
                           WEIR_CONFLICT);
    pg->rollback(link);
    check_int(run(postgres_fixture, link, prepared), 7);
    pg->unprepare(link, prepared);
}

POSTGRES_LINK_TEST(pg_statement, that_the_server_cannot_do_is_not_tried_for_ever)
{
    void *prepared;

    postgres_fixture_exec(postgres_fixture, link, "CREATE TABLE t (a integer)");
    prepared = postgres_fixture_prepare(
        postgres_fixture, link, "SELECT 1 FROM (SELECT count(*) FROM t) x FOR UPDATE",
        "");

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, NULL),
                           WEIR_SCHEMA);

    check_str(postgres_fixture->error.sqlstate, "0A000");
    pg->unprepare(link, prepared);
}

/* ---- values there and back ---- */

/* Send one value, let the server say what it got as a text. */
static const char *as_text(struct postgres_fixture *postgres_fixture,
                           struct weir_link *link, const char *cast, const char *letters,
                           struct weir_value value)
{
    static char text[128];
    void *prepared;
    struct weir_value answer;

    snprintf(text, sizeof text, "SELECT (%s)::text", cast);
    prepared = postgres_fixture_prepare(postgres_fixture, link, text, letters);
    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try_read(postgres_fixture, link, prepared,
                                                     &value, WEIR_TYPE_TEXT, &answer),
                           WEIR_OK);
    pg->unprepare(link, prepared);
    return answer.type == WEIR_TYPE_TEXT ? answer.as.text.data : "null";
}

POSTGRES_LINK_TEST(pg_statement, sends_every_type_as_the_server_means_it)
{
    check_str(as_text(postgres_fixture, link, "$1", "i", weir_integer(INT64_MIN)),
              "-9223372036854775808");
    check_str(as_text(postgres_fixture, link, "$1", "r", weir_real(-0.1)), "-0.1");
    check_str(
        as_text(postgres_fixture, link, "$1", "t", weir_text(weir_str("caf\xc3\xa9"))),
        "caf\xc3\xa9");
    check_str(as_text(postgres_fixture, link, "$1", "b", weir_bytes("\0\xff", 2)),
              "\\x00ff");
    check_str(as_text(postgres_fixture, link, "$1", "f", weir_boolean(true)), "true");
    check_str(as_text(postgres_fixture, link, "$1", "m", weir_time(-1)),
              "1969-12-31 23:59:59.999999+00");
    check_str(as_text(postgres_fixture, link, "$1", "m",
                      weir_time(INT64_C(-210866803200000000))),
              "4714-11-24 00:00:00+00 BC");
    check_str(as_text(postgres_fixture, link, "$1", "t", weir_null()), "null");
    check_str(as_text(postgres_fixture, link, "length($1)", "t",
                      weir_text((struct weir_str){0})),
              "0");
}

POSTGRES_LINK_TEST(pg_statement, sends_arrays_of_every_type)
{
    const struct weir_value integers[] = {weir_integer(1), weir_null(), weir_integer(-3)};
    const struct weir_value reals[] = {weir_real(0.5)};
    const struct weir_value texts[] = {weir_text(weir_str("")),
                                       weir_text(weir_str("a,\"b")), weir_null()};
    const struct weir_value bytes[] = {weir_bytes("\0", 1), weir_bytes(NULL, 0)};
    const struct weir_value flags[] = {weir_boolean(true), weir_boolean(false)};
    const struct weir_value times[] = {weir_time(0)};

    check_str(as_text(postgres_fixture, link, "$1", "I",
                      weir_array(WEIR_TYPE_INTEGER, integers, 3)),
              "{1,NULL,-3}");
    check_str(
        as_text(postgres_fixture, link, "$1", "R", weir_array(WEIR_TYPE_REAL, reals, 1)),
        "{0.5}");
    check_str(
        as_text(postgres_fixture, link, "$1", "T", weir_array(WEIR_TYPE_TEXT, texts, 3)),
        "{\"\",\"a,\\\"b\",NULL}");
    check_str(
        as_text(postgres_fixture, link, "$1", "B", weir_array(WEIR_TYPE_BYTES, bytes, 2)),
        "{\"\\\\x00\",\"\\\\x\"}");
    check_str(as_text(postgres_fixture, link, "$1", "F",
                      weir_array(WEIR_TYPE_BOOLEAN, flags, 2)),
              "{t,f}");
    check_str(
        as_text(postgres_fixture, link, "$1", "M", weir_array(WEIR_TYPE_TIME, times, 1)),
        "{\"1970-01-01 00:00:00+00\"}");
    check_str(as_text(postgres_fixture, link, "$1", "I",
                      weir_array(WEIR_TYPE_INTEGER, NULL, 0)),
              "{}");
    check_str(as_text(postgres_fixture, link, "$1", "T", weir_null()), "null");
    check_str(as_text(postgres_fixture, link, "array_lower($1, 1)", "I",
                      weir_array(WEIR_TYPE_INTEGER, integers, 1)),
              "1");
}

POSTGRES_LINK_TEST(pg_statement, reads_what_the_server_sends)
{
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT (-5)::smallint"), -5);
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT 4294967295::oid"),
              UINT32_MAX);
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT '4294967297'::xid8"),
              INT64_C(4294967297));
    check(postgres_fixture_ask(postgres_fixture, link, "SELECT pg_current_xact_id()") >
          0);
    check(
        postgres_fixture_read(postgres_fixture, link, "SELECT 0.5::real", WEIR_TYPE_REAL)
            .as.real == 0.5);
    check(isinf(postgres_fixture_read(postgres_fixture, link, "SELECT 'Infinity'::float8",
                                      WEIR_TYPE_REAL)
                    .as.real));
    check_str(postgres_fixture_text(postgres_fixture, link, "SELECT '{\"a\": 1}'::jsonb"),
              "{\"a\": 1}");
    check_str(postgres_fixture_text(postgres_fixture, link, "SELECT 'abc'::varchar(5)"),
              "abc");
    check_str(postgres_fixture_text(postgres_fixture, link, "SELECT 'abc'"), "abc");
    check_str(postgres_fixture_text(postgres_fixture, link, "SELECT current_user"),
              SERVER_USER);
    check_int(postgres_fixture_read(postgres_fixture, link,
                                    "SELECT TIMESTAMPTZ '1970-01-01 00:00:01Z'",
                                    WEIR_TYPE_TIME)
                  .as.time_us,
              1000000);
    check_int(postgres_fixture_read(postgres_fixture, link,
                                    "SELECT 'infinity'::timestamptz", WEIR_TYPE_TIME)
                  .type,
              WEIR_TYPE_NULL);
    check_int(postgres_fixture_read(postgres_fixture, link, "SELECT 1.5::numeric",
                                    WEIR_TYPE_REAL)
                  .type,
              WEIR_TYPE_NULL);
    check_int(postgres_fixture_read(postgres_fixture, link,
                                    "SELECT '00112233-4455-6677-8899-aabbccddeeff'::uuid",
                                    WEIR_TYPE_BYTES)
                  .as.text.size,
              16);
}

POSTGRES_LINK_TEST(pg_statement, tells_nulls_from_columns_that_do_not_fit)
{
    struct weir_cursor cursor;
    struct weir_value value;
    bool fits;
    void *prepared;

    prepared =
        postgres_fixture_prepare(postgres_fixture, link, "SELECT NULL::bigint, 'a'", "");
    check_postgres_fixture(
        postgres_fixture,
        pg->run(link, prepared, NULL, &cursor, &postgres_fixture->error), WEIR_OK);
    check_postgres_fixture(postgres_fixture,
                           pg->next(link, &cursor, &postgres_fixture->error), WEIR_OK);

    pg->read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
    check(fits && value.type == WEIR_TYPE_NULL);
    pg->read(&cursor, 0, WEIR_TYPE_NULL, &value, &fits);
    check(fits && value.type == WEIR_TYPE_NULL);
    pg->read(&cursor, 1, WEIR_TYPE_INTEGER, &value, &fits);
    check(!fits);
    pg->read(&cursor, 1, WEIR_TYPE_NULL, &value, &fits);
    check(!fits);
    pg->read(&cursor, 2, WEIR_TYPE_INTEGER, &value, &fits);
    check(!fits);

    pg->finish(link, &cursor);
    pg->unprepare(link, prepared);
}

POSTGRES_LINK_TEST(pg_statement, counts_rows_that_it_changed_and_no_others)
{
    static const struct {
        const char *text;
        int64_t changed;
        size_t rows;
    } known[] = {
        {"INSERT INTO t SELECT generate_series(1, 5)", 5, 0},
        {"UPDATE t SET a = a WHERE a > 3", 2, 0},
        {"DELETE FROM t WHERE a = 1 RETURNING a", 1, 1},
        {"SELECT a FROM t", 0, 4},
        {"CREATE TABLE u ()", 0, 0},
        {"WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", 0, 4},
    };

    postgres_fixture_exec(postgres_fixture, link, "CREATE TABLE t (a bigint)");

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct weir_cursor cursor;
        void *prepared =
            postgres_fixture_prepare(postgres_fixture, link, known[i].text, "");

        check_postgres_fixture(
            postgres_fixture,
            pg->run(link, prepared, NULL, &cursor, &postgres_fixture->error), WEIR_OK);
        check_int(cursor.changed, known[i].changed);
        check_int(cursor.row_count, known[i].rows);
        pg->finish(link, &cursor);
        pg->unprepare(link, prepared);
    }
}

/* ---- many rows ---- */

enum { ROWS = 1000, COLUMNS = 6 };

POSTGRES_LINK_TEST(pg_statement, inserts_many_rows_of_all_types_at_once)
{
    static struct weir_value values[ROWS][COLUMNS];
    int64_t changed;
    void *prepared;

    postgres_fixture_exec(
        postgres_fixture, link,
        "CREATE TABLE t (i bigint, r float8, t text, b bytea, f boolean,"
        " m timestamptz)");
    prepared = postgres_fixture_prepare(
        postgres_fixture, link,
        "INSERT INTO t SELECT * FROM unnest($1, $2, $3, $4, $5, $6)", "IRTBFM");
    for (int i = 0; i < ROWS; i++) {
        values[i][0] = weir_integer(i);
        values[i][1] = i % 7 == 0 ? weir_null() : weir_real(i / 2.0);
        values[i][2] = i % 5 == 0 ? weir_null() : weir_text(weir_str("text"));
        values[i][3] = weir_bytes("\0\1", (size_t)(i % 3));
        values[i][4] = weir_boolean(i % 2 == 0);
        values[i][5] = weir_time(INT64_C(1000000) * i);
    }

    check_postgres_fixture(postgres_fixture,
                           pg->run_many(link, prepared, values[0], ROWS, COLUMNS,
                                        &changed, &postgres_fixture->error),
                           WEIR_OK);

    check_int(changed, ROWS);
    check_int(
        postgres_fixture_peek(postgres_fixture,
                              "SELECT count(*) FROM t WHERE r IS NOT DISTINCT FROM"
                              " CASE WHEN i % 7 = 0 THEN NULL ELSE i / 2.0 END AND"
                              " t IS NOT DISTINCT FROM CASE WHEN i % 5 = 0 THEN NULL ELSE"
                              " 'text' END AND length(b) = i % 3 AND f = (i % 2 = 0) AND"
                              " m = to_timestamp(i)"),
        ROWS);
    pg->unprepare(link, prepared);
}

/* More than libpq and the kernel take at once, several times over. */
POSTGRES_LINK_TEST(pg_statement, sends_many_mebibytes_at_once)
{
    enum { COUNT = 40, SIZE = 1024 * 1024 };
    static char bytes[SIZE];
    struct weir_value values[COUNT];
    struct weir_value answer;
    void *prepared;

    for (int i = 0; i < COUNT; i++)
        values[i] = weir_bytes(bytes, SIZE);
    values[0] = weir_array(WEIR_TYPE_BYTES, values + 1, COUNT - 1);
    prepared = postgres_fixture_prepare(
        postgres_fixture, link, "SELECT sum(length(b))::bigint FROM unnest($1) b", "B");

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try_read(postgres_fixture, link, prepared,
                                                     values, WEIR_TYPE_INTEGER, &answer),
                           WEIR_OK);

    check_int(answer.as.integer, (COUNT - 1) * SIZE);
    check(postgres_fixture_inside(link)->encoder.capacity == 0);
    check(!PQisnonblocking(pg->native(link)));
    pg->unprepare(link, prepared);
}
