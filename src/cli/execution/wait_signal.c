/*
 * wait_signal.c - what the world tells suspended executions: `weir execution signal`, and
 * `weir execution approve` for operators.
 *
 * The token is a secret: it is never printed again, not even to its owner.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/content.h"
#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "cli/reply.h"
#include "execution/id.h"
#include "view/wait_records.h"

enum { TOKEN_FILE_SIZE_MAX = 4096 };

static int run_signal(const struct weir_command *self, int argc, char **argv);
static int run_approve(const struct weir_command *self, int argc, char **argv);

struct signal_call {
    struct weir_execution_session session;
    struct weir_signal signal;
    const char *waitpoint;  /* its id or key, as it was given */
    const char *token_file; /* "-": standard input; NULL: none */
    const char *payload;    /* as it was given; NULL: none */
    struct weir_content token_content;
    struct weir_content content;
    enum weir_signal_effect effect;
};

/* --token or --token-file; twice is once too often, whichever way. */
static int parse_token(const struct weir_command *self,
                       const struct weir_command_option *option, char *word, void *out)
{
    struct signal_call *call = out;
    bool from_file = option->id == 0 || strcmp(word, "-") == 0;

    if (call->signal.token != NULL || call->token_file != NULL)
        return weir_command_misuse(self, "one token is enough");
    *(from_file ? &call->token_file : &call->signal.token) = word;
    return WEIR_EXIT_DONE;
}

#define SIGNAL_OPTIONS_SHARED                                                            \
    WEIR_OPTION('s', "source", "NAME", "of the signal; counted by 'N of sources'",       \
                WEIR_AS_TEXT(struct signal_call, signal.source)),                        \
        WEIR_OPTION(0, "source-type", "TYPE", "what that is, as in user",                \
                    WEIR_AS_TEXT(struct signal_call, signal.source_type)),               \
        WEIR_OPTION('p', "payload", "P", "up to 64 KiB: a text, @FILE, or - for stdin",  \
                    WEIR_AS_TEXT(struct signal_call, payload)),                          \
        WEIR_OPTION('K', "key", "KEY", "within 24 h the same key is the same signal",    \
                    WEIR_AS_TEXT(struct signal_call, signal.key))

static const struct weir_command_option SIGNAL_OPTIONS[] = {
    WEIR_OPTION('n', "name", "NAME", "what is said, as in approved; needed",
                WEIR_AS_TEXT(struct signal_call, signal.name)),
    WEIR_OPTION('t', "token", "TOKEN", "of the waitpoint; - reads it from stdin",
                WEIR_AS_PARSED_INTO(struct signal_call, parse_token)),
    WEIR_OPTION(0, "token-file", "FILE", "or the first line of this file",
                WEIR_AS_PARSED_INTO(struct signal_call, parse_token)),
    SIGNAL_OPTIONS_SHARED,
};
static const struct weir_command_option APPROVE_OPTIONS[] = {
    WEIR_OPTION('n', "name", "NAME", "what is said; default approved",
                WEIR_AS_TEXT(struct signal_call, signal.name)),
    SIGNAL_OPTIONS_SHARED,
};

const struct weir_command weir_cli_execution_signal = {
    .name = "execution signal",
    .summary = "answer an execution that waits, by a token",
    .usage = "ID WAITPOINT --name NAME --token TOKEN [OPTION...]",
    .details =
        "WAITPOINT is its id or its key; its token is what 'weir execution suspend'\n"
        "printed. A token on the command line can be seen by all users of this computer\n"
        "while the program runs: --token - and --token-file hide it from users that\n"
        "may not read standard input or the file.\n"
        "\n"
        "Prints what the signal has done:\n"
        "  resumed     with this one the condition holds\n"
        "  kept        it counts, and more is missing\n"
        "  buffered    no execution is suspended on the waitpoint yet\n"
        "  ignored     no part of the condition asks for it\n"
        "  duplicate   its key came before; it counts once\n"
        "  late        the wait is over\n"
        "A wrong token ends with 1 and changes nothing; whether the execution is there\n"
        "is not said. A key that was used for another signal is refused.\n",
    WEIR_OPTIONS(SIGNAL_OPTIONS),
    .reads_operands = true,
    .uses_db = true,
    .run = run_signal,
};

