/*
 * budget_list.c - `weir budget show` and `list`.
 */
#include <stdio.h>

#include "cli/budget/budget.h"
#include "cli/reply.h"
#include "weir/heap.h"

enum {
    JSON_SIZE_MAX = 64 << 20,
    LIMIT_MAX = 1000,
    LIMIT_DEFAULT = 100,
};

static int run_show(const struct weir_command *self, int argc, char **argv);
static int run_list(const struct weir_command *self, int argc, char **argv);

struct view_call {
    struct weir_execution_session session;
    const char *name;
    const char *after;
    size_t limit;
    struct weir_record_list rows; /* budgets in JSON, dimensions in a table */
    struct weir_buf text;         /* one budget: JSON, or lines for people */
};

static const struct weir_command_option LIST_OPTIONS[] = {
    WEIR_OPTION('m', "limit", "N", "at most so many, 1 to 1000; default 100",
                WEIR_AS_NUMBER(struct view_call, limit, 1, LIMIT_MAX)),
    WEIR_OPTION(0, "after", "NAME", "those behind it, by name",
                WEIR_AS_TEXT(struct view_call, after)),
};
static const struct weir_command_option SHOW_OPERANDS[] = {
    WEIR_OPERAND("NAME", WEIR_AS_TEXT(struct view_call, name)),
};

const struct weir_command weir_cli_budget_show = {
    .name = "budget show",
    .summary = "show one budget: limits, use, breaches, waiting",
    .usage = "NAME",
    .details = "Executions that wait for it are counted up to 1000.\n",
    WEIR_OPERANDS(SHOW_OPERANDS),
    .uses_db = true,
    .run = run_show,
};

const struct weir_command weir_cli_budget_list = {
    .name = "budget list",
    .summary = "list budgets by name, with what is used of them",
    .usage = "[--limit N] [--after NAME]",
    .details = "A row for each dimension. With --quiet only names are printed.\n",
    WEIR_OPTIONS(LIST_OPTIONS),
    .uses_db = true,
    .run = run_list,
};

/* ---- rows -------------------------------------------------------------------------- */

static void add_rows(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    for (size_t i = 0; i < info->usage_count; i++)
        weir_record_list_add(&self->rows,
                             &(struct weir_budget_dimension){*info, info->usage[i]});
}

static void add_json(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    weir_record_list_add(&self->rows, info);
}

static void print_name(void *state, const struct weir_budget_info *info)
{
    (void)state;
    puts(info->name);
}

static void show_json(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    weir_record_append_json(&weir_budget_record, &self->text, NULL, info, 0);
}

static void show_lines(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    weir_record_append_lines(&weir_budget_record, &self->text, info, 0);
    for (size_t i = 0; i < info->usage_count; i++)
        weir_record_list_add(&self->rows, &info->usage[i]);
}

/* ---- the commands ------------------------------------------------------------------ */

static int show(struct view_call *self)
{
    const struct weir_session *session = &self->session.session;
    struct weir_error error = {0};
    bool json = session->shared.json;

    if (weir_budget_get(self->session.executions, self->name,
                        json ? show_json : show_lines, self, &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    weir_buf_append_text(&self->text, "\n");
    if (!json && weir_output_append_table(&self->rows.table, &self->text) != WEIR_OK)
        return weir_command_fail(session->command, "out of memory");
    return weir_output_lines(session->command, &self->text);
}

static int print_list(struct view_call *self)
{
    const struct weir_session *session = &self->session.session;

    if (!session->shared.json && session->shared.quiet)
        return WEIR_EXIT_DONE;
    if (!session->shared.json && self->rows.count == 0)
        return puts("no budgets") < 0 ? WEIR_EXIT_FAILED : WEIR_EXIT_DONE;
    return weir_reply_list(session, "budgets", &self->rows);
}

static int list(struct view_call *self)
{
    const struct weir_command_shared *shared = &self->session.session.shared;
    weir_budget_visit_fn visit = shared->json    ? add_json
                                 : shared->quiet ? print_name
                                                 : add_rows;
    struct weir_error error = {0};

    if (weir_budget_list(self->session.executions, self->after, self->limit, visit, self,
                         &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return print_list(self);
}

static int show_one(void *state)
{
    struct view_call *self = state;
    int code;

    weir_record_list_init(&self->rows, &weir_usage_record, WEIR_FORM_TABLE, 0);
    weir_buf_init(&self->text, weir_heap_system(), JSON_SIZE_MAX);
    code = show(self);
    weir_buf_fini(&self->text);
    weir_record_list_fini(&self->rows);
    return code;
}

static int list_all(void *state)
{
    struct view_call *self = state;
    enum weir_form form = weir_reply_form(&self->session.session);
    int code;

    weir_record_list_init(&self->rows,
                          form == WEIR_FORM_JSON ? &weir_budget_record
                                                 : &weir_budget_dimension_record,
                          form, self->session.now_us);
    code = list(self);
    weir_record_list_fini(&self->rows);
    return code;
}

static int view(const struct weir_command *command, int argc, char **argv,
                int (*body)(void *state))
{
    struct view_call call = {.limit = LIMIT_DEFAULT, .after = ""};
    int code = weir_command_parse(command, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_execution_session_run(&call.session, command,
                                      WEIR_EXECUTION_SESSION_SILENT, body, &call);
}

static int run_show(const struct weir_command *self, int argc, char **argv)
{
    return view(self, argc, argv, show_one);
}

static int run_list(const struct weir_command *self, int argc, char **argv)
{
    return view(self, argc, argv, list_all);
}
