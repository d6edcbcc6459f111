/*
 * floors.h - the inside of store.h on PostgreSQL: floors (floors.h) as ranges of an
 * index.
 *
 * Memory   Ranges are the caller's until fini(), also after an init() that failed.
 */
#ifndef WEIR_EXECUTION_STORE_POSTGRES_FLOORS_H
#define WEIR_EXECUTION_STORE_POSTGRES_FLOORS_H

#include "execution/store/floors.h"
#include "execution/store/store.h"
#include "outbox/columns.h"

enum { WEIR_FLOOR_VALUES = 9 };

struct weir_floor_ranges {
    struct weir_columns ranges; /* of priorities that have a floor */
    struct weir_columns gaps;   /* between these */
    size_t range_count;         /* 0: there are no floors, look as always */
    size_t gap_count;
    struct weir_value values[WEIR_FLOOR_VALUES]; /* for the statements */
};

WEIR_CHECKED enum weir_status weir_floor_ranges_init(struct weir_floor_ranges *self,
                                                     const struct weir_heap *heap,
                                                     const struct weir_ready_query *query,
                                                     struct weir_error *error);
void weir_floor_ranges_fini(struct weir_floor_ranges *self);

/* If it is time to. `slowly`: as if it walked far, for tests. */
WEIR_CHECKED enum weir_status weir_floors_learn(struct weir_floors *self,
                                                const struct weir_store *store,
                                                struct weir_connection *connection,
                                                bool slowly, struct weir_error *error);

#endif
