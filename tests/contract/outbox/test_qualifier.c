/*
 * Where the tables are: two installations of one prefix in one database, sessions that
 * look elsewhere, and what is known of it when.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <stdio.h>
#include <string.h>

#include "db/db.h"
#include "kit/db/adopted.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/schema.h"

enum { TEXT_SIZE = 1024, HELD = 4 };

/* A statement of the test's, on the bare driver. */
static void prepare(struct fixture *fixture, const char *sql)
{
    server_execute(fixture->server, fixture->database, sql);
}

/* New sessions look there first. */
static void look_in(struct fixture *fixture, const char *path)
{
    char sql[TEXT_SIZE];

    snprintf(sql, sizeof sql, "ALTER DATABASE %s SET search_path = %s", fixture->database,
             path);
    prepare(fixture, sql);
}

static struct weir_db *open_again(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    return fixture_open(fixture, &options);
}

/* A second installation, in the schema `other`; sessions look in `public` first again,
 * or as told. */
static void install_other(struct fixture *fixture)
{
    struct weir_db *db;

    prepare(fixture, "CREATE SCHEMA other");
    look_in(fixture, "other");
    db = open_again(fixture);
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    weir_db_destroy(db);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_schema"),
              fixture_ask(fixture, "SELECT count(*) FROM public.weir_schema"));
    look_in(fixture, "public");
}

static struct weir_outbox *outbox_on(struct fixture *fixture, struct weir_db *db)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "bert");

    options.db = db;
    return outbox_fixture_create(fixture, &options);
}

/* ---- finding ----------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(home, is_not_kept_before_there_are_tables)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_outbox_options wanted = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox = NULL;
    char home[WEIR_QUALIFIER_SIZE];
    struct weir_db *db;

    options.prefix = "late";
    db = fixture_open(fixture, &options);
    wanted.db = db;
    check_db(weir_outbox_create(&wanted, &outbox, &fixture->error), WEIR_SCHEMA);
    check(!weir_db_get_qualifier(db, home));

    prepare(fixture, "CREATE SCHEMA elsewhere");
    look_in(fixture, "elsewhere");
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);

    /* By a session that looks in `public` and sees nothing of it yet. */
    check_db(weir_outbox_create(&wanted, &outbox, &fixture->error), WEIR_SCHEMA);
    check(!weir_db_get_qualifier(db, home));
    weir_db_destroy(db);
}

OUTBOX_POSTGRESQL_TEST(home, is_found_by_the_handle_that_has_migrated)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_outbox *outbox;
    char home[WEIR_QUALIFIER_SIZE];
    struct weir_db *db;

    options.prefix = "late";
    db = fixture_open(fixture, &options);
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    outbox = outbox_on(fixture, db);

    check(weir_db_get_qualifier(db, home));
    check_str(home, "\"public\".");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM late_queue"), 1);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
}

OUTBOX_POSTGRESQL_TEST(home, may_have_any_name)
{
    struct weir_outbox *outbox;
    struct weir_db *db;

    prepare(fixture, "CREATE SCHEMA \"Bo\"\"b's\"");
    look_in(fixture, "\"Bo\"\"b's\"");
    db = open_again(fixture);
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    outbox = outbox_on(fixture, db);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);

    wait_until(fixture_ask(fixture, "SELECT coalesce(max(seq), 0)"
                                    " FROM \"Bo\"\"b's\".weir_ack") == 3);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM public.weir_queue"), 0);
    outbox_fixture_close(outbox);
    weir_db_destroy(db);
}

/* ---- two installations ------------------------------------------------------------- */

/*
 * Sessions that are connected later look in the other schema first: a setting of the
 * database was changed. All that runs stays with the tables that were found.
 */
OUTBOX_POSTGRESQL_TEST(home, is_where_it_was_found_whatever_new_sessions_look_at)
{
    struct recorder *recorder = recorder_new();
    struct weir_connection *held[HELD];
    struct weir_outbox *outbox;
    int64_t cuts;

    install_other(fixture);
    cuts = fixture_ask(fixture, "SELECT count(*) FROM other.weir_cut");
    prepare(fixture, "INSERT INTO other.weir_log (pid, uid, type, payload)"
                     " SELECT 64, '\\x00', 'message', '' FROM generate_series(1, 50)");
    outbox_small_segments(fixture, 6);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    for (int i = 0; i < HELD; i++) /* all others are new */
        held[i] = fixture_take(fixture);
    look_in(fixture, "other");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    for (int i = 0; i < 6; i++)
        outbox_fixture_send(fixture, outbox, "orders", 0, 50);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 300);
    wait_until(fixture_ask(fixture, "SELECT count(*) FROM public.weir_log") < 150);

    check_int(recorder_count(recorder), 300);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_log"), 50);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_queue"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_member"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_lease"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other.weir_cut"), cuts);
    outbox_fixture_close(outbox);
    for (int i = 0; i < HELD; i++)
        fixture_give(fixture, held[i]);
}

