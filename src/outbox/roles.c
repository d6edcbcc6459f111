/*
 * roles.c - see roles.h.
 *
 * An entry of a plan is the number of its step, the role, the statement and the unit,
 * each ended by a zero.
 *
 * A lock is waited for for less than a second, the server's default time until it looks
 * for deadlocks: others wait behind us meanwhile. Between two attempts they have as
 * long to themselves.
 */
#include "outbox/roles.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/query.h"
#include "db/transact.h"
#include "outbox/columns.h"
#include "outbox/engine.h"

enum { PLAN_SIZE_MAX = 1 << 20, RIGHT_WIDTH = 4 };
enum {
    LOCK_MS_FIRST = 50,
    LOCK_MS_MAX = 800,
    WAIT_LIMIT_S = 60,
    LOCK_TEXT_SIZE_MAX = 1024
};

void weir_role_plan_init(struct weir_role_plan *self, const struct weir_heap *heap,
                         const struct weir_role_right *rights, size_t right_count)
{
    *self = (struct weir_role_plan){.rights = rights, .right_count = right_count};
    weir_buf_init(&self->entries, heap, PLAN_SIZE_MAX);
}

void weir_role_plan_fini(struct weir_role_plan *self)
{
    weir_buf_fini(&self->entries);
    self->count = 0;
}

static void add_text(struct weir_role_plan *self, struct weir_str text)
{
    weir_buf_append(&self->entries, text.data, text.size);
    weir_buf_append(&self->entries, "", 1);
}

/* The rights of others, as four columns. */
static enum weir_status lay_out(const struct weir_role_plan *self,
                                struct weir_columns *out, struct weir_error *error)
{
    enum weir_status status =
        weir_columns_init(out, self->entries.heap, RIGHT_WIDTH,
                          self->right_count > 0 ? self->right_count : 1, error);

    for (size_t i = 0; i < self->right_count && status == WEIR_OK; i++) {
        const struct weir_role_right *right = &self->rights[i];

        weir_columns_set(out, 0, i, weir_text(weir_str(right->object)));
        weir_columns_set(out, 1, i, weir_text(weir_str(right->role)));
        weir_columns_set(out, 2, i, weir_text(weir_str(right->privileges)));
        weir_columns_set(out, 3, i, weir_text(weir_str(right->columns)));
    }
    return status;
}

struct plan_row {
    int64_t step;
    struct weir_str role;
    struct weir_str text;
    struct weir_str unit;
};

static const struct weir_column PLAN[] = {
    COLUMN(struct plan_row, step, INTEGER),
    COLUMN(struct plan_row, role, TEXT),
    COLUMN(struct plan_row, text, TEXT),
    COLUMN(struct plan_row, unit, TEXT),
};

static enum weir_status add_entry(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct weir_role_plan *self = state;
    struct plan_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(PLAN), &row, error);

    if (status != WEIR_OK)
        return status;
    weir_buf_append(&self->entries, &(char){(char)row.step}, 1);
    add_text(self, row.role);
    add_text(self, row.text);
    add_text(self, row.unit);
    self->count++;
    return WEIR_OK;
}

static enum weir_status read_rows(struct weir_role_plan *self,
                                  struct weir_connection *connection,
                                  const struct weir_sql *sql,
                                  const struct weir_columns *rights,
                                  struct weir_error *error)
{
    struct weir_value values[RIGHT_WIDTH];

    for (size_t i = 0; i < RIGHT_WIDTH; i++)
        values[i] = weir_columns_array(rights, i, WEIR_TYPE_TEXT, 0, self->right_count);
    return weir_query_each(connection, sql, values, strlen(sql->parameters), add_entry,
                           self, error);
}

static enum weir_status compare(struct weir_role_plan *self,
                                struct weir_connection *connection,
                                const struct weir_sql *queries, struct weir_error *error)
{
    struct weir_columns rights;
    enum weir_status status = lay_out(self, &rights, error);

    weir_buf_reset(&self->entries);
    self->count = 0;
    for (size_t i = 0; i < WEIR_ROLES_COMPARE_COUNT && status == WEIR_OK; i++)
        status = read_rows(self, connection, &queries[i], &rights, error);
    weir_columns_fini(&rights);
    if (status == WEIR_OK && weir_buf_status(&self->entries) != WEIR_OK)
        status = weir_error_set(error, weir_buf_status(&self->entries), "compare roles");
    return status;
}

enum weir_status weir_role_plan_read(struct weir_role_plan *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    const struct weir_role_ops *ops = weir_outbox_engine_of(connection)->roles;
    enum weir_status status;

    self->blind = false;
    if (ops == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "SQLite has no roles: rights are set by the modes "
                              "of the file and its folder (docs/roles.md)");
    status = compare(self, connection, ops->compare, error);
    self->blind = status == WEIR_DENIED && ops->compare_blind != NULL;
    return self->blind ? compare(self, connection, ops->compare_blind, error) : status;
}

static const char *behind(const char *text)
{
    return text + strlen(text) + 1;
}

bool weir_role_plan_next(const struct weir_role_plan *self, size_t *at,
                         struct weir_role_change *out)
{
    const char *entry = weir_buf_text(&self->entries) + *at;

    if (*at >= self->entries.size)
        return false;
    out->step = (enum weir_role_step)entry[0];
    out->role = entry + 1;
    out->text = behind(out->role);
    out->unit = behind(out->text);
    *at += (size_t)(behind(out->unit) - entry);
    return true;
}

bool weir_role_plan_leads(const struct weir_role_plan *self,
                          const struct weir_role_change *change)
{
    struct weir_role_change other;
    size_t at = 0;

    while (weir_role_plan_next(self, &at, &other) && other.text != change->text)
        if (strcmp(other.unit, change->unit) == 0)
            return false;
    return true;
}

