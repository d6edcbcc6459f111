/*
 * wait_suspend.c - a worker that waits for the world: `weir execution suspend` and
 * `weir execution waitpoint`.
 *
 * What is wrong with a condition is reported before the database is opened.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "cli/reply.h"
#include "execution/wait/condition.h"
#include "view/wait_records.h"

#define EXPIRES_MS_DEFAULT (WEIR_HOURS(24) / WEIR_MILLISECONDS(1))

static int run_suspend(const struct weir_command *self, int argc, char **argv);
static int run_waitpoint(const struct weir_command *self, int argc, char **argv);

struct suspend_call {
    struct weir_execution_session session;
    struct weir_claim claim;
    struct weir_waitpoint waitpoints[WEIR_WAITPOINTS_MAX];
    struct weir_suspend_options options;
    bool on_timeout_given;
    int64_t expires_ms;
    const char *key; /* of `weir execution waitpoint` */

    struct weir_condition condition;        /* refers to the next */
    char text[WEIR_CONDITION_SIZE_MAX + 1]; /* the condition; keys end in zeros */

    bool satisfied;
    struct weir_execution_status current;
};

static const char *reason_at(size_t index)
{
    return weir_suspend_reason_name((enum weir_suspend_reason)index);
}

static const char *on_timeout_at(size_t index)
{
    return weir_on_timeout_name((enum weir_on_timeout)index);
}

static const struct weir_option_words REASONS = {
    .at = reason_at,
    .count = WEIR_SUSPEND_REASON_COUNT,
};
static const struct weir_option_words ON_TIMEOUT = {
    .at = on_timeout_at,
    .count = WEIR_ON_TIMEOUT_COUNT,
};

static int parse_waitpoint(const struct weir_command *self,
                           const struct weir_command_option *option, char *word,
                           void *out)
{
    struct weir_waitpoint waitpoint;
    int code = weir_execution_take_waitpoint(self, word, &waitpoint);

    (void)option;
    if (code == WEIR_EXIT_DONE)
        *(struct weir_waitpoint *)out = waitpoint;
    return code;
}