const struct weir_command weir_cli_execution_approve = {
    .name = "execution approve",
    .summary = "answer an execution that waits, as an operator",
    .usage = "ID KEY [OPTION...]",
    .details =
        "As 'weir execution signal', by the key of the waitpoint and without its token:\n"
        "a user that may write to the database may do it. 'weir execution resume' ends\n"
        "the wait whatever the condition is.\n"
        "\n"
        "  weir execution approve \"$id\" review --source anna\n"
        "  weir execution approve \"$id\" review --name rejected --source anna\n",
    WEIR_OPTIONS(APPROVE_OPTIONS),
    .reads_operands = true,
    .uses_db = true,
    .operates = true,
    .run = run_approve,
};

/* ---- options ----------------------------------------------------------------------- */

/* A word too many may be the token: it is not repeated. */
static int take_operands(const struct weir_command *self, int argc, char **argv,
                         struct signal_call *out)
{
    if (argc - optind < 2)
        return weir_command_misuse(self, "which execution, and which of its waitpoints?");
    if (argc - optind > 2)
        return weir_command_misuse(self, "more than two words; a token is an option");
    out->waitpoint = argv[optind + 1];
    return weir_execution_take_id(self, argv[optind], &out->signal.id);
}

static int check_together(const struct weir_command *self, const struct signal_call *out)
{
    bool token_from_stdin = out->token_file != NULL && strcmp(out->token_file, "-") == 0;

    if (out->signal.name == NULL)
        return weir_command_misuse(self, "what is said? --name NAME is needed");
    if (self == &weir_cli_execution_signal && out->signal.token == NULL &&
        out->token_file == NULL)
        return weir_command_misuse(
            self, "by what right? --token or --token-file is needed; operators have "
                  "'weir execution approve'");
    if (token_from_stdin && out->payload != NULL && strcmp(out->payload, "-") == 0)
        return weir_command_misuse(
            self, "standard input is the token or the payload, not both");
    return WEIR_EXIT_DONE;
}

