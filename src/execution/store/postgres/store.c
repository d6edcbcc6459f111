/*
 * store.c - executions on PostgreSQL: many rows travel in arrays, one statement for all.
 *
 * Statistics are not counted on: the table changes faster than it is analyzed. A
 * sub-select that sorts, locks or is limited stays one, so that each row is looked up
 * by its index, also when the planner believes the table to be small.
 */
#include "execution/store/postgres/store.h"

#include "base/heap.h"
#include "execution/store/postgres/floors.h"
#include "execution/store/store_statements.h"

/* How often a pick over several lanes looks again, when others were faster at what it
 * saw first; and how much more than it wants it sees at once. */
enum {
    LOOK_FIRST = 4,
    LOOK_GROWTH = 8,
    LOOKS_MAX = 4,
    LOOK_MIN = 32,
    VISIT_ROWS_MAX = 250,
    INPUT_ROWS_MAX = 100 /* with the rows: all of it is in memory twice for a moment */
};

/* By the primary key, in its order, waiting for others. */
#define LOCKED(source, alias, condition, wait)                                           \
    " FROM (" source ") " alias " CROSS JOIN LATERAL (SELECT * FROM {p}_execution k"     \
    " WHERE k.no = " alias ".no" condition " FOR NO KEY UPDATE" wait ") e"

const struct weir_sql weir_pg_sql_load = {
    .name = "load executions",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN LOCKED(
        "SELECT DISTINCT no FROM unnest({1}) AS u (no) ORDER BY no", "u", "", ""),
    .parameters = "I",
};

/* The same for one. */
const struct weir_sql weir_pg_sql_load_one = {
    .name = "load executions",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN
            " FROM (SELECT * FROM {p}_execution WHERE no = {1} FOR NO KEY UPDATE) e",
    .parameters = "i",
};

const struct weir_sql weir_pg_sql_load_by_id = {
    .name = "load executions by id",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN LOCKED(
        "SELECT DISTINCT x.no FROM unnest({1}, {2}) AS u (uuid, part)"
        " CROSS JOIN LATERAL (SELECT no FROM {p}_execution o"
        " WHERE o.uuid = u.uuid AND o.part = u.part LIMIT 1) x ORDER BY x.no",
        "u", "", ""),
    .parameters = "BI",
};

/*
 * By the index of the ready ones, in its order. Rows that another transaction has locked
 * are skipped. The clock is read outside of the sub-select, and so when the row is
 * locked.
 */
#define READY                                                                            \
    " FROM (SELECT * FROM {p}_execution WHERE " WEIR_IS_READY                            \
    " AND lane = {1} AND capset = {2} ORDER BY priority DESC, turn, no LIMIT {3}"        \
    " FOR NO KEY UPDATE SKIP LOCKED) e"
const struct weir_sql weir_pg_sql_ready = {
    .name = "pick ready",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN READY,
    .parameters = "iii",
};

const struct weir_sql weir_pg_sql_ready_with_inputs = {
    .name = "pick ready",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_INPUT_COLUMNS READY WEIR_PG_COMPANY,
    .parameters = "iii",
};

/*
 * The heads of all lanes and sets, by the same index; then the best of them are locked,
 * and not one more: locks that are not used would keep others from their work until the
 * transaction ends. A pick that sees only rows that others have locked returns less
 * than there is. (Asked for `state = 1` the second time too, a planner that believes the
 * table to be empty would walk the index of the ready ones for each row.)
 */
#define HEADS                                                                            \
    " FROM unnest({1}) AS l (lane) CROSS JOIN unnest({2}) AS s (capset)"                 \
    " CROSS JOIN LATERAL (SELECT no, priority, turn FROM {p}_execution x"                \
    " WHERE " WEIR_IS_READY " AND x.lane = l.lane AND x.capset = s.capset"               \
    " ORDER BY priority DESC, turn, no"
const struct weir_sql weir_pg_sql_ready_of_many = {
    .name = "pick ready of many",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN LOCKED(
        "SELECT h.no" HEADS " LIMIT {4}) h ORDER BY h.priority DESC, h.turn, h.no", "c",
        " AND k.state + 0 = 1", " SKIP LOCKED") " LIMIT {3}",
    .parameters = "IIii",
};

/* Is there more than was looked at? */
const struct weir_sql weir_pg_sql_ready_beyond = {
    .name = "look for more ready",
    .text = "SELECT h.no" HEADS " LIMIT 1 OFFSET {3}) h LIMIT 1",
    .parameters = "IIi",
};

