/*
 * stats.c - see stats.h.
 *
 * Each count is a walk along one partial index, in its order, which ends after so many:
 * a limit that the planner cannot know, else it reads and sorts them all where it
 * expects fewer.
 */
#include "execution/stats.h"

#include "base/count.h"
#include "db/query.h"
#include "execution/schema.h"
#include "execution/store/store.h"
#include "execution/store/store_statements.h"
#include "weir/budget.h"

#define READY_ORDER "lane, capset, priority DESC, turn, no"

#define COUNT(condition, order)                                                          \
    "(SELECT count(*) FROM (SELECT 1 FROM {p}_execution WHERE " condition                \
    " ORDER BY " order " LIMIT (SELECT {1})) x)"
#define FIRST(condition, time)                                                           \
    "coalesce((SELECT " time " FROM {p}_execution WHERE " condition " ORDER BY " time    \
    ", no LIMIT 1), 0)"

#define READY_COUNT COUNT(WEIR_IS_READY, READY_ORDER)
#define DELAYED_COUNT COUNT(WEIR_IS_DELAYED, "due_us, no")
#define ACTIVE_COUNT COUNT(WEIR_IS_ACTIVE, "lease_us, no")
#define ENDED_COUNT COUNT(WEIR_IS_OVER_ALONE, "ended_us, no")
#define FIRST_DELAY FIRST(WEIR_IS_DELAYED, "due_us")
#define FIRST_LEASE FIRST(WEIR_IS_ACTIVE, "lease_us")
#define FIRST_ATTEMPT FIRST(WEIR_HAS_ATTEMPT_DEADLINE, "attempt_deadline_us")
#define FIRST_DEADLINE FIRST(WEIR_HAS_DEADLINE, "deadline_us")

#define FIRST_WAIT FIRST(WEIR_HAS_WAIT_LIMIT, "due_us")

const struct weir_sql weir_execution_sql_stats = {
    .name = "read stats",
    .text = "SELECT {now}, " READY_COUNT ", " DELAYED_COUNT ", " ACTIVE_COUNT
            ", " ENDED_COUNT ", " FIRST_DELAY ", " FIRST_LEASE ", " FIRST_ATTEMPT
            ", " FIRST_DEADLINE ", " FIRST_WAIT,
    .parameters = "i",
};

/* Of other tables; each has few rows but for what waits. Of a suspension the execution
 * says whether it was escalated, and of an execution that waits for a budget whether
 * it still does: by its primary key, in words that fit no partial index. */
#define COUNT_IN(table, condition, order)                                                \
    "(SELECT count(*) FROM (SELECT 1 FROM {p}_" table " WHERE " condition                \
    " ORDER BY " order " LIMIT (SELECT {1})) x)"
#define FIRST_IN(table, condition, time)                                                 \
    "coalesce((SELECT " time " FROM {p}_" table " WHERE " condition " ORDER BY " time    \
    " LIMIT 1), 0)"
#define ESCALATED_COUNT                                                                  \
    "(SELECT count(*) FROM (SELECT no FROM {p}_suspension"                               \
    " WHERE " WEIR_SUSPENSION_IS_OPEN " ORDER BY no"                                     \
    " LIMIT (SELECT {1})) s WHERE (SELECT 1 FROM {p}_execution e WHERE e.no = s.no"      \
    " AND e.state + 0 = 5 AND e.due_us + 0 = 0 AND e.on_timeout = 4) = 1)"

#define SUSPENDED_COUNT COUNT_IN("suspension", WEIR_SUSPENSION_IS_OPEN, "no")
#define HELD                                                                             \
    "(SELECT budget, no FROM {p}_spent WHERE " WEIR_WAITS_FOR_BUDGET                     \
    " ORDER BY budget, no LIMIT (SELECT {1})) s WHERE " WEIR_IS_HELD_BY_BUDGET("s")
#define HELD_COUNT "(SELECT count(*) FROM " HELD ")"
#define FLOW_COUNT COUNT_IN("flow", WEIR_FLOW_IS_OPEN, "no")
#define CANCELLING_COUNT COUNT_IN("edge_group", WEIR_IS_CANCELLING, "cancel_us")
#define FIRST_CANCEL FIRST_IN("edge_group", WEIR_IS_CANCELLING, "cancel_us")
#define FIRST_RESET FIRST_IN("budget", "next_reset_us > 0", "next_reset_us")

const struct weir_sql weir_execution_sql_waits = {
    .name = "read stats of waits",
    .text = "SELECT {now}, " SUSPENDED_COUNT ", " ESCALATED_COUNT ", " HELD_COUNT
            ", " FLOW_COUNT ", " CANCELLING_COUNT ", " FIRST_CANCEL ", " FIRST_RESET,
    .parameters = "i",
};

