/*
 * log.c - the log on SQLite: appending and reading.
 *
 * One writer at a time: ids are given and committed in the same order, so a place is an
 * id and every committed row is readable. AUTOINCREMENT keeps the highest id ever given
 * in sqlite_sequence, which is part of the transaction like any table: it is the head,
 * also when the sweep has emptied the log.
 */
#include "outbox/sqlite/log.h"

#include <sqlite3.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/query.h"
#include "outbox/log/page.h"
#include "outbox/sqlite/engine.h"

enum {
    FEW_ROWS = 64,        /* whose parameters fit on the stack: 11 KB */
    LOOKED_AT_MAX = 20000 /* rows of one page, wanted or not: some tens of milliseconds */
};

/* One row at the end of the one b-tree that the log has. */
static const struct weir_sql SQL_APPEND = {
    .name = "append",
    .text = "INSERT INTO {p}_log"
            " (pid, created_us, uid, message_key, type, headers, payload)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "iibtttb",
};
enum { APPEND_COLUMNS = 7 };

/* No index: the table has a row per table with AUTOINCREMENT. No row: nothing was ever
 * appended. */
static const struct weir_sql SQL_HEAD = {
    .name = "head",
    .text = "SELECT max(seq) FROM sqlite_sequence WHERE name = '{n}_log' COLLATE NOCASE",
};

/* By primary key. */
static const struct weir_sql SQL_REMOVED = {
    .name = "start",
    .text = "SELECT removed_cut, removed_id FROM {p}_queue WHERE id = {1}",
    .parameters = "i",
};

/*
 * Both tables by primary key, merged as they come: nothing is sorted, and what is not
 * stepped to is not read. One statement is one snapshot, so a row that the sweep moves
 * from one table to the other is seen once. The log comes last: SQLite merges from the
 * left, so every row of the first tables passes through one merge more (a fifth of the
 * throughput when it was the log).
 */
#define MERGED(headers, payload)                                                         \
    "SELECT id, pid, created_us, uid, message_key, type, " headers ", " payload          \
    " FROM {p}_aside WHERE id > {1} "                                                    \
    "UNION ALL "                                                                         \
    "SELECT id, pid, created_us, uid, message_key, type, " headers ", " payload          \
    " FROM {p}_log WHERE id > {1} "                                                      \
    "ORDER BY id"

static const struct weir_sql SQL_READ = {
    .name = "read",
    .text = MERGED("headers", "payload"),
    .parameters = "i",
};

/*
 * The same for some partitions. What is large is left in the file for rows that are
 * surely not wanted, by a table with a byte for each remainder; the rest is decided in
 * C. Every row is stepped to in any case, so that the end of the page is known exactly.
 */
#define IF_MAYBE_WANTED(column)                                                          \
    "CASE WHEN substr({2}, pid % 1024 + 1, 1) = x'01' THEN " column " END"

/* What was removed of the queues comes first, under ids below 0. */
#define REMOVALS                                                                         \
    "SELECT -id AS id, removals, removed_id, NULL, NULL, NULL, NULL, NULL"               \
    " FROM {p}_queue WHERE id BETWEEN {3} AND {4} UNION ALL "

static const struct weir_sql SQL_READ_SOME = {
    .name = "read some",
    .text = REMOVALS MERGED(IF_MAYBE_WANTED("headers"), IF_MAYBE_WANTED("payload")),
    .parameters = "ibii",
};

/* ---- appending --------------------------------------------------------------------- */

static void fill_in(const struct weir_log_entry *entry, struct weir_value *values)
{
    values[0] = weir_integer(entry->pid);
    values[1] = weir_integer(entry->created_us);
    values[2] = weir_bytes(entry->uid, sizeof entry->uid);
    values[3] = weir_text_or_null(entry->key);
    values[4] = weir_text(entry->type);
    values[5] = weir_text_or_null(entry->headers);
    values[6] = weir_bytes(entry->payload.data, entry->payload.size);
}

/*
 * No other transaction can have taken an id in between, so the last one gives all of
 * them; asking for it cannot fail, so there is no row that is there although its append
 * failed.
 */
