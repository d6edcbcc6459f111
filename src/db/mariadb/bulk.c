/*
 * bulk.c - see mariadb/bulk.h.
 *
 * The library can be given arrays of each column, or a callback that it asks for one
 * row after the other while it writes the packet (STMT_ATTR_CB_PARAM). The callback
 * needs no arrays: each value goes from the caller's memory into the packet.
 *
 * A trap of the library: with the callback it reserves `buffer_length` bytes for a
 * value and copies `*length`; weir_maria_place() leaves `length` to the library, which
 * then points it at `buffer_length`.
 */
#include "db/mariadb/bulk.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include "base/assert.h"
#include "db/mariadb/link.h"
#include "db/mariadb/statement.h"

/* Large enough that the round trip does not count, small enough for any
 * max_allowed_packet that is used; twice as much is in memory while the library's
 * buffer grows. */
enum { PACKET_SIZE = 1024 * 1024 };

/* What makes the rows one unit. */
enum guard { STATEMENT, SAVEPOINT, TRANSACTION };

struct batch {
    struct weir_maria_link *link;
    struct weir_maria_statement *statement;
    const struct weir_value *values;
    size_t row_count;
    size_t packet_size_max; /* for values */
    int64_t changed;
};

/* ---- the unit ---------------------------------------------------------------------- */

static enum weir_status begin(struct batch *self, enum guard guard,
                              struct weir_error *error)
{
    switch (guard) {
    case SAVEPOINT:
        return weir_maria_run_text(self->link, "SAVEPOINT weir_many", error);
    case TRANSACTION:
        return weir_maria_begin(&self->link->link, WEIR_READ_WRITE, error);
    case STATEMENT:
        break;
    }
    return WEIR_OK;
}

static enum weir_status keep(struct batch *self, enum guard guard,
                             struct weir_error *error)
{
    switch (guard) {
    case SAVEPOINT:
        return weir_maria_run_text(self->link, "RELEASE SAVEPOINT weir_many", error);
    case TRANSACTION:
        return weir_maria_commit(&self->link->link, error);
    case STATEMENT:
        break;
    }
    return WEIR_OK;
}

/* The transaction may be gone already, by a deadlock or by a commit that failed. */
static void undo(struct batch *self, enum guard guard)
{
    struct weir_link *link = &self->link->link;
    struct weir_error ignored;

    if (guard == STATEMENT || link->lost ||
        weir_maria_transaction(link) == WEIR_TRANSACTION_NONE)
        return;
    if (guard == TRANSACTION) {
        weir_maria_rollback(link);
        return;
    }
    if (weir_maria_transaction(link) == WEIR_TRANSACTION_FAILED)
        return;
    if (weir_maria_run_text(self->link, "ROLLBACK TO SAVEPOINT weir_many", &ignored) !=
            WEIR_OK ||
        weir_maria_run_text(self->link, "RELEASE SAVEPOINT weir_many", &ignored) !=
            WEIR_OK)
        weir_maria_lose(self->link);
}

/* ---- rows -------------------------------------------------------------------------- */

static const struct weir_value *row_at(const struct batch *self, size_t row)
{
    return self->values + row * self->statement->value_count;
}

/* *size grows by what the row takes in a packet. */
static enum weir_status measure_row(const struct batch *self, size_t row, size_t *size,
                                    struct weir_error *error)
{
    return weir_maria_measure(weir_maria_arrange(self->statement, row_at(self, row)),
                              self->statement->parameter_count, size, error);
}

/* The library's callback: point the binds at the values of a row. */
static my_bool place_row(void *data, MYSQL_BIND *binds, unsigned row)
{
    struct weir_maria_statement *self = data;

    for (size_t i = 0; i < self->parameter_count; i++)
        weir_maria_place(&binds[i], &self->parameters[i],
                         &self->rows[row * self->value_count + self->order[i]]);
    return 0;
}

static void ask_for_rows(struct weir_maria_statement *self, const struct weir_value *rows,
                         unsigned row_count)
{
    const union {
        ps_param_callback function;
        const void *object;
    } callback = {.function = rows != NULL ? place_row : NULL};

    self->rows = rows;
    (void)mysql_stmt_attr_set(self->stmt, STMT_ATTR_ARRAY_SIZE, &row_count);
    (void)mysql_stmt_attr_set(self->stmt, STMT_ATTR_CB_PARAM, callback.object);
}

