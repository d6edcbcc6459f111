/*
 * Tests of db/migrate.c on each engine: what is applied, what is refused, and by which
 * words. Crowds and crashes are in test_migrate_crash.c, roles in test_roles.c.
 */
#include "db/migrate.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "contract/db/child.h"
#include "contract/db/migration_fixture.h"
#include "kit/server/process.h"
#include "weir/version.h"

static void run_dump(struct fixture *fixture, const char *text);

/* ---- applying ---------------------------------------------------------------------- */

ENGINE_TEST(migrate, brings_an_empty_database_to_the_newest)
{
    check_int(migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST), 0);

    migration_fixture_is_whole(fixture, "weir");
}

ENGINE_TEST(migrate, does_nothing_when_run_again)
{
    migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST);

    check_int(migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST),
              MIGRATION_FIXTURE_NEWEST);

    migration_fixture_is_whole(fixture, "weir");
}

ENGINE_TEST(migrate, goes_on_from_where_the_database_is)
{
    for (uint32_t number = 1; number <= MIGRATION_FIXTURE_NEWEST; number++)
        check_int(migration_fixture_migrate(fixture, "weir", number), number - 1);

    migration_fixture_is_whole(fixture, "weir");
}

ENGINE_TEST(migrate, knows_nothing_and_applies_nothing)
{
    check_int(migration_fixture_migrate(fixture, "weir", 0), 0);

    check_int(migration_fixture_count_tables(fixture, "weir"), 0);
}

ENGINE_TEST(migrate, keeps_two_prefixes_apart)
{
    migration_fixture_migrate(fixture, "red", 2);

    check_int(migration_fixture_migrate(fixture, "blue", MIGRATION_FIXTURE_NEWEST), 0);

    migration_fixture_is_whole(fixture, "blue");
    check_int(migration_fixture_ask(fixture, "SELECT value FROM %s_mark", "red"), 0);
    check_int(migration_fixture_migrate(fixture, "red", MIGRATION_FIXTURE_NEWEST), 2);
    migration_fixture_is_whole(fixture, "red");
}

/* One prefix is the beginning of another, and contains the word that follows it. */
ENGINE_TEST(migrate, keeps_prefixes_apart_that_are_alike)
{
    static const char *const PREFIXES[] = {"a", "a_item", "a_schema", "a_item_a_item"};

    for (size_t i = 0; i < 4; i++)
        check_int(
            migration_fixture_migrate(fixture, PREFIXES[i], MIGRATION_FIXTURE_NEWEST), 0);

    for (size_t i = 0; i < 4; i++)
        migration_fixture_is_whole(fixture, PREFIXES[i]);
}

/* Whether they are one family or two is the engine's affair; neither may break. */
ENGINE_TEST(migrate, takes_prefixes_that_differ_in_capitals_only)
{
    migration_fixture_migrate(fixture, "Weir", MIGRATION_FIXTURE_NEWEST);
    check_db(migration_fixture_check(fixture, "Weir", MIGRATION_FIXTURE_NEWEST), WEIR_OK);

    (void)migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST);

    check_db(migration_fixture_check(fixture, "weir", MIGRATION_FIXTURE_NEWEST), WEIR_OK);
    check_db(migration_fixture_check(fixture, "Weir", MIGRATION_FIXTURE_NEWEST), WEIR_OK);
}

ENGINE_TEST(migrate, takes_the_longest_prefix)
{
    static const char LONGEST[] = "p23456789_123456789_123456789_123456";

    check_int(strlen(LONGEST), 36);

    check_int(migration_fixture_migrate(fixture, LONGEST, MIGRATION_FIXTURE_NEWEST), 0);

    migration_fixture_is_whole(fixture, LONGEST);
}

/* The name of the lock is made of both. */
MARIADB_TEST(migrate, takes_the_longest_prefix_in_the_database_with_the_longest_name)
{
    static const char LONGEST[] = "p23456789_123456789_123456789_123456";
    char name[65];
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db;
    uint32_t from;
    uint32_t to;
    char url[SERVER_URL_SIZE];

    memset(name, 'd', 64);
    name[64] = '\0';
    server_create_database(fixture->server, name);
    server_url(fixture->server, name, url, sizeof url);
    options.url = url;
    options.prefix = LONGEST;
    db = fixture_open(fixture, &options);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_OK);

    check_int(to, MIGRATION_FIXTURE_NEWEST);
    weir_db_destroy(db);
    server_drop_database(fixture->server, name);
}

