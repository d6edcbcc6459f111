/*
 * The error matrix: every way in which a database says no, made to happen for real.
 *
 * MATRIX is the table of docs/internals/db.md, and the last tests compare the two. Its
 * cells have the status, its class and, where it is always the same, the engine's own
 * code: SQLite's extended result code, PostgreSQL's SQLSTATE, MariaDB's error number.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

#include "kit/db/named_items.h"

enum { ENGINES = 3, CELL_SIZE = 64 };

struct situation {
    const char *name;
    const char *cells[ENGINES]; /* in the order of enum weir_engine; "-": cannot be */
};

static const struct situation MATRIX[] = {
    {"unique violation",
     {"CONSTRAINT, reject, 2067", "CONSTRAINT, reject, 23505",
      "CONSTRAINT, reject, 1062"}},
    {"not-null violation",
     {"CONSTRAINT, reject, 1299", "CONSTRAINT, reject, 23502",
      "CONSTRAINT, reject, 1048"}},
    {"foreign-key violation",
     {"CONSTRAINT, reject, 787", "CONSTRAINT, reject, 23503",
      "CONSTRAINT, reject, 1452"}},
    {"check violation",
     {"CONSTRAINT, reject, 275", "CONSTRAINT, reject, 23514",
      "CONSTRAINT, reject, 4025"}},
    {"text too long for its column",
     {"-", "INVALID, reject, 22001", "INVALID, reject, 1406"}},
    {"deadlock", {"-", "CONFLICT, retry, 40P01", "CONFLICT, retry, 1213"}},
    {"serialisation failure", {"-", "CONFLICT, retry, 40001", "CONFLICT, retry, 1020"}},
    {"busy snapshot", {"CONFLICT, retry, 517", "-", "-"}},
    {"lock timeout", {"LOCKED, retry, 5", "LOCKED, retry, 55P03", "LOCKED, retry, 1205"}},
    {"statement timeout",
     {"TIMEOUT, retry, 9", "TIMEOUT, retry, 57014", "TIMEOUT, retry, 1969"}},
    {"cancelled",
     {"CANCELLED, stop, 9", "CANCELLED, stop, 57014", "CANCELLED, stop, 1317"}},
    {"write in a read-only transaction",
     {"-", "INVALID, reject, 25006", "INVALID, reject, 1792"}},
    {"connection killed", {"-", "LOST, retry, 57P01", "LOST, retry"}},
    {"connection killed, then commit", {"-", "LOST, retry", "LOST, retry"}},
    {"server stopped", {"-", "LOST, retry, 57P01", "LOST, retry"}},
    {"server stopped, then connect", {"-", "LOST, retry", "LOST, retry, 2002"}},
    {"server killed", {"-", "LOST, retry", "LOST, retry"}},
    {"server restarted", {"-", "LOST, retry", "LOST, retry"}},
    {"too many connections", {"-", "BUSY, retry, 53300", "BUSY, retry, 1226"}},
    {"disk full",
     {"DISK_FULL, retry, 13", "DISK_FULL, retry, 53100", "DISK_FULL, retry, 1114"}},
    {"permission denied",
     {"DENIED, stop, 8", "DENIED, stop, 42501", "DENIED, stop, 1142"}},
    {"wrong password", {"-", "DENIED, stop, 28P01", "DENIED, stop, 1045"}},
    {"missing database",
     {"SCHEMA, stop, 14", "SCHEMA, stop, 3D000", "SCHEMA, stop, 1049"}},
    {"not a database", {"SCHEMA, stop, 26", "-", "-"}},
    {"missing table", {"SCHEMA, stop, 1", "SCHEMA, stop, 42P01", "SCHEMA, stop, 1146"}},
    {"missing column", {"SCHEMA, stop, 1", "SCHEMA, stop, 42703", "SCHEMA, stop, 1054"}},
    {"syntax error", {"SCHEMA, stop, 1", "SCHEMA, stop, 42601", "SCHEMA, stop, 1064"}},
};
enum { SITUATIONS = sizeof MATRIX / sizeof MATRIX[0] };

static bool provoked[SITUATIONS][ENGINES];

