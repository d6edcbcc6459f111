/*
 * What a handler sets in its session: where names are looked for, its role, temporary
 * tables, locks. Its messages are acknowledged all the same, and neither the next
 * message nor the next user of the connection finds anything of it.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"

enum { MESSAGES_MAX = 4, SQL_SIZE = 1024 };

/* A handler that runs these statements at these messages, then answers as the recorder
 * says. Static, as recorders are. */
struct tenant {
    struct recorder *recorder;
    struct weir_outbox *outbox;
    char sql[MESSAGES_MAX + 1][SQL_SIZE]; /* by the number of the message */
    struct recorder *onward;   /* NULL; or it enqueues one behind that, for this */
    _Atomic uint32_t failures; /* of all these */
};

static struct tenant *tenant_new(void)
{
    static struct tenant tenants[4];
    static size_t used;
    struct tenant *self = &tenants[used++ % 4];

    *self = (struct tenant){.recorder = recorder_new()};
    return self;
}

/* The statement of message `seq`; "%s" is the tenant's name, of which each test has
 * another. */
static void tenant_runs(struct fixture *fixture, struct tenant *self, int64_t seq,
                        const char *sql)
{
    char *out = self->sql[seq];
    size_t size = strlen(out);

    for (; *sql != '\0'; sql++) {
        if (*sql == '%')
            size +=
                (size_t)snprintf(out + size, SQL_SIZE - size, "t_%s", fixture->database);
        else
            out[size++] = *sql;
        check(size < SQL_SIZE - 1);
    }
    out[size] = '\0';
}

static void forward(struct tenant *self, struct weir_connection *connection)
{
    struct weir_draft draft = outbox_fixture_draft(0, "forwarded");

    if (weir_enqueue(self->outbox, connection, "onward", &draft, NULL, NULL) != WEIR_OK)
        atomic_fetch_add(&self->failures, 1);
}

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct tenant *self = state;
    const char *sql = message->seq <= MESSAGES_MAX ? self->sql[message->seq] : "";

    if (*sql != '\0' && !effects_run(connection, sql))
        atomic_fetch_add(&self->failures, 1);
    if (self->onward != NULL)
        forward(self, connection);
    return recorder_on_message(context, self->recorder, message, reason);
}

/* A statement of the test's, as SERVER_USER; '%' as above. */
static void prepare(struct fixture *fixture, const char *sql)
{
    struct tenant scratch = {.recorder = NULL};

    tenant_runs(fixture, &scratch, 0, sql);
    server_execute(fixture->server, fixture->database, scratch.sql[0]);
}

/* A place of the tenant's, with a table `note` in it; and a role that may write there
 * and nowhere else. */
static void make_place(struct fixture *fixture)
{
    if (fixture->engine == WEIR_POSTGRESQL) {
        prepare(fixture, "CREATE SCHEMA tenant");
        prepare(fixture, "CREATE TABLE tenant.note (word text)");
        prepare(fixture, "CREATE ROLE %");
        prepare(fixture, "GRANT USAGE ON SCHEMA tenant, public TO %");
        prepare(fixture, "GRANT ALL ON tenant.note TO %");
    } else {
        prepare(fixture, "CREATE DATABASE %");
        prepare(fixture, "CREATE TABLE %.note (word VARCHAR(100)) ENGINE=InnoDB");
    }
}

static const char *note_table(struct fixture *fixture)
{
    static char name[SERVER_PATH_SIZE + 16];

    snprintf(name, sizeof name,
             fixture->engine == WEIR_POSTGRESQL ? "tenant.note" : "t_%s.note",
             fixture->database);
    return name;
}

static int64_t notes(struct fixture *fixture, const char *word)
{
    char sql[SERVER_PATH_SIZE + 128];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE word = '%s'",
             note_table(fixture), word);
    return fixture_ask(fixture, sql);
}

static void remove_place(struct fixture *fixture)
{
    if (fixture->engine == WEIR_POSTGRESQL) {
        prepare(fixture, "DROP OWNED BY %");
        prepare(fixture, "DROP ROLE %");
    } else {
        prepare(fixture, "DROP DATABASE %");
    }
}

