/*
 * queue_pause.c - `weir queue pause` and `weir queue resume`: the two sides of one
 * switch.
 */
#include <stdio.h>

#include "cli/output.h"
#include "cli/session.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 10 };

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_queue_pause = {
    .name = "queue pause",
    .summary = "stop the delivery of a queue",
    .usage = "QUEUE",
    .details =
        "Stops the delivery to all subscriptions, in all processes, within a few\n"
        "seconds. Calls that are running end as usual, and enqueueing goes on. It\n"
        "stays paused until `weir queue resume`.\n",
    .uses_db = true,
    .run = run,
};

const struct weir_command weir_cli_queue_resume = {
    .name = "queue resume",
    .summary = "go on with the delivery of a queue",
    .usage = "QUEUE",
    .details =
        "Goes on where `weir queue pause` had stopped. Nothing is lost in between.\n",
    .uses_db = true,
    .run = run,
};

static int tell(const struct weir_session *session, const char *queue, bool paused)
{
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (!session->shared.quiet)
            printf("queue '%s' is %s\n", queue, paused ? "paused" : "being delivered");
        return WEIR_EXIT_DONE;
    }
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "queue", queue);
    weir_output_add_flag(&json, "paused", paused);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    bool pause = self == &weir_cli_queue_pause;
    struct weir_error error = {0};
    struct weir_session session;
    const char *queue;
    enum weir_status status;
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_END:
        break;
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    default:
        return WEIR_EXIT_MISUSE;
    }
    code = weir_command_one_operand(self, argc, argv, "QUEUE", &queue);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE) {
        status = pause ? weir_outbox_pause_queue(session.outbox, queue, &error)
                       : weir_outbox_resume_queue(session.outbox, queue, &error);
        code = status == WEIR_OK ? tell(&session, queue, pause)
                                 : weir_session_fail(&session, &error, queue);
    }
    weir_session_close(&session);
    return code;
}
