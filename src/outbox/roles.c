/*
 * roles.c - see roles.h.
 *
 * An entry of a plan is the number of its step, the role and the statement, each ended by a zero.
 */
#include "outbox/roles.h"

#include <string.h>

#include "base/heap.h"
#include "db/db.h"
#include "db/transact.h"
#include "outbox/columns.h"

enum { PLAN_SIZE_MAX = 1 << 20, RIGHT_WIDTH = 4 };

/* The lock of migrations: nobody makes tables meanwhile, and no two compare at once. */
static const struct weir_sql SQL_LOCK = {
    .name = "lock roles",
    .text = "SELECT pg_advisory_xact_lock(hashtextextended(lower('{p}_schema'), 0))",
    .parameters = "",
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

static enum weir_status read_rows(struct weir_role_plan *self,
                                  struct weir_connection *connection,
                                  const struct weir_sql *sql,
                                  const struct weir_columns *rights,
                                  struct weir_error *error)
{
    struct weir_value values[RIGHT_WIDTH];
    struct weir_rows rows;
    enum weir_status status;

    for (size_t i = 0; i < RIGHT_WIDTH; i++)
        values[i] = weir_columns_array(rights, i, WEIR_TYPE_TEXT, 0, self->right_count);
    status = weir_connection_query(connection, sql, values, strlen(sql->parameters),
                                   &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        char step = (char)weir_rows_integer(&rows, 0);

        weir_buf_append(&self->entries, &step, 1);
        add_text(self, weir_rows_text(&rows, 1));
        add_text(self, weir_rows_text(&rows, 2));
        self->count++;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
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
    enum weir_status status;

    self->blind = false;
    switch (weir_connection_engine(connection)) {
    case WEIR_POSTGRESQL:
        return compare(self, connection, weir_roles_compare_pg, error);
    case WEIR_MARIADB:
        status = compare(self, connection, weir_roles_compare_maria, error);
        self->blind = status == WEIR_DENIED;
        if (!self->blind)
            return status;
        return compare(self, connection, weir_roles_compare_maria_blind, error);
    case WEIR_SQLITE:
        break;
    }
    return weir_error_set(error, WEIR_INVALID,
                          "SQLite has no roles: who may do what is said by the modes of "
                          "the file and its folder (docs/roles.md)");
}

bool weir_role_plan_next(const struct weir_role_plan *self, size_t *at,
                         struct weir_role_change *out)
{
    const char *entry = weir_buf_text(&self->entries) + *at;

    if (*at >= self->entries.size)
        return false;
    out->step = (enum weir_role_step)entry[0];
    out->role = entry + 1;
    out->text = out->role + strlen(out->role) + 1;
    *at += (size_t)(out->text - entry) + strlen(out->text) + 1;
    return true;
}

struct work {
    struct weir_role_plan *plan;
    struct weir_role_change *failed;
};

static enum weir_status apply(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct work *work = argument;
    struct weir_role_change change;
    enum weir_status status = WEIR_OK;
    size_t at = 0;

    if (weir_connection_engine(connection) == WEIR_POSTGRESQL)
        status = weir_connection_execute(connection, &SQL_LOCK, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_role_plan_read(work->plan, connection, error);
    while (status == WEIR_OK && weir_role_plan_next(work->plan, &at, &change)) {
        *work->failed = change;
        status = weir_connection_execute_text(connection, change.text, error);
    }
    return status;
}

enum weir_status weir_role_plan_apply(struct weir_role_plan *self, struct weir_db *db,
                                      struct weir_role_change *failed,
                                      struct weir_error *error)
{
    struct work work = {.plan = self, .failed = failed};
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *failed = (struct weir_role_change){.step = WEIR_ROLE_MAKE, .role = "", .text = ""};
    if (weir_db_engine(db) == WEIR_POSTGRESQL)
        return weir_transact(db, apply, &work, error);
    status = weir_db_acquire(db, &connection, error);
    if (status == WEIR_OK)
        status = apply(connection, &work, error);
    weir_db_release(db, connection);
    return status;
}
