/*
 * migration_fixture.h - a small schema for the tests of migrations, in four steps and
 * three dialects.
 *
 *   1  {p}_item with an index
 *   2  a column more, and {p}_mark, which has one row
 *   3  that row changes; libraries that know 2 may still use the database
 *   4  a routine, where the engine has them; nobody who knows less than 4 may
 *
 * On MariaDB each statement may be repeated, as migrate.h demands.
 */
#ifndef WEIR_TEST_MIGRATION_FIXTURE_H
#define WEIR_TEST_MIGRATION_FIXTURE_H

#include "db/migrate.h"
#include "kit/db/engines.h"

enum { MIGRATION_FIXTURE_NEWEST = 4 };

#define STATEMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct weir_migration MIGRATION_FIXTURE_MIGRATIONS[] = {
    {1,
     1,
     "items",
     {
         [WEIR_SQLITE] = STATEMENTS(
             "CREATE TABLE {p}_item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
             "CREATE INDEX {p}_item_name ON {p}_item (name)"),
         [WEIR_POSTGRESQL] = STATEMENTS(
             "CREATE TABLE {p}_item (id bigint PRIMARY KEY, name text NOT NULL)",
             "CREATE INDEX {p}_item_name ON {p}_item (name)"),
         [WEIR_MARIADB] =
             STATEMENTS("CREATE TABLE IF NOT EXISTS {p}_item (id BIGINT PRIMARY KEY, "
                        "name VARCHAR(100) NOT NULL) ENGINE=InnoDB",
                        "CREATE INDEX IF NOT EXISTS {p}_item_name ON {p}_item (name)"),
     }},
    {2,
     1,
     "weight; and a mark",
     {
         [WEIR_SQLITE] =
             STATEMENTS("ALTER TABLE {p}_item ADD COLUMN weight INTEGER",
                        "CREATE TABLE {p}_mark (id INTEGER PRIMARY KEY, value INTEGER)",
                        "INSERT INTO {p}_mark (id, value) VALUES (1, 0)"),
         [WEIR_POSTGRESQL] =
             STATEMENTS("ALTER TABLE {p}_item ADD COLUMN weight bigint",
                        "CREATE TABLE {p}_mark (id bigint PRIMARY KEY, value bigint)",
                        "INSERT INTO {p}_mark (id, value) VALUES (1, 0)"),
         [WEIR_MARIADB] =
             STATEMENTS("ALTER TABLE {p}_item ADD COLUMN IF NOT EXISTS weight BIGINT",
                        "CREATE TABLE IF NOT EXISTS {p}_mark (id BIGINT PRIMARY KEY, "
                        "value BIGINT) ENGINE=InnoDB",
                        "INSERT IGNORE INTO {p}_mark (id, value) VALUES (1, 0)"),
     }},
    {3,
     2,
     "the mark counts",
     {
         [WEIR_SQLITE] = STATEMENTS("UPDATE {p}_mark SET value = value + 1"),
         [WEIR_POSTGRESQL] = STATEMENTS("UPDATE {p}_mark SET value = value + 1"),
         [WEIR_MARIADB] = STATEMENTS("UPDATE {p}_mark SET value = 1 WHERE value = 0"),
     }},
    {4,
     4,
     "a routine",
     {
         [WEIR_SQLITE] = NULL,
         [WEIR_POSTGRESQL] =
             STATEMENTS("CREATE FUNCTION {p}_next(n bigint) RETURNS bigint LANGUAGE "
                        "plpgsql AS $$ DECLARE m bigint; BEGIN m := n + 1; RETURN m; "
                        "END $$"),
         [WEIR_MARIADB] =
             STATEMENTS("CREATE OR REPLACE FUNCTION {p}_next(n BIGINT) RETURNS BIGINT "
                        "DETERMINISTIC BEGIN DECLARE m BIGINT; SET m = n + 1; RETURN m; "
                        "END"),
     }},
};

/* What a library knows that ends with this number. */
static inline struct weir_schema migration_fixture_up_to(uint32_t number)
{
    return (struct weir_schema){.migrations = MIGRATION_FIXTURE_MIGRATIONS,
                                .count = number};
}

/* A weir_db with a prefix. Owes one weir_db_destroy(). */
static inline struct weir_db *migration_fixture_open(struct fixture *fixture,
                                                     const char *prefix)
{
    struct weir_db_options options = fixture_options(fixture);

    options.prefix = prefix;
    return fixture_open(fixture, &options);
}

/* Migrate with this prefix, which must work; returns what was there before. */
static inline uint32_t migration_fixture_migrate(struct fixture *fixture,
                                                 const char *prefix, uint32_t number)
{
    struct weir_schema schema = migration_fixture_up_to(number);
    struct weir_db *db = migration_fixture_open(fixture, prefix);
    uint32_t from = 99;
    uint32_t to = 99;

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_OK);
    check_int(to, number);
    weir_db_destroy(db);
    return from;
}

static inline enum weir_status
migration_fixture_check(struct fixture *fixture, const char *prefix, uint32_t number)
{
    struct weir_schema schema = migration_fixture_up_to(number);
    struct weir_db *db = migration_fixture_open(fixture, prefix);
    struct weir_connection *connection = NULL;
    enum weir_status status;

    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    status = weir_schema_check(&schema, connection, &fixture->error);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return status;
}

/* An integer asked from outside; `%s` in the text is the prefix, at most four times. */
static inline int64_t migration_fixture_ask(struct fixture *fixture, const char *text,
                                            const char *prefix)
{
    char sql[1024];
    size_t size = 0;

    while (*text != '\0') {
        bool here = text[0] == '%' && text[1] == 's';
        size_t length = here ? strlen(prefix) : 1;

        check(size + length < sizeof sql);
        memcpy(sql + size, here ? prefix : text, length);
        size += length;
        text += here ? 2 : 1;
    }
    sql[size] = '\0';
    return fixture_ask(fixture, sql);
}

/* Everything is there, once. */
static inline void migration_fixture_is_whole(struct fixture *fixture, const char *prefix)
{
    check_int(migration_fixture_ask(fixture, "SELECT count(*) FROM %s_schema", prefix),
              MIGRATION_FIXTURE_NEWEST);
    check_int(migration_fixture_ask(fixture, "SELECT value FROM %s_mark", prefix), 1);
    check_int(migration_fixture_ask(fixture, "SELECT count(weight) FROM %s_item", prefix),
              0);
    if (fixture->engine != WEIR_SQLITE)
        check_int(migration_fixture_ask(fixture, "SELECT %s_next(41)", prefix), 42);
    check_db(migration_fixture_check(fixture, prefix, MIGRATION_FIXTURE_NEWEST), WEIR_OK);
}

/* Tables whose names begin with the prefix. */
static inline int64_t migration_fixture_count_tables(struct fixture *fixture,
                                                     const char *prefix)
{
    return migration_fixture_ask(
        fixture,
        fixture_choose(fixture,
                       "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                       "name IN ('%s_schema', '%s_item', '%s_mark')",
                       "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND "
                       "relname IN ('%s_schema', '%s_item', '%s_mark')",
                       "SELECT count(*) FROM information_schema.tables WHERE "
                       "table_schema = DATABASE() AND "
                       "table_name IN ('%s_schema', '%s_item', '%s_mark')"),
        prefix);
}

#endif
