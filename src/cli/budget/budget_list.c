/*
 * budget_list.c - `weir budget show` and `list`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "base/text.h"
#include "cli/budget/budget.h"
#include "cli/execution/execution_words.h"
#include "weir/heap.h"

enum {
    JSON_SIZE_MAX = 64 << 20,
    LIMIT_MAX = 1000,
    LIMIT_DEFAULT = 100,
    NUMBER_SIZE = 32,
    OPTION_AFTER = 256
};

static int run_show(const struct weir_command *self, int argc, char **argv);
static int run_list(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option LIST_OPTIONS[] = {
    {'m', "limit", "N", "at most so many, 1 to 1000; default 100"},
    {OPTION_AFTER, "after", "NAME", "those behind it, by name"},
};

const struct weir_command weir_cli_budget_show = {
    .name = "budget show",
    .summary = "show one budget: limits, use, breaches, who waits",
    .usage = "NAME",
    .details = "Executions that wait for it are counted up to 1000.\n",
    .uses_db = true,
    .run = run_show,
};

const struct weir_command weir_cli_budget_list = {
    .name = "budget list",
    .summary = "list budgets by name, with what is used of them",
    .usage = "[--limit N] [--after NAME]",
    .details = "A row for each dimension. With --quiet only names are printed.\n",
    .options = LIST_OPTIONS,
    .option_count = COUNT_OF(LIST_OPTIONS),
    .uses_db = true,
    .run = run_list,
};

static const struct weir_table_column LIST_COLUMNS[] = {
    {.title = "budget", .cut_to = 16},
    {.title = "scope", .cut_to = 12, .rank = 4},
    {.title = "dimension", .cut_to = 10},
    {.title = "used", .align = WEIR_TABLE_RIGHT},
    {.title = "hard", .align = WEIR_TABLE_RIGHT},
    {.title = "soft", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "reset in", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "waiting", .align = WEIR_TABLE_RIGHT},
    {.title = "breaches", .align = WEIR_TABLE_RIGHT, .rank = 3},
};
static const struct weir_table_column USAGE_COLUMNS[] = {
    {.title = "dimension", .cut_to = 10},
    {.title = "used", .align = WEIR_TABLE_RIGHT},
    {.title = "hard", .align = WEIR_TABLE_RIGHT},
    {.title = "soft", .align = WEIR_TABLE_RIGHT},
};

struct view_call {
    struct weir_execution_session session;
    const char *name;
    const char *after;
    int64_t limit;
    struct weir_table table;
    struct weir_buf text; /* lines for people, or a JSON list that is not closed yet */
    size_t count;
};

/* ---- rows -------------------------------------------------------------------------- */

/* 0 is no limit. */
static const char *spell_limit(int64_t limit, char *out)
{
    weir_text_format(out, NUMBER_SIZE, limit > 0 ? "%" PRId64 : "-", limit);
    return out;
}

static enum weir_tone tone_of(const struct weir_usage_info *usage)
{
    if (usage->hard > 0 && usage->used >= usage->hard)
        return WEIR_TONE_BAD;
    return usage->soft > 0 && usage->used > usage->soft ? WEIR_TONE_CAREFUL
                                                        : WEIR_TONE_PLAIN;
}

static void add_usage(struct weir_table *table, const struct weir_usage_info *usage)
{
    char number[NUMBER_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", usage->dimension);
    weir_table_add(table, tone_of(usage), "%" PRId64, usage->used);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", spell_limit(usage->hard, number));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", spell_limit(usage->soft, number));
}

static const char *spell_reset(const struct view_call *self,
                               const struct weir_budget_info *info, char *out)
{
    int64_t left_us = info->next_reset_us - self->session.now_us;

    if (info->next_reset_us == 0)
        return "-";
    return left_us > 0 ? weir_output_age(left_us, out) : "due";
}

static void add_rows(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;
    struct weir_table *table = &self->table;
    char age[WEIR_AGE_SIZE];

    self->count++;
    for (size_t i = 0; i < info->usage_count; i++) {
        weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->name);
        weir_table_add(table, WEIR_TONE_PLAIN, "%s%s%s", info->scope_type,
                       info->scope_type[0] != '\0' && info->scope[0] != '\0' ? " " : "",
                       info->scope);
        add_usage(table, &info->usage[i]);
        weir_table_add(table, WEIR_TONE_PLAIN, "%s", spell_reset(self, info, age));
        weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, info->waiting);
        weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64,
                       info->hard_breaches + info->soft_breaches);
    }
}

static void print_name(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    self->count++;
    puts(info->name);
}

static void add_json(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;

    self->count++;
    weir_budget_append_json(&self->text, NULL, info);
}

/* ---- in full ----------------------------------------------------------------------- */

