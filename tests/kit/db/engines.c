/*
 * engines.c - an empty database and a weir_db on it for each test.
 *
 * A check that fails leaves its test by longjmp(), and what the test held stays behind:
 * the next test finds its database and drops it, and the rest is leaked by a run that
 * has failed anyway.
 */
#include "kit/db/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

/* One for each test: what a failed test has left running still uses its own. */
static struct fixture *current;

static void open_fixture(enum weir_engine engine, const struct fixture_filling *filling);
static void make_original(enum weir_engine engine, const struct fixture_filling *filling);
static void drop_database(struct fixture *self);
static const char *type_word(const struct fixture *self, const char *text, size_t *size);
static sqlite3 *open_sqlite(const struct fixture *self);

void fixture_run(enum weir_engine engine, fixture_fn body)
{
    fixture_run_filled(engine, NULL, body);
}

void fixture_run_filled(enum weir_engine engine, const struct fixture_filling *filling,
                        fixture_fn body)
{
    int64_t left_over;

    if (current != NULL && current->database[0] != '\0')
        drop_database(current);

    if (filling != NULL && engine == WEIR_POSTGRESQL)
        make_original(engine, filling);
    open_fixture(engine, filling);
    body(current);
    weir_db_destroy(current->db);
    current->db = NULL;
    drop_database(current);

    left_over = current->heap.outstanding;
    check_int(left_over, 0);
}

void fixture_check(const char *file, int line, const char *text,
                   const struct fixture *fixture, enum weir_status got,
                   enum weir_status want)
{
    if (got != want)
        weir_test_fail(file, line, "%s: got %s, want %s: %s (%d, \"%s\")", text,
                       weir_status_name(got), weir_status_name(want), fixture->error.text,
                       fixture->error.native_code, fixture->error.sqlstate);
}

struct weir_db_options fixture_options(struct fixture *self)
{
    struct weir_db_options options;

    weir_db_options_init(&options);
    options.url = self->url;
    options.heap = &self->heap.heap;
    return options;
}

struct weir_db *fixture_open(struct fixture *fixture,
                             const struct weir_db_options *options)
{
    struct weir_db *db;

    check_db(weir_db_create(options, &db, &fixture->error), WEIR_OK);
    return db;
}

enum weir_status fixture_try_url(struct fixture *fixture, const char *url)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    enum weir_status status;
    struct weir_db *db;

    options.url = url;
    db = fixture_open(fixture, &options);
    status = weir_db_acquire(db, &connection, &fixture->error);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return status;
}

struct weir_connection *fixture_take(struct fixture *fixture)
{
    struct weir_connection *connection;

    check_db(weir_db_acquire(fixture->db, &connection, &fixture->error), WEIR_OK);
    return connection;
}

void fixture_give(struct fixture *self, struct weir_connection *connection)
{
    weir_db_release(self->db, connection);
}

void fixture_execute(struct fixture *fixture, struct weir_connection *connection,
                     const char *text)
{
    char expanded[4096];
    size_t size = 0;

    while (*text != '\0') {
        size_t word_size = 1;
        const char *word = *text == '$' ? type_word(fixture, text, &word_size) : NULL;
        size_t length = word != NULL ? strlen(word) : 1;

        check(size + length < sizeof expanded);
        memcpy(expanded + size, word != NULL ? word : text, length);
        size += length;
        text += word_size;
    }
    expanded[size] = '\0';
    check_db(weir_connection_execute_ddl(connection, expanded, &fixture->error), WEIR_OK);
}

void fixture_prepare(struct fixture *fixture, const char *text)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(fixture, connection, text);
    fixture_give(fixture, connection);
}

const char *fixture_choose(const struct fixture *self, const char *on_sqlite,
                           const char *on_postgresql, const char *on_mariadb)
{
    const char *const words[] = {
        [WEIR_SQLITE] = on_sqlite,
        [WEIR_POSTGRESQL] = on_postgresql,
        [WEIR_MARIADB] = on_mariadb,
    };

    return words[self->engine];
}

int64_t fixture_ask(struct fixture *self, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *handle;
    int64_t answer = 0;
    int code;

    if (self->server != NULL)
        return server_query(self->server, self->database, sql);

    handle = open_sqlite(self);
    code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        answer = sqlite3_column_int64(statement, 0);
    else if (code != SQLITE_DONE)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(handle));
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return answer;
}

bool fixture_is_free(struct fixture *self, const char *sql)
{
    bool done = false;

    if (self->engine == WEIR_SQLITE) {
        sqlite3 *handle = open_sqlite(self);

        sqlite3_busy_timeout(handle, 0);
        done = sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
        sqlite3_close(handle);
    } else if (self->engine == WEIR_POSTGRESQL) {
        char url[SERVER_URL_SIZE];
        PGconn *handle;
        PGresult *result;

        server_direct_url(self->server, self->database, url, sizeof url);
        handle = PQconnectdb(url);
        PQclear(PQexec(handle, "SET lock_timeout = 100"));
        result = PQexec(handle, sql);
        done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        PQfinish(handle);
    } else {
        MYSQL *handle = mysql_init(NULL);

        check(handle != NULL);
        check(mysql_real_connect(handle, "127.0.0.1", SERVER_USER, SERVER_PASSWORD,
                                 self->database, server_port(self->server), NULL,
                                 0) != NULL);
        check_int(mysql_query(handle, "SET innodb_lock_wait_timeout = 1, "
                                      "lock_wait_timeout = 1"),
                  0);
        done = mysql_query(handle, sql) == 0;
        mysql_close(handle);
    }
    return done;
}

