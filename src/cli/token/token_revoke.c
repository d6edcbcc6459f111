/*
 * token_revoke.c - `weir token revoke`.
 */
#include "base/noun.h"
#include "cli/reply.h"
#include "view/token_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct revoke_call {
    struct weir_session session;
    const char *token;
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("TOKEN", WEIR_AS_TEXT(struct revoke_call, token)),
};

const struct weir_command weir_cli_token_revoke = {
    .name = "token revoke",
    .summary = "make a token invalid, at once",
    .usage = "TOKEN",
    .details =
        "TOKEN is an id, or a name for all tokens of that name. Servers that have\n"
        "seen it lately follow within seconds.\n",
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static int revoke(void *state)
{
    struct revoke_call *self = state;
    struct weir_tokens_revoked row = {.token = self->token};
    struct weir_error error = {0};

    if (weir_token_revoke(self->session.db, NULL, self->token, &row.revoked, &error) !=
        WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    return weir_reply(&self->session, &weir_tokens_revoked_record, &row, "%zu %s revoked",
                      row.revoked, WEIR_NOUN(row.revoked, "token", "tokens"));
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct revoke_call call = {.token = NULL};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, revoke, &call);
}
