/*
 * ack.c - moving positions on MariaDB.
 *
 *   BEGIN
 *   lock and compare       one round trip: tells which of them may move
 *   move these             one, however many
 *   dead letters           if there are any
 *   COMMIT
 *
 * A locking read waits for the lock and sees what was committed last, so comparing is
 * part of the statement that locks, and its result holds until the commit. Its clock
 * is older than its locks: a lease that ran out while we waited is one that no process
 * has taken meanwhile, or its epoch would be another.
 *
 * Keys travel as JSON in their order and are looked up one by one, which is the order
 * of the locks (ack.c, I2); a position is locked behind its lease and by no other
 * transaction. A lease that is not ours is unlocked again when the next one is looked up,
 * so behind all there is a key of none: a process that has been stopped, and goes on for
 * a moment, does not block a new owner.
 */
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/transact.h"
#include "outbox/columns_json.h"
#include "outbox/delivery/ack_move.h"
#include "outbox/mariadb/engine.h"

/* By both primary keys. Unless forced to, the planner reads a table that it takes for
 * small as a whole, in the order of the table, and locks what it reads. */
static const struct weir_sql SQL_COMPARE = {
    .name = "lock positions",
    .text = "SELECT p.n FROM JSON_TABLE(" WEIR_JSON_AND_NONE
            ", '$[*]' COLUMNS (n FOR ORDINALITY,"
            " subscription BIGINT PATH '$[0]', pid BIGINT PATH '$[1]',"
            " epoch BIGINT PATH '$[2]', version BIGINT PATH '$[3]')) p"
            " STRAIGHT_JOIN {p}_lease l FORCE INDEX (PRIMARY)"
            " ON l.subscription = p.subscription AND l.pid = p.pid"
            " STRAIGHT_JOIN {p}_ack a FORCE INDEX (PRIMARY)"
            " ON a.subscription = p.subscription AND a.pid = p.pid"
            " WHERE l.owner = {2} AND l.epoch = p.epoch AND l.until_us > {now}"
            " AND l.incarnation = " WEIR_INCARNATION_PLAIN
            " AND a.version = p.version - 1 FOR UPDATE",
    .parameters = "ti",
};
enum { COMPARED = WEIR_ACK_VERSION + 1 }; /* columns that travel */

/*
 * The rows are there, and locked. Rows of an INSERT travel in one packet and are undone
 * together; those of an UPDATE would need a savepoint around them.
 */
static const struct weir_sql SQL_MOVE = {
    .name = "move positions",
    .text = "INSERT INTO {p}_ack (subscription, pid, epoch, version, cut, last_id, seq,"
            " attempts, alone, retry_us, error, trying, incarnation)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, 0,"
            " " WEIR_INCARNATION_PLAIN ")"
            " ON DUPLICATE KEY UPDATE epoch = VALUES(epoch), version = VALUES(version),"
            " cut = VALUES(cut), last_id = VALUES(last_id), seq = VALUES(seq),"
            " attempts = VALUES(attempts), alone = VALUES(alone),"
            " retry_us = VALUES(retry_us), error = VALUES(error),"
            " trying = VALUES(trying), incarnation = VALUES(incarnation)",
    .parameters = "iiiiiiiiiit",
};
enum { MOVED = WEIR_ACK_ERROR + 1 }; /* columns that travel */

/* The row is there, and locked. */
static const struct weir_sql SQL_MARK = {
    .name = "mark position",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, attempts = {5}, alone = {6},"
            " error = IF({7} = '', error, {7}), trying = {8},"
            " incarnation = " WEIR_INCARNATION_PLAIN
            " WHERE subscription = {1} AND pid = {2}",
    .parameters = "iiiiiiti",
};

/* Almost never: an owner before us has died. */
static const struct weir_sql SQL_FORGET = {
    .name = "forget crashes",
    .text = "UPDATE {p}_lease SET crashes = 0"
            " WHERE subscription = {1} AND pid = {2} AND crashes <> 0",
    .parameters = "ii",
};

/* ---- comparing --------------------------------------------------------------------- */

