/*
 * What can be wrong with a MariaDB session or server when a message is enqueued: it is
 * named, and the application's transaction goes on without anything of ours in it.
 */
#include <stdlib.h>
#include <string.h>

#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"

enum { LARGE_SIZE = 200000, PAYLOAD_SIZE_MAX = 1 << 20 };

/* The table of the application's own, which it writes to in the same transaction. */
#define SQL_OWN_TABLE "CREATE TABLE own (id INT PRIMARY KEY) ENGINE = InnoDB"

static int64_t count_rows(struct fixture *fixture, const char *table)
{
    char text[128];

    (void)snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
    return server_query(fixture->server, fixture->database, text);
}

/* ---- a session of the application's ------------------------------------------------ */

/* Enqueue on a connection whose session was set up like this; `text` must be in the
 * error. */
static void is_refused_after(struct fixture *fixture, const char *setting,
                             const char *text)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    application_run(&application, SQL_OWN_TABLE);
    application_run(&application, setting);
    application_run(&application, "BEGIN");
    application_run(&application, "INSERT INTO own VALUES (1)");
    connection = application_adopt(fixture, &application);

    check_db(weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, text) != NULL);

    weir_connection_disown(connection);
    application_run(&application, "INSERT INTO own VALUES (2)");
    application_run(&application, "COMMIT");
    check_int(count_rows(fixture, "own"), 2);
    check_int(count_rows(fixture, "weir_incoming"), 0);
    application_stop(&application);
    weir_outbox_destroy(outbox);
}

OUTBOX_MARIADB_TEST(refusal, of_a_session_that_is_not_strict_names_the_mode)
{
    is_refused_after(fixture, "SET SESSION sql_mode = ''", "sql_mode");
}

OUTBOX_MARIADB_TEST(refusal, of_a_session_without_foreign_keys_names_them)
{
    is_refused_after(fixture, "SET SESSION foreign_key_checks = 0", "foreign_key_checks");
}

OUTBOX_MARIADB_TEST(refusal, is_none_for_our_own_sessions_whatever_the_server_has_set)
{
    struct server_options options = {.settings =
                                         (const char *const[]){"sql-mode=", NULL}};
    struct server *server = server_create(WEIR_MARIADB, &options);
    struct weir_db_options where = fixture_options(fixture);
    struct weir_outbox_options outbox_options = outbox_fixture_options(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");
    struct weir_outbox *outbox;
    char url[SERVER_URL_SIZE];

    server_execute(server, NULL, "SET GLOBAL foreign_key_checks = OFF");
    server_create_database(server, "loose");
    server_url(server, "loose", url, sizeof url);
    where.url = url;
    outbox_options.db = fixture_open(fixture, &where);
    check_db(weir_outbox_migrate(outbox_options.db, &fixture->error), WEIR_OK);
    outbox = outbox_fixture_create(fixture, &outbox_options);
    outbox_fixture_queue(fixture, outbox, "orders", 1);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);

    weir_outbox_destroy(outbox);
    weir_db_destroy(outbox_options.db);
    server_destroy(server);
}

/* ---- rights ------------------------------------------------------------------------ */