/* So many messages in one batch; not started. */
static struct weir_outbox *tenant_outbox(struct fixture *fixture, struct tenant *tenant,
                                         size_t count)
{
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);

    handler.on_message = NULL;
    handler.on_message_tx = on_message;
    handler.state = tenant;
    tenant->outbox = outbox_fixture_outbox(fixture, "anna");
    outbox_fixture_queue(fixture, tenant->outbox, "orders", 1);
    outbox_fixture_queue(fixture, tenant->outbox, "onward", 1);
    outbox_fixture_add(fixture, tenant->outbox, &handler);
    if (tenant->onward != NULL)
        outbox_fixture_serve(fixture, tenant->outbox, "onward", tenant->onward);
    outbox_fixture_send(fixture, tenant->outbox, "orders", 0, count);
    return tenant->outbox;
}

/* All of them are acknowledged, each at its first attempt, and no statement of theirs
 * has failed. */
static void check_delivered(struct fixture *fixture, struct tenant *tenant, int64_t count)
{
    struct weir_outbox *outbox = tenant_outbox(fixture, tenant, (size_t)count);

    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == count ||
               recorder_count(tenant->recorder) > (size_t)count);
    check_int(outbox_fixture_seq(fixture, outbox, "orders", 0), count);
    check_int(recorder_count(tenant->recorder), count);
    check_int(atomic_load(&tenant->failures), 0);
    wait_until(tenant->onward == NULL ||
               outbox_fixture_seq(fixture, outbox, "onward", 0) == count);
    outbox_fixture_close(outbox);
}

/* ---- where names are looked for ---------------------------------------------------- */

static const char *go_there(const struct fixture *fixture)
{
    return fixture_choose(fixture, "", "SET LOCAL search_path = tenant;", "USE %;");
}

OUTBOX_SERVER_TEST(settings, of_where_to_look_do_not_keep_a_message_from_its_ack)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    for (int64_t seq = 1; seq <= 3; seq++) {
        tenant_runs(fixture, tenant, seq, go_there(fixture));
        tenant_runs(fixture, tenant, seq, "INSERT INTO note VALUES ('there')");
    }

    check_delivered(fixture, tenant, 3);

    check_int(notes(fixture, "there"), 3);
    remove_place(fixture);
}

OUTBOX_SERVER_TEST(settings, of_where_to_look_do_not_keep_a_handler_from_a_reject)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    tenant_runs(fixture, tenant, 1, go_there(fixture));
    recorder_answer(tenant->recorder, 1, ALWAYS, ANSWER_REJECT);
    tenant_runs(fixture, tenant, 2, go_there(fixture));

    check_delivered(fixture, tenant, 2);
    remove_place(fixture);
}

OUTBOX_SERVER_TEST(settings, of_where_to_look_do_not_keep_a_handler_from_enqueuing)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    tenant->onward = recorder_new();
    tenant_runs(fixture, tenant, 1, go_there(fixture));
    tenant_runs(fixture, tenant, 2, go_there(fixture));

    check_delivered(fixture, tenant, 2);

    check_int(recorder_count(tenant->onward), 2);
    remove_place(fixture);
}

/* The second message writes where bare names are looked for without a word of its
 * handler's. */
