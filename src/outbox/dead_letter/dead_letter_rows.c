/*
 * dead_letter_rows.c - see dead_letter_rows.h.
 */
#include "outbox/dead_letter/dead_letter_rows.h"

#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/query.h"
#include "outbox/columns.h"
#include "outbox/headers.h"
#include "outbox/log/log_position.h"

/* `content`: headers and payload. */
#define LETTER_COLUMNS(content)                                                          \
    "SELECT d.id, q.name, s.name, d.pid, d.seq, d.uid, d.message_key, d.type, " content  \
    ", d.created_us, d.failed_us, d.attempts, d.error, d.status,"                        \
    " d.deadline_us, d.completed_us, d.requeued_uid"
#define OPEN "d.headers, d.payload"
#define SEALED "NULL, NULL"
#define LETTER_NAMES                                                                     \
    " JOIN {p}_subscription s ON s.id = d.subscription JOIN {p}_queue q ON q.id = "      \
    "s.queue"

#define FETCH_ONE(content)                                                               \
    {                                                                                    \
        .name = "read dead letter",                                                      \
        .text = LETTER_COLUMNS(content) " FROM {p}_dead_letter d" LETTER_NAMES           \
                                        " WHERE d.id = {1}",                             \
        .parameters = "i",                                                               \
    }
#define FETCH_MANY(content)                                                              \
    {                                                                                    \
        .name = "read dead letters",                                                     \
        .text = LETTER_COLUMNS(content) " FROM unnest({1}) WITH ORDINALITY AS a (id, n)" \
                                        " JOIN {p}_dead_letter d ON d.id = a.id"         \
                                        "" LETTER_NAMES " ORDER BY a.n",                 \
        .parameters = "I",                                                               \
    }

/* By the primary key, in the order that is asked for. */
static const struct weir_sql_pair SQL_FETCH = {
    .one = FETCH_ONE(OPEN),
    .many = FETCH_MANY(OPEN),
};
static const struct weir_sql_pair SQL_FETCH_SEALED = {
    .one = FETCH_ONE(SEALED),
    .many = FETCH_MANY(SEALED),
};

/* Rows that are locked. */
static const struct weir_sql_pair SQL_REMOVE = WEIR_LETTER_BY_IDS(
    "remove dead letters", "DELETE FROM {p}_dead_letter WHERE id", "", "");

enum { TEXTS_SIZE_MAX = 512 * 1024 * 1024, PICKS_MIN = 128 };

/* ---- picks ------------------------------------------------------------------------- */

void weir_letter_picks_init(struct weir_letter_picks *self, const struct weir_heap *heap)
{
    *self = (struct weir_letter_picks){.heap = heap};
}

void weir_letter_picks_fini(struct weir_letter_picks *self)
{
    weir_heap_free(self->heap, self->items);
    self->items = NULL;
    self->count = self->capacity = 0;
}

static const struct weir_column PICK[] = {
    COLUMN(struct weir_letter_pick, id, INTEGER),
    COLUMN(struct weir_letter_pick, size, INTEGER),
    COLUMN(struct weir_letter_pick, failed_us, INTEGER),
};

static enum weir_status add_pick(void *state, struct weir_rows *rows,
                                 struct weir_error *error)
{
    struct weir_letter_picks *self = state;
    size_t capacity = self->capacity == 0 ? PICKS_MIN : self->capacity * 2;
    struct weir_letter_pick *items;

    if (self->count == self->capacity) {
        items = weir_heap_resize(self->heap, self->items, capacity * sizeof *items);
        if (items == NULL)
            return weir_no_memory(error, "dead letters");
        self->items = items;
        self->capacity = capacity;
    }
    return weir_row_read(rows, COLUMNS(PICK), &self->items[self->count++], error);
}

enum weir_status weir_letter_picks_read(struct weir_letter_picks *self,
                                        struct weir_connection *connection,
                                        const struct weir_sql *sql,
                                        const struct weir_value *values,
                                        size_t value_count, struct weir_error *error)
{
    self->count = 0;
    return weir_query_each(connection, sql, values, value_count, add_pick, self, error);
}

size_t weir_letter_picks_fitting(const struct weir_letter_picks *self, size_t from,
                                 size_t count_max)
{
    int64_t bytes = 0;
    size_t n = 0;

    while (from + n < self->count && n < count_max) {
        bytes += self->items[from + n].size;
        if (n > 0 && bytes > WEIR_LETTER_BYTES_MAX)
            break;
        n++;
    }
    return n;
}

/* ---- letters ----------------------------------------------------------------------- */

void weir_letters_init(struct weir_letters *self, const struct weir_heap *heap)
{
    *self = (struct weir_letters){.count = 0};
    weir_arena_init(&self->texts, heap, TEXTS_SIZE_MAX);
}

void weir_letters_fini(struct weir_letters *self)
{
    weir_arena_fini(&self->texts);
    self->items = NULL;
    self->count = 0;
}

