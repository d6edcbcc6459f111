/*
 * ack.c - moving positions on PostgreSQL.
 *
 *   BEGIN; lock the lease rows     one round trip
 *   compare and append             one; its snapshot is taken once the locks are held
 *   dead letters                   if there are any
 *   COMMIT
 *
 * A position's newest ack changes only while its lease row is locked (ack.c, I1). So
 * what the second statement sees is the newest, and stays it until the commit. In one
 * statement the snapshot would be older than the lock: two acks of the same version
 * both find theirs to be next.
 */
#include "outbox/delivery/ack_move.h"
#include "outbox/postgres/engine.h"

/* As weir_connection_begin_own(), but able to travel with the statement behind it. */
static const struct weir_sql SQL_BEGIN = {
    .name = "begin",
    .text = "BEGIN ISOLATION LEVEL READ COMMITTED",
};

/* In a transaction of the application's too: what it deferred may wait for its own
 * rows. */
static const struct weir_sql SQL_CHECK_CONSTRAINTS = {
    .name = "check deferred constraints",
    .text = "SET CONSTRAINTS ALL IMMEDIATE",
};

/*
 * By the primary key. Rows of an array come in its order, and each is looked up and
 * locked before the next (I2). The planner has no other way to do it, whatever it
 * believes of the sizes of tables: a sub-select that locks stays one. What another
 * process has by now is not locked: a process that has been stopped, and goes on for a
 * moment, does not block a new owner.
 *
 * A process that is stopped between this and the commit keeps the rows locked, and
 * no other process gets its partitions, whatever became of its leases. Nothing is done in
 * between that takes time, so the server ends it soon: in a transaction that was lent,
 * too, once it is ours again.
 */
#define LOCK_LEASES(more)                                                                \
    "SELECT count(*)" more " FROM unnest({1}, {2}, {3}) AS a (subscription, pid, epoch)" \
    " CROSS JOIN LATERAL (SELECT 1 FROM {p}_lease l"                                     \
    " WHERE l.subscription = a.subscription AND l.pid = a.pid AND l.epoch = a.epoch"     \
    " AND l.owner = {4} FOR NO KEY UPDATE) locked"
static const struct weir_sql SQL_LOCK = {
    .name = "lock leases",
    .text = LOCK_LEASES(""),
    .parameters = "IIIi",
};
static const struct weir_sql SQL_LOCK_INSIDE = {
    .name = "lock leases",
    .text =
        LOCK_LEASES(", set_config('idle_in_transaction_session_timeout', '2s', true)"),
    .parameters = "IIIi",
};

/*
 * The rows of the lease are locked already. The newest version is the last entry of the
 * index (subscription, partition, version) in each leaf; older ones than the one acted
 * upon need not be looked at, and a page of an index is full of them. The limits keep
 * the planner from beginning with all leases of the owner, which costs the product of
 * both numbers. `crashes` is almost always 0, and then the lease row is not written.
 * Repeating is refused: the version has moved.
 */
static const struct weir_sql SQL_APPEND = {
    .name = "append acks",
    .text = "WITH accepted AS MATERIALIZED (SELECT a.*, l.incarnation, l.crashes"
            " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12})"
            " WITH ORDINALITY AS a (subscription, pid, epoch, version, cut, last_id, "
            "seq,"
            " attempts, alone, retry_us, error, forget, n)"
            " CROSS JOIN LATERAL (SELECT * FROM {p}_lease k WHERE k.subscription ="
            " a.subscription AND k.pid = a.pid LIMIT 1) l"
            " CROSS JOIN LATERAL (SELECT k.version FROM {p}_ack k"
            " WHERE k.subscription = a.subscription AND k.pid = a.pid"
            " AND k.version >= a.version - 1 ORDER BY k.version DESC LIMIT 1) newest"
            " WHERE l.owner = {13} AND l.epoch = a.epoch AND l.until_us > {now}"
            " AND l.incarnation = (SELECT " WEIR_INCARNATION_PG ")"
            " AND newest.version = a.version - 1),"
            " appended AS (INSERT INTO {p}_ack (subscription, pid, version, epoch,"
            " incarnation, cut, last_id, seq, attempts, alone, retry_us, error)"
            " SELECT subscription, pid, version, epoch, incarnation, cut, last_id, seq,"
            " attempts, alone, retry_us, error FROM accepted),"
            " forgotten AS (UPDATE {p}_lease l SET crashes = 0 FROM accepted a"
            " WHERE a.forget AND a.crashes <> 0 AND l.subscription = a.subscription"
            " AND l.pid = a.pid)"
            " SELECT n FROM accepted",
    .parameters = "IIIIIIIIIITFi",
};

