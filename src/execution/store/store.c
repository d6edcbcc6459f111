/*
 * store.c - see store.h: what both engines do alike.
 */
#include "execution/store/store.h"

#include <string.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/heap.h"
#include "execution/store/store_statements.h"

/* Whose: parameters 3 to 6, of `e`. The tag is looked up for each row; EXISTS would let
 * PostgreSQL read all that have it. */
#define FILTER                                                                           \
    " AND ({3} < 0 OR e.part = {3}) AND ({4} = '' OR e.namespace = {4})"                 \
    " AND ({5} = '' OR (SELECT 1 FROM {p}_tag t WHERE t.no = e.no AND t.key = {5}"       \
    " AND t.value = {6} LIMIT 1) IS NOT NULL)"

/* Each by the partial index of its kind, in its order. Repeating finds what is still
 * due. */
#define DUE_SQLITE(condition, time, more)                                                \
    {                                                                                    \
        .name = "pick due",                                                              \
        .text =                                                                          \
            "SELECT " WEIR_EXECUTION_COLUMNS " FROM {p}_execution e WHERE " condition    \
            " AND " time " <= {1}" more FILTER " ORDER BY " time ", no LIMIT {2}",       \
        .parameters = "iiittt",                                                          \
    }

/*
 * First their numbers, by the index: how many are wanted, and of which filter, is hidden
 * from the planner, which would otherwise sort all that are due whenever it expects fewer
 * than are wanted. Then the rows, by the primary key, as far as they are wanted and not
 * locked. Whether they are still due is asked in words that do not fit the partial
 * indexes: a planner that believes the table to be empty would walk one of them for each
 * row.
 */
#define DUE_PG(condition, time, again)                                                   \
    {                                                                                    \
        .name = "pick due",                                                              \
        .text = "SELECT " WEIR_EXECUTION_COLUMNS " FROM (SELECT no FROM {p}_execution"   \
                " WHERE " condition " AND " time " <= {1} ORDER BY " time ", no"         \
                " LIMIT (SELECT 9223372036854775807)) d"                                 \
                " CROSS JOIN LATERAL (SELECT * FROM {p}_execution e WHERE e.no = d.no"   \
                " AND " again " AND e." time " + 0 <= {1}" FILTER                        \
                " FOR NO KEY UPDATE SKIP LOCKED) e LIMIT {2}",                           \
        .parameters = "iiittt",                                                          \
    }
#define ATTEMPT_GOES_ON " AND (attempt_deadline_us = 0 OR attempt_deadline_us > {1})"

const struct weir_sql weir_store_sql_due[WEIR_DUE_KINDS][WEIR_ENGINE_COUNT] = {
    [WEIR_DUE_DELAYED] = {[WEIR_SQLITE] = DUE_SQLITE(WEIR_IS_DELAYED, "due_us", ""),
                          [WEIR_POSTGRESQL] =
                              DUE_PG(WEIR_IS_DELAYED, "due_us", "e.state + 0 = 2")},
    [WEIR_DUE_LEASE] = {[WEIR_SQLITE] =
                            DUE_SQLITE(WEIR_IS_ACTIVE, "lease_us", ATTEMPT_GOES_ON),
                        [WEIR_POSTGRESQL] = DUE_PG(WEIR_IS_ACTIVE, "lease_us",
                                                   "e.state + 0 = 4" ATTEMPT_GOES_ON)},
    [WEIR_DUE_ATTEMPT] = {[WEIR_SQLITE] = DUE_SQLITE(WEIR_HAS_ATTEMPT_DEADLINE,
                                                     "attempt_deadline_us", ""),
                          [WEIR_POSTGRESQL] = DUE_PG(
                              WEIR_HAS_ATTEMPT_DEADLINE, "attempt_deadline_us",
                              "e.state + 0 = 4 AND e.attempt_deadline_us + 0 > 0")},
    [WEIR_DUE_WAIT] = {[WEIR_SQLITE] = DUE_SQLITE(WEIR_HAS_WAIT_LIMIT, "due_us", ""),
                       [WEIR_POSTGRESQL] =
                           DUE_PG(WEIR_HAS_WAIT_LIMIT, "due_us",
                                  "e.state + 0 = 5 AND e.due_us + 0 > 0")},
    [WEIR_DUE_DEADLINE] = {[WEIR_SQLITE] =
                               DUE_SQLITE(WEIR_HAS_DEADLINE, "deadline_us", ""),
                           [WEIR_POSTGRESQL] =
                               DUE_PG(WEIR_HAS_DEADLINE, "deadline_us",
                                      "e.state + 0 < 10 AND e.deadline_us + 0 > 0")},
    [WEIR_DUE_ENDED] = {[WEIR_SQLITE] = DUE_SQLITE(WEIR_IS_OVER_ALONE, "ended_us", ""),
                        [WEIR_POSTGRESQL] =
                            DUE_PG(WEIR_IS_OVER_ALONE, "ended_us",
                                   "e.state + 0 >= 10 AND e.flow + 0 = 0")},
};

