/*
 * store_read.c - what is read of executions without a lock: for users, and for callers
 * in C.
 *
 * A page costs the same whatever the filter: it looks at a bounded number of rows, and
 * says where it stopped. Only tags and flows have an index of their own; else it is a
 * span of numbers that bounds the work, and gaps between numbers are leapt over.
 */
#include "db/query.h"
#include "execution/store/engine_sql.h"
#include "execution/store/store_columns.h"
#include "execution/store/store_statements.h"

/* By the index on uuid. */
const struct weir_sql weir_store_sql_get = {
    .name = "get execution",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_BELONGING_COLUMNS
            " FROM {p}_execution e WHERE uuid = {1} AND part = {2}",
    .parameters = "bi",
};

/* The same, with the result where an input would be: by its primary key. It is one
 * statement, since both may be removed between two. */
const struct weir_sql weir_store_sql_get_result = {
    .name = "get result",
    .text = "SELECT " WEIR_EXECUTION_COLUMNS WEIR_CLOCK_COLUMN
            ", (SELECT bytes FROM {p}_result r WHERE r.no = e.no), 1 = 0"
            " FROM {p}_execution e WHERE uuid = {1} AND part = {2}",
    .parameters = "bi",
};

/* What is not known is in every page, so that it is met and refused instead of left
 * out. */
#define UNKNOWN INT64_MIN

/* By the primary key, backwards. */
const struct weir_sql weir_store_sql_list = {
    .name = "list executions",
    .text =
        WEIR_LIST_COLUMNS " FROM {p}_execution e" WEIR_WANTED
                          " AND e.no < {1} AND e.no >= {2} ORDER BY e.no DESC LIMIT {3}",
    .parameters = "iiititi",
};

/* By the index on flow: the last one that a page may look at. */
const struct weir_sql weir_store_sql_members_end = {
    .name = "find end of members",
    .text = "SELECT no FROM {p}_execution WHERE flow = {3} AND flow > 0 AND no < {1}"
            " ORDER BY no DESC LIMIT (SELECT 1) OFFSET (SELECT {2})",
    .parameters = "iii",
};

/* By the index on uuid. */
static const struct weir_sql SQL_FLOW = {
    .name = "find flow",
    .text = "SELECT no FROM {p}_flow WHERE uuid = {1} AND state <> 4",
    .parameters = "b",
};

/* By the primary key: the next one that is older. Numbers may have large gaps. */
const struct weir_sql weir_store_sql_older = {
    .name = "find older",
    .text = "SELECT no FROM {p}_execution WHERE no < {1} ORDER BY no DESC LIMIT 1",
    .parameters = "i",
};

/* By the index on key and value: the last one that a page may look at. */
const struct weir_sql weir_store_sql_tagged_end = {
    .name = "find end of page",
    .text = "SELECT no FROM {p}_tag WHERE key = {3} AND value = {4} AND no < {1}"
            " ORDER BY no DESC LIMIT 1 OFFSET {2}",
    .parameters = "iitt",
};

/* By the primary keys. */
const struct weir_sql weir_store_sql_attempts = {
    .name = "read attempts",
    .text =
        "SELECT " WEIR_ATTEMPT_COLUMNS " FROM {p}_attempt WHERE no = {1} ORDER BY number",
    .parameters = "i",
};

/* Terms, with what a worker must have: only people ask for that. */
static enum weir_status resolve(const struct weir_store *self,
                                struct weir_connection *connection,
                                struct weir_execution_records *out,
                                struct weir_error *error)
{
    enum weir_status status = weir_store_resolve(self, connection, out, error);
    char buffer[WEIR_TERM_SIZE_MAX + 1];

    for (size_t i = 0; i < out->count && status == WEIR_OK; i++) {
        struct weir_execution_record *stored = &out->rows[i];

        if (stored->capability_set == 0)
            continue;
        status =
            weir_dictionary_text(self->dictionary, connection, WEIR_TERM_CAPABILITY_SET,
                                 stored->capability_set, buffer, &stored->needs, error);
        if (status == WEIR_OK)
            status = weir_execution_records_copy(out, &stored->needs, error);
    }
    return status;
}

static enum weir_status get_by(struct weir_connection *connection,
                               const struct weir_sql *sql,
                               const struct weir_execution_id *id,
                               struct weir_execution_records *out,
                               struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, sql,
        VALUES(weir_bytes(id->uuid, WEIR_UUID_SIZE), weir_integer(id->partition)), &rows,
        error);

    weir_execution_records_reset(out);
    status = weir_execution_records_add_all(out, status, &rows, error);
    if (status == WEIR_OK && out->count == 0)
        return weir_error_set(error, WEIR_NOT_FOUND, "there is no such execution");
    return status;
}

