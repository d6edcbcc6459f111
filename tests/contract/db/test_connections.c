/*
 * A database and the connections it keeps.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "db/db.h"
#include "kit/db/engines.h"

enum { HELD_MAX = 8 };

static const struct weir_sql SQL_ONE = {.name = "one", .text = "SELECT 1"};

static int64_t ask_one(struct fixture *fixture, struct weir_connection *connection);
static void throw_everybody_out(struct fixture *fixture);

ENGINE_TEST(db, tells_its_engine)
{
    check_int(weir_db_engine(fixture->db), fixture->engine);
    check_str(weir_engine_name(weir_db_engine(fixture->db)),
              fixture_choose(fixture, "sqlite", "postgresql", "mariadb"));
}

ENGINE_TEST(db, talks_to_nobody_before_a_connection_is_taken)
{
    if (fixture->server != NULL)
        check_int(fixture_ask(fixture,
                              fixture_choose(
                                  fixture, "",
                                  "SELECT count(*) FROM pg_stat_activity "
                                  "WHERE datname = current_database() "
                                  "AND backend_type = 'client backend' "
                                  "AND pid <> pg_backend_pid()",
                                  "SELECT count(*) FROM information_schema.processlist "
                                  "WHERE db = database() AND id <> connection_id()")),
                  0);
}

ENGINE_TEST(db, gives_the_connection_used_last_again)
{
    struct weir_connection *first = fixture_take(fixture);
    struct weir_connection *second = fixture_take(fixture);
    void *handle = weir_connection_native(second);

    check(weir_connection_native(first) != handle);
    fixture_give(fixture, first);
    fixture_give(fixture, second);
    second = fixture_take(fixture);

    check(weir_connection_native(second) == handle);
    check_int(ask_one(fixture, second), 1);
    fixture_give(fixture, second);
}

ENGINE_TEST(db, keeps_to_its_number_of_connections)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *held[HELD_MAX], *one_more;
    struct weir_db *small;

    options.connections_max = HELD_MAX;
    small = fixture_open(fixture, &options);
    for (int i = 0; i < HELD_MAX; i++)
        check_db(weir_db_acquire(small, &held[i], &fixture->error), WEIR_OK);

    check_db(weir_db_acquire(small, &one_more, &fixture->error), WEIR_BUSY);
    check(one_more == NULL);
    weir_db_release(small, one_more); /* NULL is fine */
    weir_db_release(small, held[3]);
    check_db(weir_db_acquire(small, &held[3], &fixture->error), WEIR_OK);

    for (int i = 0; i < HELD_MAX; i++)
        weir_db_release(small, held[i]);
    weir_db_destroy(small);
}

/* Lost while nobody looked: whoever takes one next does not notice. */
SERVER_TEST(db, replaces_connections_that_were_lost_while_free)
{
    struct weir_connection *held[HELD_MAX];

    for (int i = 0; i < HELD_MAX; i++)
        held[i] = fixture_take(fixture);
    for (int i = 0; i < HELD_MAX; i++)
        fixture_give(fixture, held[i]);
    throw_everybody_out(fixture);

    for (int i = 0; i < HELD_MAX; i++) {
        held[i] = fixture_take(fixture);
        check_int(ask_one(fixture, held[i]), 1);
    }
    for (int i = 0; i < HELD_MAX; i++)
        fixture_give(fixture, held[i]);
}

SERVER_TEST(db, does_not_keep_a_connection_that_was_lost)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t answer;

    throw_everybody_out(fixture);
    for (int i = 0; i < 3; i++) /* for good */
        check_db(weir_connection_query_integer(connection, &SQL_ONE, NO_VALUES, &answer,
                                               &fixture->error),
                 WEIR_LOST);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_LOST);
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_LOST);
    check_db(weir_connection_clock(connection, &answer, &fixture->error), WEIR_LOST);
    check_db(weir_connection_execute_text(connection, "SELECT 1", &fixture->error),
             WEIR_LOST);
    weir_connection_rollback(connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    weir_connection_cancel(connection);
    fixture_give(fixture, connection);

    connection = fixture_take(fixture);
    check_int(ask_one(fixture, connection), 1);
    fixture_give(fixture, connection);
}

