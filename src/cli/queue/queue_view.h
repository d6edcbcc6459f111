/*
 * queue_view.h - queues as rows of a table or as JSON objects; for `queue list` and
 * `status`.
 *
 * Failure  Adding never fails at the spot: print() tells.
 */
#ifndef WEIR_CLI_QUEUE_QUEUE_VIEW_H
#define WEIR_CLI_QUEUE_QUEUE_VIEW_H

#include "cli/output.h"
#include "weir/inspect.h"

struct weir_queue_view {
    struct weir_table table;
    struct weir_buf json;     /* a list that is not closed yet */
    struct weir_buf retained; /* lines about queues that keep what was delivered */
    size_t count;             /* rows */
    bool terse; /* no rows for queues of the execution engine that nobody subscribes to;
                   set after init() */
};

void weir_queue_view_init(struct weir_queue_view *self);
void weir_queue_view_fini(struct weir_queue_view *self);

/* No queues any more. */
void weir_queue_view_reset(struct weir_queue_view *self);

/* Add a queue; a weir_queue_info_fn. */
void weir_queue_view_add(void *self, const struct weir_queue_info *info);

/* `"queues":[...]` to the end of an object. */
void weir_queue_view_append_json(const struct weir_queue_view *self,
                                 struct weir_buf *json);

/* A line for each queue that keeps what was delivered, behind an empty one; else
 * nothing. */
void weir_queue_view_append_retained(const struct weir_queue_view *self,
                                     struct weir_buf *text);

#endif
