/*
 * subscription_list.c - `weir subscription list`.
 */
#include <stdio.h>

#include "cli/reply.h"
#include "view/subscription_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct list_call {
    struct weir_session session;
    const char *queue; /* NULL: all */
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct list_call, queue), .optional = true),
};

const struct weir_command weir_cli_subscription_list = {
    .name = "subscription list",
    .summary = "list subscriptions and what waits for them",
    .usage = "[QUEUE]",
    .details =
        "Waiting is what the subscription has not acknowledged yet; '~' is an\n"
        "estimate. Oldest is the age of the oldest message of these. Processes are\n"
        "those that serve it and are alive. Dead letters wait for a decision. With\n"
        "--quiet only queue and name are printed, a line for each.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run,
};

static void print_name(void *state, const struct weir_subscription_info *info)
{
    (void)state;
    printf("%s %s\n", info->queue, info->name);
}

static void add_row(void *state, const struct weir_subscription_info *info)
{
    weir_record_list_add(state, info);
}

static int list(void *state)
{
    struct list_call *self = state;
    const struct weir_session *session = &self->session;
    bool names = session->shared.quiet && !session->shared.json;
    struct weir_record_list rows;
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    weir_record_list_init(&rows, &weir_subscription_record, weir_reply_form(session), 0);
    if (weir_outbox_read_subscriptions(session->outbox, self->queue,
                                       names ? print_name : add_row, &rows,
                                       &error) != WEIR_OK)
        code = weir_session_fail(session, &error, self->queue);
    else if (!names)
        code = weir_reply_list(session, "subscriptions", &rows);
    weir_record_list_fini(&rows);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct list_call call = {.queue = NULL};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, list, &call);
}
