/*
 * budget_use.c - what is used of budgets: `weir budget report`, `release` and `reset`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/budget/budget.h"
#include "cli/execution/execution_words.h"
#include "cli/reply.h"

static int run_report(const struct weir_command *self, int argc, char **argv);
static int run_release(const struct weir_command *self, int argc, char **argv);
static int run_reset(const struct weir_command *self, int argc, char **argv);

struct use_call {
    struct weir_execution_session session;
    const char *name;
    struct weir_execution_id id;
    bool has_id;
    const char *key;
    struct weir_amount amounts[WEIR_BUDGET_DIMENSIONS_MAX];
    size_t amount_count;
    struct weir_budget_answer answer;
};

static int parse_amount(const struct weir_command *self,
                        const struct weir_command_option *option, char *word, void *out)
{
    struct weir_amount *amount = out;

    (void)option;
    return weir_execution_take_amount(self, "an amount", word, &amount->dimension,
                                      &amount->amount);
}

static const struct weir_command_option REPORT_OPTIONS[] = {
    WEIR_OPTION('f', "for", "ID", "the execution that has used it",
                WEIR_AS_EXECUTION_ID(struct use_call, id),
                WEIR_ALSO_SET(struct use_call, has_id)),
    WEIR_OPTION('K', "key", "KEY", "within 24 h the same key is the same report",
                WEIR_AS_TEXT(struct use_call, key)),
};
#define NAME_OPERAND WEIR_OPERAND("NAME", WEIR_AS_TEXT(struct use_call, name))
static const struct weir_command_option REPORT_OPERANDS[] = {
    NAME_OPERAND,
    WEIR_OPERAND(
        "DIMENSION=N",
        WEIR_AS_PARSED(struct use_call, amounts[0], struct weir_amount, parse_amount),
        WEIR_IN_LIST(struct use_call, amounts, amount_count, "amounts"),
        .missing = "how much? DIMENSION=N is needed"),
};
static const struct weir_command_option RELEASE_OPERANDS[] = {
    NAME_OPERAND,
    WEIR_OPERAND("ID", WEIR_AS_EXECUTION_ID(struct use_call, id)),
};
static const struct weir_command_option RESET_OPERANDS[] = {NAME_OPERAND};

const struct weir_command weir_cli_budget_report = {
    .name = "budget report",
    .summary = "say what was used of a budget",
    .usage = "NAME DIMENSION=N... [--for ID] [--key KEY]",
    .details =
        "All of it counts, or nothing: what would exceed a hard limit is refused with\n"
        "exit code 1, and counted as a breach. What exceeds a soft limit is accepted,\n"
        "and said. A key that was used for other amounts is refused; one whose report\n"
        "was refused may be used again.\n",
    WEIR_OPTIONS(REPORT_OPTIONS),
    WEIR_OPERANDS(REPORT_OPERANDS),
    .uses_db = true,
    .run = run_report,
};

const struct weir_command weir_cli_budget_release = {
    .name = "budget release",
    .summary = "give back what an execution has used",
    .usage = "NAME ID",
    .details = "All that was reported for it since the last reset. Again: nothing.\n",
    WEIR_OPERANDS(RELEASE_OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run_release,
};

const struct weir_command weir_cli_budget_reset = {
    .name = "budget reset",
    .summary = "begin again with nothing used",
    .usage = "NAME",
    .details = "Now, besides its period. Executions that waited for it come back.\n",
    WEIR_OPERANDS(RESET_OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run_reset,
};

/* ---- telling ----------------------------------------------------------------------- */

static const char *const ANSWERS[] = {
    [WEIR_SPENT] = "reported",
    [WEIR_SPENT_OVER_SOFT] = "over_soft",
    [WEIR_NOT_SPENT] = "refused",
    [WEIR_SPENT_BEFORE] = "before",
};

static int tell(const struct use_call *self, const char *done)
{
    const struct weir_budget_reply row = {.budget = self->name, .answer = done};

    return weir_reply(&self->session.session, &weir_budget_reply_record, &row, "%s %s",
                      row.budget, done);
}

static void print_report(const struct use_call *self)
{
    const struct weir_budget_answer *answer = &self->answer;

    if (answer->spending == WEIR_SPENT_BEFORE)
        printf("%s: reported before, and counted once\n", self->name);
    else if (answer->spending == WEIR_SPENT_OVER_SOFT)
        printf("%s: reported; %s is at %" PRId64 ", above its soft limit of %" PRId64
               "\n",
               self->name, answer->dimension, answer->used, answer->limit);
    else
        printf("%s: reported\n", self->name);
}

static int tell_report(const struct use_call *self)
{
    const struct weir_budget_answer *answer = &self->answer;
    const struct weir_session *session = &self->session.session;
    const struct weir_budget_reply row = {self->name, ANSWERS[answer->spending], *answer};
    int code = WEIR_EXIT_DONE;

    if (session->shared.json)
        code = weir_reply_json(session, &weir_budget_reply_record, &row);
    else if (!session->shared.quiet && answer->spending != WEIR_NOT_SPENT)
        print_report(self);
    if (answer->spending == WEIR_NOT_SPENT)
        code =
            weir_command_fail(session->command,
                              "%s: refused, nothing was counted: %s is at %" PRId64
                              ", and its hard limit is %" PRId64,
                              self->name, answer->dimension, answer->used, answer->limit);
    return code;
}

/* ---- the commands ------------------------------------------------------------------ */

static int report(void *state)
{
    struct use_call *self = state;
    struct weir_error error = {0};

    if (weir_budget_report(self->session.executions, self->name,
                           self->has_id ? &self->id : NULL, self->amounts,
                           self->amount_count, self->key, &self->answer,
                           &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell_report(self);
}

static int release(void *state)
{
    struct use_call *self = state;
    struct weir_error error = {0};

    if (weir_budget_release(self->session.executions, self->name, &self->id, &error) !=
        WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell(self, "released");
}

static int reset(void *state)
{
    struct use_call *self = state;
    struct weir_error error = {0};

    if (weir_budget_reset(self->session.executions, self->name, &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell(self, "reset");
}

static int use(const struct weir_command *command, int argc, char **argv,
               int (*body)(void *state))
{
    struct use_call call = {.has_id = false};
    int code = weir_command_parse(command, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_execution_session_run(&call.session, command,
                                      WEIR_EXECUTION_SESSION_SILENT, body, &call);
}

static int run_report(const struct weir_command *self, int argc, char **argv)
{
    return use(self, argc, argv, report);
}

static int run_release(const struct weir_command *self, int argc, char **argv)
{
    return use(self, argc, argv, release);
}

static int run_reset(const struct weir_command *self, int argc, char **argv)
{
    return use(self, argc, argv, reset);
}
