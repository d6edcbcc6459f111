/*
 * wait.c - see execution/wait.h.
 */
#include "cli/execution/wait.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "execution/id.h"
#include "view/execution_text.h"
#include "view/wait_records.h"

int weir_execution_take_waitpoint(const struct weir_command *command, char *word,
                                  struct weir_waitpoint *out)
{
    char *equals = strchr(word, '=');

    *out = (struct weir_waitpoint){.key = word};
    if (equals == NULL)
        return WEIR_EXIT_DONE;
    *equals = '\0';
    if (weir_uuid_parse(equals + 1, out->uuid))
        return WEIR_EXIT_DONE;
    return weir_command_misuse(command,
                               "--waitpoint '%s' has '%s' behind it, must be the id of a "
                               "waitpoint, as 'weir execution waitpoint' prints it",
                               word, equals + 1);
}

/* ---- waitpoints -------------------------------------------------------------------- */

static void print_words(const struct weir_waitpoint *waitpoint)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    printf("%s %s %s\n", waitpoint->key, weir_uuid_format(waitpoint->uuid, uuid),
           waitpoint->token);
}

int weir_execution_print_waitpoints(const struct weir_session *session,
                                    const struct weir_waitpoint *waitpoints, size_t count)
{
    struct weir_record_list rows;
    int code = WEIR_EXIT_DONE;

    weir_record_list_init(&rows, &weir_waitpoint_made_record, WEIR_FORM_TABLE, 0);
    for (size_t i = 0; i < count; i++) {
        if (waitpoints[i].token[0] == '\0')
            continue;
        if (session->shared.quiet)
            print_words(&waitpoints[i]);
        else
            weir_record_list_add(&rows, &waitpoints[i]);
    }
    if (rows.count > 0)
        code = weir_output_table(session->command, &rows.table);
    weir_record_list_fini(&rows);
    return code;
}

int weir_execution_wait_fail(const struct weir_execution_session *session,
                             const struct weir_claim *claim,
                             const struct weir_execution_status *current,
                             const struct weir_error *error)
{
    const struct weir_command *command = session->session.command;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char words[WEIR_EXECUTION_STATUS_SIZE];

    weir_execution_id_format(&claim->id, id);
    switch (error->status) {
    case WEIR_FENCED:
        return weir_command_fail(
            command, "%s: the claim has been lost; %s", id,
            weir_execution_spell_status(current, session->now_us, words));
    case WEIR_EXISTS:
        return weir_command_fail(command,
                                 "%s: %s; one made before is named with its id, as "
                                 "KEY=UUID: see 'weir execution waitpoints %s'",
                                 id, error->text, id);
    case WEIR_NOT_FOUND:
    case WEIR_FULL:
        return weir_command_fail(command, "%s: %s", id, error->text);
    default:
        return weir_execution_session_fail(session, error);
    }
}