/* The first entry of the index behind {1} that the filter lets pass; likewise. */
#define FIRST_SQLITE(condition, time, more)                                              \
    "(SELECT " time " FROM {p}_execution e WHERE " condition " AND " time                \
    " > {1}" more FILTER " ORDER BY " time ", no LIMIT {2})"
#define FIRST_PG(condition, time, more)                                                  \
    "(SELECT " time " FROM (SELECT * FROM {p}_execution WHERE " condition " AND " time   \
    " > {1} ORDER BY " time                                                              \
    ", no LIMIT (SELECT 9223372036854775807)) e WHERE true" more FILTER " LIMIT {2})"

/* A lease that ends behind its attempt's deadline will be the attempt's to end. */
#define LEASE_COMES_FIRST                                                                \
    " AND (attempt_deadline_us = 0 OR attempt_deadline_us > lease_us)"

/* Of each kind, in the words of an engine. */
#define FIRST_DELAYED(FIRST) FIRST(WEIR_IS_DELAYED, "due_us", "")
#define FIRST_LEASE(FIRST) FIRST(WEIR_IS_ACTIVE, "lease_us", LEASE_COMES_FIRST)
#define FIRST_ATTEMPT(FIRST) FIRST(WEIR_HAS_ATTEMPT_DEADLINE, "attempt_deadline_us", "")
#define FIRST_WAIT(FIRST) FIRST(WEIR_HAS_WAIT_LIMIT, "due_us", "")
#define FIRST_DEADLINE(FIRST) FIRST(WEIR_HAS_DEADLINE, "deadline_us", "")
#define FIRST_ENDED(FIRST) FIRST(WEIR_IS_OVER_ALONE, "ended_us", "")

/* With the clock, also when there is none. */
#define NEXT(FIRST_OF_KIND)                                                              \
    {                                                                                    \
        [WEIR_SQLITE] = {.name = "next due",                                             \
                         .text = "SELECT " FIRST_OF_KIND(FIRST_SQLITE) ", {now}",        \
                         .parameters = "iiittt"},                                        \
        [WEIR_POSTGRESQL] = {.name = "next due",                                         \
                             .text = "SELECT " FIRST_OF_KIND(FIRST_PG) ", {now}",        \
                             .parameters = "iiittt"},                                    \
    }
const struct weir_sql weir_store_sql_next[WEIR_DUE_KINDS][WEIR_ENGINE_COUNT] = {
    [WEIR_DUE_DELAYED] = NEXT(FIRST_DELAYED),   [WEIR_DUE_LEASE] = NEXT(FIRST_LEASE),
    [WEIR_DUE_ATTEMPT] = NEXT(FIRST_ATTEMPT),   [WEIR_DUE_WAIT] = NEXT(FIRST_WAIT),
    [WEIR_DUE_DEADLINE] = NEXT(FIRST_DEADLINE), [WEIR_DUE_ENDED] = NEXT(FIRST_ENDED),
};

/* By the index of those. Whose they are does not matter. */
#define FIRST_SIBLINGS                                                                   \
    "(SELECT cancel_us FROM {p}_edge_group WHERE cancel_us > 0 AND cancel_us > {1}"      \
    " ORDER BY cancel_us LIMIT {2})"
static const struct weir_sql SQL_NEXT_SIBLINGS = {
    .name = "next due",
    .text = "SELECT " FIRST_SIBLINGS ", {now}",
    .parameters = "ii",
};

/* In the order of the kinds. */
#define FIRST_CLAIMED(FIRST) FIRST_LEASE(FIRST) ", " FIRST_ATTEMPT(FIRST)
#define FIRST_WAITING(FIRST) FIRST_WAIT(FIRST) ", " FIRST_DEADLINE(FIRST)
#define NEXT_OF_ALL(FIRST)                                                               \
    {                                                                                    \
        .name = "next due",                                                              \
        .text = "SELECT " FIRST_DELAYED(FIRST) ", " FIRST_CLAIMED(                       \
            FIRST) ", " FIRST_WAITING(FIRST) ", " FIRST_SIBLINGS ", {now}",              \
        .parameters = "iiittt",                                                          \
    }
