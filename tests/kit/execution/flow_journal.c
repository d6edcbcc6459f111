/*
 * flow_journal.c - see flow_journal.h.
 */
#include "kit/execution/flow_journal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/execution/migrated_file.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "weir/outbox.h"

struct flow_journal {
    sqlite3 *db;
    sqlite3_stmt *seen;
    sqlite3_stmt *open_count;
    sqlite3_stmt *unbalanced;
    sqlite3_stmt *in_state;
    flow_journal_call_fn call;
    void *state;
};

/* Whom the functions ask; NULL: nobody is there. */
static struct flow_journal *asked;

/* ---- functions --------------------------------------------------------------------- */

static void tell_call(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t now_ns = 0;

    (void)count;
    (void)values;
    sqlite3_result_int64(context, asked != NULL ? asked->call(asked->state, &now_ns) : 0);
}

static void tell_ns(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t now_ns = 0;

    (void)count;
    (void)values;
    if (asked != NULL)
        (void)asked->call(asked->state, &now_ns);
    sqlite3_result_int64(context, now_ns);
}

/* Innocuous: weir's connections trust no schema. */
static int add_functions(sqlite3 *db, char **error,
                         const struct sqlite3_api_routines *api)
{
    int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
    int code = sqlite3_create_function_v2(db, "sim_call", 0, flags, NULL, tell_call, NULL,
                                          NULL, NULL);

    (void)error;
    (void)api;
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(db, "sim_ns", 0, flags, NULL, tell_ns, NULL,
                                          NULL, NULL);
    return code;
}

/* ---- triggers ---------------------------------------------------------------------- */

enum {
    WHAT_ROW = 1,
    WHAT_REMOVED,
    WHAT_ATTEMPT,
    WHAT_RESULT,
    WHAT_EVENT,
    WHAT_KEY,
    WHAT_SIGNAL,
    WHAT_USAGE
};

#define WHO "sim_ns(), sim_call()"
#define COLUMN_LIST(name) ", NEW." #name
#define ROW_VALUES                                                                       \
    "(NULL, " WHO ", 1, NEW.no, NEW.uuid, NEW.part, NEW.kind, NEW.instance, "            \
    "NEW.failure" FLOW_COLUMNS(COLUMN_LIST) ")"
#define COLUMN_NAMES(name) ", " #name

static const char *const SETUP[] = {
    "CREATE TABLE sim_journal (seq INTEGER PRIMARY KEY, ns, call, what, no, bytes, part,"
    " kind, instance, failure" FLOW_COLUMNS(COLUMN_NAMES) ")",
    "CREATE TRIGGER sim_made AFTER INSERT ON weir_execution BEGIN"
    " INSERT INTO sim_journal VALUES " ROW_VALUES "; END",
    "CREATE TRIGGER sim_changed AFTER UPDATE ON weir_execution BEGIN"
    " INSERT INTO sim_journal VALUES " ROW_VALUES "; END",
    "CREATE TRIGGER sim_removed AFTER DELETE ON weir_execution BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no) VALUES (" WHO ", 2, OLD.no); END",
    "CREATE TRIGGER sim_attempt AFTER INSERT ON weir_attempt BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, state, attempt_type, hold, epoch,"
    " started_us, ended_us) VALUES (" WHO ", 3, NEW.no, NEW.number, NEW.type,"
    " NEW.outcome, NEW.epoch, NEW.started_us, NEW.ended_us); END",
    "CREATE TRIGGER sim_result AFTER INSERT ON weir_result BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, bytes)"
    " VALUES (" WHO ", 4, NEW.no, NEW.bytes); END",
    "CREATE TRIGGER sim_result_again AFTER UPDATE ON weir_result BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, bytes)"
    " VALUES (" WHO ", 4, NEW.no, NEW.bytes); END",
    "CREATE TRIGGER sim_event AFTER INSERT ON weir_log BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, bytes)"
    " VALUES (" WHO ", 5, NEW.id, NEW.payload); END",
    "CREATE TRIGGER sim_key AFTER DELETE ON weir_idempotency BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, due_us)"
    " VALUES (" WHO ", 6, 0, OLD.until_us); END",
    "CREATE TRIGGER sim_signal AFTER INSERT ON weir_signal BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, bytes, part, kind, instance, failure,"
    " due_us) VALUES (" WHO ", 7, NEW.no, NEW.waitpoint, NEW.source, (SELECT name"
    " FROM weir_waitpoint WHERE no = NEW.no AND uuid = NEW.waitpoint), NEW.key, NEW.name,"
    " NEW.came_us); END",
    "CREATE TRIGGER sim_usage AFTER UPDATE ON weir_usage BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, due_us, lease_us)"
    " VALUES (" WHO ", 8, NEW.budget, NEW.used, NEW.hard); END",
    "CREATE TRIGGER sim_usage_made AFTER INSERT ON weir_usage BEGIN"
    " INSERT INTO sim_journal (ns, call, what, no, due_us, lease_us)"
    " VALUES (" WHO ", 8, NEW.budget, NEW.used, NEW.hard); END",
};