OUTBOX_MARIADB_TEST(refusal, of_a_user_names_the_right_and_the_table)
{
    struct weir_outbox *owner = outbox_fixture_outbox(fixture, "anna");
    struct weir_db_options where = fixture_options(fixture);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "ben");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");
    struct weir_connection *connection;
    struct weir_outbox *outbox;
    char url[SERVER_URL_SIZE];

    outbox_fixture_queue(fixture, owner, "orders", 1);
    server_execute(fixture->server, fixture->database,
                   SQL_OWN_TABLE "; CREATE OR REPLACE USER ben IDENTIFIED BY 'x';"
                                 "GRANT SELECT ON weir_schema TO ben;"
                                 "GRANT SELECT ON weir_meta TO ben;"
                                 "GRANT SELECT ON weir_queue TO ben;"
                                 "GRANT INSERT ON own TO ben;"
                                 "GRANT SELECT ON weir_era_now TO ben;"
                                 "GRANT SELECT, INSERT ON weir_incoming_id TO ben");
    server_url_as(fixture->server, "ben", "x", fixture->database, url, sizeof url);
    where.url = url;
    options.db = fixture_open(fixture, &where);
    outbox = outbox_fixture_create(fixture, &options);
    check_db(weir_db_acquire(options.db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);

    check_db(weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
             WEIR_DENIED);
    check(strstr(fixture->error.text, "INSERT command denied") != NULL);
    check(strstr(fixture->error.text, "weir_incoming") != NULL);

    check_db(weir_connection_execute_text(connection, "INSERT INTO own VALUES (1)",
                                          &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(count_rows(fixture, "own"), 1);
    weir_db_release(options.db, connection);
    weir_outbox_destroy(outbox);
    weir_db_destroy(options.db);
    server_execute(fixture->server, NULL, "DROP USER ben");
    weir_outbox_destroy(owner);
}

/* ---- the server's largest packet --------------------------------------------------- */

/* An outbox whose payloads may be larger than its server takes. */
struct env {
    struct server *server;
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_connection *connection; /* in a transaction, with one row of its own */
    char *payload;                      /* LARGE_SIZE bytes */
};

static void env_open(struct env *self, struct fixture *fixture)
{
    struct server_options settings = {
        .settings = (const char *const[]){"max-allowed-packet=131072", NULL}};
    struct weir_db_options where = fixture_options(fixture);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    char url[SERVER_URL_SIZE];

    self->server = server_create(WEIR_MARIADB, &settings);
    server_create_database(self->server, "app");
    server_execute(self->server, "app", SQL_OWN_TABLE);
    server_url(self->server, "app", url, sizeof url);
    where.url = url;
    self->db = fixture_open(fixture, &where);
    check_db(weir_outbox_migrate(self->db, &fixture->error), WEIR_OK);
    options.db = self->db;
    options.payload_size_max = PAYLOAD_SIZE_MAX;
    self->outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, self->outbox, "orders", 1);
    self->payload = malloc(LARGE_SIZE);
    check(self->payload != NULL);
    memset(self->payload, 'x', LARGE_SIZE);
    check_db(weir_db_acquire(self->db, &self->connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(self->connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_text(self->connection, "INSERT INTO own VALUES (1)",
                                          &fixture->error),
             WEIR_OK);
}

/* Commit, and look at what is there then. */
static void env_close(struct env *self, struct fixture *fixture, int64_t messages)
{
    check_db(weir_connection_commit(self->connection, &fixture->error), WEIR_OK);
    check_int(server_query(self->server, "app", "SELECT count(*) FROM own"), 1);
    check_int(server_query(self->server, "app", "SELECT count(*) FROM weir_incoming"),
              messages);
    weir_db_release(self->db, self->connection);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    free(self->payload);
    server_destroy(self->server);
}

static struct weir_draft large(const struct env *self)
{
    struct weir_draft draft = outbox_fixture_draft(0, "");

    draft.payload = self->payload;
    draft.payload_size = LARGE_SIZE;
    return draft;
}

static void names_both_sizes(const struct fixture *fixture)
{
    check(strstr(fixture->error.text, "200000 bytes") != NULL);
    check(strstr(fixture->error.text, "131072") != NULL);
    check(strstr(fixture->error.text, "max_allowed_packet") != NULL);
}

OUTBOX_MARIADB_TEST(refusal, of_a_payload_beyond_the_packet_names_both_sizes)
{
    struct env env;
    struct weir_draft draft;

    env_open(&env, fixture);
    draft = large(&env);

    check_db(
        weir_enqueue(env.outbox, env.connection, "orders", &draft, NULL, &fixture->error),
        WEIR_TOO_LARGE);

    names_both_sizes(fixture);
    env_close(&env, fixture, 0);
}

OUTBOX_MARIADB_TEST(refusal, of_one_payload_beyond_the_packet_is_one_of_all_in_the_call)
{
    struct env env;
    struct weir_draft drafts[3] = {outbox_fixture_draft(0, "a"),
                                   outbox_fixture_draft(0, "b"),
                                   outbox_fixture_draft(0, "c")};
    struct weir_draft after = outbox_fixture_draft(0, "d");

    env_open(&env, fixture);
    drafts[1] = large(&env);

    check_db(weir_enqueue_batch(env.outbox, env.connection, "orders", drafts, 3, NULL,
                                &fixture->error),
             WEIR_TOO_LARGE);
    names_both_sizes(fixture);
    check_db(
        weir_enqueue(env.outbox, env.connection, "orders", &after, NULL, &fixture->error),
        WEIR_OK);

    env_close(&env, fixture, 1);
}
