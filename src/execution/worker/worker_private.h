/*
 * worker_private.h - the inside of weir/execution_worker.h: which thread does what.
 *
 *   claimer  claims what there is room for, and waits for more     worker_claimer.c
 *   runners  one per permit: call handlers                         worker_runner.c
 *   settler  stores what they answer                               worker_settler.c
 *   renewer  renews all leases                                     worker_renewer.c
 *   watch    gives the stop signal; never waits, so that           worker_renewer.c
 *            a database that hangs cannot keep it from that
 *
 * All are workers of the executor, and meet in tasks.h. A runner that was cancelled,
 * which is the stop signal, ends when its handler returns, and makes another one in its
 * place.
 */
#ifndef WEIR_EXECUTION_WORKER_WORKER_PRIVATE_H
#define WEIR_EXECUTION_WORKER_WORKER_PRIVATE_H

#include "base/arena.h"
#include "execution/executions.h"
#include "execution/worker/tasks.h"
#include "weir/listener.h"
#include "weir/notifier.h"
#include "weir/ward.h"

enum weir_worker_notifier_id {
    WEIR_NOTIFY_CLAIMER, /* there may be room */
    WEIR_NOTIFY_RUNNERS, /* there is something to run */
    WEIR_NOTIFY_SETTLER, /* there is an answer */
    WEIR_NOTIFY_RENEWER,
    WEIR_NOTIFY_WATCH, /* a stop signal may be due soon */
    WEIR_WORKER_NOTIFIERS
};

enum { WEIR_SETTLE_JOIN_MAX = 512 };

struct weir_execution_worker {
    struct weir_executions *executions; /* borrowed until destroy() */
    const struct weir_heap *heap;       /* borrowed: the database's */
    struct weir_executor *executor;
    bool own_executor;
    uint32_t permits;
    struct weir_claim_options claim; /* texts and lists are in `names` */
    int64_t lease_ns;
    struct weir_arena names;
    struct weir_task_kind
        kinds[WEIR_EXECUTION_HANDLERS_MAX]; /* their texts are in `names` */
    size_t kind_count;
    struct weir_tasks tasks;
    struct weir_listener listener; /* of the claimer and the internal workers */
    const struct weir_listener *listeners[1];
    struct weir_notifier *notifiers[WEIR_WORKER_NOTIFIERS];
    struct weir_ward *claimers;
    struct weir_ward *runners;
    struct weir_ward *internal_workers; /* settler, renewer, watch */
    bool started;
    bool stopped;

    /* the settler's */
    struct weir_task *answered[WEIR_SETTLE_JOIN_MAX];
    struct weir_settlement settlements[WEIR_SETTLE_JOIN_MAX];

    /* the renewer's */
    struct weir_task **leased;     /* owned; `lease_max` */
    struct weir_renewal *renewals; /* owned; `lease_max` */
    size_t lease_max;

    _Atomic uint32_t runners_missing; /* for lack of memory; the watch tries again */
    _Atomic uint32_t holds; /* the owner's, and one per runner: the last one frees it */

    struct weir_lock lock; /* guards all that follows */
    struct weir_cond idle; /* no handler uses the engine */
    size_t borrowers;      /* those that do */
    bool closed;           /* destroyed */
};

/* The engine, for a call of a handler; NULL: it is not ours any more. Owes one
 * give_back(). */
struct weir_executions *weir_execution_worker_borrow(struct weir_execution_worker *self);
void weir_execution_worker_give_back(struct weir_execution_worker *self);

/* The last one frees everything. */
void weir_execution_worker_hold(struct weir_execution_worker *self);
void weir_execution_worker_release(struct weir_execution_worker *self);

void weir_execution_worker_notify(struct weir_execution_worker *self,
                                  enum weir_worker_notifier_id notifier);

/* What all have in common; `state` is the worker. */
struct weir_worker_options
weir_execution_worker_thread_options(struct weir_execution_worker *self, const char *name,
                                     weir_action_fn action,
                                     enum weir_worker_notifier_id notifier);

WEIR_CHECKED enum weir_status weir_claimer_spawn(struct weir_execution_worker *self,
                                                 struct weir_error *error);
WEIR_CHECKED enum weir_status weir_runner_spawn(struct weir_execution_worker *self,
                                                struct weir_error *error);
WEIR_CHECKED enum weir_status weir_settler_spawn(struct weir_execution_worker *self,
                                                 struct weir_error *error);
WEIR_CHECKED enum weir_status weir_renewer_spawn(struct weir_execution_worker *self,
                                                 struct weir_error *error);
WEIR_CHECKED enum weir_status weir_watch_spawn(struct weir_execution_worker *self,
                                               struct weir_error *error);

#endif
