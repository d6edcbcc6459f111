/*
 * store.c - executions on SQLite: there is one writer at a time, and a loop over a
 * statement costs no round trip.
 *
 * The transaction is IMMEDIATE, so whatever it has read stays as it is: nothing is
 * locked, and nothing need be passed over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/query.h"
#include "execution/store/store_columns.h"
#include "execution/store/store_statements.h"

enum { INPUT_ROWS_MAX = 100 }; /* with the rows: they are copied once more */

/* By the primary key. */
const struct weir_sql weir_sqlite_sql_load = {
    .name = "load execution",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS " FROM {p}_execution e WHERE no = {1}",
    .parameters = "i",
};

/* By the index on uuid. */
const struct weir_sql weir_sqlite_sql_find = {
    .name = "find execution",
    .text = "SELECT no FROM {p}_execution WHERE uuid = {1} AND part = {2}",
    .parameters = "bi",
};

/* By the index of the ready ones, in its order, as far as is read. */
const struct weir_sql weir_sqlite_sql_ready = {
    .name = "pick ready",
    .text = "SELECT no, priority, turn FROM {p}_execution WHERE " WEIR_IS_READY
            " AND lane = {1} AND capset = {2} ORDER BY priority DESC, turn, no LIMIT {3}",
    .parameters = "iii",
};

/* The same for one lane and set, as a whole. Inputs by their primary key, and of tags
 * whether there are any. */
#define READY                                                                            \
    " FROM {p}_execution e WHERE " WEIR_IS_READY                                         \
    " AND lane = {1} AND capset = {2} ORDER BY priority DESC, turn, no LIMIT {3}"
const struct weir_sql weir_sqlite_sql_ready_rows = {
    .name = "pick ready",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS READY,
    .parameters = "iii",
};
const struct weir_sql weir_sqlite_sql_ready_with_inputs = {
    .name = "pick ready",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN
            ", (SELECT bytes FROM {p}_input i WHERE i.no = e.no),"
            " EXISTS (SELECT 1 FROM {p}_tag t WHERE t.no = e.no)" READY,
    .parameters = "iii",
};

/* By the primary keys. */
const struct weir_sql weir_sqlite_sql_expire_key = {
    .name = "expire key",
    .text =
        "DELETE FROM {p}_idempotency WHERE scope = {1} AND key = {2} AND until_us <= {3}",
    .parameters = "tti",
};
static const struct weir_sql SQL_TAKE_KEY = {
    .name = "take key",
    .text = "INSERT INTO {p}_idempotency (" WEIR_KEY_COLUMNS
            ") VALUES ({1}, {2}, {3}, {4}, {5}, {6}) ON CONFLICT (scope, key) DO NOTHING",
    .parameters = "ttbibi",
};
const struct weir_sql weir_sqlite_sql_read_key = {
    .name = "read key",
    .text = "SELECT uuid, part, digest, scope FROM {p}_idempotency"
            " WHERE scope = {1} AND key = {2}",
    .parameters = "tt",
};
static const struct weir_sql SQL_READ_ID = {
    .name = "read id",
    .text = "SELECT uuid, part, digest FROM {p}_execution WHERE uuid = {1}",
    .parameters = "b",
};

static const struct weir_sql SQL_TAG = {
    .name = "insert tag",
    .text = "INSERT INTO {p}_tag (no, key, value) VALUES ({1}, {2}, {3})",
    .parameters = "itt",
};

/* By the primary keys. */
static const struct weir_sql SQL_READ_INPUT = {
    .name = "read input",
    .text = "SELECT bytes FROM {p}_input WHERE no = {1}",
    .parameters = "i",
};
const struct weir_sql weir_sqlite_sql_read_tags = {
    .name = "read tags",
    .text = "SELECT key, value FROM {p}_tag WHERE no = {1} ORDER BY key",
    .parameters = "i",
};

#define REMOVE(table, column)                                                            \
    {                                                                                    \
        .name = "remove " table,                                                         \
        .text = "DELETE FROM {p}_" table " WHERE " column " = {1}", .parameters = "i",   \
    }
enum { REMOVES = WEIR_SQLITE_REMOVES };
const struct weir_sql weir_sqlite_sql_remove[REMOVES] = {
    /*
     * What they have used stays used: it belongs to no execution from now on
     * (budget_store.h).
     */
    {
        .name = "fold spent",
        .text = "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
                " SELECT 0, s.budget, s.dimension, s.amount, s.era FROM {p}_spent s"
                " CROSS JOIN {p}_budget b ON b.no = s.budget WHERE s.no = {1}"
                " AND s.dimension <> '' AND s.era = b.era" WEIR_FOLD_INTO_NOBODYS,
        .parameters = "i",
    },
    WEIR_REMOVES(REMOVE)};

