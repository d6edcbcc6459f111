/*
 * flow_records.c - see flow_records.h.
 */
#include "view/flow_records.h"

#include <inttypes.h>

#include "base/text.h"
#include "view/execution_info_records.h"
#include "weir/heap.h"

/* ---- words ------------------------------------------------------------------------- */

const char *weir_flow_join_format(const struct weir_flow_join *join, char *out)
{
    if (join->policy == WEIR_JOIN_QUORUM)
        weir_text_format(out, WEIR_JOIN_TEXT_SIZE, "quorum:%" PRIu32, join->quorum);
    else
        weir_text_format(out, WEIR_JOIN_TEXT_SIZE, "%s",
                         join->policy == WEIR_JOIN_ANY ? "any" : "all");
    return out;
}

uint32_t weir_flow_join_needed(const struct weir_flow_join_info *info)
{
    return info->join.policy == WEIR_JOIN_ALL   ? info->total
           : info->join.policy == WEIR_JOIN_ANY ? 1
                                                : info->join.quorum;
}

void weir_flow_append_states(struct weir_buf *text, const struct weir_flow_info *info)
{
    const char *comma = "";

    for (int i = 0; i < WEIR_STATE_COUNT; i++) {
        if (info->in_state[i] == 0)
            continue;
        weir_buf_append_format(text, "%s%" PRIu32 " %s", comma, info->in_state[i],
                               weir_public_state_name((enum weir_public_state)i));
        comma = ", ";
    }
}

enum weir_tone weir_flow_tone(enum weir_flow_state state)
{
    switch (state) {
    case WEIR_FLOW_COMPLETED:
        return WEIR_TONE_GOOD;
    case WEIR_FLOW_FAILED:
        return WEIR_TONE_BAD;
    case WEIR_FLOW_RUNNING:
        return WEIR_TONE_CAREFUL;
    default:
        return WEIR_TONE_PLAIN;
    }
}

/* ---- flows ------------------------------------------------------------------------- */

static const char *flow_state(const void *row)
{
    const struct weir_flow_info *info = row;

    return weir_flow_state_name(info->state);
}

static enum weir_tone flow_tone(const void *row)
{
    const struct weir_flow_info *info = row;

    return weir_flow_tone(info->state);
}

static bool is_cancelled(const void *row)
{
    const struct weir_flow_info *info = row;

    return info->state == WEIR_FLOW_CANCELLED;
}

static const char *cancel_policy(const void *row)
{
    const struct weir_flow_info *info = row;

    return info->cancel_policy == WEIR_CANCEL_ALL       ? "all"
           : info->cancel_policy == WEIR_CANCEL_PENDING ? "pending"
                                                        : "none";
}

static const char *age_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_flow_info *info = row;
    int64_t age_us = now_us - info->created_us;

    return weir_output_age(age_us > 1000 ? age_us : 1000, out);
}

static const char *states_cell(const void *row, int64_t now_us, char *out)
{
    struct weir_buf states;

    (void)now_us;
    weir_buf_init(&states, weir_heap_system(), WEIR_CELL_SIZE);
    weir_flow_append_states(&states, row);
    weir_text_format(out, WEIR_CELL_SIZE, "%s", weir_buf_text(&states));
    weir_buf_fini(&states);
    return out;
}

static void each_state(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_flow_info *info = row;

    for (int i = 0; i < WEIR_STATE_COUNT; i++) {
        if (info->in_state[i] > 0)
            emit(state, &(struct weir_record_count){
                            weir_public_state_name((enum weir_public_state)i),
                            info->in_state[i]});
    }
}

#define FLOW(...) WEIR_FIELD(struct weir_flow_info, __VA_ARGS__)
static const struct weir_record_field FLOW_FIELDS[] = {
    FLOW("flow", id, FLOW_ID, "Id of the flow.", .title = "flow"),
    FLOW("namespace", name_space, TEXT, "Its namespace.", .title = "namespace",
         .column = 5, .cut_to = 10, .rank = 3),
    FLOW("kind", kind, TEXT, "Its kind.", .title = "kind", .column = 4, .cut_to = 10),
    WEIR_FIELD_OF("state", WORD, "State, as `weir flow list --state` names it.",
                  .title = "state", .column = 2, .word = flow_state, .tone = flow_tone),
    WEIR_FIELD_OF("cancelled_members", WORD,
                  "Members that were cancelled with it: `all`, `pending` or `none`.",
                  .word = cancel_policy, .shown = is_cancelled),
    FLOW("cancel_reason", cancel_reason, TEXT, "Why it was cancelled; or empty.",
         .shown = is_cancelled),
    FLOW("revision", revision, I64, "Number of changes to its graph."),
    FLOW("member_count", members, U32, "Number of members.", .title = "members",
         .column = 6, .rank = 1),
    FLOW("edge_count", edges, U32, "Number of edges."),
    WEIR_FIELD_OF("in_state", COUNTS, "Members by state.", .each = each_state,
                  .title = "of them", .column = 99, .cut_to = 12, .rank = 4,
                  .cell = states_cell),
    FLOW("created_at", created_us, TIME, "When it was created.", .title = "age",
         .column = 7, .rank = 2, .right = true, .cell = age_cell),
    FLOW("ended_at", ended_us, TIME, "When it ended."),
};

const struct weir_record weir_flow_record =
    WEIR_RECORD("flow", FLOW_FIELDS, "A flow, without its members.");

/* ---- its graph --------------------------------------------------------------------- */

static const char *edge_state(const void *row)
{
    static const char *const NAMES[] = {"open", "succeeded", "failed", "skipped"};
    const struct weir_edge_info *info = row;

    return NAMES[info->state];
}

