/*
 * flow_chart.h - a flow as a whole: its members, what leads where, and why each of them
 * waits.
 *
 *   init -> read, read, ... -> why, append_json, append_text (flow_chart_text.h) -> fini
 *
 * It is read in several steps, while work goes on: what was added in between may be
 * missing.
 *
 * Memory   Owned, up to WEIR_CHART_MEMBERS_MAX members.
 */
#ifndef WEIR_CLI_FLOW_FLOW_CHART_H
#define WEIR_CLI_FLOW_FLOW_CHART_H

#include "base/arena.h"
#include "cli/flow/flow_draw_layers.h"
#include "cli/flow/flow_words.h"
#include "view/execution_text.h"

enum { WEIR_CHART_MEMBERS_MAX = 100000 };

struct weir_chart_member {
    struct weir_execution_info info;
    const struct weir_flow_join_info
        *group;       /* of the edges that lead to it; NULL: there are none */
    const char *note; /* of a suspension or a budget, in words; NULL: none */
    uint32_t number;  /* in the drawing, from 1; 0: it has none yet */
};

/* Its name; its kind, if it has none. */
const char *weir_chart_member_label(const struct weir_chart_member *self);

struct weir_flow_chart {
    struct weir_arena arena;
    struct weir_flow_info info;
    struct weir_chart_member *members; /* oldest first */
    size_t member_count;
    struct weir_draw_edge *edges; /* by their index */
    struct weir_edge_info *edge_infos;
    size_t edge_count;
    uint32_t *leading; /* edges, by where they lead to; those to a member begin there */
    uint32_t *leading_begin;
    int64_t now_us;
};

void weir_flow_chart_init(struct weir_flow_chart *self);
void weir_flow_chart_fini(struct weir_flow_chart *self);

/* As it is now, in place of what was read before. WEIR_TOO_LARGE: it has more members
 * than can be shown. */
WEIR_CHECKED enum weir_status
weir_flow_chart_read(struct weir_flow_chart *self,
                     const struct weir_execution_session *session,
                     const struct weir_flow_id *flow, struct weir_error *error);

/* Why a member is not done, or how it ended: "2 of 3, needs 3; missing: 4 charge".
 * Returns `out`, of WEIR_EXECUTION_WHY_SIZE bytes. */
const char *weir_flow_chart_why(const struct weir_flow_chart *self, size_t member,
                                char *out);

/* All of it as one JSON object. */
void weir_flow_chart_append_json(const struct weir_flow_chart *self,
                                 struct weir_buf *json);

#endif
