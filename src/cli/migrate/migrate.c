/*
 * migrate.c - `weir migrate`: make the tables, or bring them up to date.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/migrate/migrate_engine.h"
#include "cli/migrate/restored.h"
#include "cli/migrate/roles.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/session.h"
#include "db/db.h"
#include "execution/events.h"
#include "execution/schema.h"
#include "outbox/postgres/creators.h"
#include "outbox/producer.h"
#include "outbox/schema.h"
#include "view/migration_records.h"
#include "weir/audit.h"
#include "weir/heap.h"
#include "weir/message.h"

enum { TEXT_SIZE_MAX = 4 << 20, NUMBER_SIZE = 16 };

struct wishes {
    bool dry_run;
    bool roles;
    int64_t payload_max; /* 0: it stays as it is */
    bool restored;
    struct weir_restored_wishes then; /* when it was restored */
};

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('n', "dry-run", NULL, "print the SQL that would be run, and run nothing",
                WEIR_AS_FLAG(struct wishes, dry_run),
                WEIR_ALSO_SET(struct wishes, then.dry_run)),
    WEIR_OPTION(0, "payload-max", "BYTES", "of messages enqueued in SQL; first 65536",
                WEIR_AS_NUMBER(struct wishes, payload_max, 1, WEIR_PAYLOAD_SIZE_MAX)),
    WEIR_OPTION(0, "restored", NULL,
                "the database was restored elsewhere, and is to deliver",
                WEIR_AS_FLAG(struct wishes, restored)),
    WEIR_OPTION(0, "with-holes", NULL,
                "with --restored: also if the dump misses something",
                WEIR_AS_FLAG(struct wishes, then.with_holes)),
    WEIR_OPTION('y', "yes", NULL, "do not ask, with --restored",
                WEIR_AS_FLAG(struct wishes, then.yes)),
    WEIR_OPTION('r', "roles", NULL, "then make the roles, and mend what they may do",
                WEIR_AS_FLAG(struct wishes, roles)),
};

