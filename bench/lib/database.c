/*
 * database.c - see database.h.
 */
#include "lib/database.h"

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/server/server.h"
#include "kit/temp_dir.h"
#include "lib/must.h"

enum { DATABASES_MAX = 32 };

struct bench_database {
    enum weir_engine engine;
    struct server *server; /* owned; NULL on SQLite */
    char urls[DATABASES_MAX][SERVER_URL_SIZE];
    size_t count;
};

/* SQLite's connections have no ground: they are the process's. */
static _Atomic int64_t sqlite_statements;
static _Atomic int64_t sqlite_runs;

/* ---- counting on SQLite ------------------------------------------------------------ */

/* A connection, from open to close. */
struct trace {
    void *last; /* the statement that ran last on it */
};

/* Only what writes is run in loops. */
static int count_statement(unsigned kind, void *state, void *statement, void *unused)
{
    struct trace *self = state;

    (void)unused;
    if (kind == SQLITE_TRACE_CLOSE) {
        free(self);
        return 0;
    }
    (void)atomic_fetch_add(&sqlite_runs, 1);
    if (statement != self->last || sqlite3_stmt_readonly(statement))
        (void)atomic_fetch_add(&sqlite_statements, 1);
    self->last = statement;
    return 0;
}

static int trace_connection(sqlite3 *handle, char **error, const void *routines)
{
    (void)error;
    (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE,
                            count_statement, bench_must_alloc(1, sizeof(struct trace)));
}

/* From now on, each connection that the process opens; or none any more. */
static void count_on_sqlite(bool counted)
{
    void (*entry)(void) = (void (*)(void))trace_connection;

    bench_must(sqlite3_initialize() == SQLITE_OK, "initialise SQLite");
    if (counted)
        bench_must(sqlite3_auto_extension(entry) == SQLITE_OK, "count statements");
    else
        (void)sqlite3_cancel_auto_extension(entry);
}

/* ---- life -------------------------------------------------------------------------- */

struct bench_database *bench_database_open(enum weir_engine engine)
{
    static const char *const OF_POSTGRESQL[] = {
        "shared_buffers=128MB",          "max_wal_size=8GB",
        "checkpoint_timeout=30min",      "shared_preload_libraries=pg_stat_statements",
        "pg_stat_statements.track=none", NULL};
    static const char *const OF_MARIADB[] = {"innodb_buffer_pool_size=256M",
                                             "innodb_log_file_size=1G", NULL};
    static size_t opened;
    struct bench_database *self = bench_must_alloc(1, sizeof *self);
    char folder[SERVER_PATH_SIZE];

    self->engine = engine;
    if (engine == WEIR_SQLITE)
        return self;
    (void)snprintf(folder, sizeof folder, "%s/%s-%zu", temp_dir_on_disk(),
                   weir_engine_name(engine), ++opened);
    self->server = server_create(
        engine, &(struct server_options){
                    .settings = engine == WEIR_POSTGRESQL ? OF_POSTGRESQL : OF_MARIADB,
                    .folder = folder});
    if (engine == WEIR_POSTGRESQL)
        server_execute(self->server, NULL, "CREATE EXTENSION pg_stat_statements");
    return self;
}

void bench_database_close(struct bench_database *self)
{
    server_destroy(self->server);
    free(self);
}

enum weir_engine bench_database_engine(const struct bench_database *self)
{
    return self->engine;
}

const char *bench_database_add(struct bench_database *self, const char *name,
                               bool counted)
{
    char sql[256];
    char *url;

    bench_must(self->count < DATABASES_MAX, "too many databases");
    url = self->urls[self->count++];
    if (self->engine == WEIR_SQLITE) {
        count_on_sqlite(counted);
        (void)snprintf(url, SERVER_URL_SIZE, "sqlite:%s/%s.db", temp_dir_on_disk(), name);
        return url;
    }
    server_create_database(self->server, name);
    server_url(self->server, name, url, SERVER_URL_SIZE);
    if (self->engine == WEIR_MARIADB)
        return url;
    server_execute(self->server, name, "CREATE EXTENSION pgstattuple");
    if (counted) {
        (void)snprintf(sql, sizeof sql,
                       "ALTER DATABASE %s SET pg_stat_statements.track = 'top'", name);
        server_execute(self->server, NULL, sql);
    }
    return url;
}

/* ---- asking ------------------------------------------------------------------------ */

/* Of all clients of the server: nobody else is there. Preparing is not counted. */
static const char SQL_QUESTIONS[] =
    "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS"
    " WHERE VARIABLE_NAME = 'QUESTIONS'";