/* As read: views of the row. */
struct letter_columns {
    struct weir_dead_letter shown;
    int64_t pid;
    struct weir_str queue;
    struct weir_str subscription;
    struct weir_str uid;
    struct weir_str key;
    struct weir_str type;
    struct weir_str headers;
    struct weir_str payload; /* without data: sealed */
    struct weir_str reason;
    struct weir_str status;
    struct weir_str requeued_uid;
};
static const struct weir_column LETTER[] = {
    COLUMN(struct letter_columns, shown.id, INTEGER),
    COLUMN(struct letter_columns, queue, TEXT),
    COLUMN(struct letter_columns, subscription, TEXT),
    COLUMN(struct letter_columns, pid, INTEGER),
    COLUMN(struct letter_columns, shown.seq, INTEGER),
    COLUMN(struct letter_columns, uid, BYTES),
    COLUMN(struct letter_columns, key, TEXT_OR_NONE),
    COLUMN(struct letter_columns, type, TEXT),
    COLUMN(struct letter_columns, headers, TEXT_OR_NONE),
    COLUMN(struct letter_columns, payload, BYTES_OR_NONE),
    COLUMN(struct letter_columns, shown.created_us, INTEGER),
    COLUMN(struct letter_columns, shown.failed_us, INTEGER),
    COLUMN(struct letter_columns, shown.attempts, INTEGER),
    COLUMN(struct letter_columns, reason, TEXT),
    COLUMN(struct letter_columns, status, TEXT),
    COLUMN(struct letter_columns, shown.deadline_us, INTEGER),
    COLUMN(struct letter_columns, shown.completed_us, INTEGER),
    COLUMN(struct letter_columns, requeued_uid, BYTES_OR_NONE),
};

static void copy_uid(uint8_t *out, struct weir_str uid)
{
    if (uid.size == WEIR_UID_SIZE)
        memcpy(out, uid.data, WEIR_UID_SIZE);
}

/* Headers that cannot be read are treated as none, as for a handler. False: no memory. */
static bool keep_headers(struct weir_letters *self, struct weir_str json,
                         struct weir_letter *letter)
{
    struct weir_headers headers;
    size_t size = 0;
    size_t count = 0;
    void *memory;

    if (json.data == NULL)
        return true;
    letter->headers_json =
        (struct weir_str){weir_arena_copy(&self->texts, json), json.size};
    if (letter->headers_json.data == NULL)
        return false;
    if (weir_headers_measure(json, &size, &count, NULL) != WEIR_OK || size == 0)
        return true;
    memory = weir_arena_alloc(&self->texts, size);
    if (memory == NULL)
        return false;
    headers = weir_headers_place(json, memory, count);
    letter->shown.headers = headers.list;
    letter->shown.header_count = headers.count;
    return true;
}

/* What the row says, and what time has made of it. */
static enum weir_status read_status(struct weir_str text, int64_t now_us,
                                    struct weir_dead_letter *letter,
                                    struct weir_error *error)
{
    for (int i = 0; i < WEIR_DEAD_LETTER_ANY; i++) {
        enum weir_dead_letter_status status = (enum weir_dead_letter_status)i;

        if (!weir_str_equal(text, weir_str(weir_dead_letter_status_name(status))))
            continue;
        letter->status = status;
        if (status == WEIR_DEAD_LETTER_REPROCESSING && letter->deadline_us <= now_us) {
            letter->status = WEIR_DEAD_LETTER_PENDING;
            letter->deadline_us = 0;
        }
        return WEIR_OK;
    }
    return weir_error_set(
        error, WEIR_SCHEMA, "dead letter %lld has the unknown status \"%.*s\"",
        (long long)letter->id, text.size < 50 ? (int)text.size : 50, text.data);
}

struct fetching {
    struct weir_letters *letters;
    int64_t now_us;
};

static enum weir_status add_letter(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    const struct fetching *fetching = state;
    struct weir_letters *self = fetching->letters;
    struct weir_letter *letter = &self->items[self->count];
    struct weir_dead_letter *shown = &letter->shown;
    struct letter_columns row = {.pid = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(LETTER), &row, error);

    if (status != WEIR_OK)
        return status;
    *letter = (struct weir_letter){.pid = row.pid, .shown = row.shown};
    shown->queue = weir_arena_copy(&self->texts, row.queue);
    shown->subscription = weir_arena_copy(&self->texts, row.subscription);
    shown->partition = weir_pid_partition(row.pid);
    shown->key = row.key.data != NULL ? weir_arena_copy(&self->texts, row.key) : NULL;
    shown->type = weir_arena_copy(&self->texts, row.type);
    shown->payload =
        row.payload.data != NULL ? weir_arena_copy(&self->texts, row.payload) : NULL;
    shown->payload_size = row.payload.size;
    shown->reason = weir_arena_copy(&self->texts, row.reason);
    shown->requeued = row.requeued_uid.data != NULL;
    copy_uid(shown->uid, row.uid);
    copy_uid(shown->requeued_uid, row.requeued_uid);
    if (shown->queue == NULL || shown->subscription == NULL || shown->type == NULL ||
        (shown->payload == NULL && row.payload.data != NULL) || shown->reason == NULL ||
        (shown->key == NULL && row.key.data != NULL) ||
        !keep_headers(self, row.headers, letter))
        return weir_no_memory(error, "dead letters");
    self->count++;
    return read_status(row.status, fetching->now_us, shown, error);
}