/* ---- loading ----------------------------------------------------------------------- */

static enum weir_status load_one(struct weir_connection *connection, int64_t no,
                                 struct weir_execution_records *out,
                                 struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_sqlite_sql_load, VALUES(weir_integer(no)), &rows, error);

    return weir_execution_records_add_all(out, status, &rows, error);
}

static int compare_numbers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* In order, and each once. Sorts `nos`. */
static enum weir_status load_sorted(struct weir_connection *connection, int64_t *nos,
                                    size_t count, struct weir_execution_records *out,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    qsort(nos, count, sizeof *nos, compare_numbers);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (i == 0 || nos[i] != nos[i - 1])
            status = load_one(connection, nos[i], out, error);
    }
    return status;
}

static enum weir_status make_numbers(const struct weir_store *self, size_t count,
                                     int64_t **out, struct weir_error *error)
{
    *out = weir_heap_zalloc_array(self->heap, count, sizeof **out);
    return *out != NULL ? WEIR_OK : weir_no_memory_for(error, "%zu numbers", count);
}

static enum weir_status load(const struct weir_store *self,
                             struct weir_connection *connection, const int64_t *nos,
                             size_t count, struct weir_execution_records *out,
                             struct weir_error *error)
{
    int64_t *sorted;
    enum weir_status status = make_numbers(self, count, &sorted, error);

    if (status != WEIR_OK)
        return status;
    memcpy(sorted, nos, count * sizeof *nos);
    status = load_sorted(connection, sorted, count, out, error);
    weir_heap_free(self->heap, sorted);
    return status;
}

static enum weir_status load_by_id(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_execution_id *ids, size_t count,
                                   struct weir_execution_records *out,
                                   struct weir_error *error)
{
    int64_t *nos;
    size_t found = 0;
    enum weir_status status = make_numbers(self, count, &nos, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status =
            weir_connection_query_integer(connection, &weir_sqlite_sql_find,
                                          VALUES(weir_bytes(ids[i].uuid, WEIR_UUID_SIZE),
                                                 weir_integer(ids[i].partition)),
                                          &nos[found], error);
        if (status == WEIR_OK)
            found++;
        else if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    if (status == WEIR_OK)
        status = load_sorted(connection, nos, found, out, error);
    weir_heap_free(self->heap, nos);
    return status;
}

/* ---- picking ----------------------------------------------------------------------- */

struct candidate {
    int64_t no;
    int64_t priority;
    int64_t turn;
};

/* The best so far, in order. */
struct choice {
    struct candidate *best;
    size_t count;
    size_t limit;
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->turn < b->turn || (a->turn == b->turn && a->no < b->no);
}

/* False: it is worse than all of them, and so is whatever comes behind it. */
static bool choose(struct choice *self, const struct candidate *candidate)
{
    size_t at = self->count;

    while (at > 0 && is_better(candidate, &self->best[at - 1]))
        at--;
    if (at == self->limit)
        return false;
    if (self->count < self->limit)
        self->count++;
    memmove(&self->best[at + 1], &self->best[at],
            (self->count - 1 - at) * sizeof *self->best);
    self->best[at] = *candidate;
    return true;
}

static const struct weir_column CANDIDATE[] = {
    COLUMN(struct candidate, no, INTEGER),
    COLUMN(struct candidate, priority, INTEGER),
    COLUMN(struct candidate, turn, INTEGER),
};

static enum weir_status choose_row(void *choice, struct weir_rows *rows,
                                   struct weir_error *error)
{
    struct candidate candidate;
    enum weir_status status = weir_row_read(rows, COLUMNS(CANDIDATE), &candidate, error);

    return status != WEIR_OK || choose(choice, &candidate) ? status : WEIR_NO_ROW;
}

static enum weir_status choose_of(struct choice *self, struct weir_connection *connection,
                                  int64_t lane, int64_t capability_set,
                                  struct weir_error *error)
{
    return weir_query_each(connection, &weir_sqlite_sql_ready,
                           VALUES(weir_integer(lane), weir_integer(capability_set),
                                  weir_integer((int64_t)self->limit)),
                           choose_row, self, error);
}

static enum weir_status pick_of_one(struct weir_connection *connection,
                                    const struct weir_ready_query *query,
                                    struct weir_execution_records *out,
                                    struct weir_error *error)
{
    bool inputs = query->inputs && query->limit <= INPUT_ROWS_MAX;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection,
        inputs ? &weir_sqlite_sql_ready_with_inputs : &weir_sqlite_sql_ready_rows,
        VALUES(weir_integer(query->lanes[0]), weir_integer(query->capability_sets[0]),
               weir_integer((int64_t)query->limit)),
        &rows, error);

