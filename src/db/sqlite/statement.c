/*
 * statement.c - see sqlite/statement.h.
 *
 * A cursor: `result` is the statement while it may have more rows, else NULL; row_count
 * is 1 while run()'s first row waits for next().
 *
 *   I1  a statement that no cursor holds is reset and has no bindings
 *   I2  views of the caller (SQLITE_STATIC) are bound only while run() has not returned
 */
#include "db/sqlite/statement.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "base/log.h"
#include "base/noun.h"
#include "db/sqlite/link.h"

/* Integers up to here are exact as double. */
#define DOUBLE_WHOLE_MAX (INT64_C(1) << 53)

static enum weir_status bind_all(struct weir_sqlite_link *self, sqlite3_stmt *stmt,
                                 const struct weir_value *values,
                                 sqlite3_destructor_type lifetime,
                                 struct weir_error *error);

/* ---- preparing --------------------------------------------------------------------- */

enum weir_status weir_sqlite_exec(struct weir_link *link, const char *text,
                                  struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = weir_sqlite_enter(self, error);

    if (status == WEIR_OK)
        status = weir_sqlite_run_text(self, text, error);
    if (status == WEIR_OK)
        weir_sqlite_log_relieve(self);
    return status;
}

/* One statement, with as many parameters as there are letters. */
static enum weir_status check_prepared(sqlite3_stmt *stmt, const char *rest,
                                       const char *parameters, struct weir_error *error)
{
    size_t wanted_count = strlen(parameters);

    if (stmt == NULL)
        return weir_error_set(error, WEIR_INVALID, "prepare: the statement is empty");
    if (rest[strspn(rest, " \t\r\n;")] != '\0')
        return weir_error_set(error, WEIR_INVALID, "prepare: more than one statement");
    if ((size_t)sqlite3_bind_parameter_count(stmt) != wanted_count)
        return weir_error_set(
            error, WEIR_INVALID, "prepare: the statement has %d %s, declared are %zu",
            sqlite3_bind_parameter_count(stmt),
            WEIR_NOUN(sqlite3_bind_parameter_count(stmt), "parameter", "parameters"),
            wanted_count);
    return WEIR_OK;
}

enum weir_status weir_sqlite_statement_prepare(struct weir_link *link, const char *text,
                                               const char *parameters, void **out,
                                               struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    unsigned flags = link->adopted ? 0 : SQLITE_PREPARE_PERSISTENT;
    enum weir_status status = weir_sqlite_enter(self, error);
    sqlite3_stmt *stmt = NULL;
    const char *rest = text;

    *out = NULL;
    if (status == WEIR_OK)
        status = weir_sqlite_prepare(self, text, flags, &stmt, &rest, error);
    if (status == WEIR_OK)
        status = check_prepared(stmt, rest, parameters, error);
    if (status != WEIR_OK) {
        (void)sqlite3_finalize(stmt);
        return status;
    }
    *out = stmt;
    return WEIR_OK;
}

void weir_sqlite_statement_unprepare(struct weir_link *link, void *prepared)
{
    (void)link;
    (void)sqlite3_finalize(prepared); /* repeats an old error, if any */
}

/* ---- running ----------------------------------------------------------------------- */

