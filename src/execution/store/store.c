/*
 * store.c - see store.h: what both engines do alike.
 */
#include "execution/store/store.h"

#include <string.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/heap.h"
#include "db/traits.h"
#include "execution/engine.h"
#include "execution/store/store_statements.h"

/* By the primary key, in words that do not fit the partial indexes
 * (postgres/engine.c). Repeating writes the same. */
const struct weir_sql weir_store_sql_progress = {
    .name = "set progress",
    .text = "UPDATE {p}_execution SET percent = {4}, progress_text = {5} WHERE no = {1}"
            " AND uuid = {2} AND epoch = {3} AND state + 0 = 4 AND lease_us + 0 > {now}"
            " AND " WEIR_IS_KNOWN,
    .parameters = "ibiit",
};

enum weir_status weir_store_init(struct weir_store *self, const struct weir_heap *heap,
                                 enum weir_engine engine,
                                 struct weir_dictionary *dictionary,
                                 struct weir_error *error)
{
    const struct weir_execution_engine *operations = weir_execution_engine_for(engine);

    if (operations == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "the execution engine does not work on %s",
                              weir_engine_traits(engine)->title);
    *self = (struct weir_store){operations->store, heap, dictionary};
    return WEIR_OK;
}

enum weir_status weir_store_insert(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   struct weir_new_execution *items, size_t count,
                                   int64_t now_us, struct weir_commit_batch *commit_batch,
                                   struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        items[i].no = 0;
        items[i].duplicate = false;
        items[i].stored_id = items[i].id;
        memcpy(items[i].stored_digest, items[i].digest, WEIR_DIGEST_SIZE);
    }
    return self->ops->insert(self, connection, items, count, now_us, commit_batch, error);
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
    weir_integer((query)->now_us), weir_integer((int64_t)(limit)),                       \
        weir_integer((query)->filter.in_partition ? (query)->filter.partition : -1),     \
        weir_text((query)->filter.name_space), weir_text((query)->filter.tag_key),       \
        weir_text((query)->filter.tag_value)

enum weir_status weir_store_pick_due(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const struct weir_due_query *query,
                                     struct weir_execution_records *out,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_execution_engine_of(connection)->due[query->kind],
        VALUES(DUE_VALUES(query, query->limit)), &rows, error);

    weir_execution_records_reset(out);
    status = weir_execution_records_add_all(out, status, &rows, error);
    return status == WEIR_OK ? weir_store_resolve(self, connection, out, error) : status;
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
    const struct weir_sql *sql = &weir_execution_engine_of(connection)->next[query->kind];
    const struct weir_value values[] = {DUE_VALUES(query, 1)};
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, sql, values, strlen(sql->parameters), &rows, error);

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

/* The columns of next_times, before the clock. */
static const enum weir_due_kind ASKED[] = {
    WEIR_RECONCILERS(WEIR_DUE_VALUE, WEIR_NO_ROW_OF_LIST, WEIR_DUE_VALUE,
                     WEIR_NO_ROW_OF_LIST, WEIR_NO_ROW_OF_LIST)};

enum weir_status weir_store_next_times(struct weir_connection *connection,
                                       const struct weir_due_query *query,
                                       struct weir_due_times *out,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_execution_engine_of(connection)->next_times,
        VALUES(DUE_VALUES(query, 1)), &rows, error);

    for (int i = 0; i < WEIR_DUE_KINDS; i++)
        out->due_us[i] = INT64_MAX;
    out->now_us = 0;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        for (size_t i = 0; i < COUNT_OF(ASKED); i++)
            out->due_us[ASKED[i]] = time_or_never(&rows, i);
        out->now_us = weir_rows_integer(&rows, COUNT_OF(ASKED));
    }
    weir_rows_close(&rows);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

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
        connection, &weir_execution_engine_of(connection)->forget_keys,
        VALUES(weir_integer(now_us), weir_integer((int64_t)limit)), &changed, error);

    *removed = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}
