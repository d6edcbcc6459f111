/*
 * ack.c - see ack.h.
 *
 * I1  A position changes only while its lease row is locked, in the transaction that
 *     compares the lease and the version with what the ack was made of.
 * I2  Lease rows are locked in the order of (subscription, partition), here and in
 *     lease.c. Large groups are sorted as a whole, so that this holds across the
 *     statements of a group.
 *
 * How a group is moved is different on each engine: postgres/ack.c, mariadb/ack.c,
 * sqlite/ack.c. On SQLite the transaction is the lock.
 */
#include "outbox/delivery/ack.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/query.h"
#include "outbox/dead_letter/dead_letter.h"
#include "outbox/delivery/ack_move.h"
#include "outbox/engine.h"
#include "outbox/plain_text.h"

/* The last entry of the index. */
static const struct weir_sql SQL_READ = {
    .name = "read position",
    .text = "SELECT " WEIR_ACK_POSITION " FROM {p}_ack"
            " WHERE subscription = {1} AND pid = {2} ORDER BY version DESC LIMIT 1",
    .parameters = "ii",
};

enum { POSITION_NUMBER = 9 }; /* the column of a.n: from 1 */

/* No index keeps a second one away where positions are appended: only for a subscription
 * of the same transaction. */
static const struct weir_sql_pair SQL_BEGIN_ACK = {
    .one =
        {.name = "begin position",
         .text =
             "INSERT INTO {p}_ack (subscription, pid, version, epoch, incarnation, cut,"
             " last_id, seq) VALUES ({1}, {2}, 0, 0, '', {3}, {4}, 0)",
         .parameters = "iiii"},
    .many =
        {.name = "begin positions",
         .text =
             "INSERT INTO {p}_ack (subscription, pid, version, epoch, incarnation, cut,"
             " last_id, seq) SELECT s, p, 0, 0, '', c, i, 0"
             " FROM unnest({1}, {2}, {3}, {4}) AS a (s, p, c, i)",
         .parameters = "IIII"},
};

enum { TEXTS_SIZE_MAX = 64 * 1024 * 1024 };

/* ---- the group --------------------------------------------------------------------- */

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

static enum weir_status sort_acks(struct weir_ack_group *self, struct weir_ack *acks,
                                  struct weir_error *error)
{
    for (size_t i = 0; i < self->count; i++) {
        self->acks[i] = &acks[i];
        self->rejection_count += acks[i].rejection_count;
        self->is_mark |= acks[i].is_mark;
    }
    if (self->is_mark && self->count > 1)
        return weir_error_set(error, WEIR_INVALID, "a mark among %zu acks", self->count);
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

static enum weir_status clean(struct weir_ack_group *self, struct weir_str text,
                              struct weir_str *out, struct weir_error *error)
{
    if (weir_plain_text(&self->texts, text, out) == WEIR_OK)
        return WEIR_OK;
    return weir_no_memory_for(error, "the text of a failure");
}

static int64_t clamp_attempts(uint32_t attempts)
{
    return attempts < INT32_MAX ? attempts : INT32_MAX;
}

enum weir_status weir_ack_group_row(struct weir_ack_group *self, size_t at,
                                    struct weir_value *out, struct weir_error *error)
{
    const struct weir_ack *ack = self->acks[at];
    const struct weir_stored_position *next = &ack->next;
    struct weir_str text;
    enum weir_status status = clean(self, ack->error, &text, error);

    if (status != WEIR_OK)
        return status;
    out[WEIR_ACK_SUBSCRIPTION] = weir_integer(ack->key.subscription);
    out[WEIR_ACK_PARTITION] = weir_integer(ack->key.pid);
    out[WEIR_ACK_EPOCH] = weir_integer(ack->epoch);
    out[WEIR_ACK_VERSION] = weir_integer(next->version);
    out[WEIR_ACK_CUT] = weir_integer(next->log_position.cut);
    out[WEIR_ACK_LAST_ID] = weir_integer(next->log_position.id);
    out[WEIR_ACK_SEQ] = weir_integer(next->seq);
    out[WEIR_ACK_ATTEMPTS] = weir_integer(clamp_attempts(next->attempts));
    out[WEIR_ACK_ALONE] = weir_integer(clamp_attempts(next->alone));
    out[WEIR_ACK_RETRY_US] = weir_integer(next->retry_us);
    out[WEIR_ACK_ERROR] = weir_text(text);
    out[WEIR_ACK_FORGET] = weir_boolean(ack->clear_crashes);
    return WEIR_OK;
}

enum weir_status weir_ack_group_mark(struct weir_ack_group *self, struct weir_value *out,
                                     struct weir_error *error)
{
    struct weir_value row[WEIR_ACK_COLUMNS];
    enum weir_status status = weir_ack_group_row(self, 0, row, error);

