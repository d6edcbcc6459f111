/*
 * budget_records.c - see budget_records.h.
 */
#include "view/budget_records.h"

#include <inttypes.h>

#include "base/text.h"

enum { WAITING_MAX = 1000 };

/* ---- what is used ------------------------------------------------------------------ */

bool weir_usage_is_reached(const struct weir_usage_info *usage)
{
    return usage->hard > 0 && usage->used >= usage->hard;
}

static int64_t is_reached(const void *row)
{
    return weir_usage_is_reached(row);
}

static enum weir_tone tone_of(const struct weir_usage_info *usage)
{
    if (weir_usage_is_reached(usage))
        return WEIR_TONE_BAD;
    return usage->soft > 0 && usage->used > usage->soft ? WEIR_TONE_CAREFUL
                                                        : WEIR_TONE_PLAIN;
}

static enum weir_tone used_tone(const void *row)
{
    return tone_of(row);
}

#define USAGE(...) WEIR_FIELD(struct weir_usage_info, __VA_ARGS__)
static const struct weir_record_field USAGE_FIELDS[] = {
    USAGE("dimension", dimension, TEXT, "What is counted, as in `tokens`.",
          .title = "dimension", .cut_to = 10),
    USAGE("used", used, I64, "Used since the last reset.", .title = "used",
          .tone = used_tone),
    USAGE("hard", hard, I64, "Hard limit; 0: none.", .title = "hard", .empty = "-"),
    USAGE("soft", soft, I64, "Soft limit; 0: none.", .title = "soft", .empty = "-"),
    WEIR_FIELD_OF("reached", FLAG, "The hard limit is reached.", .compute = is_reached),
};

const struct weir_record weir_usage_record =
    WEIR_RECORD("usage", USAGE_FIELDS, "One dimension of a budget.");

/* ---- budgets ----------------------------------------------------------------------- */

static bool has_scope(const void *row)
{
    const struct weir_budget_info *info = row;

    return info->scope_type[0] != '\0' || info->scope[0] != '\0';
}

static const char *full_scope(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_info *info = row;

    (void)now_us;
    if (!has_scope(row))
        return "";
    weir_text_format(out, WEIR_CELL_SIZE, "%s %s", info->scope_type, info->scope);
    return out;
}

static const char *full_period(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_info *info = row;

    (void)now_us;
    return info->period_ms > 0 ? weir_output_age(info->period_ms * 1000, out)
                               : "none: reset by hand";
}

static const char *full_waiting(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_info *info = row;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%" PRId64 "%s", info->waiting,
                     info->waiting >= WAITING_MAX ? " or more" : "");
    return out;
}

static const char *full_breaches(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_info *info = row;
    char time[WEIR_OUTPUT_TIME_SIZE];

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "hard: %" PRId64 ", soft: %" PRId64 "%s%s%s%s",
                     info->hard_breaches, info->soft_breaches,
                     info->breached_us != 0 ? "; the last of " : "",
                     info->breached_us != 0 ? info->breached : "",
                     info->breached_us != 0 ? " at " : "",
                     info->breached_us != 0 ? weir_output_time(info->breached_us, time)
                                            : "");
    return out;
}

static void each_usage(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_budget_info *info = row;

    for (size_t i = 0; i < info->usage_count; i++)
        emit(state, &info->usage[i]);
}

#define BUDGET(...) WEIR_FIELD(struct weir_budget_info, __VA_ARGS__)
static const struct weir_record_field BUDGET_FIELDS[] = {
    BUDGET("name", name, TEXT, "Name of the budget.", .line = "budget"),
    BUDGET("scope_type", scope_type, TEXT, "What kind of thing it is for; or empty.",
           .line = "scope", .full = full_scope),
    BUDGET("scope", scope, TEXT, "Which one it is for; or empty."),
    BUDGET("period_seconds", period_ms, MS, "Time between resets; 0: by hand.",
           .line = "period", .full = full_period),
    BUDGET("created_at", created_us, TIME, "When it was created.", .line = "created",
           .line_at = 99),
    BUDGET("next_reset_at", next_reset_us, TIME, "When it is reset next.",
           .line = "next reset"),
    BUDGET("resets", resets, I64, "Number of resets.", .line = "resets"),
    BUDGET("waiting", waiting, I64,
           "Executions that wait for it; at most 1000 are counted.", .line = "waiting",
           .full = full_waiting),
    BUDGET("hard_breaches", hard_breaches, I64, "Reports refused since the last reset.",
           .line = "breaches", .full = full_breaches),
    BUDGET("soft_breaches", soft_breaches, I64,
           "Reports above a soft limit since the last reset."),
    BUDGET("breached_at", breached_us, TIME, "When a limit was breached last."),
    BUDGET("breached", breached, TEXT, "Dimension of that breach; or empty."),
    WEIR_FIELD_OF("usage", LIST, "All dimensions.", .record = &weir_usage_record,
                  .each = each_usage),
};