const struct weir_sql weir_store_sql_next_times[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = NEXT_OF_ALL(FIRST_SQLITE),
    [WEIR_POSTGRESQL] = NEXT_OF_ALL(FIRST_PG),
};

/* By the primary key, in words that do not fit the partial indexes, as above. Repeating
 * writes the same. */
const struct weir_sql weir_store_sql_progress = {
    .name = "set progress",
    .text = "UPDATE {p}_execution SET percent = {4}, told = {5} WHERE no = {1}"
            " AND uuid = {2} AND epoch = {3} AND state + 0 = 4 AND lease_us + 0 > {now}"
            " AND " WEIR_IS_KNOWN,
    .parameters = "ibiit",
};

/* By the index on until_us; keys that a transaction is taking anew are left alone. */
const struct weir_sql weir_store_sql_forget_keys[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "forget keys",
                     .text = "DELETE FROM {p}_idempotency WHERE (scope, key) IN"
                             " (SELECT scope, key FROM {p}_idempotency"
                             " WHERE until_us <= {1} ORDER BY until_us LIMIT {2})",
                     .parameters = "ii"},
    [WEIR_POSTGRESQL] = {.name = "forget keys",
                         .text = "DELETE FROM {p}_idempotency i USING"
                                 " (SELECT scope, key FROM {p}_idempotency"
                                 " WHERE until_us >= 0 AND until_us <= {1}"
                                 " ORDER BY until_us LIMIT (SELECT {2})"
                                 " FOR UPDATE SKIP LOCKED) d"
                                 " WHERE i.scope = d.scope AND i.key = d.key",
                         .parameters = "ii"},
};

enum weir_status weir_store_init(struct weir_store *self, const struct weir_heap *heap,
                                 enum weir_engine engine,
                                 struct weir_dictionary *dictionary,
                                 struct weir_error *error)
{
    *self = (struct weir_store){.heap = heap, .dictionary = dictionary};
    switch (engine) {
    case WEIR_SQLITE:
        self->ops = &weir_store_sqlite;
        return WEIR_OK;
    case WEIR_POSTGRESQL:
        self->ops = &weir_store_pg;
        return WEIR_OK;
    case WEIR_MARIADB:
        break;
    }
    return weir_error_set(error, WEIR_INVALID,
                          "the execution engine does not work on MariaDB");
}

enum weir_status weir_store_insert_with_commit_batch(
    const struct weir_store *self, struct weir_connection *connection,
    struct weir_new_execution *items, size_t count, int64_t now_us,
    struct weir_commit_batch *commit_batch, struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        items[i].no = 0;
        items[i].duplicate = false;
        items[i].stored_id = items[i].id;
        memcpy(items[i].stored_digest, items[i].digest, WEIR_DIGEST_SIZE);
    }
    return self->ops->insert(self, connection, items, count, now_us, commit_batch, error);
}

enum weir_status weir_store_insert(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   struct weir_new_execution *items, size_t count,
                                   int64_t now_us, struct weir_error *error)
{
    struct weir_commit_batch *commit_batch;
    enum weir_status status = weir_commit_batch_create(self->heap, &commit_batch, error);

    if (status == WEIR_OK)
        status = weir_store_insert_with_commit_batch(self, connection, items, count,
                                                     now_us, commit_batch, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(commit_batch, connection, error);
    weir_commit_batch_destroy(commit_batch);
    return status;
}

/* ---- loading ----------------------------------------------------------------------- */

/* Rows of one load that have a term, by its number, as far as they do not displace each
 * other. */
struct seen {
    size_t rows[64]; /* one more than the index; 0: none */
};

static size_t *seen_at(struct seen *self, int64_t term)
{
    return &self->rows[(uint64_t)term % COUNT_OF(self->rows)];
}

/* A term that is not known: whose, and in which column. */
static enum weir_status blame(enum weir_status status, const char *column,
                              const struct weir_execution_record *stored,
                              struct weir_error *error)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (status == WEIR_SCHEMA)
        weir_error_prefix(error, "execution %s: its %s",
                          weir_execution_id_format(&stored->row.id, id), column);
    return status;
}

static enum weir_status resolve_policy(const struct weir_store *self,
                                       struct weir_connection *connection,
                                       struct weir_execution_records *records,
                                       size_t index, struct seen *seen,
                                       struct weir_error *error)
{
    struct weir_execution_record *stored = &records->rows[index];
    size_t *before = seen_at(seen, stored->policy);

    if (*before > 0 && records->rows[*before - 1].policy == stored->policy) {
        stored->row.policy = records->rows[*before - 1].row.policy;
        return WEIR_OK;
    }
    *before = index + 1;
    return blame(weir_dictionary_policy(self->dictionary, connection, stored->policy,
                                        &stored->row.policy, error),
                 "policy", stored, error);
}

