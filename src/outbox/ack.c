/*
 * ack.c - see ack.h.
 *
 * On PostgreSQL a move is
 *
 *   BEGIN; lock the lease rows     one round trip
 *   compare and append             one; its snapshot is taken once the locks are held
 *   dead letters                   if there are any
 *   COMMIT
 *
 * I1  A position's newest ack changes only while its lease row is locked. So what the second
 *     statement sees is the newest, and stays it until the commit. In one statement the snapshot
 *     would be older than the lock: two acks of the same version both find theirs to be next.
 * I2  Lease rows are locked in the order of (subscription, partition), here and in lease.c.
 *     Large groups are sorted as a whole, so that this holds across the statements of a group.
 *
 * On SQLite the transaction is the lock.
 */
#include "outbox/ack.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/point.h"
#include "outbox/columns.h"
#include "outbox/dead_letter.h"
#include "outbox/once.h"
#include "outbox/plain_text.h"

/* As weir_connection_begin(), but able to travel with the statement behind it. */
static const struct weir_sql SQL_BEGIN_PG = {
    .name = "begin",
    .text = "BEGIN ISOLATION LEVEL READ COMMITTED",
};

/* In a transaction of the application's too: what it deferred may wait for its own rows. */
static const struct weir_sql SQL_CHECK_CONSTRAINTS_PG = {
    .name = "check deferred constraints",
    .text = "SET CONSTRAINTS ALL IMMEDIATE",
};

/*
 * By the primary key. Rows of an array come in its order, and each is looked up and locked before
 * the next (I2). The planner has no other way to do it, whatever it believes of the sizes of
 * tables: a sub-select that locks stays one.
 */
static const struct weir_sql SQL_LOCK_PG = {
    .name = "lock leases",
    .text = "SELECT count(*) FROM unnest({1}, {2}) AS a (subscription, partition)"
            " CROSS JOIN LATERAL (SELECT 1 FROM {p}_lease l"
            " WHERE l.subscription = a.subscription AND l.partition = a.partition"
            " FOR NO KEY UPDATE) locked",
    .parameters = "II",
};

/*
 * The rows of the lease are locked already. The newest version is the last entry of the index
 * (subscription, partition, version) in each leaf; older ones than the one acted upon need not be
 * looked at, and a page of an index is full of them. The limits keep the planner from beginning
 * with all leases of the owner, which costs the product of both numbers. `crashes` is almost
 * always 0, and then the lease row is not written. Repeating is refused: the version has moved.
 */
static const struct weir_sql SQL_APPEND_PG = {
    .name = "append acks",
    .text =
        "WITH accepted AS MATERIALIZED (SELECT a.*, l.incarnation, l.crashes"
        " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12})"
        " WITH ORDINALITY AS a (subscription, partition, epoch, version, cut, last_id, "
        "seq,"
        " attempts, alone, retry_us, error, forget, n)"
        " CROSS JOIN LATERAL (SELECT * FROM {p}_lease k WHERE k.subscription ="
        " a.subscription AND k.partition = a.partition LIMIT 1) l"
        " CROSS JOIN LATERAL (SELECT k.version FROM {p}_ack k"
        " WHERE k.subscription = a.subscription AND k.partition = a.partition"
        " AND k.version >= a.version - 1 ORDER BY k.version DESC LIMIT 1) newest"
        " WHERE l.owner = {13} AND l.epoch = a.epoch AND l.until_us > {now}"
        " AND l.incarnation = (SELECT " WEIR_INCARNATION_PG ")"
        " AND newest.version = a.version - 1),"
        " appended AS (INSERT INTO {p}_ack (subscription, partition, version, epoch,"
        " incarnation, cut, last_id, seq, attempts, alone, retry_us, error)"
        " SELECT subscription, partition, version, epoch, incarnation, cut, last_id, seq,"
        " attempts, alone, retry_us, error FROM accepted),"
        " forgotten AS (UPDATE {p}_lease l SET crashes = 0 FROM accepted a"
        " WHERE a.forget AND a.crashes <> 0 AND l.subscription = a.subscription"
        " AND l.partition = a.partition)"
        " SELECT n FROM accepted",
    .parameters = "IIIIIIIIIITFi",
};

