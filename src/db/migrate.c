/*
 * migrate.c - see migrate.h.
 *
 * The lock is the engine's own: SQLite's write lock, an advisory lock of PostgreSQL
 * that ends with the transaction, a named lock of MariaDB that ends with the
 * connection. None of them outlives the process that holds it.
 *
 * Migrating has a connection of its own, without statement timeout: building an index
 * may take longer than any statement of a normal day. Waits for locks stay bounded.
 *
 * The texts have bare names. They are looked up, and made, where the tables of the
 * prefix are, or, in an empty database, where the session makes new ones: qualifier.h.
 *
 * Everything may be repeated, also after a commit whose outcome is unknown: what was
 * done is found done.
 */
#include "db/migrate.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/qualifier.h"
#include "db/query.h"
#include "db/transact.h"
#include "weir/version.h"

enum { ATTEMPTS_MAX = 5, PAUSE_MS_FIRST = 20 };

/* ---- the version table ------------------------------------------------------------- */

static const char *const CREATE_SCHEMA[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = "CREATE TABLE IF NOT EXISTS {p}_schema (number INTEGER PRIMARY KEY, "
                    "readable_by INTEGER NOT NULL, name TEXT NOT NULL, "
                    "applied_at INTEGER NOT NULL)",
    [WEIR_POSTGRESQL] =
        "CREATE TABLE IF NOT EXISTS {p}_schema (number bigint PRIMARY KEY, "
        "readable_by bigint NOT NULL, name text NOT NULL, "
        "applied_at timestamptz NOT NULL)",
    [WEIR_MARIADB] =
        "CREATE TABLE IF NOT EXISTS {p}_schema (number BIGINT PRIMARY KEY, "
        "readable_by BIGINT NOT NULL, name VARCHAR(255) NOT NULL, "
        "applied_at DATETIME(6) NOT NULL) ENGINE=InnoDB CHARACTER SET utf8mb4",
};

/* Is there a version table? By the catalogue, since asking the table itself would
 * fail. */
static const struct weir_sql SQL_EXISTS[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "schema.exists",
                     .text =
                         "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                         "lower(name) = lower('{n}_schema')",
                     .parameters = ""},
    [WEIR_POSTGRESQL] = {.name = "schema.exists",
                         .text = "SELECT count(*) FROM pg_class WHERE "
                                 "oid = to_regclass('{q}_schema')",
                         .parameters = ""},
    [WEIR_MARIADB] = {.name = "schema.exists",
                      .text = "SELECT count(*) FROM information_schema.tables WHERE "
                              "table_schema = DATABASE() AND table_name = '{n}_schema'",
                      .parameters = ""},
};

/* The newest row of a family; the primary key makes it one look-up. */
static const struct weir_sql SQL_READ = {
    .name = "schema.read",
    .text = "SELECT number, readable_by FROM {p}_schema"
            " WHERE number > {1} AND number < {2} ORDER BY number DESC LIMIT 1",
    .parameters = "ii",
};

static const struct weir_sql SQL_RECORD = {
    .name = "schema.record",
    .text = "INSERT INTO {p}_schema (number, readable_by, name, applied_at) "
            "VALUES ({1}, {2}, {3}, {4})",
    .parameters = "iitm",
};

/* ---- locks ------------------------------------------------------------------------- */

/* Ends with the transaction; waits up to lock_timeout. In small letters, as the tables'
 * names are whose lock it is. */
static const struct weir_sql SQL_LOCK_POSTGRESQL = {
    .name = "schema.lock",
    .text = "SELECT pg_advisory_xact_lock(hashtextextended(lower('{n}_schema'), 0))",
    .parameters = "",
};

/* Ends with the connection at the latest; 1 when it was got, 0 when not in time. */
static const struct weir_sql SQL_LOCK_MARIADB = {
    .name = "schema.lock",
    .text = "SELECT GET_LOCK(CONCAT(DATABASE(), '.', {1}), 30)",
    .parameters = "t",
};

static const struct weir_sql SQL_UNLOCK_MARIADB = {
    .name = "schema.unlock",
    .text = "DO RELEASE_LOCK(CONCAT(DATABASE(), '.', {1}))",
    .parameters = "t",
};

/* Inside the transaction. With one writer that is enough by itself: it is IMMEDIATE, so
 * we are the only one. */
static enum weir_status lock_transaction(struct weir_connection *connection,
                                         struct weir_error *error)
{
    const struct weir_engine_traits *traits = weir_connection_traits(connection);

    if (traits->one_writer || traits->ddl_commits)
        return WEIR_OK;
    return weir_connection_execute(connection, &SQL_LOCK_POSTGRESQL, NO_VALUES, NULL,
                                   error);
}