static void append_breaches(struct weir_buf *text, const struct weir_budget_info *info)
{
    char time[WEIR_OUTPUT_TIME_SIZE];

    weir_buf_append_format(text, "%-13s hard: %" PRId64 ", soft: %" PRId64, "breaches",
                           info->hard_breaches, info->soft_breaches);
    if (info->breached_us != 0)
        weir_buf_append_format(text, "; the last of %s at %s", info->breached,
                               weir_output_time(info->breached_us, time));
    weir_buf_append_text(text, "\n");
}

static void show_budget(void *state, const struct weir_budget_info *info)
{
    struct view_call *self = state;
    struct weir_buf *text = &self->text;
    char age[WEIR_AGE_SIZE];

    weir_output_line(text, "budget", info->name);
    if (info->scope_type[0] != '\0' || info->scope[0] != '\0')
        weir_buf_append_format(text, "%-13s %s %s\n", "scope", info->scope_type,
                               info->scope);
    weir_output_line(text, "period",
                     info->period_ms > 0 ? weir_output_age(info->period_ms * 1000, age)
                                         : "none: reset by hand");
    weir_output_time_line(text, "next reset", info->next_reset_us);
    weir_buf_append_format(text, "%-13s %" PRId64 "\n", "resets", info->resets);
    weir_buf_append_format(text, "%-13s %" PRId64 "%s\n", "waiting", info->waiting,
                           info->waiting >= LIMIT_MAX ? " or more" : "");
    append_breaches(text, info);
    weir_output_time_line(text, "created", info->created_us);
    for (size_t i = 0; i < info->usage_count; i++)
        add_usage(&self->table, &info->usage[i]);
}

/* ---- the commands ------------------------------------------------------------------ */

static int take_option(const struct weir_command *self, void *state, int id, char *value)
{
    struct view_call *out = state;

    if (id == 'm')
        return weir_command_number(self, "limit", value, 1, LIMIT_MAX, &out->limit);
    out->after = value;
    return WEIR_EXIT_DONE;
}

static int show(struct view_call *self)
{
    const struct weir_session *session = &self->session.session;
    struct weir_error error = {0};
    bool json = session->shared.json;

    if (weir_budget_get(self->session.executions, self->name,
                        json ? add_json : show_budget, self, &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    weir_buf_append_text(&self->text, "\n");
    if (!json && weir_output_append_table(&self->table, &self->text) != WEIR_OK)
        return weir_command_fail(session->command, "out of memory");
    return weir_output_lines(session->command, &self->text);
}

static int print_list(struct view_call *self)
{
    const struct weir_session *session = &self->session.session;
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (session->shared.quiet)
            return WEIR_EXIT_DONE;
        if (self->count == 0)
            return puts("no budgets") < 0 ? WEIR_EXIT_FAILED : WEIR_EXIT_DONE;
        return weir_output_table(session->command, &self->table);
    }
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_open(&json, "budgets", "[");
    weir_buf_append(&json, weir_buf_text(&self->text), self->text.size);
    weir_buf_append_text(&json, "]}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static int list(struct view_call *self)
{
    const struct weir_command_shared *shared = &self->session.session.shared;
    weir_budget_visit_fn visit = shared->json    ? add_json
                                 : shared->quiet ? print_name
                                                 : add_rows;
    struct weir_error error = {0};

    if (weir_budget_list(self->session.executions, self->after, (size_t)self->limit,
                         visit, self, &error) != WEIR_OK)
        return weir_budget_fail(&self->session, &error);
    return print_list(self);
}

static int view(const struct weir_command *command, struct view_call *self,
                const struct weir_table_column *columns, size_t column_count,
                int (*call)(struct view_call *self))
{
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_SILENT, NULL);

    weir_table_init(&self->table, weir_heap_system(), columns, column_count);
    weir_buf_init(&self->text, weir_heap_system(), JSON_SIZE_MAX);
    if (code == WEIR_EXIT_DONE)
        code = call(self);
    weir_buf_fini(&self->text);
    weir_table_fini(&self->table);
    weir_execution_session_close(&self->session);
    return code;
}

static int run_show(const struct weir_command *self, int argc, char **argv)
{
    struct view_call view_call = {.count = 0};
    int code = weir_command_take_options(self, argc, argv, take_option, &view_call);

    if (code >= 0)
        return code;
    code = weir_command_one_operand(self, argc, argv, "NAME", &view_call.name);
    return code == WEIR_EXIT_DONE
               ? view(self, &view_call, USAGE_COLUMNS, COUNT_OF(USAGE_COLUMNS), show)
               : code;
}

static int run_list(const struct weir_command *self, int argc, char **argv)
{
    struct view_call view_call = {.limit = LIMIT_DEFAULT, .after = ""};
    int code = weir_command_take_options(self, argc, argv, take_option, &view_call);

    if (code >= 0)
        return code;
    code = weir_command_no_operands(self, argc, argv);
    return code == WEIR_EXIT_DONE
               ? view(self, &view_call, LIST_COLUMNS, COUNT_OF(LIST_COLUMNS), list)
               : code;
}