OUTBOX_SERVER_TEST(settings, of_where_to_look_are_not_those_of_the_next_message)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    fixture_prepare(fixture, "CREATE TABLE note (word $key)");
    tenant_runs(fixture, tenant, 1, go_there(fixture));
    tenant_runs(fixture, tenant, 1, "INSERT INTO note VALUES ('first')");
    tenant_runs(fixture, tenant, 2, "INSERT INTO note VALUES ('second')");

    check_delivered(fixture, tenant, 2);

    check_int(notes(fixture, "first"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM note WHERE word = 'second'"), 1);
    remove_place(fixture);
}

/* ---- the role ---------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(settings, of_the_role_do_not_keep_a_message_from_its_ack)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    for (int64_t seq = 1; seq <= 3; seq++)
        tenant_runs(fixture, tenant, seq,
                    "SET LOCAL ROLE %; INSERT INTO tenant.note VALUES (current_user)");
    recorder_answer(tenant->recorder, 2, ALWAYS, ANSWER_REJECT);

    check_delivered(fixture, tenant, 3);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM tenant.note"
                                   " WHERE word = 't_' || current_database()"),
              2);
    remove_place(fixture);
}

OUTBOX_POSTGRESQL_TEST(settings, of_the_session_user_do_not_keep_a_message_from_its_ack)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    tenant_runs(fixture, tenant, 1, "SET LOCAL SESSION AUTHORIZATION %");
    tenant_runs(fixture, tenant, 2, "SET SESSION AUTHORIZATION %; SET ROLE %");

    check_delivered(fixture, tenant, 2);
    remove_place(fixture);
}

/* What the second message finds, it writes down. */
OUTBOX_POSTGRESQL_TEST(settings, of_any_kind_are_not_those_of_the_next_message)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    tenant_runs(fixture, tenant, 1,
                "SET LOCAL ROLE %; SET LOCAL app.tenant = 'x'; SET statement_timeout = 7;"
                "SET LOCAL search_path = tenant; SET row_security = off; SET TimeZone = "
                "'Asia/Tokyo'");
    tenant_runs(
        fixture, tenant, 2,
        "INSERT INTO tenant.note SELECT concat(current_user, ' ',"
        " current_setting('search_path'), ' <', current_setting('app.tenant', true),"
        " '> ', current_setting('statement_timeout'), ' ',"
        " current_setting('TimeZone'))");

    check_delivered(fixture, tenant, 2);

    check_int(notes(fixture, "weir \"$user\", public <> 30s UTC"), 1);
    remove_place(fixture);
}

OUTBOX_MARIADB_TEST(settings, of_the_role_are_not_those_of_the_next_message)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    prepare(fixture, "CREATE ROLE %");
    prepare(fixture, "GRANT ALL ON %.* TO %");
    tenant_runs(fixture, tenant, 1,
                "SET ROLE %; SET time_zone = '+09:00', max_statement_time = 7;"
                "INSERT INTO %.note VALUES (COALESCE(CURRENT_ROLE(), 'none'))");
    tenant_runs(fixture, tenant, 2,
                "INSERT INTO %.note VALUES (CONCAT(COALESCE(CURRENT_ROLE(), 'none'), ' ',"
                " @@time_zone, ' ', @@max_statement_time))");

    check_delivered(fixture, tenant, 2);

    check_int(notes(fixture, "none +00:00 30.000000"), 1);
    prepare(fixture, "DROP ROLE %");
    remove_place(fixture);
}

/* ---- a role that comes with the user ----------------------------------------------- */

/* A user whose rights on our tables are those of a role, which it has from the start. */
static void make_user(struct fixture *fixture)
{
    make_place(fixture);
    prepare(fixture, "CREATE ROLE %_all");
    if (fixture->engine == WEIR_POSTGRESQL) {
        prepare(fixture, "GRANT ALL ON ALL TABLES IN SCHEMA public TO %_all");
        prepare(fixture, "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO %_all");
        prepare(fixture, "CREATE ROLE %_user LOGIN NOINHERIT PASSWORD 'x'");
        prepare(fixture, "GRANT %, %_all TO %_user");
        prepare(fixture, "ALTER ROLE %_user SET role = %_all");
    } else {
        char sql[SQL_SIZE];

        snprintf(sql, sizeof sql, "GRANT ALL ON %s.* TO t_%s_all", fixture->database,
                 fixture->database);
        server_execute(fixture->server, fixture->database, sql);
        prepare(fixture, "GRANT ALL ON %.* TO %_all");
        prepare(fixture, "CREATE USER %_user IDENTIFIED BY 'x'");
        prepare(fixture, "GRANT %_all TO %_user");
        prepare(fixture, "SET DEFAULT ROLE %_all FOR %_user");
    }
}

