/*
 * insert.c - new rows on PostgreSQL: executions with what belongs to them, attempts,
 * results.
 *
 * A chunk of new executions goes through these steps:
 *
 *   keys are taken that are new or have run out; whose the others are is read back
 *   executions whose key was got are inserted; whose id was there are read back
 *   inputs and tags of the new ones are inserted, those of the last chunk in the commit
 *   batch
 *
 * Each step is a statement of its own, and so sees what others have committed while it
 * waited for them. A key that is there is locked by the transaction that wanted to take
 * it, and so still there when it is read. An id is not: what had it may have been removed
 * in between.
 */
#include <string.h>

#include "base/map.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "execution/store/postgres/store.h"
#include "execution/store/store_statements.h"

enum {
    CHUNK_ROWS_MAX = 1000,
    CHUNK_SIZE_MAX = 8 * 1024 * 1024,
    NAME_SIZE_MAX = WEIR_NAMESPACE_SIZE_MAX + 1 + WEIR_IDEMPOTENCY_KEY_SIZE_MAX
};

/*
 * By the primary key: those that are new, or have run out. In the order of the keys, so
 * that two transactions with the same ones do not wait for each other; of two in this
 * list the first gets it.
 */
const struct weir_sql weir_pg_sql_take_keys = {
    .name = "take keys",
    .text = "INSERT INTO {p}_idempotency AS i (" WEIR_KEY_COLUMNS
            ") SELECT DISTINCT ON (scope, key) " WEIR_KEY_COLUMNS
            " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}) WITH ORDINALITY"
            " AS u (" WEIR_KEY_COLUMNS ", n) ORDER BY scope, key, n"
            " ON CONFLICT (scope, key) DO UPDATE SET uuid = excluded.uuid,"
            " part = excluded.part, digest = excluded.digest,"
            " until_us = excluded.until_us WHERE i.until_us <= {7} RETURNING scope, key",
    .parameters = "TTBIBIi",
};

/* Whose they are now, by the primary key. */
const struct weir_sql weir_pg_sql_read_keys = {
    .name = "read keys",
    .text =
        "SELECT u.n, i.uuid, i.part, i.digest FROM unnest({1}, {2}) WITH ORDINALITY"
        " AS u (scope, key, n) CROSS JOIN LATERAL (SELECT uuid, part, digest"
        " FROM {p}_idempotency k WHERE k.scope = u.scope AND k.key = u.key LIMIT 1) i",
    .parameters = "TT",
};

/* Waits for another transaction that inserts the same id. */
const struct weir_sql weir_pg_sql_insert = {
    .name = "insert executions",
    .text =
        "INSERT INTO {p}_execution (" WEIR_NEW_COLUMNS ", turn) SELECT " WEIR_NEW_COLUMNS
        ", created_us FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, "
        "{11}, {12},"
        " {13}, {14}, {15}, {16}, {17}, {18}, {19}) WITH ORDINALITY"
        " AS u (" WEIR_NEW_COLUMNS
        ", n) ORDER BY n ON CONFLICT (uuid) DO NOTHING RETURNING no, uuid",
    .parameters = "BBIIIIIIIIIIIIIITTT",
};
const struct weir_sql weir_pg_sql_read_ids = {
    .name = "read ids",
    .text = "SELECT u.n, e.uuid, e.part, e.digest FROM unnest({1}) WITH ORDINALITY"
            " AS u (uuid, n) CROSS JOIN LATERAL (SELECT uuid, part, digest"
            " FROM {p}_execution k WHERE k.uuid = u.uuid LIMIT 1) e",
    .parameters = "B",
};

