/*
 * lag_by_id.h - how much waits in a log whose places are ids: SQLite and MariaDB.
 *
 * A *tally* has an entry for each subscription and partition of a queue, and everything
 * that is looked at is added to the entries it waits for. The engines differ in how
 * they look at many rows.
 *
 * Threads  The connection's owner.
 * Memory   A tally lives for one call of weir_lag_by_id().
 */
#ifndef WEIR_OUTBOX_LOG_LAG_BY_ID_H
#define WEIR_OUTBOX_LOG_LAG_BY_ID_H

#include "outbox/log/log.h"
#include "weir/outbox.h"

/* One subscription in one partition. */
struct weir_lag_entry {
    struct weir_lag lag;
    int64_t log_position_id;
    bool in_front; /* something of it waits in the front */
};

struct weir_lag_tally {
    const struct weir_heap *heap; /* borrowed */
    struct weir_lag_question question;
    struct weir_lag_entry *entries; /* owned; by partition, then subscription */
    size_t count;
    size_t capacity;
    size_t
        first[WEIR_PARTITIONS_MAX + 1]; /* entries of partition n: first[n]..first[n+1] */
    int64_t seen[WEIR_PARTITIONS_MAX];  /* rows of the log looked at */
    int64_t waiting;                    /* for all of them, as far as counted */
    int64_t begun_ns;
    int64_t clock_rows; /* rows looked at when the clock was */
    bool out_of_time;
};

/* Where in the log, or that it has no place there yet. */
enum weir_lag_where { WEIR_LAG_FRONT, WEIR_LAG_BACK, WEIR_LAG_INCOMING };

/* Rows of one partition, none of which a position is between. */
struct weir_lag_group {
    int64_t pid; /* of whatever queue; -1: of several */
    int64_t id;  /* of one of them */
    int64_t rows;
    int64_t oldest_us;
};

/* Rows side by side, all of which were looked at; zeroed at first. */
struct weir_lag_stretch {
    int64_t rows;
    int64_t first_id; /* lowest */
    int64_t last_id;
};

struct weir_lag_means {
    /* Look at the log behind `after_id`: at all of it, or at question.look_max rows, or
     * until it is enough. */
    enum weir_status (*count_front)(struct weir_lag_tally *tally,
                                    struct weir_connection *connection, int64_t after_id,
                                    struct weir_lag_stretch *out,
                                    struct weir_error *error);
    /* And at what is committed and has no place yet. NULL: everything has one. */
    enum weir_status (*count_incoming)(struct weir_lag_tally *tally,
                                       struct weir_connection *connection,
                                       struct weir_error *error);
};

/* Slot `lag` of struct weir_log_ops. */
WEIR_CHECKED enum weir_status weir_lag_by_id(const struct weir_lag_means *means,
                                             struct weir_connection *connection,
                                             const struct weir_lag_question *question,
                                             weir_lag_fn visit, void *state,
                                             struct weir_error *error);

/* ---- for the means ---- */

void weir_lag_add(struct weir_lag_tally *self, const struct weir_lag_group *group,
                  enum weir_lag_where where);
void weir_lag_stretch_grow(struct weir_lag_stretch *self, int64_t first_id,
                           int64_t last_id, int64_t rows);

/* More waits than is counted exactly, and not too little was looked at to tell how
 * much; or the time is over. */
bool weir_lag_is_enough(struct weir_lag_tally *self, int64_t rows);

/* Row by row: `sql` gives id, partition and time, of {2} rows behind {1}. `out` grows.
 * In the front it ends when it is enough. */
WEIR_CHECKED enum weir_status
weir_lag_count_rows(struct weir_lag_tally *self, struct weir_connection *connection,
                    const struct weir_sql *sql, enum weir_lag_where where,
                    int64_t after_id, int64_t limit, struct weir_lag_stretch *out,
                    struct weir_error *error);

/* Rows counted up to an id, if it goes on like that to the last id. */
int64_t weir_lag_extrapolate(int64_t rows, int64_t from_id, int64_t counted_id,
                             int64_t last_id);

#endif
