/*
 * token_list.c - `weir token list`.
 */
#include <stdio.h>

#include "cli/reply.h"
#include "view/token_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct list_call {
    struct weir_session session;
};

const struct weir_command weir_cli_token_list = {
    .name = "token list",
    .summary = "list tokens, with those that expired or were revoked",
    .usage = "",
    .details = "The tokens themselves are stored nowhere. With --quiet only the ids are\n"
               "printed.\n",
    .uses_db = true,
    .run = run,
};

static void print_id(void *state, const struct weir_grant *grant)
{
    (void)state;
    printf("%s\n", grant->id);
}

static void add_row(void *state, const struct weir_grant *grant)
{
    weir_record_list_add(state, grant);
}

static int list(void *state)
{
    struct list_call *self = state;
    bool ids = self->session.shared.quiet && !self->session.shared.json;
    struct weir_record_list rows;
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    weir_record_list_init(&rows, &weir_token_record, weir_reply_form(&self->session), 0);
    if (weir_token_list(self->session.db, ids ? print_id : add_row, &rows, &error) !=
        WEIR_OK)
        code = weir_session_fail(&self->session, &error, NULL);
    else if (!ids)
        code = weir_reply_list(&self->session, "tokens", &rows);
    weir_record_list_fini(&rows);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct list_call call;
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, list, &call);
}
