/*
 * flow_read.c - what there is to know about flows.
 *
 * Members are counted by what is stored and reported in the words of weir/execution.h;
 * how a flow stands while it is open follows from them.
 */
#include <string.h>

#include "base/heap.h"
#include "db/db.h"
#include "db/query.h"
#include "execution/executions.h"
#include "execution/flow/flow_store.h"
#include "weir/flow.h"

enum { ARENA_SIZE_MAX = 4 * 1024 * 1024, PAGE_MAX = 1000 };

static const struct weir_sql SQL_COUNT = {
    .name = "count members",
    .text = "SELECT state, hold, pending, count(*), max(attempts) FROM {p}_execution"
            " WHERE flow = {1} AND flow > 0 GROUP BY state, hold, pending",
    .parameters = "i",
};
static const struct weir_sql SQL_EDGES = {
    .name = "show edges",
    .text = "SELECT u.uuid, u.part, v.uuid, v.part, d.state, d.passes_data"
            " FROM {p}_execution u JOIN {p}_edge d ON d.upstream = u.no"
            " JOIN {p}_execution v ON v.no = d.downstream WHERE u.flow = {1}"
            " AND u.flow > 0 ORDER BY u.no, v.no",
    .parameters = "i",
};
static const struct weir_sql SQL_JOINS = {
    .name = "show joins",
    .text = "SELECT e.uuid, e.part, g.policy, g.state, g.cancel_remaining, g.quorum,"
            " g.total, g.succeeded, g.failed, g.skipped, g.cancel_us"
            " FROM {p}_execution e JOIN {p}_edge_group g ON g.downstream = e.no"
            " WHERE e.flow = {1} AND e.flow > 0 ORDER BY e.no",
    .parameters = "i",
};
static const struct weir_sql SQL_OF = {
    .name = "find the flow of an execution",
    .text = "SELECT f.uuid FROM {p}_execution e LEFT JOIN {p}_flow f ON f.no = e.flow"
            " AND f.state <> 4"
            " WHERE e.uuid = {1}",
    .parameters = "b",
};

/* One call. */
struct reading {
    struct weir_executions *executions;
    struct weir_connection *connection;
    struct weir_arena arena;
    struct weir_flow_row row;
    bool begun; /* a worker had one of its members */
};

static enum weir_status begin(struct reading *self, struct weir_executions *executions,
                              struct weir_error *error)
{
    *self = (struct reading){.executions = executions};
    weir_arena_init(&self->arena, executions->heap, ARENA_SIZE_MAX);
    return weir_db_acquire(executions->db, &self->connection, error);
}

static void end(struct reading *self)
{
    weir_db_release(self->executions->db, self->connection);
    weir_arena_fini(&self->arena);
}

static enum weir_status find(struct reading *self, const struct weir_flow_id *flow,
                             struct weir_error *error)
{
    char text[WEIR_FLOW_ID_TEXT_SIZE];
    enum weir_status status = weir_flow_find(self->connection, flow, WEIR_FLOW_UNLOCKED,
                                             &self->arena, &self->row, error);

    return status == WEIR_NO_ROW
               ? weir_error_set(error, WEIR_NOT_FOUND, "there is no flow %s",
                                weir_flow_id_format(flow, text))
               : status;
}

/* ---- one --------------------------------------------------------------------------- */

struct count {
    int64_t state;
    int64_t hold;
    int64_t pending;
    uint32_t members;
    int64_t begun;
};
static const struct weir_column COUNT[] = {
    COLUMN(struct count, state, INTEGER),   COLUMN(struct count, hold, INTEGER),
    COLUMN(struct count, pending, INTEGER), COLUMN(struct count, members, INTEGER),
    COLUMN(struct count, begun, INTEGER),
};
struct counting {
    struct reading *reading;
    struct weir_flow_info *info;
};

static enum weir_status add_count(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct counting *self = state;
    struct count row;
    enum weir_status status = weir_row_read(rows, COLUMNS(COUNT), &row, error);

    if (status != WEIR_OK)
        return status;
    if (!weir_state_is_known(row.state))
        return weir_flow_unknown("the state of a member", row.state, error);
    if (!weir_hold_is_known(row.hold))
        return weir_flow_unknown("the hold of a member", row.hold, error);
    if (!weir_pending_is_known(row.pending))
        return weir_flow_unknown("what is pending of a member", row.pending, error);
    self->info->in_state[weir_state_public(
        (enum weir_exec_state)row.state, (enum weir_hold)row.hold,
        (enum weir_pending)row.pending)] += row.members;
    self->reading->begun |= row.begun > 0;
    return WEIR_OK;
}

