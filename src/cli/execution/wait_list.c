/*
 * wait_list.c - `weir execution waitpoints` and `weir execution signals`: where answers
 * come in, and which have come.
 */
#include <stdio.h>

#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "cli/reply.h"
#include "view/wait_records.h"

static int run_waitpoints(const struct weir_command *self, int argc, char **argv);
static int run_signals(const struct weir_command *self, int argc, char **argv);

struct of_call {
    struct weir_execution_id id;
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("ID", WEIR_AS_EXECUTION_ID(struct of_call, id)),
};

const struct weir_command weir_cli_execution_waitpoints = {
    .name = "execution waitpoints",
    .summary = "show the waitpoints of an execution",
    .usage = "ID",
    WEIR_OPERANDS(OPERANDS),
    .details =
        "Those of the open suspension or of the last one, and those made for the next.\n"
        "Tokens are stored nowhere and cannot be shown; a token and its fingerprint\n"
        "belong together, so that a token can be compared:\n"
        "  printf %s \"$token\" | sha256sum | cut -c 1-16\n"
        "With --quiet only keys are printed.\n",
    .uses_db = true,
    .run = run_waitpoints,
};

const struct weir_command weir_cli_execution_signals = {
    .name = "execution signals",
    .summary = "show the signals that an execution has got",
    .usage = "ID",
    WEIR_OPERANDS(OPERANDS),
    .details =
        "Those of the open suspension, or of the last one, in the order in which they\n"
        "came: what a worker looks at when it goes on. JSON has the payloads.\n",
    .uses_db = true,
    .run = run_signals,
};

struct list_call {
    struct weir_execution_session session;
    struct weir_execution_id id;
    const struct weir_record *record;
    struct weir_record_list rows;
};

static bool is_quiet(const struct list_call *self)
{
    return self->session.session.shared.quiet && !self->session.session.shared.json;
}

static void add_waitpoint(void *state, const struct weir_waitpoint_info *info)
{
    struct list_call *self = state;

    if (is_quiet(self))
        puts(info->key);
    else
        weir_record_list_add(&self->rows, info);
}

static void add_signal(void *state, const struct weir_signal_info *info)
{
    struct list_call *self = state;

    if (is_quiet(self))
        puts(info->name);
    else
        weir_record_list_add(&self->rows, info);
}

/* ---- the commands ------------------------------------------------------------------ */

static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_execution_id *out)
{
    struct of_call call;
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code < 0)
        *out = call.id;
    return code;
}

static int print(struct list_call *self, const char *what)
{
    const struct weir_session *session = &self->session.session;

    if (is_quiet(self))
        return WEIR_EXIT_DONE;
    if (self->rows.count == 0 && !session->shared.json)
        return printf("no %s\n", what) < 0 ? WEIR_EXIT_FAILED : WEIR_EXIT_DONE;
    return weir_reply_list(session, what, &self->rows);
}

typedef enum weir_status (*list_fn)(struct list_call *self, struct weir_error *error);

static enum weir_status list_waitpoints(struct list_call *self, struct weir_error *error)
{
    return weir_execution_waitpoints(self->session.executions, &self->id, add_waitpoint,
                                     self, error);
}

static enum weir_status list_signals(struct list_call *self, struct weir_error *error)
{
    return weir_execution_signals(self->session.executions, &self->id, add_signal, self,
                                  error);
}

static int list(const struct weir_command *command, struct list_call *self, list_fn call,
                const char *what)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_SILENT, NULL);

    weir_record_list_init(&self->rows, self->record,
                          weir_reply_form(&self->session.session), self->session.now_us);
    if (code == WEIR_EXIT_DONE)
        code = call(self, &error) == WEIR_OK
                   ? print(self, what)
                   : weir_execution_session_fail(&self->session, &error);
    weir_record_list_fini(&self->rows);
    weir_execution_session_close(&self->session);
    return code;
}

static int run_waitpoints(const struct weir_command *self, int argc, char **argv)
{
    struct list_call list_call = {.record = &weir_waitpoint_record};
    int code = parse(self, argc, argv, &list_call.id);

    if (code >= 0)
        return code;
    return list(self, &list_call, list_waitpoints, "waitpoints");
}

static int run_signals(const struct weir_command *self, int argc, char **argv)
{
    struct list_call list_call = {.record = &weir_signal_record};
    int code = parse(self, argc, argv, &list_call.id);

    if (code >= 0)
        return code;
    return list(self, &list_call, list_signals, "signals");
}