SQLITE_TEST(migrate, works_in_memory)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *db;
    uint32_t from;
    uint32_t to;

    options.url = "sqlite::memory:";
    db = fixture_open(fixture, &options);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_OK);

    check_int(to, MIGRATION_FIXTURE_NEWEST);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_schema_check(&schema, connection, &fixture->error), WEIR_OK);
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

POSTGRESQL_TEST(migrate, works_without_sessions)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE + 32];
    struct weir_db *db;
    uint32_t from;
    uint32_t to;

    snprintf(url, sizeof url, "%s?pooler=transaction", fixture->url);
    options.url = url;
    db = fixture_open(fixture, &options);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_OK);

    weir_db_destroy(db);
    migration_fixture_is_whole(fixture, "weir");
}

/* ---- older and newer --------------------------------------------------------------- */

ENGINE_TEST(migrate, reads_what_the_database_has_and_makes_nothing)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_schema_version version = {.number = 99, .readable_by = 99};

    check_db(weir_schema_read(&schema, connection, &version, &fixture->error), WEIR_OK);
    check_int(version.number, 0);
    check_int(version.readable_by, 0);
    check_int(migration_fixture_count_tables(fixture, "weir"), 0);

    migration_fixture_migrate(fixture, "weir", 3);
    check_db(weir_schema_read(&schema, connection, &version, &fixture->error), WEIR_OK);
    check_int(version.number, 3);
    check_int(version.readable_by, 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(migrate, says_what_to_do_about_an_old_schema)
{
    check_db(migration_fixture_check(fixture, "weir", MIGRATION_FIXTURE_NEWEST),
             WEIR_SCHEMA);
    check_str(fixture->error.text,
              "the database has schema 0, 4 is needed: run 'weir migrate'");

    migration_fixture_migrate(fixture, "weir", 2);
    check_db(migration_fixture_check(fixture, "weir", MIGRATION_FIXTURE_NEWEST),
             WEIR_SCHEMA);

    check_str(fixture->error.text,
              "the database has schema 2, 4 is needed: run 'weir migrate'");
}

/* A rolling upgrade: the old processes go on, and may even be told to migrate. */
ENGINE_TEST(migrate, lets_an_older_library_use_a_schema_that_allows_it)
{
    struct weir_schema older = migration_fixture_up_to(2);
    uint32_t from = 0;
    uint32_t to = 0;

    migration_fixture_migrate(fixture, "weir", 3);

    check_db(migration_fixture_check(fixture, "weir", 2), WEIR_OK);
    check_db(weir_schema_migrate(&older, fixture->db, &from, &to, &fixture->error),
             WEIR_OK);
    check_int(from, 3);
    check_int(to, 3);
}

ENGINE_TEST(migrate, refuses_an_older_library_that_the_schema_does_not_allow)
{
    struct weir_schema older = migration_fixture_up_to(3);
    uint32_t from = 99;
    uint32_t to = 99;
    char expected[256];

    migration_fixture_migrate(fixture, "weir", 4);

    check_db(migration_fixture_check(fixture, "weir", 3), WEIR_SCHEMA);
    (void)snprintf(expected, sizeof expected,
                   "migrate: the database has schema 4, which needs a library that knows "
                   "4; this one, weir %s, knows 3: install a newer weir in this process",
                   weir_version_string());
    check_str(fixture->error.text, expected + strlen("migrate: "));

    check_db(weir_schema_migrate(&older, fixture->db, &from, &to, &fixture->error),
             WEIR_SCHEMA);
    check_str(fixture->error.text, expected);
    check_int(from, 0);
    check_int(to, 0);
}

/* ---- failing ----------------------------------------------------------------------- */

/* All but the last of the shelf's, with a third one that ends badly. */
static struct weir_schema with_a_bad_third(struct weir_migration *migrations)
{
    static const char *const BAD[] = {"UPDATE {p}_mark SET value = 7",
                                      "UPDATE {p}_nowhere SET value = 7", NULL};

    memcpy(migrations, MIGRATION_FIXTURE_MIGRATIONS, sizeof MIGRATION_FIXTURE_MIGRATIONS);
    for (int engine = 0; engine < WEIR_ENGINE_COUNT; engine++)
        migrations[2].statements[engine] = BAD;
    return (struct weir_schema){.migrations = migrations, .count = 3};
}

ENGINE_TEST(migrate, names_the_migration_that_fails)
{
    struct weir_migration migrations[MIGRATION_FIXTURE_NEWEST];
    struct weir_schema schema = with_a_bad_third(migrations);
    uint32_t from;
    uint32_t to;

    check_db(weir_schema_migrate(&schema, fixture->db, &from, &to, &fixture->error),
             WEIR_SCHEMA);

    check(strstr(fixture->error.text, "migrate: migration 3 (the mark counts): ") ==
          fixture->error.text);
    check(strstr(fixture->error.text, "weir_nowhere") != NULL);
}

/* MariaDB ends a transaction at each statement that makes a table. */
ENGINE_TEST(migrate, leaves_nothing_of_a_failure_but_whole_migrations)
{
    struct weir_migration migrations[MIGRATION_FIXTURE_NEWEST];
    struct weir_schema schema = with_a_bad_third(migrations);
    uint32_t from;
    uint32_t to;

    check_db(weir_schema_migrate(&schema, fixture->db, &from, &to, &fixture->error),
             WEIR_SCHEMA);

    if (fixture->engine == WEIR_MARIADB)
        check_int(fixture_ask(fixture, "SELECT max(number) FROM weir_schema"), 2);
    else
        check_int(migration_fixture_count_tables(fixture, "weir"), 0);
}

ENGINE_TEST(migrate, heals_a_failure_when_run_again)
{
    struct weir_migration migrations[MIGRATION_FIXTURE_NEWEST];
    struct weir_schema schema = with_a_bad_third(migrations);
    uint32_t from;
    uint32_t to;

    check_db(weir_schema_migrate(&schema, fixture->db, &from, &to, &fixture->error),
             WEIR_SCHEMA);
    if (fixture->engine == WEIR_MARIADB) /* what a bad migration did is its own affair */
        server_execute(fixture->server, fixture->database,
                       "UPDATE weir_mark SET value = 0");

    (void)migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST);

    migration_fixture_is_whole(fixture, "weir");
}