static const struct weir_sql SQL_TOUCH = {
    .name = "touch",
    .text = "UPDATE {p}_item SET name = {1} WHERE id = {2}",
    .parameters = "ti",
};

static void check_situation(const char *file, int line, struct fixture *fixture,
                            const char *name, enum weir_status status);
static struct weir_connection *make_items(struct fixture *fixture);
static enum weir_status touch(struct fixture *fixture, struct weir_connection *connection,
                              int64_t id);
static void kill_connection(struct fixture *fixture, struct weir_connection *connection);
static enum weir_status count_with_error(struct fixture *fixture,
                                         struct weir_connection *connection);

/* The call ends as the matrix says. */
#define check_matrix(name, expr)                                                         \
    check_situation(__FILE__, __LINE__, fixture, (name), (expr))

/* ---- constraints ------------------------------------------------------------------- */

ENGINE_TEST(error, unique_violation)
{
    struct weir_connection *connection = make_items(fixture);
    struct weir_connection *other = fixture_take(fixture);

    check_db(weir_connection_execute(other, &SQL_ADD,
                                     VALUES(weir_integer(7), weir_text(weir_str("same"))),
                                     NULL, &fixture->error),
             WEIR_OK);
    check_matrix(
        "unique violation",
        weir_connection_execute(connection, &SQL_ADD,
                                VALUES(weir_integer(8), weir_text(weir_str("same"))),
                                NULL, &fixture->error));

    check_int(count(fixture, connection), 3);
    fixture_give(fixture, other);
    fixture_give(fixture, connection);
}

