/*
 * delayed_promoter.c - delays that are over: of a submitter, of a retry, of a worker.
 *
 * They become ready. No attempt ends by it and only the new work is announced.
 */
#include "execution/reconcile/reconciler.h"

static enum weir_ruling promote(struct weir_execution_row *row, int64_t now_us,
                                struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = weir_str("")};
    return weir_rule_promote(row, now_us);
}

const struct weir_reconciler_kind weir_reconciler_delayed_promoter = {
    .rule = promote,
    .tick = weir_reconcile,
};
