/*
 * budget_limit.c - `weir budget create` and `change`.
 *
 * change() of the library wants all of what it is to be; the command changes only what
 * is named, and so reads the budget first.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "cli/budget/budget.h"
#include "cli/execution/execution_words.h"
#include "cli/reply.h"
#include "weir/heap.h"

enum { TEXTS_SIZE_MAX = 64 << 10 };

#define PERIOD_MS_MIN (WEIR_SECONDS(1) / WEIR_MILLISECONDS(1))

static int run_create(const struct weir_command *self, int argc, char **argv);
static int run_change(const struct weir_command *self, int argc, char **argv);

/* What options have said of one dimension. */
struct wish {
    const char *dimension;
    int64_t hard; /* -1: nothing, as the next */
    int64_t soft;
};

struct limit_call {
    struct weir_execution_session session;
    struct weir_budget_draft draft;
    struct wish wishes[WEIR_BUDGET_DIMENSIONS_MAX];
    size_t wish_count;
    bool period_given;
    struct weir_budget_limit limits[WEIR_BUDGET_DIMENSIONS_MAX];
    struct weir_arena texts; /* dimensions that are there */
    bool no_memory;
};

/* ---- options ----------------------------------------------------------------------- */

static struct wish *find_wish(struct limit_call *self, const char *dimension)
{
    for (size_t i = 0; i < self->wish_count; i++) {
        if (strcmp(self->wishes[i].dimension, dimension) == 0)
            return &self->wishes[i];
    }
    return NULL;
}

/* --hard or --soft. */
static int parse_limit(const struct weir_command *self,
                       const struct weir_command_option *option, char *word, void *out)
{
    struct limit_call *call = out;
    bool hard = strcmp(option->name, "hard") == 0;
    const char *name = hard ? "--hard" : "--soft";
    const char *dimension = NULL;
    struct wish *wish;
    int64_t limit = 0;
    int64_t *place;
    int code = weir_execution_take_amount(self, name, word, &dimension, &limit);

    if (code != WEIR_EXIT_DONE)
        return code;
    wish = find_wish(call, dimension);
    if (wish == NULL && call->wish_count == WEIR_BUDGET_DIMENSIONS_MAX)
        return weir_command_misuse(self, "more than %d dimensions",
                                   WEIR_BUDGET_DIMENSIONS_MAX);
    if (wish == NULL) {
        wish = &call->wishes[call->wish_count++];
        *wish = (struct wish){.dimension = dimension, .hard = -1, .soft = -1};
    }
    place = hard ? &wish->hard : &wish->soft;
    if (*place >= 0)
        return weir_command_misuse(self, "%s '%s' is given twice", name, dimension);
    *place = limit;
    return WEIR_EXIT_DONE;
}

#define LIMIT_OPTIONS                                                                    \
    WEIR_OPTION(0, "hard", "DIMENSION=N", "never more; 0: no limit; may be repeated",    \
                WEIR_AS_PARSED_INTO(struct limit_call, parse_limit)),                    \
        WEIR_OPTION(0, "soft", "DIMENSION=N", "more is counted as a breach; likewise",   \
                    WEIR_AS_PARSED_INTO(struct limit_call, parse_limit)),                \
        WEIR_OPTION(0, "period", "D", "reset again and again, 1s and more; 0: never",    \
                    WEIR_AS_MS_OR_ZERO(struct limit_call, draft.period_ms,               \
                                       PERIOD_MS_MIN, WEIR_EXECUTION_DURATION_MS_MAX),   \
                    WEIR_ALSO_SET(struct limit_call, period_given))

static const struct weir_command_option CREATE_OPTIONS[] = {
    LIMIT_OPTIONS,
    WEIR_OPTION(0, "scope-type", "TYPE", "kind of its owner, as in tenant",
                WEIR_AS_TEXT(struct limit_call, draft.scope_type)),
    WEIR_OPTION(0, "scope", "NAME", "as in acme",
                WEIR_AS_TEXT(struct limit_call, draft.scope)),
};
static const struct weir_command_option CHANGE_OPTIONS[] = {LIMIT_OPTIONS};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("NAME", WEIR_AS_TEXT(struct limit_call, draft.name)),
};