ENGINE_TEST(error, not_null_violation)
{
    struct weir_connection *connection = make_items(fixture);

    check_matrix("not-null violation",
                 weir_connection_execute(connection, &SQL_ADD,
                                         VALUES(weir_integer(8), weir_null()), NULL,
                                         &fixture->error));

    check_int(count(fixture, connection), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(error, foreign_key_violation)
{
    static const struct weir_sql SQL_ADD_PART = {.name = "add part",
                                                 .text =
                                                     "INSERT INTO {p}_part VALUES ({1})",
                                                 .parameters = "i"};
    struct weir_connection *connection = make_items(fixture);

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_part (item $integer NOT NULL, "
                    "FOREIGN KEY (item) REFERENCES {p}_item (id))");
    check_matrix("foreign-key violation",
                 weir_connection_execute(connection, &SQL_ADD_PART,
                                         VALUES(weir_integer(99)), NULL,
                                         &fixture->error));

    fixture_give(fixture, connection);
}

ENGINE_TEST(error, check_violation)
{
    static const struct weir_sql SQL_ADD_SMALL = {
        .name = "add small",
        .text = "INSERT INTO {p}_small VALUES ({1})",
        .parameters = "i"};
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_small (n $integer CHECK (n < 10))");
    check_matrix("check violation", weir_connection_execute(connection, &SQL_ADD_SMALL,
                                                            VALUES(weir_integer(10)),
                                                            NULL, &fixture->error));

    fixture_give(fixture, connection);
}

SERVER_TEST(error, text_too_long_for_its_column)
{
    static const struct weir_sql SQL_ADD_SHORT = {
        .name = "add short",
        .text = "INSERT INTO {p}_short VALUES ({1})",
        .parameters = "t"};
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(fixture, connection, "CREATE TABLE {p}_short (name VARCHAR(3))");
    check_matrix("text too long for its column",
                 weir_connection_execute(connection, &SQL_ADD_SHORT,
                                         VALUES(weir_text(weir_str("four"))), NULL,
                                         &fixture->error));

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_short"), 0);
    fixture_give(fixture, connection);
}

/* ---- others in the way ------------------------------------------------------------- */

struct opponent {
    struct fixture *fixture;
    struct weir_connection *connection;
    enum weir_status status;
    struct weir_error error;
};

static void *touch_the_first(void *argument)
{
    struct opponent *self = argument;

    self->status = weir_connection_execute(
        self->connection, &SQL_TOUCH,
        VALUES(weir_text(weir_str("mine")), weir_integer(1)), NULL, &self->error);
    return NULL;
}

/* Each holds one row and wants the other's. The server picks who loses. */
SERVER_TEST(error, deadlock)
{
    struct weir_connection *connection = make_items(fixture);
    struct opponent opponent = {.fixture = fixture, .connection = fixture_take(fixture)};
    enum weir_status status;
    pthread_t thread;

    begin(fixture, connection);
    begin(fixture, opponent.connection);
    check_db(touch(fixture, connection, 1), WEIR_OK);
    check_db(touch(fixture, opponent.connection, 2), WEIR_OK);
    check_int(pthread_create(&thread, NULL, touch_the_first, &opponent), 0);
    status = touch(fixture, connection, 2);
    if (status == WEIR_OK)
        commit(fixture, connection);
    else
        weir_connection_rollback(connection);
    pthread_join(thread, NULL);

    check((status == WEIR_OK) != (opponent.status == WEIR_OK));
    if (status == WEIR_OK) {
        fixture->error = opponent.error;
        status = opponent.status;
    }
    check_matrix("deadlock", status);
    weir_connection_rollback(opponent.connection);
    check_db(touch(fixture, opponent.connection, 1),
             WEIR_OK); /* nothing is left locked */
    fixture_give(fixture, opponent.connection);
    fixture_give(fixture, connection);
}

/* Our own transactions are READ COMMITTED and cannot fail so; the application's may. */
SERVER_TEST(error, serialisation_failure)
{
    struct weir_connection *connection = make_items(fixture);
    struct weir_connection *other = fixture_take(fixture);

    if (fixture->engine == WEIR_MARIADB) {
        fixture_execute(fixture, connection, "SET innodb_snapshot_isolation = ON");
        fixture_execute(fixture, connection,
                        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    }
    begin(fixture, connection);
    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_execute(fixture, connection,
                        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    check_int(count(fixture, connection), 2);
    check_db(touch(fixture, other, 1), WEIR_OK);
    check_matrix("serialisation failure", touch(fixture, connection, 1));

    weir_connection_rollback(connection);
    check_db(touch(fixture, connection, 1), WEIR_OK);
    fixture_give(fixture, other);
    fixture_give(fixture, connection);
}

/* A transaction that has read cannot write any more once somebody else did. */
SQLITE_TEST(error, busy_snapshot)
{
    struct weir_connection *connection = make_items(fixture);
    struct weir_connection *other = fixture_take(fixture);

    check_db(weir_connection_begin_read(connection, &fixture->error), WEIR_OK);
    check_int(count(fixture, connection), 2);
    check_db(touch(fixture, other, 1), WEIR_OK);
    check_matrix("busy snapshot", touch(fixture, connection, 1));

    weir_connection_rollback(connection);
    check_db(touch(fixture, connection, 1), WEIR_OK);
    fixture_give(fixture, other);
    fixture_give(fixture, connection);
}

ENGINE_TEST(error, lock_timeout)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *holder = make_items(fixture);
    struct weir_connection *waiter;
    struct weir_db *hasty;

    options.lock_timeout_ns = WEIR_MILLISECONDS(100); /* MariaDB makes a second of it */
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &waiter, &fixture->error), WEIR_OK);
    begin(fixture, holder);
    check_db(touch(fixture, holder, 1), WEIR_OK);
    check_matrix("lock timeout", touch(fixture, waiter, 1));

    commit(fixture, holder);
    check_db(touch(fixture, waiter, 1), WEIR_OK);
    weir_db_release(hasty, waiter);
    weir_db_destroy(hasty);
    fixture_give(fixture, holder);
}

/* ---- taking too long --------------------------------------------------------------- */

ENGINE_TEST(error, statement_timeout)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *hasty;

    options.statement_timeout_ns = WEIR_MILLISECONDS(100);
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &connection, &fixture->error), WEIR_OK);
    check_matrix("statement timeout",
                 weir_connection_execute(connection, &SQL_SLOW[fixture->engine],
                                         NO_VALUES, NULL, &fixture->error));

    weir_db_release(hasty, connection);
    weir_db_destroy(hasty);
}

static void *run_slowly(void *argument)
{
    struct opponent *self = argument;

    self->status =
        weir_connection_execute(self->connection, &SQL_SLOW[self->fixture->engine],
                                NO_VALUES, NULL, &self->error);
    return NULL;
}

