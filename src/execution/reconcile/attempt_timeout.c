/*
 * attempt_timeout.c - attempts over the time limit of their policy.
 *
 * The limit is set at the claim and never moves, whatever is renewed. With retries left
 * the work goes back with backoff, without it has expired. An attempt whose lease is
 * over as well is handled here too, and not by lease_expiry: what becomes of it must
 * not depend on which one looks first.
 */
#include "execution/reconcile/reconciler.h"

const struct weir_reconciler_kind weir_reconciler_attempt_timeout = {
    .rule = weir_rule_time_out,
    .tick = weir_reconcile,
};
