/*
 * token_rotate.c - `weir token rotate`.
 */
#include "cli/token/token_reply.h"
#include "weir/worker.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct rotate_call {
    struct weir_session session;
    const char *token;
    int64_t overlap_ns;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('o', "overlap", "D",
                "the ones before stay valid for so long; default 24h",
                WEIR_AS_NS(struct rotate_call, overlap_ns, 0, WEIR_HOURS(366 * 24))),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("TOKEN", WEIR_AS_TEXT(struct rotate_call, token)),
};

const struct weir_command weir_cli_token_rotate = {
    .name = "token rotate",
    .summary = "make the successor of a token, and print it this once",
    .usage = "TOKEN [--overlap D]",
    .details =
        "TOKEN is an id or a name. The new one has the name, scopes, patterns and\n"
        "lifetime of the newest valid one; all valid ones of that name expire\n"
        "after the overlap.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static int rotate(void *state)
{
    struct rotate_call *self = state;
    struct weir_new_token made;
    struct weir_error error = {0};

    if (weir_token_rotate(self->session.db, NULL, self->token, self->overlap_ns, &made,
                          &error) != WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    return weir_token_reply(&self->session, &made);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct rotate_call call = {.overlap_ns = WEIR_HOURS(24)};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, rotate, &call);
}