struct bench_statements bench_database_statements(struct bench_database *self)
{
    if (self->engine == WEIR_SQLITE)
        return (struct bench_statements){atomic_load(&sqlite_statements),
                                         atomic_load(&sqlite_runs)};
    if (self->engine == WEIR_MARIADB)
        return (struct bench_statements){
            .statements = server_query(self->server, NULL, SQL_QUESTIONS)};
    return (struct bench_statements){
        .statements = server_query(self->server, NULL,
                                   "SELECT coalesce(sum(calls), 0)::bigint "
                                   "FROM pg_stat_statements")};
}

static sqlite3 *open_file(const char *name)
{
    char path[SERVER_PATH_SIZE];
    sqlite3 *handle = NULL;

    (void)snprintf(path, sizeof path, "%s/%s.db", temp_dir_on_disk(), name);
    bench_must(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK,
               "open the file");
    (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_busy_timeout(handle, 10000);
    return handle;
}

static int take_number(void *state, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    *(int64_t *)state = values[0] != NULL ? atoll(values[0]) : 0;
    return 0;
}

static int64_t ask_sqlite(sqlite3 *handle, const char *sql)
{
    int64_t number = 0;

    bench_must(sqlite3_exec(handle, sql, take_number, &number, NULL) == SQLITE_OK,
               sqlite3_errmsg(handle));
    return number;
}

int64_t bench_database_ask(struct bench_database *self, const char *name, const char *sql)
{
    sqlite3 *handle;
    int64_t number;

    if (self->engine != WEIR_SQLITE)
        return server_query(self->server, name, sql);
    handle = open_file(name);
    number = ask_sqlite(handle, sql);
    (void)sqlite3_close(handle);
    return number;
}

/* As src/db/sqlite/watch.c finds it; the mapping lasts until the connection reads no
 * more. */
static const volatile uint32_t *find_index(sqlite3 *handle)
{
    volatile void *index = NULL;
    sqlite3_file *file = NULL;

    bench_must(sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) ==
                       SQLITE_OK &&
                   file->pMethods->xShmMap(file, 0, 32768, 0, &index) == SQLITE_OK &&
                   index != NULL,
               "map the index of the write-ahead log");
    return index;
}

uint32_t bench_database_write_transactions(struct bench_database *self, const char *name)
{
    enum { CHANGES = 2 }; /* word of the header */
    sqlite3 *handle;
    uint32_t count;

    bench_must(self->engine == WEIR_SQLITE, "only SQLite counts its transactions");
    handle = open_file(name);
    (void)ask_sqlite(handle, "SELECT count(*) FROM sqlite_schema");
    count = find_index(handle)[CHANGES];
    (void)sqlite3_close(handle);
    return count;
}

/* ---- old snapshots ----------------------------------------------------------------- */

static void run_pg(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);

    bench_must(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
               PQerrorMessage(connection));
    PQclear(result);
}

static MYSQL *hold_on_mariadb(const struct bench_database *self, const char *name)
{
    MYSQL *handle = mysql_init(NULL);

    bench_must(handle != NULL, "out of memory");
    bench_must(mysql_real_connect(handle, "127.0.0.1", SERVER_USER, SERVER_PASSWORD, name,
                                  server_port(self->server), NULL, 0) != NULL &&
                   mysql_query(handle, "SET SESSION TRANSACTION ISOLATION LEVEL"
                                       " REPEATABLE READ") == 0 &&
                   mysql_query(handle, "START TRANSACTION WITH CONSISTENT SNAPSHOT") == 0,
               mysql_error(handle));
    return handle;
}

/* Asking for the snapshot is enough to have it, and takes no lock on any table. */
void *bench_snapshot_hold(struct bench_database *self, const char *name)
{
    char url[SERVER_URL_SIZE];
    PGconn *connection;

    if (self->engine == WEIR_MARIADB)
        return hold_on_mariadb(self, name);

    if (self->engine == WEIR_SQLITE) {
        sqlite3 *handle = open_file(name);

        (void)ask_sqlite(handle, "BEGIN; SELECT count(*) FROM weir_queue");
        return handle;
    }
    server_url(self->server, name, url, sizeof url);
    connection = PQconnectdb(url);
    bench_must(PQstatus(connection) == CONNECTION_OK, PQerrorMessage(connection));
    run_pg(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    run_pg(connection, "SELECT pg_current_snapshot()");
    return connection;
}

void bench_snapshot_drop(struct bench_database *self, void *snapshot)
{
    if (self->engine == WEIR_SQLITE)
        (void)sqlite3_close(snapshot);
    else if (self->engine == WEIR_MARIADB)
        mysql_close(snapshot);
    else
        PQfinish(snapshot);
}