/*
 * Of rows that are joined with a table by its primary key. It is always so; but of rows
 * in such a range a planner that knows no values expects one or two, and looks them up
 * by the index, also when it believes the table to be empty. Else it would read all of
 * the table, for as long as it keeps that plan.
 */
#define FEW "u.no > 0 AND u.no < 9223372036854775807"

/* By the primary key. The rows are locked already; repeating writes the same. */
const struct weir_sql weir_pg_sql_write = {
    .name = "write executions",
    .text =
        "UPDATE {p}_execution e SET state = u.state, hold = u.hold, pending = u.pending,"
        " attempt_type = u.attempt_type, priority = u.priority, attempts = u.attempts,"
        " retries = u.retries, reclaims = u.reclaims, replays = u.replays,"
        " epoch = u.epoch, settled_epoch = u.settled_epoch, due_us = u.due_us,"
        " lease_us = u.lease_us, attempt_deadline_us = u.attempt_deadline_us,"
        " deadline_us = u.deadline_us, claimed_us = u.claimed_us,"
        " started_us = u.started_us, ended_us = u.ended_us,"
        " on_timeout = u.on_timeout, settled_as = u.settled_as, turn = u.turn,"
        " worker = u.worker,"
        " instance = u.instance, failure = u.failure"
        " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, "
        "{13},"
        " {14}, {15}, {16}, {17}, {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25})"
        " AS u (no, state, hold,"
        " pending, attempt_type, priority, attempts, retries, reclaims, replays, epoch,"
        " settled_epoch, due_us, lease_us, attempt_deadline_us, deadline_us, claimed_us,"
        " started_us, ended_us, on_timeout, settled_as, turn, worker, instance,"
        " failure)"
        " WHERE e.no = u.no"
        " AND " FEW,
    .parameters = "IIIIIIIIIIIIIIIIIIIIIITTT",
};

/* By the primary keys. */
const struct weir_sql weir_pg_sql_inputs = {
    .name = "read inputs",
    .text =
        "SELECT u.n, i.bytes FROM (SELECT * FROM unnest({1}) WITH ORDINALITY"
        " AS u (no, n) ORDER BY n) u CROSS JOIN LATERAL (SELECT bytes FROM {p}_input k"
        " WHERE k.no = u.no LIMIT 1) i",
    .parameters = "I",
};
const struct weir_sql weir_pg_sql_tags = {
    .name = "read tags",
    .text = "SELECT u.n, t.key, t.value FROM (SELECT * FROM unnest({1}) WITH ORDINALITY"
            " AS u (no, n) ORDER BY n) u CROSS JOIN LATERAL (SELECT key, value"
            " FROM {p}_tag k WHERE k.no = u.no ORDER BY no, key) t",
    .parameters = "I",
};

/* By the primary keys; repeating finds nothing. */
#define REMOVE(table, column)                                                            \
    {                                                                                    \
        .name = "remove " table,                                                         \
        .text = "DELETE FROM {p}_" table " t USING unnest({1}) AS u (no)"                \
                " WHERE t." column " = u.no AND " FEW,                                   \
        .parameters = "I",                                                               \
    }
enum { REMOVES = WEIR_PG_REMOVES };
const struct weir_sql weir_pg_sql_remove[REMOVES] = {
    /*
     * What they have used stays used: it belongs to no execution from now on
     * (budget_store.h). First the budgets are locked, so that what is read then is all of
     * it.
     */
    {
        .name = "lock budgets",
        .text = "SELECT k.no FROM (SELECT DISTINCT s.budget FROM unnest({1}) AS u (no)"
                " CROSS JOIN LATERAL (SELECT budget FROM {p}_spent x WHERE x.no = u.no"
                " AND x.dimension <> '') s WHERE " FEW " ORDER BY s.budget) b"
                " CROSS JOIN LATERAL (SELECT no FROM {p}_budget y WHERE y.no = b.budget"
                " FOR NO KEY UPDATE) k",
        .parameters = "I",
    },
    {
        .name = "fold spent",
        .text = "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
                " SELECT 0, s.budget, s.dimension,"
                " CAST(sum(s.amount) AS bigint), b.era"
                " FROM unnest({1}) AS u (no) CROSS JOIN LATERAL (SELECT budget,"
                " dimension, amount, era FROM {p}_spent x WHERE x.no = u.no"
                " AND x.dimension <> '') s CROSS JOIN LATERAL (SELECT era"
                " FROM {p}_budget y WHERE y.no = s.budget LIMIT 1) b"
                " WHERE s.era = b.era AND " FEW " GROUP BY s.budget, s.dimension, b.era"
                " ORDER BY s.budget, s.dimension" WEIR_FOLD_INTO_NOBODYS,
        .parameters = "I",
    },
    WEIR_REMOVES(REMOVE)};