/* Around the transaction, where any statement may end that: the next one must not begin
 * before its last one is committed. */
static enum weir_status lock_connection(struct weir_connection *connection,
                                        struct weir_error *error)
{
    struct weir_str prefix = weir_str(weir_connection_prefix(connection));
    int64_t got = 0;
    enum weir_status status;

    if (!weir_connection_traits(connection)->ddl_commits)
        return WEIR_OK;
    status = weir_connection_query_integer(connection, &SQL_LOCK_MARIADB,
                                           VALUES(weir_text(prefix)), &got, error);
    if (status == WEIR_OK && got != 1)
        status = weir_error_set(error, WEIR_LOCKED,
                                "another process has been migrating for 30 s");
    return status;
}

static void unlock_connection(struct weir_connection *connection)
{
    struct weir_str prefix = weir_str(weir_connection_prefix(connection));

    if (weir_connection_traits(connection)->ddl_commits)
        (void)!weir_connection_execute(connection, &SQL_UNLOCK_MARIADB,
                                       VALUES(weir_text(prefix)), NULL, NULL);
}

/* ---- reading and checking ---------------------------------------------------------- */

/*
 * MariaDB's catalogue does not show a table to users without rights on it. There an error
 * harms no transaction, so the table itself is asked.
 */
static enum weir_status find_hidden_table(struct weir_connection *connection, bool *out,
                                          struct weir_error *error)
{
    enum weir_status status = weir_connection_execute(
        connection, &SQL_READ, VALUES(weir_integer(0), weir_integer(1)), NULL, error);

    *out = status == WEIR_OK;
    return status == WEIR_SCHEMA ? WEIR_OK : status;
}

static enum weir_status table_exists(struct weir_connection *connection, bool *out,
                                     struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_EXISTS[weir_connection_engine(connection)], NO_VALUES, &count,
        error);

    *out = count > 0;
    if (status == WEIR_OK && count == 0 &&
        weir_connection_traits(connection)->hides_tables)
        status = find_hidden_table(connection, out, error);
    return status;
}

bool weir_schema_is_for(const struct weir_schema *self, enum weir_engine engine)
{
    return (self->without & (1U << engine)) == 0;
}

static enum weir_status refuse_engine(const struct weir_schema *self,
                                      enum weir_engine engine, struct weir_error *error)
{
    if (weir_schema_is_for(self, engine))
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "%s does not work on %s", self->name,
                          weir_engine_traits(engine)->title);
}

static const struct weir_column VERSION[] = {
    COLUMN(struct weir_schema_version, number, INTEGER),
    COLUMN(struct weir_schema_version, readable_by, INTEGER),
};

enum weir_status weir_schema_read(const struct weir_schema *self,
                                  struct weir_connection *connection,
                                  struct weir_schema_version *out,
                                  struct weir_error *error)
{
    bool exists = false;
    enum weir_status status =
        refuse_engine(self, weir_connection_engine(connection), error);

    *out = (struct weir_schema_version){0};
    if (status == WEIR_OK)
        status = table_exists(connection, &exists, error);
    if (status != WEIR_OK || !exists)
        return status;
    return weir_query_find(
        connection, &SQL_READ,
        VALUES(weir_integer(self->base), weir_integer(self->base + WEIR_SCHEMA_NUMBERS)),
        INTO(VERSION, out), &exists, error);
}

static uint32_t newest_known(const struct weir_schema *self)
{
    return self->count > 0 ? self->migrations[self->count - 1].number : 0;
}

static enum weir_status refuse_too_new(const struct weir_schema *self,
                                       const struct weir_schema_version *version,
                                       struct weir_error *error)
{
    if (version->number <= newest_known(self) ||
        version->readable_by <= newest_known(self))
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_SCHEMA,
        "the database has schema %u, which needs a library that knows %u; this "
        "one, weir %s, knows %u: install a newer weir in this process",
        version->number, version->readable_by, weir_version_string(), newest_known(self));
}

static enum weir_status refuse_too_old(const struct weir_schema *self,
                                       const struct weir_schema_version *version,
                                       struct weir_error *error)
{
    if (version->number == 0 && self->name != NULL)
        return weir_error_set(error, WEIR_SCHEMA,
                              "the database has no tables of %s, schema %u is needed: "
                              "run 'weir migrate'",
                              self->name, newest_known(self));
    return weir_error_set(error, WEIR_SCHEMA,
                          "the database has schema %u, %u is needed: run 'weir migrate'",
                          version->number, newest_known(self));
}