/* Back to I1. The code is that of the last step, which was reported. */
static void release(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

/* sqlite3_changes64() speaks of the last INSERT, UPDATE or DELETE, which need not be this
 * statement: it is, if the total has moved. */
static int64_t changed_rows(const struct weir_sqlite_link *self)
{
    if (sqlite3_total_changes64(self->db) == self->total_changes_before)
        return 0;
    return sqlite3_changes64(self->db);
}

/* Bind and take the first step: WEIR_OK is a row, WEIR_NO_ROW the end. */
static enum weir_status start(struct weir_sqlite_link *self, sqlite3_stmt *stmt,
                              const struct weir_value *values, struct weir_error *error)
{
    bool has_rows = sqlite3_column_count(stmt) > 0;
    enum weir_status status =
        bind_all(self, stmt, values, has_rows ? SQLITE_TRANSIENT : SQLITE_STATIC, error);

    if (status != WEIR_OK)
        return status;
    self->total_changes_before = sqlite3_total_changes64(self->db);
    return weir_sqlite_step(self, stmt, error);
}

enum weir_status weir_sqlite_statement_run(struct weir_link *link, void *prepared,
                                           const struct weir_value *values,
                                           struct weir_cursor *cursor,
                                           struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = weir_sqlite_enter(self, error);

    *cursor = (struct weir_cursor){.prepared = prepared};
    if (status != WEIR_OK)
        return status;
    status = start(self, prepared, values, error);
    cursor->column_count = (size_t)sqlite3_column_count(prepared);
    if (status == WEIR_OK) {
        cursor->result = prepared;
        cursor->row_count = 1;
        return WEIR_OK;
    }
    if (status == WEIR_NO_ROW)
        cursor->changed = changed_rows(self);
    release(prepared);
    if (status != WEIR_NO_ROW)
        return status;
    weir_sqlite_log_relieve(self);
    return WEIR_OK;
}

enum weir_status weir_sqlite_statement_next(struct weir_link *link,
                                            struct weir_cursor *cursor,
                                            struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status;

    if (cursor->result == NULL)
        return WEIR_NO_ROW;
    if (cursor->row_count == 1) {
        cursor->row_count = 0;
        return WEIR_OK;
    }
    status = weir_sqlite_step(self, cursor->result, error);
    if (status == WEIR_OK)
        return WEIR_OK;
    if (status == WEIR_NO_ROW)
        cursor->changed = changed_rows(self);
    release(cursor->result);
    cursor->result = NULL;
    if (status == WEIR_NO_ROW)
        weir_sqlite_log_relieve(self);
    return status;
}

void weir_sqlite_statement_finish(struct weir_link *link, struct weir_cursor *cursor)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    sqlite3_stmt *stmt = cursor->result;

    if (stmt == NULL)
        return;
    cursor->result = NULL;
    if (sqlite3_reset(stmt) != SQLITE_OK && !link->lost) {
        struct weir_error error;

        (void)weir_sqlite_fail(self, "finish", &error);
        link->lost = true;
        weir_log_event(link->config->log, WEIR_LOG_WARNING, "sqlite.finish_failed",
                       "error=\"%s\"", error.text);
    }
    (void)sqlite3_clear_bindings(stmt);
}

/* ---- many -------------------------------------------------------------------------- */

/* To the end, dropping rows. The caller clears the bindings, after the last of many. */
static enum weir_status run_through(struct weir_sqlite_link *self, sqlite3_stmt *stmt,
                                    const struct weir_value *values, int64_t *changed,
                                    struct weir_error *error)
{
    enum weir_status status = start(self, stmt, values, error);

    while (status == WEIR_OK)
        status = weir_sqlite_step(self, stmt, error);
    *changed = status == WEIR_NO_ROW ? changed_rows(self) : 0;
    (void)sqlite3_reset(stmt);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status run_rows(struct weir_sqlite_link *self, sqlite3_stmt *stmt,
                                 const struct weir_value *values, size_t row_count,
                                 size_t column_count, int64_t *changed,
                                 struct weir_error *error)
{
    sqlite3_destructor_type lifetime =
        sqlite3_column_count(stmt) > 0 ? SQLITE_TRANSIENT : SQLITE_STATIC;
    enum weir_status status = WEIR_OK;

