/*
 * budget.c - `weir budget ...`: the group, and what its commands share.
 */
#include "cli/budget/budget.h"

#include <inttypes.h>

#include "base/count.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_budget_create,  &weir_cli_budget_change, &weir_cli_budget_report,
    &weir_cli_budget_release, &weir_cli_budget_reset,  &weir_cli_budget_show,
    &weir_cli_budget_list,
};

const struct weir_command weir_cli_budget = {
    .name = "budget",
    .summary = "how much executions may use, and what they have used",
    .usage = "COMMAND [OPTION...]",
    .details =
        "A budget has limits for dimensions ('tokens', 'cents') and counts what is\n"
        "reported. An execution that was submitted with --budget NAME is not given to a\n"
        "worker while one of them is reached; it comes back by itself when the budget\n"
        "is reset or raised.\n"
        "\n"
        "  weir budget create acme --hard cents=1000 --soft cents=800 --period 1d\n"
        "  weir submit --lane ai --kind ask --budget acme\n"
        "  weir budget report acme cents=12 --for \"$id\" --key \"$id/1\"\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};

/* What is missing is named; it may be the budget or the execution. */
int weir_budget_fail(const struct weir_execution_session *session,
                     const struct weir_error *error)
{
    if (error->status == WEIR_NOT_FOUND)
        return weir_command_fail(session->session.command,
                                 "%s; 'weir budget list' lists all budgets", error->text);
    return weir_execution_session_fail(session, error);
}

static bool is_reached(const struct weir_usage_info *usage)
{
    return usage->hard > 0 && usage->used >= usage->hard;
}

void weir_budget_append_facts(struct weir_buf *text, const struct weir_budget_info *info,
                              int64_t now_us)
{
    int64_t left_us = info->next_reset_us - now_us;
    bool reached = false;
    char age[WEIR_AGE_SIZE];

    weir_buf_append_format(text, "%-13s %s", "budget", info->name);
    for (size_t i = 0; i < info->usage_count; i++) {
        const struct weir_usage_info *usage = &info->usage[i];

        if (!is_reached(usage))
            continue;
        weir_buf_append_format(text, "%s %s is at %" PRId64 " of %" PRId64,
                               reached ? "," : ":", usage->dimension, usage->used,
                               usage->hard);
        reached = true;
    }
    if (!reached)
        weir_buf_append_text(text, ": not reached");
    else if (info->next_reset_us == 0)
        weir_buf_append_text(text, "; is never reset by itself");
    else if (left_us > 0)
        weir_buf_append_format(text, "; is reset in %s", weir_output_age(left_us, age));
    else
        weir_buf_append_text(text, "; is to be reset now");
    weir_buf_append_text(text, "\n");
}

static void append_usage(struct weir_buf *json, const struct weir_budget_info *info)
{
    weir_output_open(json, "usage", "[");
    for (size_t i = 0; i < info->usage_count; i++) {
        const struct weir_usage_info *usage = &info->usage[i];

        weir_output_open(json, NULL, "{");
        weir_output_add_text(json, "dimension", usage->dimension);
        weir_output_add_number(json, "used", usage->used);
        weir_output_add_number(json, "hard", usage->hard);
        weir_output_add_number(json, "soft", usage->soft);
        weir_output_add_flag(json, "reached", is_reached(usage));
        weir_buf_append_text(json, "}");
    }
    weir_buf_append_text(json, "]");
}

void weir_budget_append_json(struct weir_buf *json, const char *name,
                             const struct weir_budget_info *info)
{
    weir_output_open(json, name, "{");
    weir_output_add_text(json, "name", info->name);
    weir_output_add_text(json, "scope_type", info->scope_type);
    weir_output_add_text(json, "scope", info->scope);
    weir_output_add_seconds(json, "period_seconds", info->period_ms * 1000);
    weir_output_add_time(json, "created_at", info->created_us);
    weir_output_add_time(json, "next_reset_at", info->next_reset_us);
    weir_output_add_number(json, "resets", info->resets);
    weir_output_add_number(json, "waiting", info->waiting);
    weir_output_add_number(json, "hard_breaches", info->hard_breaches);
    weir_output_add_number(json, "soft_breaches", info->soft_breaches);
    weir_output_add_time(json, "breached_at", info->breached_us);
    weir_output_add_text(json, "breached", info->breached);
    append_usage(json, info);
    weir_buf_append_text(json, "}");
}