static const struct weir_sql SQL_INPUTS = {
    .name = "insert inputs",
    .text = "INSERT INTO {p}_input (no, bytes) SELECT no, bytes"
            " FROM unnest({1}, {2}) AS u (no, bytes)",
    .parameters = "IB",
};
static const struct weir_sql SQL_TAGS = {
    .name = "insert tags",
    .text = "INSERT INTO {p}_tag (no, key, value) SELECT no, key, value"
            " FROM unnest({1}, {2}, {3}) AS u (no, key, value)",
    .parameters = "ITT",
};
static const struct weir_sql SQL_ATTEMPTS = {
    .name = "insert attempts",
    .text =
        "INSERT INTO {p}_attempt (" WEIR_ATTEMPT_COLUMNS ") SELECT " WEIR_ATTEMPT_COLUMNS
        " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10})"
        " AS u (" WEIR_ATTEMPT_COLUMNS ")",
    .parameters = "IIIIIIITTT",
};
const struct weir_sql weir_pg_sql_results = {
    .name = "put results",
    .text = "INSERT INTO {p}_result (no, bytes) SELECT no, bytes"
            " FROM unnest({1}, {2}) AS u (no, bytes)"
            " ON CONFLICT (no) DO UPDATE SET bytes = excluded.bytes",
    .parameters = "IB",
};

/* Some of the items, as a table of parameters. `rows[i]` is the item of row i. */
struct batch {
    struct weir_columns table;
    struct weir_new_execution **rows;
    size_t count;
};

static enum weir_status batch_init(struct batch *self, const struct weir_store *store,
                                   size_t width, size_t count, struct weir_error *error)
{
    *self = (struct batch){.table.heap = store->heap};
    if (count == 0)
        return WEIR_OK;
    self->rows = weir_heap_zalloc_array(store->heap, count, sizeof *self->rows);
    if (self->rows == NULL)
        return weir_no_memory_for(error, "%zu %s", count,
                                  WEIR_NOUN(count, "row", "rows"));
    return weir_columns_init(&self->table, store->heap, width, count, error);
}

static void batch_fini(struct batch *self)
{
    weir_columns_fini(&self->table);
    weir_heap_free(self->table.heap, self->rows);
}

/* Where the next row's first value goes. */
static struct weir_value *batch_add(struct batch *self, struct weir_new_execution *item)
{
    self->rows[self->count] = item;
    return self->table.cells + self->count++;
}

/* ---- keys -------------------------------------------------------------------------- */

/* The rows say which item they are about (from 1), and what is there. */
static enum weir_status read_found(struct batch *self, enum weir_status status,
                                   struct weir_rows *rows, struct weir_error *error)
{
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK) {
        int64_t n = weir_rows_integer(rows, 0);

        if (n >= 1 && (size_t)n <= self->count)
            status = weir_new_found(self->rows[n - 1], rows, 1, error);
    }
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* A namespace has no zero. */
static struct weir_str name_of(struct weir_str scope, struct weir_str key, char *out)
{
    size_t size =
        scope.size < WEIR_NAMESPACE_SIZE_MAX ? scope.size : WEIR_NAMESPACE_SIZE_MAX;
    size_t rest = key.size < WEIR_IDEMPOTENCY_KEY_SIZE_MAX
                      ? key.size
                      : WEIR_IDEMPOTENCY_KEY_SIZE_MAX;

    memcpy(out, scope.data, size);
    out[size] = '\0';
    memcpy(out + size + 1, key.data, rest);
    return (struct weir_str){out, size + 1 + rest};
}