    self->total_changes_before = sqlite3_total_changes64(self->db);
    for (size_t i = 0; i < row_count; i++) {
        status = bind_all(self, stmt, values + i * column_count, lifetime, error);
        while (status == WEIR_OK)
            status = weir_sqlite_step(self, stmt, error);
        (void)sqlite3_reset(stmt);
        if (status != WEIR_NO_ROW)
            break;
        *changed += changed_rows(self);
        self->total_changes_before = sqlite3_total_changes64(self->db);
        status = WEIR_OK;
    }
    (void)sqlite3_clear_bindings(stmt);
    return status;
}

/* All rows or none: in a transaction of our own... */
static enum weir_status run_in_transaction(struct weir_sqlite_link *self,
                                           sqlite3_stmt *stmt,
                                           const struct weir_value *values,
                                           size_t row_count, size_t column_count,
                                           int64_t *changed, struct weir_error *error)
{
    enum weir_status status = weir_sqlite_begin(&self->link, WEIR_READ_WRITE, error);

    if (status != WEIR_OK)
        return status;
    status = run_rows(self, stmt, values, row_count, column_count, changed, error);
    if (status == WEIR_OK)
        return weir_sqlite_commit(&self->link, error);
    weir_sqlite_rollback(&self->link);
    return status;
}

/* ... or, where there is one already or it is the application's to have one, in a
 * savepoint. */
static enum weir_status run_in_savepoint(struct weir_sqlite_link *self,
                                         sqlite3_stmt *stmt,
                                         const struct weir_value *values,
                                         size_t row_count, size_t column_count,
                                         int64_t *changed, struct weir_error *error)
{
    enum weir_status status = weir_sqlite_run_verb(self, WEIR_SQLITE_SAVE, error);

    if (status != WEIR_OK)
        return status;
    status = run_rows(self, stmt, values, row_count, column_count, changed, error);
    if (status == WEIR_OK)
        status = weir_sqlite_run_verb(self, WEIR_SQLITE_KEEP, error);
    if (status != WEIR_OK)
        weir_sqlite_undo(self);
    return status;
}

enum weir_status weir_sqlite_statement_run_many(struct weir_link *link, void *prepared,
                                                const struct weir_value *values,
                                                size_t row_count, size_t column_count,
                                                int64_t *changed,
                                                struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = weir_sqlite_enter(self, error);
    int64_t sum = 0;

    if (status != WEIR_OK)
        return status;
    if (row_count <= 1)
        status = run_rows(self, prepared, values, row_count, column_count, &sum, error);
    else if (!link->adopted && sqlite3_get_autocommit(self->db) != 0)
        status = run_in_transaction(self, prepared, values, row_count, column_count, &sum,
                                    error);
    else
        status = run_in_savepoint(self, prepared, values, row_count, column_count, &sum,
                                  error);
    *changed = status == WEIR_OK ? sum : 0;
    if (status == WEIR_OK)
        weir_sqlite_log_relieve(self);
    return status;
}

enum weir_status weir_sqlite_statement_run_steps(struct weir_link *link,
                                                 struct weir_driver_step *steps,
                                                 size_t step_count, size_t *failed,
                                                 struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < step_count && status == WEIR_OK; i++) {
        *failed = i;
        status = weir_sqlite_enter(self, error);
        if (status != WEIR_OK)
            break;
        status = run_through(self, steps[i].prepared, steps[i].values, &steps[i].changed,
                             error);
        (void)sqlite3_clear_bindings(steps[i].prepared);
    }
    return status;
}

/* ---- values ------------------------------------------------------------------------ */

/* A view without bytes may have no address; to SQLite that would be a null. */
static const char *address(struct weir_str view)
{
    return view.size > 0 ? view.data : "";
}

static int bind_one(sqlite3_stmt *stmt, int index, const struct weir_value *value,
                    sqlite3_destructor_type lifetime)
{
    switch (value->type) {
    case WEIR_TYPE_NULL:
        return sqlite3_bind_null(stmt, index);
    case WEIR_TYPE_INTEGER:
        return sqlite3_bind_int64(stmt, index, value->as.integer);
    case WEIR_TYPE_TIME:
        return sqlite3_bind_int64(stmt, index, value->as.time_us);
    case WEIR_TYPE_BOOLEAN:
        return sqlite3_bind_int(stmt, index, value->as.boolean);
    case WEIR_TYPE_REAL:
        /* NaN would become a null without a word; infinity not every engine has. */
        return isfinite(value->as.real) ? sqlite3_bind_double(stmt, index, value->as.real)
                                        : SQLITE_MISMATCH;
    case WEIR_TYPE_TEXT:
        return sqlite3_bind_text64(stmt, index, address(value->as.text),
                                   value->as.text.size, lifetime, SQLITE_UTF8);
    case WEIR_TYPE_BYTES:
        return sqlite3_bind_blob64(stmt, index, address(value->as.text),
                                   value->as.text.size, lifetime);
    case WEIR_TYPE_ARRAY:
        break;
    }
    return SQLITE_MISMATCH;
}