static void learn_ids(sqlite3 *handle, struct weir_log_entry *entries, size_t count)
{
    int64_t last = sqlite3_last_insert_rowid(handle);

    for (size_t i = 0; i < count; i++)
        entries[i].id = last - (int64_t)(count - 1 - i);
}

/* All rows or none, in whatever transaction it is: execute_many() sees to that. */
static enum weir_status append_with(struct weir_connection *connection,
                                    struct weir_value *values,
                                    struct weir_log_entry *entries, size_t count,
                                    struct weir_error *error)
{
    sqlite3 *handle = weir_connection_native(connection);
    int64_t before = sqlite3_last_insert_rowid(handle);
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        fill_in(&entries[i], &values[i * APPEND_COLUMNS]);
    status = weir_connection_execute_many(connection, &SQL_APPEND, values, count,
                                          APPEND_COLUMNS, NULL, error);
    if (status == WEIR_OK)
        learn_ids(handle, entries, count);
    if (weir_connection_link(connection)->adopted)
        sqlite3_set_last_insert_rowid(handle, before); /* it may ask for its own row */
    return status;
}

static enum weir_status sqlite_append(const struct weir_outbox_log *self,
                                      struct weir_connection *connection,
                                      struct weir_log_entry *entries, size_t count,
                                      const char *channel, struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_value few[FEW_ROWS * APPEND_COLUMNS];
    struct weir_value *many;
    enum weir_status status;

    (void)self;
    (void)channel;
    WEIR_ASSERT(count >= 1);
    if (count <= FEW_ROWS)
        return append_with(connection, few, entries, count, error);
    many = weir_heap_zalloc_array(heap, count, APPEND_COLUMNS * sizeof many[0]);
    if (many == NULL)
        return weir_no_memory(error, "append");
    status = append_with(connection, many, entries, count, error);
    weir_heap_free(heap, many);
    return status;
}

/* ---- the head ---------------------------------------------------------------------- */

static enum weir_status read_head(struct weir_connection *connection,
                                  struct weir_log_position *out, struct weir_error *error)
{
    *out = (struct weir_log_position){0, 0};
    return weir_connection_query_integer(connection, &SQL_HEAD, NO_VALUES, &out->id,
                                         error);
}

static enum weir_status
sqlite_advance(const struct weir_outbox_log *self, struct weir_connection *connection,
               struct weir_log_position known, bool may_cut, const char *channel,
               struct weir_log_position *head, bool *moved, struct weir_error *error)
{
    enum weir_status status = read_head(connection, head, error);

    (void)self;
    (void)may_cut;
    (void)channel;
    *moved = status == WEIR_OK && weir_log_position_before(known, *head);
    return status;
}

static enum weir_status sqlite_start(const struct weir_outbox_log *self,
                                     struct weir_connection *connection, int64_t queue_id,
                                     bool now, struct weir_log_position *out,
                                     struct weir_error *error)
{
    static const struct weir_column POSITION[] = {
        COLUMN(struct weir_log_position, cut, INTEGER),
        COLUMN(struct weir_log_position, id, INTEGER),
    };
    enum weir_status status;

    (void)self;
    if (now)
        return read_head(connection, out, error);
    status = weir_query_one(connection, &SQL_REMOVED, VALUES(weir_integer(queue_id)),
                            INTO(POSITION, out), error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "start: there is no queue %lld",
                                (long long)queue_id);
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

/* The first columns of a row: its id and partition, or what was removed. */
enum { ID, PID };

/* Behind id and partition. */
static const struct weir_column ROW[] = {
    COLUMN(struct weir_log_row, created_us, INTEGER),
    COLUMN(struct weir_log_row, uid, BYTES),
    COLUMN(struct weir_log_row, key, TEXT_OR_NONE),
    COLUMN(struct weir_log_row, type, TEXT),
    COLUMN(struct weir_log_row, headers, TEXT_OR_NONE),
    COLUMN(struct weir_log_row, payload, BYTES),
};

/* Give the row, unless the page is full with what it has; *full says so. */
static enum weir_status give(struct weir_page *page, const struct weir_log_row *row,
                             int64_t *payload_size, bool *full, struct weir_error *error)
{
    int64_t size = (int64_t)row->payload.size;
    enum weir_status status;

    *full = page->rows > 0 && size > page->payload_max - *payload_size;
    if (*full)
        return WEIR_OK;
    status = page->visit(page->state, row, error);
    if (status == WEIR_OK) {
        page->rows++;
        *payload_size += size;
    }
    return status;
}

/*
 * The page ends before the first row that does not belong to it any more, so that row
 * has always been seen, and its absence too: that is how the head is known.
 */
static enum weir_status read_rows(struct weir_page *page, struct weir_rows *rows,
                                  struct weir_error *error)
{
    int64_t payload_size = 0;

