/*
 * execution_exec.h - a process for each execution that a worker has claimed.
 *
 *   the input on standard input, then its end; facts in the environment:
 *   WEIR_TOKEN  WEIR_ID  WEIR_NAMESPACE  WEIR_LANE  WEIR_KIND  WEIR_ATTEMPT
 *               WEIR_ATTEMPT_TYPE
 *   WEIR_EPOCH  WEIR_TAGS (a JSON object)  WEIR_DB  WEIR_PREFIX
 *
 *   exit 0    completed, with all of standard output as the result
 *   exit 75   delayed        (EX_TEMPFAIL of sysexits.h)
 *   exit 65   failed for good (EX_DATAERR)
 *   else      failed, with the code or the signal in the reason
 *
 * The last line of standard error is the reason. A process whose claim is lost, or
 * whose time is over, gets SIGTERM and a moment later SIGKILL, with all of its group,
 * while the lease still holds. Then its execution is given back, unless it says by 75
 * or 65 what became of it: 0 is what many programs end with when they are asked to,
 * done or not.
 *
 * Threads  Those of the worker, several at once.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_EXEC_H
#define WEIR_CLI_EXECUTION_EXECUTION_EXEC_H

#include "weir/execution_worker.h"

/* Borrowed until the last handler has returned. */
struct weir_execution_exec {
    const char *command;
    int64_t delay_ms;   /* of exit code 75 */
    int64_t lease_ms;   /* of the claims */
    const char *db;     /* for processes that call weir themselves */
    const char *prefix; /* likewise */
};

/* A weir_task_fn, whose state is the struct above. */
enum weir_answer weir_execution_exec_run(struct weir_context *context, void *self,
                                         struct weir_task *task);

#endif