enum weir_status weir_schema_check(const struct weir_schema *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_schema_version version;
    enum weir_status status = weir_schema_read(self, connection, &version, error);

    if (status == WEIR_OK)
        status = refuse_too_new(self, &version, error);
    if (status == WEIR_OK && version.number < newest_known(self))
        status = refuse_too_old(self, &version, error);
    return status;
}

/* ---- migrating --------------------------------------------------------------------- */

struct work {
    const struct weir_schema *schema;
    bool begun; /* `from` is known: the first attempt came that far */
    uint32_t from;
    uint32_t to;
};

/* One statement, and a place where a test may kill us. */
static enum weir_status run(struct weir_connection *connection, const char *text,
                            struct weir_error *error)
{
    enum weir_status status = weir_connection_execute_ddl(connection, text, error);

    (void)WEIR_POINT(weir_connection_config(connection)->points, "migrate.statement");
    return status;
}

static enum weir_status record(const struct weir_migration *migration,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status != WEIR_OK)
        return status;
    return weir_connection_execute(
        connection, &SQL_RECORD,
        VALUES(weir_integer(migration->number), weir_integer(migration->readable_by),
               weir_text(weir_str(migration->name)), weir_time(now_us)),
        NULL, error);
}

static enum weir_status apply(const struct weir_migration *migration,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    const char *const *statement =
        migration->statements[weir_connection_engine(connection)];
    enum weir_status status = WEIR_OK;

    for (; statement != NULL && *statement != NULL && status == WEIR_OK; statement++)
        status = run(connection, *statement, error);
    if (status == WEIR_OK)
        status = record(migration, connection, error);
    (void)WEIR_POINT(weir_connection_config(connection)->points, "migrate.statement");
    if (status != WEIR_OK)
        weir_error_prefix(error, "migration %u (%s)", migration->number, migration->name);
    return status;
}

/* What the database has, with a table to record it in. */
static enum weir_status begin_work(struct work *work, struct weir_connection *connection,
                                   struct weir_schema_version *version,
                                   struct weir_error *error)
{
    bool exists = false;
    enum weir_status status = table_exists(connection, &exists, error);

    if (status == WEIR_OK && !exists)
        status =
            run(connection, CREATE_SCHEMA[weir_connection_engine(connection)], error);
    if (status == WEIR_OK)
        status = weir_schema_read(work->schema, connection, version, error);
    if (status == WEIR_OK)
        status = refuse_too_new(work->schema, version, error);
    return status;
}

static enum weir_status apply_missing(struct work *work,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    const struct weir_schema *schema = work->schema;
    struct weir_schema_version version;
    enum weir_status status = begin_work(work, connection, &version, error);

    if (status != WEIR_OK)
        return status;
    if (!work->begun)
        work->from = version.number;
    work->begun = true;
    work->to = version.number;
    for (size_t i = 0; i < schema->count && status == WEIR_OK; i++) {
        const struct weir_migration *migration = &schema->migrations[i];

        WEIR_ASSERT(migration->number == schema->base + i + 1 &&
                    migration->readable_by <= migration->number);
        if (migration->number <= version.number)
            continue;
        status = apply(migration, connection, error);
        if (status == WEIR_OK)
            work->to = migration->number;
    }
    return status;
}

static enum weir_status migrate_once(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    enum weir_status status = lock_transaction(connection, error);

    if (status == WEIR_OK && weir_connection_traits(connection)->has_search_path)
        status = weir_qualifier_apply(connection, error);
    if (status == WEIR_OK)
        status = apply_missing(argument, connection, error);
    return status;
}

/* A connection like those of the database, but without statement timeout. */
static enum weir_status migrate_alone(struct weir_db *db,
                                      const struct weir_driver *driver, struct work *work,
                                      struct weir_error *error)
{
    struct weir_link_config config = *weir_db_config(db);
    struct weir_connection *connection = NULL;
    struct weir_link *link = NULL;
    enum weir_status status;

    config.statement_timeout_ns = 0;
    status = driver->open(&config, &link, error);
    if (status != WEIR_OK)
        return status;
    status = weir_connection_create(db, link, 0, &connection);
    if (status != WEIR_OK) {
        driver->close(link);
        return weir_error_set(error, status, "%s", weir_status_text(status));
    }
    status = lock_connection(connection, error);
    if (status == WEIR_OK) {
        status = weir_transact_on(connection, migrate_once, work, error);
        unlock_connection(connection);
    }
    weir_connection_destroy(connection);
    return status;
}

