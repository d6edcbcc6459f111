/*
 * queue_list.c - `weir queue list`.
 */
#include <stdio.h>

#include "cli/reply.h"
#include "view/queue_records.h"
#include "weir/inspect.h"

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

static void add_queue(void *state, const struct weir_queue_info *info)
{
    weir_record_list_add(state, info);
}

static int list(const struct weir_session *session)
{
    struct weir_error error = {0};
    struct weir_record_list rows;
    int code;

    weir_record_list_init(&rows, &weir_queue_record, weir_reply_form(session), 0);
    if (weir_outbox_read_queues(session->outbox, add_queue, &rows, &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    else
        code = weir_reply_list(session, "queues", &rows);
    weir_record_list_fini(&rows);
    return code;
}

static int print(void *state)
{
    const struct weir_session *session = state;

    return session->shared.quiet && !session->shared.json ? print_names(session)
                                                          : list(session);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_session session;
    int code = weir_command_parse(self, argc, argv, NULL, 0);

    if (code >= 0)
        return code;
    return weir_session_run(&session, self, WEIR_SESSION_OUTBOX, print, &session);
}
