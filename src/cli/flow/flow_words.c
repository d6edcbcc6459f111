/*
 * flow_words.c - see flow_words.h.
 */
#include "cli/flow/flow_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/execution/execution_words.h"

/* ---- words ------------------------------------------------------------------------- */

int weir_flow_take_id(const struct weir_command *command, const char *word,
                      struct weir_flow_id *out)
{
    struct weir_error error = {0};

    if (weir_flow_id_parse(word, out, &error) == WEIR_OK)
        return WEIR_EXIT_DONE;
    if (weir_execution_is_id(word))
        return weir_command_misuse(command,
                                   "'%s' is an execution and no flow, which "
                                   "'weir flow create' prints",
                                   word);
    return weir_command_misuse(command, "%s", error.text);
}

int weir_flow_take_join(const struct weir_command *command, const char *word,
                        struct weir_flow_join *out)
{
    static const char QUORUM[] = "quorum:";
    size_t size = sizeof QUORUM - 1;
    const char *digits = word + size;
    bool quorum = strncmp(word, QUORUM, size) == 0 && digits[0] != '\0' &&
                  strspn(digits, "0123456789") == strlen(digits);
    long long number = quorum ? strtoll(digits, NULL, 10) : 0;

    if (strcmp(word, "all") == 0) {
        out->policy = WEIR_JOIN_ALL;
    } else if (strcmp(word, "any") == 0) {
        out->policy = WEIR_JOIN_ANY;
    } else if (number >= 1 && number <= WEIR_FLOW_UPSTREAMS_MAX) {
        out->policy = WEIR_JOIN_QUORUM;
        out->quorum = (uint32_t)number;
    } else {
        return weir_command_misuse(command,
                                   "a join is '%s', must be all, any or quorum:K, with "
                                   "a K from 1 to %d",
                                   word, WEIR_FLOW_UPSTREAMS_MAX);
    }
    return WEIR_EXIT_DONE;
}

const char *weir_flow_join_format(const struct weir_flow_join *join, char *out)
{
    if (join->policy == WEIR_JOIN_QUORUM)
        weir_text_format(out, WEIR_JOIN_TEXT_SIZE, "quorum:%" PRIu32, join->quorum);
    else
        weir_text_format(out, WEIR_JOIN_TEXT_SIZE, "%s",
                         join->policy == WEIR_JOIN_ANY ? "any" : "all");
    return out;
}

/* ---- failures ---------------------------------------------------------------------- */

static const char *remedy_of(enum weir_status status)
{
    switch (status) {
    case WEIR_NOT_FOUND:
        return "; 'weir flow list' lists all flows, 'weir budget list' all budgets";
    case WEIR_CLOSED:
        return "; it takes no more members, make another with 'weir flow create'";
    case WEIR_STALE:
        return ", 'weir flow show' tells what has changed";
    case WEIR_FOREIGN:
        return "; members are made with 'weir flow add', and edges are between members";
    case WEIR_CYCLE:
    case WEIR_FULL:
    case WEIR_MISMATCH:
        return "; nothing was added";
    default:
        return NULL;
    }
}

int weir_flow_fail(const struct weir_execution_session *self,
                   const struct weir_error *error)
{
    const char *remedy = remedy_of(error->status);

    if (remedy == NULL)
        return weir_session_fail(&self->session, error, NULL);
    return weir_command_fail(self->session.command, "%s%s", error->text, remedy);
}

/* ---- showing ----------------------------------------------------------------------- */

static const char *cancel_policy_name(enum weir_flow_cancel_policy policy)
{
    return policy == WEIR_CANCEL_ALL       ? "all"
           : policy == WEIR_CANCEL_PENDING ? "pending"
                                           : "none";
}

static void append_counts(struct weir_buf *json, const struct weir_flow_info *info)
{
    weir_output_open(json, "in_state", "{");
    for (int i = 0; i < WEIR_STATE_COUNT; i++) {
        if (info->in_state[i] > 0)
            weir_output_add_number(json,
                                   weir_public_state_name((enum weir_public_state)i),
                                   info->in_state[i]);
    }
    weir_buf_append_text(json, "}");
}

void weir_flow_append_summary(struct weir_buf *json, const struct weir_flow_info *info)
{
    char id[WEIR_FLOW_ID_TEXT_SIZE];

    weir_output_add_text(json, "flow", weir_flow_id_format(&info->id, id));
    weir_output_add_text(json, "namespace", info->name_space);
    weir_output_add_text(json, "kind", info->kind);
    weir_output_add_text(json, "state", weir_flow_state_name(info->state));
    if (info->state == WEIR_FLOW_CANCELLED) {
        weir_output_add_text(json, "cancelled_members",
                             cancel_policy_name(info->cancel_policy));
        weir_output_add_text(json, "cancel_reason", info->cancel_reason);
    }
    weir_output_add_number(json, "revision", info->revision);
    weir_output_add_number(json, "member_count", info->members);
    weir_output_add_number(json, "edge_count", info->edges);
    append_counts(json, info);
    weir_output_add_time(json, "created_at", info->created_us);
    weir_output_add_time(json, "ended_at", info->ended_us);
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
