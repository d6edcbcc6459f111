/*
 * token_reply.c - see token_reply.h.
 */
#include "cli/token/token_reply.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/reply.h"
#include "view/token_records.h"

int weir_token_reply(const struct weir_session *session,
                     const struct weir_new_token *made)
{
    if (session->shared.json)
        return weir_reply_json(session, &weir_token_made_record, made);
    printf("%s\n", made->text);
    if (!session->shared.quiet && isatty(STDOUT_FILENO))
        weir_command_note(session->command,
                          "id %s; the token is shown this once, keep it", made->grant.id);
    return WEIR_EXIT_DONE;
}