enum weir_status weir_store_get(const struct weir_store *self,
                                struct weir_connection *connection,
                                const struct weir_execution_id *id,
                                struct weir_execution_records *out,
                                struct weir_error *error)
{
    enum weir_status status = get_by(connection, &weir_store_sql_get, id, out, error);

    return status == WEIR_OK ? resolve(self, connection, out, error) : status;
}

enum weir_status weir_store_get_result(struct weir_connection *connection,
                                       const struct weir_execution_id *id,
                                       struct weir_execution_records *out,
                                       struct weir_error *error)
{
    return get_by(connection, &weir_store_sql_get_result, id, out, error);
}

static bool is_tagged(const struct weir_execution_filter *filter)
{
    return filter->tag_key != NULL && filter->tag_key[0] != '\0';
}

static struct weir_value text_or_empty(const char *text)
{
    return weir_text(weir_str(text != NULL ? text : ""));
}

/* What a filter names, by number: 0 is any. */
struct named {
    int64_t lane;
    int64_t flow;
};

/* The numbers of a page: from `end` on, and below `before`. */
struct span {
    int64_t before;
    int64_t end;
};

enum { COMMON_VALUES = 7 }; /* of the three lists */

static enum weir_status query_page(struct weir_connection *connection,
                                   const struct weir_execution_filter *filter,
                                   const struct span *span, const struct named *named,
                                   struct weir_rows *rows, struct weir_error *error)
{
    const struct weir_execution_engine *engine = weir_execution_engine_of(connection);
    size_t count = COMMON_VALUES;
    struct weir_value values[COMMON_VALUES + 3] = {
        weir_integer(span->before),
        weir_integer(span->end),
        weir_integer((int64_t)filter->count),
        text_or_empty(filter->name_space),
        weir_integer(named->lane),
        text_or_empty(filter->kind),
        weir_integer(filter->states == 0 ? 0 : filter->states | UNKNOWN),
    };

    if (named->flow > 0)
        values[count++] = weir_integer(named->flow);
    if (named->flow > 0 || is_tagged(filter)) {
        values[count++] = text_or_empty(filter->tag_key);
        values[count++] = text_or_empty(filter->tag_value);
    }
    return weir_connection_query(connection,
                                 named->flow > 0     ? &engine->list_members
                                 : is_tagged(filter) ? &engine->list_tagged
                                                     : &weir_store_sql_list,
                                 values, count, rows, error);
}