/* An index on a large table takes longer than any statement of a normal day. */
ENGINE_TEST(migrate, is_not_ended_by_the_statement_timeout)
{
    static const char *const SLOW[WEIR_ENGINE_COUNT][2] = {
        [WEIR_SQLITE] =
            {"CREATE TABLE {p}_slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION "
             "ALL SELECT i + 1 FROM n WHERE i < 2000000) "
             "SELECT max(i) FROM n"},
        [WEIR_POSTGRESQL] = {"SELECT pg_sleep(0.5)"},
        [WEIR_MARIADB] =
            {"CREATE OR REPLACE TABLE {p}_slow AS SELECT MAX(seq * seq) AS m "
             "FROM seq_1_to_8000000"},
    };
    const struct weir_migration migration = {1, 1, "slow", {SLOW[0], SLOW[1], SLOW[2]}};
    struct weir_schema schema = {.migrations = &migration, .count = 1};
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *db;
    uint32_t from;
    uint32_t to;

    options.statement_timeout_ns = WEIR_MILLISECONDS(100);
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_text(connection, SLOW[fixture->engine][0],
                                          &fixture->error),
             WEIR_TIMEOUT);
    weir_db_release(db, connection);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_OK);

    check_int(to, 1);
    weir_db_destroy(db);
}

/* ---- without rights ---------------------------------------------------------------- */

SERVER_TEST(migrate, is_denied_to_whom_may_not_make_tables)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE];
    char sql[SERVER_PATH_SIZE + 64];
    struct weir_db *db;
    uint32_t from;
    uint32_t to;

    if (fixture->engine == WEIR_MARIADB) {
        snprintf(sql, sizeof sql, "GRANT SELECT, INSERT ON %s.* TO " SERVER_GUEST "@'%%'",
                 fixture->database);
        server_execute(fixture->server, fixture->database, sql);
    }
    server_url_as(fixture->server, SERVER_GUEST, SERVER_GUEST_PASSWORD, fixture->database,
                  url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_DENIED);

    weir_db_destroy(db);
    check_int(migration_fixture_count_tables(fixture, "weir"), 0);
    if (fixture->engine == WEIR_MARIADB) {
        snprintf(sql, sizeof sql,
                 "REVOKE SELECT, INSERT ON %s.* FROM " SERVER_GUEST "@'%%'",
                 fixture->database);
        server_execute(fixture->server, fixture->database, sql);
    }
}