ENGINE_TEST(error, cancelled)
{
    struct opponent opponent = {.fixture = fixture, .connection = fixture_take(fixture)};
    pthread_t thread;

    check_int(pthread_create(&thread, NULL, run_slowly, &opponent), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) { /* bounded by the program's limit */
        weir_connection_cancel(opponent.connection);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    fixture->error = opponent.error;
    check_matrix("cancelled", opponent.status);

    fixture_give(fixture, opponent.connection);
}

SERVER_TEST(error, write_in_a_read_only_transaction)
{
    struct weir_connection *connection = make_items(fixture);

    check_db(weir_connection_begin_read(connection, &fixture->error), WEIR_OK);
    check_matrix("write in a read-only transaction", touch(fixture, connection, 1));

    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
}

/* ---- gone -------------------------------------------------------------------------- */

SERVER_TEST(error, connection_killed)
{
    struct weir_connection *connection = make_items(fixture);

    begin(fixture, connection);
    check_db(touch(fixture, connection, 1), WEIR_OK);
    kill_connection(fixture, connection);
    check_matrix("connection killed", touch(fixture, connection, 2));

    check(fixture_is_free(fixture, "UPDATE weir_item SET name = 'mine' WHERE id = 1"));
    fixture_give(fixture, connection);
    connection = fixture_take(fixture);
    check_int(count(fixture, connection), 2);
    fixture_give(fixture, connection);
}

/* Its farewell is here before the commit is sent, so that has not happened. */
SERVER_TEST(error, connection_killed_then_commit)
{
    struct weir_connection *connection = make_items(fixture);
    void *native = weir_connection_native(connection);

    begin(fixture, connection);
    check_db(touch(fixture, connection, 1), WEIR_OK);
    kill_connection(fixture, connection);
    server_await_hangup(fixture->engine == WEIR_MARIADB ? mysql_get_socket(native)
                                                        : PQsocket(native));
    check_matrix("connection killed, then commit",
                 weir_connection_commit(connection, &fixture->error));

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
}

/* A server of this test's own, with a database "store" and a weir_db on it. */
struct own_server {
    struct server *server;
    struct weir_db *db;
    struct weir_connection *connection;
};

static struct own_server open_own_server(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    struct own_server own = {.server = server_create(fixture->engine, NULL)};
    char url[SERVER_URL_SIZE];

    server_create_database(own.server, "store");
    server_url(own.server, "store", url, sizeof url);
    options.url = url;
    own.db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(own.db, &own.connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, own.connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $key)");
    return own;
}

static void close_own_server(struct own_server *own)
{
    weir_db_release(own->db, own->connection);
    weir_db_destroy(own->db);
    server_destroy(own->server);
}

SERVER_TEST(error, server_stopped)
{
    struct own_server own = open_own_server(fixture);

    server_stop(own.server);
    check_matrix("server stopped", count_with_error(fixture, own.connection));

    close_own_server(&own);
}

SERVER_TEST(error, server_stopped_then_connect)
{
    struct own_server own = open_own_server(fixture);

    server_stop(own.server);
    check_db(count_with_error(fixture, own.connection), WEIR_LOST);
    weir_db_release(own.db, own.connection);
    check_matrix("server stopped, then connect",
                 weir_db_acquire(own.db, &own.connection, &fixture->error));
    check(own.connection == NULL);

    close_own_server(&own);
}

SERVER_TEST(error, server_killed)
{
    struct own_server own = open_own_server(fixture);

    begin(fixture, own.connection);
    server_kill(own.server);
    check_matrix("server killed", count_with_error(fixture, own.connection));

    close_own_server(&own);
}

SERVER_TEST(error, server_restarted)
{
    struct own_server own = open_own_server(fixture);

    server_kill(own.server);
    server_restart(own.server);
    check_matrix("server restarted", count_with_error(fixture, own.connection));

    weir_db_release(own.db, own.connection);
    check_db(weir_db_acquire(own.db, &own.connection, &fixture->error), WEIR_OK);
    check_int(count(fixture, own.connection), 0);
    close_own_server(&own);
}

/* A user who may have one connection, which is in use. */
SERVER_TEST(error, too_many_connections)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *first, *second;
    char url[SERVER_URL_SIZE], sql[512];
    struct weir_db *db;

    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(sql, sizeof sql, "CREATE ROLE u%s LOGIN PASSWORD 'p' CONNECTION LIMIT 1",
                 fixture->database);
    else
        snprintf(sql, sizeof sql,
                 "GRANT ALL ON *.* TO u%s IDENTIFIED BY 'p' WITH MAX_USER_CONNECTIONS 1",
                 fixture->database);
    server_execute(fixture->server, NULL, sql);
    snprintf(sql, sizeof sql, "u%s", fixture->database);
    server_url_as(fixture->server, sql, "p", fixture->database, url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);

    check_db(weir_db_acquire(db, &first, &fixture->error), WEIR_OK);
    check_matrix("too many connections", weir_db_acquire(db, &second, &fixture->error));

    weir_db_release(db, second);
    weir_db_release(db, first);
    weir_db_destroy(db);
    snprintf(sql, sizeof sql, "DROP %s u%s",
             fixture->engine == WEIR_POSTGRESQL ? "ROLE" : "USER", fixture->database);
    wait_until(fixture->engine != WEIR_POSTGRESQL ||
               fixture_ask(fixture, "SELECT count(*) FROM pg_stat_activity "
                                    "WHERE usename LIKE 'uw%'") == 0);
    server_execute(fixture->server, NULL, sql);
}

