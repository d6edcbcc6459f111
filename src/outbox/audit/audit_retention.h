/*
 * audit_retention.h - removal of audit rows whose time is over.
 *
 * How long rows are kept is one number of the database (weir_audit_set_retention()), so
 * all processes agree on it. Every process that delivers or supervises removes them, in
 * bounded steps.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_AUDIT_AUDIT_RETENTION_H
#define WEIR_OUTBOX_AUDIT_AUDIT_RETENTION_H

#include "db/connection.h"

enum { WEIR_AUDIT_EXPIRE_STEP = 500 };

/* Inside a transaction: about WEIR_AUDIT_EXPIRE_STEP of them, the oldest first. *removed:
 * how many; fewer than that: there are no more. */
WEIR_CHECKED enum weir_status weir_audit_expire(struct weir_connection *connection,
                                                int64_t *removed,
                                                struct weir_error *error);

#endif
