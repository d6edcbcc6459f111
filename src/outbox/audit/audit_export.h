/*
 * audit_export.h - an audit row as a message.
 *
 * A message of type "weir.audit" in the queue WEIR_AUDIT_QUEUE, enqueued in the
 * transaction of the row. Its payload is a JSON object with the fields that
 * `weir audit list --json` prints; its key is the target, so rows of one target keep
 * their order.
 *
 * Threads  The holder of the connection.
 * Failure  WEIR_NOT_FOUND: there is no such queue; else as weir_enqueue().
 */
#ifndef WEIR_OUTBOX_AUDIT_AUDIT_EXPORT_H
#define WEIR_OUTBOX_AUDIT_AUDIT_EXPORT_H

#include "db/connection.h"
#include "weir/audit.h"

/* Texts without data are absent. */
struct weir_audit_message {
    int64_t at_us;
    struct weir_str request;
    struct weir_str actor;
    enum weir_audit_origin origin;
    struct weir_str address;
    struct weir_str action;
    struct weir_str target;
    int64_t count;
    struct weir_str before;
    struct weir_str after;
    struct weir_str reason;
    struct weir_str outcome;
};

WEIR_CHECKED enum weir_status weir_audit_export(struct weir_outbox *outbox,
                                                struct weir_connection *connection,
                                                const struct weir_audit_message *message,
                                                struct weir_error *error);

#endif
