/*
 * flow_records.h - rows of flows: what `weir flow` shows and answers.
 */
#ifndef WEIR_VIEW_FLOW_RECORDS_H
#define WEIR_VIEW_FLOW_RECORDS_H

#include "view/record_list.h"
#include "weir/flow.h"

extern const struct weir_record weir_flow_record; /* struct weir_flow_info */
extern const struct weir_record weir_edge_record; /* struct weir_edge_info */
extern const struct weir_record weir_join_record; /* struct weir_flow_join_info */

/* A flow with its members. */
struct weir_flow_detail {
    struct weir_flow_info info;
    struct weir_record_list members;
    struct weir_record_list edges;
    struct weir_record_list joins;
};
extern const struct weir_record weir_flow_detail_record;

struct weir_flow_page {
    struct weir_record_list flows;
    int64_t after; /* 0: there are no more */
};
extern const struct weir_record weir_flow_page_record;

struct weir_flow_created {
    struct weir_flow_id flow;
};
extern const struct weir_record weir_flow_created_record;

struct weir_member_added {
    struct weir_execution_id id;
    const char *name; /* NULL: none */
};
extern const struct weir_record weir_member_added_record;

struct weir_flow_extended {
    struct weir_flow_id flow;
    int64_t revision;
    struct weir_record_list members;
};
extern const struct weir_record weir_flow_extended_record;

struct weir_flow_cancelled {
    struct weir_flow_id flow;
    const char *state;
    size_t members;
};
extern const struct weir_record weir_flow_cancelled_record;

/* "all", "any", "quorum:2". Returns `out`. */
enum { WEIR_JOIN_TEXT_SIZE = 24 };
const char *weir_flow_join_format(const struct weir_flow_join *join, char *out);

/* Edges of a join that must succeed. */
uint32_t weir_flow_join_needed(const struct weir_flow_join_info *info);

/* Append "3 completed, 1 waiting". */
void weir_flow_append_states(struct weir_buf *text, const struct weir_flow_info *info);

/* How a state is shown. */
enum weir_tone weir_flow_tone(enum weir_flow_state state);

#endif