    return weir_execution_records_add_all(out, status, &rows, error);
}

static enum weir_status pick_ready(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_ready_query *query,
                                   struct weir_execution_records *out,
                                   struct weir_error *error)
{
    struct choice choice = {.limit = query->limit};
    enum weir_status status = WEIR_OK;

    if (query->lane_count == 1 && query->capability_set_count == 1)
        return pick_of_one(connection, query, out, error);

    choice.best = weir_heap_zalloc_array(self->heap, query->limit, sizeof *choice.best);
    if (choice.best == NULL)
        return weir_no_memory_for(error, "%zu %s", query->limit,
                                  WEIR_NOUN(query->limit, "execution", "executions"));
    for (size_t i = 0; i < query->lane_count && status == WEIR_OK; i++) {
        for (size_t j = 0; j < query->capability_set_count && status == WEIR_OK; j++)
            status = choose_of(&choice, connection, query->lanes[i],
                               query->capability_sets[j], error);
    }
    for (size_t i = 0; i < choice.count && status == WEIR_OK; i++)
        status = load_one(connection, choice.best[i].no, out, error);
    weir_heap_free(self->heap, choice.best);
    return status;
}

static enum weir_status is_ready(const struct weir_store *self,
                                 struct weir_connection *connection,
                                 const struct weir_ready_query *query, bool *out,
                                 struct weir_error *error)
{
    struct candidate best;
    struct choice choice = {.best = &best, .limit = 1};
    enum weir_status status = WEIR_OK;

    (void)self;
    for (size_t i = 0; i < query->lane_count && status == WEIR_OK; i++) {
        for (size_t j = 0; j < query->capability_set_count && status == WEIR_OK; j++) {
            if (choice.count == 0)
                status = choose_of(&choice, connection, query->lanes[i],
                                   query->capability_sets[j], error);
        }
    }
    *out = choice.count > 0;
    return status;
}

/* ---- inserting --------------------------------------------------------------------- */

/* What there is, if there is anything, makes the item a duplicate. */
static enum weir_status find_there(struct weir_connection *connection,
                                   const struct weir_sql *sql,
                                   const struct weir_value *values, size_t value_count,
                                   struct weir_new_execution *item,
                                   struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = weir_new_found(item, &rows, 0, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* A key that was there means what it was taken for, also when that is this id and gone
 * by now. */
static enum weir_status take_key(struct weir_connection *connection,
                                 struct weir_new_execution *item, int64_t now_us,
                                 struct weir_error *error)
{
    struct weir_value values[WEIR_KEY_WIDTH];
    int64_t changed = 0;
    enum weir_status status;

    weir_key_lay_out(item, values, 1);
    status = weir_connection_execute(connection, &weir_sqlite_sql_expire_key,
                                     VALUES(values[0], values[1], weir_integer(now_us)),
                                     NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_TAKE_KEY, values,
                                         WEIR_KEY_WIDTH, &changed, error);
    if (status == WEIR_OK && changed == 0)
        status =
            find_there(connection, &weir_sqlite_sql_read_key, values, 2, item, error);
    return status;
}

static enum weir_status insert_execution(struct weir_connection *connection,
                                         struct weir_new_execution *item, int64_t now_us,
                                         struct weir_error *error)
{
    struct weir_value values[WEIR_NEW_WIDTH];
    enum weir_status status;

    weir_new_lay_out(item, now_us, values, 1);
    status = weir_connection_query_integer(connection, &weir_store_sql_insert_one, values,
                                           WEIR_NEW_WIDTH, &item->no, error);
    if (status == WEIR_NO_ROW) {
        item->no = 0;
        status =
            find_there(connection, &SQL_READ_ID,
                       VALUES(weir_bytes(item->id.uuid, WEIR_UUID_SIZE)), item, error);
    }
    return status;
}

static enum weir_status insert_belongings(struct weir_connection *connection,
                                          const struct weir_new_execution *item,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (item->input.size > 0)
        status = weir_connection_execute(
            connection, &weir_store_sql_input_one,
            VALUES(weir_integer(item->no),
                   weir_bytes(item->input.data, item->input.size)),
            NULL, error);
    for (size_t i = 0; i < item->tag_count && status == WEIR_OK; i++)
        status = weir_connection_execute(connection, &SQL_TAG,
                                         VALUES(weir_integer(item->no),
                                                weir_text(weir_str(item->tags[i].key)),
                                                weir_text(weir_str(item->tags[i].value))),
                                         NULL, error);
    return status;
}

static enum weir_status insert(const struct weir_store *self,
                               struct weir_connection *connection,
                               struct weir_new_execution *items, size_t count,
                               int64_t now_us, struct weir_commit_batch *commit_batch,
                               struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    (void)self;
    (void)commit_batch;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (items[i].key.size > 0)
            status = take_key(connection, &items[i], now_us, error);
        if (status == WEIR_OK && !items[i].duplicate)
            status = insert_execution(connection, &items[i], now_us, error);
        if (status == WEIR_OK && items[i].no > 0)
            status = insert_belongings(connection, &items[i], error);
    }
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

static enum weir_status write(struct weir_connection *connection,
                              const struct weir_execution_record *rows, size_t count,
                              struct weir_error *error)
{
    struct weir_value values[WEIR_WRITE_WIDTH];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        int64_t changed = 0;

        weir_write_lay_out(&rows[i].row, values, 1);
        status = weir_connection_execute(connection, &weir_store_sql_write_one, values,
                                         WEIR_WRITE_WIDTH, &changed, error);
        if (status == WEIR_OK && changed != 1)
            status = weir_error_set(error, WEIR_CONFLICT,
                                    "execution number %lld is not there to be written",
                                    (long long)rows[i].row.no);
    }
    return status;
}

static enum weir_status add_attempts(struct weir_connection *connection,
                                     const struct weir_ended_attempt *attempts,
                                     size_t count, struct weir_error *error)
{
    struct weir_value values[WEIR_ATTEMPT_WIDTH];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_attempt_lay_out(&attempts[i], values, 1);
        status = weir_connection_execute(connection, &weir_store_sql_attempt_one, values,
                                         WEIR_ATTEMPT_WIDTH, NULL, error);
    }
    return status;
}

