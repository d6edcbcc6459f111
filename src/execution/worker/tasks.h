/*
 * tasks.h - what a worker holds: its claims, each with where it stands and how long its
 * lease lasts.
 *
 *                 take             answer             collect             settle
 *   admit -> WAITING ----> RUNNING -------> ANSWERED ---------> SETTLING --------> GONE
 *               |                              ^  ^                 |
 *               +---- close: given back -------+  +--- uncollect ---+  (lease over: GONE)
 *
 * One that its handler has suspended stays RUNNING until the handler returns, without a
 * lease; then it is GONE, and nothing is settled.
 *
 * Claimer, runners, settler, renewer and watch of a worker (worker_private.h) meet here
 * and nowhere else. A lease counts from before the call that got it was sent, by our
 * own clock, so it ends here no later than in the database.
 *
 * Threads  Any thread; an answer is written by the thread that runs the task, until
 *          answer().
 * Memory   Tasks that were claimed together live and die together, in a haul.
 */
#ifndef WEIR_EXECUTION_WORKER_TASKS_H
#define WEIR_EXECUTION_WORKER_TASKS_H

#include <stdatomic.h>

#include "base/list.h"
#include "ward/lock.h"
#include "weir/execution_worker.h"

struct weir_executor;
struct weir_heap;
struct weir_worker;

enum weir_task_state {
    WEIR_TASK_WAITING,
    WEIR_TASK_RUNNING,
    WEIR_TASK_ANSWERED,
    WEIR_TASK_SETTLING,
    WEIR_TASK_GONE
};

/* Why the stop signal was given. */
enum weir_task_stop {
    WEIR_TASK_NOT_STOPPED,
    WEIR_TASK_FENCED,    /* the database says that another worker has it, or none */
    WEIR_TASK_UNLEASED,  /* our own clock says that the lease is nearly over */
    WEIR_TASK_TIMED_OUT, /* the attempt's time limit is over, or the execution's */
    WEIR_TASK_ENDED      /* the worker is being stopped */
};

/* Does its handler suspend it? */
enum weir_task_pause {
    WEIR_TASK_GOES_ON,
    WEIR_TASK_SUSPENDING, /* it is being written to the database */
    WEIR_TASK_SUSPENDED,
    WEIR_TASK_DOUBTFUL /* it did not say what it has done */
};

/* What one may wait for. */
enum weir_tasks_wanted {
    WEIR_TASKS_NONE_HELD,
    WEIR_TASKS_NONE_UNSETTLED, /* no answer that is not stored */
    WEIR_TASKS_WANTED_COUNT
};

/* One handler. */
struct weir_task_kind {
    const char *kind; /* NULL: any other */
    weir_task_fn handler;
    void *state;
};

struct weir_task {
    struct weir_list link; /* in the list of its state */
    struct weir_claim_batch *claim_batch;
    struct weir_execution_worker *worker; /* borrowed */
    const struct weir_claimed *claimed;   /* the haul's */
    const struct weir_task_kind *kind;    /* the worker's; NULL: it has none for it */
    enum weir_task_state state;
    enum weir_task_stop stop;
    enum weir_task_pause pause;
    bool fenced_in_pause; /* a renewal found no lease while it was SUSPENDING */
    int64_t lease_end_ns;
    int64_t deadline_ns;        /* WEIR_FOREVER: none */
    struct weir_worker *runner; /* while it is RUNNING */

    /* the answer */
    bool answered;
    bool returned; /* given back, and not delayed by its handler */
    bool panicked; /* its handler has, which was logged then */
    struct weir_settlement answer;
    void *result; /* owned */
    char reason[WEIR_FAILURE_SIZE_MAX + 1];
};

/* What one claim brought. */
struct weir_claim_batch {
    const struct weir_heap *heap; /* borrowed */
    struct weir_claimed *claimed; /* owned */
    size_t references;            /* tasks that are not gone, and threads that use one */
    size_t count;
    struct weir_task tasks[];
};

struct weir_tasks {
    const struct weir_heap *heap;   /* borrowed */
    struct weir_executor *executor; /* borrowed; the caller's to set, before wait() */
    size_t room;                    /* for tasks that wait or run */
    int64_t margin_ns;              /* from the stop signal to the end of the lease */
    _Atomic size_t left[WEIR_TASKS_WANTED_COUNT];
    _Atomic size_t awaiting;   /* how many are in wait() */
    struct weir_list stoppers; /* those; under the executor's lock */