static enum weir_status query_taken(struct batch *self,
                                    struct weir_connection *connection,
                                    const struct weir_value *values,
                                    struct weir_map *taken, struct weir_error *error)
{
    char name[NAME_SIZE_MAX];
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_pg_sql_take_keys, values, WEIR_KEY_WIDTH + 1, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        status = weir_map_put(
            taken, name_of(weir_rows_text(&rows, 0), weir_rows_text(&rows, 1), name),
            self);
        if (status != WEIR_OK)
            (void)weir_error_set(error, status, "no memory for %zu %s", self->count,
                                 WEIR_NOUN(self->count, "key", "keys"));
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* A key that names the item itself, and was taken now, was got by it. One that named it
 * before counts, whether the execution is still there or not. */
static void keep_own(struct batch *self, const struct weir_map *taken)
{
    char name[NAME_SIZE_MAX];

    for (size_t i = 0; i < self->count; i++) {
        struct weir_new_execution *item = self->rows[i];

        if (memcmp(item->stored_id.uuid, item->id.uuid, WEIR_UUID_SIZE) == 0 &&
            weir_map_find(taken, name_of(item->name_space, item->key, name)) != NULL)
            item->duplicate = false;
    }
}

static enum weir_status query_keys(struct batch *self, struct weir_connection *connection,
                                   int64_t now_us, struct weir_error *error)
{
    struct weir_value values[WEIR_KEY_WIDTH + 1];
    struct weir_rows rows = {.connection = NULL};
    struct weir_map taken;
    enum weir_status status;

    weir_map_init(&taken, self->table.heap, self->count);
    weir_pg_arrays(&self->table, weir_key_types, WEIR_KEY_WIDTH, values);
    values[WEIR_KEY_WIDTH] = weir_integer(now_us);
    status = query_taken(self, connection, values, &taken, error);
    if (status == WEIR_OK)
        status = weir_connection_query(connection, &weir_pg_sql_read_keys, values, 2,
                                       &rows, error);
    status = read_found(self, status, &rows, error);
    if (status == WEIR_OK)
        keep_own(self, &taken);
    weir_map_fini(&taken);
    return status;
}

static enum weir_status take_keys(const struct weir_store *store,
                                  struct weir_connection *connection,
                                  struct weir_new_execution *items, size_t count,
                                  int64_t now_us, struct weir_error *error)
{
    struct batch batch;
    size_t keyed = 0;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        keyed += items[i].key.size > 0;
    status = batch_init(&batch, store, WEIR_KEY_WIDTH, keyed, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (items[i].key.size > 0)
            weir_key_lay_out(&items[i], batch_add(&batch, &items[i]), keyed);
    }
    if (status == WEIR_OK && keyed > 0)
        status = query_keys(&batch, connection, now_us, error);
    batch_fini(&batch);
    return status;
}

/* ---- executions -------------------------------------------------------------------- */

/* Rows come back in the order of the items, without those that were there. Should they
 * not, they are found nevertheless. */
static enum weir_status note_number(struct batch *self, size_t *at,
                                    struct weir_rows *rows, struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, 1);

    for (size_t i = 0; i < self->count; i++, *at = (*at + 1) % self->count) {
        struct weir_new_execution *item = self->rows[*at];

        if (uuid.size == WEIR_UUID_SIZE && item->no == 0 &&
            memcmp(uuid.data, item->id.uuid, WEIR_UUID_SIZE) == 0) {
            item->no = weir_rows_integer(rows, 0);
            return WEIR_OK;
        }
    }
    return weir_error_set(error, WEIR_SCHEMA,
                          "an execution was inserted that was not sent");
}

