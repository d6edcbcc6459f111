/*
 * execution_worker.h - runs executions: a handler per kind.
 *
 *   static enum weir_answer charge(struct weir_context *context, void *state,
 *                                  struct weir_task *task)
 *   {
 *       if (!bank_charge(weir_task_claimed(task)->input))
 *           return weir_task_fail(task, "the bank said no");
 *       return weir_task_complete(task, "ok", 2);
 *   }
 *
 * The worker claims as many as it has permits for, renews all leases in one call every
 * third of their time, and settles what handlers answer, those that come together in
 * one call. None of that waits for a handler. While there is nothing to do it waits
 * without polling.
 *
 *   claim --> waiting --permit--> running --answer--> settled
 *                |                   |  |               ^
 *                |                   |  +-- suspend(): it waits outside of the worker
 *                +---- stop(): given back --------------+
 *
 * Stop signal   weir_context_cancelled() becomes true, and what the handler waits for
 *               ends with
 *          WEIR_CANCELLED: when the database says that the lease is lost, a tenth of
 *          the lease before it would end because it could not be renewed, when the time
 *          limit of the attempt or of the execution is over, and in stop() after the
 *          grace. A handler that then returns without an answer has not failed: its
 *          execution is given back, if it is still its own.
 * Given back    The same attempt goes on elsewhere, at once. It counts neither as a
 *               retry nor as a
 *          lost lease.
 * Answers  Are stored although the database is away for a while, or does not say
 *          whether it has stored them: they are sent again until it answers, or the
 *          lease is over. What comes too late is refused by the database, and has
 *          changed nothing.
 * Suspended     Has ended for the worker: its permit is free when the handler returns,
 *               no lease is
 *          kept, and nothing that the handler answers afterwards counts. When the
 *          condition holds the handler is called again, from its beginning, here or
 *          elsewhere: weir_task_signals() says what came.
 * Failure  A handler that panics, or returns without an answer, has failed
 *          ("handler_panic: ...", "no_answer"), with retries as the policy has them. A
 *          kind without handler is put off for WEIR_UNHANDLED_DELAY_MS, which counts
 *          as no attempt: another worker may know it, or a newer version of this program.
 *          Kinds that only some know should have a lane or a capability. Nothing ends the
 *          worker: a database that is gone is tried again, less and less often.
 * Life     create, add handlers, start, stop(grace), destroy.
 * Threads  Handlers run on several threads at once. read() from any thread,
 *          weir_task_...() in the handler it was given to; the rest belongs to
 *          one owner, which is no handler.
 */
#ifndef WEIR_EXECUTION_WORKER_H
#define WEIR_EXECUTION_WORKER_H

#include <weir/context.h>
#include <weir/executions.h>
#include <weir/suspension.h>

struct weir_execution_worker;
struct weir_task;

enum {
    WEIR_EXECUTION_PERMITS_MAX = 512,
    WEIR_EXECUTION_PREFETCH_MAX = 512,
    WEIR_EXECUTION_HANDLERS_MAX = 1024,
    WEIR_UNHANDLED_DELAY_MS = 10000
};

/* What a handler returns: what the functions below have returned, or that it has no
 * answer. */
enum weir_answer { WEIR_ANSWERED, WEIR_NOT_ANSWERED };

typedef enum weir_answer (*weir_task_fn)(struct weir_context *context, void *state,
                                         struct weir_task *task);

struct weir_execution_worker_options {
    struct weir_executions *executions; /* borrowed until destroy() */
    /* Borrowed; NULL: one of our own. It should have a thread per permit and one more,
     * and three reserve threads: without any, handlers that never wait keep leases from
     * being renewed. */
    struct weir_executor *executor;
    struct weir_claim_options claim; /* copied; wait_ms does not count */
    uint32_t permits;                /* handlers at once; default 4 */
    uint32_t prefetch;               /* claimed beyond those that run; default 0 */
};

/* All at one instant. `claimed` is the sum of all others but `unhandled`. */
struct weir_execution_worker_stats {
    uint64_t claimed;
    uint64_t completed; /* answers that are stored, from here */
    uint64_t failed;    /* executions, for good */
    uint64_t retried;   /* attempts that have failed: there will be others */
    uint64_t delayed;
    uint64_t cancelled;
    uint64_t suspended;
    /* given back, or put off because no handler here knows the kind */
    uint64_t returned;
    uint64_t unhandled; /* of those, the latter */
    uint64_t fenced;    /* no answer was stored: the lease was lost */
    uint32_t waiting;   /* for a permit */
    uint32_t running;
    uint32_t settling; /* answered, not stored yet */
};

WEIR_BEGIN_DECLS

WEIR_API void
weir_execution_worker_options_init(struct weir_execution_worker_options *self);