    if (status != WEIR_OK)
        return status;
    out[0] = row[WEIR_ACK_SUBSCRIPTION];
    out[1] = row[WEIR_ACK_PARTITION];
    out[2] = row[WEIR_ACK_EPOCH];
    out[3] = row[WEIR_ACK_VERSION];
    out[4] = row[WEIR_ACK_ATTEMPTS];
    out[5] = row[WEIR_ACK_ALONE];
    out[6] = row[WEIR_ACK_ERROR];
    out[7] = weir_integer(self->acks[0]->next.trying);
    out[8] = weir_integer(self->owner);
    return WEIR_OK;
}

enum weir_status weir_ack_group_reject(struct weir_ack_group *self,
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
        return weir_no_memory_for(
            error, "%zu %s", self->rejection_count,
            WEIR_NOUN(self->rejection_count, "dead letter", "dead letters"));
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

static enum weir_status move_all(struct weir_connection *connection, int64_t owner,
                                 struct weir_ack *acks, size_t count, bool alone,
                                 struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_ack_group move = {
        .owner = owner, .count = count, .table = {.heap = heap}};
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        acks[i].accepted = false;
    if (count == 0)
        return WEIR_OK;
    weir_arena_init(&move.texts, heap, TEXTS_SIZE_MAX);
    move.acks = weir_heap_zalloc_array(heap, count, sizeof *move.acks);
    if (move.acks == NULL)
        status = weir_no_memory_for(error, "%zu acks", count);
    else
        status = sort_acks(&move, acks, error);
    if (status == WEIR_OK)
        status =
            weir_outbox_engine_of(connection)->ack->move(&move, connection, alone, error);
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
    return move_all(connection, owner, acks, count, true, error);
}

enum weir_status weir_ack_move_inside(struct weir_connection *connection, int64_t owner,
                                      struct weir_ack *acks, size_t count,
                                      struct weir_error *error)
{
    return move_all(connection, owner, acks, count, false, error);
}

/* ---- reading and beginning --------------------------------------------------------- */

static const struct weir_column STORED[] = {
    COLUMN(struct weir_stored_position, log_position.cut, INTEGER),
    COLUMN(struct weir_stored_position, log_position.id, INTEGER),
    COLUMN(struct weir_stored_position, seq, INTEGER),
    COLUMN(struct weir_stored_position, version, INTEGER),
    COLUMN(struct weir_stored_position, attempts, INTEGER),
    COLUMN(struct weir_stored_position, retry_us, INTEGER),
    COLUMN(struct weir_stored_position, alone, INTEGER),
    COLUMN(struct weir_stored_position, epoch, INTEGER),
    COLUMN(struct weir_stored_position, trying, INTEGER),
};

static enum weir_status tell_missing(struct weir_lease_key key, struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "subscription %lld has no position in partition %lld",
                          (long long)key.subscription, (long long)key.pid);
}

enum weir_status weir_ack_read(struct weir_connection *connection,
                               struct weir_lease_key key,
                               struct weir_stored_position *out, struct weir_error *error)
{
    enum weir_status status =
        weir_query_one(connection, &SQL_READ,
                       VALUES(weir_integer(key.subscription), weir_integer(key.pid)),
                       INTO(STORED, out), error);

    return status == WEIR_NO_ROW ? tell_missing(key, error) : status;
}

/* A position that is not found keeps its version of -1. */
static enum weir_status read_positions(struct weir_connection *connection,
                                       const struct weir_columns *keys, size_t count,
                                       struct weir_stored_position *positions,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    struct weir_buf text;
    enum weir_status status;

    weir_buf_init(&text, keys->heap, WEIR_VALUE_SIZE_MAX);
    status = weir_outbox_engine_of(connection)
                 ->ack->query(connection, keys, count, &text, &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        size_t at = (size_t)weir_rows_integer(&rows, POSITION_NUMBER) - 1;

        if (at < count)
            status = weir_row_read(&rows, COLUMNS(STORED), &positions[at], error);
    }
    weir_rows_close(&rows);
    weir_buf_fini(&text);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status read_together(struct weir_connection *connection,
                                      const struct weir_lease *leases, size_t count,
                                      struct weir_stored_position *positions,
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
        status = read_positions(connection, &keys, count, positions, error);
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (positions[i].version < 0)
            status = tell_missing(leases[i].key, error);
    }
    weir_columns_fini(&keys);
    return status;
}

/* In one transaction: the file is locked once. */
static enum weir_status read_one_by_one(struct weir_connection *connection,
                                        const struct weir_lease *leases, size_t count,
                                        struct weir_stored_position *positions,
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
                                   struct weir_stored_position *positions,
                                   struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    return weir_outbox_engine_of(connection)->ack->query == NULL
               ? read_one_by_one(connection, leases, count, positions, error)
               : read_together(connection, leases, count, positions, error);
}

enum weir_status weir_ack_begin(struct weir_connection *connection,
                                const struct weir_lease_key *keys, size_t count,
                                struct weir_log_position log_position,
                                struct weir_error *error)
{
    enum { TOGETHER = 64, WIDTH = 4 };
    struct weir_value values[TOGETHER * WIDTH];
    const struct weir_sql *sql = weir_connection_form(connection, &SQL_BEGIN_ACK);
    enum weir_status status = WEIR_OK;

    for (size_t done = 0; done < count && status == WEIR_OK;) {
        size_t n = 0;

        for (; n < TOGETHER && done < count; n++, done++) {
            values[WIDTH * n] = weir_integer(keys[done].subscription);
            values[WIDTH * n + 1] = weir_integer(keys[done].pid);
            values[WIDTH * n + 2] = weir_integer(log_position.cut);
            values[WIDTH * n + 3] = weir_integer(log_position.id);
        }
        status =
            weir_connection_execute_many(connection, sql, values, n, WIDTH, NULL, error);
    }
    return status;
}
