/*
 * executor.h - the scheduler that pool and simulation share.
 *
 * The core knows which workers are ready, which timers are armed, and which worker waits
 * for what. It does not know how anything gets to run: that is the operation table, of
 * which there are two, threads.c and sim.c.
 *
 *   spawn, notify, hand over, timer                 operation table
 *   ------------------------------> ready tracks ---------------------> weir_worker_run()
 *
 * Lock     One per executor, for everything in src/ward that is not the property of the
 *          flow of control that runs a worker. Annotations speak of it as
 *          weir_executor_role, since clang cannot see that worker->executor and
 *          gate->executor are the same. The locks of two executors are never held
 *          together. While it is held: no callback of the user's, no heap, no log.
 * Memory   Counted: the owner, each thread, ward, gate and notifier hold one reference.
 */
#ifndef WEIR_WARD_EXECUTOR_H
#define WEIR_WARD_EXECUTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/log.h"
#include "ward/lock.h"
#include "ward/timer.h"
#include "weir/executor.h"
#include "weir/worker.h"

struct weir_parking;

/* Stands for "the lock of the executor at hand" in annotations; never locked itself. */
extern struct weir_lock weir_executor_role;

struct weir_executor_ops {
    /* Read the clock. With or without the lock. */
    int64_t (*now)(struct weir_executor *self);

    /* Read the clock that counts suspension (below). With or without the lock. */
    int64_t (*boot_now)(struct weir_executor *self);

    /* Microseconds since 1970. With or without the lock. */
    int64_t (*wall_us)(struct weir_executor *self);

    /* A worker was put into `track`: ensure that a thread runs it. Lock held; does not
     * block. */
    void (*wake)(struct weir_executor *self, enum weir_worker_class track);

    /* The earliest timer has become earlier. Lock held; does not block. */
    void (*timers_moved)(struct weir_executor *self);

    /* Block the calling flow of control until `parking` is woken. Lock held on entry and
     * exit, not meanwhile. May return unwoken only when nothing can ever wake it. */
    void (*park)(struct weir_executor *self, struct weir_parking *parking);

    /* `parking` is woken: let its flow go on. Lock held; does not block. */
    void (*unpark)(struct weir_executor *self, struct weir_parking *parking);

    /* The last reference is gone: free the executor. No lock. */
    void (*free)(struct weir_executor *self);
};

/* Workers that wait for a thread, longest first. */
struct weir_track {
    struct weir_list ready;
    size_t ready_count;
};

enum { WEIR_TRACK_COUNT = 2 }; /* one per enum weir_worker_class */

/* For tests: hears of each move of a worker, with the lock held. */
typedef void (*weir_observer_fn)(void *state, const struct weir_worker *worker,
                                 enum weir_worker_state from, enum weir_worker_state to);

struct weir_executor {
    const struct weir_executor_ops *ops;
    const struct weir_heap *heap; /* borrowed */
    struct weir_log log;
    uint64_t seed; /* of the jitter */
    bool simulated;
    _Atomic uint64_t draws; /* in simulation: random numbers given out */
    _Atomic uint32_t references;
    bool serves[WEIR_TRACK_COUNT]; /* by class: a thread runs workers of it */

    /* For tests; set before anything runs. */
    weir_observer_fn observer;
    void *observer_state;

    struct weir_lock lock; /* guards all that follows, and much elsewhere */
    struct weir_timers timers;
    struct weir_track tracks[WEIR_TRACK_COUNT];
};

/* The part of create() that both kinds share. One reference, the owner's. */
WEIR_CHECKED enum weir_status weir_executor_init(struct weir_executor *self,
                                                 const struct weir_executor_ops *ops,
                                                 const struct weir_heap *heap,
                                                 const struct weir_log *log,
                                                 uint64_t seed);
void weir_executor_fini(struct weir_executor *self);

void weir_executor_retain(struct weir_executor *self);
void weir_executor_release(struct weir_executor *self);

void weir_executor_lock(struct weir_executor *self) WEIR_ACQUIRE(weir_executor_role);
void weir_executor_unlock(struct weir_executor *self) WEIR_RELEASE(weir_executor_role);

/*
 * The clock that leases end by. It counts the time during which the host was suspended,
 * while the database's clock went on; the one that timers go by (weir_executor_now())
 * does not, and conditions can wait by no other. The two have nothing in common but
 * their pace. A virtual machine that is paused from outside stops both.
 */
int64_t weir_executor_boot_now(struct weir_executor *self);

/* Arm a timer (a deadline of WEIR_FOREVER arms nothing); take it back. */
void weir_executor_arm(struct weir_executor *self, struct weir_timer *timer,
                       int64_t due_ns) WEIR_REQUIRES(weir_executor_role);
void weir_executor_disarm(struct weir_executor *self, struct weir_timer *timer)
    WEIR_REQUIRES(weir_executor_role);

/* Put a worker's link at the end of its track; take the nth out (NULL: there is none). */
void weir_executor_push(struct weir_executor *self, enum weir_worker_class track,
                        struct weir_list *link) WEIR_REQUIRES(weir_executor_role);
struct weir_list *weir_executor_take(struct weir_executor *self,
                                     enum weir_worker_class track, size_t index)
    WEIR_REQUIRES(weir_executor_role);
void weir_executor_withdraw(struct weir_executor *self, enum weir_worker_class track,
                            struct weir_list *link) WEIR_REQUIRES(weir_executor_role);

#endif
