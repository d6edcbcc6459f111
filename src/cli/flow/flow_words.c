/*
 * flow_words.c - see flow_words.h.
 */
#include "cli/flow/flow_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/execution/execution_words.h"

/* ---- words ------------------------------------------------------------------------- */

int weir_flow_take_id(const struct weir_command *command, const char *word,
                      struct weir_flow_id *out)
{
    struct weir_error error = {0};

    if (weir_flow_id_parse(word, out, &error) == WEIR_OK)
        return WEIR_EXIT_DONE;
    if (weir_execution_is_id(word))
        return weir_command_misuse(command,
                                   "'%s' is an execution and no flow, which "
                                   "'weir flow create' prints",
                                   word);
    return weir_command_misuse(command, "%s", error.text);
}

int weir_flow_parse_id(const struct weir_command *command,
                       const struct weir_command_option *option, char *word, void *out)
{
    struct weir_flow_id id;
    int code = weir_flow_take_id(command, word, &id);

    (void)option;
    if (code == WEIR_EXIT_DONE)
        *(struct weir_flow_id *)out = id;
    return code;
}

int weir_flow_parse_join(const struct weir_command *command,
                         const struct weir_command_option *option, char *word, void *out)
{
    static const char QUORUM[] = "quorum:";
    size_t size = sizeof QUORUM - 1;
    const char *digits = word + size;
    bool quorum = strncmp(word, QUORUM, size) == 0 && digits[0] != '\0' &&
                  strspn(digits, "0123456789") == strlen(digits);
    long long number = quorum ? strtoll(digits, NULL, 10) : 0;
    struct weir_flow_join *join = out;

    (void)option;
    join->quorum = 0; /* of a policy that this one replaces */
    if (strcmp(word, "all") == 0) {
        join->policy = WEIR_JOIN_ALL;
    } else if (strcmp(word, "any") == 0) {
        join->policy = WEIR_JOIN_ANY;
    } else if (number >= 1 && number <= WEIR_FLOW_UPSTREAMS_MAX) {
        join->policy = WEIR_JOIN_QUORUM;
        join->quorum = (uint32_t)number;
    } else {
        return weir_command_misuse(command,
                                   "a join is '%s', must be all, any or quorum:K, with "
                                   "a K from 1 to %d",
                                   word, WEIR_FLOW_UPSTREAMS_MAX);
    }
    return WEIR_EXIT_DONE;
}

/* ---- failures ---------------------------------------------------------------------- */

static const char *remedy_of(enum weir_status status)
{
    switch (status) {
    case WEIR_NOT_FOUND:
        return "; 'weir flow list' lists all flows, 'weir budget list' all budgets";
    case WEIR_CLOSED:
        return "; it takes no more members, make another with 'weir flow create'";
    case WEIR_STALE:
        return ", 'weir flow show' shows what has changed";
    case WEIR_FOREIGN:
        return "; members are made with 'weir flow add', and edges are between members";
    case WEIR_CYCLE:
    case WEIR_FULL:
    case WEIR_MISMATCH:
        return "; nothing was added";
    default:
        return NULL;
    }
}

int weir_flow_fail(const struct weir_execution_session *self,
                   const struct weir_error *error)
{
    const char *remedy = remedy_of(error->status);

    if (remedy == NULL)
        return weir_session_fail(&self->session, error, NULL);
    return weir_command_fail(self->session.command, "%s%s", error->text, remedy);
}