static enum weir_status count_members(struct reading *self, struct weir_flow_info *info,
                                      struct weir_error *error)
{
    struct counting counting = {self, info};

    self->begun = self->row.unfinished < self->row.members;
    return weir_query_each(self->connection, &SQL_COUNT,
                           VALUES(weir_integer(self->row.no)), add_count, &counting,
                           error);
}

static enum weir_flow_state state_of(const struct reading *self,
                                     const struct weir_flow_info *info)
{
    switch (self->row.state) {
    case WEIR_FLOW_ROW_COMPLETED:
        return WEIR_FLOW_COMPLETED;
    case WEIR_FLOW_ROW_FAILED:
        return WEIR_FLOW_FAILED;
    case WEIR_FLOW_ROW_CANCELLED:
        return WEIR_FLOW_CANCELLED;
    default:
        break;
    }
    if (info->in_state[WEIR_STATE_ACTIVE] > 0 || info->in_state[WEIR_STATE_RESUMABLE] > 0)
        return WEIR_FLOW_RUNNING;
    if (info->in_state[WEIR_STATE_WAITING] > 0)
        return self->begun ? WEIR_FLOW_RUNNING : WEIR_FLOW_OPEN;
    return self->row.members > 0 ? WEIR_FLOW_BLOCKED : WEIR_FLOW_OPEN;
}

static enum weir_status show(struct reading *self, weir_flow_visit_fn visit, void *state,
                             struct weir_error *error)
{
    const struct weir_flow_row *row = &self->row;
    struct weir_flow_info info = {
        .id = row->id,
        .name_space = row->name_space.data, /* copies end in a zero */
        .kind = row->kind.data,
        .cancel_reason = row->cancel_reason.data,
        .cancel_policy = row->cancel_policy,
        .revision = row->revision,
        .members = (uint32_t)row->members,
        .edges = (uint32_t)row->edges,
        .created_us = row->created_us,
        .ended_us = row->ended_us,
    };
    enum weir_status status = count_members(self, &info, error);

    if (status != WEIR_OK)
        return status;
    info.state = state_of(self, &info);
    visit(state, &info);
    return WEIR_OK;
}

enum weir_status weir_flow_get(struct weir_executions *self,
                               const struct weir_flow_id *flow, weir_flow_visit_fn visit,
                               void *state, struct weir_error *error)
{
    struct reading reading;
    enum weir_status status = begin(&reading, self, error);

    if (status == WEIR_OK)
        status = find(&reading, flow, error);
    if (status == WEIR_OK)
        status = show(&reading, visit, state, error);
    end(&reading);
    return status;
}

/* ---- many -------------------------------------------------------------------------- */

static enum weir_status check_filter(const struct weir_flow_filter *filter,
                                     struct weir_error *error)
{
    if (filter->count < 1 || filter->count > PAGE_MAX)
        return weir_error_set(error, WEIR_INVALID, "count is %zu, must be from 1 to %d",
                              filter->count, PAGE_MAX);
    if (filter->before < 0)
        return weir_error_set(error, WEIR_INVALID, "before is %lld, must be at least 0",
                              (long long)filter->before);
    return WEIR_OK;
}

enum weir_status weir_flow_list(struct weir_executions *self,
                                const struct weir_flow_filter *filter,
                                weir_flow_visit_fn visit, void *state, int64_t *next,
                                struct weir_error *error)
{
    struct weir_flow_row *rows;
    struct reading reading;
    size_t count = 0;
    enum weir_status status = check_filter(filter, error);

    *next = 0;
    if (status != WEIR_OK)
        return status;
    status = begin(&reading, self, error);
    if (status == WEIR_OK)
        status = weir_flow_page(reading.connection, filter, &reading.arena, &rows, &count,
                                error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        reading.row = rows[i];
        status = show(&reading, visit, state, error);
    }
    if (status == WEIR_OK && count == filter->count)
        *next = rows[count - 1].no;
    end(&reading);
    return status;
}

/* ---- edges and joins --------------------------------------------------------------- */

/* Under which member to show it: one of them. */
struct visitor {
    weir_edge_visit_fn edge;
    weir_flow_join_visit_fn join_row;
    void *state;
};

