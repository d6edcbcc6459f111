/*
 * execution_deadline.c - executions over the deadline of the whole, in any state that
 * is not over.
 */
#include "execution/reconcile/reconciler.h"

const struct weir_reconciler_kind weir_execution_deadline = {
    .due = WEIR_DUE_DEADLINE,
    .rule = weir_rule_expire,
    .tick = weir_reconcile,
};