static const struct weir_command_option SUSPEND_OPTIONS[] = {
    WEIR_OPTION('u', "until", "CONDITION", "what is waited for, see above; needed",
                WEIR_AS_TEXT(struct suspend_call, options.until)),
    WEIR_OPTION('w', "waitpoint", "KEY",
                "besides those in the condition; may be repeated",
                WEIR_AS_PARSED(struct suspend_call, waitpoints[0], struct weir_waitpoint,
                               parse_waitpoint),
                WEIR_IN_LIST(struct suspend_call, waitpoints, options.waitpoint_count,
                             "waitpoints")),
    WEIR_OPTION('t', "timeout", "D", "wait so long at most; default for ever",
                WEIR_AS_MS(struct suspend_call, options.timeout_ms, 1,
                           WEIR_EXECUTION_DURATION_MS_MAX)),
    WEIR_OPTION(0, "on-timeout", "WHAT", "what then, see above; default fail",
                WEIR_AS_CHOICE(struct suspend_call, options.on_timeout, ON_TIMEOUT),
                WEIR_ALSO_SET(struct suspend_call, on_timeout_given)),
    WEIR_OPTION('R', "reason", "WHY", "shown in lists, see above; default signal",
                WEIR_AS_CHOICE(struct suspend_call, options.reason, REASONS)),
    WEIR_OPTION(0, "resume-delay", "D", "go on so long after it holds",
                WEIR_AS_MS(struct suspend_call, options.resume_delay_ms, 0,
                           WEIR_EXECUTION_DURATION_MS_MAX)),
};
static const struct weir_command_option WAITPOINT_OPTIONS[] = {
    WEIR_OPTION(
        'e', "expires", "D", "without a suspension it is gone then; default 24h",
        WEIR_AS_MS(struct suspend_call, expires_ms, 1, WEIR_EXECUTION_DURATION_MS_MAX)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("TOKEN of a claim", WEIR_AS_CLAIM(struct suspend_call, claim)),
    WEIR_OPERAND("KEY", WEIR_AS_TEXT(struct suspend_call, key)),
};

const struct weir_command weir_cli_execution_suspend = {
    .name = "execution suspend",
    .summary = "give a claimed execution back until a signal comes",
    .usage = "TOKEN --until CONDITION [OPTION...]",
    .details =
        "Prints a token for each waitpoint: the right to signal it, for the sender of a\n"
        "signal. No other command shows them. When the condition holds the same "
        "attempt\n"
        "goes on with any worker, and 'weir execution signals ID' has the answers.\n"
        "\n"
        "  approved@review                       a signal 'approved' at 'review'\n"
        "  *@review                              any signal there\n"
        "  all(approved@legal, approved@board)   both; up to 4 levels of all()\n"
        "  2 of sources vote@(ann, bob, cid)     from two different sources\n"
        "  2 of waitpoints vote@(ann, bob, cid)  at two different waitpoints\n"
        "  3 of signals *@mail                   three signals\n"
        "  operator                              'weir execution resume', and no signal\n"
        "  timeout                               nothing but its timeout\n"
        "\n"
        "Waitpoints are those that the condition names. One that\n"
        "'weir execution waitpoint' made before is given as --waitpoint KEY=ID; when\n"
        "signals that came to it suffice already, nothing is suspended, no token is\n"
        "printed, and the claim goes on.\n"
        "\n"
        "--on-timeout is fail, cancel, expire, resume (with a signal 'timeout') or\n"
        "escalate (an operator is to look at it). --reason is signal, approval,\n"
        "callback, tool_result, operator_review, policy, step_boundary or\n"
        "manual_pause.\n"
        "\n"
        "  weir execution suspend \"$token\" --until approved@review --timeout 2d \\\n"
        "      --on-timeout cancel --reason approval\n",
    WEIR_OPTIONS(SUSPEND_OPTIONS),
    .operands = OPERANDS,
    .operand_count = 1,
    .uses_db = true,
    .run = run_suspend,
};

const struct weir_command weir_cli_execution_waitpoint = {
    .name = "execution waitpoint",
    .summary = "make a waitpoint before suspending on it",
    .usage = "TOKEN KEY [--expires D]",
    .details =
        "To hand out the token of a waitpoint early: what comes before the suspension\n"
        "counts when it begins. 'weir execution suspend --waitpoint KEY=ID' then takes\n"
        "it. Asked for again it is the same one.\n",
    WEIR_OPTIONS(WAITPOINT_OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run_waitpoint,
};

static struct suspend_call suspend_call; /* too large for a stack */

/* ---- options ----------------------------------------------------------------------- */

static int add_waitpoint(const struct weir_command *self, struct suspend_call *out,
                         char *word)
{
    if (out->options.waitpoint_count == WEIR_WAITPOINTS_MAX)
        return weir_command_misuse(self, "more than %d waitpoints", WEIR_WAITPOINTS_MAX);
    return weir_execution_take_waitpoint(
        self, word, &out->waitpoints[out->options.waitpoint_count++]);
}

static bool is_given(const struct suspend_call *self, const char *key)
{
    for (size_t i = 0; i < self->options.waitpoint_count; i++) {
        if (strcmp(self->waitpoints[i].key, key) == 0)
            return true;
    }
    return false;
}

/* Keys of the condition that no option has named. Behind each there is a comma, a
 * bracket, a blank or the end: room for a zero, in our copy. */
static int add_keys(const struct weir_command *self, struct suspend_call *out)
{
    int code = WEIR_EXIT_DONE;

    for (uint32_t i = 0; i < out->condition.key_count && code == WEIR_EXIT_DONE; i++) {
        struct weir_str key = out->condition.keys[i];
        char *word = out->text + (key.data - out->text);

        word[key.size] = '\0';
        if (!is_given(out, word))
            code = add_waitpoint(self, out, word);
    }
    return code;
}

static int take_condition(const struct weir_command *self, struct suspend_call *out)
{
    size_t size = strlen(out->options.until);
    struct weir_error error = {0};
    int code;

    if (size > WEIR_CONDITION_SIZE_MAX)
        return weir_command_misuse(self, "--until has %zu bytes, must have at most %d",
                                   size, WEIR_CONDITION_SIZE_MAX);
    memcpy(out->text, out->options.until, size + 1);
    if (weir_condition_parse(&out->condition, weir_str(out->text), &error) != WEIR_OK)
        return weir_command_misuse(self, "--until '%s': %s", out->options.until,
                                   error.text);
    code = add_keys(self, out);
    if (code == WEIR_EXIT_DONE &&
        weir_condition_check(&out->condition, out->waitpoints,
                             out->options.waitpoint_count, out->options.timeout_ms > 0,
                             &error) != WEIR_OK)
        code =
            weir_command_misuse(self, "--until '%s': %s", out->options.until, error.text);
    return code;
}

/* The exit code, or -1 to go on. */
static int parse_suspend(const struct weir_command *self, int argc, char **argv,
                         struct suspend_call *out)
{
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    if (code >= 0)
        return code;
    code = WEIR_EXIT_DONE;
    if (out->options.until == NULL)
        code = weir_command_misuse(self, "until when? --until CONDITION is needed");
    if (code == WEIR_EXIT_DONE && out->on_timeout_given && out->options.timeout_ms == 0)
        code = weir_command_misuse(self, "--on-timeout needs --timeout D");
    if (code == WEIR_EXIT_DONE)
        code = take_condition(self, out);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

static int parse_early(const struct weir_command *self, int argc, char **argv,
                       struct suspend_call *out)
{
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    out->waitpoints[0].key = out->key;
    out->options.waitpoint_count = 1;
    return code;
}

/* ---- telling ----------------------------------------------------------------------- */

/* Where nothing waits, no token has to be printed. */
static int tell(struct suspend_call *self)
{
    const struct weir_session *session = &self->session.session;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (self->satisfied)
        self->options.waitpoint_count = 0;
    if (session->shared.json)
        return weir_reply_json(session, &weir_suspended_record,
                               &(struct weir_suspended){
                                   .id = self->claim.id,
                                   .suspends = self->options.until != NULL,
                                   .satisfied = self->satisfied,
                                   .current = self->current,
                                   .waitpoints = self->waitpoints,
                                   .count = self->options.waitpoint_count,
                               });
    if (self->options.until != NULL && !session->shared.quiet)
        printf("%s %s\n", weir_execution_id_format(&self->claim.id, id),
               self->satisfied ? "goes on: what came before suffices" : "suspended");
    return weir_execution_print_waitpoints(session, self->waitpoints,
                                           self->options.waitpoint_count);
}

/* ---- the commands ------------------------------------------------------------------ */

typedef enum weir_status (*wait_fn)(struct suspend_call *self, struct weir_error *error);

static enum weir_status suspend(struct suspend_call *self, struct weir_error *error)
{
    return weir_execution_suspend(self->session.executions, &self->claim, &self->options,
                                  &self->satisfied, &self->current, error);
}

static enum weir_status make_waitpoint(struct suspend_call *self,
                                       struct weir_error *error)
{
    return weir_execution_waitpoint(self->session.executions, &self->claim,
                                    &self->waitpoints[0], self->expires_ms,
                                    &self->current, error);
}

static int call(const struct weir_command *command, struct suspend_call *self,
                wait_fn wait)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_TELLING, NULL);

    if (code == WEIR_EXIT_DONE)
        code = wait(self, &error) == WEIR_OK
                   ? tell(self)
                   : weir_execution_wait_fail(&self->session, &self->claim,
                                              &self->current, &error);
    weir_execution_session_close(&self->session);
    return code;
}

static int run_suspend(const struct weir_command *self, int argc, char **argv)
{
    int code;

    weir_suspend_options_init(&suspend_call.options);
    suspend_call.options.waitpoints = suspend_call.waitpoints;
    code = parse_suspend(self, argc, argv, &suspend_call);
    return code < 0 ? call(self, &suspend_call, suspend) : code;
}

static int run_waitpoint(const struct weir_command *self, int argc, char **argv)
{
    int code;

    suspend_call.expires_ms = EXPIRES_MS_DEFAULT;
    code = parse_early(self, argc, argv, &suspend_call);
    return code < 0 ? call(self, &suspend_call, make_waitpoint) : code;
}
