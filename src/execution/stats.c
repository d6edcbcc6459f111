/*
 * stats.c - see stats.h.
 *
 * Each count is a walk along one partial index, in its order, which ends after so many:
 * a limit that the planner cannot know, else it reads and sorts them all where it
 * expects fewer.
 */
#include "execution/stats.h"

#include <string.h>

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
    .name = "read figures",
    .text = "SELECT {now}, " READY_COUNT ", " DELAYED_COUNT ", " ACTIVE_COUNT
            ", " ENDED_COUNT ", " FIRST_DELAY ", " FIRST_LEASE ", " FIRST_ATTEMPT
            ", " FIRST_DEADLINE ", " FIRST_WAIT,
    .parameters = "i",
};

/* Of other tables; each has few rows but for what waits. Of a suspension the execution
 * says whether it was escalated, and of who waits for a budget whether it still does:
 * by its primary key, in words that fit no partial index. */
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
    .name = "read figures of waits",
    .text = "SELECT {now}, " SUSPENDED_COUNT ", " ESCALATED_COUNT ", " HELD_COUNT
            ", " FLOW_COUNT ", " CANCELLING_COUNT ", " FIRST_CANCEL ", " FIRST_RESET,
    .parameters = "i",
};

/* By the index of those who wait; then few budgets, by their primary key. */
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

/* The one row of a query. */
static enum weir_status ask(struct weir_connection *connection,
                            const struct weir_sql *sql, struct weir_rows *rows,
                            struct weir_error *error)
{
    enum weir_status status = weir_connection_query(
        connection, sql, VALUES(weir_integer(WEIR_STATS_MAX)), rows, error);

    return status == WEIR_OK ? weir_rows_next(rows, error) : status;
}

static enum weir_status read_executions(struct weir_connection *connection,
                                        struct weir_execution_stats *out,
                                        struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = ask(connection, &weir_execution_sql_stats, &rows, error);

    if (status == WEIR_OK) {
        int64_t now_us = weir_rows_integer(&rows, 0);

        out->ready = weir_rows_integer(&rows, 1);
        out->delayed = weir_rows_integer(&rows, 2);
        out->active = weir_rows_integer(&rows, 3);
        out->ended = weir_rows_integer(&rows, 4);
        out->late_delay_us = since(now_us, weir_rows_integer(&rows, 5));
        out->late_lease_us = since(now_us, weir_rows_integer(&rows, 6));
        out->late_attempt_us = since(now_us, weir_rows_integer(&rows, 7));
        out->late_deadline_us = since(now_us, weir_rows_integer(&rows, 8));
        out->late_wait_us = since(now_us, weir_rows_integer(&rows, 9));
    }
    weir_rows_close(&rows);
    return status;
}

static enum weir_status read_waits(struct weir_connection *connection,
                                   struct weir_execution_stats *out,
                                   struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = ask(connection, &weir_execution_sql_waits, &rows, error);

    if (status == WEIR_OK) {
        int64_t now_us = weir_rows_integer(&rows, 0);

        out->suspended = weir_rows_integer(&rows, 1);
        out->escalated = weir_rows_integer(&rows, 2);
        out->held = weir_rows_integer(&rows, 3);
        out->flows = weir_rows_integer(&rows, 4);
        out->cancelling = weir_rows_integer(&rows, 5);
        out->late_cancel_us = since(now_us, weir_rows_integer(&rows, 6));
        out->late_reset_us = since(now_us, weir_rows_integer(&rows, 7));
    }
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_executions_read_stats(struct weir_connection *connection,
                                            struct weir_execution_stats *out,
                                            struct weir_error *error)
{
    enum weir_status status;

    *out = (struct weir_execution_stats){0};
    status = read_executions(connection, out, error);
    return status == WEIR_OK ? read_waits(connection, out, error) : status;
}

static enum weir_status tell_held(struct weir_rows *rows, weir_held_stats_fn visit,
                                  void *state, struct weir_error *error)
{
    struct weir_str text = weir_rows_text(rows, 0);
    int64_t next_us = weir_rows_integer(rows, 4);
    int64_t left_us = next_us - weir_rows_integer(rows, 1);
    char name[WEIR_BUDGET_NAME_SIZE_MAX + 1];
    const struct weir_held_stats held = {
        .budget = name,
        .waiting = weir_rows_integer(rows, 2),
        .exceeded = weir_rows_integer(rows, 3) != 0,
        .reset_us = next_us > 0 && left_us > 0 ? left_us : 0,
        .is_reset = next_us > 0,
    };

    if (text.size > WEIR_BUDGET_NAME_SIZE_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "a budget has a name of %zu bytes, must be at most %d",
                              text.size, WEIR_BUDGET_NAME_SIZE_MAX);
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    visit(state, &held);
    return WEIR_OK;
}

enum weir_status weir_executions_read_held(struct weir_connection *connection,
                                           weir_held_stats_fn visit, void *state,
                                           struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_execution_sql_held,
        VALUES(weir_integer(WEIR_STATS_MAX), weir_integer(WEIR_STATS_BUDGETS_MAX)), &rows,
        error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = tell_held(&rows, visit, state, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status tell_lane(struct weir_rows *rows, weir_lane_stats_fn visit,
                                  void *state, struct weir_error *error)
{
    struct weir_str text = weir_rows_text(rows, 0);
    char name[WEIR_LANE_SIZE_MAX + 1];
    const struct weir_lane_stats lane = {
        .lane = name,
        .ready = weir_rows_integer(rows, 2),
        .oldest_us = since(weir_rows_integer(rows, 1), weir_rows_integer(rows, 3)),
        .delayed = weir_rows_integer(rows, 4),
        .active = weir_rows_integer(rows, 5),
    };

    if (text.size > WEIR_LANE_SIZE_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "a lane has a name of %zu bytes, must be at most %d",
                              text.size, WEIR_LANE_SIZE_MAX);
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    if (lane.ready + lane.delayed + lane.active > 0)
        visit(state, &lane);
    return WEIR_OK;
}

enum weir_status weir_executions_read_lanes(struct weir_connection *connection,
                                            weir_lane_stats_fn visit, void *state,
                                            struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_execution_sql_lanes,
        VALUES(weir_integer(WEIR_TERM_LANE), weir_integer(WEIR_STATS_MAX),
               weir_integer(WEIR_STATS_LANE_MAX), weir_integer(WEIR_STATS_LANES_MAX)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = tell_lane(&rows, visit, state, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
