/*
 * execution_deadline.c - executions over the deadline of the whole, in any state that
 * is not over.
 */
#include "execution/reconcile/reconciler.h"

const struct weir_reconciler_kind weir_reconciler_execution_deadline = {
    .rule = weir_rule_expire,
    .tick = weir_reconcile,
};
