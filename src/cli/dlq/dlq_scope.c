/*
 * dlq_scope.c - see dlq_scope.h.
 */
#include "cli/dlq/dlq_scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void weir_dlq_scope_init(struct weir_dlq_scope *self)
{
    weir_dead_letter_scope_init(&self->scope);
    self->id_count = 0;
    self->narrowed = false;
}

int weir_dlq_parse_id(const struct weir_command *command,
                      const struct weir_command_option *option, char *word, void *out)
{
    size_t digits = strspn(word, "0123456789");
    int64_t id;

    (void)option;
    errno = 0;
    id = strtoll(word, NULL, 10);
    if (digits == 0 || word[digits] != '\0' || errno != 0)
        return weir_command_misuse(command, "'%s' is no id of a dead letter", word);
    *(int64_t *)out = id;
    return WEIR_EXIT_DONE;
}

int weir_dlq_scope_fail(const struct weir_dlq_scope *self,
                        const struct weir_session *session,
                        const struct weir_error *error)
{
    /* A missing queue is known by its text; a missing subscription tells itself. */
    bool queue = error->status == WEIR_NOT_FOUND && self->scope.queue != NULL &&
                 strncmp(error->text, "there is no queue", 17) == 0;

    return weir_session_fail(session, error, queue ? self->scope.queue : NULL);
}