static enum weir_status insert_batch(struct batch *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    struct weir_value values[WEIR_NEW_WIDTH];
    struct weir_rows rows;
    size_t at = 0;
    enum weir_status status;

    weir_pg_arrays(&self->table, weir_new_types, WEIR_NEW_WIDTH, values);
    if (self->count == 1) /* the cells of one row are its values, in order */
        status = weir_connection_query(connection, &weir_store_sql_insert_one,
                                       self->table.cells, WEIR_NEW_WIDTH, &rows, error);
    else
        status = weir_connection_query(connection, &weir_pg_sql_insert, values,
                                       WEIR_NEW_WIDTH, &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = note_number(self, &at, &rows, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status insert_executions(const struct weir_store *store,
                                          struct weir_connection *connection,
                                          struct weir_new_execution *items, size_t count,
                                          int64_t now_us, struct weir_error *error)
{
    struct batch batch;
    size_t fresh = 0;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        fresh += !items[i].duplicate;
    status = batch_init(&batch, store, WEIR_NEW_WIDTH, fresh, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (!items[i].duplicate)
            weir_new_lay_out(&items[i], now_us, batch_add(&batch, &items[i]), fresh);
    }
    if (status == WEIR_OK && fresh > 0)
        status = insert_batch(&batch, connection, error);
    batch_fini(&batch);
    return status;
}

/* Those that are neither new nor known by their key: their id was there. */
static enum weir_status read_ids(const struct weir_store *store,
                                 struct weir_connection *connection,
                                 struct weir_new_execution *items, size_t count,
                                 struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    struct batch batch;
    size_t there = 0;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        there += items[i].no == 0 && !items[i].duplicate;
    status = batch_init(&batch, store, 1, there, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (items[i].no == 0 && !items[i].duplicate)
            *batch_add(&batch, &items[i]) = weir_bytes(items[i].id.uuid, WEIR_UUID_SIZE);
    }
    if (status == WEIR_OK && there > 0) {
        struct weir_value uuids =
            weir_columns_array(&batch.table, 0, WEIR_TYPE_BYTES, 0, there);

        status = weir_connection_query(connection, &weir_pg_sql_read_ids, &uuids, 1,
                                       &rows, error);
        status = read_found(&batch, status, &rows, error);
    }
    batch_fini(&batch);
    return status;
}

/*
 * An execution had the id and was removed before it was read: in another try it is free.
 */
static enum weir_status check_found(const struct weir_new_execution *items, size_t count,
                                    struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        char text[WEIR_EXECUTION_ID_TEXT_SIZE];

        if (items[i].no == 0 && !items[i].duplicate)
            return weir_error_set(error, WEIR_CONFLICT,
                                  "execution %s was there and has gone",
                                  weir_execution_id_format(&items[i].id, text));
    }
    return WEIR_OK;
}

/* Takes the table. */
static void add_rows(struct weir_commit_batch *commit_batch, const struct weir_sql *many,
                     const struct weir_sql *one, struct weir_columns *table,
                     const enum weir_type *types, size_t width)
{
    if (table->row_count > 1) {
        weir_commit_batch_add_table(commit_batch, many, table, types, width);
        return;
    }
    weir_commit_batch_add(commit_batch, one, table->cells, width);
    weir_columns_fini(table);
}

/* ---- what belongs to them ---------------------------------------------------------- */

static enum weir_status append_inputs(const struct weir_store *store,
                                      const struct weir_new_execution *items,
                                      size_t count,
                                      struct weir_commit_batch *commit_batch,
                                      struct weir_error *error)
{
    static const enum weir_type TYPES[] = {WEIR_TYPE_INTEGER, WEIR_TYPE_BYTES};
    struct weir_columns table;
    size_t full = 0;
    size_t row = 0;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        full += items[i].no > 0 && items[i].input.size > 0;
    if (full == 0)
        return WEIR_OK;
    status = weir_columns_init(&table, store->heap, 2, full, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (items[i].no > 0 && items[i].input.size > 0) {
            weir_columns_set(&table, 0, row, weir_integer(items[i].no));
            weir_columns_set(&table, 1, row++,
                             weir_bytes(items[i].input.data, items[i].input.size));
        }
    }
    add_rows(commit_batch, &SQL_INPUTS, &weir_store_sql_input_one, &table, TYPES, 2);
    return WEIR_OK;
}

static void lay_out_tags(const struct weir_new_execution *item,
                         struct weir_columns *table, size_t *row)
{
    for (size_t i = 0; i < item->tag_count; i++, ++*row) {
        weir_columns_set(table, 0, *row, weir_integer(item->no));
        weir_columns_set(table, 1, *row, weir_text(weir_str(item->tags[i].key)));
        weir_columns_set(table, 2, *row, weir_text(weir_str(item->tags[i].value)));
    }
}

static enum weir_status append_tags(const struct weir_store *store,
                                    const struct weir_new_execution *items, size_t count,
                                    struct weir_commit_batch *commit_batch,
                                    struct weir_error *error)
{
    static const enum weir_type TYPES[] = {WEIR_TYPE_INTEGER, WEIR_TYPE_TEXT,
                                           WEIR_TYPE_TEXT};
    struct weir_columns table;
    size_t tags = 0;
    size_t row = 0;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        tags += items[i].no > 0 ? items[i].tag_count : 0;
    if (tags == 0)
        return WEIR_OK;
    status = weir_columns_init(&table, store->heap, 3, tags, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (items[i].no > 0)
            lay_out_tags(&items[i], &table, &row);
    }
    weir_commit_batch_add_table(commit_batch, &SQL_TAGS, &table, TYPES, 3);
    return WEIR_OK;
}

static enum weir_status
insert_chunk(const struct weir_store *self, struct weir_connection *connection,
             struct weir_new_execution *items, size_t count, int64_t now_us,
             struct weir_commit_batch *commit_batch, struct weir_error *error)
{
    enum weir_status status = take_keys(self, connection, items, count, now_us, error);

    if (status == WEIR_OK)
        status = insert_executions(self, connection, items, count, now_us, error);
    if (status == WEIR_OK)
        status = read_ids(self, connection, items, count, error);
    if (status == WEIR_OK)
        status = check_found(items, count, error);
    if (status == WEIR_OK)
        status = append_inputs(self, items, count, commit_batch, error);
    if (status == WEIR_OK)
        status = append_tags(self, items, count, commit_batch, error);
    return status;
}

static size_t chunk_of(const struct weir_new_execution *items, size_t count)
{
    size_t size = 0;
    size_t rows = 0;

    while (rows < count && rows < CHUNK_ROWS_MAX && size < CHUNK_SIZE_MAX)
        size += items[rows++].input.size;
    return rows;
}

enum weir_status weir_pg_insert(const struct weir_store *self,
                                struct weir_connection *connection,
                                struct weir_new_execution *items, size_t count,
                                int64_t now_us, struct weir_commit_batch *commit_batch,
                                struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    while (count > 0 && status == WEIR_OK) {
        size_t rows = chunk_of(items, count);

        status = insert_chunk(self, connection, items, rows, now_us, commit_batch, error);
        items += rows;
        count -= rows;
        if (status == WEIR_OK && count > 0)
            status = weir_commit_batch_send(commit_batch, connection, error);
    }
    return status;
}

/* ---- attempts and results ---------------------------------------------------------- */

enum weir_status weir_pg_append_attempts(const struct weir_store *self,
                                         const struct weir_ended_attempt *attempts,
                                         size_t count,
                                         struct weir_commit_batch *commit_batch,
                                         struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, self->heap, WEIR_ATTEMPT_WIDTH, count, error);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        weir_attempt_lay_out(&attempts[i], table.cells + i, count);
    add_rows(commit_batch, &SQL_ATTEMPTS, &weir_store_sql_attempt_one, &table,
             weir_attempt_types, WEIR_ATTEMPT_WIDTH);
    return WEIR_OK;
}

static enum weir_status append_results(const struct weir_store *self,
                                       const struct weir_new_result *results,
                                       size_t count,
                                       struct weir_commit_batch *commit_batch,
                                       struct weir_error *error)
{
    static const enum weir_type TYPES[] = {WEIR_TYPE_INTEGER, WEIR_TYPE_BYTES};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, self->heap, 2, count, error);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        weir_columns_set(&table, 0, i, weir_integer(results[i].no));
        weir_columns_set(&table, 1, i,
                         weir_bytes(results[i].bytes.data, results[i].bytes.size));
    }
    add_rows(commit_batch, &weir_pg_sql_results, &weir_store_sql_result_one, &table,
             TYPES, 2);
    return WEIR_OK;
}

