/*
 * executions.h - the inside of weir/executions.h: one execution engine of one process.
 *
 *   submit.c     new executions                     executions.c  making it, waiting
 *                and waking
 *   claim.c      giving them to workers             change_set.c      storing what
 *                rules have changed
 *   settle.c     what workers say of theirs         events.c    telling it to the
 *                outbox's queues
 *   operator.c   what operators do to them          claim_waiters.c  those who wait in
 *                this process
 *   read.c       what there is to know              notify_throttle.c   those who wait
 *                in others
 *
 * Threads  Any thread, after create().
 */
#ifndef WEIR_EXECUTION_EXECUTIONS_H
#define WEIR_EXECUTION_EXECUTIONS_H

#include "db/transact.h"
#include "db/wake.h"
#include "execution/change_set.h"
#include "execution/claim_waiters.h"
#include "execution/id.h"
#include "execution/notify_throttle.h"
#include "execution/store/store.h"
#include "weir/executions.h"

/* How often those who wait look without being told: polling is the truth. */
#define WEIR_EXECUTION_POLL_NS WEIR_SECONDS(1)

/* Hears of what was committed here, or perhaps elsewhere. Called with a lock held: it
 * wakes somebody and returns. */
typedef void (*weir_executions_listener_fn)(
    void *state, const struct weir_pending_wakeups *pending_wakeups);

struct weir_executions_listener {
    struct weir_list link;
    weir_executions_listener_fn heard;
    void *state; /* borrowed until unlisten() */
};

struct weir_executions {
    struct weir_db *db;           /* borrowed */
    const struct weir_heap *heap; /* borrowed: the database's */
    struct weir_outbox *outbox;   /* borrowed; NULL: no events */
    size_t event_size_max;        /* of the outbox's payloads */
    uint32_t partitions;
    bool no_savepoint;
    struct weir_dictionary *dictionary;
    struct weir_store store;
    struct weir_notify_throttle notify_throttle;
    struct weir_claim_waiters claim_waiters;
    struct weir_floors floors; /* of what is ready */
    _Atomic bool watching;     /* somebody has started the wake, or is about to */

    struct weir_lock lock;      /* guards all that follows */
    struct weir_list listeners; /* of struct weir_executions_listener */
    struct weir_wake *wake;     /* owned; NULL: not needed yet */
};

/*
 * For whoever waits for a time: be told when one is set that may be earlier than those
 * before, and when something has ended or become ready. watch() makes that work across
 * processes: it starts a thread that listens, once, and must not be called in a
 * simulation. Times are told by themselves. Whoever waits for work says so with
 * await(), whenever he has looked (cheap, see notify_throttle.h); when *again is true
 * he looks once more before he sleeps.
 */
void weir_executions_listen(struct weir_executions *self,
                            struct weir_executions_listener *listener);
void weir_executions_unlisten(struct weir_executions *self,
                              struct weir_executions_listener *listener);
void weir_executions_watch(struct weir_executions *self);
WEIR_CHECKED enum weir_status weir_executions_await(struct weir_executions *self,
                                                    struct weir_connection *connection,
                                                    bool *again,
                                                    struct weir_error *error);

/* Is the calling flow of control part of a simulation? */
bool weir_executions_is_simulated(void);

/* The truth about a row. */
struct weir_execution_status
weir_execution_status_of(const struct weir_execution_row *row);

/* "execution 1-...", in front of the error's text. */
void weir_execution_prefix_id(struct weir_error *error,
                              const struct weir_execution_id *id);

/* What a call cannot do without, else WEIR_INVALID. */
WEIR_CHECKED enum weir_status weir_execution_check_given(const char *what, bool given,
                                                         struct weir_error *error);

/* At most WEIR_BATCH_MAX, and there, else WEIR_INVALID; `what` is counted. */
WEIR_CHECKED enum weir_status weir_execution_check_list(const char *what,
                                                        const void *list, size_t count,
                                                        struct weir_error *error);

/* From 1 s to 1 h, else WEIR_INVALID. */
WEIR_CHECKED enum weir_status weir_execution_check_lease(int64_t lease_ms,
                                                         struct weir_error *error);

/* A reason as it is stored: "" for NULL, cut between characters. WEIR_INVALID: no
 * UTF-8. */
WEIR_CHECKED enum weir_status
weir_execution_reason(const char *reason, struct weir_str *out, struct weir_error *error);

#endif
