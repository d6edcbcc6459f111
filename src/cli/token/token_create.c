/*
 * token_create.c - `weir token create`.
 */
#include <string.h>

#include "base/text.h"
#include "cli/token/token_reply.h"
#include "weir/worker.h"

#define LIFETIME_MAX (100 * 366 * WEIR_HOURS(24))

static int run(const struct weir_command *self, int argc, char **argv);

struct create_call {
    struct weir_session session;
    struct weir_token_options options;
    char globs[WEIR_RESTRICTION_COUNT][WEIR_TOKEN_GLOBS_SIZE_MAX + 2];
};

static int parse_scopes(const struct weir_command *self,
                        const struct weir_command_option *option, char *word, void *out)
{
    struct create_call *call = out;
    struct weir_error error = {0};
    char *rest = NULL;

    for (char *name = strtok_r(word, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        enum weir_scope scope;

        if (weir_scope_parse(name, &scope, &error) != WEIR_OK)
            return weir_command_misuse(self, "--%s: %s", option->name, error.text);
        call->options.scopes |= (uint32_t)scope;
    }
    return WEIR_EXIT_DONE;
}

/* The option may be repeated, or have commas. */
static int add_globs(const struct weir_command *self,
                     const struct weir_command_option *option, const char *word,
                     struct create_call *call, enum weir_restriction restriction)
{
    char *globs = call->globs[restriction];
    size_t used = strlen(globs);

    if (word[0] == '\0') /* not: all of them */
        return weir_command_misuse(self, "--%s: a pattern is empty", option->name);
    if (used + strlen(word) + 1 > WEIR_TOKEN_GLOBS_SIZE_MAX)
        return weir_command_misuse(self, "--%s: more than %d bytes together",
                                   option->name, WEIR_TOKEN_GLOBS_SIZE_MAX);
    (void)weir_text_format(globs + used, sizeof call->globs[restriction] - used, "%s%s",
                           used > 0 ? "," : "", word);
    call->options.globs[restriction] = globs;
    return WEIR_EXIT_DONE;
}

#define PARSE_GLOBS(name, restriction)                                                   \
    static int parse_##name(const struct weir_command *self,                             \
                            const struct weir_command_option *option, char *word,        \
                            void *out)                                                   \
    {                                                                                    \
        return add_globs(self, option, word, out, restriction);                          \
    }
PARSE_GLOBS(databases, WEIR_RESTRICT_DATABASES)
PARSE_GLOBS(queues, WEIR_RESTRICT_QUEUES)
PARSE_GLOBS(lanes, WEIR_RESTRICT_LANES)
PARSE_GLOBS(namespaces, WEIR_RESTRICT_NAMESPACES)

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('n', "name", "NAME", "of the token, for people and the audit; needed",
                WEIR_AS_TEXT(struct create_call, options.name)),
    WEIR_OPTION('s', "scope", "SCOPE", "what it allows; needed, may be repeated",
                WEIR_AS_PARSED_INTO(struct create_call, parse_scopes)),
    WEIR_OPTION(0, "database", "PATTERN", "only in these databases; may be repeated",
                WEIR_AS_PARSED_INTO(struct create_call, parse_databases)),
    WEIR_OPTION('Q', "queue", "PATTERN", "only these queues; may be repeated",
                WEIR_AS_PARSED_INTO(struct create_call, parse_queues)),
    WEIR_OPTION(0, "lane", "PATTERN", "only these lanes; may be repeated",
                WEIR_AS_PARSED_INTO(struct create_call, parse_lanes)),
    WEIR_OPTION(0, "namespace", "PATTERN", "only these namespaces; may be repeated",
                WEIR_AS_PARSED_INTO(struct create_call, parse_namespaces)),
    WEIR_OPTION('e', "expires", "D", "valid for so long, as in 90d; default: no end",
                WEIR_AS_NS(struct create_call, options.lifetime_ns, WEIR_SECONDS(1),
                           LIFETIME_MAX)),
};

const struct weir_command weir_cli_token_create = {
    .name = "token create",
    .summary = "make a token, and print it this once",
    .usage = "--name NAME --scope SCOPE [OPTION...]",
    .details =
        "SCOPE is one of these, or several with commas:\n"
        "  read      everything but payloads, headers, inputs and results\n"
        "  content   with read: these, too\n"
        "  producer  enqueue and submit\n"
        "  worker    pull and ack, claim and settle\n"
        "  signal    signal a waitpoint with its token\n"
        "  operator  read, and pause, dead letters, cancel, replay, budgets\n"
        "  admin     everything\n"
        "\n"
        "In a PATTERN * stands for any characters and ? for one: 'orders.*'. What no\n"
        "pattern matches does not exist for the token.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static int create(void *state)
{
    struct create_call *self = state;
    struct weir_new_token made;
    struct weir_error error = {0};

    if (weir_token_create(self->session.db, NULL, &self->options, &made, &error) !=
        WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    return weir_token_reply(&self->session, &made);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct create_call call;
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code < 0 && call.options.name == NULL)
        code = weir_command_misuse(self, "which name? --name NAME is needed");
    if (code < 0 && call.options.scopes == 0)
        code = weir_command_misuse(self, "what may it do? --scope SCOPE is needed");
    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, create, &call);
}