static enum weir_status put_results(struct weir_connection *connection,
                                    const struct weir_new_result *results, size_t count,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, &weir_store_sql_result_one,
            VALUES(weir_integer(results[i].no),
                   weir_bytes(results[i].bytes.data, results[i].bytes.size)),
            NULL, error);
    return status;
}

static enum weir_status rewrite(const struct weir_store *self,
                                struct weir_connection *connection,
                                const struct weir_rewrite *rewrite,
                                struct weir_commit_batch *commit_batch,
                                struct weir_error *error)
{
    enum weir_status status = write(connection, rewrite->rows, rewrite->row_count, error);

    (void)self;
    (void)commit_batch;
    if (status == WEIR_OK)
        status =
            add_attempts(connection, rewrite->attempts, rewrite->attempt_count, error);
    if (status == WEIR_OK)
        status = put_results(connection, rewrite->results, rewrite->result_count, error);
    return status;
}

static enum weir_status remove_all(const struct weir_store *self,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    (void)self;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < REMOVES && status == WEIR_OK; j++)
            status = weir_connection_execute(connection, &weir_sqlite_sql_remove[j],
                                             VALUES(weir_integer(nos[i])), NULL, error);
    }
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

static enum weir_status visit_inputs(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const int64_t *nos, size_t count,
                                     weir_input_visit_fn visit, void *state,
                                     struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    (void)self;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status = weir_connection_query(connection, &SQL_READ_INPUT,
                                       VALUES(weir_integer(nos[i])), &rows, error);
        while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
            struct weir_work_input input = {i, weir_rows_bytes(&rows, 0)};

            status = visit(state, &input, error);
        }
        weir_rows_close(&rows);
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    return status;
}

static enum weir_status visit_tags(const struct weir_store *self,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, weir_tag_visit_fn visit, void *state,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    (void)self;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status = weir_connection_query(connection, &weir_sqlite_sql_read_tags,
                                       VALUES(weir_integer(nos[i])), &rows, error);
        while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
            struct weir_work_tag tag = {i, weir_rows_text(&rows, 0),
                                        weir_rows_text(&rows, 1)};

            status = visit(state, &tag, error);
        }
        weir_rows_close(&rows);
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    return status;
}

const struct weir_store_ops weir_store_sqlite = {
    .insert = insert,
    .load = load,
    .load_by_id = load_by_id,
    .pick_ready = pick_ready,
    .is_ready = is_ready,
    .rewrite = rewrite,
    .visit_inputs = visit_inputs,
    .visit_tags = visit_tags,
    .remove = remove_all,
};
