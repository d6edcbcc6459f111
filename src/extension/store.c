/*
 * store.c - see store.h.
 */
#include "extension/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/noun.h"
#include "db/sql.h"
#include "outbox/queue/backlog.h"
#include "outbox/queue/stored_queue.h"
#include "weir/heap.h"

enum { STATEMENT_SIZE_MAX = 4096 };

#define READ_AGE_US INT64_C(1000000)

/* By the key. */
static const struct weir_sql SQL_PAYLOAD_MAX = {
    .name = "payload_max",
    .text = "SELECT value FROM main.{p}_meta WHERE name = 'payload_max'",
};

/* By the unique index on the name. */
static const struct weir_sql SQL_FIND_QUEUE = {
    .name = "find queue",
    .text = "SELECT id, partitions, backlog_max, going_us > {2}"
            " FROM main.{p}_queue WHERE name = {1}",
    .parameters = "ti",
};

/* By the key. {2} is now, {3} how old a number may be; a claim is a time like a count. */
static const struct weir_sql SQL_NUMBER = {
    .name = "published backlog",
    .text = "SELECT waiting, counted_us FROM main.{p}_backlog WHERE queue = {1}"
            " AND {2} - max(counted_us, claimed_us) BETWEEN 0 AND {3} - 1",
    .parameters = "iii",
};

/*
 * What waits for the subscription that is furthest behind: rows of the log behind its
 * positions, by primary key, and what is set aside for it; without subscriptions all of
 * these, unless it is dropped. No more than 100,000 rows are looked at: the limit is
 * kept about.
 */
static const struct weir_sql SQL_BACKLOG = {
    .name = "backlog",
    .text = "WITH pos AS (SELECT s.id AS subscription, a.pid, a.last_id"
            " FROM main.{p}_subscription s JOIN main.{p}_ack a ON a.subscription = s.id"
            " WHERE s.queue = {1}),"
            " looked AS (SELECT id, pid FROM main.{p}_log"
            " WHERE id > (SELECT min(last_id) FROM pos) ORDER BY id LIMIT 100000),"
            " found AS (SELECT p.subscription FROM looked l CROSS JOIN pos p"
            " WHERE p.pid = l.pid AND l.id > p.last_id"
            " UNION ALL SELECT p.subscription FROM pos p JOIN main.{p}_aside k"
            " ON k.pid = p.pid AND k.cut >= 0 AND k.id > p.last_id)"
            " SELECT coalesce(max(n), 0), {2} FROM (SELECT count(*) AS n FROM found"
            " GROUP BY subscription UNION ALL SELECT"
            " (SELECT count(*) FROM (SELECT pid FROM main.{p}_log ORDER BY id"
            " LIMIT 100000) WHERE pid BETWEEN {1} * 64 AND {1} * 64 + 63)"
            " + (SELECT count(*) FROM main.{p}_aside"
            " WHERE pid BETWEEN {1} * 64 AND {1} * 64 + 63)"
            " FROM main.{p}_queue q WHERE q.id = {1} AND q.unread = 0 AND NOT EXISTS"
            " (SELECT 1 FROM main.{p}_subscription s WHERE s.queue = {1}))",
    .parameters = "ii",
};

/* One row at the end of the one b-tree that the log has. */
static const struct weir_sql SQL_APPEND = {
    .name = "append",
    .text = "INSERT INTO main.{p}_log"
            " (pid, created_us, uid, message_key, type, headers, payload)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "iibtttb",
};

/* ---- statements -------------------------------------------------------------------- */

static enum weir_status failed(sqlite3 *handle, struct weir_error *error)
{
    enum weir_status status =
        weir_error_set(error, WEIR_FAILED, "%s", sqlite3_errmsg(handle));

    error->native_code = sqlite3_extended_errcode(handle);
    return status;
}

static enum weir_status prepare(const struct weir_store *self, sqlite3 *handle,
                                const struct weir_sql *sql, sqlite3_stmt **out,
                                struct weir_error *error)
{
    struct weir_buf text;
    enum weir_status status;