OUTBOX_POSTGRESQL_TEST(home, of_a_migration_is_where_the_tables_are)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_schema older = weir_outbox_schema;
    uint32_t from;
    uint32_t to;
    struct weir_db *db;

    options.prefix = "old";
    older.count = 8; /* those behind make tables */
    db = fixture_open(fixture, &options);
    check_db(weir_schema_migrate(&older, db, &from, &to, &fixture->error), WEIR_OK);
    weir_db_destroy(db);
    prepare(fixture, "CREATE SCHEMA empty");
    look_in(fixture, "empty, public");
    db = fixture_open(fixture, &options);

    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);

    weir_outbox_destroy(outbox_on(fixture, db));
    check_int(fixture_ask(fixture,
                          "SELECT count(*) FROM pg_class c JOIN pg_namespace n"
                          " ON n.oid = c.relnamespace WHERE n.nspname = 'empty'"),
              0);
    weir_db_destroy(db);
}

/* ---- adopted connections ----------------------------------------------------------- */

static enum weir_status enqueue_on(struct fixture *fixture, struct weir_outbox *outbox,
                                   struct adopted *adopted)
{
    struct weir_draft draft = outbox_fixture_draft(0, "adopted");

    return weir_enqueue(outbox, adopted->connection, "orders", &draft, NULL,
                        &fixture->error);
}

OUTBOX_SERVER_TEST(home, is_known_to_adopted_connections_that_look_elsewhere)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct adopted adopted;
    char sql[TEXT_SIZE];

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    check_db(adopted_open(&adopted, fixture, fixture->db, &fixture->error), WEIR_OK);
    if (fixture->engine == WEIR_POSTGRESQL) {
        check(effects_run(adopted.connection, "CREATE SCHEMA tenant; BEGIN;"
                                              " SET LOCAL search_path = tenant"));
    } else {
        snprintf(sql, sizeof sql, "CREATE DATABASE t_%s; USE t_%s; START TRANSACTION",
                 fixture->database, fixture->database);
        check(effects_run(adopted.connection, sql));
    }

    check_db(enqueue_on(fixture, outbox, &adopted), WEIR_OK);
    check(effects_run(adopted.connection, "COMMIT"));

    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, 1);
    adopted_close(&adopted);
    if (fixture->engine == WEIR_MARIADB) {
        snprintf(sql, sizeof sql, "DROP DATABASE t_%s", fixture->database);
        prepare(fixture, sql);
    }
    weir_outbox_destroy(outbox);
}

/* Asks an adopted connection of a handle that knows nothing yet. */
static enum weir_status count_queues(struct fixture *fixture, struct weir_db *db,
                                     const char *before, int64_t *out)
{
    static const struct weir_sql SQL_COUNT = {
        .name = "count", .text = "SELECT count(*) FROM {p}_queue", .parameters = ""};
    struct adopted adopted;
    enum weir_status status;

    check_db(adopted_open(&adopted, fixture, db, &fixture->error), WEIR_OK);
    check(effects_run(adopted.connection, before));
    status = weir_connection_query_integer(adopted.connection, &SQL_COUNT, NO_VALUES, out,
                                           &fixture->error);
    adopted_close(&adopted);
    return status;
}

OUTBOX_POSTGRESQL_TEST(home, is_the_only_one_if_an_adopted_connection_sees_none)
{
    struct weir_db *db = open_again(fixture);
    char home[WEIR_QUALIFIER_SIZE];
    int64_t count = -1;

    check_db(count_queues(fixture, db, "SET search_path = nowhere", &count), WEIR_OK);

    check_int(count, 0);
    check(!weir_db_get_qualifier(db, home));
    weir_db_destroy(db);
}

OUTBOX_POSTGRESQL_TEST(home, is_not_guessed_by_an_adopted_connection_of_several)
{
    struct weir_db *db;
    char home[WEIR_QUALIFIER_SIZE];
    int64_t count = -1;

    install_other(fixture);
    prepare(fixture, "INSERT INTO other.weir_queue (id, name, partitions, created_us)"
                     " VALUES (1, 'one', 1, 0)");
    db = open_again(fixture);

    check_db(count_queues(fixture, db, "SET search_path = nowhere", &count), WEIR_SCHEMA);
    check(strstr(fixture->error.text, "several schemas") != NULL);
    check_db(count_queues(fixture, db, "SET search_path = other", &count), WEIR_OK);
    check_int(count, 1);
    check(!weir_db_get_qualifier(db, home));
    weir_outbox_destroy(outbox_on(fixture, db));
    check(weir_db_get_qualifier(db, home));
    check_str(home, "\"public\".");
    weir_db_destroy(db);
}
