/*
 * budget_records.h - rows of budgets: what `weir budget` shows and answers.
 */
#ifndef WEIR_VIEW_BUDGET_RECORDS_H
#define WEIR_VIEW_BUDGET_RECORDS_H

#include "view/record_list.h"
#include "weir/budget.h"

extern const struct weir_record weir_budget_record; /* struct weir_budget_info */
extern const struct weir_record weir_usage_record;  /* struct weir_usage_info */

/* One dimension of a budget, for the table of `weir budget list`; not in JSON. */
struct weir_budget_dimension {
    struct weir_budget_info budget;
    struct weir_usage_info usage;
};
/* One line of `weir budget list`; no JSON. */
extern const struct weir_record weir_budget_dimension_record;

/* The hard limit is reached. */
bool weir_usage_is_reached(const struct weir_usage_info *usage);

struct weir_budget_reply {
    const char *budget;
    const char *answer;
    struct weir_budget_answer report; /* of `report`; no dimension: nothing is over */
};
extern const struct weir_record weir_budget_reply_record;

#endif