/* 0: there is none. */
static enum weir_status find_older(struct weir_connection *connection, int64_t than,
                                   int64_t *out, struct weir_error *error)
{
    enum weir_status status = weir_connection_query_integer(
        connection, &weir_store_sql_older, VALUES(weir_integer(than)), out, error);

    if (status == WEIR_NO_ROW)
        *out = 0;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status find_tagged_end(struct weir_connection *connection,
                                        const struct weir_execution_filter *filter,
                                        struct span *span, struct weir_error *error)
{
    enum weir_status status = weir_connection_query_integer(
        connection, &weir_store_sql_tagged_end,
        VALUES(weir_integer(span->before), weir_integer(WEIR_LIST_LOOK_MAX - 1),
               text_or_empty(filter->tag_key), text_or_empty(filter->tag_value)),
        &span->end, error);

    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status find_members_end(struct weir_connection *connection, int64_t flow,
                                         struct span *span, struct weir_error *error)
{
    enum weir_status status = weir_connection_query_integer(
        connection, &weir_store_sql_members_end,
        VALUES(weir_integer(span->before), weir_integer(WEIR_LIST_LOOK_MAX - 1),
               weir_integer(flow)),
        &span->end, error);

    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* So many rows at most are in it. */
static enum weir_status find_span(struct weir_connection *connection,
                                  const struct weir_execution_filter *filter,
                                  const struct named *named, struct span *span,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *span = (struct span){.before = filter->before > 0 ? filter->before : INT64_MAX};
    if (named->flow > 0)
        return find_members_end(connection, named->flow, span, error);
    if (is_tagged(filter))
        return find_tagged_end(connection, filter, span, error);
    if (filter->before <= 0) {
        status = find_older(connection, INT64_MAX, &span->before, error);
        span->before++;
    }
    if (span->before > WEIR_LIST_LOOK_MAX)
        span->end = span->before - WEIR_LIST_LOOK_MAX;
    return status;
}

/* Where the next page begins, behind one that is not full. */
static enum weir_status find_next(struct weir_connection *connection,
                                  const struct weir_execution_filter *filter,
                                  const struct span *span, int64_t *next,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *next = span->end;
    if (filter->flow == NULL && !is_tagged(filter)) {
        status = find_older(connection, span->end, next, error);
        if (*next > 0)
            ++*next;
    }
    return status;
}

/* -1: unknown. */
static enum weir_status find_lane(const struct weir_store *self,
                                  struct weir_connection *connection,
                                  const struct weir_execution_filter *filter,
                                  int64_t *lane, struct weir_error *error)
{
    *lane = 0;
    if (filter->lane == NULL || filter->lane[0] == '\0')
        return WEIR_OK;
    return weir_dictionary_find(self->dictionary, connection, WEIR_TERM_LANE,
                                weir_str(filter->lane), lane, error);
}

static enum weir_status find_flow(struct weir_connection *connection,
                                  const struct weir_execution_filter *filter,
                                  int64_t *flow, struct weir_error *error)
{
    enum weir_status status;

    *flow = 0;
    if (filter->flow == NULL)
        return WEIR_OK;
    status = weir_connection_query_integer(
        connection, &SQL_FLOW, VALUES(weir_bytes(filter->flow->uuid, WEIR_UUID_SIZE)),
        flow, error);
    if (status == WEIR_NO_ROW)
        *flow = -1;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status read_page(struct weir_connection *connection,
                                  const struct weir_execution_filter *filter,
                                  const struct named *named, struct span *span,
                                  struct weir_execution_records *out,
                                  struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    enum weir_status status = find_span(connection, filter, named, span, error);

    if (status == WEIR_OK)
        status = query_page(connection, filter, span, named, &rows, error);
    return weir_execution_records_add_all(out, status, &rows, error);
}

enum weir_status weir_store_list(const struct weir_store *self,
                                 struct weir_connection *connection,
                                 const struct weir_execution_filter *filter,
                                 struct weir_execution_records *out, int64_t *next,
                                 struct weir_error *error)
{
    struct named named = {.lane = 0};
    struct span span;
    enum weir_status status = find_lane(self, connection, filter, &named.lane, error);

    *next = 0;
    weir_execution_records_reset(out);
    if (status == WEIR_OK)
        status = find_flow(connection, filter, &named.flow, error);
    if (status != WEIR_OK || named.lane < 0 || named.flow < 0)
        return status;
    status = read_page(connection, filter, &named, &span, out, error);
    if (status == WEIR_OK)
        status = resolve(self, connection, out, error);
    if (status != WEIR_OK)
        return status;
    if (out->count < filter->count)
        return find_next(connection, filter, &span, next, error);
    *next = out->rows[out->count - 1].row.no;
    return WEIR_OK;
}

static enum weir_status refuse_attempt(const struct weir_ended_attempt *attempt,
                                       const char *column, int64_t number,
                                       struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "attempt %d has %s %lld, which this library does not know: "
                          "install a newer weir",
                          attempt->number, column, (long long)number);
}

/* The order of WEIR_ATTEMPT_COLUMNS. */
static const struct weir_column ATTEMPT[] = {
    COLUMN(struct weir_ended_attempt, no, INTEGER),
    COLUMN(struct weir_ended_attempt, number, INTEGER),
    COLUMN_ENUM(struct weir_ended_attempt, type, INT32_MAX),
    COLUMN_ENUM(struct weir_ended_attempt, outcome, INT32_MAX),
    COLUMN(struct weir_ended_attempt, epoch, INTEGER),
    COLUMN(struct weir_ended_attempt, started_us, INTEGER),
    COLUMN(struct weir_ended_attempt, ended_us, INTEGER),
    COLUMN(struct weir_ended_attempt, worker, TEXT),
    COLUMN(struct weir_ended_attempt, instance, TEXT),
    COLUMN(struct weir_ended_attempt, failure, TEXT),
};

struct attempt_call {
    weir_ended_attempt_visit_fn visit;
    void *state;
};

static enum weir_status visit_attempt(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct attempt_call *self = state;
    struct weir_ended_attempt attempt = {.no = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(ATTEMPT), &attempt, error);

    if (status != WEIR_OK)
        return status;
    if (attempt.type > WEIR_ATTEMPT_REPLAY)
        return refuse_attempt(&attempt, "type", attempt.type, error);
    if (attempt.outcome > WEIR_OUTCOME_EXPIRED)
        return refuse_attempt(&attempt, "outcome", attempt.outcome, error);
    self->visit(self->state, &attempt);
    return WEIR_OK;
}

enum weir_status weir_store_visit_attempts(struct weir_connection *connection, int64_t no,
                                           weir_ended_attempt_visit_fn visit, void *state,
                                           struct weir_error *error)
{
    struct attempt_call call = {visit, state};

    return weir_query_each(connection, &weir_store_sql_attempts, VALUES(weir_integer(no)),
                           visit_attempt, &call, error);
}