/* ---- no space ---------------------------------------------------------------------- */

/* A file system of its own for this test, small enough to fill. */
static bool mount_small(char *place, size_t size, struct fixture *fixture)
{
    int length = snprintf(place, size, "%s/full", server_folder());

    check(length > 0 && (size_t)length < size);
    check_int(mkdir(place, 0777), 0);
    if (geteuid() != 0 || mount("none", place, "tmpfs", 0, "size=6m,mode=0777") != 0) {
        printf("# not run: mounting a small file system needs root\n");
        rmdir(place);
        for (size_t i = 0; i < SITUATIONS; i++)
            if (strcmp(MATRIX[i].name, "disk full") == 0)
                provoked[i][fixture->engine] = true;
        return false;
    }
    return true;
}

static void unmount_small(const char *place)
{
    check_int(umount(place), 0);
    check_int(rmdir(place), 0);
}

/* Rows of 4 kB until there is no room; there must be none soon. */
static enum weir_status fill(struct fixture *fixture, struct weir_connection *connection)
{
    enum { SIZE = 4000, ROWS_MAX = 4000 };
    static const struct weir_sql SQL_FILL = {.name = "fill",
                                             .text =
                                                 "INSERT INTO {p}_blob VALUES ({1}, {2})",
                                             .parameters = "ib"};
    char bytes[SIZE];
    enum weir_status status = WEIR_OK;
    uint32_t state = 1;

    for (int i = 0; i < SIZE; i++) { /* which nobody can compress */
        state = state * 1664525U + 1013904223U;
        bytes[i] = (char)(state >> 24);
    }
    for (int64_t id = 0; id < ROWS_MAX && status == WEIR_OK; id++)
        status = weir_connection_execute(
            connection, &SQL_FILL, VALUES(weir_integer(id), weir_bytes(bytes, SIZE)),
            NULL, &fixture->error);
    return status;
}

SQLITE_TEST(error, disk_full)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    char place[SERVER_PATH_SIZE], url[SERVER_PATH_SIZE + 32];
    struct weir_db *db;

    if (!mount_small(place, sizeof place, fixture))
        return;
    snprintf(url, sizeof url, "sqlite:%s/store.db", place);
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "CREATE TABLE {p}_blob (id $integer, b $bytes)");
    check_matrix("disk full", fill(fixture, connection));

    /* Inside a transaction as well, which is then over; and reading goes on. */
    begin(fixture, connection);
    check_db(fill(fixture, connection), WEIR_DISK_FULL);
    weir_connection_rollback(connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_execute(fixture, connection, "SELECT count(*) FROM {p}_blob");
    check_int(mount("none", place, "tmpfs", MS_REMOUNT, "size=20m"), 0);
    fixture_execute(fixture, connection, "INSERT INTO {p}_blob VALUES (1000, 'more')");
    weir_db_release(db, connection);
    weir_db_destroy(db);
    unmount_small(place);
}