const struct weir_command weir_cli_budget_create = {
    .name = "budget create",
    .summary = "make a budget",
    .usage = "NAME --hard DIMENSION=N [OPTION...]",
    .details =
        "One or more dimensions, each with a hard limit, a soft one or both. What would\n"
        "exceed a hard limit is refused when it is reported. Resets come at the time of\n"
        "creation plus a whole number of periods. One that is there and the same is\n"
        "fine; one that is different is refused.\n",
    WEIR_OPTIONS(CREATE_OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run_create,
};

const struct weir_command weir_cli_budget_change = {
    .name = "budget change",
    .summary = "give a budget other limits, or another period",
    .usage = "NAME [OPTION...]",
    .details = "Only what is named changes; a dimension may be new. Executions that wait "
               "for it\n"
               "are ready at once if its limits allow it. Another period begins now.\n",
    WEIR_OPTIONS(CHANGE_OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run_change,
};

/* ---- the draft --------------------------------------------------------------------- */

static void keep_limit(void *state, const struct weir_budget_info *info)
{
    struct limit_call *self = state;

    for (size_t i = 0; i < info->usage_count; i++) {
        const struct weir_usage_info *usage = &info->usage[i];
        struct wish *wish = find_wish(self, usage->dimension);

        if (wish != NULL) {
            wish->hard = wish->hard >= 0 ? wish->hard : usage->hard;
            wish->soft = wish->soft >= 0 ? wish->soft : usage->soft;
        } else if (self->wish_count == 0) { /* the library wants one at least */
            char *name = weir_arena_copy_text(&self->texts, usage->dimension);

            self->no_memory = name == NULL;
            if (name != NULL)
                self->wishes[self->wish_count++] =
                    (struct wish){name, usage->hard, usage->soft};
        }
    }
    if (!self->period_given)
        self->draft.period_ms = info->period_ms;
}

static void fill_limits(struct limit_call *self)
{
    self->draft.limit_count = self->wish_count;
    for (size_t i = 0; i < self->wish_count; i++) {
        const struct wish *wish = &self->wishes[i];

        self->limits[i] = (struct weir_budget_limit){
            .dimension = wish->dimension,
            .hard = wish->hard > 0 ? wish->hard : 0,
            .soft = wish->soft > 0 ? wish->soft : 0,
        };
    }
}

/* ---- the commands ------------------------------------------------------------------ */

static int tell(const struct limit_call *self, const char *done)
{
    const struct weir_budget_reply row = {.budget = self->draft.name, .answer = done};

    return weir_reply(&self->session.session, &weir_budget_reply_record, &row, "%s %s",
                      row.budget, done);
}

static int create(void *state)
{
    struct limit_call *self = state;
    struct weir_error error = {0};
    bool existed = false;

    fill_limits(self);
    if (weir_budget_create(self->session.executions, &self->draft, &existed, &error) !=
        WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return tell(self, existed ? "was there already" : "created");
}

static int change(void *state)
{
    struct limit_call *self = state;
    struct weir_error error = {0};
    enum weir_status status = weir_budget_get(self->session.executions, self->draft.name,
                                              keep_limit, self, &error);

    if (self->no_memory)
        return weir_command_fail(self->session.session.command, "out of memory");
    fill_limits(self);
    if (status == WEIR_OK)
        status = weir_budget_change(self->session.executions, &self->draft, &error);
    return status == WEIR_OK ? tell(self, "changed")
                             : weir_budget_fail(&self->session, &error);
}

static int call(const struct weir_command *command, struct limit_call *self,
                int (*limit)(void *state))
{
    int code;

    self->draft.limits = self->limits;
    weir_arena_init(&self->texts, weir_heap_system(), TEXTS_SIZE_MAX);
    code = weir_execution_session_run(&self->session, command,
                                      WEIR_EXECUTION_SESSION_SILENT, limit, self);
    weir_arena_fini(&self->texts);
    return code;
}

static int run_create(const struct weir_command *self, int argc, char **argv)
{
    struct limit_call limit_call = {.wish_count = 0};
    int code = weir_command_parse(self, argc, argv, &limit_call, sizeof limit_call);

    if (code >= 0)
        return code;
    if (limit_call.wish_count == 0)
        return weir_command_misuse(self, "how much? --hard or --soft is needed");
    return call(self, &limit_call, create);
}

static int run_change(const struct weir_command *self, int argc, char **argv)
{
    struct limit_call limit_call = {.wish_count = 0};
    int code = weir_command_parse(self, argc, argv, &limit_call, sizeof limit_call);

    if (code >= 0)
        return code;
    if (limit_call.wish_count == 0 && !limit_call.period_given)
        return weir_command_misuse(self, "what? --hard, --soft or --period is needed");
    return call(self, &limit_call, change);
}