/* By both primary keys. Repeating is refused: the version has moved. */
static const struct weir_sql SQL_MOVE_SQLITE = {
    .name = "move position",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, cut = {5}, last_id = {6},"
            " seq = {7}, attempts = {8}, retry_us = {9}, error = {10}, alone = {12},"
            " incarnation = " WEIR_INCARNATION_SQLITE
            " WHERE subscription = {1} AND partition = {2} AND version = {4} - 1"
            " AND EXISTS (SELECT 1 FROM {p}_lease WHERE subscription = {1}"
            " AND partition = {2} AND owner = {11} AND epoch = {3} AND until_us > {now}"
            " AND incarnation = " WEIR_INCARNATION_SQLITE ")",
    .parameters = "iiiiiiiiitii",
};

/* Bugs, for tests that must find them: an ack of whoever held the lease once; one that is not
 * the next; one that moves the place and not the number. */
static const struct weir_sql SQL_MOVE_WRONGLY_SQLITE = {
    .name = "move position wrongly",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, cut = {5}, last_id = {6},"
            " seq = CASE {15} WHEN 1 THEN seq ELSE {7} END, attempts = {8},"
            " retry_us = {9}, error = {10}, alone = {12}, incarnation "
            "= " WEIR_INCARNATION_SQLITE " WHERE subscription = {1} AND partition = {2}"
            " AND ({14} = 1 OR version = {4} - 1)"
            " AND EXISTS (SELECT 1 FROM {p}_lease WHERE subscription = {1}"
            " AND partition = {2} AND ({13} = 1 OR (owner = {11} AND epoch = {3}"
            " AND until_us > {now})))",
    .parameters = "iiiiiiiiitiiiii",
};

static const struct weir_sql SQL_FORGET_SQLITE = {
    .name = "forget crashes",
    .text = "UPDATE {p}_lease SET crashes = 0"
            " WHERE subscription = {1} AND partition = {2} AND crashes <> 0",
    .parameters = "ii",
};

/* What read_position() reads. */
#define POSITION "cut, last_id, seq, version, attempts, retry_us, alone"

/* The last entry of the index. */
static const struct weir_sql SQL_READ = {
    .name = "read position",
    .text = "SELECT " POSITION " FROM {p}_ack"
            " WHERE subscription = {1} AND partition = {2} ORDER BY version DESC LIMIT 1",
    .parameters = "ii",
};

/* The same for each row of an array. */
static const struct weir_sql SQL_READ_ALL_PG = {
    .name = "read positions",
    .text = "SELECT " POSITION ", a.n FROM unnest({1}, {2}) WITH ORDINALITY"
            " AS a (subscription, partition, n)"
            " CROSS JOIN LATERAL (SELECT " POSITION " FROM {p}_ack k"
            " WHERE k.subscription = a.subscription AND k.partition = a.partition"
            " ORDER BY k.version DESC LIMIT 1) newest",
    .parameters = "II",
};
enum { POSITION_NUMBER = 7 }; /* the column of a.n: from 1 */

/* No index keeps a second one away on PostgreSQL: only for a subscription of the same
 * transaction. */
static const struct weir_sql SQL_BEGIN_ACK_PG = {
    .name = "begin positions",
    .text =
        "INSERT INTO {p}_ack (subscription, partition, version, epoch, incarnation, cut,"
        " last_id, seq) SELECT s, p, 0, 0, '', c, i, 0"
        " FROM unnest({1}, {2}, {3}, {4}) AS a (s, p, c, i)",
    .parameters = "IIII",
};
static const struct weir_sql SQL_BEGIN_ACK_SQLITE = {
    .name = "begin position",
    .text =
        "INSERT INTO {p}_ack (subscription, partition, version, epoch, incarnation, cut,"
        " last_id, seq) VALUES ({1}, {2}, 0, 0, '', {3}, {4}, 0)",
    .parameters = "iiii",
};

enum {
    CHUNK_MAX = 512, /* acks of one statement */
    MOVE_VALUES = 12,
    MOVE_BUGS = 3,
    TEXTS_SIZE_MAX = 64 * 1024 * 1024,
};

/* What one call works with. */
struct move {
    int64_t owner;
    struct weir_ack **acks; /* in the order of their keys */
    size_t count;
    size_t rejection_count; /* of all of them */
    struct weir_arena texts;
    struct weir_columns table; /* PostgreSQL */
};

static bool on_sqlite(struct weir_connection *connection)
{
    return weir_connection_link(connection)->driver->engine == WEIR_SQLITE;
}

