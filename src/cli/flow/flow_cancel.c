/*
 * flow_cancel.c - `weir flow cancel --flow`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/flow/flow_graph.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 10 };

static int take_members(const struct weir_command *command, const char *word,
                        enum weir_graph_cancel_policy *out)
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
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (strcmp(WORDS[i], word) == 0) {
            *out = (enum weir_graph_cancel_policy)i;
            return WEIR_EXIT_DONE;
        }
    }
    nearest = weir_nearest_find(word, WORDS, sizeof WORDS / sizeof WORDS[0]);
    return weir_command_misuse(
        command, "--members is '%s', must be all, pending or none%s%s%s", word,
        nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
        nearest != NULL ? "'?" : "");
}

static void keep_state(void *state, const struct weir_graph_info *info)
{
    *(enum weir_graph_state *)state = info->state;
}

static int print_json(const struct weir_command *command, const char *id, size_t members)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "flow", id);
    weir_output_add_text(&json, "state", weir_graph_state_name(WEIR_GRAPH_CANCELLED));
    weir_output_add_number(&json, "members_cancelled", (int64_t)members);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(command, &json);
    weir_buf_fini(&json);
    return code;
}

static int cancel(const struct weir_flow_session *session,
                  const struct weir_graph_id *graph, enum weir_graph_cancel_policy policy,
                  const char *reason)
{
    const struct weir_session *shared = &session->session;
    enum weir_graph_state state = WEIR_GRAPH_OPEN;
    char id[WEIR_GRAPH_ID_TEXT_SIZE];
    struct weir_error error = {0};
    size_t members = 0;

    weir_graph_id_format(graph, id);
    if (weir_graph_cancel(session->flow, graph, policy, reason, &members, &error) !=
            WEIR_OK ||
        weir_graph_get(session->flow, graph, keep_state, &state, &error) != WEIR_OK)
        return weir_flow_graph_fail(session, &error);
    if (state != WEIR_GRAPH_CANCELLED)
        return weir_command_fail(shared->command,
                                 "flow %s is %s and is left as it is; 'weir flow replay' "
                                 "runs members once more",
                                 id, weir_graph_state_name(state));
    if (shared->shared.json)
        return print_json(shared->command, id, members);
    if (!shared->shared.quiet)
        printf("flow %s cancelled; members cancelled: %zu\n", id, members);
    return WEIR_EXIT_DONE;
}

int weir_flow_graph_cancel(const struct weir_command *command, const char *flow,
                           const char *members, const char *reason)
{
    enum weir_graph_cancel_policy policy;
    struct weir_flow_session session;
    struct weir_graph_id graph;
    int code = weir_flow_take_graph(command, flow, &graph);

    if (code == WEIR_EXIT_DONE)
        code = take_members(command, members, &policy);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_flow_session_open(&session, command, WEIR_FLOW_SESSION_TELLING, NULL);
    if (code == WEIR_EXIT_DONE)
        code = cancel(&session, &graph, policy, reason);
    weir_flow_session_close(&session);
    return code;
}