const struct weir_record weir_budget_record = WEIR_RECORD(
    "budget", BUDGET_FIELDS, "A budget: `weir budget show`, and each of `list`.");

/* ---- the table of `budget list` ---------------------------------------------------- */

static const char *scope_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_info *info =
        &((const struct weir_budget_dimension *)row)->budget;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%s%s%s", info->scope_type,
                     info->scope_type[0] != '\0' && info->scope[0] != '\0' ? " " : "",
                     info->scope);
    return out;
}

static const char *reset_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_budget_dimension *dimension = row;
    int64_t left_us = dimension->budget.next_reset_us - now_us;

    if (dimension->budget.next_reset_us == 0)
        return "-";
    return left_us > 0 ? weir_output_age(left_us, out) : "due";
}

static int64_t breaches(const void *row)
{
    const struct weir_budget_dimension *dimension = row;

    return dimension->budget.hard_breaches + dimension->budget.soft_breaches;
}

static enum weir_tone dimension_tone(const void *row)
{
    const struct weir_budget_dimension *dimension = row;

    return tone_of(&dimension->usage);
}

#define DIMENSION(member, type, ...)                                                     \
    WEIR_FIELD(struct weir_budget_dimension, NULL, member, type, "", __VA_ARGS__)
static const struct weir_record_field DIMENSION_FIELDS[] = {
    DIMENSION(budget.name, TEXT, .title = "budget", .cut_to = 16),
    WEIR_FIELD_OF(NULL, WORD, "", .title = "scope", .cut_to = 12, .rank = 4,
                  .cell = scope_cell),
    DIMENSION(usage.dimension, TEXT, .title = "dimension", .cut_to = 10),
    DIMENSION(usage.used, I64, .title = "used", .tone = dimension_tone),
    DIMENSION(usage.hard, I64, .title = "hard", .empty = "-"),
    DIMENSION(usage.soft, I64, .title = "soft", .rank = 2, .empty = "-"),
    WEIR_FIELD_OF(NULL, WORD, "", .title = "reset in", .rank = 1, .right = true,
                  .cell = reset_cell),
    DIMENSION(budget.waiting, I64, .title = "waiting"),
    WEIR_FIELD_OF(NULL, I64, "", .title = "breaches", .rank = 3, .compute = breaches),
};

const struct weir_record weir_budget_dimension_record =
    WEIR_RECORD("budget dimension", DIMENSION_FIELDS, "");

/* ---- answers ----------------------------------------------------------------------- */

static bool has_dimension(const void *row)
{
    const struct weir_budget_reply *reply = row;

    return reply->report.dimension[0] != '\0';
}

#define REPLY(...) WEIR_FIELD(struct weir_budget_reply, __VA_ARGS__)
static const struct weir_record_field REPLY_FIELDS[] = {
    REPLY("budget", budget, TEXT, "Name of the budget."),
    REPLY("answer", answer, TEXT,
          "`created`, `changed`, `released`, `reset`; of a report `reported`, "
          "`over_soft`, `refused` or `before`."),
    REPLY("dimension", report.dimension, CHARS, "Dimension that is over its limit.",
          .shown = has_dimension),
    REPLY("used", report.used, I64, "What is used of it.", .shown = has_dimension),
    REPLY("limit", report.limit, I64, "Its limit.", .shown = has_dimension),
};

const struct weir_record weir_budget_reply_record = WEIR_RECORD(
    "budget answer", REPLY_FIELDS, "The answer of commands that change a budget.");
