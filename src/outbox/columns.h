/*
 * columns.h - a table of parameters, column by column, for statements that take arrays.
 *
 *   status = weir_columns_init(&table, heap, 2, count, error);
 *   weir_columns_set(&table, 0, row, weir_integer(7));
 *   ... weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count) ...
 *   weir_columns_fini(&table);                  also after an init that failed
 *
 * Memory   One block. Texts are borrowed.
 */
#ifndef WEIR_OUTBOX_COLUMNS_H
#define WEIR_OUTBOX_COLUMNS_H

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/value.h"
#include "weir/error.h"

struct weir_columns {
    const struct weir_heap *heap; /* borrowed */
    struct weir_value *cells;     /* owned */
    size_t row_count;
};

/* Both counts are at least 1. */
static inline WEIR_CHECKED enum weir_status
weir_columns_init(struct weir_columns *self, const struct weir_heap *heap,
                  size_t column_count, size_t row_count, struct weir_error *error)
{
    self->heap = heap;
    self->row_count = row_count;
    self->cells =
        weir_heap_zalloc_array(heap, row_count, column_count * sizeof *self->cells);
    if (self->cells == NULL)
        return weir_no_memory_for(error, "%zu %s", row_count,
                                  WEIR_NOUN(row_count, "row", "rows"));
    return WEIR_OK;
}

static inline void weir_columns_fini(struct weir_columns *self)
{
    weir_heap_free(self->heap, self->cells);
    self->cells = NULL;
}

static inline void weir_columns_set(struct weir_columns *self, size_t column, size_t row,
                                    struct weir_value value)
{
    self->cells[column * self->row_count + row] = value;
}

/* Rows `begin` to `begin + count - 1` of a column. */
static inline struct weir_value weir_columns_array(const struct weir_columns *self,
                                                   size_t column, enum weir_type type,
                                                   size_t begin, size_t count)
{
    return weir_array(type, self->cells + column * self->row_count + begin, count);
}

#endif