/* By the index of waiting executions; then few budgets, by their primary key. */
const struct weir_sql weir_execution_sql_held = {
    .name = "read budgets that hold",
    .text = "SELECT (SELECT b.name FROM {p}_budget b WHERE b.no = w.budget), {now}, w.n,"
            " CASE WHEN (SELECT count(*) FROM {p}_usage u WHERE u.budget = w.budget"
            " AND u.hard > 0 AND u.used >= u.hard) > 0 THEN 1 ELSE 0 END,"
            " (SELECT b.next_reset_us FROM {p}_budget b WHERE b.no = w.budget)"
            " FROM (SELECT s.budget, count(*) AS n FROM " HELD
            " GROUP BY s.budget ORDER BY n DESC, s.budget LIMIT {2}) w"
            " ORDER BY w.n DESC, w.budget",
    .parameters = "ii",
};

/* By the first column of the index, for each lane. */
#define OF_LANE(what)                                                                    \
    "(SELECT " what " FROM (SELECT created_us FROM {p}_execution WHERE " WEIR_IS_READY   \
    " AND lane = t.id ORDER BY " READY_ORDER " LIMIT (SELECT {3})) x)"
#define BY_LANE(condition, order)                                                        \
    "(SELECT lane, count(*) AS n FROM (SELECT lane FROM {p}_execution WHERE " condition  \
    " ORDER BY " order " LIMIT (SELECT {2})) x GROUP BY lane)"

#define LANE_READY OF_LANE("count(*)")
#define LANE_OLDEST OF_LANE("coalesce(min(created_us), 0)")
#define LANES_DELAYED BY_LANE(WEIR_IS_DELAYED, "due_us, no")
#define LANES_ACTIVE BY_LANE(WEIR_IS_ACTIVE, "lease_us, no")

const struct weir_sql weir_execution_sql_lanes = {
    .name = "read lanes",
    .text = "SELECT t.text, {now}, " LANE_READY ", " LANE_OLDEST
            ", coalesce(d.n, 0), coalesce(a.n, 0) FROM {p}_term t"
            " LEFT JOIN " LANES_DELAYED " d ON d.lane = t.id"
            " LEFT JOIN " LANES_ACTIVE " a ON a.lane = t.id"
            " WHERE t.kind = {1} ORDER BY t.text LIMIT {4}",
    .parameters = "iiii",
};

enum weir_status weir_executions_are_there(struct weir_connection *connection,
                                           bool *there, struct weir_error *error)
{
    struct weir_schema_version version = {0};
    enum weir_status status = WEIR_OK;

    *there = false;
    if (!weir_schema_is_for(&weir_executions_schema, weir_connection_engine(connection)))
        return WEIR_OK;
    status = weir_schema_read(&weir_executions_schema, connection, &version, error);
    if (status != WEIR_OK || version.number == 0)
        return status;
    status = weir_schema_check(&weir_executions_schema, connection, error);
    *there = status == WEIR_OK;
    return status;
}

/* How long ago; 0: it is not set, or still to come. */
static int64_t since(int64_t now_us, int64_t time_us)
{
    return time_us > 0 && time_us < now_us ? now_us - time_us : 0;
}

/* As read: times, which are returned as ages. */
struct columns {
    int64_t now_us;
    struct weir_execution_stats stats;
};
static const struct weir_column EXECUTIONS[] = {
    COLUMN(struct columns, now_us, INTEGER),
    COLUMN(struct columns, stats.ready, INTEGER),
    COLUMN(struct columns, stats.delayed, INTEGER),
    COLUMN(struct columns, stats.active, INTEGER),
    COLUMN(struct columns, stats.ended, INTEGER),
    COLUMN(struct columns, stats.late_delay_us, INTEGER),
    COLUMN(struct columns, stats.late_lease_us, INTEGER),
    COLUMN(struct columns, stats.late_attempt_us, INTEGER),
    COLUMN(struct columns, stats.late_deadline_us, INTEGER),
    COLUMN(struct columns, stats.late_wait_us, INTEGER),
};
static const struct weir_column WAITS[] = {
    COLUMN(struct columns, now_us, INTEGER),
    COLUMN(struct columns, stats.suspended, INTEGER),
    COLUMN(struct columns, stats.escalated, INTEGER),
    COLUMN(struct columns, stats.held, INTEGER),
    COLUMN(struct columns, stats.flows, INTEGER),
    COLUMN(struct columns, stats.cancelling, INTEGER),
    COLUMN(struct columns, stats.late_cancel_us, INTEGER),
    COLUMN(struct columns, stats.late_reset_us, INTEGER),
};

static void make_ages(int64_t now_us, int64_t *const *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *times[i] = since(now_us, *times[i]);
}