/* WEIR_INVALID: the text names field, value and limit; WEIR_NO_MEMORY, WEIR_SYSTEM. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_worker_create(const struct weir_execution_worker_options *options,
                             struct weir_execution_worker **out,
                             struct weir_error *error);

/* `kind`, which is copied, NULL: of every kind that has no handler of its own. `state`
 * is borrowed until the last handler has returned. WEIR_EXISTS: the kind has one;
 * WEIR_CLOSED: after start(). */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_worker_add(struct weir_execution_worker *self, const char *kind,
                          weir_task_fn handler, void *state, struct weir_error *error);

/* WEIR_INVALID: no handler was added; WEIR_CLOSED: started or stopped before. After any
 * other failure nothing runs, and nothing but destroy() is possible. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_worker_start(struct weir_execution_worker *self, struct weir_error *error);

/*
 * Claim nothing more, give back what was not begun, and give handlers up to `grace_ns`;
 * those that have not finished then get the stop signal and five seconds more. Returns
 * how many executions are not settled, 0 is clean; their leases run out. Without
 * start(), or twice: 0.
 */
WEIR_API size_t weir_execution_worker_stop(struct weir_execution_worker *self,
                                           int64_t grace_ns);

/* stop(0) if need be. Waits for calls to the database that are under way, then nothing
 * uses the engine any more. Does not wait for a handler that ignored its stop signal:
 * what that one was given stays until it returns. NULL is fine. */
WEIR_API void weir_execution_worker_destroy(struct weir_execution_worker *self);

WEIR_API void weir_execution_worker_read(struct weir_execution_worker *self,
                                         struct weir_execution_worker_stats *out);

/* What was claimed. Lives until the handler returns. */
WEIR_API const struct weir_claimed *weir_task_claimed(const struct weir_task *self);

/* weir_execution_progress() of this execution. WEIR_CLOSED: the worker was destroyed
 * meanwhile. */
WEIR_CHECKED WEIR_API enum weir_status weir_task_progress(struct weir_task *self,
                                                          int32_t percent,
                                                          const char *text,
                                                          struct weir_error *error);

/*
 * The answer; copied. The last one counts. A result of more than WEIR_RESULT_SIZE_MAX
 * fails it for good ("result_too_large: ..."). Reasons are cut at
 * WEIR_FAILURE_SIZE_MAX, and what is not UTF-8 in them becomes '?'. A delay is at least
 * 0 and at most WEIR_EXECUTION_DURATION_MS_MAX, and goes on with the same attempt.
 */
WEIR_API enum weir_answer weir_task_complete(struct weir_task *self, const void *result,
                                             size_t size);
WEIR_API enum weir_answer weir_task_fail(struct weir_task *self, const char *format, ...)
    WEIR_PRINTF(2, 3);
WEIR_API enum weir_answer weir_task_fail_for_good(struct weir_task *self,
                                                  const char *format, ...)
    WEIR_PRINTF(2, 3);
WEIR_API enum weir_answer weir_task_delay(struct weir_task *self, int64_t delay_ms);
WEIR_API enum weir_answer weir_task_cancel(struct weir_task *self, const char *reason);

/*
 * Waiting for the world. A handler that is called looks first at what came, and what is
 * not there yet it asks for and waits for:
 *
 *   weir_task_signals(task, note, &answer, &error);
 *   if (answer.came)
 *       return weir_task_complete(task, answer.text, answer.size);
 *   weir_task_waitpoint(task, &editor, WEEK_MS, &error);
 *   send_mail(editor.token);
 *   weir_task_suspend(task, &options, &satisfied, &error);
 *
 * The token is sent before: a handler that dies after that gets the same token when it is
 * called again, and one that dies after suspend() is not called again. An answer that is
 * faster than suspend() makes it `satisfied`.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_task_signals(struct weir_task *self,
                                                         weir_signal_visit_fn visit,
                                                         void *state,
                                                         struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_task_waitpoint(struct weir_task *self, struct weir_waitpoint *waitpoint,
                    int64_t expires_ms, struct weir_error *error);

/*
 * weir_execution_suspend() of this execution, at once. WEIR_OK: it is suspended, and
 * the handler returns WEIR_ANSWERED; or *satisfied, and it goes on. While the database
 * is away, or does not say what it has done, the call is repeated, which gives the same
 * tokens, until the stop signal. Then, and else:
 *
 *   WEIR_FENCED     the claim is lost, as the stop signal says too
 *   WEIR_IN_DOUBT   the outcome is unknown. Whatever the handler answers, the execution
 *                   is given back, unless it is suspended
 *   WEIR_CLOSED     it is suspended already, or the worker was destroyed meanwhile
 *   any other       it is not suspended
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_task_suspend(struct weir_task *self, struct weir_suspend_options *options,
                  bool *satisfied, struct weir_error *error);

WEIR_END_DECLS

#endif