static enum weir_status resolve_lane(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     struct weir_execution_records *records, size_t index,
                                     struct seen *seen, struct weir_error *error)
{
    struct weir_execution_record *stored = &records->rows[index];
    size_t *before = seen_at(seen, stored->lane);
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    enum weir_status status;

    if (*before > 0 && records->rows[*before - 1].lane == stored->lane) {
        stored->lane_name = records->rows[*before - 1].lane_name;
        return WEIR_OK;
    }
    *before = index + 1;
    status = blame(weir_dictionary_text(self->dictionary, connection, WEIR_TERM_LANE,
                                        stored->lane, buffer, &stored->lane_name, error),
                   "lane", stored, error);
    return status == WEIR_OK
               ? weir_execution_records_copy(records, &stored->lane_name, error)
               : status;
}

/* What the numbers of terms stand for. In a transaction on SQLite the dictionary
 * remembers nothing, and a batch of rows has few different terms. */
enum weir_status weir_store_resolve(const struct weir_store *self,
                                    struct weir_connection *connection,
                                    struct weir_execution_records *records,
                                    struct weir_error *error)
{
    struct seen policies = {{0}};
    struct seen lanes = {{0}};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < records->count && status == WEIR_OK; i++) {
        status = resolve_policy(self, connection, records, i, &policies, error);
        if (status == WEIR_OK)
            status = resolve_lane(self, connection, records, i, &lanes, error);
    }
    return status;
}

enum weir_status weir_store_load(const struct weir_store *self,
                                 struct weir_connection *connection, const int64_t *nos,
                                 size_t count, struct weir_execution_records *out,
                                 struct weir_error *error)
{
    enum weir_status status;

    weir_execution_records_reset(out);
    status = self->ops->load(self, connection, nos, count, out, error);
    return status == WEIR_OK ? weir_store_resolve(self, connection, out, error) : status;
}

enum weir_status weir_store_load_by_id(const struct weir_store *self,
                                       struct weir_connection *connection,
                                       const struct weir_execution_id *ids, size_t count,
                                       struct weir_execution_records *out,
                                       struct weir_error *error)
{
    enum weir_status status;

    weir_execution_records_reset(out);
    status = self->ops->load_by_id(self, connection, ids, count, out, error);
    return status == WEIR_OK ? weir_store_resolve(self, connection, out, error) : status;
}

enum weir_status weir_store_pick_ready(const struct weir_store *self,
                                       struct weir_connection *connection,
                                       const struct weir_ready_query *query,
                                       struct weir_execution_records *out,
                                       struct weir_error *error)
{
    enum weir_status status;

    weir_execution_records_reset(out);
    status = self->ops->pick_ready(self, connection, query, out, error);
    return status == WEIR_OK ? weir_store_resolve(self, connection, out, error) : status;
}

enum weir_status weir_store_is_ready(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const struct weir_ready_query *query, bool *out,
                                     struct weir_error *error)
{
    return self->ops->is_ready(self, connection, query, out, error);
}

#define DUE_VALUES(query, limit)                                                         \
    VALUES(weir_integer((query)->now_us), weir_integer((int64_t)(limit)),                \
           weir_integer((query)->filter.in_partition ? (query)->filter.partition : -1),  \
           weir_text((query)->filter.name_space), weir_text((query)->filter.tag_key),    \
           weir_text((query)->filter.tag_value))

enum weir_status weir_store_pick_due(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const struct weir_due_query *query,
                                     struct weir_execution_records *out,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_store_sql_due[query->kind][weir_connection_engine(connection)],
        DUE_VALUES(query, query->limit), &rows, error);

    weir_execution_records_reset(out);
    status = weir_execution_records_add_all(out, status, &rows, error);
    return status == WEIR_OK ? weir_store_resolve(self, connection, out, error) : status;
}

static enum weir_status query_next(struct weir_connection *connection,
                                   const struct weir_due_query *query,
                                   struct weir_rows *rows, struct weir_error *error)
{
    if (query->kind == WEIR_DUE_SIBLINGS)
        return weir_connection_query(connection, &SQL_NEXT_SIBLINGS,
                                     VALUES(weir_integer(query->now_us), weir_integer(1)),
                                     rows, error);
    return weir_connection_query(
        connection, &weir_store_sql_next[query->kind][weir_connection_engine(connection)],
        DUE_VALUES(query, 1), rows, error);
}

