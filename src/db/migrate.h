/*
 * migrate.h - bringing a database to the schema that this library knows.
 *
 * Schema changes are numbered from 1 and applied in order. Several processes may try at
 * once: one does it under a lock, the others find it done. A process that dies in the
 * middle is healed by running it again: PostgreSQL and SQLite apply each change and its
 * version row in one transaction, and on MariaDB, where each DDL statement commits by
 * itself, every statement is written so that repeating it does no harm (IF NOT EXISTS).
 *
 * Each change says which library may still use the database after it: `readable_by` is
 * the lowest schema number a library must know. So during a rolling upgrade the old
 * processes go on, unless the change says that they must not.
 *
 *                         database's schema       this library knows up to 5
 *   older than ours       3                       migrate() brings it to 5, check()
 *                         refuses
 *   same                  5                       fine
 *   newer, readable_by 4  7                       fine
 *   newer, readable_by 6  7                       WEIR_SCHEMA: this library is too old
 *
 * Several families of tables share one {p}_schema, each with a thousand numbers of its
 * own:
 *
 *   base    numbers       family
 *   0       1 to 999      the outbox
 *   1000    1001 to 1999  the execution engine, not on MariaDB
 *
 * A family knows nothing of the others' rows: it is as new as its own newest one.
 *
 * The version rows are in {p}_schema. Names of tables and indexes begin with the
 * prefix, so two prefixes are two families that know nothing of each other.
 */
#ifndef WEIR_DB_MIGRATE_H
#define WEIR_DB_MIGRATE_H

#include "base/buf.h"
#include "db/connection.h"

enum { WEIR_ENGINE_COUNT = 3, WEIR_SCHEMA_NUMBERS = 1000 /* of a family */ };

struct weir_migration {
    uint32_t number;      /* base + 1, base + 2, ... */
    uint32_t readable_by; /* at most `number`, and more than base */
    const char *name;     /* for people; one line without quotes */

    /* By engine: statements with {p} for the prefix, ended by NULL. NULL: not for this
     * engine. */
    const char *const *statements[WEIR_ENGINE_COUNT];
};

/* One, with its statements on SQLite, PostgreSQL and MariaDB. */
#define WEIR_MIGRATION(of_number, readable_by_number, title, sqlite, pg, maria)          \
    {                                                                                    \
        .number = (of_number), .readable_by = (readable_by_number), .name = (title),     \
        .statements = {[WEIR_SQLITE] = (sqlite),                                         \
                       [WEIR_POSTGRESQL] = (pg),                                         \
                       [WEIR_MARIADB] = (maria)},                                        \
    }

/* All that this library knows of a family, in order. */
struct weir_schema {
    uint32_t base; /* a multiple of WEIR_SCHEMA_NUMBERS */
    const char
        *name; /* of the family, for errors: "the execution engine"; NULL if base is 0 */
    uint32_t without; /* engines that do not have it, 1 << enum weir_engine, or-ed */
    const struct weir_migration *migrations;
    size_t count;
};

struct weir_schema_version {
    uint32_t number;      /* 0: nothing of ours is there */
    uint32_t readable_by; /* 0 likewise */
};

/* Does this engine have the family? */
bool weir_schema_is_for(const struct weir_schema *self, enum weir_engine engine);

/* What the database has of this family. Creates nothing. WEIR_INVALID: the engine does
 * not have it; so with all that follow. */
WEIR_CHECKED enum weir_status weir_schema_read(const struct weir_schema *self,
                                               struct weir_connection *connection,
                                               struct weir_schema_version *out,
                                               struct weir_error *error);

/* May this library use the database as it is? WEIR_SCHEMA says what to do about it. */
WEIR_CHECKED enum weir_status weir_schema_check(const struct weir_schema *self,
                                                struct weir_connection *connection,
                                                struct weir_error *error);

/*
 * Apply what is missing. *from and *to get the numbers before and after, equal when
 * there was nothing to do. Waits for another process that is at it, up to WEIR_LOCKED,
 * and survives the loss of its connection. Fails with WEIR_SCHEMA when the database is
 * too new, WEIR_DENIED without the rights of an owner; then calling it again goes on
 * where it ended.
 *
 * Takes a connection of its own, beyond those of `db`: no statement timeout ends a
 * migration.
 */
WEIR_CHECKED enum weir_status weir_schema_migrate(const struct weir_schema *self,
                                                  struct weir_db *db, uint32_t *from,
                                                  uint32_t *to, struct weir_error *error);

/* What migrate() would run on an empty database, as SQL for the engine's own client,
 * which must be set to stop at the first error. Appends to `out`. */
WEIR_CHECKED enum weir_status weir_schema_dump(const struct weir_schema *self,
                                               enum weir_engine engine,
                                               const char *prefix, struct weir_buf *out,
                                               struct weir_error *error);

/* The same of one statement. */
WEIR_CHECKED enum weir_status
weir_schema_dump_statement(const char *text, enum weir_engine engine, const char *prefix,
                           struct weir_buf *out, struct weir_error *error);

#endif