static void remove_user(struct fixture *fixture)
{
    if (fixture->engine == WEIR_POSTGRESQL) {
        prepare(fixture, "DROP ROLE %_user");
        prepare(fixture, "DROP OWNED BY %_all");
        prepare(fixture, "DROP ROLE %_all");
    } else {
        prepare(fixture, "DROP USER %_user");
        prepare(fixture, "DROP ROLE %_all");
    }
    remove_place(fixture);
}

static struct weir_db *open_as_user(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    char user[SERVER_PATH_SIZE + 16];
    char url[SERVER_URL_SIZE];

    snprintf(user, sizeof user, "t_%s_user", fixture->database);
    server_url_as(fixture->server, user, "x", fixture->database, url, sizeof url);
    options.url = url;
    return fixture_open(fixture, &options);
}

OUTBOX_SERVER_TEST(settings, of_the_role_give_way_to_the_one_that_we_came_with)
{
    struct tenant *tenant = tenant_new();
    struct weir_db *usual = fixture->db;

    make_user(fixture);
    fixture->db = open_as_user(fixture);
    for (int64_t seq = 1; seq <= 2; seq++)
        tenant_runs(fixture, tenant, seq,
                    fixture_choose(fixture, "", "SET LOCAL ROLE %", "SET ROLE NONE"));
    recorder_answer(tenant->recorder, 2, ALWAYS, ANSWER_REJECT);

    check_delivered(fixture, tenant, 2);

    weir_db_destroy(fixture->db);
    fixture->db = usual;
    remove_user(fixture);
}

/* A time that no statement keeps: the ack has its own. */
OUTBOX_POSTGRESQL_TEST(settings, of_timeouts_do_not_keep_a_message_from_its_ack)
{
    struct tenant *tenant = tenant_new();

    tenant_runs(fixture, tenant, 1, "SET LOCAL statement_timeout = '1s'");
    tenant_runs(fixture, tenant, 2,
                "SET LOCAL standard_conforming_strings = off;"
                "SET LOCAL lock_timeout = 1");

    check_delivered(fixture, tenant, 2);
}

/* ---- what is deferred -------------------------------------------------------------- */

/* A constraint trigger writes down as whom it runs. */
static void make_deferred(struct fixture *fixture)
{
    make_place(fixture);
    prepare(fixture, "CREATE TABLE tenant.deed (n integer)");
    prepare(fixture, "GRANT ALL ON tenant.deed TO %");
    prepare(fixture,
            "CREATE FUNCTION tenant.tell() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN INSERT INTO tenant.note VALUES (current_user); RETURN NULL;"
            " END $$");
    prepare(fixture, "CREATE CONSTRAINT TRIGGER tell AFTER INSERT ON tenant.deed"
                     " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
                     " EXECUTE FUNCTION tenant.tell()");
}

OUTBOX_POSTGRESQL_TEST(settings, of_the_role_hold_for_triggers_that_were_deferred)
{
    struct tenant *tenant = tenant_new();

    make_deferred(fixture);
    tenant_runs(fixture, tenant, 1,
                "SET LOCAL ROLE %; INSERT INTO tenant.deed VALUES (1)");
    tenant_runs(fixture, tenant, 2,
                "SET LOCAL ROLE %; INSERT INTO tenant.deed VALUES (2)");
    tenant_runs(fixture, tenant, 3, "INSERT INTO tenant.deed VALUES (3)");

    check_delivered(fixture, tenant, 3);

    check_int(notes(fixture, "weir"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM tenant.note"
                                   " WHERE word = 't_' || current_database()"),
              2);
    remove_place(fixture);
}