/* As somebody else, for root may write to anything. */
static int migrate_as_nobody(void *argument)
{
    struct fixture *fixture = argument;
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct passwd *nobody = getpwnam("nobody");
    uint32_t from;
    uint32_t to;

    if (geteuid() == 0 &&
        (nobody == NULL || setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0))
        return 125;
    return (int)weir_schema_migrate(&schema, fixture->db, &from, &to, &fixture->error);
}

SQLITE_TEST(migrate, is_denied_to_whom_may_not_write_to_the_file)
{
    migration_fixture_migrate(fixture, "weir", 1);
    check_int(chmod(fixture->database, 0444), 0);

    check_int(child_wait(child_start(migrate_as_nobody, fixture)), WEIR_DENIED);

    check_int(chmod(fixture->database, 0644), 0);
    check_int(migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST), 1);
}

/* ---- families ---------------------------------------------------------------------- */

static const struct weir_migration ANNEX_MIGRATIONS[] = {
    {1001,
     1001,
     "an annex",
     {
         [WEIR_SQLITE] = STATEMENTS("CREATE TABLE {p}_annex (id INTEGER)"),
         [WEIR_POSTGRESQL] = STATEMENTS("CREATE TABLE {p}_annex (id bigint)"),
         [WEIR_MARIADB] = STATEMENTS("CREATE TABLE IF NOT EXISTS {p}_annex (id BIGINT)"),
     }},
};

static const struct weir_schema ANNEX = {
    .base = 1000,
    .name = "the annex",
    .migrations = ANNEX_MIGRATIONS,
    .count = 1,
};

static enum weir_status check_annex(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    enum weir_status status = weir_schema_check(&ANNEX, connection, &fixture->error);

    fixture_give(fixture, connection);
    return status;
}

static uint32_t migrate_annex(struct fixture *fixture)
{
    uint32_t from = 99;
    uint32_t to = 99;

    check_db(weir_schema_migrate(&ANNEX, fixture->db, &from, &to, &fixture->error),
             WEIR_OK);
    check_int(to, 1001);
    return from;
}

ENGINE_TEST(family, is_as_new_as_its_own_newest_row)
{
    migration_fixture_migrate(fixture, "weir", 2);

    check_int(migrate_annex(fixture), 0);

    check_int(migrate_annex(fixture), 1001);
    check_db(check_annex(fixture), WEIR_OK);
    check_db(migration_fixture_check(fixture, "weir", 2), WEIR_OK);
    check_int(migration_fixture_migrate(fixture, "weir", 3), 2);
}

ENGINE_TEST(family, may_come_before_the_one_with_the_lower_numbers)
{
    check_int(migrate_annex(fixture), 0);

    check_int(migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST), 0);

    check_db(check_annex(fixture), WEIR_OK);
    check_db(migration_fixture_check(fixture, "weir", MIGRATION_FIXTURE_NEWEST), WEIR_OK);
}

ENGINE_TEST(family, says_whose_tables_are_missing)
{
    migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST);

    check_db(check_annex(fixture), WEIR_SCHEMA);

    check_str(fixture->error.text, "the database has no tables of the annex, schema 1001 "
                                   "is needed: run 'weir migrate'");
}