/* Only the table is there: a server without space for its log gives up altogether. */
SERVER_TEST(error, disk_full)
{
    struct weir_connection *connection;
    char place[SERVER_PATH_SIZE], sql[SERVER_PATH_SIZE * 4];

    if (!mount_small(place, sizeof place, fixture))
        return;
    connection = fixture_take(fixture);
    if (fixture->engine == WEIR_POSTGRESQL) {
        char tablespace[SERVER_PATH_SIZE + 8];

        snprintf(tablespace, sizeof tablespace, "%s/pg", place);
        check_int(mkdir(tablespace, 0700), 0);
        snprintf(sql, sizeof sql, "chown postgres %s", tablespace);
        check_int(system(sql), 0);
        snprintf(sql, sizeof sql, "CREATE TABLESPACE t%s LOCATION '%s'",
                 fixture->database, tablespace);
        server_execute(fixture->server, NULL, sql);
        snprintf(sql, sizeof sql,
                 "CREATE TABLE weir_blob (id $integer, b $bytes) TABLESPACE t%s",
                 fixture->database);
    } else {
        snprintf(sql, sizeof sql,
                 "CREATE TABLE weir_blob (id $integer, b VARBINARY(4000)) DATA DIRECTORY "
                 "= '%s'",
                 place);
    }
    fixture_execute(fixture, connection, sql);
    check_matrix("disk full", fill(fixture, connection));

    fixture_execute(fixture, connection, "DROP TABLE {p}_blob");
    fixture_give(fixture, connection);
    if (fixture->engine == WEIR_POSTGRESQL) {
        snprintf(sql, sizeof sql, "DROP TABLESPACE t%s", fixture->database);
        server_execute(fixture->server, NULL, sql);
    }
    unmount_small(place);
}

/* ---- not allowed, not there -------------------------------------------------------- */

SERVER_TEST(error, permission_denied)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection = make_items(fixture);
    char url[SERVER_URL_SIZE];
    struct weir_db *db;

    fixture_execute(fixture, connection, "CREATE TABLE {p}_open (id $integer)");
    fixture_execute(fixture, connection, "GRANT SELECT ON {p}_open TO " SERVER_GUEST);
    server_url_as(fixture->server, SERVER_GUEST, SERVER_GUEST_PASSWORD, fixture->database,
                  url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);
    fixture_give(fixture, connection);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    check_matrix("permission denied", count_with_error(fixture, connection));

    fixture_execute(fixture, connection, "SELECT count(*) FROM {p}_open");
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

/* A handle that the application opened for reading. */
SQLITE_TEST(error, permission_denied)
{
    struct weir_connection *connection = make_items(fixture);
    sqlite3 *handle;

    fixture_give(fixture, connection);
    check_int(sqlite3_open_v2(fixture->database, &handle, SQLITE_OPEN_READONLY, NULL),
              SQLITE_OK);
    check_db(
        weir_connection_adopt_sqlite(fixture->db, handle, &connection, &fixture->error),
        WEIR_OK);
    check_matrix("permission denied", touch(fixture, connection, 1));

    check_int(count(fixture, connection), 2);
    weir_connection_disown(connection);
    sqlite3_close(handle);
}

SERVER_TEST(error, wrong_password)
{
    char url[SERVER_URL_SIZE];

    server_url_as(fixture->server, SERVER_USER, "wrong-one", fixture->database, url,
                  sizeof url);
    check_matrix("wrong password", fixture_try_url(fixture, url));

    check(strstr(fixture->error.text, "wrong-one") == NULL);
    check(strstr(fixture->error.text, SERVER_USER) != NULL);
}

ENGINE_TEST(error, missing_database)
{
    char url[SERVER_URL_SIZE];

    if (fixture->server != NULL)
        server_url(fixture->server, "w_missing", url, sizeof url);
    else
        snprintf(url, sizeof url, "sqlite:%s/missing/w_missing.db", server_folder());
    check_matrix("missing database", fixture_try_url(fixture, url));

    check(strstr(fixture->error.text, "w_missing") != NULL);
    check(strstr(fixture->error.text, SERVER_PASSWORD) == NULL);
}

