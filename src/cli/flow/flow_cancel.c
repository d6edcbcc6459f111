/*
 * flow_cancel.c - `weir flow cancel`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/nearest.h"
#include "cli/flow/flow_words.h"
#include "cli/reply.h"

enum { OPTION_MEMBERS = 256 };

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'R', "reason", "TEXT", "why; the first 1024 bytes are kept"},
    {OPTION_MEMBERS, "members", "all|pending|none", "which of them; default all"},
};

const struct weir_command weir_cli_flow_cancel = {
    .name = "flow cancel",
    .summary = "cancel a flow, and its members",
    .usage = "FLOW [--members WHO] [--reason TEXT]",
    .details =
        "A flow that is cancelled takes no more members. Those it has are cancelled:\n"
        "all that have not ended, or those that nobody has begun; or they go on. One\n"
        "that has ended in another way is refused; what is cancelled stays so.\n"
        "Single executions are cancelled with 'weir execution cancel'.\n",
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .uses_db = true,
    .run = run,
};

struct cancel_call {
    const char *reason;
    const char *members; /* NULL: not given */
};

static int take_option(const struct weir_command *self, void *state, int id, char *value)
{
    struct cancel_call *out = state;

    (void)self;
    if (id == 'R')
        out->reason = value;
    else
        out->members = value;
    return WEIR_EXIT_DONE;
}

static int take_members(const struct weir_command *command, const char *word,
                        enum weir_flow_cancel_policy *out)
{
    static const char *const WORDS[] = {
        [WEIR_CANCEL_FLOW_ONLY] = "none",
        [WEIR_CANCEL_ALL] = "all",
        [WEIR_CANCEL_PENDING] = "pending",
    };
    const char *nearest;

    *out = WEIR_CANCEL_ALL;
    if (word == NULL)
        return WEIR_EXIT_DONE;
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        if (strcmp(WORDS[i], word) == 0) {
            *out = (enum weir_flow_cancel_policy)i;
            return WEIR_EXIT_DONE;
        }
    }
    nearest = weir_nearest_find(word, WORDS, COUNT_OF(WORDS));
    return weir_command_misuse(
        command, "--members is '%s', must be all, pending or none%s%s%s", word,
        nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
        nearest != NULL ? "'?" : "");
}

static void keep_state(void *state, const struct weir_flow_info *info)
{
    *(enum weir_flow_state *)state = info->state;
}

static int cancel(const struct weir_execution_session *session,
                  const struct weir_flow_id *flow, enum weir_flow_cancel_policy policy,
                  const char *reason)
{
    const struct weir_session *shared = &session->session;
    enum weir_flow_state state = WEIR_FLOW_OPEN;
    char id[WEIR_FLOW_ID_TEXT_SIZE];
    struct weir_error error = {0};
    size_t members = 0;

    weir_flow_id_format(flow, id);
    if (weir_flow_cancel(session->executions, flow, policy, reason, &members, &error) !=
            WEIR_OK ||
        weir_flow_get(session->executions, flow, keep_state, &state, &error) != WEIR_OK)
        return weir_flow_fail(session, &error);
    if (state != WEIR_FLOW_CANCELLED)
        return weir_command_fail(
            shared->command,
            "flow %s is %s and is left as it is; 'weir execution replay' "
            "runs members once more",
            id, weir_flow_state_name(state));
    return weir_reply(
        shared, &weir_flow_cancelled_record,
        &(struct weir_flow_cancelled){*flow, weir_flow_state_name(state), members},
        "flow %s cancelled; members cancelled: %zu", id, members);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct cancel_call call = {NULL, NULL};
    enum weir_flow_cancel_policy policy;
    struct weir_execution_session session;
    struct weir_flow_id flow;
    const char *executions = NULL;
    int code = weir_command_take_options(self, argc, argv, take_option, &call);

    if (code >= 0)
        return code;
    code = weir_command_one_operand(self, argc, argv, "FLOW", &executions);
    if (code == WEIR_EXIT_DONE)
        code = weir_flow_take_id(self, executions, &flow);
    if (code == WEIR_EXIT_DONE)
        code = take_members(self, call.members, &policy);
    if (code != WEIR_EXIT_DONE)
        return code;
    code =
        weir_execution_session_open(&session, self, WEIR_EXECUTION_SESSION_TELLING, NULL);
    if (code == WEIR_EXIT_DONE)
        code = cancel(&session, &flow, policy, call.reason);
    weir_execution_session_close(&session);
    return code;
}
