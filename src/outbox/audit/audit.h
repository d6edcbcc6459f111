/*
 * audit.h - one audited call, and its row (weir/audit.h).
 *
 * A public function that operators call begins and ends an audited call; the function
 * deep below it that knows what was changed writes the row, in its transaction. The call
 * is found by the thread, so that nothing in between knows of it:
 *
 *   weir_outbox_pause_queue()        begin("queue.pause", name)
 *     ...
 *       pause(), in a transaction    record(connection)
 *     ...
 *                                    end(status): a row of its own if none was written
 *
 * Without an actor all of it does nothing. A call inside an audited one is a part of it,
 * unless a callback of the application's makes it (leave()).
 *
 * Order    record() is the last statement but those that are sent with the commit. A body
 *          that is repeated records again.
 * Threads  The calling thread.
 * Memory   The call is on the stack of the public function. Texts are borrowed until
 *          end(), but for those of note().
 */
#ifndef WEIR_OUTBOX_AUDIT_AUDIT_H
#define WEIR_OUTBOX_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"
#include "weir/audit.h"

enum { WEIR_AUDIT_NOTE_SIZE = 320 };

struct weir_audit_call {
    struct weir_db *db;
    struct weir_connection *theirs; /* the caller's transaction; NULL: none */
    const struct weir_audit_actor *actor;
    struct weir_audit_entry entry;
    bool on;       /* there is an actor, and no call around this one */
    bool recorded; /* by a body; its transaction may have failed since */
    bool settled;  /* a row is committed, whatever the call returns */
    int64_t row;   /* of committed steps; 0: none yet */
    int64_t step;  /* of the step that is not committed yet */
    char before[WEIR_AUDIT_NOTE_SIZE];
    char after[WEIR_AUDIT_NOTE_SIZE];
};

/* `theirs` is the caller's connection or NULL. `target` may be NULL. end() is owed. */
void weir_audit_begin(struct weir_audit_call *self, struct weir_db *db,
                      struct weir_connection *theirs, const char *action,
                      const char *target);

/* Write the row that is missing: of a refusal, or of a call that had nothing to do.
 * Returns `status`, or why the row of a call that had nothing to do was not written. */
WEIR_CHECKED enum weir_status weir_audit_end(struct weir_audit_call *self,
                                             enum weir_status status,
                                             struct weir_error *error);

/* The target of a thing that has two names: "orders/mail". Returns `out`. */
enum { WEIR_AUDIT_TARGET_SIZE = WEIR_AUDIT_TEXT_SIZE_MAX + 4 };
const char *weir_audit_pair(const char *first, const char *second,
                            char out[WEIR_AUDIT_TARGET_SIZE]);

/* Is a call of this thread audited? For texts that take work to make. */
bool weir_audit_is_on(void);

/* What was, and what is now; a long text is cut. NULL: nothing is said. */
void weir_audit_note(const char *before, const char *after);

/* The reason of this call, instead of the actor's; borrowed until end(). */
void weir_audit_because(const char *reason);

/* In the transaction of the action: `count` things are changed. */
WEIR_CHECKED enum weir_status weir_audit_record(struct weir_connection *connection,
                                                int64_t count, struct weir_error *error);

/* The same of an action that was refused for a part of its things, and took place for the
 * rest: `outcome` says why. After the commit: settle(), so that end() writes no second
 * row although the call returns that status. */
WEIR_CHECKED enum weir_status weir_audit_record_partly(struct weir_connection *connection,
                                                       int64_t count,
                                                       enum weir_status outcome,
                                                       struct weir_error *error);

void weir_audit_settle(void);

/* One of several transactions of a call: the first writes the row, the others add to its
 * count. After the commit of each: stepped(). */
WEIR_CHECKED enum weir_status weir_audit_step(struct weir_connection *connection,
                                              int64_t count, struct weir_error *error);
void weir_audit_stepped(void);

/* Around a callback of the application's: its calls are not a part of this one, and have
 * rows of their own. */
struct weir_audit_call *weir_audit_leave(void);
void weir_audit_return(struct weir_audit_call *call);

/* No actor until resume(): what follows is no action of the operator. */
const struct weir_audit_actor *weir_audit_suspend(void);
void weir_audit_resume(const struct weir_audit_actor *actor);

#endif