/* ---- arrays ------------------------------------------------------------------------ */

void weir_pg_arrays(const struct weir_columns *table, const enum weir_type *types,
                    size_t width, struct weir_value *out)
{
    for (size_t i = 0; i < width; i++)
        out[i] = weir_columns_array(table, i, types[i], 0, table->row_count);
}

static enum weir_status list_numbers(const struct weir_store *self, const int64_t *nos,
                                     size_t count, struct weir_columns *out,
                                     struct weir_error *error)
{
    enum weir_status status = weir_columns_init(out, self->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(out, 0, i, weir_integer(nos[i]));
    return status;
}

#define NUMBERS(table)                                                                   \
    weir_columns_array((table), 0, WEIR_TYPE_INTEGER, 0, (table)->row_count)

/* ---- loading ----------------------------------------------------------------------- */

static enum weir_status load(const struct weir_store *self,
                             struct weir_connection *connection, const int64_t *nos,
                             size_t count, struct weir_execution_records *out,
                             struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    struct weir_columns table;
    enum weir_status status;

    if (count == 1) {
        status = weir_connection_query(connection, &weir_pg_sql_load_one,
                                       VALUES(weir_integer(nos[0])), &rows, error);
        return weir_execution_records_add_all(out, status, &rows, error);
    }
    status = list_numbers(self, nos, count, &table, error);
    if (status == WEIR_OK)
        status = weir_connection_query(connection, &weir_pg_sql_load,
                                       VALUES(NUMBERS(&table)), &rows, error);
    status = weir_execution_records_add_all(out, status, &rows, error);
    weir_columns_fini(&table);
    return status;
}

static enum weir_status load_by_id(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_execution_id *ids, size_t count,
                                   struct weir_execution_records *out,
                                   struct weir_error *error)
{
    static const enum weir_type TYPES[] = {WEIR_TYPE_BYTES, WEIR_TYPE_INTEGER};
    struct weir_rows rows = {.connection = NULL};
    struct weir_value values[2];
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, self->heap, 2, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_columns_set(&table, 0, i, weir_bytes(ids[i].uuid, WEIR_UUID_SIZE));
        weir_columns_set(&table, 1, i, weir_integer(ids[i].partition));
    }
    if (status == WEIR_OK) {
        weir_pg_arrays(&table, TYPES, 2, values);
        status = weir_connection_query(connection, &weir_pg_sql_load_by_id, values, 2,
                                       &rows, error);
    }
    status = weir_execution_records_add_all(out, status, &rows, error);
    weir_columns_fini(&table);
    return status;
}

/* ---- picking ----------------------------------------------------------------------- */

static enum weir_status pick_of_one(struct weir_connection *connection,
                                    const struct weir_ready_query *query,
                                    struct weir_execution_records *out,
                                    struct weir_error *error)
{
    bool inputs = query->inputs && query->limit <= INPUT_ROWS_MAX;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, inputs ? &weir_pg_sql_ready_with_inputs : &weir_pg_sql_ready,
        VALUES(weir_integer(query->lanes[0]), weir_integer(query->capability_sets[0]),
               weir_integer((int64_t)query->limit)),
        &rows, error);

    return weir_execution_records_add_all(out, status, &rows, error);
}

/* Where to look for what is ready: statements, and the values in front of a limit and a
 * depth. */
struct heads {
    const struct weir_sql *pick;
    const struct weir_sql *beyond;
    struct weir_value values[WEIR_FLOOR_VALUES + 2];
    size_t width;
    struct weir_columns lanes; /* those of all lanes and sets; */
    struct weir_columns capability_sets;
    struct weir_floor_ranges ranges; /* or these */
};

static enum weir_status look(struct weir_connection *connection, struct heads *heads,
                             const struct weir_ready_query *query, size_t depth,
                             struct weir_execution_records *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status;

    heads->values[heads->width] = weir_integer((int64_t)query->limit);
    heads->values[heads->width + 1] = weir_integer((int64_t)depth);
    status = weir_connection_query(connection, heads->pick, heads->values,
                                   heads->width + 2, &rows, error);
    weir_execution_records_reset(out);
    return weir_execution_records_add_all(out, status, &rows, error);
}