    for (uint32_t looked_at = 0;; looked_at++) {
        enum weir_status status = looked_at == 0
                                      ? weir_page_read_removals(page, rows, error)
                                      : weir_rows_next(rows, error);
        bool full = false;
        int64_t id, pid;

        page->at_head = status == WEIR_NO_ROW;
        if (page->at_head)
            return WEIR_OK;
        if (status != WEIR_OK)
            return status;
        if (looked_at == LOOKED_AT_MAX || page->rows == page->row_max)
            return WEIR_OK;
        id = weir_rows_integer(rows, ID);
        pid = weir_rows_integer(rows, PID);
        if (weir_page_wants(page, pid)) {
            struct weir_log_row row = {.log_position = {0, id}, .id = id, .pid = pid};

            status = weir_row_read_from(rows, PID + 1, COLUMNS(ROW), &row, error);
            if (status == WEIR_OK)
                status = give(page, &row, &payload_size, &full, error);
        }
        if (status != WEIR_OK || full)
            return status;
        page->end = (struct weir_log_position){0, id};
    }
}

static enum weir_status query_page(struct weir_connection *connection,
                                   const struct weir_page *page, struct weir_rows *rows,
                                   struct weir_error *error)
{
    struct weir_value after = weir_integer(page->after.id);
    unsigned char table[WEIR_PAGE_REMAINDERS];

    if (page->pids == NULL)
        return weir_connection_query(connection, &SQL_READ, VALUES(after), rows, error);
    weir_page_mark(page, table);
    return weir_connection_query(connection, &SQL_READ_SOME,
                                 VALUES(after, weir_bytes(table, sizeof table),
                                        weir_integer(weir_page_first_queue(page)),
                                        weir_integer(weir_page_last_queue(page))),
                                 rows, error);
}

static enum weir_status read_page(struct weir_connection *connection,
                                  struct weir_page *page, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status;

    page->end = page->after;
    page->at_head = false;
    page->rows = 0;
    status = query_page(connection, page, &rows, error);
    if (status == WEIR_OK)
        status = read_rows(page, &rows, error);
    weir_rows_close(&rows);
    return status;
}

/* Nothing is there. If all up to the head was swept, the page ends at the head: a reader
 * in front of it would look again at once, and for ever. What was not there after
 * the head was read is not in front of it. */
static enum weir_status pass_what_was_swept(struct weir_connection *connection,
                                            struct weir_page *page,
                                            struct weir_error *error)
{
    struct weir_log_position head;
    enum weir_status status = read_head(connection, &head, error);

    if (status != WEIR_OK || !weir_log_position_before(page->after, head))
        return status;
    status = read_page(connection, page, error);
    if (status == WEIR_OK && page->at_head)
        page->end = weir_log_position_later(page->end, head);
    return status;
}

static enum weir_status sqlite_read(const struct weir_outbox_log *self,
                                    struct weir_connection *connection,
                                    struct weir_page *page, struct weir_error *error)
{
    enum weir_status status;

    (void)self;
    WEIR_ASSERT(page->row_max >= 1);
    status = read_page(connection, page, error);
    if (status == WEIR_OK && page->at_head &&
        weir_log_position_equal(page->end, page->after))
        status = pass_what_was_swept(connection, page, error);
    return status;
}

const struct weir_log_ops weir_log_sqlite = {
    .append = sqlite_append,
    .advance = sqlite_advance,
    .read = sqlite_read,
    .start = sqlite_start,
    .lag = weir_log_sqlite_lag,
    .sweep = weir_log_sqlite_sweep,
};