    *out = NULL;
    weir_buf_init(&text, weir_heap_system(), STATEMENT_SIZE_MAX);
    status = weir_sql_expand(sql, WEIR_SQLITE, self->prefix, &text, error);
    if (status == WEIR_OK &&
        sqlite3_prepare_v2(handle, weir_buf_text(&text), -1, out, NULL) != SQLITE_OK)
        status = failed(handle, error);
    weir_buf_fini(&text);
    return status;
}

/* WEIR_NO_ROW: there is none. */
static enum weir_status step(sqlite3 *handle, sqlite3_stmt *statement,
                             struct weir_error *error)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return WEIR_OK;
    case SQLITE_DONE:
        return WEIR_NO_ROW;
    default:
        return failed(handle, error);
    }
}

/* ---- reading ----------------------------------------------------------------------- */

static enum weir_status take_payload_max(int64_t stored, size_t *out,
                                         struct weir_error *error)
{
    if (stored < 1 || stored > WEIR_PAYLOAD_SIZE_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "payload_max is %lld, must be from 1 to %d: weir migrate "
                              "--payload-max",
                              (long long)stored, WEIR_PAYLOAD_SIZE_MAX);
    *out = (size_t)stored;
    return WEIR_OK;
}

enum weir_status weir_store_payload_max(struct weir_store *self, sqlite3 *handle,
                                        size_t *out, struct weir_error *error)
{
    sqlite3_stmt *statement;
    enum weir_status status = prepare(self, handle, &SQL_PAYLOAD_MAX, &statement, error);

    *out = WEIR_PAYLOAD_SIZE_DEFAULT;
    if (status == WEIR_OK)
        status = step(handle, statement, error);
    if (status == WEIR_OK)
        status = take_payload_max(sqlite3_column_int64(statement, 0), out, error);
    sqlite3_finalize(statement);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* A row that another program has written may be out of range: the host must not end of
 * it. */
static enum weir_status take_queue(sqlite3_stmt *statement, const char *name,
                                   struct weir_store_queue *out, struct weir_error *error)
{
    const struct weir_stored_queue stored = {
        .id = sqlite3_column_int64(statement, 0),
        .partitions = sqlite3_column_int64(statement, 1),
        .backlog_max = sqlite3_column_int64(statement, 2),
    };

    *out = (struct weir_store_queue){
        .id = stored.id,
        .partitions = (int32_t)stored.partitions,
        .backlog_max = stored.backlog_max,
    };
    return weir_stored_queue_check(&stored, name, error);
}

enum weir_status weir_store_find_queue(struct weir_store *self, sqlite3 *handle,
                                       const char *name, int64_t now_us,
                                       struct weir_store_queue *out,
                                       struct weir_error *error)
{
    sqlite3_stmt *statement;
    enum weir_status status = prepare(self, handle, &SQL_FIND_QUEUE, &statement, error);
    bool going = false;

    if (status == WEIR_OK &&
        (sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) != SQLITE_OK ||
         sqlite3_bind_int64(statement, 2, now_us) != SQLITE_OK))
        status = failed(handle, error);
    if (status == WEIR_OK)
        status = step(handle, statement, error);
    if (status == WEIR_OK) {
        going = sqlite3_column_int(statement, 3) != 0;
        status = take_queue(statement, name, out, error);
    }
    sqlite3_finalize(statement);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no queue \"%s\"", name);
    if (status == WEIR_OK && going)
        status = weir_error_set(error, WEIR_BUSY, "queue \"%s\" is being removed", name);
    return status;
}

/* The first column is what waits, the second when it was counted. WEIR_NO_ROW: not
 * known. */
