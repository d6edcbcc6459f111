/*
 * queue_pause.c - `weir queue pause` and `weir queue resume`: the two sides of one
 * switch.
 */
#include "cli/reply.h"
#include "view/queue_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct pause_call {
    struct weir_session session;
    struct weir_queue_paused row;
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct pause_call, row.queue)),
};

const struct weir_command weir_cli_queue_pause = {
    .name = "queue pause",
    .summary = "stop the delivery of a queue",
    .usage = "QUEUE",
    .details =
        "Stops the delivery to all subscriptions, in all processes, within a few\n"
        "seconds. Calls that are running end as usual, and enqueueing goes on. It\n"
        "stays paused until `weir queue resume`.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

const struct weir_command weir_cli_queue_resume = {
    .name = "queue resume",
    .summary = "go on with the delivery of a queue",
    .usage = "QUEUE",
    .details =
        "Goes on where `weir queue pause` had stopped. Nothing is lost in between.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static int set_paused(void *state)
{
    struct pause_call *self = state;
    struct weir_error error = {0};
    enum weir_status status =
        self->row.paused
            ? weir_outbox_pause_queue(self->session.outbox, self->row.queue, &error)
            : weir_outbox_resume_queue(self->session.outbox, self->row.queue, &error);

    if (status != WEIR_OK)
        return weir_session_fail(&self->session, &error, self->row.queue);
    return weir_reply(&self->session, &weir_queue_paused_record, &self->row,
                      "queue '%s' is %s", self->row.queue,
                      self->row.paused ? "paused" : "being delivered");
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct pause_call call = {.row.paused = self == &weir_cli_queue_pause};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, set_paused, &call);
}