/* ---- the group ---------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    struct weir_lease_key left = (*(struct weir_ack *const *)a)->key;
    struct weir_lease_key right = (*(struct weir_ack *const *)b)->key;

    if (left.subscription != right.subscription)
        return left.subscription < right.subscription ? -1 : 1;
    if (left.pid != right.pid)
        return left.pid < right.pid ? -1 : 1;
    return 0;
}

static enum weir_status sort_acks(struct move *self, struct weir_ack *acks,
                                  struct weir_error *error)
{
    for (size_t i = 0; i < self->count; i++) {
        self->acks[i] = &acks[i];
        self->rejection_count += acks[i].rejection_count;
    }
    qsort(self->acks, self->count, sizeof *self->acks, compare_keys);
    for (size_t i = 1; i < self->count; i++) {
        struct weir_lease_key key = self->acks[i]->key;

        if (compare_keys(&self->acks[i - 1], &self->acks[i]) == 0)
            return weir_error_set(error, WEIR_INVALID,
                                  "two acks of subscription %lld, partition %lld",
                                  (long long)key.subscription, (long long)key.pid);
    }
    return WEIR_OK;
}

static enum weir_status clean(struct move *self, struct weir_str text,
                              struct weir_str *out, struct weir_error *error)
{
    if (weir_plain_text(&self->texts, text, out) == WEIR_OK)
        return WEIR_OK;
    return weir_error_set(error, WEIR_NO_MEMORY, "no memory for the text of a failure");
}

static int64_t clamp_attempts(uint32_t attempts)
{
    return attempts < INT32_MAX ? attempts : INT32_MAX;
}

/* ---- PostgreSQL --------------------------------------------------------------------------- */

enum column {
    SUBSCRIPTION,
    PARTITION,
    EPOCH,
    VERSION,
    CUT,
    LAST_ID,
    SEQ,
    ATTEMPTS,
    ALONE,
    RETRY_US,
    ERROR,
    FORGET,
    COLUMNS
};

static enum weir_status fill_row(struct move *self, size_t row,
                                 const struct weir_ack *ack, struct weir_error *error)
{
    const struct weir_position *next = &ack->next;
    struct weir_columns *table = &self->table;
    struct weir_str text;
    enum weir_status status = clean(self, ack->error, &text, error);

    if (status != WEIR_OK)
        return status;
    weir_columns_set(table, SUBSCRIPTION, row, weir_integer(ack->key.subscription));
    weir_columns_set(table, PARTITION, row, weir_integer(ack->key.pid));
    weir_columns_set(table, EPOCH, row, weir_integer(ack->epoch));
    weir_columns_set(table, VERSION, row, weir_integer(next->version));
    weir_columns_set(table, CUT, row, weir_integer(next->place.cut));
    weir_columns_set(table, LAST_ID, row, weir_integer(next->place.id));
    weir_columns_set(table, SEQ, row, weir_integer(next->seq));
    weir_columns_set(table, ATTEMPTS, row, weir_integer(clamp_attempts(next->attempts)));
    weir_columns_set(table, ALONE, row, weir_integer(clamp_attempts(next->alone)));
    weir_columns_set(table, RETRY_US, row, weir_integer(next->retry_us));
    weir_columns_set(table, ERROR, row, weir_text(text));
    weir_columns_set(table, FORGET, row, weir_boolean(ack->clear_crashes));
    return WEIR_OK;
}

static enum weir_status fill_table(struct move *self, const struct weir_heap *heap,
                                   struct weir_error *error)
{
    enum weir_status status =
        weir_columns_init(&self->table, heap, COLUMNS, self->count, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = fill_row(self, i, self->acks[i], error);
    return status;
}

/* Rows `begin` and on of a column, at most CHUNK_MAX. */
static struct weir_value part(const struct move *self, enum column column, size_t begin)
{
    static const enum weir_type TYPES[COLUMNS] = {
        [ERROR] = WEIR_TYPE_TEXT, [FORGET] = WEIR_TYPE_BOOLEAN};
    enum weir_type type = TYPES[column] != 0 ? TYPES[column] : WEIR_TYPE_INTEGER;
    size_t left = self->count - begin;

