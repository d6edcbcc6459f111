/*
 * demo_table.h - the demo's figures: a table that is drawn again and again, or a line a
 * second.
 *
 * Rates and latencies are those of the last five seconds, so it remembers the figures
 * of that time.
 *
 * Memory   The tables keep the widths of their columns, so that they stand still on a
 *          terminal.
 */
#ifndef WEIR_CLI_DEMO_DEMO_TABLE_H
#define WEIR_CLI_DEMO_DEMO_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/demo/demo_ledger.h"
#include "cli/demo/demo_stage.h"
#include "view/table.h"

struct weir_heap;

enum { WEIR_DEMO_TABLE_SECONDS = 5 };

/* What is shown at one instant. */
struct weir_demo_view {
    const char *engine; /* "SQLite" */
    int64_t now_ns;
    int64_t elapsed_ns;
    const char *hint;    /* the last line: what can be done now; "": nothing */
    const char *trouble; /* what keeps the producers; "": nothing */
    struct weir_ledger_stats stats;
};

struct weir_demo_table {
    struct weir_demo_text *out; /* borrowed */
    struct weir_table flow;
    struct weir_table partitions;
    struct moment {
        int64_t elapsed_ns;
        struct weir_ledger_stats stats;
    } past[WEIR_DEMO_TABLE_SECONDS]; /* one a second, oldest first */
    size_t past_count;
};

void weir_demo_table_init(struct weir_demo_table *self, struct weir_demo_text *out,
                          const struct weir_heap *heap);
void weir_demo_table_fini(struct weir_demo_table *self);

/* Append the whole table, or just one line. How it went is in
 * weir_buf_status() of its text. */
void weir_demo_table_append_frame(struct weir_demo_table *self,
                                  const struct weir_demo_view *view);
void weir_demo_table_append_row(struct weir_demo_table *self,
                                const struct weir_demo_view *view);

/* Append the first line of the table: what this is. */
void weir_demo_table_append_title(struct weir_demo_table *self,
                                  const struct weir_demo_view *view);

#endif
