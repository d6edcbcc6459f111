/*
 * worker.h - the inside of weir/worker.h: the state machine of one worker.
 *
 *   STARTING --+                          +--> PACING ------+
 *              |     +---------+          +--> BACKING_OFF -+   +--------+
 *              +---->| RUNNING |--settle--+--> IDLING ------+-->| QUEUED |--+
 *              |     +---------+          +--> SLEEPING ----+   +--------+  |
 *   READY -----+          |               +---------------------------------+--> READY
 *                         v
 *                       ENDED
 *
 * A worker in STARTING or READY is in its track and nowhere else. One that is RUNNING
 * belongs to the flow of control that runs it. In every other state it stands in the
 * lines of its notifiers or gates, or has its timer armed, or both.
 *
 * Memory   Counted: one reference of the ward until it has ended, one per handle.
 */
#ifndef WEIR_WARD_WORKER_H
#define WEIR_WARD_WORKER_H

#include "base/list.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "weir/worker.h"

struct weir_context;
struct weir_executor;
struct weir_parking;
struct weir_ward;

/* Check `options` and build a worker in state STARTING, in no track yet. Takes
 * references to its gates and notifiers. Fails with WEIR_INVALID or WEIR_NO_MEMORY;
 * *out is then NULL. */
WEIR_CHECKED enum weir_status
weir_worker_create(struct weir_ward *ward, struct weir_executor *executor,
                   const struct weir_worker_options *options, struct weir_worker **out,
                   struct weir_error *error);

/* One more handle; weir_worker_release() gives it up. */
void weir_worker_retain(struct weir_worker *self);

/* Put a new worker into its track. */
void weir_worker_start(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);

/*
 * Run what is due for a worker taken from its track: its start, one execution, or its
 * end. The lock is held on entry and exit but not while user code runs. Takes the time,
 * which may be as old as a wait for the lock is long, and returns it anew: reading the
 * clock costs as much as all else an execution does.
 */
int64_t weir_worker_run(struct weir_worker *self, struct weir_context *context,
                        int64_t now_ns) WEIR_REQUIRES(weir_executor_role);

/* Ask it to end: from any waiting state it becomes ready, so that its end is run. */
void weir_worker_cancel_locked(struct weir_worker *self)
    WEIR_REQUIRES(weir_executor_role);

/*
 * Cancel it and, unless it is running, take it out of everything: the caller then owes a
 * weir_worker_run() for it, which will be its end. False when it is running already, or
 * another thread has taken it.
 */
bool weir_worker_seize(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);

/* End one that is running, for good: its flow of control is no more. Only the ward
 * hears. */
void weir_worker_drop(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);

bool weir_worker_cancelled(const struct weir_worker *self);
void weir_worker_read_locked(const struct weir_worker *self, struct weir_worker_info *out)
    WEIR_REQUIRES(weir_executor_role);

/* Where its action waits right now, if a cancel may cut that short; NULL: nowhere. */
void weir_worker_set_parking(struct weir_worker *self, struct weir_parking *parking)
    WEIR_REQUIRES(weir_executor_role);

/* Its links in the ward's list and in its track. */
struct weir_list *weir_worker_ward_link(struct weir_worker *self);
struct weir_worker *weir_worker_from_ward_link(struct weir_list *link);
struct weir_list *weir_worker_track_link(struct weir_worker *self);
struct weir_worker *weir_worker_from_track_link(struct weir_list *link);
struct weir_ward *weir_worker_ward(const struct weir_worker *self);

/* For observers: the gate whose permit it holds, and the gates it may use; may be
 * NULL. */
struct weir_gate *weir_worker_permit(const struct weir_worker *self);
struct weir_gate *weir_worker_gate(const struct weir_worker *self, size_t index);

#endif
