/*
 * budget_use.c - what is used of budgets: `weir budget report`, `release` and `reset`.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "cli/budget/budget.h"
#include "cli/execution/execution_words.h"
#include "cli/reply.h"

static int run_report(const struct weir_command *self, int argc, char **argv);
static int run_release(const struct weir_command *self, int argc, char **argv);
static int run_reset(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option REPORT_OPTIONS[] = {
    {'f', "for", "ID", "the execution that has used it"},
    {'K', "key", "KEY", "within 24 h the same key is the same report"},
};

const struct weir_command weir_cli_budget_report = {
    .name = "budget report",
    .summary = "say what was used of a budget",
    .usage = "NAME DIMENSION=N... [--for ID] [--key KEY]",
    .details =
        "All of it counts, or nothing: what would exceed a hard limit is refused with\n"
        "exit code 1, and counted as a breach. What exceeds a soft limit is accepted,\n"
        "and said. A key that was used for other amounts is refused; one whose report\n"
        "was refused may be used again.\n",
    .options = REPORT_OPTIONS,
    .option_count = COUNT_OF(REPORT_OPTIONS),
    .uses_db = true,
    .run = run_report,
};

const struct weir_command weir_cli_budget_release = {
    .name = "budget release",
    .summary = "give back what an execution has used",
    .usage = "NAME ID",
    .details = "All that was reported for it since the last reset. Again: nothing.\n",
    .uses_db = true,
    .run = run_release,
};

const struct weir_command weir_cli_budget_reset = {
    .name = "budget reset",
    .summary = "begin again with nothing used",
    .usage = "NAME",
    .details = "Now, besides its period. Executions that waited for it come back.\n",
    .uses_db = true,
    .run = run_reset,
};

struct using
{
    struct weir_execution_session session;
    const char *name;
    struct weir_execution_id id;
    bool has_id;
    const char *key;
    struct weir_amount amounts[WEIR_BUDGET_DIMENSIONS_MAX];
    size_t amount_count;
    struct weir_budget_answer answer;
};

/* ---- options ----------------------------------------------------------------------- */

static int take_option(const struct weir_command *self, void *state, int id, char *value)
{
    struct using *out = state;

    if (id == 'K') {
        out->key = value;
        return WEIR_EXIT_DONE;
    }
    out->has_id = true;
    return weir_execution_take_id(self, value, &out->id);
}

static int take_name(const struct weir_command *self, int argc, char **argv,
                     struct using *out)
{
    int code = weir_command_take_options(self, argc, argv, take_option, out);

    if (code >= 0)
        return code;
    if (optind >= argc)
        return weir_command_misuse(self, "no NAME given");
    out->name = argv[optind++];
    return -1;
}

static int take_amounts(const struct weir_command *self, int argc, char **argv,
                        struct using *out)
{
    int code = WEIR_EXIT_DONE;

    for (; optind < argc && code == WEIR_EXIT_DONE; optind++) {
        struct weir_amount *amount = &out->amounts[out->amount_count];

        if (out->amount_count++ == WEIR_BUDGET_DIMENSIONS_MAX)
            return weir_command_misuse(self, "more than %d amounts",
                                       WEIR_BUDGET_DIMENSIONS_MAX);
        code = weir_execution_take_amount(self, "an amount", argv[optind],
                                          &amount->dimension, &amount->amount);
    }
    if (code == WEIR_EXIT_DONE && out->amount_count == 0)
        code = weir_command_misuse(self, "how much? DIMENSION=N is needed");
    return code;
}

/* ---- telling ----------------------------------------------------------------------- */

static const char *const ANSWERS[] = {
    [WEIR_SPENT] = "reported",
    [WEIR_SPENT_OVER_SOFT] = "over_soft",
    [WEIR_NOT_SPENT] = "refused",
    [WEIR_SPENT_BEFORE] = "before",
};

static int tell(const struct using *self, const char *done)
{
    const struct weir_budget_reply row = {.budget = self->name, .answer = done};

    return weir_reply(&self->session.session, &weir_budget_reply_record, &row, "%s %s",
                      row.budget, done);
}

static void print_report(const struct using *self)
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

static int tell_report(const struct using *self)
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
    struct using *self = state;
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
    struct using *self = state;
    struct weir_error error = {0};

    if (weir_budget_release(self->session.executions, self->name, &self->id, &error) !=
        WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell(self, "released");
}

static int reset(void *state)
{
    struct using *self = state;
    struct weir_error error = {0};

    if (weir_budget_reset(self->session.executions, self->name, &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell(self, "reset");
}

static int call(const struct weir_command *command, struct using *self,
                int (*use)(void *state))
{
    return weir_execution_session_run(&self->session, command,
                                      WEIR_EXECUTION_SESSION_SILENT, use, self);
}

static int run_report(const struct weir_command *self, int argc, char **argv)
{
    struct using using = {.has_id = false};
    int code = take_name(self, argc, argv, &using);

    if (code >= 0)
        return code;
    code = take_amounts(self, argc, argv, &using);
    return code == WEIR_EXIT_DONE ? call(self, &using, report) : code;
}

static int run_release(const struct weir_command *self, int argc, char **argv)
{
    struct using using = {.has_id = false};
    const char *word = NULL;
    int code = take_name(self, argc, argv, &using);

    if (code >= 0)
        return code;
    code = weir_command_one_operand(self, argc, argv, "ID", &word);
    if (code == WEIR_EXIT_DONE)
        code = weir_execution_take_id(self, word, &using.id);
    return code == WEIR_EXIT_DONE ? call(self, &using, release) : code;
}

static int run_reset(const struct weir_command *self, int argc, char **argv)
{
    struct using using = {.has_id = false};
    int code = take_name(self, argc, argv, &using);

    if (code >= 0)
        return code;
    code = weir_command_no_operands(self, argc, argv);
    return code == WEIR_EXIT_DONE ? call(self, &using, reset) : code;
}
