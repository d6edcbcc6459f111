/*
 * suspension_timeout.c - executions that have waited too long for the world. What
 * becomes of them was said when they were suspended; see weir/suspension.h.
 */
#include "execution/reconcile/reconciler.h"

const struct weir_reconciler_kind weir_reconciler_suspension_timeout = {
    .rule = weir_rule_wait_too_long,
    .tick = weir_reconcile,
};
