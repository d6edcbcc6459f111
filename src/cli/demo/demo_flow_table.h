/*
 * demo_flow_table.h - the figures of `weir demo --flow`: a table that is drawn again
 * and again, or a line a second.
 *
 * Memory   The table keeps the widths of its columns, so that it stands still on a
 *          terminal.
 */
#ifndef WEIR_CLI_DEMO_DEMO_FLOW_TABLE_H
#define WEIR_CLI_DEMO_DEMO_FLOW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/demo/demo_book.h"
#include "cli/demo/demo_stage.h"
#include "view/table.h"

struct weir_heap;

/* What is shown at one instant. */
struct weir_execution_view {
    int64_t elapsed_ns;
    int64_t placed;      /* orders */
    uint32_t killed;     /* workers */
    int64_t held_most;   /* by the budget at one time; of a line, since the one before */
    uint32_t failed;     /* workers that broke */
    const char *hint;    /* the last line: what can be done now; "": nothing */
    const char *trouble; /* what keeps the clerk; "": nothing */
    struct weir_book_stats stats;
};

struct weir_flow_table {
    struct weir_demo_text *out; /* borrowed */
    struct weir_table steps;
};

void weir_flow_table_init(struct weir_flow_table *self, struct weir_demo_text *out,
                          const struct weir_heap *heap);
void weir_flow_table_fini(struct weir_flow_table *self);

/* Append the whole table, or just one line. How it went is in
 * weir_buf_status() of its text. */
void weir_flow_table_append_frame(struct weir_flow_table *self,
                                  const struct weir_execution_view *view);
void weir_flow_table_append_row(struct weir_flow_table *self,
                                const struct weir_execution_view *view);

/* Append what there is to say at the end, but for the verdict. */
void weir_flow_table_append_summary(struct weir_flow_table *self,
                                    const struct weir_execution_view *view,
                                    int64_t played_ns);

#endif
