/*
 * migrate.c - `weir migrate`: make the tables, or bring them up to date.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/output.h"
#include "cli/session.h"
#include "db/db.h"
#include "outbox/schema.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 4 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'n', "dry-run", NULL, "print the SQL that would be run, and run nothing"},
};

const struct weir_command weir_cli_migrate = {
    .name = "migrate",
    .summary = "make the tables, or bring them up to date",
    .usage = "[--dry-run]",
    .details =
        "Makes what is missing, and changes nothing when all is there: it can be\n"
        "run before every start of an application, by several processes at once.\n"
        "Needs the rights of the tables' owner. A SQLite file that does not exist\n"
        "is made.\n"
        "\n"
        "--dry-run prints SQL for the engine's own client, told to stop at the\n"
        "first error: psql -v ON_ERROR_STOP=1, mariadb (as it is), sqlite3 -bail.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .uses_db = true,
    .run = run,
};

static int tell(const struct weir_session *session, uint32_t from, uint32_t to)
{
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (session->shared.quiet)
            return WEIR_EXIT_DONE;
        if (from == to)
            printf("%s: schema %" PRIu32 ", nothing to do\n", session->name, to);
        else
            printf("%s: schema %" PRIu32 " -> %" PRIu32 "\n", session->name, from, to);
        return WEIR_EXIT_DONE;
    }
    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "database", session->name);
    weir_output_add_number(&json, "from", from);
    weir_output_add_number(&json, "to", to);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static enum weir_status read_version(const struct weir_session *session,
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
        status = weir_schema_read(&weir_outbox_schema, connection, out, error);
    if (status == WEIR_OK && out->number >= weir_outbox_schema.count)
        status = weir_schema_check(&weir_outbox_schema, connection, error);
    weir_db_release(session->db, connection);
    return status;
}

/* The changes that the database does not have yet. */
static struct weir_schema missing_after(uint32_t number)
{
    size_t known = weir_outbox_schema.count;
    size_t skip = number < known ? number : known;

    return (struct weir_schema){weir_outbox_schema.migrations + skip, known - skip};
}

static int print_sql(const struct weir_session *session)
{
    struct weir_schema_version version;
    struct weir_schema missing;
    struct weir_error error = {0};
    struct weir_buf sql, json;
    enum weir_status status = read_version(session, &version, &error);
    int code;

    weir_buf_init(&sql, weir_heap_system(), TEXT_SIZE_MAX);
    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    missing = missing_after(version.number);
    if (status == WEIR_OK && missing.count > 0)
        status = weir_schema_dump(&missing, weir_db_engine(session->db),
                                  weir_db_prefix(session->db), &sql, &error);
    if (status != WEIR_OK) {
        code = weir_session_fail(session, &error, NULL);
    } else if (session->shared.json) {
        weir_output_open(&json, NULL, "{");
        weir_output_add_text(&json, "database", session->name);
        weir_output_add_number(&json, "from", version.number);
        weir_output_add_number(&json, "to",
                               missing.count > 0 ? (int64_t)weir_outbox_schema.count
                                                 : (int64_t)version.number);
        weir_output_add_text(&json, "sql", weir_buf_text(&sql));
        weir_buf_append_text(&json, "}");
        code = weir_output_text(session->command, &json);
    } else {
        if (missing.count == 0)
            weir_buf_append_format(&sql, "-- schema %" PRIu32 ", nothing to do",
                                   version.number);
        code = weir_output_text(session->command, &sql);
    }
    weir_buf_fini(&sql);
    weir_buf_fini(&json);
    return code;
}

static int migrate(const struct weir_session *session)
{
    struct weir_error error = {0};
    uint32_t from, to;

    if (weir_schema_migrate(&weir_outbox_schema, session->db, &from, &to, &error) !=
        WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    return tell(session, from, to);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_session session;
    bool dry_run = false;
    int code, id;

    while ((id = weir_command_next_option(self, argc, argv)) != WEIR_OPTIONS_END) {
        if (id == WEIR_OPTIONS_HELPED)
            return WEIR_EXIT_DONE;
        if (id != 'n')
            return WEIR_EXIT_MISUSE;
        dry_run = true;
    }
    code = weir_command_no_operands(self, argc, argv);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_DATABASE, NULL);
    if (code == WEIR_EXIT_DONE)
        code = dry_run ? print_sql(&session) : migrate(&session);
    weir_session_close(&session);
    return code;
}