ENGINE_TEST(family, is_refused_on_an_engine_that_does_not_have_it)
{
    struct weir_schema schema = ANNEX;
    struct weir_buf text;
    char refusal[64];
    uint32_t from = 99;
    uint32_t to = 99;

    schema.without = 1U << fixture->engine;
    weir_buf_init(&text, &fixture->heap.heap, 10000);
    (void)snprintf(refusal, sizeof refusal, "migrate: the annex does not work on %s",
                   fixture_choose(fixture, "SQLite", "PostgreSQL", "MariaDB"));

    check_db(weir_schema_dump(&schema, fixture->engine, "weir", &text, &fixture->error),
             WEIR_INVALID);
    check_db(weir_schema_migrate(&schema, fixture->db, &from, &to, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text, refusal);
    check_int(text.size, 0);
    check_int(migration_fixture_count_tables(fixture, "weir"), 0);
    weir_buf_fini(&text);
}

/* ---- as SQL ------------------------------------------------------------------------ */

ENGINE_TEST(dump, makes_the_same_database_by_the_engines_own_client)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_buf text;

    weir_buf_init(&text, &fixture->heap.heap, 100000);
    check_db(weir_schema_dump(&schema, fixture->engine, "weir", &text, &fixture->error),
             WEIR_OK);

    run_dump(fixture, weir_buf_text(&text));

    migration_fixture_is_whole(fixture, "weir");
    check_int(migration_fixture_migrate(fixture, "weir", MIGRATION_FIXTURE_NEWEST),
              MIGRATION_FIXTURE_NEWEST);
    check_in_range(
        fixture_ask(fixture,
                    fixture_choose(
                        fixture,
                        "SELECT strftime('%s','now') - min(applied_at) / 1000000 "
                        "FROM weir_schema",
                        "SELECT extract(epoch FROM clock_timestamp() - min(applied_at))"
                        "::bigint FROM weir_schema",
                        "SELECT TIMESTAMPDIFF(SECOND, MIN(applied_at), UTC_TIMESTAMP(6)) "
                        "FROM weir_schema")),
        0, 600);
    weir_buf_fini(&text);
}

ENGINE_TEST(dump, has_the_prefix_and_the_names)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_buf text;

    weir_buf_init(&text, &fixture->heap.heap, 100000);

    check_db(weir_schema_dump(&schema, fixture->engine, "toolkit_outbox", &text,
                              &fixture->error),
             WEIR_OK);

    check(strstr(weir_buf_text(&text), "toolkit_outbox_item") != NULL);
    check(strstr(weir_buf_text(&text), "\n-- 2: weight; and a mark\n") != NULL);
    check(strstr(weir_buf_text(&text), "{p}") == NULL);
    weir_buf_fini(&text);
}

ENGINE_TEST(dump, refuses_a_bad_prefix_and_a_small_buffer)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_buf text;

    weir_buf_init(&text, &fixture->heap.heap, 200);

    check_db(weir_schema_dump(&schema, fixture->engine, "we;ir", &text, &fixture->error),
             WEIR_INVALID);
    check_int(text.size, 0);
    check_db(weir_schema_dump(&schema, fixture->engine, "weir", &text, &fixture->error),
             WEIR_INVALID);
    weir_buf_fini(&text);
}

/* SQLite's client is not installed everywhere; psql does what PQexec() does. Only
 * MariaDB's cuts the text by itself. */
static void run_dump(struct fixture *fixture, const char *text)
{
    char path[SERVER_PATH_SIZE];
    char source[SERVER_PATH_SIZE + 16];
    char port[16];
    struct process_options options = {.folder = server_folder(), .death_signal = SIGKILL};
    sqlite3 *handle = NULL;
    FILE *file;

    if (fixture->engine == WEIR_SQLITE) {
        check_int(sqlite3_open(fixture->database, &handle), SQLITE_OK);
        check_int(sqlite3_exec(handle, text, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(handle);
        return;
    }
    if (fixture->engine == WEIR_POSTGRESQL) {
        server_execute(fixture->server, fixture->database, text);
        return;
    }
    check(snprintf(path, sizeof path, "%s/dump.sql", server_folder()) < (int)sizeof path);
    file = fopen(path, "we");
    check(file != NULL);
    check(fputs(text, file) >= 0);
    check_int(fclose(file), 0);
    snprintf(source, sizeof source, "source %s", path);
    snprintf(port, sizeof port, "%d", server_port(fixture->server));
    process_run(&options, (const char *[]){
                              "/usr/bin/mariadb", "--no-defaults", "--skip-ssl", "--host",
                              "127.0.0.1", "--port", port, "--user=" SERVER_USER,
                              "--password=" SERVER_PASSWORD, "--abort-source-on-error",
                              "--execute", source, fixture->database, NULL});
}