static enum weir_status is_more(struct weir_connection *connection, struct heads *heads,
                                size_t depth, bool *out, struct weir_error *error)
{
    int64_t no = 0;
    enum weir_status status;

    heads->values[heads->width] = weir_integer((int64_t)depth);
    status = weir_connection_query_integer(connection, heads->beyond, heads->values,
                                           heads->width + 1, &no, error);
    *out = status == WEIR_OK;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* Looking deeper finds again what is locked by us, so each look takes the place of the
 * one before. */
static enum weir_status pick_of_many(struct weir_connection *connection,
                                     struct heads *heads,
                                     const struct weir_ready_query *query,
                                     struct weir_execution_records *out,
                                     struct weir_error *error)
{
    size_t depth =
        query->limit * LOOK_FIRST > LOOK_MIN ? query->limit * LOOK_FIRST : LOOK_MIN;
    enum weir_status status = look(connection, heads, query, depth, out, error);
    bool more = true;

    for (int i = 1; i < LOOKS_MAX && status == WEIR_OK && out->count < query->limit;
         i++) {
        status = is_more(connection, heads, depth, &more, error);
        if (status != WEIR_OK || !more)
            break;
        depth *= LOOK_GROWTH;
        status = look(connection, heads, query, depth, out, error);
    }
    return status;
}

/* Lanes and sets as arrays. */
static enum weir_status list_heads(struct heads *self, const struct weir_store *store,
                                   const struct weir_ready_query *query,
                                   struct weir_error *error)
{
    enum weir_status status =
        list_numbers(store, query->lanes, query->lane_count, &self->lanes, error);

    if (status == WEIR_OK)
        status = list_numbers(store, query->capability_sets, query->capability_set_count,
                              &self->capability_sets, error);
    if (status != WEIR_OK)
        return status;
    self->pick = &weir_pg_sql_ready_of_many;
    self->beyond = &weir_pg_sql_ready_beyond;
    self->values[0] = NUMBERS(&self->lanes);
    self->values[1] = NUMBERS(&self->capability_sets);
    self->width = 2;
    return WEIR_OK;
}

static void use_ranges(struct heads *self, const struct weir_ready_query *query)
{
    bool inputs = query->inputs && query->limit <= INPUT_ROWS_MAX;

    self->pick = inputs ? &weir_pg_sql_ready_from_floors_with_inputs
                        : &weir_pg_sql_ready_from_floors;
    self->beyond = &weir_pg_sql_ready_beyond_floors;
    self->width = WEIR_FLOOR_VALUES;
    for (size_t i = 0; i < WEIR_FLOOR_VALUES; i++)
        self->values[i] = self->ranges.values[i];
}

/* From floors on, where there are any. */
static enum weir_status heads_init(struct heads *self, const struct weir_store *store,
                                   const struct weir_ready_query *query,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *self = (struct heads){
        .lanes = {.heap = store->heap},
        .capability_sets = {.heap = store->heap},
        .ranges = {.ranges = {.heap = store->heap}, .gaps = {.heap = store->heap}}};
    if (query->floors != NULL)
        status = weir_floor_ranges_init(&self->ranges, store->heap, query, error);
    if (status != WEIR_OK)
        return status;
    if (self->ranges.range_count == 0)
        return list_heads(self, store, query, error);
    use_ranges(self, query);
    return WEIR_OK;
}

static void heads_fini(struct heads *self)
{
    weir_columns_fini(&self->capability_sets);
    weir_columns_fini(&self->lanes);
    weir_floor_ranges_fini(&self->ranges);
}

static enum weir_status pick_ready(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_ready_query *query,
                                   struct weir_execution_records *out,
                                   struct weir_error *error)
{
    struct heads heads;
    enum weir_status status;

    if (query->lane_count == 1 && query->capability_set_count == 1 &&
        query->floors == NULL)
        return pick_of_one(connection, query, out, error);
    status = heads_init(&heads, self, query, error);
    if (status == WEIR_OK)
        status = pick_of_many(connection, &heads, query, out, error);
    heads_fini(&heads);
    return status;
}

static enum weir_status is_ready(const struct weir_store *self,
                                 struct weir_connection *connection,
                                 const struct weir_ready_query *query, bool *out,
                                 struct weir_error *error)
{
    struct heads heads;
    enum weir_status status = heads_init(&heads, self, query, error);

    if (status == WEIR_OK)
        status = is_more(connection, &heads, 0, out, error);
    heads_fini(&heads);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

/* As many are written as are there: they are locked. */
static enum weir_status append_rows(const struct weir_store *self,
                                    const struct weir_execution_record *rows,
                                    size_t count, struct weir_commit_batch *commit_batch,
                                    struct weir_error *error)
{
    struct weir_value one[WEIR_WRITE_WIDTH];
    struct weir_columns table;
    enum weir_status status;

    if (count == 1) {
        weir_write_lay_out(&rows[0].row, one, 1);
        weir_commit_batch_add(commit_batch, &weir_store_sql_write_one, one,
                              WEIR_WRITE_WIDTH);
        return WEIR_OK;
    }
    status = weir_columns_init(&table, self->heap, WEIR_WRITE_WIDTH, count, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        weir_write_lay_out(&rows[i].row, table.cells + i, count);
    weir_commit_batch_add_table(commit_batch, &weir_pg_sql_write, &table,
                                weir_write_types, WEIR_WRITE_WIDTH);
    return WEIR_OK;
}

static enum weir_status rewrite(const struct weir_store *self,
                                struct weir_connection *connection,
                                const struct weir_rewrite *rewrite,
                                struct weir_commit_batch *commit_batch,
                                struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (rewrite->row_count > 0)
        status =
            append_rows(self, rewrite->rows, rewrite->row_count, commit_batch, error);
    if (status == WEIR_OK && rewrite->attempt_count > 0)
        status = weir_pg_append_attempts(self, rewrite->attempts, rewrite->attempt_count,
                                         commit_batch, error);
    if (status == WEIR_OK && rewrite->result_count > 0)
        status = weir_pg_append_results(self, connection, rewrite->results,
                                        rewrite->result_count, commit_batch, error);
    return status;
}

static enum weir_status remove_all(const struct weir_store *self,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, struct weir_error *error)
{
    struct weir_step steps[REMOVES];
    struct weir_value numbers;
    struct weir_columns table;
    enum weir_status status = list_numbers(self, nos, count, &table, error);

    if (status == WEIR_OK) {
        numbers = NUMBERS(&table);
        for (size_t i = 0; i < REMOVES; i++)
            steps[i] = (struct weir_step){&weir_pg_sql_remove[i], &numbers, 1, 0};
        status = weir_connection_execute_steps(connection, steps, REMOVES, error);
    }
    weir_columns_fini(&table);
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

static enum weir_status query_numbers(const struct weir_store *self,
                                      struct weir_connection *connection,
                                      const struct weir_sql *sql, const int64_t *nos,
                                      size_t count, struct weir_rows *rows,
                                      struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status = list_numbers(self, nos, count, &table, error);

    *rows = (struct weir_rows){.connection = NULL};
    if (status == WEIR_OK)
        status =
            weir_connection_query(connection, sql, VALUES(NUMBERS(&table)), rows, error);
    weir_columns_fini(&table);
    return status;
}

/* Some at a time: what comes back is in memory as a whole. */
static enum weir_status visit_inputs(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const int64_t *nos, size_t count,
                                     weir_input_visit_fn visit, void *state,
                                     struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t begin = 0; begin < count && status == WEIR_OK; begin += VISIT_ROWS_MAX) {
        size_t rest = count - begin;
        struct weir_rows rows;

        status =
            query_numbers(self, connection, &weir_pg_sql_inputs, nos + begin,
                          rest < VISIT_ROWS_MAX ? rest : VISIT_ROWS_MAX, &rows, error);
        while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
            struct weir_work_input input = {begin + (size_t)weir_rows_integer(&rows, 0) -
                                                1,
                                            weir_rows_bytes(&rows, 1)};

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
    struct weir_rows rows;
    enum weir_status status =
        query_numbers(self, connection, &weir_pg_sql_tags, nos, count, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_work_tag tag = {(size_t)weir_rows_integer(&rows, 0) - 1,
                                    weir_rows_text(&rows, 1), weir_rows_text(&rows, 2)};

        status = visit(state, &tag, error);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

const struct weir_store_ops weir_store_pg = {
    .insert = weir_pg_insert,
    .load = load,
    .load_by_id = load_by_id,
    .pick_ready = pick_ready,
    .is_ready = is_ready,
    .rewrite = rewrite,
    .visit_inputs = visit_inputs,
    .visit_tags = visit_tags,
    .remove = remove_all,
};