/* A database that has everything is not locked: looking is enough. */
static enum weir_status migrate_if_missing(struct weir_db *db, struct work *work,
                                           struct weir_error *error)
{
    const struct weir_driver *driver = NULL;
    struct weir_schema_version version;
    struct weir_connection *connection;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK) {
        driver = weir_connection_link(connection)->driver;
        status = weir_schema_read(work->schema, connection, &version, error);
    }
    weir_db_release(db, connection);
    if (status != WEIR_OK)
        return status;
    if (version.number < newest_known(work->schema))
        return migrate_alone(db, driver, work, error);
    if (!work->begun)
        work->from = version.number;
    work->to = version.number;
    return refuse_too_new(work->schema, &version, error);
}

static bool worth_repeating(enum weir_status status)
{
    return status == WEIR_LOST || status == WEIR_IN_DOUBT;
}

enum weir_status weir_schema_migrate(const struct weir_schema *self, struct weir_db *db,
                                     uint32_t *from, uint32_t *to,
                                     struct weir_error *error)
{
    struct work work = {.schema = self};
    struct weir_error scratch;
    int64_t pause_ns = WEIR_MILLISECONDS(PAUSE_MS_FIRST);
    enum weir_status status;

    *from = *to = 0;
    if (error == NULL) /* drivers want one */
        error = &scratch;
    status = migrate_if_missing(db, &work, error);
    for (int i = 1; i < ATTEMPTS_MAX && worth_repeating(status); i++) {
        if (!weir_clock_sleep(pause_ns))
            break;
        pause_ns *= 2;
        status = migrate_if_missing(db, &work, error);
    }
    if (status != WEIR_OK) {
        weir_error_prefix(error, "migrate");
        return status;
    }
    *from = work.from;
    *to = work.to;
    if (work.from != work.to)
        weir_log_event(weir_db_log(db), WEIR_LOG_INFO, "db.migrated",
                       "prefix=%s from=%u to=%u", weir_db_prefix(db), work.from, work.to);
    return WEIR_OK;
}

/* ---- as SQL ------------------------------------------------------------------------ */

/* MariaDB's client cuts a text at each semicolon unless another delimiter
 * is set. */
enum weir_status weir_schema_dump_statement(const char *text, enum weir_engine engine,
                                            const char *prefix, struct weir_buf *out,
                                            struct weir_error *error)
{
    const struct weir_sql sql = {.name = "dump", .text = text, .parameters = ""};
    bool compound =
        weir_engine_traits(engine)->one_statement_per_text && strchr(text, ';') != NULL;
    enum weir_status status;

    if (compound)
        weir_buf_append_text(out, "DELIMITER //\n");
    status = weir_sql_expand(&sql, engine, prefix, out, error);
    weir_buf_append_text(out, compound ? "//\nDELIMITER ;\n" : ";\n");
    return status;
}

static void dump_record(const struct weir_migration *migration, enum weir_engine engine,
                        const char *prefix, struct weir_buf *out)
{
    WEIR_ASSERT(strpbrk(migration->name, "'\\\n") == NULL); /* it is ours, not input */
    weir_buf_append_format(out,
                           "INSERT INTO %s_schema (number, readable_by, name, applied_at)"
                           " VALUES (%u, %u, '%s', %s);\n",
                           prefix, migration->number, migration->readable_by,
                           migration->name, weir_engine_traits(engine)->now);
}

enum weir_status weir_schema_dump(const struct weir_schema *self, enum weir_engine engine,
                                  const char *prefix, struct weir_buf *out,
                                  struct weir_error *error)
{
    bool in_transaction = !weir_engine_traits(engine)->ddl_commits;
    enum weir_status status = weir_prefix_check(prefix, error);

    if (status == WEIR_OK)
        status = refuse_engine(self, engine, error);
    if (status == WEIR_OK && in_transaction)
        weir_buf_append_text(out, "BEGIN;\n");
    if (status == WEIR_OK)
        status =
            weir_schema_dump_statement(CREATE_SCHEMA[engine], engine, prefix, out, error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        const struct weir_migration *migration = &self->migrations[i];
        const char *const *statement = migration->statements[engine];

        weir_buf_append_format(out, "\n-- %u: %s\n", migration->number, migration->name);
        for (; statement != NULL && *statement != NULL && status == WEIR_OK; statement++)
            status = weir_schema_dump_statement(*statement, engine, prefix, out, error);
        dump_record(migration, engine, prefix, out);
    }
    if (status == WEIR_OK && in_transaction)
        weir_buf_append_text(out, "\nCOMMIT;\n");
    if (status == WEIR_OK && weir_buf_status(out) != WEIR_OK)
        status = weir_error_set(error, weir_buf_status(out), "dump: %s",
                                weir_status_text(weir_buf_status(out)));
    return status;
}