SQLITE_TEST(error, not_a_database)
{
    FILE *file = fopen(fixture->database, "we");

    check(file != NULL);
    for (int i = 0; i < 1000; i++)
        fputs("this is no database\n", file);
    fclose(file);
    check_matrix("not a database", fixture_try_url(fixture, fixture->url));
}

ENGINE_TEST(error, missing_table)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_matrix("missing table", count_with_error(fixture, connection));
    fixture_give(fixture, connection);
}

ENGINE_TEST(error, missing_column)
{
    static const struct weir_sql SQL_WEIGHT = {.name = "weight",
                                               .text = "SELECT weight FROM {p}_item"};
    struct weir_connection *connection = make_items(fixture);

    check_matrix("missing column",
                 weir_connection_execute(connection, &SQL_WEIGHT, NO_VALUES, NULL,
                                         &fixture->error));
    fixture_give(fixture, connection);
}

ENGINE_TEST(error, syntax_error)
{
    static const struct weir_sql SQL_NONSENSE = {.name = "nonsense",
                                                 .text = "SELEKT 1 FRUM {p}_item"};
    struct weir_connection *connection = make_items(fixture);

    check_matrix("syntax error",
                 weir_connection_execute(connection, &SQL_NONSENSE, NO_VALUES, NULL,
                                         &fixture->error));
    check_matrix("syntax error",
                 weir_connection_execute_text(connection, "SELEKT 1", &fixture->error));
    fixture_give(fixture, connection);
}

/* ---- the matrix itself ------------------------------------------------------------- */

static FILE *open_page(void)
{
    char path[SERVER_PATH_SIZE * 2] = "docs/internals/db.md";
    FILE *page = fopen(path, "re");
    ssize_t size;

    if (page != NULL) /* from the root of the repository */
        return page;
    size = readlink("/proc/self/exe", path, sizeof path - 64);
    check(size > 0);
    path[size] = '\0';
    for (int i = 0; i < 5; i++) { /* build/PRESET/tests/db/test_errors */
        char *slash = strrchr(path, '/');

        check(slash != NULL);
        *slash = '\0';
    }
    strcat(path, "/docs/internals/db.md");
    page = fopen(path, "re");
    check(page != NULL);
    return page;
}

/* The cells of one line of a Markdown table, without blanks around them. */
static int cut_cells(char *line, char **cells, int cells_max)
{
    char *rest = line;
    char *cell;
    int found = 0;

    if (line[0] != '|')
        return 0;
    rest++;
    while ((cell = strsep(&rest, "|")) != NULL && rest != NULL && found < cells_max) {
        char *end = cell + strlen(cell);

        while (*cell == ' ')
            cell++;
        while (end > cell && end[-1] == ' ')
            *--end = '\0';
        cells[found++] = cell;
    }
    return found;
}

WEIR_TEST(error, matrix_is_that_of_the_documentation)
{
    FILE *page = open_page();
    char line[1024];
    char *cells[ENGINES + 2];
    size_t rows = 0;
    bool inside = false;

    while (fgets(line, sizeof line, page) != NULL) {
        int found;

        line[strcspn(line, "\n")] = '\0';
        found = cut_cells(line, cells, ENGINES + 2);
        if (!inside) {
            inside = found == ENGINES + 1 && strcmp(cells[0], "Situation") == 0 &&
                     strcmp(cells[1], "SQLite") == 0 &&
                     strcmp(cells[2], "PostgreSQL") == 0 &&
                     strcmp(cells[3], "MariaDB") == 0 &&
                     fgets(line, sizeof line, page) != NULL;
            continue;
        }
        if (found == 0)
            break;
        check_int(found, ENGINES + 1);
        if (rows == SITUATIONS)
            weir_test_fail(__FILE__, __LINE__, "not in the test: \"%s\"", cells[0]);
        check_str(cells[0], MATRIX[rows].name);
        for (int engine = 0; engine < ENGINES; engine++)
            check_str(cells[engine + 1], MATRIX[rows].cells[engine]);
        rows++;
    }
    fclose(page);
    if (rows != SITUATIONS)
        weir_test_fail(__FILE__, __LINE__, "not in the page: \"%s\"", MATRIX[rows].name);
}