    return weir_columns_array(&self->table, column, type, begin,
                              left < CHUNK_MAX ? left : CHUNK_MAX);
}

/* `first`, unless it is NULL, and the locks: one round trip for up to CHUNK_MAX of them. */
static enum weir_status lock_leases(struct move *self, struct weir_connection *connection,
                                    const struct weir_sql *first,
                                    struct weir_error *error)
{
    const struct weir_value chunk[] = {part(self, SUBSCRIPTION, 0),
                                       part(self, PARTITION, 0)};
    struct weir_step steps[] = {
        {.sql = first},
        {.sql = &SQL_LOCK_PG, .values = chunk, .value_count = 2},
    };
    size_t skipped = first == NULL;
    bool unlocked = WEIR_POINT(weir_connection_config(connection)->points,
                               "ack.one_statement"); /* a bug: against I1 */
    enum weir_status status = weir_connection_execute_steps(
        connection, steps + skipped, 2U - skipped - unlocked, error);

    for (size_t i = CHUNK_MAX; i < self->count && status == WEIR_OK; i += CHUNK_MAX)
        status = weir_connection_execute(
            connection, &SQL_LOCK_PG,
            VALUES(part(self, SUBSCRIPTION, i), part(self, PARTITION, i)), NULL, error);
    return status;
}

/*
 * The settings of a transaction behind a pooler go with weir_connection_begin(), so there it is
 * a round trip of its own.
 */
static enum weir_status begin_and_lock(struct move *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    bool alone = weir_connection_config(connection)->url.transaction_pooler;
    enum weir_status status = WEIR_OK;

    if (alone)
        status = weir_connection_begin(connection, error);
    if (status == WEIR_OK)
        status = lock_leases(self, connection, alone ? NULL : &SQL_BEGIN_PG, error);
    return status;
}

static enum weir_status append_part(struct move *self, struct weir_connection *connection,
                                    size_t begin, struct weir_error *error)
{
    struct weir_value values[COLUMNS + 1];
    struct weir_rows rows;
    enum weir_status status;

    for (size_t i = 0; i < COLUMNS; i++)
        values[i] = part(self, (enum column)i, begin);
    values[COLUMNS] = weir_integer(self->owner);
    status = weir_connection_query(connection, &SQL_APPEND_PG, values, COLUMNS + 1, &rows,
                                   error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        size_t at = begin + (size_t)weir_rows_integer(&rows, 0) - 1; /* from 1 */

        if (at < self->count)
            self->acks[at]->accepted = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- SQLite ------------------------------------------------------------------------------- */

/* The statement that moves a position, or the wrong one that a test has ordered: then with the
 * three values behind those of the right one. */
static const struct weir_sql *choose_move(struct weir_connection *connection,
                                          struct weir_value *bugs, size_t *bug_count)
{
    struct weir_points *points = weir_connection_config(connection)->points;
    bool no_epoch = WEIR_POINT(points, "ack.no_epoch");
    bool no_version = WEIR_POINT(points, "ack.no_version");
    bool no_seq = WEIR_POINT(points, "ack.no_seq");

    *bug_count = 0;
    if (!no_epoch && !no_version && !no_seq)
        return &SQL_MOVE_SQLITE;
    bugs[0] = weir_integer(no_epoch);
    bugs[1] = weir_integer(no_version);
    bugs[2] = weir_integer(no_seq);
    *bug_count = MOVE_BUGS;
    return &SQL_MOVE_WRONGLY_SQLITE;
}

static enum weir_status move_one(struct move *self, struct weir_connection *connection,
                                 struct weir_ack *ack, struct weir_error *error)
{
    const struct weir_position *next = &ack->next;
    struct weir_str text;
    int64_t changed = 0;
    enum weir_status status = clean(self, ack->error, &text, error);

    if (status == WEIR_OK) {
        struct weir_value values[MOVE_VALUES + MOVE_BUGS] = {
            weir_integer(ack->key.subscription),
            weir_integer(ack->key.pid),
            weir_integer(ack->epoch),
            weir_integer(next->version),
            weir_integer(next->place.cut),
            weir_integer(next->place.id),
            weir_integer(next->seq),
            weir_integer(clamp_attempts(next->attempts)),
            weir_integer(next->retry_us),
            weir_text(text),
            weir_integer(self->owner),
            weir_integer(clamp_attempts(next->alone)),
        };
        size_t bug_count;
        const struct weir_sql *sql =
            choose_move(connection, &values[MOVE_VALUES], &bug_count);

        status = weir_connection_execute(connection, sql, values, MOVE_VALUES + bug_count,
                                         &changed, error);
    }
    if (status == WEIR_OK && changed == 1 && ack->clear_crashes)
        status = weir_connection_execute(
            connection, &SQL_FORGET_SQLITE,
            VALUES(weir_integer(ack->key.subscription), weir_integer(ack->key.pid)), NULL,
            error);
    ack->accepted = changed == 1;
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static enum weir_status store_rejections(struct move *self,
                                         struct weir_connection *connection,
                                         struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_dead_letter_entry *entries;
    size_t count = 0;
    enum weir_status status = WEIR_OK;

    if (self->rejection_count == 0)
        return WEIR_OK;
    entries = weir_heap_zalloc_array(heap, self->rejection_count, sizeof *entries);
    if (entries == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "no memory for %zu dead letters",
                              self->rejection_count);
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_ack *ack = self->acks[i];

        for (size_t j = 0; ack->accepted && j < ack->rejection_count; j++) {
            entries[count] = (struct weir_dead_letter_entry){
                .key = ack->key, .rejection = &ack->rejections[j]};
            status = status != WEIR_OK ? status
                                       : clean(self, ack->rejections[j].reason,
                                               &entries[count].reason, error);
            count++;
        }
    }
    if (status == WEIR_OK)
        status = weir_dead_letter_store(connection, entries, count, error);
    weir_heap_free(heap, entries);
    return status;
}

static enum weir_status work_sqlite(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct move *self = argument;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = move_one(self, connection, self->acks[i], error);
    return status == WEIR_OK ? store_rejections(self, connection, error) : status;
}

/* Behind the locks. */
static enum weir_status append_pg(struct move *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i += CHUNK_MAX)
        status = append_part(self, connection, i, error);
    return status == WEIR_OK ? store_rejections(self, connection, error) : status;
}

static enum weir_status work_alone_pg(struct move *self,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    enum weir_status status = begin_and_lock(self, connection, error);

    if (status == WEIR_OK)
        status = append_pg(self, connection, error);
    if (status == WEIR_OK)
        return weir_connection_commit(connection, error);
    weir_connection_rollback(connection);
    return status;
}

static enum weir_status work_alone(struct move *self, struct weir_connection *connection,
                                   struct weir_error *error)
{
    enum weir_status status;

    if (on_sqlite(connection))
        return weir_once(connection, work_sqlite, self, error);
    status = fill_table(self, weir_connection_config(connection)->heap, error);
    return status == WEIR_OK ? work_alone_pg(self, connection, error) : status;
}

static enum weir_status work_inside(struct move *self, struct weir_connection *connection,
                                    struct weir_error *error)
{
    enum weir_status status;

    if (on_sqlite(connection))
        return work_sqlite(connection, self, error);
    status = fill_table(self, weir_connection_config(connection)->heap, error);
    if (status == WEIR_OK)
        status = lock_leases(self, connection, &SQL_CHECK_CONSTRAINTS_PG, error);
    return status == WEIR_OK ? append_pg(self, connection, error) : status;
}

typedef enum weir_status (*work_fn)(struct move *self, struct weir_connection *connection,
                                    struct weir_error *error);

static enum weir_status move_all(struct weir_connection *connection, int64_t owner,
                                 struct weir_ack *acks, size_t count, work_fn work,
                                 struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct move move = {.owner = owner, .count = count, .table = {.heap = heap}};
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        acks[i].accepted = false;
    if (count == 0)
        return WEIR_OK;
    weir_arena_init(&move.texts, heap, TEXTS_SIZE_MAX);
    move.acks = weir_heap_zalloc_array(heap, count, sizeof *move.acks);
    if (move.acks == NULL)
        status = weir_error_set(error, WEIR_NO_MEMORY, "no memory for %zu acks", count);
    else
        status = sort_acks(&move, acks, error);
    if (status == WEIR_OK)
        status = work(&move, connection, error);
    for (size_t i = 0; i < count && status != WEIR_OK; i++)
        acks[i].accepted = false;

    weir_columns_fini(&move.table);
    weir_heap_free(heap, move.acks);
    weir_arena_fini(&move.texts);
    return status;
}

enum weir_status weir_ack_move(struct weir_connection *connection, int64_t owner,
                               struct weir_ack *acks, size_t count,
                               struct weir_error *error)
{
    return move_all(connection, owner, acks, count, work_alone, error);
}

enum weir_status weir_ack_move_inside(struct weir_connection *connection, int64_t owner,
                                      struct weir_ack *acks, size_t count,
                                      struct weir_error *error)
{
    return move_all(connection, owner, acks, count, work_inside, error);
}

/* ---- reading and beginning ---------------------------------------------------------------- */

static struct weir_position read_position(struct weir_rows *rows)
{
    return (struct weir_position){
        .place = {weir_rows_integer(rows, 0), weir_rows_integer(rows, 1)},
        .seq = weir_rows_integer(rows, 2),
        .version = weir_rows_integer(rows, 3),
        .attempts = (uint32_t)weir_rows_integer(rows, 4),
        .retry_us = weir_rows_integer(rows, 5),
        .alone = (uint32_t)weir_rows_integer(rows, 6),
    };
}

static enum weir_status tell_missing(struct weir_lease_key key, struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "subscription %lld has no position in partition %lld",
                          (long long)key.subscription, (long long)key.pid);
}

enum weir_status weir_ack_read(struct weir_connection *connection,
                               struct weir_lease_key key, struct weir_position *out,
                               struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_READ,
        VALUES(weir_integer(key.subscription), weir_integer(key.pid)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        *out = read_position(&rows);
        status = weir_rows_next(&rows, error); /* tells a column that was misread */
        status = status == WEIR_NO_ROW ? WEIR_OK : status;
    } else if (status == WEIR_NO_ROW) {
        status = tell_missing(key, error);
    }
    weir_rows_close(&rows);
    return status;
}

/* A position that is not found keeps its version of -1. */
static enum weir_status query_positions(struct weir_connection *connection,
                                        const struct weir_columns *keys, size_t count,
                                        struct weir_position *positions,
                                        struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_READ_ALL_PG,
        VALUES(weir_columns_array(keys, 0, WEIR_TYPE_INTEGER, 0, count),
               weir_columns_array(keys, 1, WEIR_TYPE_INTEGER, 0, count)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        size_t at = (size_t)weir_rows_integer(&rows, POSITION_NUMBER) - 1;

        if (at < count)
            positions[at] = read_position(&rows);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status read_all_pg(struct weir_connection *connection,
                                    const struct weir_lease *leases, size_t count,
                                    struct weir_position *positions,
                                    struct weir_error *error)
{
    struct weir_columns keys;
    enum weir_status status = weir_columns_init(
        &keys, weir_connection_config(connection)->heap, 2, count, error);

    if (status == WEIR_OK) {
        for (size_t i = 0; i < count; i++) {
            weir_columns_set(&keys, 0, i, weir_integer(leases[i].key.subscription));
            weir_columns_set(&keys, 1, i, weir_integer(leases[i].key.pid));
            positions[i].version = -1;
        }
        status = query_positions(connection, &keys, count, positions, error);
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (positions[i].version < 0)
            status = tell_missing(leases[i].key, error);
    }
    weir_columns_fini(&keys);
    return status;
}

/* In one transaction: the file is locked once. */
static enum weir_status read_all_sqlite(struct weir_connection *connection,
                                        const struct weir_lease *leases, size_t count,
                                        struct weir_position *positions,
                                        struct weir_error *error)
{
    enum weir_status status = weir_connection_begin_read(connection, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = weir_ack_read(connection, leases[i].key, &positions[i], error);
    weir_connection_rollback(connection);
    return status;
}

enum weir_status weir_ack_read_all(struct weir_connection *connection,
                                   const struct weir_lease *leases, size_t count,
                                   struct weir_position *positions,
                                   struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    return on_sqlite(connection)
               ? read_all_sqlite(connection, leases, count, positions, error)
               : read_all_pg(connection, leases, count, positions, error);
}

enum weir_status weir_ack_begin(struct weir_connection *connection,
                                const struct weir_lease_key *keys, size_t count,
                                struct weir_place place, struct weir_error *error)
{
    enum { TOGETHER = 64, WIDTH = 4 };
    struct weir_value values[TOGETHER * WIDTH];
    enum weir_status status = WEIR_OK;

    for (size_t done = 0; done < count && status == WEIR_OK;) {
        size_t n = 0;

        for (; n < TOGETHER && done < count; n++, done++) {
            values[WIDTH * n] = weir_integer(keys[done].subscription);
            values[WIDTH * n + 1] = weir_integer(keys[done].pid);
            values[WIDTH * n + 2] = weir_integer(place.cut);
            values[WIDTH * n + 3] = weir_integer(place.id);
        }
        status = weir_connection_execute_many(
            connection, on_sqlite(connection) ? &SQL_BEGIN_ACK_SQLITE : &SQL_BEGIN_ACK_PG,
            values, n, WIDTH, NULL, error);
    }
    return status;
}
