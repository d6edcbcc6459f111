/*
 * subscription_pause.c - `weir subscription pause` and `resume`: the two sides of one
 * switch.
 */
#include "cli/reply.h"
#include "cli/subscription/subscription_target.h"
#include "view/subscription_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct pause_call {
    struct weir_session session;
    struct weir_subscription_target target;
    bool pause;
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_SUBSCRIPTION_OPERANDS(struct pause_call),
};

const struct weir_command weir_cli_subscription_pause = {
    .name = "subscription pause",
    .summary = "stop the delivery to one subscription",
    .usage = "QUEUE NAME",
    .details = "Stops the delivery to this subscription, in all processes, within a few\n"
               "seconds; the others of the queue go on. Calls that are running end as\n"
               "usual. What comes is kept, until `weir subscription resume`.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

const struct weir_command weir_cli_subscription_resume = {
    .name = "subscription resume",
    .summary = "go on with the delivery to a subscription",
    .usage = "QUEUE NAME",
    .details = "Goes on where `weir subscription pause` had stopped. Nothing is lost in\n"
               "between. A queue that is paused as a whole stays so.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static int set_paused(void *state)
{
    struct pause_call *self = state;
    const struct weir_subscription_paused row = {self->target.queue, self->target.name,
                                                 self->pause};
    struct weir_error error = {0};
    enum weir_status status =
        (self->pause ? weir_outbox_pause_subscription : weir_outbox_resume_subscription)(
            self->session.outbox, row.queue, row.subscription, &error);

    if (status != WEIR_OK)
        return weir_subscription_target_fail(&self->target, &self->session, &error);
    return weir_reply(&self->session, &weir_subscription_paused_record, &row,
                      "subscription '%s' of queue '%s' is %s", row.subscription,
                      row.queue, row.paused ? "paused" : "being delivered");
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct pause_call call = {.pause = self == &weir_cli_subscription_pause};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, set_paused, &call);
}