static enum weir_status ask_backlog(struct weir_store *self, sqlite3 *handle,
                                    const struct weir_sql *sql, int64_t queue_id,
                                    int64_t now_us, struct weir_error *error)
{
    sqlite3_stmt *statement;
    enum weir_status status = prepare(self, handle, sql, &statement, error);

    if (status == WEIR_OK &&
        (sqlite3_bind_int64(statement, 1, queue_id) != SQLITE_OK ||
         sqlite3_bind_int64(statement, 2, now_us) != SQLITE_OK ||
         (sql == &SQL_NUMBER &&
          sqlite3_bind_int64(statement, 3, WEIR_BACKLOG_AGE_US) != SQLITE_OK)))
        status = failed(handle, error);
    if (status == WEIR_OK)
        status = step(handle, statement, error);
    if (status == WEIR_OK) {
        int64_t stamp = sqlite3_column_int64(statement, 1);

        if (queue_id != self->counted_queue_id || stamp != self->stamp)
            self->backlog = sqlite3_column_int64(statement, 0);
        self->counted_queue_id = queue_id;
        self->stamp = stamp;
        self->read_us = now_us;
    }
    sqlite3_finalize(statement);
    return status;
}

/* The published number; where it is old, a count for this connection. */
static enum weir_status read_backlog(struct weir_store *self, sqlite3 *handle,
                                     int64_t queue_id, int64_t now_us,
                                     struct weir_error *error)
{
    enum weir_status status =
        ask_backlog(self, handle, &SQL_NUMBER, queue_id, now_us, error);

    if (status == WEIR_NO_ROW)
        status = ask_backlog(self, handle, &SQL_BACKLOG, queue_id, now_us, error);
    return status;
}

enum weir_status weir_store_check_room(struct weir_store *self, sqlite3 *handle,
                                       const char *name,
                                       const struct weir_store_queue *queue,
                                       int64_t now_us, struct weir_error *error)
{
    int64_t age_us = now_us - self->read_us;
    enum weir_status status = WEIR_OK;

    if (queue->backlog_max == 0)
        return WEIR_OK;
    if (queue->id != self->counted_queue_id || age_us < 0 || age_us >= READ_AGE_US)
        status = read_backlog(self, handle, queue->id, now_us, error);
    if (status == WEIR_OK && self->backlog >= queue->backlog_max)
        status = weir_error_set(error, WEIR_FULL,
                                "queue \"%.100s\" has %lld %s waiting, its limit is %lld",
                                name, (long long)self->backlog,
                                WEIR_NOUN(self->backlog, "message", "messages"),
                                (long long)queue->backlog_max);
    if (status == WEIR_OK)
        self->backlog++;
    return status;
}

/* ---- appending --------------------------------------------------------------------- */

static bool bind_text(sqlite3_stmt *statement, int number, struct weir_str text)
{
    if (text.data == NULL)
        return sqlite3_bind_null(statement, number) == SQLITE_OK;
    return sqlite3_bind_text64(statement, number, text.data, text.size, SQLITE_STATIC,
                               SQLITE_UTF8) == SQLITE_OK;
}

/* Without an address it would be NULL, and an empty payload is none. */
static bool bind_bytes(sqlite3_stmt *statement, int number, const void *bytes,
                       size_t size)
{
    return sqlite3_bind_blob64(statement, number, size > 0 ? bytes : "", size,
                               SQLITE_STATIC) == SQLITE_OK;
}

static bool bind_row(sqlite3_stmt *statement, const struct weir_store_row *row)
{
    return sqlite3_bind_int64(statement, 1, row->pid) == SQLITE_OK &&
           sqlite3_bind_int64(statement, 2, row->created_us) == SQLITE_OK &&
           bind_bytes(statement, 3, row->uid, sizeof row->uid) &&
           bind_text(statement, 4, row->key) && bind_text(statement, 5, row->type) &&
           bind_text(statement, 6, row->headers) &&
           bind_bytes(statement, 7, row->payload.data, row->payload.size);
}

enum weir_status weir_store_append(struct weir_store *self, sqlite3 *handle,
                                   const struct weir_store_row *row,
                                   struct weir_error *error)
{
    int64_t before = sqlite3_last_insert_rowid(handle);
    sqlite3_stmt *statement;
    enum weir_status status = prepare(self, handle, &SQL_APPEND, &statement, error);

    if (status == WEIR_OK && !bind_row(statement, row))
        status = failed(handle, error);
    if (status == WEIR_OK)
        status = step(handle, statement, error);
    sqlite3_finalize(statement);
    sqlite3_set_last_insert_rowid(handle, before);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
