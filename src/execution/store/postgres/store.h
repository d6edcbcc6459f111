/*
 * store.h - the inside of store.h on PostgreSQL: what its files have in common.
 */
#ifndef WEIR_EXECUTION_STORE_POSTGRES_STORE_H
#define WEIR_EXECUTION_STORE_POSTGRES_STORE_H

#include "execution/store/store_columns.h"
#include "outbox/columns.h"

/*
 * Inputs by their primary key, and of tags whether there are any. A row is locked as it
 * is now, but what is joined with it is as it was when the statement began: both come
 * with the row, and never change.
 */
#define WEIR_PG_COMPANY                                                                  \
    " LEFT JOIN LATERAL (SELECT bytes FROM {p}_input x WHERE x.no = e.no"                \
    " LIMIT 1) i ON true LEFT JOIN LATERAL (SELECT true AS tagged FROM {p}_tag x"        \
    " WHERE x.no = e.no ORDER BY no, key LIMIT 1) t ON true"

/* The first `width` columns of a table as arrays of these types. */
void weir_pg_arrays(const struct weir_columns *table, const enum weir_type *types,
                    size_t width, struct weir_value *out);

/* As in struct weir_store_ops. */
WEIR_CHECKED enum weir_status
weir_pg_insert(const struct weir_store *self, struct weir_connection *connection,
               struct weir_new_execution *items, size_t count, int64_t now_us,
               struct weir_commit_batch *commit_batch, struct weir_error *error);
/* In the commit batch. Results that are too many for one statement are put at once. */
WEIR_CHECKED enum weir_status
weir_pg_append_attempts(const struct weir_store *self,
                        const struct weir_ended_attempt *attempts, size_t count,
                        struct weir_commit_batch *commit_batch, struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_pg_append_results(const struct weir_store *self, struct weir_connection *connection,
                       const struct weir_new_result *results, size_t count,
                       struct weir_commit_batch *commit_batch, struct weir_error *error);

#endif
