/*
 * reporter.h - writes to the log, now and then, what the workers have done.
 *
 * A reporter is a worker of its own with a poker of its own. Each interval it drains a
 * registry (weir/stats.h) and logs at info how long the period was and, for each
 * category that did or tried anything, one line. A period in which nothing happened has
 * no lines; if asked for, neither has one in which no execution handled a message and
 * none failed: workers that look for work now and then would fill the log with reports
 * that say so.
 *
 *   stats.report period="60.0 s"
 *   stats.category category=lane workers=4 execs=128 noop=3 fails=1 exec="1.5 s"
 *     avg="11.7 ms" max="80.2 ms" idle="238.4 s" msgs=1280 avg_batch=10       (one line)
 *
 * The averages are cut to whole numbers; a failed execution counts in `fails` only.
 *
 * Order    Destroy the reporter before its registry and before its executor; its ward
 *          may be stopped, or even destroyed, before or after. To have all in the last
 *          report: stop the ward first.
 * Threads  Any thread; destroy() needs the handle to itself, and no log callback may
 *          call it.
 * Memory   From the executor's heap, until both destroy() was called and its worker has
 *          ended, which it does at once unless the executor is gone.
 */
#ifndef WEIR_REPORTER_H
#define WEIR_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/log.h>

struct weir_reporter;
struct weir_stats;
struct weir_ward;

struct weir_reporter_options {
    const char *name;         /* of its worker; copied */
    struct weir_ward *ward;   /* where that is spawned; kept alive */
    struct weir_stats *stats; /* borrowed; no other code should drain it */
    struct weir_log log;      /* copied; all zero: silence */
    int64_t interval_ns;      /* 1 ms to WEIR_DURATION_MAX */
    bool noops_are_nothing;   /* see above */
};

WEIR_BEGIN_DECLS

/* Defaults: "reporter", every 60 s, silence; no-ops are something. Ward and stats are
 * the caller's to set. */
WEIR_API void weir_reporter_options_init(struct weir_reporter_options *self);

/* The first report comes after one interval. Fails with WEIR_INVALID (an interval of
 * 0, too: without reports there is no reporter), WEIR_NO_MEMORY, WEIR_SYSTEM or
 * WEIR_CLOSED (the ward was cancelled); *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status
weir_reporter_create(const struct weir_reporter_options *options,
                     struct weir_reporter **out, struct weir_error *error);

/* Log what has happened since the last report, and end. Waits for a report that is being
 * written. The log and the registry are not used any more when it returns. NULL is
 * fine. */
WEIR_API void weir_reporter_destroy(struct weir_reporter *self);

WEIR_END_DECLS

#endif