static void run(sqlite3 *db, const char *sql)
{
    char *error = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", sql, error);
}

const char *flow_journal_template(void)
{
    static char path[TEMP_DIR_SIZE + 16];
    sqlite3 *handle = NULL;

    if (path[0] != '\0')
        return path;
    check(sqlite3_auto_extension((void (*)(void))add_functions) == SQLITE_OK);
    (void)snprintf(path, sizeof path, "%s/flow", temp_dir_of_program());
    migrated_file_make(path, true);
    check(sqlite3_open(path, &handle) == SQLITE_OK);
    for (size_t i = 0; i < sizeof SETUP / sizeof SETUP[0]; i++)
        run(handle, SETUP[i]);
    (void)sqlite3_close(handle);
    return path;
}

/* ---- reading ----------------------------------------------------------------------- */

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    return stmt;
}

static int64_t ask(sqlite3_stmt *stmt)
{
    int64_t number = -1;

    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_reset(stmt);
    check(number >= 0);
    return number;
}

/* M12: budgets whose ledger says something else than their counters. */
#define SQL_UNBALANCED                                                                   \
    "SELECT count(*) FROM weir_usage u JOIN weir_budget b ON b.no = u.budget WHERE"      \
    " u.used <> (SELECT coalesce(sum(amount), 0) FROM weir_spent s WHERE"                \
    " s.budget = u.budget AND s.dimension = u.dimension AND s.era = b.era)"

struct flow_journal *flow_journal_open(const char *path, flow_journal_call_fn call,
                                       void *state)
{
    struct flow_journal *self = calloc(1, sizeof *self);

    check(self != NULL);
    check(asked == NULL);
    self->call = call;
    self->state = state;
    check(sqlite3_open(path, &self->db) == SQLITE_OK);
    run(self->db, "PRAGMA wal_autocheckpoint = 0");
    self->seen = prepare(self->db, "SELECT coalesce(max(seq), 0) FROM sim_journal");
    self->open_count =
        prepare(self->db, "SELECT count(*) FROM weir_execution WHERE state < 10");
    self->unbalanced = prepare(self->db, SQL_UNBALANCED);
    self->in_state = prepare(
        self->db, "SELECT uuid, part FROM weir_execution WHERE state = ?1 ORDER BY no");
    asked = self;
    return self;
}

void flow_journal_close(struct flow_journal *self)
{
    (void)sqlite3_finalize(self->seen);
    (void)sqlite3_finalize(self->open_count);
    (void)sqlite3_finalize(self->unbalanced);
    (void)sqlite3_finalize(self->in_state);
    (void)sqlite3_close(self->db);
    asked = NULL;
    free(self);
}

int64_t flow_journal_seen(struct flow_journal *self)
{
    return ask(self->seen);
}

int64_t flow_journal_open_count(struct flow_journal *self)
{
    return ask(self->open_count);
}

size_t flow_journal_in_state(struct flow_journal *self, int64_t state,
                             struct weir_execution_id *out, size_t room)
{
    size_t count = 0;

    check(sqlite3_bind_int64(self->in_state, 1, state) == SQLITE_OK);
    while (count < room && sqlite3_step(self->in_state) == SQLITE_ROW) {
        check(sqlite3_column_bytes(self->in_state, 0) == WEIR_UUID_SIZE);
        memcpy(out[count].uuid, sqlite3_column_blob(self->in_state, 0), WEIR_UUID_SIZE);
        out[count++].partition = (uint16_t)sqlite3_column_int(self->in_state, 1);
    }
    (void)sqlite3_reset(self->in_state);
    return count;
}

int64_t flow_journal_unbalanced(struct flow_journal *self)
{
    return ask(self->unbalanced);
}

/* What belongs to executions that are not there. */
int64_t flow_journal_orphans(struct flow_journal *self)
{
    static const char *const TABLES[] = {"input",     "result", "attempt",   "tag",
                                         "waitpoint", "signal", "suspension"};
    int64_t count = 0;

    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++) {
        sqlite3_stmt *stmt;
        char sql[128];

        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM weir_%s"
                       " WHERE no NOT IN (SELECT no FROM weir_execution)",
                       TABLES[i]);
        stmt = prepare(self->db, sql);
        count += ask(stmt);
        (void)sqlite3_finalize(stmt);
    }
    return count;
}

