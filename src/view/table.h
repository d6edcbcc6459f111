/*
 * table.h - rows and columns that fit the width they are given.
 *
 * Cells are added one after the other, row by row. When a table is too wide, it first
 * leaves out columns, the highest rank first, until the rest fits with its cuttable
 * columns cut to their least; then it cuts those, from the right, no more than it must.
 *
 *   worker     state        executions  last error
 *   heartbeat  idling               12
 *   flaky      backing off           9  no ans..
 *
 * Columns remember their widest cell over reset(), so a table that is drawn again and
 * again stands still. Control characters in cells are shown as '?'.
 *
 * Memory   Grows with the cells, up to a megabyte of text. Titles and columns are
 *          borrowed.
 * Failure  Adding never fails at the spot: print() tells.
 */
#ifndef WEIR_VIEW_TABLE_H
#define WEIR_VIEW_TABLE_H

#include <stddef.h>

#include "base/buf.h"
#include "view/tone.h"
#include "weir/api.h"

struct weir_heap;

enum { WEIR_TABLE_COLUMNS_MAX = 16 };

enum weir_table_align { WEIR_TABLE_LEFT, WEIR_TABLE_RIGHT };

struct weir_table_column {
    const char *title;
    enum weir_table_align align;
    size_t width;  /* at least so wide, if there is room */
    size_t cut_to; /* may be cut to this width; 0: never cut */
    unsigned rank; /* 0: never left out */
};

struct weir_table {
    const struct weir_table_column *columns; /* borrowed */
    size_t column_count;
    size_t widths[WEIR_TABLE_COLUMNS_MAX]; /* widest so far, titles included */
    struct weir_buf text;                  /* of all cells */
    struct weir_buf cells;                 /* where each begins, row by row */
};

/* `column_count` from 1 to WEIR_TABLE_COLUMNS_MAX. */
void weir_table_init(struct weir_table *self, const struct weir_heap *heap,
                     const struct weir_table_column *columns, size_t column_count);
void weir_table_fini(struct weir_table *self);

/* No rows any more; widths and memory are kept. */
void weir_table_reset(struct weir_table *self);

/* The next cell. */
void weir_table_add(struct weir_table *self, enum weir_tone tone, const char *format, ...)
    WEIR_PRINTF(3, 4);

/*
 * Append titles and rows to `out`, a newline after each. A `width` of 0 means that
 * there is no limit. Fails with WEIR_NO_MEMORY, or with WEIR_INVALID when the table
 * became too large.
 */
WEIR_CHECKED enum weir_status weir_table_print(const struct weir_table *self,
                                               size_t width, enum weir_tone_use use,
                                               struct weir_buf *out);

#endif
