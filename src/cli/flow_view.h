/*
 * flow_view.h - executions as rows of a table, as JSON objects, or in full.
 *
 * Why one does not move is said in words: what it waits for, until when, who holds it. What is
 * overdue by seconds names the supervisor, since nobody else puts it right.
 *
 * Failure  Adding never fails at the spot: print() tells.
 */
#ifndef WEIR_CLI_FLOW_VIEW_H
#define WEIR_CLI_FLOW_VIEW_H

#include "cli/output.h"
#include "weir/execution.h"

enum { WEIR_FLOW_WHY_SIZE = 1280 };

struct weir_flow_view {
    struct weir_table table;
    struct weir_buf json; /* a list that is not closed yet */
    int64_t now_us;       /* the database's */
    size_t count;
};

void weir_flow_view_init(struct weir_flow_view *self, int64_t now_us);
void weir_flow_view_fini(struct weir_flow_view *self);

/* Add one; a weir_execution_visit_fn. */
void weir_flow_view_add(void *self, const struct weir_execution_info *info);

/* `"executions":[...]` to the end of an object. */
void weir_flow_view_append_json(const struct weir_flow_view *self, struct weir_buf *json);

/* Why it is not done, or how it ended, for people; "" when the state says it all. Returns `out`, of
 * WEIR_FLOW_WHY_SIZE bytes. */
const char *weir_flow_spell_why(const struct weir_execution_info *info, int64_t now_us,
                                char *out);

/* The members of its JSON object. */
void weir_flow_append_members(struct weir_buf *json,
                              const struct weir_execution_info *info, int64_t now_us);

/* As lines for people, without its attempts. */
void weir_flow_append_text(struct weir_buf *text, const struct weir_execution_info *info,
                           int64_t now_us);

#endif