    struct weir_lock lock; /* guards all that follows, and the tasks */
    struct weir_list lists[WEIR_TASK_GONE];
    bool closed;
    struct weir_execution_worker_stats stats;
};

/* Fails with WEIR_SYSTEM. fini() needs it to itself, and frees what is left. */
WEIR_CHECKED enum weir_status weir_tasks_init(struct weir_tasks *self,
                                              const struct weir_heap *heap, size_t room,
                                              int64_t lease_ns);
void weir_tasks_fini(struct weir_tasks *self);

/* Takes `claimed`, but for the failure: NULL, no memory. Nothing of it is admitted
 * yet. */
WEIR_CHECKED struct weir_claim_batch *
weir_claim_batch_create(const struct weir_heap *heap,
                        struct weir_execution_worker *worker,
                        struct weir_claimed *claimed, size_t count, int64_t lease_ms);

/* How many more may be claimed. */
size_t weir_tasks_room(struct weir_tasks *self);

/* Takes the haul. What has no kind, and everything after close(), is given back.
 * Returns how many wait to be run. */
size_t weir_tasks_admit(struct weir_tasks *self, struct weir_claim_batch *claim_batch);

/* The oldest that waits and whose lease lasts is RUNNING now, by `runner`. */
struct weir_taken {
    struct weir_task *task; /* NULL: there is none */
    bool more;              /* others wait */
    bool late;              /* some that waited for too long are given back */
    int64_t stop_ns;        /* when its stop signal is due, as things are now */
};
struct weir_taken weir_tasks_take(struct weir_tasks *self, struct weir_worker *runner,
                                  int64_t now_ns);

/* The handler has returned; the task is not his any more. Without an answer it has
 * failed, or is given back if it was stopped. True: `runner` has been cancelled. */
bool weir_tasks_answer(struct weir_tasks *self, struct weir_task *task);

/*
 * The handler tells the database that it suspends; false: it has before. end() owes
 * what became of it. A renewal may come between the commit and its reply, and finds no
 * lease: it is not the one to say that the claim is lost. Unless it was suspended, that
 * counts afterwards.
 */
WEIR_CHECKED bool weir_tasks_begin_pause(struct weir_tasks *self, struct weir_task *task);
void weir_tasks_end_pause(struct weir_tasks *self, struct weir_task *task,
                          enum weir_task_pause pause);

/* The database has said that it is not ours any more. */
void weir_tasks_lose(struct weir_tasks *self, struct weir_task *task);

/* Up to `max` answers, the oldest first, and of some megabytes at most, are SETTLING
 * now. */
size_t weir_tasks_collect(struct weir_tasks *self, struct weir_task **out, size_t max);

/* The database did not say; it is tried again unless the lease is over: false. */
bool weir_tasks_uncollect(struct weir_tasks *self, struct weir_task *task,
                          int64_t now_ns);

/* It said, or never will: `status` is that of the settlement. */
void weir_tasks_settle(struct weir_tasks *self, struct weir_task *task,
                       enum weir_status status);

/* Up to `max` whose leases are to be renewed. Each is kept until weir_tasks_renewed(),
 * with the status of its renewal (WEIR_OK and the lease as it was: unknown). */
size_t weir_tasks_leases(struct weir_tasks *self, struct weir_task **out, size_t max);
void weir_tasks_renewed(struct weir_tasks *self, struct weir_task *task,
                        enum weir_status status, int64_t lease_end_ns);

/* When does the first lease end that is to be renewed? WEIR_FOREVER: none. */
int64_t weir_tasks_first_end(struct weir_tasks *self);

/* Give the stop signal to those whose time has come; returns when the next one's will. */
int64_t weir_tasks_watch(struct weir_tasks *self, int64_t now_ns);

/* Nothing is taken any more, and what waits is given back. */
void weir_tasks_close(struct weir_tasks *self);

/* The stop signal to all that run. */
void weir_tasks_stop(struct weir_tasks *self);

/* Wait until it is so, or until `deadline_ns` of the executor. */
void weir_tasks_wait(struct weir_tasks *self, enum weir_tasks_wanted wanted,
                     int64_t deadline_ns);

/* How many are not gone. */
size_t weir_tasks_held(struct weir_tasks *self);
void weir_tasks_read(struct weir_tasks *self, struct weir_execution_worker_stats *out);

/* Its answer is that another worker may go on, or the same one, after so long. In
 * task.c. */
void weir_task_give_back(struct weir_task *self, int64_t delay_ms);

#endif