/* Of a column of the row at hand. */
static int64_t time_or_never(struct weir_rows *rows, size_t column)
{
    return weir_rows_is_null(rows, column) ? INT64_MAX : weir_rows_integer(rows, column);
}

enum weir_status weir_store_next_due(struct weir_connection *connection,
                                     const struct weir_due_query *query,
                                     struct weir_due_time *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = query_next(connection, query, &rows, error);

    *out = (struct weir_due_time){.due_us = INT64_MAX};
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->due_us = time_or_never(&rows, 0);
        out->now_us = weir_rows_integer(&rows, 1);
    }
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_store_next_times(struct weir_connection *connection,
                                       const struct weir_due_query *query,
                                       struct weir_due_times *out,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_store_sql_next_times[weir_connection_engine(connection)],
        DUE_VALUES(query, 1), &rows, error);

    for (int i = 0; i < WEIR_DUE_KINDS; i++)
        out->due_us[i] = INT64_MAX;
    out->now_us = 0;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        for (int i = 0; i <= WEIR_DUE_SIBLINGS; i++)
            out->due_us[i] = time_or_never(&rows, (size_t)i);
        out->now_us = weir_rows_integer(&rows, WEIR_DUE_SIBLINGS + 1);
    }
    weir_rows_close(&rows);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

enum weir_status weir_store_write(const struct weir_store *self,
                                  struct weir_connection *connection,
                                  const struct weir_execution_record *rows, size_t count,
                                  struct weir_error *error)
{
    return count == 0 ? WEIR_OK : self->ops->write(self, connection, rows, count, error);
}

enum weir_status weir_store_add_attempts(const struct weir_store *self,
                                         struct weir_connection *connection,
                                         const struct weir_ended_attempt *attempts,
                                         size_t count, struct weir_error *error)
{
    return count == 0 ? WEIR_OK
                      : self->ops->add_attempts(self, connection, attempts, count, error);
}

enum weir_status weir_store_put_results(const struct weir_store *self,
                                        struct weir_connection *connection,
                                        const struct weir_new_result *results,
                                        size_t count, struct weir_error *error)
{
    return count == 0 ? WEIR_OK
                      : self->ops->put_results(self, connection, results, count, error);
}

enum weir_status weir_store_rewrite(const struct weir_store *self,
                                    struct weir_connection *connection,
                                    const struct weir_rewrite *rewrite,
                                    struct weir_commit_batch *commit_batch,
                                    struct weir_error *error)
{
    return self->ops->rewrite(self, connection, rewrite, commit_batch, error);
}

enum weir_status weir_store_clock(struct weir_connection *connection,
                                  const struct weir_execution_records *records,
                                  int64_t *out_us, struct weir_error *error)
{
    *out_us = records->clock_us;
    return *out_us > 0 ? WEIR_OK : weir_connection_clock(connection, out_us, error);
}

enum weir_status weir_store_visit_inputs(const struct weir_store *self,
                                         struct weir_connection *connection,
                                         const int64_t *nos, size_t count,
                                         weir_input_visit_fn visit, void *state,
                                         struct weir_error *error)
{
    return count == 0 ? WEIR_OK
                      : self->ops->visit_inputs(self, connection, nos, count, visit,
                                                state, error);
}

enum weir_status weir_store_visit_tags(const struct weir_store *self,
                                       struct weir_connection *connection,
                                       const int64_t *nos, size_t count,
                                       weir_tag_visit_fn visit, void *state,
                                       struct weir_error *error)
{
    return count == 0
               ? WEIR_OK
               : self->ops->visit_tags(self, connection, nos, count, visit, state, error);
}

enum weir_status weir_store_remove(const struct weir_store *self,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, struct weir_error *error)
{
    return count == 0 ? WEIR_OK : self->ops->remove(self, connection, nos, count, error);
}

enum weir_status weir_store_set_progress(struct weir_connection *connection,
                                         const struct weir_claim *claim, int32_t percent,
                                         struct weir_str text, bool *ours,
                                         struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_store_sql_progress,
        VALUES(weir_integer(claim->no), weir_bytes(claim->id.uuid, WEIR_UUID_SIZE),
               weir_integer(claim->epoch), weir_integer(percent), weir_text(text)),
        &changed, error);

    *ours = status == WEIR_OK && changed == 1;
    return status;
}

enum weir_status weir_store_forget_keys(struct weir_connection *connection,
                                        int64_t now_us, size_t limit, size_t *removed,
                                        struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_store_sql_forget_keys[weir_connection_engine(connection)],
        VALUES(weir_integer(now_us), weir_integer((int64_t)limit)), &changed, error);

    *removed = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}
