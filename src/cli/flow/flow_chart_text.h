/*
 * flow_chart_text.h - a flow for people: what it is, its flow, and why each member waits.
 *
 *   flow          0193...
 *   kind          order
 *   state         running
 *   members       4: 1 completed, 1 active, 2 waiting_children
 *
 *   *    1 reserve  completed
 *   +-+
 *   @ |  2 charge   active: held by host:7 for another 12.0 s
 *   | o  3 pack     waiting: no worker has claimed it yet
 *   +-+
 *   o    4 ship     waiting_children: 0 of 2, needs 2; missing: 2 charge (active),
 *         3 pack (waiting)
 *
 * No line is wider than it may be. A reason that does not fit goes on in the next
 * lines. A layer of more than `fold` members is one row, with how many are in which
 * state; where there are more lines than there is room for, more is folded, and if that
 * does not help, the lines are left out.
 */
#ifndef WEIR_CLI_FLOW_FLOW_CHART_TEXT_H
#define WEIR_CLI_FLOW_FLOW_CHART_TEXT_H

#include "cli/flow/flow_chart.h"
#include "cli/flow/flow_draw.h"

struct weir_chart_text_options {
    size_t width; /* 0: no limit; else at least 40 */
    enum weir_tone_use tones;
    enum weir_draw_style style;
    size_t fold; /* 0: never */
    bool ids;    /* of members, below each of them */
};

/* Append it; members get their numbers. WEIR_NO_MEMORY, or WEIR_INVALID when it is too
 * long. */
WEIR_CHECKED enum weir_status
weir_flow_chart_append_text(struct weir_flow_chart *chart,
                            const struct weir_chart_text_options *options,
                            struct weir_buf *out);

#endif