static enum weir_status bind_all(struct weir_sqlite_link *self, sqlite3_stmt *stmt,
                                 const struct weir_value *values,
                                 sqlite3_destructor_type lifetime,
                                 struct weir_error *error)
{
    int count = sqlite3_bind_parameter_count(stmt);

    for (int i = 0; i < count; i++) {
        int code = bind_one(stmt, i + 1, &values[i], lifetime);

        if (code == SQLITE_OK)
            continue;
        (void)sqlite3_clear_bindings(stmt);
        if (code == SQLITE_MISMATCH)
            return weir_error_set(error, WEIR_INVALID,
                                  "bind: parameter %d is nothing that SQLite can store",
                                  i + 1);
        return weir_sqlite_fail(self, "bind", error);
    }
    return WEIR_OK;
}

static bool read_integer(sqlite3_stmt *stmt, int column, enum weir_type wanted,
                         struct weir_value *out)
{
    int64_t integer = sqlite3_column_int64(stmt, column);

    switch (wanted) {
    case WEIR_TYPE_INTEGER:
        *out = weir_integer(integer);
        return true;
    case WEIR_TYPE_TIME:
        *out = weir_time(integer);
        return true;
    case WEIR_TYPE_BOOLEAN:
        *out = weir_boolean(integer == 1);
        return integer == 0 || integer == 1;
    case WEIR_TYPE_REAL:
        *out = weir_real((double)integer);
        return integer >= -DOUBLE_WHOLE_MAX && integer <= DOUBLE_WHOLE_MAX;
    default:
        return false;
    }
}

/* Text is always had as UTF-8, whatever the file's encoding is; so the text comes
 * before its size. No address: there is no memory for the conversion. */
static bool read_text(sqlite3_stmt *stmt, int column, enum weir_type wanted,
                      struct weir_value *out)
{
    const unsigned char *text;

    if (wanted != WEIR_TYPE_TEXT && wanted != WEIR_TYPE_BYTES)
        return false;
    text = sqlite3_column_text(stmt, column);
    *out = (struct weir_value){
        .type = wanted,
        .as.text = {(const char *)text, (size_t)sqlite3_column_bytes(stmt, column)},
    };
    return text != NULL;
}

static bool read_bytes(sqlite3_stmt *stmt, int column, enum weir_type wanted,
                       struct weir_value *out)
{
    const void *bytes = sqlite3_column_blob(stmt, column);
    size_t size = (size_t)sqlite3_column_bytes(stmt, column);

    *out = size > 0 ? weir_bytes(bytes, size) : weir_bytes("", 0);
    return wanted == WEIR_TYPE_BYTES && (size == 0 || bytes != NULL);
}

void weir_sqlite_statement_read(struct weir_cursor *cursor, size_t column,
                                enum weir_type wanted, struct weir_value *out, bool *fits)
{
    sqlite3_stmt *stmt = cursor->result;
    int index = (int)column;

    *out = weir_null();
    if (stmt == NULL || column >= cursor->column_count) {
        *fits = false;
        return;
    }
    switch (sqlite3_column_type(stmt, index)) {
    case SQLITE_INTEGER:
        *fits = read_integer(stmt, index, wanted, out);
        break;
    case SQLITE_FLOAT:
        *out = weir_real(sqlite3_column_double(stmt, index));
        *fits = wanted == WEIR_TYPE_REAL;
        break;
    case SQLITE_TEXT:
        *fits = read_text(stmt, index, wanted, out);
        break;
    case SQLITE_BLOB:
        *fits = read_bytes(stmt, index, wanted, out);
        break;
    default:
        *fits = true;
        break;
    }
    if (!*fits)
        *out = weir_null();
}