/* How many of them one statement takes. */
static size_t chunk_of_results(const struct weir_new_result *results, size_t count)
{
    size_t size = 0;
    size_t rows = 0;

    while (rows < count && rows < CHUNK_ROWS_MAX && size < CHUNK_SIZE_MAX)
        size += results[rows++].bytes.size;
    return rows;
}

static enum weir_status put_results(const struct weir_store *self,
                                    struct weir_connection *connection,
                                    const struct weir_new_result *results, size_t count,
                                    struct weir_error *error)
{
    struct weir_commit_batch *commit_batch;
    enum weir_status status = weir_commit_batch_create(self->heap, &commit_batch, error);

    while (count > 0 && status == WEIR_OK) {
        size_t rows = chunk_of_results(results, count);

        status = append_results(self, results, rows, commit_batch, error);
        if (status == WEIR_OK)
            status = weir_commit_batch_send(commit_batch, connection, error);
        results += rows;
        count -= rows;
    }
    weir_commit_batch_destroy(commit_batch);
    return status;
}

enum weir_status
weir_pg_append_results(const struct weir_store *self, struct weir_connection *connection,
                       const struct weir_new_result *results, size_t count,
                       struct weir_commit_batch *commit_batch, struct weir_error *error)
{
    return chunk_of_results(results, count) == count
               ? append_results(self, results, count, commit_batch, error)
               : put_results(self, connection, results, count, error);
}