static const struct weir_column EDGE[] = {
    COLUMN(struct weir_edge_info, edge.from.uuid, FIXED),
    COLUMN(struct weir_edge_info, edge.from.partition, INTEGER),
    COLUMN(struct weir_edge_info, edge.to.uuid, FIXED),
    COLUMN(struct weir_edge_info, edge.to.partition, INTEGER),
    COLUMN_ENUM(struct weir_edge_info, state, WEIR_EDGE_SKIPPED),
    COLUMN(struct weir_edge_info, edge.passes_data, FLAG),
};
static const struct weir_column JOIN[] = {
    COLUMN(struct weir_flow_join_info, join.to.uuid, FIXED),
    COLUMN(struct weir_flow_join_info, join.to.partition, INTEGER),
    COLUMN_ENUM(struct weir_flow_join_info, join.policy, WEIR_JOIN_COUNT - 1),
    COLUMN_ENUM(struct weir_flow_join_info, state, WEIR_FLOW_JOIN_IMPOSSIBLE),
    COLUMN(struct weir_flow_join_info, join.cancel_remaining, FLAG),
    COLUMN(struct weir_flow_join_info, join.quorum, INTEGER),
    COLUMN(struct weir_flow_join_info, total, INTEGER),
    COLUMN(struct weir_flow_join_info, succeeded, INTEGER),
    COLUMN(struct weir_flow_join_info, failed, INTEGER),
    COLUMN(struct weir_flow_join_info, skipped, INTEGER),
    COLUMN(struct weir_flow_join_info, cancelling, FLAG),
};

static enum weir_status show_edge(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct visitor *visitor = state;
    struct weir_edge_info info;
    enum weir_status status = weir_row_read(rows, COLUMNS(EDGE), &info, error);

    if (status == WEIR_OK)
        visitor->edge(visitor->state, &info);
    return status;
}

static enum weir_status show_join(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct visitor *visitor = state;
    struct weir_flow_join_info info;
    enum weir_status status = weir_row_read(rows, COLUMNS(JOIN), &info, error);

    if (status == WEIR_OK)
        visitor->join_row(visitor->state, &info);
    return status;
}

static enum weir_status show_all(struct weir_executions *self,
                                 const struct weir_flow_id *flow,
                                 const struct weir_sql *sql, weir_row_fn each,
                                 struct visitor *visitor, struct weir_error *error)
{
    struct reading reading;
    enum weir_status status = begin(&reading, self, error);

    if (status == WEIR_OK)
        status = find(&reading, flow, error);
    if (status == WEIR_OK)
        status =
            weir_query_each(reading.connection, sql, VALUES(weir_integer(reading.row.no)),
                            each, visitor, error);
    end(&reading);
    return status;
}

enum weir_status weir_flow_edges(struct weir_executions *self,
                                 const struct weir_flow_id *flow,
                                 weir_edge_visit_fn visit, void *state,
                                 struct weir_error *error)
{
    struct visitor visitor = {.edge = visit, .state = state};

    return show_all(self, flow, &SQL_EDGES, show_edge, &visitor, error);
}

enum weir_status weir_flow_joins(struct weir_executions *self,
                                 const struct weir_flow_id *flow,
                                 weir_flow_join_visit_fn visit, void *state,
                                 struct weir_error *error)
{
    struct visitor visitor = {.join_row = visit, .state = state};

    return show_all(self, flow, &SQL_JOINS, show_join, &visitor, error);
}

enum weir_status weir_flow_of(struct weir_executions *self,
                              const struct weir_execution_id *id,
                              struct weir_flow_id *out, struct weir_error *error)
{
    struct stored {
        struct weir_str uuid;
    } stored = {{NULL, 0}};
    static const struct weir_column STORED[] = {
        COLUMN(struct stored, uuid, BYTES_OR_NONE)};
    struct reading reading;
    enum weir_status status = begin(&reading, self, error);

    if (status == WEIR_OK)
        status = weir_query_one(reading.connection, &SQL_OF,
                                VALUES(weir_bytes(id->uuid, WEIR_UUID_SIZE)),
                                KEPT_INTO(STORED, &stored, &reading.arena), error);
    if (status == WEIR_NO_ROW) {
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such execution");
        weir_execution_prefix_id(error, id);
    } else if (status == WEIR_OK && stored.uuid.size != WEIR_UUID_SIZE) {
        status = WEIR_NO_ROW; /* it is in none */
    } else if (status == WEIR_OK) {
        memcpy(out->uuid, stored.uuid.data, WEIR_UUID_SIZE);
    }
    end(&reading);
    return status;
}

const char *weir_flow_state_name(enum weir_flow_state state)
{
    static const char *const NAMES[WEIR_FLOW_STATE_COUNT] = {
        [WEIR_FLOW_OPEN] = "open",       [WEIR_FLOW_RUNNING] = "running",
        [WEIR_FLOW_BLOCKED] = "blocked", [WEIR_FLOW_COMPLETED] = "completed",
        [WEIR_FLOW_FAILED] = "failed",   [WEIR_FLOW_CANCELLED] = "cancelled",
    };

    return state >= 0 && state < WEIR_FLOW_STATE_COUNT ? NAMES[state] : "unknown";
}