/* Says nothing when only some tests were asked for. */
WEIR_TEST(error, every_situation_of_the_matrix_was_provoked)
{
    size_t seen = 0;

    for (size_t i = 0; i < SITUATIONS; i++)
        for (int engine = 0; engine < ENGINES; engine++)
            seen += provoked[i][engine];
    if (seen < SITUATIONS)
        return;
    for (size_t i = 0; i < SITUATIONS; i++)
        for (int engine = 0; engine < ENGINES; engine++)
            if (!provoked[i][engine] && strcmp(MATRIX[i].cells[engine], "-") != 0)
                weir_test_fail(__FILE__, __LINE__, "never provoked: %s on %s",
                               MATRIX[i].name,
                               weir_engine_name((enum weir_engine)engine));
}

/* ---- helpers ----------------------------------------------------------------------- */

static const char *class_name(enum weir_status status)
{
    switch (weir_status_class(status)) {
    case WEIR_CLASS_FINE:
        return "fine";
    case WEIR_CLASS_RETRY:
        return "retry";
    case WEIR_CLASS_REJECT:
        return "reject";
    case WEIR_CLASS_STOP:
        break;
    }
    return "stop";
}

static void check_situation(const char *file, int line, struct fixture *fixture,
                            const char *name, enum weir_status status)
{
    const struct weir_error *error = &fixture->error;
    const char *want = NULL;
    char got[CELL_SIZE], code[16];

    for (size_t i = 0; i < SITUATIONS; i++)
        if (strcmp(MATRIX[i].name, name) == 0) {
            want = MATRIX[i].cells[fixture->engine];
            provoked[i][fixture->engine] = true;
        }
    check(want != NULL);

    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(code, sizeof code, "%s", error->sqlstate);
    else
        snprintf(code, sizeof code, "%d", error->native_code);
    snprintf(got, sizeof got, "%s, %s, %s", weir_status_name(status), class_name(status),
             code);
    /* A cell without a code says nothing of it. */
    if (strncmp(got, want, strlen(want)) != 0 ||
        (got[strlen(want)] != '\0' && got[strlen(want)] != ','))
        weir_test_fail(file, line, "%s: got %s, want %s: %s", name, got, want,
                       error->text);

    check_status(error->status, status);
    check(error->text[0] != '\0');
    check(strstr(error->text, SERVER_PASSWORD) == NULL);
    check(strchr(error->text, '\n') == NULL);
}

/* Two of them, 1 and 2. */
static struct weir_connection *make_items(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $key NOT NULL, "
                    "UNIQUE (name))");
    fixture_execute(fixture, connection,
                    "INSERT INTO {p}_item VALUES (1, 'a'), (2, 'b')");
    return connection;
}

/* Gives the item a name of its own, so that two of them do not collide. */
static enum weir_status touch(struct fixture *fixture, struct weir_connection *connection,
                              int64_t id)
{
    static int number;
    char name[32];

    snprintf(name, sizeof name, "touched %d", ++number);
    return weir_connection_execute(connection, &SQL_TOUCH,
                                   VALUES(weir_text(weir_str(name)), weir_integer(id)),
                                   NULL, &fixture->error);
}

/* Returns when the server has forgotten it. */
static void kill_connection(struct fixture *fixture, struct weir_connection *connection)
{
    void *handle = weir_connection_native(connection);
    char sql[128];

    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 60000)",
                 PQbackendPID(handle));
    else
        snprintf(sql, sizeof sql, "KILL %lu", mysql_thread_id(handle));
    server_execute(fixture->server, NULL, sql);
    if (fixture->engine == WEIR_MARIADB) {
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM information_schema.processlist WHERE id = %lu",
                 mysql_thread_id(handle));
        wait_until(fixture_ask(fixture, sql) == 0);
    }
}

static enum weir_status count_with_error(struct fixture *fixture,
                                         struct weir_connection *connection)
{
    int64_t found;

    return weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &found,
                                         &fixture->error);
}
