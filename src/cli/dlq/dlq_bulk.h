/*
 * dlq_bulk.h - all dead letters of a scope: count, confirm, decide, report.
 *
 * Whatever ends it in the middle, what was done stays done, and the same command does
 * the rest.
 */
#ifndef WEIR_CLI_DLQ_DLQ_BULK_H
#define WEIR_CLI_DLQ_DLQ_BULK_H

#include "cli/dlq/dlq_scope.h"

enum weir_dlq_bulk_kind { WEIR_DLQ_REQUEUE_ALL, WEIR_DLQ_DISCARD_ALL, WEIR_DLQ_CLEANUP };

struct weir_dlq_bulk {
    const struct weir_session *session;
    const struct weir_dlq_scope *scope;
    enum weir_dlq_bulk_kind kind;
    bool dry_run; /* only say how many */
    bool yes;     /* do not ask */
};

/* The exit code. */
WEIR_CHECKED int weir_dlq_bulk_run(const struct weir_dlq_bulk *self);

#endif