static enum weir_status read_executions(struct weir_connection *connection,
                                        struct columns *out, struct weir_error *error)
{
    struct weir_execution_stats *stats = &out->stats;
    int64_t *const times[] = {&stats->late_delay_us, &stats->late_lease_us,
                              &stats->late_attempt_us, &stats->late_deadline_us,
                              &stats->late_wait_us};
    enum weir_status status = weir_query_one(connection, &weir_execution_sql_stats,
                                             VALUES(weir_integer(WEIR_STATS_MAX)),
                                             INTO(EXECUTIONS, out), error);

    make_ages(out->now_us, times, COUNT_OF(times));
    return status;
}

static enum weir_status read_waits(struct weir_connection *connection,
                                   struct columns *out, struct weir_error *error)
{
    int64_t *const times[] = {&out->stats.late_cancel_us, &out->stats.late_reset_us};
    enum weir_status status =
        weir_query_one(connection, &weir_execution_sql_waits,
                       VALUES(weir_integer(WEIR_STATS_MAX)), INTO(WAITS, out), error);

    make_ages(out->now_us, times, COUNT_OF(times));
    return status;
}

enum weir_status weir_executions_read_stats(struct weir_connection *connection,
                                            struct weir_execution_stats *out,
                                            struct weir_error *error)
{
    struct columns columns = {0};
    enum weir_status status = read_executions(connection, &columns, error);

    if (status == WEIR_OK)
        status = read_waits(connection, &columns, error);
    *out = columns.stats;
    return status;
}

struct held_columns {
    char name[WEIR_BUDGET_NAME_SIZE_MAX + 1];
    int64_t now_us;
    int64_t waiting;
    bool exceeded;
    int64_t next_us;
};
static const struct weir_column HELD_ROW[] = {
    COLUMN(struct held_columns, name, CHARS),
    COLUMN(struct held_columns, now_us, INTEGER),
    COLUMN(struct held_columns, waiting, INTEGER),
    COLUMN(struct held_columns, exceeded, FLAG),
    COLUMN(struct held_columns, next_us, INTEGER),
};
struct visitor {
    weir_held_stats_fn held;
    weir_lane_stats_fn lane;
    void *state;
};

static enum weir_status tell_held(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct visitor *self = state;
    struct held_columns row;
    enum weir_status status = weir_row_read(rows, COLUMNS(HELD_ROW), &row, error);
    int64_t left_us;

    if (status != WEIR_OK)
        return status;
    left_us = row.next_us - row.now_us;
    self->held(self->state, &(struct weir_held_stats){
                                .budget = row.name,
                                .waiting = row.waiting,
                                .exceeded = row.exceeded,
                                .reset_us = row.next_us > 0 && left_us > 0 ? left_us : 0,
                                .is_reset = row.next_us > 0,
                            });
    return WEIR_OK;
}

enum weir_status weir_executions_read_held(struct weir_connection *connection,
                                           weir_held_stats_fn visit, void *state,
                                           struct weir_error *error)
{
    struct visitor visitor = {.held = visit, .state = state};

    return weir_query_each(
        connection, &weir_execution_sql_held,
        VALUES(weir_integer(WEIR_STATS_MAX), weir_integer(WEIR_STATS_BUDGETS_MAX)),
        tell_held, &visitor, error);
}

struct lane_columns {
    char name[WEIR_LANE_SIZE_MAX + 1];
    int64_t now_us;
    int64_t ready;
    int64_t oldest_us;
    int64_t delayed;
    int64_t active;
};
static const struct weir_column LANE_ROW[] = {
    COLUMN(struct lane_columns, name, CHARS),
    COLUMN(struct lane_columns, now_us, INTEGER),
    COLUMN(struct lane_columns, ready, INTEGER),
    COLUMN(struct lane_columns, oldest_us, INTEGER),
    COLUMN(struct lane_columns, delayed, INTEGER),
    COLUMN(struct lane_columns, active, INTEGER),
};

static enum weir_status tell_lane(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct visitor *self = state;
    struct lane_columns row;
    enum weir_status status = weir_row_read(rows, COLUMNS(LANE_ROW), &row, error);

    if (status == WEIR_OK && row.ready + row.delayed + row.active > 0)
        self->lane(self->state, &(struct weir_lane_stats){
                                    .lane = row.name,
                                    .ready = row.ready,
                                    .oldest_us = since(row.now_us, row.oldest_us),
                                    .delayed = row.delayed,
                                    .active = row.active,
                                });
    return status;
}

enum weir_status weir_executions_read_lanes(struct weir_connection *connection,
                                            weir_lane_stats_fn visit, void *state,
                                            struct weir_error *error)
{
    struct visitor visitor = {.lane = visit, .state = state};

    return weir_query_each(
        connection, &weir_execution_sql_lanes,
        VALUES(weir_integer(WEIR_TERM_LANE), weir_integer(WEIR_STATS_MAX),
               weir_integer(WEIR_STATS_LANE_MAX), weir_integer(WEIR_STATS_LANES_MAX)),
        tell_lane, &visitor, error);
}