/* The same for a mark: what it does not change is of the newest version. */
static const struct weir_sql SQL_MARK = {
    .name = "append mark",
    .text = "INSERT INTO {p}_ack (subscription, pid, epoch, version, attempts, alone,"
            " error, trying, incarnation, cut, last_id, seq, retry_us)"
            " SELECT {1}, {2}, {3}, {4}, {5}, {6},"
            " CASE WHEN {7} = '' THEN n.error ELSE {7} END, {8},"
            " l.incarnation, n.cut, n.last_id, n.seq, n.retry_us"
            " FROM {p}_lease l CROSS JOIN LATERAL (SELECT * FROM {p}_ack k"
            " WHERE k.subscription = l.subscription AND k.pid = l.pid"
            " AND k.version >= {4} - 1 ORDER BY k.version DESC LIMIT 1) n"
            " WHERE l.subscription = {1} AND l.pid = {2} AND l.epoch = {3}"
            " AND l.owner = {9} AND l.until_us > {now}"
            " AND l.incarnation = (SELECT " WEIR_INCARNATION_PG ")"
            " AND n.version = {4} - 1",
    .parameters = "iiiiiitii",
};

static enum weir_status fill_table(struct weir_ack_group *self,
                                   const struct weir_heap *heap, struct weir_error *error)
{
    struct weir_value row[WEIR_ACK_COLUMNS];
    enum weir_status status =
        weir_columns_init(&self->table, heap, WEIR_ACK_COLUMNS, self->count, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        status = weir_ack_group_row(self, i, row, error);
        for (size_t column = 0; column < WEIR_ACK_COLUMNS && status == WEIR_OK; column++)
            weir_columns_set(&self->table, column, i, row[column]);
    }
    return status;
}

/* Rows `begin` and on of a column, at most WEIR_ACK_CHUNK_MAX. */
static struct weir_value part(const struct weir_ack_group *self,
                              enum weir_ack_column column, size_t begin)
{
    static const enum weir_type TYPES[WEIR_ACK_COLUMNS] = {
        [WEIR_ACK_ERROR] = WEIR_TYPE_TEXT, [WEIR_ACK_FORGET] = WEIR_TYPE_BOOLEAN};
    enum weir_type type = TYPES[column] != 0 ? TYPES[column] : WEIR_TYPE_INTEGER;
    size_t left = self->count - begin;

    return weir_columns_array(&self->table, column, type, begin,
                              left < WEIR_ACK_CHUNK_MAX ? left : WEIR_ACK_CHUNK_MAX);
}

enum { LOCK_VALUES = 4 };

static void fill_lock(const struct weir_ack_group *self, size_t begin,
                      struct weir_value out[LOCK_VALUES])
{
    out[0] = part(self, WEIR_ACK_SUBSCRIPTION, begin);
    out[1] = part(self, WEIR_ACK_PARTITION, begin);
    out[2] = part(self, WEIR_ACK_EPOCH, begin);
    out[3] = weir_integer(self->owner);
}

/* `first`, unless it is NULL, and the locks: one round trip for up to
 * WEIR_ACK_CHUNK_MAX of them. */
static enum weir_status lock_leases(struct weir_ack_group *self,
                                    struct weir_connection *connection,
                                    const struct weir_sql *first,
                                    const struct weir_sql *lock, struct weir_error *error)
{
    struct weir_value chunk[LOCK_VALUES];
    struct weir_step steps[] = {
        {.sql = first},
        {.sql = lock, .values = chunk, .value_count = LOCK_VALUES},
    };
    size_t skipped = first == NULL;
    enum weir_status status;

    fill_lock(self, 0, chunk);
    status =
        weir_connection_execute_steps(connection, steps + skipped, 2U - skipped, error);
    for (size_t i = WEIR_ACK_CHUNK_MAX; i < self->count && status == WEIR_OK;
         i += WEIR_ACK_CHUNK_MAX) {
        fill_lock(self, i, chunk);
        status =
            weir_connection_execute(connection, lock, chunk, LOCK_VALUES, NULL, error);
    }
    return status;
}

