/*
 * queue_list.c - `weir queue list`.
 */
#include <stdio.h>

#include "cli/queue/queue_view.h"
#include "cli/session.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_queue_list = {
    .name = "queue list",
    .summary = "list the queues and what waits in them",
    .usage = "[OPTION...]",
    .details =
        "Waiting is what the subscription furthest behind has not acknowledged yet;\n"
        "'~' is an estimate. Oldest is the age of the oldest message of these. Set\n"
        "aside are messages kept for a slow subscription. Dead letters were\n"
        "rejected, and wait for a decision. Policies are those that are not at their\n"
        "default. With --quiet only the names are printed, one per line.\n",
    .uses_db = true,
    .run = run,
};

static void print_name(void *state, const char *name)
{
    (void)state;
    puts(name);
}

static int print_names(const struct weir_session *session)
{
    struct weir_error error = {0};

    if (weir_outbox_read_queue_names(session->outbox, print_name, NULL, &error) !=
        WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    return WEIR_EXIT_DONE;
}

static int print_json(const struct weir_session *session,
                      const struct weir_queue_view *view)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_queue_view_append_json(view, &json);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static int list(const struct weir_session *session)
{
    struct weir_error error = {0};
    struct weir_queue_view view;
    int code;

    weir_queue_view_init(&view);
    if (weir_outbox_read_queues(session->outbox, weir_queue_view_add, &view, &error) !=
        WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    else if (session->shared.json)
        code = print_json(session, &view);
    else
        code = weir_output_table(session->command, &view.table);
    weir_queue_view_fini(&view);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_session session;
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_END:
        break;
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    default:
        return WEIR_EXIT_MISUSE;
    }
    code = weir_command_no_operands(self, argc, argv);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE)
        code = session.shared.quiet && !session.shared.json ? print_names(&session)
                                                            : list(&session);
    weir_session_close(&session);
    return code;
}