/* One statement: of one letter, or of an array of them. */
static enum weir_status fetch(struct weir_letters *self,
                              struct weir_connection *connection, struct weir_value ids,
                              int64_t now_us, struct weir_error *error)
{
    const struct weir_sql_pair *sql = self->sealed ? &SQL_FETCH_SEALED : &SQL_FETCH;
    struct fetching fetching = {self, now_us};

    return weir_query_each(connection, weir_connection_form(connection, sql), &ids, 1,
                           add_letter, &fetching, error);
}

/* The ids of the picks as one column. */
static enum weir_status list_ids(struct weir_columns *out, const struct weir_heap *heap,
                                 const struct weir_letter_pick *picks, size_t count,
                                 struct weir_error *error)
{
    enum weir_status status = weir_columns_init(out, heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(out, 0, i, weir_integer(picks[i].id));
    return status;
}

enum weir_status weir_letters_fetch(struct weir_letters *self,
                                    struct weir_connection *connection,
                                    const struct weir_letter_pick *picks, size_t count,
                                    int64_t now_us, struct weir_error *error)
{
    struct weir_columns ids = {.cells = NULL};
    enum weir_status status;

    self->count = 0;
    weir_arena_reset(&self->texts);
    if (count == 0)
        return WEIR_OK;
    self->items = weir_arena_alloc(&self->texts, count * sizeof *self->items);
    if (self->items == NULL)
        return weir_no_memory(error, "dead letters");
    status = list_ids(&ids, self->texts.heap, picks, count, error);
    if (status == WEIR_OK && weir_connection_traits(connection)->takes_arrays) {
        status = fetch(self, connection,
                       weir_columns_array(&ids, 0, WEIR_TYPE_INTEGER, 0, count), now_us,
                       error);
    } else {
        for (size_t i = 0; i < count && status == WEIR_OK; i++)
            status = fetch(self, connection, ids.cells[i], now_us, error);
    }
    weir_columns_fini(&ids);
    return status;
}

void weir_letters_visit(const struct weir_letters *self, weir_dead_letter_fn visit,
                        void *state)
{
    for (size_t i = 0; i < self->count; i++)
        visit(state, &self->items[i].shown);
}

/* ---- changing ---------------------------------------------------------------------- */

static enum weir_status change_together(struct weir_connection *connection,
                                        const struct weir_sql *sql,
                                        const struct weir_letter_pick *picks,
                                        size_t count, struct weir_value *values,
                                        size_t value_count, struct weir_error *error)
{
    struct weir_columns ids = {.cells = NULL};
    enum weir_status status =
        list_ids(&ids, weir_connection_config(connection)->heap, picks, count, error);

    if (status == WEIR_OK) {
        values[0] = weir_columns_array(&ids, 0, WEIR_TYPE_INTEGER, 0, count);
        status =
            weir_connection_execute(connection, sql, values, value_count, NULL, error);
    }
    weir_columns_fini(&ids);
    return status;
}

/* The values are the same for each of them. */
static enum weir_status change_each(struct weir_connection *connection,
                                    const struct weir_sql *sql,
                                    const struct weir_letter_pick *picks, size_t count,
                                    const struct weir_value *values, size_t value_count,
                                    struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_value *rows =
        weir_heap_zalloc_array(heap, count, value_count * sizeof *rows);
    enum weir_status status;

    if (rows == NULL)
        return weir_no_memory(error, "dead letters");
    for (size_t i = 0; i < count; i++) {
        memcpy(rows + i * value_count, values, value_count * sizeof *rows);
        rows[i * value_count] = weir_integer(picks[i].id);
    }
    status = weir_connection_execute_many(connection, sql, rows, count, value_count, NULL,
                                          error);
    weir_heap_free(heap, rows);
    return status;
}

enum weir_status weir_letters_change(struct weir_connection *connection,
                                     const struct weir_sql_pair *sql,
                                     const struct weir_letter_pick *picks, size_t count,
                                     struct weir_value *values, size_t value_count,
                                     struct weir_error *error)
{
    const struct weir_sql *chosen = weir_connection_form(connection, sql);

    if (count == 0)
        return WEIR_OK;
    values[0] = weir_null();
    if (weir_connection_traits(connection)->takes_arrays)
        return change_together(connection, chosen, picks, count, values, value_count,
                               error);
    return change_each(connection, chosen, picks, count, values, value_count, error);
}

enum weir_status weir_letters_remove(struct weir_connection *connection,
                                     const struct weir_letter_pick *picks, size_t count,
                                     struct weir_error *error)
{
    struct weir_value ids;

    return weir_letters_change(connection, &SQL_REMOVE, picks, count, &ids, 1, error);
}
