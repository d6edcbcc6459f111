/*
 * sweep_step.h - one step of the sweep on PostgreSQL: what its kinds share.
 *
 * Two things are kept between steps: where the parts of a copy have come to
 * (state->cursor), and what is waited for (state->pg).
 *
 * Threads  The sweep's. Only for sweep*.c.
 */
#ifndef WEIR_OUTBOX_POSTGRES_SWEEP_STEP_H
#define WEIR_OUTBOX_POSTGRES_SWEEP_STEP_H

#include "outbox/postgres/copy.h"
#include "outbox/postgres/sweep.h"

struct weir_pg_step {
    const struct weir_outbox_log *log;
    struct weir_connection *connection;
    struct weir_sweep_state *state;
    struct weir_sweep_report *report;
    struct weir_sweep_limits limits;
    const char *table; /* "log", "ack", "cut" */
    uint32_t leaf;     /* of its table */
    char name[WEIR_PG_LEAF_NAME_SIZE];
    struct weir_pg_wait *wait; /* of this leaf */
    bool yielded;              /* another process is sweeping */
    bool again;                /* the same step has more to do */
    struct weir_error *error;
};

/* What happens inside a transaction; false in *done: roll back and leave it. */
typedef enum weir_status (*weir_pg_step_fn)(struct weir_pg_step *self, void *argument,
                                            bool *done);

/* The kinds. Each is all there is to do with one leaf, or with the rows set aside. */
WEIR_CHECKED enum weir_status weir_pg_sweep_log(struct weir_pg_step *self);
WEIR_CHECKED enum weir_status weir_pg_sweep_aside(struct weir_pg_step *self);
WEIR_CHECKED enum weir_status weir_pg_sweep_acks(struct weir_pg_step *self);
WEIR_CHECKED enum weir_status weir_pg_sweep_cuts(struct weir_pg_step *self);

/*
 * A transaction in which no other process sweeps; nothing happens if that cannot be had.
 */
WEIR_CHECKED enum weir_status weir_pg_step_alone(struct weir_pg_step *self,
                                                 weir_pg_step_fn work, void *argument);

/* The same under the lock of subscribing: a copy. */
WEIR_CHECKED enum weir_status weir_pg_step_copy(struct weir_pg_step *self,
                                                weir_pg_step_fn work, void *argument);

/*
 * Does no snapshot hold up this copy (postgres/older_snapshots.h)? Looks again for a
 * moment, as long as none is older than that. The first look decides which sessions
 * are waited for.
 */
WEIR_CHECKED enum weir_status weir_pg_step_wait(struct weir_pg_step *self,
                                                const struct weir_pg_copy *copy,
                                                bool *clear);

/* `judge` under the leaf's lock; if it says so the leaf is emptied, by this copy. Tried
 * again while the lock is not to be had; a leaf that is never free is left for the next
 * round. */
WEIR_CHECKED enum weir_status weir_pg_step_empty(struct weir_pg_step *self,
                                                 const struct weir_pg_copy *copy,
                                                 weir_pg_step_fn judge);

/* One row of integers ('i') and flags ('f'); all zero when there is none. */
WEIR_CHECKED enum weir_status weir_pg_step_ask(struct weir_pg_step *self,
                                               const struct weir_sql *sql,
                                               const struct weir_value *values,
                                               size_t value_count, const char *types,
                                               int64_t *out);

WEIR_CHECKED enum weir_status weir_pg_step_newest_cut(struct weir_pg_step *self,
                                                      int64_t *out);

/* The same statement for each leaf: `before` ends where the number is put. */
#define WEIR_PG_ONE(statement, letters, before, number, after)                           \
    {                                                                                    \
        .name = (statement), .text = before number after, .parameters = (letters)        \
    }
#define WEIR_PG_FOUR(statement, letters, before, after)                                  \
    {                                                                                    \
        WEIR_PG_ONE(statement, letters, before, "0", after),                             \
            WEIR_PG_ONE(statement, letters, before, "1", after),                         \
            WEIR_PG_ONE(statement, letters, before, "2", after),                         \
            WEIR_PG_ONE(statement, letters, before, "3", after)                          \
    }
#define WEIR_PG_EIGHT(statement, letters, before, after)                                 \
    {                                                                                    \
        WEIR_PG_ONE(statement, letters, before, "0", after),                             \
            WEIR_PG_ONE(statement, letters, before, "1", after),                         \
            WEIR_PG_ONE(statement, letters, before, "2", after),                         \
            WEIR_PG_ONE(statement, letters, before, "3", after),                         \
            WEIR_PG_ONE(statement, letters, before, "4", after),                         \
            WEIR_PG_ONE(statement, letters, before, "5", after),                         \
            WEIR_PG_ONE(statement, letters, before, "6", after),                         \
            WEIR_PG_ONE(statement, letters, before, "7", after)                          \
    }

#endif