const struct weir_command weir_cli_migrate = {
    .name = "migrate",
    .summary = "make the tables, or bring them up to date",
    .usage = "[OPTION...]",
    .details =
        "Makes what is missing, and changes nothing when all is there: it can be\n"
        "run before every start of an application, by several processes at once.\n"
        "Needs the rights of the tables' owner. A SQLite file that does not exist\n"
        "is made.\n"
        "\n"
        "--roles makes the roles PREFIX_owner, PREFIX_runtime, PREFIX_producer and\n"
        "PREFIX_viewer, without login, if they are missing, grants what each needs\n"
        "and revokes what is too much. Run it again after each migration. Needs the\n"
        "right to make roles. What each may do is in docs/roles.md. Applications may\n"
        "go on meanwhile: on PostgreSQL one table after the other is locked, each for\n"
        "less than a second.\n"
        "\n"
        "On PostgreSQL it warns when other roles may create in the schema of the\n"
        "tables: what they make there can be called in place of what was meant.\n"
        "\n"
        "--dry-run prints SQL for the engine's own client, which must stop at the\n"
        "first error: psql -v ON_ERROR_STOP=1, mariadb (as it is), sqlite3 -bail.\n"
        "\n"
        "--payload-max is the limit of weir_enqueue() in SQL, up to 16777216; it is\n"
        "kept in the database. Programs with the library have an option of their own.\n"
        "\n"
        "A PostgreSQL database that was restored from a dump in another cluster, or\n"
        "under another name, or upgraded by pg_upgrade, neither takes messages nor\n"
        "delivers any until --restored says that it may: a copy for tests must not\n"
        "deliver what the original has. It says what there is and asks; where there\n"
        "is no terminal to ask on, it wants --yes. With --dry-run it only says.\n"
        "See docs/operations.md.\n"
        "\n"
        "A dump that took longer to lock its tables than the sweep waits for it may\n"
        "miss messages and positions. --restored refuses it; with --with-holes it\n"
        "delivers what is there, and says what is not known.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

/* Numbers before and after. */
struct move {
    uint32_t from;
    uint32_t to;
};

/* The tables of outbox and execution engine; of the latter all is 0 where it does not
 * work. */
struct outcome {
    struct move outbox;
    struct move executions;
    char no_functions[WEIR_PRODUCER_WHY_SIZE]; /* why; "": they are there */
    struct weir_creators creators;
    struct weir_roles_tally roles;
};

static bool has_flow(const struct weir_session *session)
{
    return weir_schema_is_for(&weir_executions_schema, weir_db_engine(session->db));
}

static void tell_move(const struct weir_session *session, const char *what,
                      const struct move *move)
{
    if (move->from == move->to)
        printf("%s: %s %" PRIu32 ", nothing to do\n", session->name, what, move->to);
    else
        printf("%s: %s %" PRIu32 " -> %" PRIu32 "\n", session->name, what, move->from,
               move->to);
}

/* What all JSON of this command begins with. */
static struct weir_migrated row_of(const struct weir_session *session,
                                   const struct outcome *outcome)
{
    return (struct weir_migrated){
        .database = session->name,
        .from = outcome->outbox.from,
        .to = outcome->outbox.to,
        .executions_from = outcome->executions.from,
        .executions_to = outcome->executions.to,
    };
}

static void tell_creators(const struct weir_creators *creators)
{
    if (creators->roles[0] != '\0')
        printf("warning: others may create in schema %s, and have their operators and "
               "functions called by its users: REVOKE CREATE ON SCHEMA %s FROM %s\n",
               creators->schema, creators->schema, creators->roles);
}

static void tell_text(const struct weir_session *session, const struct wishes *wishes,
                      const struct outcome *outcome)
{
    tell_move(session, "schema", &outcome->outbox);
    if (outcome->executions.from != outcome->executions.to)
        tell_move(session, "executions", &outcome->executions);
    if (outcome->no_functions[0] != '\0')
        printf("no %s_enqueue() for producers in SQL: %s\n", weir_db_prefix(session->db),
               outcome->no_functions);
    tell_creators(&outcome->creators);
    if (wishes->roles)
        weir_roles_tell(&outcome->roles);
}

static int tell(const struct weir_session *session, const struct wishes *wishes,
                const struct outcome *outcome)
{
    struct weir_migrated row = row_of(session, outcome);

    if (!session->shared.json) {
        if (!session->shared.quiet)
            tell_text(session, wishes, outcome);
        return WEIR_EXIT_DONE;
    }
    row.no_functions = outcome->no_functions[0] != '\0' ? outcome->no_functions : NULL;
    row.creators = outcome->creators.roles[0] != '\0' ? outcome->creators.roles : NULL;
    row.with_roles = wishes->roles;
    row.roles = outcome->roles;
    return weir_reply_json(session, &weir_migrated_record, &row);
}

static enum weir_status read_version(const struct weir_session *session,
                                     const struct weir_schema *schema,
                                     struct weir_schema_version *out,
                                     struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *out = (struct weir_schema_version){0};
    if (weir_session_file_missing(session))
        return WEIR_OK;
    status = weir_db_acquire(session->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_schema_read(schema, connection, out, error);
    if (status == WEIR_OK && out->number >= schema->base + schema->count)
        status = weir_schema_check(schema, connection, error);
    weir_db_release(session->db, connection);
    return status;
}

/* The changes that the database does not have yet. */
static struct weir_schema missing_after(const struct weir_schema *schema, uint32_t number)
{
    size_t there = number > schema->base ? number - schema->base : 0;
    size_t skip = there < schema->count ? there : schema->count;
    struct weir_schema missing = *schema;

    missing.migrations += skip;
    missing.count -= skip;
    return missing;
}

/* Appends what is missing of a family; *out: what was there, and will be. */
static enum weir_status append_missing(const struct weir_session *session,
                                       const struct weir_schema *schema, struct move *out,
                                       struct weir_buf *sql, struct weir_error *error)
{
    struct weir_schema_version version;
    struct weir_schema missing;
    enum weir_status status = read_version(session, schema, &version, error);

    missing = missing_after(schema, version.number);
    out->from = version.number;
    out->to = missing.count > 0 ? schema->base + (uint32_t)schema->count : version.number;
    if (status == WEIR_OK && missing.count > 0)
        status = weir_schema_dump(&missing, weir_db_engine(session->db),
                                  weir_db_prefix(session->db), sql, error);
    return status;
}

/* Rights are granted on tables that are there. */
static enum weir_status append_roles(const struct weir_session *session,
                                     bool tables_are_there, struct weir_buf *sql,
                                     struct weir_error *error)
{
    if (tables_are_there)
        return weir_roles_append_sql(session, sql, error);
    weir_buf_append_text(
        sql, "-- roles: run this, then look at 'weir migrate --roles --dry-run' again\n");
    return WEIR_OK;
}

static enum weir_status append_functions(const struct weir_session *session,
                                         struct weir_buf *sql, struct weir_error *error)
{
    const char *const *statement = weir_migrate_engine(session)->functions;
    enum weir_status status = WEIR_OK;

    if (statement == NULL)
        return WEIR_OK;
    weir_buf_append_text(sql, "\n-- functions for producers in SQL\n");
    for (; *statement != NULL && status == WEIR_OK; statement++)
        status = weir_schema_dump_statement(*statement, weir_db_engine(session->db),
                                            weir_db_prefix(session->db), sql, error);
    return status;
}

static enum weir_status append_all(const struct weir_session *session,
                                   const struct wishes *wishes, struct outcome *outcome,
                                   struct weir_buf *sql, struct weir_error *error)
{
    enum weir_status status =
        append_missing(session, &weir_outbox_schema, &outcome->outbox, sql, error);
    bool complete;

    if (status == WEIR_OK && outcome->outbox.from != outcome->outbox.to)
        status = append_functions(session, sql, error);
    if (status == WEIR_OK && has_flow(session))
        status = append_missing(session, &weir_executions_schema, &outcome->executions,
                                sql, error);
    if (status == WEIR_OK && outcome->executions.from != outcome->executions.to)
        weir_buf_append_text(sql,
                             "-- the engine makes its queues when it is first used, or "
                             "'weir migrate' does\n");
    complete = outcome->outbox.from == outcome->outbox.to &&
               outcome->executions.from == outcome->executions.to;
    if (wishes->payload_max > 0)
        weir_buf_append_format(
            sql, "UPDATE %s_meta SET value = '%" PRId64 "' WHERE name = 'payload_max';\n",
            weir_db_prefix(session->db), wishes->payload_max);
    if (complete && !session->shared.json)
        weir_buf_append_format(sql, "-- schema %" PRIu32 ", nothing to do\n",
                               outcome->outbox.to);
    if (status == WEIR_OK && wishes->roles)
        status = append_roles(session, complete, sql, error);
    return status;
}

static int print_json(const struct weir_session *session, const struct outcome *outcome,
                      const struct weir_buf *sql)
{
    struct weir_migrated row = row_of(session, outcome);

    row.sql = weir_buf_text(sql);
    return weir_reply_json(session, &weir_migrated_record, &row);
}

static int print_sql(const struct weir_session *session, const struct wishes *wishes)
{
    struct outcome outcome = {.executions = {0, 0}};
    struct weir_error error = {0};
    struct weir_buf sql;
    int code;

    weir_buf_init(&sql, weir_heap_system(), TEXT_SIZE_MAX);
    if (append_all(session, wishes, &outcome, &sql, &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    else if (session->shared.json)
        code = print_json(session, &outcome, &sql);
    else
        code = weir_output_lines(session->command, &sql);
    weir_buf_fini(&sql);
    return code;
}

static enum weir_status set_payload_max(const struct weir_session *session,
                                        int64_t payload_max, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(session->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_producer_set_payload_max(connection, payload_max, error);
    weir_db_release(session->db, connection);
    return status;
}

static enum weir_status read_creators(const struct weir_session *session,
                                      struct weir_creators *out, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(session->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_creators_read(out, connection, error);
    weir_db_release(session->db, connection);
    return status;
}

static enum weir_status migrate_all(const struct weir_session *session,
                                    struct outcome *out, struct weir_error *error)
{
    enum weir_status status = weir_schema_migrate(
        &weir_outbox_schema, session->db, &out->outbox.from, &out->outbox.to, error);

    if (status == WEIR_OK)
        status = weir_producer_make(session->db, out->no_functions, error);
    if (status == WEIR_OK && has_flow(session))
        status = weir_schema_migrate(&weir_executions_schema, session->db,
                                     &out->executions.from, &out->executions.to, error);
    if (status == WEIR_OK && has_flow(session))
        status = weir_events_make_queues(session->db, error);
    if (status == WEIR_OK)
        status = read_creators(session, &out->creators, error);
    return status;
}

/* Behind the last transaction of the migration: before it there may be no table for it.
 * A migration that changes nothing has no row; it is a part of many starts. */
static enum weir_status record(const struct weir_session *session, const char *family,
                               const struct move *move, struct weir_error *error)
{
    char before[NUMBER_SIZE], after[NUMBER_SIZE];
    const struct weir_audit_entry entry = {.action = "schema.migrate",
                                           .target = family,
                                           .count = 1,
                                           .before = before,
                                           .after = after};

    if (move->from == move->to)
        return WEIR_OK;
    weir_text_format(before, sizeof before, "%" PRIu32, move->from);
    weir_text_format(after, sizeof after, "%" PRIu32, move->to);
    return weir_audit_write(session->db, NULL, &entry, error);
}

static enum weir_status migrate_and_record(const struct weir_session *session,
                                           struct outcome *out, struct weir_error *error)
{
    enum weir_status status = migrate_all(session, out, error);

    if (status == WEIR_OK)
        status = record(session, "outbox", &out->outbox, error);
    if (status == WEIR_OK)
        status = record(session, "executions", &out->executions, error);
    return status;
}

/* A row without a count where nothing was changed, or where it is not known. */
static enum weir_status record_roles(const struct weir_session *session,
                                     const struct weir_roles_tally *roles,
                                     struct weir_error *error)
{
    const struct weir_audit_entry entry = {
        .action = "schema.roles",
        .count = (int64_t)(roles->made + roles->granted + roles->revoked)};

    return weir_audit_write(session->db, NULL, &entry, error);
}

static int apply_roles(const struct weir_session *session, struct weir_roles_tally *out)
{
    struct weir_error error = {0};
    int code = weir_roles_apply(session, out);

    if (code == WEIR_EXIT_DONE && record_roles(session, out, &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    return code;
}

static int migrate(const struct weir_session *session, const struct wishes *wishes)
{
    struct outcome outcome = {.executions = {0, 0}};
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    if (migrate_and_record(session, &outcome, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    if (wishes->payload_max > 0 &&
        set_payload_max(session, wishes->payload_max, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    if (wishes->roles)
        code = apply_roles(session, &outcome.roles);
    if (code != WEIR_EXIT_DONE || wishes->restored)
        return code;
    return tell(session, wishes, &outcome);
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct wishes *out)
{
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    if (code < 0 && out->then.yes && !out->restored)
        code = weir_command_misuse(self, "--yes answers what only --restored asks");
    if (code < 0 && out->then.with_holes && !out->restored)
        code = weir_command_misuse(self, "--with-holes is for --restored");
    return code;
}

/* A dump may be older than this program: its tables come first. */
static int run_restored(const struct weir_session *session, const struct wishes *wishes)
{
    const struct weir_audit_entry entry = {.action = "schema.restored"};
    struct weir_error error = {0};
    int code = wishes->dry_run ? WEIR_EXIT_DONE : migrate(session, wishes);

    if (code == WEIR_EXIT_DONE)
        code = weir_restored_run(session, &wishes->then);
    if (code == WEIR_EXIT_DONE && !wishes->dry_run &&
        weir_audit_write(session->db, NULL, &entry, &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_session session;
    struct wishes wishes = {0};
    int code = parse(self, argc, argv, &wishes);

    if (code >= 0)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_DATABASE, NULL);
    if (code == WEIR_EXIT_DONE && wishes.roles)
        code = weir_roles_check_engine(&session);
    if (code == WEIR_EXIT_DONE) {
        if (wishes.restored)
            code = run_restored(&session, &wishes);
        else
            code = wishes.dry_run ? print_sql(&session, &wishes)
                                  : migrate(&session, &wishes);
    }
    weir_session_close(&session);
    return code;
}
