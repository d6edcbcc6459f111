/*
 * stats.h - how much work there is, and whether a supervisor serves it: for operators.
 *
 * Asked at any time and of any database, so nothing is counted beyond WEIR_STATS_MAX,
 * and everything is found by the indexes of the engine itself. What waits for other
 * members of its flow is not counted.
 */
#ifndef WEIR_EXECUTION_STATS_H
#define WEIR_EXECUTION_STATS_H

#include "db/connection.h"

enum {
    WEIR_STATS_MAX = 10000,       /* of a state; that many may be more */
    WEIR_STATS_LANE_MAX = 1000,   /* of what is ready in a lane */
    WEIR_STATS_LANES_MAX = 200,   /* in the order of their names */
    WEIR_STATS_BUDGETS_MAX = 5,   /* those that hold most */
    WEIR_STATS_LATE_US = 60000000 /* reconcilers come every minute at least */
};

/* Times are 0 where there is nothing. `late` is how long the first of a kind is
 * overdue: its reconciler would have had it by now, unless none runs. */
struct weir_execution_stats {
    int64_t ready, delayed, active;
    int64_t ended;      /* but for members of flows */
    int64_t suspended;  /* and of these: */
    int64_t escalated;  /* took too long, and wait for an operator */
    int64_t held;       /* wait for a budget */
    int64_t flows;      /* open ones */
    int64_t cancelling; /* joins some of whose members are to be cancelled */
    int64_t late_delay_us, late_lease_us, late_attempt_us, late_deadline_us;
    int64_t late_wait_us;   /* a suspension is over its limit */
    int64_t late_cancel_us; /* a member is to be cancelled */
    int64_t late_reset_us;  /* a budget is to be reset */
};

struct weir_lane_stats {
    const char *lane;
    int64_t ready;
    int64_t oldest_us; /* since the oldest of these was submitted */
    int64_t delayed, active;
};

/* A budget that executions wait for. */
struct weir_held_stats {
    const char *budget;
    int64_t waiting;
    bool exceeded;    /* else they will be let in */
    int64_t reset_us; /* until it is reset; 0: it is not by itself, or at any moment */
    bool is_reset;    /* by itself */
};

typedef void (*weir_held_stats_fn)(void *state, const struct weir_held_stats *held);
typedef void (*weir_lane_stats_fn)(void *state, const struct weir_lane_stats *lane);

/* Are there tables of executions, which this library can read? *there is false on an
 * engine that has none. */
WEIR_CHECKED enum weir_status
weir_executions_are_there(struct weir_connection *connection, bool *there,
                          struct weir_error *error);

WEIR_CHECKED enum weir_status
weir_executions_read_stats(struct weir_connection *connection,
                           struct weir_execution_stats *out, struct weir_error *error);

/*
 * Budgets that hold executions back, those that hold most first. What is visited lives
 * for the visit.
 */
WEIR_CHECKED enum weir_status
weir_executions_read_held(struct weir_connection *connection, weir_held_stats_fn visit,
                          void *state, struct weir_error *error);

/* Lanes in which something is ready, delayed or active. What is visited lives for the
 * visit. */
WEIR_CHECKED enum weir_status
weir_executions_read_lanes(struct weir_connection *connection, weir_lane_stats_fn visit,
                           void *state, struct weir_error *error);

#endif