bool fixture_is_unlocked(struct fixture *self, const char *table)
{
    char sql[128];

    if (self->engine == WEIR_SQLITE)
        return fixture_is_free(self, "BEGIN IMMEDIATE; COMMIT");
    if (self->engine == WEIR_POSTGRESQL)
        snprintf(sql, sizeof sql, "BEGIN; LOCK TABLE %s; COMMIT", table);
    else
        snprintf(sql, sizeof sql, "LOCK TABLES %s WRITE", table);
    return fixture_is_free(self, sql);
}

int64_t fixture_deadline(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 60000;
}

void fixture_wait(const char *file, int line, const char *text, int64_t deadline_ms)
{
    if (fixture_deadline() - 60000 > deadline_ms)
        weir_test_fail(file, line, "it never came to: %s", text);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void open_fixture(enum weir_engine engine, const struct fixture_filling *filling)
{
    bool copied = filling != NULL && engine == WEIR_POSTGRESQL;
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct weir_db_options options;
    char name[64];
    int length;

    check(fixture != NULL);
    fixture->before = current;
    current = fixture;
    fixture->engine = engine;
    weir_faulty_heap_init(&fixture->heap);
    server_name_database(name, sizeof name);
    if (engine == WEIR_SQLITE) {
        length = snprintf(fixture->url, sizeof fixture->url, "sqlite:%s/%s.db",
                          server_folder(), name);
        check(length > 0 && length < SERVER_PATH_SIZE);
        memcpy(fixture->database, fixture->url + strlen("sqlite:"),
               (size_t)length + 1 - strlen("sqlite:"));
    } else {
        fixture->server = server_shared(engine);
        if (copied)
            server_copy_database(fixture->server, filling->name, name);
        else
            server_create_database(fixture->server, name);
        memcpy(fixture->database, name, sizeof name);
        server_url(fixture->server, name, fixture->url, sizeof fixture->url);
    }
    options = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &options);
    if (filling != NULL)
        (copied ? filling->adapt : filling->fill)(fixture);
}

/* Once for each server, whose programs run one after the other. It has its name when it
 * is complete. */
static void make_original(enum weir_engine engine, const struct fixture_filling *filling)
{
    static const struct fixture_filling *made;
    struct server *server = server_shared(engine);
    char sql[SERVER_PATH_SIZE + 128];

    if (made == filling)
        return;
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_database WHERE datname = '%s'",
                   filling->name);
    if (server_query(server, NULL, sql) == 0) {
        open_fixture(engine, NULL);
        filling->fill(current);
        weir_db_destroy(current->db);
        current->db = NULL;
        if (server_is_pooled(server))
            server_end_sessions(server, current->database);
        (void)snprintf(sql, sizeof sql, "ALTER DATABASE %s RENAME TO %s",
                       current->database, filling->name);
        server_execute(server, NULL, sql);
        current->database[0] = '\0';
    }
    made = filling;
}

static void drop_database(struct fixture *self)
{
    char database[SERVER_PATH_SIZE];
    char path[SERVER_PATH_SIZE + 8];

    memcpy(database, self->database, sizeof database);
    self->database[0] = '\0'; /* first: what follows may fail, but only once */
    if (self->server != NULL) {
        server_drop_database(self->server, database);
        return;
    }
    for (const char *const *suffix = (const char *const[]){"", "-wal", "-shm", NULL};
         *suffix != NULL; suffix++) {
        snprintf(path, sizeof path, "%s%s", database, *suffix);
        (void)unlink(path);
    }
}

/* The type that stands for the word at `text`, whose size is put into *size. */
static const char *type_word(const struct fixture *self, const char *text, size_t *size)
{
    static const struct {
        const char *word;
        const char *types[3];
    } WORDS[] = {
        {"$integer", {"INTEGER", "bigint", "BIGINT"}},
        {"$real", {"REAL", "double precision", "DOUBLE"}},
        {"$text", {"TEXT", "text", "LONGTEXT"}},
        {"$bytes", {"BLOB", "bytea", "LONGBLOB"}},
        {"$boolean", {"INTEGER", "boolean", "TINYINT(1)"}},
        {"$time", {"INTEGER", "timestamptz", "DATETIME(6)"}},
        {"$key", {"TEXT", "text", "VARCHAR(100)"}},
    };

    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        *size = strlen(WORDS[i].word);
        if (strncmp(text, WORDS[i].word, *size) == 0)
            return WORDS[i].types[self->engine];
    }
    weir_test_fail(__FILE__, __LINE__, "no type at \"%s\"", text);
}

static sqlite3 *open_sqlite(const struct fixture *self)
{
    sqlite3 *handle = NULL;

    check_int(sqlite3_open_v2(self->database, &handle, SQLITE_OPEN_READWRITE, NULL),
              SQLITE_OK);
    sqlite3_busy_timeout(handle, 60000);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_exec(handle, "PRAGMA wal_autocheckpoint=0", NULL, NULL, NULL);
    return handle;
}
