/*
 * commit_batch.h - what a transaction writes at its end.
 *
 * It needs no answer, so on PostgreSQL all of it is one round trip, with the commit:
 * rows, attempts, results, and the notification of waiters. On SQLite, where a statement
 * is a call, it stays empty.
 *
 *   add ... add  ->  leave(connection)   with the commit, which fails as they fail
 *                ->  send(connection)    now: it is the caller's, or reads them
 *
 * Threads  The owner's; after leave() the connection's.
 * Memory   Owns tables and texts; what the cells of a table refer to is borrowed until
 *          the transaction has ended, or handed over with keep().
 */
#ifndef WEIR_EXECUTION_COMMIT_BATCH_H
#define WEIR_EXECUTION_COMMIT_BATCH_H

#include "db/connection.h"
#include "outbox/columns.h"

enum {
    WEIR_COMMIT_BATCH_STEPS_MAX = 16,
    WEIR_COMMIT_BATCH_VALUES_MAX = 128,
    WEIR_COMMIT_BATCH_TEXT_SIZE = 64
};

struct weir_commit_batch {
    const struct weir_heap *heap; /* borrowed */
    struct weir_step steps[WEIR_COMMIT_BATCH_STEPS_MAX];
    struct weir_columns tables[WEIR_COMMIT_BATCH_STEPS_MAX];
    size_t step_count;
    struct weir_value values[WEIR_COMMIT_BATCH_VALUES_MAX];
    size_t value_count;
    char text[WEIR_COMMIT_BATCH_TEXT_SIZE]; /* of one value, for callers that need it */
    void *kept;                             /* what cells refer to; NULL: nothing */
    void (*release)(void *kept);
};

WEIR_CHECKED enum weir_status weir_commit_batch_create(const struct weir_heap *heap,
                                                       struct weir_commit_batch **out,
                                                       struct weir_error *error);
void weir_commit_batch_destroy(struct weir_commit_batch *self);

/* A statement with the first `width` columns of a table as arrays. Takes the table. */
void weir_commit_batch_add_table(struct weir_commit_batch *self,
                                 const struct weir_sql *sql, struct weir_columns *table,
                                 const enum weir_type *types, size_t width);

/* A statement with these values, which are copied; their texts are not. */
void weir_commit_batch_add(struct weir_commit_batch *self, const struct weir_sql *sql,
                           const struct weir_value *values, size_t value_count);

/* The same, with room made for it; now on SQLite, and when `self` is NULL. */
WEIR_CHECKED enum weir_status
weir_commit_batch_put(struct weir_commit_batch *self, struct weir_connection *connection,
                      const struct weir_sql *sql, const struct weir_value *values,
                      size_t value_count, struct weir_error *error);

/* Room for so many more steps and values: what there is is sent, if there is none. */
WEIR_CHECKED enum weir_status
weir_commit_batch_make_room(struct weir_commit_batch *self,
                            struct weir_connection *connection, size_t step_count,
                            size_t value_count, struct weir_error *error);

/* Take what cells refer to: it is released with the commit batch. One thing at most. */
void weir_commit_batch_keep(struct weir_commit_batch *self, void *thing,
                            void (*release)(void *thing));

/* Run all of it, in one round trip; it is empty afterwards. */
WEIR_CHECKED enum weir_status weir_commit_batch_send(struct weir_commit_batch *self,
                                                     struct weir_connection *connection,
                                                     struct weir_error *error);

/* It goes with the commit. Takes it. */
void weir_commit_batch_attach(struct weir_commit_batch *self,
                              struct weir_connection *connection);

#endif