/* ---- applying ---------------------------------------------------------------------- */

struct work {
    struct weir_role_plan *plan;
    struct weir_role_change *failed;
};

static enum weir_status run_unit(struct work *work, struct weir_connection *connection,
                                 const char *unit, struct weir_error *error)
{
    struct weir_role_change change;
    enum weir_status status = WEIR_OK;
    size_t at = 0;

    while (status == WEIR_OK && weir_role_plan_next(work->plan, &at, &change)) {
        if (strcmp(change.unit, unit) != 0)
            continue;
        *work->failed = change;
        status = weir_connection_execute_text(connection, change.text, error);
    }
    return status;
}

/* Where there are no units, everything; else what locks no table. */
static enum weir_status apply_first(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct work *work = argument;
    const struct weir_role_ops *ops = weir_outbox_engine_of(connection)->roles;
    enum weir_status status = WEIR_OK;

    if (ops != NULL && ops->lock != NULL)
        status = weir_connection_execute(connection, ops->lock, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_role_plan_read(work->plan, connection, error);
    if (status == WEIR_OK)
        status = run_unit(work, connection, "", error);
    return status;
}

/*
 * A leaf that is emptied has a new row in the catalogue, as one whose rights change:
 * the second of the two would fail. So a table is locked in the weakest mode, which
 * nothing but that waits for. A change of owner takes the strongest by itself.
 */
static enum weir_status lock_table(struct weir_connection *connection,
                                   const struct weir_role_change *first,
                                   int64_t wait_limit_ms, struct weir_error *error)
{
    struct weir_buf text;
    enum weir_status status;

    weir_buf_init(&text, weir_connection_config(connection)->heap, LOCK_TEXT_SIZE_MAX);
    weir_buf_append_format(&text, "SET LOCAL lock_timeout = %" PRId64, wait_limit_ms);
    if (first->step != WEIR_ROLE_OWN && strncmp(first->unit, "TABLE ", 6) == 0)
        weir_buf_append_format(&text, "; LOCK TABLE ONLY %s IN ACCESS SHARE MODE",
                               first->unit + 6);
    status = weir_buf_status(&text);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, weir_buf_text(&text), error);
    else
        (void)weir_error_set(error, status, "lock %.100s", first->unit);
    weir_buf_fini(&text);
    return status;
}

/* Any of its statements may be repeated, also after a commit whose outcome is not
 * known. */
static enum weir_status try_unit(struct work *work, struct weir_db *db,
                                 const struct weir_role_change *first,
                                 int64_t wait_limit_ms, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *work->failed = *first; /* also if it is not reached, for want of its lock */
    status = weir_db_acquire(db, &connection, error);
    if (status == WEIR_OK)
        status = weir_connection_begin(connection, error);
    if (status == WEIR_OK) {
        status = lock_table(connection, first, wait_limit_ms, error);
        if (status == WEIR_OK)
            status = run_unit(work, connection, first->unit, error);
        if (status == WEIR_OK)
            status = weir_connection_commit(connection, error);
        else
            weir_connection_rollback(connection);
    }
    weir_db_release(db, connection);
    return status;
}

static bool worth_repeating(enum weir_status status)
{
    return status == WEIR_LOCKED || status == WEIR_CONFLICT || status == WEIR_LOST ||
           status == WEIR_IN_DOUBT;
}

static enum weir_status apply_unit(struct work *work, struct weir_db *db,
                                   const struct weir_role_change *first,
                                   struct weir_error *error)
{
    int64_t deadline_ns = weir_clock_now_ns() + WEIR_SECONDS(WAIT_LIMIT_S);
    int64_t wait_limit_ms = LOCK_MS_FIRST;
    enum weir_status status = try_unit(work, db, first, wait_limit_ms, error);

    while (worth_repeating(status) && weir_clock_now_ns() < deadline_ns &&
           weir_clock_sleep(WEIR_MILLISECONDS(wait_limit_ms))) {
        if (wait_limit_ms < LOCK_MS_MAX)
            wait_limit_ms *= 2;
        status = try_unit(work, db, first, wait_limit_ms, error);
    }
    if (status == WEIR_LOCKED)
        (void)weir_error_set(error, status,
                             "%.150s: transactions of others have held the table for %d "
                             "s; run it again to go on",
                             first->text, WAIT_LIMIT_S);
    return status;
}

static enum weir_status apply_units(struct work *work, struct weir_db *db,
                                    struct weir_error *error)
{
    struct weir_role_change change;
    enum weir_status status = WEIR_OK;
    size_t at = 0;

    while (status == WEIR_OK && weir_role_plan_next(work->plan, &at, &change))
        if (change.unit[0] != '\0' && weir_role_plan_leads(work->plan, &change))
            status = apply_unit(work, db, &change, error);
    return status;
}

enum weir_status weir_role_plan_apply(struct weir_role_plan *self, struct weir_db *db,
                                      struct weir_role_change *failed,
                                      struct weir_error *error)
{
    const struct weir_role_ops *ops = weir_outbox_engine_for(db)->roles;
    struct work work = {.plan = self, .failed = failed};
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *failed = (struct weir_role_change){
        .step = WEIR_ROLE_MAKE, .role = "", .text = "", .unit = ""};
    if (ops != NULL && ops->lock != NULL) {
        status = weir_transact(db, apply_first, &work, error);
        return status == WEIR_OK ? apply_units(&work, db, error) : status;
    }
    status = weir_db_acquire(db, &connection, error);
    if (status == WEIR_OK)
        status = apply_first(connection, &work, error);
    weir_db_release(db, connection);
    return status;
}