/* Taking and giving from many threads at once. */
struct taker {
    struct weir_db *db;
    int failures;
    struct weir_error error;
};

static void *take_often(void *argument)
{
    struct taker *self = argument;

    for (int i = 0; i < 100; i++) {
        struct weir_connection *connection = NULL;
        int64_t answer = 0;

        if (weir_db_acquire(self->db, &connection, &self->error) != WEIR_OK ||
            weir_connection_query_integer(connection, &SQL_ONE, NO_VALUES, &answer,
                                          &self->error) != WEIR_OK ||
            answer != 1)
            self->failures++;
        weir_db_release(self->db, connection);
    }
    return NULL;
}

ENGINE_TEST(db, serves_many_threads)
{
    enum { THREADS = 8 };
    struct taker takers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.db = fixture->db};
        check_int(pthread_create(&threads[i], NULL, take_often, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        check_str(takers[i].error.text, "");
        check_int(takers[i].failures, 0);
    }
}

/* All connections of one open see the same database, another open another. */
WEIR_TEST(db, in_memory_is_shared_by_its_connections)
{
    static const struct weir_sql SQL_COUNT = {.name = "count",
                                              .text = "SELECT count(*) FROM {p}_item"};
    struct weir_db_options options;
    struct weir_connection *first, *second;
    struct weir_db *db, *other;
    int64_t found = -1;

    weir_db_options_init(&options);
    options.url = "sqlite::memory:";
    check_status(weir_db_create(&options, &db, NULL), WEIR_OK);
    check_status(weir_db_create(&options, &other, NULL), WEIR_OK);

    check_status(weir_db_acquire(db, &first, NULL), WEIR_OK);
    check_status(
        weir_connection_execute_text(first, "CREATE TABLE {p}_item (id INTEGER)", NULL),
        WEIR_OK);
    check_status(
        weir_connection_execute_text(first, "INSERT INTO {p}_item VALUES (1)", NULL),
        WEIR_OK);
    check_status(weir_db_acquire(db, &second, NULL), WEIR_OK);
    check_status(
        weir_connection_query_integer(second, &SQL_COUNT, NO_VALUES, &found, NULL),
        WEIR_OK);
    check_int(found, 1);
    weir_db_release(db, first);
    weir_db_release(db, second);

    check_status(weir_db_acquire(other, &first, NULL), WEIR_OK);
    check_status(
        weir_connection_query_integer(first, &SQL_COUNT, NO_VALUES, &found, NULL),
        WEIR_SCHEMA);
    weir_db_release(other, first);
    weir_db_destroy(other);
    weir_db_destroy(db);
}

/* ---- options ----------------------------------------------------------------------- */

WEIR_TEST(db, refuses_options_out_of_range_and_names_them)
{
    static const struct {
        const char *name;
        struct weir_db_options options;
    } BAD[] = {
        {"statement_timeout_ns", {.statement_timeout_ns = -1}},
        {"lock_timeout_ns", {.lock_timeout_ns = -1}},
        {"connect_timeout_ns", {.connect_timeout_ns = -1}},
        {"connections_max", {.connections_max = 1025}},
        {"prefix", {.prefix = ""}},
        {"prefix", {.prefix = "1abc"}},
        {"prefix", {.prefix = "a-b"}},
        {"prefix", {.prefix = "a b; DROP TABLE x"}},
        {"prefix", {.prefix = "a\"b"}},
        {"prefix", {.prefix = "\xc3\xa4"}},
        {"prefix", {.prefix = "abcdefghijklmnopqrstuvwxyz_0123456789x"}},
    };

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct weir_db_options options;
        struct weir_error error;
        struct weir_db *db;

        weir_db_options_init(&options);
        options.url = "sqlite::memory:";
        if (BAD[i].options.statement_timeout_ns != 0)
            options.statement_timeout_ns = BAD[i].options.statement_timeout_ns;
        if (BAD[i].options.lock_timeout_ns != 0)
            options.lock_timeout_ns = BAD[i].options.lock_timeout_ns;
        if (BAD[i].options.connect_timeout_ns != 0)
            options.connect_timeout_ns = BAD[i].options.connect_timeout_ns;
        if (BAD[i].options.connections_max != 0)
            options.connections_max = BAD[i].options.connections_max;
        if (BAD[i].options.prefix != NULL)
            options.prefix = BAD[i].options.prefix;
        check_status(weir_db_create(&options, &db, &error), WEIR_INVALID);
        check(db == NULL);
        check(strstr(error.text, BAD[i].name) != NULL);
    }
}