/* What it broke is told at its own message, and the others go on. */
OUTBOX_POSTGRESQL_TEST(settings,
                       of_the_role_leave_a_deferred_constraint_to_corner_its_message)
{
    struct tenant *tenant = tenant_new();
    struct weir_outbox *outbox;

    make_place(fixture);
    prepare(fixture, "CREATE TABLE tenant.parent (id integer PRIMARY KEY)");
    prepare(fixture, "CREATE TABLE tenant.child (id integer REFERENCES tenant.parent"
                     " DEFERRABLE INITIALLY DEFERRED)");
    prepare(fixture, "GRANT ALL ON tenant.parent, tenant.child TO %");
    tenant_runs(fixture, tenant, 2,
                "SET LOCAL ROLE %; INSERT INTO tenant.child VALUES (7)");
    outbox = tenant_outbox(fixture, tenant, 3);
    outbox_fixture_start(fixture, outbox);

    wait_until(
        outbox_fixture_seq(fixture, outbox, "orders", 0) == 1 &&
        outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts >= 2);
    check(
        strstr(
            outbox_fixture_partition(fixture, outbox, "orders", "default", 0).last_error,
            "foreign key") != NULL);
    prepare(fixture, "INSERT INTO tenant.parent VALUES (7)");
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM tenant.child"), 1);
    outbox_fixture_close(outbox);
    remove_place(fixture);
}

/* A batch may end behind any message, so each has to satisfy its constraints by
 * itself. */
OUTBOX_POSTGRESQL_TEST(settings, of_constraints_hold_at_the_end_of_each_message)
{
    struct tenant *tenant = tenant_new();

    prepare(fixture, "CREATE TABLE parent (id integer PRIMARY KEY)");
    prepare(fixture, "CREATE TABLE child (id integer REFERENCES parent"
                     " DEFERRABLE INITIALLY DEFERRED)");
    tenant_runs(fixture, tenant, 1,
                "INSERT INTO child VALUES (7); INSERT INTO parent VALUES (7)");
    tenant_runs(fixture, tenant, 2,
                "INSERT INTO child VALUES (8); INSERT INTO parent VALUES (8)");

    check_delivered(fixture, tenant, 2);
}

/* A trigger finds its tables by the search_path, and a tenant by a setting, of its
 * message. */
OUTBOX_POSTGRESQL_TEST(settings, of_a_message_hold_for_triggers_that_were_deferred)
{
    struct tenant *tenant = tenant_new();

    make_place(fixture);
    prepare(fixture, "CREATE TABLE public.note (word text);"
                     "CREATE TABLE public.entry (id integer)");
    prepare(fixture,
            "CREATE FUNCTION public.write_note() RETURNS trigger LANGUAGE plpgsql"
            " AS 'BEGIN INSERT INTO note VALUES"
            " (current_setting(''app.tenant'', true)); RETURN NULL; END'");
    prepare(fixture, "CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON public.entry"
                     " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
                     " EXECUTE FUNCTION public.write_note()");
    tenant_runs(fixture, tenant, 1,
                "SET LOCAL search_path = tenant, public; SET LOCAL app.tenant = 'x';"
                "INSERT INTO entry VALUES (1)");

    check_delivered(fixture, tenant, 2);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM tenant.note WHERE word = 'x'"),
              1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM public.note"), 0);
    remove_place(fixture);
}

/* Hardening may leave nothing but SQL to roles. */
OUTBOX_POSTGRESQL_TEST(settings, need_no_language)
{
    struct tenant *tenant = tenant_new();

    prepare(fixture, "REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC");
    tenant_runs(fixture, tenant, 1, "SET LOCAL statement_timeout = 20000");

    check_delivered(fixture, tenant, 2);
}

/* What another message has set reaches neither texts nor counts of the next one. */
OUTBOX_MARIADB_TEST(settings, of_texts_and_limits_do_not_meet_the_next_message)
{
    struct tenant *tenant = tenant_new();
    char question[SQL_SIZE];

    make_place(fixture);
    tenant_runs(fixture, tenant, 1,
                "SET SESSION character_set_client = latin1, character_set_connection ="
                " latin1, sql_big_selects = 0, max_join_size = 1,"
                " sql_safe_updates = 1, session_track_schema = OFF");
    tenant_runs(fixture, tenant, 2, "INSERT INTO %.note VALUES ('caf\xc3\xa9')");

    check_delivered(fixture, tenant, 3);

    snprintf(question, sizeof question, "SELECT sum(char_length(word)) FROM %s",
             note_table(fixture));
    check_int(fixture_ask(fixture, question), 4);
    remove_place(fixture);
}