static enum weir_status mark_accepted(struct weir_ack_group *self,
                                      struct weir_connection *connection,
                                      struct weir_str keys, size_t begin,
                                      struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_COMPARE, VALUES(weir_text(keys), weir_integer(self->owner)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        size_t at = begin + (size_t)weir_rows_integer(&rows, 0) - 1; /* from 1 */

        if (at < self->count)
            self->acks[at]->accepted = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status list_keys(struct weir_ack_group *self,
                                  const struct weir_heap *heap, struct weir_error *error)
{
    enum weir_status status =
        weir_columns_init(&self->table, heap, COMPARED, self->count, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        const struct weir_ack *ack = self->acks[i];

        weir_columns_set(&self->table, WEIR_ACK_SUBSCRIPTION, i,
                         weir_integer(ack->key.subscription));
        weir_columns_set(&self->table, WEIR_ACK_PARTITION, i, weir_integer(ack->key.pid));
        weir_columns_set(&self->table, WEIR_ACK_EPOCH, i, weir_integer(ack->epoch));
        weir_columns_set(&self->table, WEIR_ACK_VERSION, i,
                         weir_integer(ack->next.version));
    }
    return status;
}

static size_t chunk(size_t count, size_t begin)
{
    return count - begin < WEIR_ACK_CHUNK_MAX ? count - begin : WEIR_ACK_CHUNK_MAX;
}

static enum weir_status compare(struct weir_ack_group *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    enum weir_status status = list_keys(self, heap, error);
    struct weir_buf keys;

    weir_buf_init(&keys, heap, WEIR_VALUE_SIZE_MAX);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i += WEIR_ACK_CHUNK_MAX) {
        status = weir_columns_json(&self->table, COMPARED, i, chunk(self->count, i),
                                   &keys, error);
        if (status == WEIR_OK)
            status = mark_accepted(self, connection, weir_buf_get(&keys), i, error);
    }
    weir_buf_fini(&keys);
    return status;
}

/* ---- moving ------------------------------------------------------------------------ */

/* The rows of those that were accepted, one behind the other. */
static enum weir_status list_rows(struct weir_ack_group *self, struct weir_value *out,
                                  size_t *count, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *count = 0;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct weir_value row[WEIR_ACK_COLUMNS];

        if (!self->acks[i]->accepted)
            continue;
        status = weir_ack_group_row(self, i, row, error);
        for (size_t column = 0; column < MOVED && status == WEIR_OK; column++)
            out[*count * MOVED + column] = row[column];
        ++*count;
    }
    return status;
}

static enum weir_status move_accepted(struct weir_ack_group *self,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_value *rows =
        weir_heap_zalloc_array(heap, self->count, MOVED * sizeof *rows);
    size_t count;
    enum weir_status status;

    if (rows == NULL)
        return weir_no_memory_for(error, "%zu acks", self->count);
    status = list_rows(self, rows, &count, error);
    if (status == WEIR_OK && count > 0)
        status = weir_connection_execute_many(connection, &SQL_MOVE, rows, count, MOVED,
                                              NULL, error);
    weir_heap_free(heap, rows);
    return status;
}

static enum weir_status mark(struct weir_ack_group *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    struct weir_value values[WEIR_ACK_MARK_VALUES];
    enum weir_status status;

    if (!self->acks[0]->accepted)
        return WEIR_OK;
    status = weir_ack_group_mark(self, values, error);
    if (status == WEIR_OK) /* the owner was compared */
        status = weir_connection_execute(connection, &SQL_MARK, values,
                                         WEIR_ACK_MARK_VALUES - 1, NULL, error);
    return status;
}

static enum weir_status forget_crashes(struct weir_ack_group *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        const struct weir_ack *ack = self->acks[i];

        if (ack->accepted && ack->clear_crashes)
            status = weir_connection_execute(
                connection, &SQL_FORGET,
                VALUES(weir_integer(ack->key.subscription), weir_integer(ack->key.pid)),
                NULL, error);
    }
    return status;
}

static enum weir_status move(struct weir_connection *connection, void *argument,
                             struct weir_error *error)
{
    struct weir_ack_group *self = argument;
    enum weir_status status = compare(self, connection, error);

    if (status == WEIR_OK && self->is_mark)
        return mark(self, connection, error);
    if (status == WEIR_OK)
        status = move_accepted(self, connection, error);
    if (status == WEIR_OK)
        status = forget_crashes(self, connection, error);
    return status == WEIR_OK ? weir_ack_group_reject(self, connection, error) : status;
}

static enum weir_status move_group(struct weir_ack_group *self,
                                   struct weir_connection *connection, bool alone,
                                   struct weir_error *error)
{
    return alone ? weir_transact_once(connection, move, self, error)
                 : move(connection, self, error);
}

/* By the primary key, for each row of a text: a position is one row here. */
static const struct weir_sql SQL_READ_ALL = {
    .name = "read positions",
    .text = "SELECT " WEIR_ACK_POSITION ", p.n FROM JSON_TABLE({1}, '$[*]' COLUMNS"
            " (n FOR ORDINALITY, s BIGINT PATH '$[0]', p BIGINT PATH '$[1]')) p"
            " STRAIGHT_JOIN {p}_ack k FORCE INDEX (PRIMARY) ON k.subscription = p.s AND "
            "k.pid = p.p",
    .parameters = "t",
};

static enum weir_status query(struct weir_connection *connection,
                              const struct weir_columns *keys, size_t count,
                              struct weir_buf *text, struct weir_rows *rows,
                              struct weir_error *error)
{
    enum weir_status status = weir_columns_json(keys, 2, 0, count, text, error);

    if (status == WEIR_OK)
        status =
            weir_connection_query(connection, &SQL_READ_ALL,
                                  VALUES(weir_text(weir_buf_get(text))), rows, error);
    return status;
}

const struct weir_ack_ops weir_ack_maria = {.move = move_group, .query = query};