/* ---- durability -------------------------------------------------------------------- */

struct found_settings {
    char text[4096]; /* a line for each: "fsync is off, should be on" */
    size_t size;
    size_t count;
};

static void note_setting(void *state, const struct weir_finding *finding)
{
    struct found_settings *self = state;
    int length = snprintf(self->text + self->size, sizeof self->text - self->size,
                          "%s is %s, should be %s\n", finding->setting, finding->found,
                          finding->needed);

    check(length > 0 && (size_t)length < sizeof self->text - self->size);
    self->size += (size_t)length;
    self->count++;
}

static void look_at_durability(struct fixture *fixture, const char *url,
                               struct found_settings *out)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *db;

    *out = (struct found_settings){.size = 0};
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    check_db(
        weir_connection_check_durability(connection, note_setting, out, &fixture->error),
        WEIR_OK);
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

ENGINE_TEST(durability, of_the_defaults_is_fine)
{
    struct found_settings found;

    look_at_durability(fixture, fixture->url, &found);
    check_str(found.text, "");
}

static void finds(struct fixture *fixture, const char *const *settings,
                  const char *const *names)
{
    struct server_options options = {.settings = settings};
    struct server *server = server_create(fixture->engine, &options);
    char url[SERVER_URL_SIZE];
    struct found_settings found;
    size_t count = 0;

    server_create_database(server, "loose");
    server_url(server, "loose", url, sizeof url);
    while (names[count] != NULL)
        count++;

    look_at_durability(fixture, url, &found);
    check_int(found.count, count);
    for (size_t i = 0; i < count; i++)
        check(strstr(found.text, names[i]) != NULL);
    check(strstr(found.text, SERVER_PASSWORD) == NULL);
    server_destroy(server);
}

POSTGRESQL_TEST(durability, that_is_loose_is_warned_of)
{
    static const char *const SETTINGS[] = {"fsync=off", "synchronous_commit=off", NULL};
    static const char *const NAMES[] = {"fsync is off, should be ",
                                        "synchronous_commit is off, should be ", NULL};

    finds(fixture, SETTINGS, NAMES);
}

MARIADB_TEST(durability, that_is_loose_is_warned_of)
{
    static const char *const SETTINGS[] = {"innodb-flush-log-at-trx-commit=2",
                                           "log-bin=binary", "sync-binlog=0", NULL};
    static const char *const NAMES[] = {"innodb_flush_log_at_trx_commit is 2, should be ",
                                        "sync_binlog is 0, should be ", NULL};

    finds(fixture, SETTINGS, NAMES);
}

/* ---- helpers ----------------------------------------------------------------------- */

static int64_t ask_one(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t answer = 0;

    check_db(weir_connection_query_integer(connection, &SQL_ONE, NO_VALUES, &answer,
                                           &fixture->error),
             WEIR_OK);
    return answer;
}

/* Everybody but who does it, from this test's database. Returns when they are gone. */
static void throw_everybody_out(struct fixture *fixture)
{
    server_end_sessions(fixture->server, fixture->database);
    wait_until(fixture_ask(fixture,
                           fixture_choose(
                               fixture, "",
                               "SELECT count(*) FROM pg_stat_activity "
                               "WHERE datname = current_database() "
                               "AND pid <> pg_backend_pid()",
                               "SELECT count(*) FROM information_schema.processlist "
                               "WHERE db = database() AND id <> connection_id()")) == 0);
}