/* ---- temporary tables -------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(settings, temporary_tables_of_our_names_do_not_stand_in_for_ours)
{
    struct tenant *tenant = tenant_new();

    tenant_runs(fixture, tenant, 1,
                "CREATE TEMP TABLE weir_lease AS SELECT * FROM weir_lease;"
                "CREATE TEMP TABLE weir_ack AS SELECT * FROM weir_ack;"
                "CREATE TEMP TABLE weir_queue AS SELECT * FROM weir_queue");

    check_delivered(fixture, tenant, 3);
}

/* ---- the pool ---------------------------------------------------------------------- */

/* Take the connection that was given back last, run, give it back. */
static void borrow_and_run(struct fixture *fixture, const char *sql)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct tenant scratch = {.recorder = NULL};

    tenant_runs(fixture, &scratch, 0, sql);
    check(effects_run(connection, scratch.sql[0]));
    fixture_give(fixture, connection);
}

/* The first value of an answer, as text. */
static void ask_handle(struct weir_connection *connection, const char *sql,
                       char out[SQL_SIZE])
{
    void *handle = weir_connection_native(connection);

    out[0] = '\0';
    if (weir_connection_engine(connection) == WEIR_POSTGRESQL) {
        PGresult *result = PQexec(handle, sql);

        check_int(PQresultStatus(result), PGRES_TUPLES_OK);
        snprintf(out, SQL_SIZE, "%s", PQgetvalue(result, 0, 0));
        PQclear(result);
    } else {
        MYSQL_RES *result;
        MYSQL_ROW row;

        check_int(mysql_real_query(handle, sql, strlen(sql)), 0);
        result = mysql_store_result(handle);
        row = mysql_fetch_row(result);
        snprintf(out, SQL_SIZE, "%s", row[0] != NULL ? row[0] : "NULL");
        mysql_free_result(result);
    }
}

/* What the session that is taken next says. */
static const char *ask_session(struct fixture *fixture, const char *sql)
{
    static char answer[SQL_SIZE];
    struct weir_connection *connection = fixture_take(fixture);

    ask_handle(connection, sql, answer);
    fixture_give(fixture, connection);
    return answer;
}

OUTBOX_POSTGRESQL_TEST(settings, of_a_session_do_not_come_back_to_the_pool)
{
    static const char SEEN[] =
        "SELECT concat(session_user, ' ', current_user, ' ', "
        "current_setting('search_path'),"
        " ' ', current_setting('statement_timeout'), ' <', current_setting('app.tenant', "
        "true),"
        " '> ', (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        " AND pid = pg_backend_pid()), (SELECT count(*) FROM pg_listening_channels()),"
        " (SELECT count(*) FROM pg_cursors WHERE name = 'kept'),"
        " (SELECT count(*) FROM pg_class WHERE relname = 'left_behind'))";
    char pid[SQL_SIZE];

    make_place(fixture);
    snprintf(pid, sizeof pid, "%s", ask_session(fixture, "SELECT pg_backend_pid()"));

    borrow_and_run(fixture,
                   "SET search_path = tenant; SET statement_timeout = 77;"
                   "SET app.tenant = 'x'; SELECT pg_advisory_lock(4711); LISTEN here;"
                   "CREATE TEMP TABLE left_behind (n integer);"
                   "DECLARE kept CURSOR WITH HOLD FOR SELECT 1;"
                   "SET SESSION AUTHORIZATION %; SET default_transaction_read_only = on");

    check_str(ask_session(fixture, SEEN), "weir weir \"$user\", public 30s <> 0000");
    check_str(ask_session(fixture, "SELECT pg_backend_pid()"), pid);
    remove_place(fixture);
}