/*
 * The settings of a transaction behind a pooler go with weir_connection_begin_own(), so
 * there it is a round trip of its own.
 */
static enum weir_status begin_and_lock(struct weir_ack_group *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    bool alone = weir_connection_config(connection)->url.transaction_pooler;
    enum weir_status status = WEIR_OK;

    if (alone)
        status = weir_connection_begin_own(connection, error);
    if (status == WEIR_OK)
        status =
            lock_leases(self, connection, alone ? NULL : &SQL_BEGIN, &SQL_LOCK, error);
    return status;
}

static enum weir_status append_part(struct weir_ack_group *self,
                                    struct weir_connection *connection, size_t begin,
                                    struct weir_error *error)
{
    struct weir_value values[WEIR_ACK_COLUMNS + 1];
    struct weir_rows rows;
    enum weir_status status;

    for (size_t i = 0; i < WEIR_ACK_COLUMNS; i++)
        values[i] = part(self, (enum weir_ack_column)i, begin);
    values[WEIR_ACK_COLUMNS] = weir_integer(self->owner);
    status = weir_connection_query(connection, &SQL_APPEND, values, WEIR_ACK_COLUMNS + 1,
                                   &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        size_t at = begin + (size_t)weir_rows_integer(&rows, 0) - 1; /* from 1 */

        if (at < self->count)
            self->acks[at]->accepted = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status append_mark(struct weir_ack_group *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    struct weir_value values[WEIR_ACK_MARK_VALUES];
    int64_t appended = 0;
    enum weir_status status = weir_ack_group_mark(self, values, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_MARK, values,
                                         WEIR_ACK_MARK_VALUES, &appended, error);
    self->acks[0]->accepted = appended == 1;
    return status;
}

/* Behind the locks. */
static enum weir_status append(struct weir_ack_group *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->is_mark)
        return append_mark(self, connection, error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i += WEIR_ACK_CHUNK_MAX)
        status = append_part(self, connection, i, error);
    return status == WEIR_OK ? weir_ack_group_reject(self, connection, error) : status;
}

static enum weir_status append_alone(struct weir_ack_group *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    enum weir_status status = begin_and_lock(self, connection, error);

    if (status == WEIR_OK)
        status = append(self, connection, error);
    if (status == WEIR_OK)
        return weir_connection_commit(connection, error);
    weir_connection_rollback(connection);
    return status;
}

static enum weir_status move_group(struct weir_ack_group *self,
                                   struct weir_connection *connection, bool alone,
                                   struct weir_error *error)
{
    enum weir_status status =
        fill_table(self, weir_connection_config(connection)->heap, error);

    if (status == WEIR_OK && alone)
        return append_alone(self, connection, error);
    if (status == WEIR_OK)
        status = lock_leases(self, connection, &SQL_CHECK_CONSTRAINTS, &SQL_LOCK_INSIDE,
                             error);
    return status == WEIR_OK ? append(self, connection, error) : status;
}

/* The last entry of the index, for each row of an array. */
static const struct weir_sql SQL_READ_ALL = {
    .name = "read positions",
    .text = "SELECT " WEIR_ACK_POSITION ", a.n FROM unnest({1}, {2}) WITH ORDINALITY"
            " AS a (subscription, pid, n)"
            " CROSS JOIN LATERAL (SELECT " WEIR_ACK_POSITION " FROM {p}_ack k"
            " WHERE k.subscription = a.subscription AND k.pid = a.pid"
            " ORDER BY k.version DESC LIMIT 1) newest",
    .parameters = "II",
};

static enum weir_status query(struct weir_connection *connection,
                              const struct weir_columns *keys, size_t count,
                              struct weir_buf *text, struct weir_rows *rows,
                              struct weir_error *error)
{
    (void)text;
    return weir_connection_query(
        connection, &SQL_READ_ALL,
        VALUES(weir_columns_array(keys, 0, WEIR_TYPE_INTEGER, 0, count),
               weir_columns_array(keys, 1, WEIR_TYPE_INTEGER, 0, count)),
        rows, error);
}

const struct weir_ack_ops weir_ack_pg = {.move = move_group, .query = query};