#define EDGE(...) WEIR_FIELD(struct weir_edge_info, __VA_ARGS__)
static const struct weir_record_field EDGE_FIELDS[] = {
    EDGE("from", edge.from, EXECUTION_ID, "Member that comes first."),
    EDGE("to", edge.to, EXECUTION_ID, "Member that waits for it."),
    WEIR_FIELD_OF("state", WORD, "`open`, `succeeded`, `failed` or `skipped`.",
                  .word = edge_state),
    EDGE("pass_data", edge.passes_data, FLAG, "The result of one is input of the other."),
};

const struct weir_record weir_edge_record =
    WEIR_RECORD("edge", EDGE_FIELDS, "An edge between two members of a flow.");

static const char *join_text(const void *row, int64_t now_us, char *out)
{
    const struct weir_flow_join_info *info = row;

    (void)now_us;
    return weir_flow_join_format(&info->join, out);
}

static const char *join_state(const void *row)
{
    static const char *const NAMES[] = {"pending", "satisfied", "impossible"};
    const struct weir_flow_join_info *info = row;

    return NAMES[info->state];
}

static int64_t join_needed(const void *row)
{
    return weir_flow_join_needed(row);
}

#define JOIN(...) WEIR_FIELD(struct weir_flow_join_info, __VA_ARGS__)
static const struct weir_record_field JOIN_FIELDS[] = {
    JOIN("to", join.to, EXECUTION_ID, "Member that waits."),
    WEIR_FIELD_OF("join", WORD, "`all`, `any` or `quorum:N`.", .derive = join_text),
    JOIN("cancel_remaining", join.cancel_remaining, FLAG,
         "The others are cancelled when enough have succeeded."),
    WEIR_FIELD_OF("state", WORD, "`pending`, `satisfied` or `impossible`.",
                  .word = join_state),
    JOIN("total", total, U32, "Edges that lead to the member."),
    WEIR_FIELD_OF("needed", I64, "How many of them must succeed.",
                  .compute = join_needed),
    JOIN("succeeded", succeeded, U32, "How many have succeeded."),
    JOIN("failed", failed, U32, "How many have failed."),
    JOIN("skipped", skipped, U32, "How many were skipped."),
    JOIN("cancelling", cancelling, FLAG, "Others are still to be cancelled."),
};

const struct weir_record weir_join_record =
    WEIR_RECORD("join", JOIN_FIELDS, "The incoming edges of a member, and their policy.");

#define DETAIL(...) WEIR_FIELD(struct weir_flow_detail, __VA_ARGS__)
static const struct weir_record_field DETAIL_FIELDS[] = {
    WEIR_FIELD_IN(struct weir_flow_detail, NULL, info, PART, &weir_flow_record, ""),
    DETAIL("members", members, LISTED, "Members, oldest first.",
           .record = &weir_execution_record),
    DETAIL("edges", edges, LISTED, "Edges.", .record = &weir_edge_record),
    DETAIL("joins", joins, LISTED, "Joins.", .record = &weir_join_record),
};

const struct weir_record weir_flow_detail_record =
    WEIR_RECORD("flow detail", DETAIL_FIELDS, "The answer of `weir flow show`.");

/* ---- answers ----------------------------------------------------------------------- */

static bool has_more(const void *row)
{
    const struct weir_flow_page *page = row;

    return page->after > 0;
}

#define PAGE(...) WEIR_FIELD(struct weir_flow_page, __VA_ARGS__)
static const struct weir_record_field PAGE_FIELDS[] = {
    PAGE("flows", flows, LISTED, "Flows, newest first.", .record = &weir_flow_record),
    PAGE("after", after, I64, "Mark of the next page.", .known = has_more),
};

const struct weir_record weir_flow_page_record =
    WEIR_RECORD("flow page", PAGE_FIELDS, "The answer of `weir flow list`.");

static const struct weir_record_field CREATED_FIELDS[] = {
    WEIR_FIELD(struct weir_flow_created, "flow", flow, FLOW_ID, "Id of the flow."),
};

const struct weir_record weir_flow_created_record =
    WEIR_RECORD("flow created", CREATED_FIELDS, "The answer of `weir flow create`.");

static const struct weir_record_field MEMBER_FIELDS[] = {
    WEIR_FIELD(struct weir_member_added, "id", id, EXECUTION_ID, "Id of the member."),
    WEIR_FIELD(struct weir_member_added, "name", name, TEXT, "Its name, if it has one.",
               .optional = true),
};

const struct weir_record weir_member_added_record =
    WEIR_RECORD("member added", MEMBER_FIELDS, "A new member of a flow.");

#define EXTENDED(...) WEIR_FIELD(struct weir_flow_extended, __VA_ARGS__)
static const struct weir_record_field EXTENDED_FIELDS[] = {
    EXTENDED("flow", flow, FLOW_ID, "Id of the flow."),
    EXTENDED("revision", revision, I64, "Its revision now."),
    EXTENDED("members", members, LISTED, "Members that were added.",
             .record = &weir_member_added_record),
};

const struct weir_record weir_flow_extended_record = WEIR_RECORD(
    "flow extended", EXTENDED_FIELDS, "The answer of `weir flow add` and `edge`.");

#define CANCELLED(...) WEIR_FIELD(struct weir_flow_cancelled, __VA_ARGS__)
static const struct weir_record_field CANCELLED_FIELDS[] = {
    CANCELLED("flow", flow, FLOW_ID, "Id of the flow."),
    CANCELLED("state", state, TEXT, "`cancelled`."),
    CANCELLED("members_cancelled", members, SIZE, "Members that were cancelled."),
};

const struct weir_record weir_flow_cancelled_record =
    WEIR_RECORD("flow cancelled", CANCELLED_FIELDS, "The answer of `weir flow cancel`.");
