/*
 * flow_cancel.c - `weir flow cancel`.
 */
#include <stdio.h>

#include "cli/flow/flow_words.h"
#include "cli/reply.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct cancel_call {
    struct weir_execution_session session;
    struct weir_flow_id flow;
    const char *reason;
    enum weir_flow_cancel_policy members;
};

static const char *policy_at(size_t index)
{
    static const char *const WORDS[] = {
        [WEIR_CANCEL_FLOW_ONLY] = "none",
        [WEIR_CANCEL_ALL] = "all",
        [WEIR_CANCEL_PENDING] = "pending",
    };

    return WORDS[index];
}

static const struct weir_option_words POLICIES = {.at = policy_at, .count = 3};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('R', "reason", "TEXT", "why; the first 1024 bytes are kept",
                WEIR_AS_TEXT(struct cancel_call, reason)),
    WEIR_OPTION(0, "members", "all|pending|none", "which of them; default all",
                WEIR_AS_CHOICE(struct cancel_call, members, POLICIES)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("FLOW", WEIR_AS_FLOW_ID(struct cancel_call, flow)),
};

const struct weir_command weir_cli_flow_cancel = {
    .name = "flow cancel",
    .summary = "cancel a flow, and its members",
    .usage = "FLOW [--members WHICH] [--reason TEXT]",
    .details =
        "A flow that is cancelled takes no more members. Those it has are cancelled:\n"
        "all that have not ended, or those without an attempt; or they go on. One\n"
        "that has ended in another way is refused; what is cancelled stays so.\n"
        "Single executions are cancelled with 'weir execution cancel'.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static void keep_state(void *state, const struct weir_flow_info *info)
{
    *(enum weir_flow_state *)state = info->state;
}

static int cancel(void *state)
{
    struct cancel_call *self = state;
    struct weir_executions *executions = self->session.executions;
    const struct weir_session *session = &self->session.session;
    enum weir_flow_state ended = WEIR_FLOW_OPEN;
    char id[WEIR_FLOW_ID_TEXT_SIZE];
    struct weir_error error = {0};
    size_t members = 0;

    weir_flow_id_format(&self->flow, id);
    if (weir_flow_cancel(executions, &self->flow, self->members, self->reason, &members,
                         &error) != WEIR_OK ||
        weir_flow_get(executions, &self->flow, keep_state, &ended, &error) != WEIR_OK)
        return weir_flow_fail(&self->session, &error);
    if (ended != WEIR_FLOW_CANCELLED)
        return weir_command_fail(
            session->command,
            "flow %s is %s and is left as it is; 'weir execution replay' "
            "runs members once more",
            id, weir_flow_state_name(ended));
    return weir_reply(
        session, &weir_flow_cancelled_record,
        &(struct weir_flow_cancelled){self->flow, weir_flow_state_name(ended), members},
        "flow %s cancelled; members cancelled: %zu", id, members);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct cancel_call call = {.members = WEIR_CANCEL_ALL};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_execution_session_run(&call.session, self, WEIR_EXECUTION_SESSION_TELLING,
                                      cancel, &call);
}