/* The first line of what was read. */
static int read_token(const struct weir_command *self, struct signal_call *out)
{
    int code = weir_content_read(&out->token_content, self, "token", out->token_file,
                                 TOKEN_FILE_SIZE_MAX, "");
    char *text = out->token_content.memory;

    if (code != WEIR_EXIT_DONE)
        return code;
    text[out->token_content.size] = '\0'; /* one byte more is there, see content.c */
    text[strcspn(text, "\r\n")] = '\0';
    out->signal.token = text;
    return WEIR_EXIT_DONE;
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct signal_call *out)
{
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    if (code >= 0)
        return code;
    code = take_operands(self, argc, argv, out);
    if (code == WEIR_EXIT_DONE)
        code = check_together(self, out);
    if (code == WEIR_EXIT_DONE && out->token_file != NULL)
        code = read_token(self, out);
    if (code == WEIR_EXIT_DONE && out->payload != NULL)
        code = weir_content_take(&out->content, self, "payload", out->payload,
                                 WEIR_SIGNAL_PAYLOAD_MAX);
    out->signal.payload = out->content.size > 0 ? out->content.data : NULL;
    out->signal.payload_size = out->content.size;
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- the calls --------------------------------------------------------------------- */

typedef enum weir_status (*signal_fn)(struct signal_call *self, struct weir_error *error);

static void match_key(void *state, const struct weir_waitpoint_info *info)
{
    struct signal_call *self = state;

    if (strcmp(info->key, self->waitpoint) == 0)
        memcpy(self->signal.waitpoint, info->uuid, WEIR_UUID_SIZE);
}

/* A key stands for the newest waitpoint of that name. Where there is none, the library
 * is asked all the same: it answers as to a wrong token. */
static enum weir_status send_signal(struct signal_call *self, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (!weir_uuid_parse(self->waitpoint, self->signal.waitpoint))
        status = weir_execution_waitpoints(self->session.executions, &self->signal.id,
                                           match_key, self, error);
    if (status != WEIR_OK && status != WEIR_NOT_FOUND)
        return status;
    return weir_execution_signal(self->session.executions, &self->signal, &self->effect,
                                 error);
}

static enum weir_status approve(struct signal_call *self, struct weir_error *error)
{
    return weir_execution_approve(self->session.executions, &self->signal.id,
                                  self->waitpoint, &self->signal, &self->effect, error);
}

/* ---- telling ----------------------------------------------------------------------- */

static const char *const EFFECTS[WEIR_SIGNAL_EFFECT_COUNT] = {
    [WEIR_SIGNAL_RESUMED] = "with this signal the condition holds",
    [WEIR_SIGNAL_KEPT] = "it counts, and more is missing",
    [WEIR_SIGNAL_BUFFERED] = "no execution has suspended on the waitpoint yet",
    [WEIR_SIGNAL_IGNORED] = "no part of the condition asks for it",
    [WEIR_SIGNAL_DUPLICATE] = "its key came before; it counts once",
    [WEIR_SIGNAL_LATE] = "the wait is over",
};

static int tell(const struct signal_call *self)
{
    const struct weir_command_shared *shared = &self->session.session.shared;

    if (shared->json)
        return weir_reply_json(
            &self->session.session, &weir_signalled_record,
            &(struct weir_signalled){self->signal.id,
                                     weir_signal_effect_name(self->effect)});
    printf("%s", weir_signal_effect_name(self->effect));
    if (!shared->quiet)
        printf(": %s", EFFECTS[self->effect]);
    puts("");
    return WEIR_EXIT_DONE;
}

/* A token that is not good is no matter of rights in the database, whose errors have
 * codes. */
static int tell_failure(const struct signal_call *self, const struct weir_error *error)
{
    const struct weir_command *command = self->session.session.command;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_execution_id_format(&self->signal.id, id);
    switch (error->status) {
    case WEIR_DENIED:
        if (error->native_code != 0 || error->sqlstate[0] != '\0')
            break;
        return weir_command_fail(command, "%s: %s", id, error->text);
    case WEIR_NOT_FOUND:
        return weir_command_fail(command, "%s: %s; see 'weir execution waitpoints %s'",
                                 id, error->text, id);
    case WEIR_MISMATCH:
    case WEIR_FULL:
        return weir_command_fail(command, "%s: %s", id, error->text);
    default:
        break;
    }
    return weir_execution_session_fail(&self->session, error);
}

static int call(const struct weir_command *command, struct signal_call *self,
                signal_fn send)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_TELLING, NULL);

    if (code == WEIR_EXIT_DONE)
        code = send(self, &error) == WEIR_OK ? tell(self) : tell_failure(self, &error);
    weir_execution_session_close(&self->session);
    return code;
}

static void finish(struct signal_call *self)
{
    if (self->token_content.memory != NULL)
        memset(self->token_content.memory, 0, TOKEN_FILE_SIZE_MAX);
    weir_content_fini(&self->token_content);
    weir_content_fini(&self->content);
}

static int run_signal(const struct weir_command *self, int argc, char **argv)
{
    struct signal_call signal_call = {.effect = WEIR_SIGNAL_LATE};
    int code = parse(self, argc, argv, &signal_call);

    if (code < 0)
        code = call(self, &signal_call, send_signal);
    finish(&signal_call);
    return code;
}

static int run_approve(const struct weir_command *self, int argc, char **argv)
{
    struct signal_call signal_call = {
        .signal = {.name = "approved", .source_type = "operator"}};
    int code = parse(self, argc, argv, &signal_call);

    if (code < 0)
        code = call(self, &signal_call, approve);
    finish(&signal_call);
    return code;
}