static enum weir_status run_packet(struct batch *self, size_t first, unsigned count,
                                   struct weir_error *error)
{
    struct weir_maria_statement *statement = self->statement;
    struct weir_cursor cursor;
    enum weir_status status = weir_maria_fault(self->link, "execute", error);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < statement->parameter_count; i++)
        statement->binds[i].buffer_length = 0;
    ask_for_rows(statement, row_at(self, first), count);
    if (mysql_stmt_bind_param(statement->stmt, statement->binds) != 0 ||
        mysql_stmt_execute(statement->stmt) != 0)
        status = weir_maria_fail_statement(self->link, "execute", statement->stmt, error);
    ask_for_rows(statement, NULL, 0);

    if (status == WEIR_OK)
        status = weir_maria_collect(self->link, statement, &cursor, error);
    if (status == WEIR_OK) {
        self->changed += cursor.changed;
        weir_maria_finish(&self->link->link, &cursor);
    }
    return status;
}

static enum weir_status run_row(struct batch *self, size_t row, struct weir_error *error)
{
    struct weir_cursor cursor;
    enum weir_status status = weir_maria_execute(self->link, self->statement,
                                                 row_at(self, row), &cursor, error);

    if (status == WEIR_OK) {
        self->changed += cursor.changed;
        weir_maria_finish(&self->link->link, &cursor);
    }
    return status;
}

/* How many rows from `first` on make one packet; a row that is too large for one goes
 * alone, and so do rows that the server does not take in bulk. */
static unsigned count_rows(const struct batch *self, size_t first)
{
    struct weir_error ignored;
    unsigned count = 0;
    size_t size = 0;

    if (self->statement->bulk_refused || self->statement->parameter_count == 0)
        return 1;
    while (first + count < self->row_count && count < UINT16_MAX) {
        if (measure_row(self, first + count, &size, &ignored) != WEIR_OK ||
            size > self->packet_size_max)
            break;
        count++;
    }
    return count > 0 ? count : 1;
}

static enum weir_status run_rows(struct batch *self, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    unsigned count;

    for (size_t row = 0; row < self->row_count && status == WEIR_OK; row += count) {
        count = count_rows(self, row);
        status = weir_maria_check_cancelled(self->link, error);
        if (status == WEIR_OK)
            status = count > 1 ? run_packet(self, row, count, error)
                               : run_row(self, row, error);
    }
    return status;
}

/* ---- the batch --------------------------------------------------------------------- */

/* All values are checked before anything is sent. */
static enum weir_status plan(struct batch *self, struct weir_error *error)
{
    size_t size = 0;
    size_t room = 0;
    enum weir_status status = WEIR_OK;

    for (size_t row = 0; row < self->row_count && status == WEIR_OK; row++)
        status = measure_row(self, row, &size, error);
    if (status == WEIR_OK)
        status = weir_maria_find_room(self->link, self->statement, size, &room, error);
    if (size <= room && size <= PACKET_SIZE)
        self->packet_size_max = size;
    else
        self->packet_size_max = room / 2 < PACKET_SIZE ? room / 2 : PACKET_SIZE;
    return status;
}

static enum guard choose_guard(const struct batch *self)
{
    bool whole = count_rows(self, 0) == self->row_count;

    if (whole && (self->statement->inserts || self->row_count == 1))
        return STATEMENT;
    return weir_maria_transaction(&self->link->link) == WEIR_TRANSACTION_NONE
               ? TRANSACTION
               : SAVEPOINT;
}

static enum weir_status run_batch(struct batch *self, struct weir_error *error)
{
    enum guard guard = choose_guard(self);
    enum weir_status status = begin(self, guard, error);

    self->changed = 0;
    if (status != WEIR_OK)
        return status;
    status = run_rows(self, error);
    if (status == WEIR_OK)
        status = keep(self, guard, error);
    if (status != WEIR_OK)
        undo(self, guard);
    return status;
}

static bool is_refusal_of_bulk(const struct weir_error *error)
{
    return error->native_code == ER_UNSUPPORTED_PS ||
           error->native_code == CR_FUNCTION_NOT_SUPPORTED;
}

enum weir_status weir_maria_run_many(struct weir_link *link, void *prepared,
                                     const struct weir_value *values, size_t row_count,
                                     size_t column_count, int64_t *changed,
                                     struct weir_error *error)
{
    struct batch batch = {.link = weir_maria_link(link),
                          .statement = prepared,
                          .values = values,
                          .row_count = row_count};
    enum weir_status status = weir_maria_enter(batch.link, error);

    WEIR_ASSERT(column_count == batch.statement->value_count);
    if (status == WEIR_OK)
        status = plan(&batch, error);
    if (status == WEIR_OK)
        status = run_batch(&batch, error);
    if (status != WEIR_OK && !link->lost && is_refusal_of_bulk(error) &&
        !batch.statement->bulk_refused) {
        batch.statement->bulk_refused = true;
        weir_error_clear(error);
        status = run_batch(&batch, error);
    }
    *changed = status == WEIR_OK ? batch.changed : 0;
    return status;
}
