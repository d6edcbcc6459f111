/*
 * executions.h - the inside of weir/executions.h: one execution engine of one process.
 *
 *   submit.c           new executions
 *   claim.c            gives them to workers
 *   settle.c           what workers report of theirs
 *   operator.c         what operators do to them
 *   read.c             reads them
 *   executions.c       creates the engine; waiting and waking
 *   change_set.c       stores what rules have changed
 *   events.c           announces it in the outbox's queues
 *   claim_waiters.c    waiters in this process
 *   notify_throttle.c  waiters in other processes
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

/* How often waiters poll without a notification: polling is the truth. */
#define WEIR_EXECUTION_POLL_NS WEIR_SECONDS(1)

/* Hears of what was committed here, or perhaps elsewhere. Called with a lock held: it
 * wakes a thread and returns. */
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
    _Atomic bool watching;     /* a thread has started the wake, or is about to */

    struct weir_lock lock;      /* guards all that follows */
    struct weir_list listeners; /* of struct weir_executions_listener */
    struct weir_wake *wake;     /* owned; NULL: not needed yet */
};

/*
 * For waiters for a time: called when one is set that may be earlier than those
 * before, and when something has ended or become ready. watch() makes that work across
 * processes: it starts a thread that listens, once, and must not be called in a
 * simulation. Times are announced by themselves. A waiter for work says so with await(),
 * whenever it has looked (cheap, see notify_throttle.h); when *again is true it looks
 * once more before it sleeps.
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

/* An executor for threads that work on executions; the caller destroys it. */
WEIR_CHECKED enum weir_status weir_executions_make_executor(struct weir_executions *self,
                                                            uint32_t threads,
                                                            uint32_t reserve_threads,
                                                            struct weir_executor **out,
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
