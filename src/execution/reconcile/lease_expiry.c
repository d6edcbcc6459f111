/*
 * lease_expiry.c - leases that were not renewed in time.
 *
 * The epoch grows at once, so a worker that wakes up afterwards can change nothing, and
 * the work is given to others as a reclaim. One that loses its worker more often than
 * its policy allows has failed: a job that kills its workers does not go round
 * for ever.
 */
#include "execution/reconcile/reconciler.h"

const struct weir_reconciler_kind weir_reconciler_lease_expiry = {
    .rule = weir_rule_lose_lease,
    .tick = weir_reconcile,
};
