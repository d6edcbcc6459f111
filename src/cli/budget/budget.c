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

void weir_budget_append_facts(struct weir_buf *text, const struct weir_budget_info *info,
                              int64_t now_us)
{
    int64_t left_us = info->next_reset_us - now_us;
    bool reached = false;
    char age[WEIR_AGE_SIZE];

    weir_buf_append_format(text, "%-13s %s", "budget", info->name);
    for (size_t i = 0; i < info->usage_count; i++) {
        const struct weir_usage_info *usage = &info->usage[i];

        if (!weir_usage_is_reached(usage))
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
