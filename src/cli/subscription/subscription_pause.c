/*
 * subscription_pause.c - `weir subscription pause` and `resume`: the two sides of one
 * switch.
 */
#include <stdio.h>

#include "cli/output.h"
#include "cli/subscription/subscription_target.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 10 };

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_subscription_pause = {
    .name = "subscription pause",
    .summary = "stop the delivery to one subscription",
    .usage = "QUEUE NAME",
    .details = "Stops the delivery to this subscription, in all processes, within a few\n"
               "seconds; the others of the queue go on. Calls that are running end as\n"
               "usual. What comes is kept, until `weir subscription resume`.\n",
    .uses_db = true,
    .run = run,
};

const struct weir_command weir_cli_subscription_resume = {
    .name = "subscription resume",
    .summary = "go on with the delivery to a subscription",
    .usage = "QUEUE NAME",
    .details = "Goes on where `weir subscription pause` had stopped. Nothing is lost in\n"
               "between. A queue that is paused as a whole stays so.\n",
    .uses_db = true,
    .run = run,
};

static int tell(const struct weir_session *session,
                const struct weir_subscription_target *target, bool paused)
{
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (!session->shared.quiet)
            printf("subscription '%s' of queue '%s' is %s\n", target->name, target->queue,
                   paused ? "paused" : "being delivered");
        return WEIR_EXIT_DONE;
    }
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "queue", target->queue);
    weir_output_add_text(&json, "subscription", target->name);
    weir_output_add_flag(&json, "paused", paused);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    bool pause = self == &weir_cli_subscription_pause;
    struct weir_subscription_target target;
    struct weir_error error = {0};
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
    code = weir_subscription_target_take(&target, self, argc, argv);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE) {
        enum weir_status status =
            (pause ? weir_outbox_pause_subscription : weir_outbox_resume_subscription)(
                session.outbox, target.queue, target.name, &error);

        code = status == WEIR_OK
                   ? tell(&session, &target, pause)
                   : weir_subscription_target_fail(&target, &session, &error);
    }
    weir_session_close(&session);
    return code;
}