/* ---- walking ----------------------------------------------------------------------- */

/* Columns of the journal, by place. */
enum { SEQ, NS, CALL, WHAT, NO, BYTES, PART, KIND, INSTANCE, FAILURE, FIRST_COLUMN };

static int64_t column(sqlite3_stmt *stmt, enum flow_column which)
{
    return sqlite3_column_int64(stmt, FIRST_COLUMN + (int)which);
}

static const char *text(sqlite3_stmt *stmt, int index)
{
    const unsigned char *bytes = sqlite3_column_text(stmt, index);

    return bytes != NULL ? (const char *)bytes : "";
}

static void tell_row(sqlite3_stmt *stmt, const struct flow_entry *entry,
                     struct flow_model *model)
{
    struct weir_execution_id id = {.partition = (uint16_t)sqlite3_column_int(stmt, PART)};
    struct flow_row row = {.instance = ""};

    check(sqlite3_column_bytes(stmt, BYTES) == WEIR_UUID_SIZE);
    memcpy(id.uuid, sqlite3_column_blob(stmt, BYTES), WEIR_UUID_SIZE);
    for (int i = 0; i < FLOW_COLUMN_COUNT; i++)
        row.of[i] = column(stmt, (enum flow_column)i);
    (void)snprintf(row.instance, sizeof row.instance, "%s", text(stmt, INSTANCE));
    (void)snprintf(row.failure, sizeof row.failure, "%s", text(stmt, FAILURE));
    flow_model_row(model, entry, &id, text(stmt, KIND), &row);
}

static void tell_attempt(sqlite3_stmt *stmt, const struct flow_entry *entry,
                         struct flow_model *model)
{
    struct flow_attempt attempt = {
        .number = column(stmt, FLOW_state),
        .type = column(stmt, FLOW_attempt_type),
        .outcome = column(stmt, FLOW_hold),
        .epoch = column(stmt, FLOW_epoch),
        .started_us = column(stmt, FLOW_started_us),
        .ended_us = column(stmt, FLOW_ended_us),
    };

    flow_model_attempt(model, entry, &attempt);
}

static void tell_signal(sqlite3_stmt *stmt, const struct flow_entry *entry,
                        struct flow_model *model)
{
    struct flow_signal signal = {.came_us = column(stmt, FLOW_due_us)};

    check(sqlite3_column_bytes(stmt, BYTES) == WEIR_UUID_SIZE);
    memcpy(signal.uuid, sqlite3_column_blob(stmt, BYTES), WEIR_UUID_SIZE);
    (void)snprintf(signal.waitpoint, sizeof signal.waitpoint, "%s", text(stmt, KIND));
    (void)snprintf(signal.key, sizeof signal.key, "%s", text(stmt, INSTANCE));
    (void)snprintf(signal.name, sizeof signal.name, "%s", text(stmt, FAILURE));
    (void)snprintf(signal.source, sizeof signal.source, "%s", text(stmt, PART));
    flow_model_signal(model, entry, &signal);
}

static void tell(sqlite3_stmt *stmt, struct flow_model *model)
{
    struct flow_entry entry = {
        .seq = sqlite3_column_int64(stmt, SEQ),
        .ns = sqlite3_column_int64(stmt, NS),
        .call = (uint32_t)sqlite3_column_int64(stmt, CALL),
        .no = sqlite3_column_int64(stmt, NO),
    };

    switch (sqlite3_column_int(stmt, WHAT)) {
    case WHAT_ROW:
        tell_row(stmt, &entry, model);
        break;
    case WHAT_REMOVED:
        flow_model_removed(model, &entry);
        break;
    case WHAT_ATTEMPT:
        tell_attempt(stmt, &entry, model);
        break;
    case WHAT_RESULT:
        flow_model_result(model, &entry, text(stmt, BYTES),
                          (size_t)sqlite3_column_bytes(stmt, BYTES));
        break;
    case WHAT_EVENT:
        flow_model_event(model, &entry, text(stmt, BYTES));
        break;
    case WHAT_SIGNAL:
        tell_signal(stmt, &entry, model);
        break;
    case WHAT_USAGE:
        flow_model_usage(model, &entry, column(stmt, FLOW_due_us),
                         column(stmt, FLOW_lease_us));
        break;
    default:
        flow_model_key_forgotten(model, &entry, column(stmt, FLOW_due_us));
        break;
    }
}

void flow_journal_walk(struct flow_journal *self, struct flow_model *model)
{
    sqlite3_stmt *stmt = prepare(self->db, "SELECT * FROM sim_journal ORDER BY seq");

    while (sqlite3_step(stmt) == SQLITE_ROW)
        tell(stmt, model);
    (void)sqlite3_finalize(stmt);
}