OUTBOX_MARIADB_TEST(settings, of_a_session_and_its_database_do_not_come_back)
{
    char id[SQL_SIZE];
    char want[SQL_SIZE];

    make_place(fixture);
    prepare(fixture, "CREATE ROLE %");
    snprintf(id, sizeof id, "%s", ask_session(fixture, "SELECT CONNECTION_ID()"));

    borrow_and_run(fixture,
                   "USE %; SET ROLE %; SET time_zone = '+09:00', sql_mode = 'ANSI';"
                   "DO GET_LOCK('left', 1); SET @tenant = 'x'; SET NAMES latin1;"
                   "CREATE TEMPORARY TABLE left_behind (n INT)");

    snprintf(want, sizeof want, "%s none +00:00 1 none utf8mb4", fixture->database);
    check_str(ask_session(fixture,
                          "SELECT CONCAT(DATABASE(), ' ',"
                          " COALESCE(CURRENT_ROLE(), 'none'), ' ', @@time_zone,"
                          " ' ', IS_FREE_LOCK('left'), ' ',"
                          " COALESCE(@tenant, 'none'), ' ', @@character_set_client)"),
              want);
    check_str(ask_session(fixture, "SELECT CONNECTION_ID()"), id);
    prepare(fixture, "DROP ROLE %");
    remove_place(fixture);
}

/* What was prepared before works behind a reset. */
OUTBOX_SERVER_TEST(settings, of_a_session_are_reset_between_any_two_uses)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    make_place(fixture);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    for (int i = 1; i <= 3; i++) {
        borrow_and_run(fixture,
                       fixture_choose(fixture, "", "SET search_path = tenant", "USE %"));
        outbox_fixture_send(fixture, outbox, "orders", 0, 1);
        check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, i);
    }
    weir_outbox_destroy(outbox);
    remove_place(fixture);
}

/* A session that cannot be put in order is not used again. */
OUTBOX_POSTGRESQL_TEST(settings, that_cannot_be_undone_cost_the_connection)
{
    struct weir_connection *connection = fixture_take(fixture);
    char pid[SQL_SIZE];

    ask_handle(connection, "SELECT pg_backend_pid()", pid);
    check_int(PQsendQuery(weir_connection_native(connection), "SELECT pg_sleep(60)"), 1);
    fixture_give(fixture, connection);

    check(strcmp(ask_session(fixture, "SELECT pg_backend_pid()"), pid) != 0);
}

/* ---- what it costs ----------------------------------------------------------------- */

/* Exchanges with the server: a fault might happen at each, and never does. */
struct meter {
    struct weir_fault_points points;
    struct weir_db *db;
};

static void meter_open(struct meter *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "db.fail", UINT64_MAX);
    self->db = fixture_open(fixture, &options);
    weir_db_set_fault_points(self->db, &self->points);
}

static int64_t meter_read(struct meter *self)
{
    return (int64_t)atomic_load(&self->points.armed[0].passed);
}

/* Of one message more in a batch, and of giving the connection back. */
struct cost {
    int64_t message;
    int64_t release;
};

static struct cost measure(struct fixture *fixture, struct meter *meter, bool asks)
{
    struct weir_connection *connection;
    struct cost cost;
    int64_t before;

    check_db(weir_db_acquire(meter->db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin_to_lend(connection, 30000000, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
    if (asks)
        check(weir_connection_native(connection) != NULL);
    before = meter_read(meter);
    check_db(weir_connection_savepoint_renew(connection, &fixture->error), WEIR_OK);
    cost.message = meter_read(meter) - before;
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    before = meter_read(meter);
    weir_db_release(meter->db, connection);
    cost.release = meter_read(meter) - before;
    return cost;
}

OUTBOX_SERVER_TEST(settings, cost_no_exchange_for_a_message)
{
    struct meter meter;
    struct cost untouched;
    struct cost touched;

    meter_open(&meter, fixture);
    untouched = measure(fixture, &meter, false);
    touched = measure(fixture, &meter, true);

    check_int(untouched.release, 0);
    check(touched.release > 0);
    check(touched.message <= untouched.message);
    if (fixture->engine == WEIR_POSTGRESQL) {
        check_int(untouched.message, 1);
        check_int(touched.release, 1);
    }
    check_int(measure(fixture, &meter, false).release, 0); /* it was put in order once */
    weir_db_destroy(meter.db);
}
