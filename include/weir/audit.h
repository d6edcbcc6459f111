/*
 * audit.h - a row for each action of an operator: which one, by whose order, and how it
 * ended.
 *
 * The row is written in the transaction of the action, so it exists if and only if the
 * action took place. An action that was refused has a row of its own, whose outcome is
 * the status.
 *
 *   struct weir_audit_actor actor = {.name = "anna", .origin = WEIR_FROM_CLI};
 *
 *   before = weir_audit_act_as(&actor);
 *   weir_outbox_pause_queue(outbox, "orders", &error);
 *   weir_audit_act_as(before);
 *
 * Actor    Belongs to the calling thread. Without one nothing is recorded: an
 *          application that pauses its own queue is no operator. In a simulation, whose
 *          fibers share a thread, no actor must be set.
 * Actions  Queues: queue.add, queue.set, queue.pause, queue.resume, queue.remove.
 *          Subscriptions: subscription.pause, .resume, .seek, .remove. Dead letters:
 *          dead_letter.claim, .resolve, .reject, .requeue, .discard, .cleanup.
 *          Executions: execution.cancel, .revoke, .prioritise, .replay, .resume,
 *          .approve; flow.cancel; budget.create, .change, .reset, .release; key.rotate.
 *          Tokens: token.create, .rotate, .revoke; audit.retention. Schema:
 *          schema.migrate, schema.restored, schema.roles, each in a transaction behind
 *          the last of its own.
 * Once     A call has one row, also when it works in several transactions: the first
 *          makes the row, the others add to its count. A call whose process was killed
 *          has a row if and only if a part of it was committed, and its count is that of
 *          the parts.
 * Caller's In a transaction of the caller's the row is a part of that transaction; a call
 *          that is refused there has no row, since a rollback would take it back:
 *          weir_audit_write() without a connection records it.
 * Refused  A row for each failure that is an answer. WEIR_LOST, WEIR_IN_DOUBT,
 *          WEIR_CONFLICT, WEIR_LOCKED, WEIR_TIMEOUT, WEIR_CANCELLED, WEIR_CLOSED,
 *          WEIR_NO_MEMORY, WEIR_SYSTEM, WEIR_SCHEMA and WEIR_DISK_FULL have none: nothing
 *          was decided. If the row of a refusal cannot be written, the call still returns
 *          the refusal.
 * Content  No payloads and no secrets.
 * Keeping  Rows older than the retention of the database (90 days at first) are removed
 *          by every process that delivers or supervises.
 * Failure  An action whose row cannot be written fails as a whole; WEIR_SCHEMA: the
 *          tables of the outbox are missing or older than this (weir migrate).
 * Threads  Any thread.
 */
#ifndef WEIR_AUDIT_H
#define WEIR_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/db.h>
#include <weir/error.h>
#include <weir/time.h>

struct weir_outbox;

enum {
    WEIR_AUDIT_NAME_SIZE_MAX = 256,  /* of actor, address, request, action */
    WEIR_AUDIT_TEXT_SIZE_MAX = 1024, /* of target, before, after, reason */
    WEIR_AUDIT_LIMIT_DEFAULT = 100,
    WEIR_AUDIT_LIMIT_MAX = 1000
};

#define WEIR_AUDIT_RETENTION_DEFAULT WEIR_HOURS(90 * 24)
#define WEIR_AUDIT_RETENTION_MIN WEIR_HOURS(1)
#define WEIR_AUDIT_QUEUE "weir.audit"

enum weir_audit_origin { WEIR_FROM_API, WEIR_FROM_CONSOLE, WEIR_FROM_CLI };

/* By whose order. Texts are borrowed until another actor is set; a text that is too long
 * is cut when it is written. */
struct weir_audit_actor {
    const char *name; /* of the token, or of the user of the system */
    enum weir_audit_origin origin;
    const char *address; /* of the client; NULL: none */
    const char *request; /* id of the request; NULL: none */
    const char *reason;  /* for actions that have none of their own; NULL: none */
    /* Besides the row, a message of type "weir.audit" in the queue WEIR_AUDIT_QUEUE of
     * this outbox, in the same transaction; the outbox is of the same database. NULL: no
     * message. */
    struct weir_outbox *export_to;
};

/* What is recorded. NULL texts: none. */
struct weir_audit_entry {
    const char *action; /* "queue.pause" */
    const char *target; /* "orders" */
    int64_t count;      /* of things changed */
    const char *before; /* value that was changed */
    const char *after;
    const char *reason;       /* NULL: the actor's */
    enum weir_status outcome; /* WEIR_OK: it took place */
};

/* A row. Texts live for the call of the visitor; those that are absent are NULL. */
struct weir_audit_row {
    int64_t id;
    int64_t at_us; /* since 1970, by the database's clock */
    const char *request;
    const char *actor;
    enum weir_audit_origin origin;
    const char *address;
    const char *action;
    const char *target;
    int64_t count;
    const char *before;
    const char *after;
    const char *reason;
    const char *outcome; /* "ok", else a status: "not_found" */
};
typedef void (*weir_audit_visit_fn)(void *state, const struct weir_audit_row *row);

/* Which rows; all conditions hold at once. All zero: all. */
struct weir_audit_filter {
    const char *actor;  /* NULL: any */
    const char *action; /* "queue.pause", or "queue.*" for all of one kind */
    const char *target;
    int64_t since_us; /* then or later */
    int64_t limit;    /* 0: WEIR_AUDIT_LIMIT_DEFAULT */
};

WEIR_BEGIN_DECLS

/* Set the calling thread's actor, and return the one before. NULL: none. Not from within
 * a call of this library, such as a visitor. */
WEIR_API const struct weir_audit_actor *
weir_audit_act_as(const struct weir_audit_actor *actor);
WEIR_API const struct weir_audit_actor *weir_audit_actor(void);

/*
 * Record something that is no call of this library: a refused request, a relay that was
 * paused. In the transaction of `connection`; NULL: in one of its own. WEIR_INVALID: the
 * calling thread has no actor, or the entry no action.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_audit_write(struct weir_db *db, struct weir_connection *connection,
                 const struct weir_audit_entry *entry, struct weir_error *error);

/*
 * A page, newest first. *after: 0 begins with the newest; it becomes what the next page
 * begins with, and 0 behind the last one. What existed throughout is on one page exactly.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_audit_list(struct weir_db *db, const struct weir_audit_filter *filter,
                int64_t *after, weir_audit_visit_fn visit, void *state,
                struct weir_error *error);

/* How long rows are kept, in all processes: WEIR_AUDIT_RETENTION_MIN or longer; 0: for
 * ever. WEIR_OUT_OF_RANGE. */
WEIR_CHECKED WEIR_API enum weir_status weir_audit_set_retention(struct weir_db *db,
                                                                int64_t retention_ns,
                                                                struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status weir_audit_get_retention(struct weir_db *db,
                                                                int64_t *retention_ns,
                                                                struct weir_error *error);

/* "api", "console", "cli"; a number that is none: "unknown". */
WEIR_API const char *weir_audit_origin_name(enum weir_audit_origin origin);

WEIR_END_DECLS

#endif
