/*
 * budget.h - budgets as commands show them. The commands are in flow_budget_*.c.
 */
#ifndef WEIR_CLI_BUDGET_BUDGET_H
#define WEIR_CLI_BUDGET_BUDGET_H

#include "cli/execution/execution_session.h"
#include "cli/output.h"
#include "view/budget_records.h"

/* Tell what a call of the library answered, as weir_execution_session_fail(). */
int weir_budget_fail(const struct weir_execution_session *session,
                     const struct weir_error *error);

/* One line for people: "budget        acme: cents 1000 of 1000; reset in 3 h 2 min". */
void weir_budget_append_facts(struct weir_buf *text, const struct weir_budget_info *info,
                              int64_t now_us);

#endif
