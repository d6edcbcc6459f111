/*
 * execution_supervisor.h - the reconcilers that keep executions honest.
 *
 * A worker may vanish, a time may pass, a process may die between two steps. Each
 * reconciler looks for one kind of thing that is overdue and puts it right, in one
 * statement for many rows, and then sleeps until the next one is due. Any number of
 * supervisors may run on one database: rows are locked and looked at again, and a row
 * that another one has is skipped.
 *
 *   reconciler              looks for                                   default interval
 *   attempt_timeout         attempts over their time limit              2 s
 *   lease_expiry            leases that were not renewed                1.5 s
 *   suspension_timeout      waits that took too long                    2 s
 *   budget_reset            budgets whose period is over                15 s
 *   dependency              blocked work whose upstreams have ended     15 s
 *   edge_cancel_dispatcher  siblings to be cancelled                    1 s
 *   edge_cancel_reconciler  what a crash left of that                   10 s
 *   delayed_promoter        delays that are over                        750 ms
 *   execution_deadline      executions over their deadline              5 s
 *   housekeeping            what is not needed any more                 60 s
 *
 * The interval is the safety net; a reconciler is woken when something is due before
 * that. Other processes say so of what is due within the default interval: with a
 * longer one, a time further off that one of them has set may be kept late, by the
 * interval at most. So may any of them where notifications are not possible (behind a
 * transaction pooler, or with no_notify).
 *
 * Life     create, start, stop(grace), destroy, as weir/scanner.h. Statements of those
 *          that have not finished within the grace are cancelled, and destroy() waits
 *          for that: then nothing of it uses the engine any more. destroy() without
 *          stop() is stop(0) first.
 * Failure  Nothing ends a reconciler. A row that fails three times is left alone for
 *          ten cycles, and read() shows it. A number in the database that is not known
 *          here stops the reconciler that meets it until it is gone, with a text that
 *          names it.
 * Threads  read() and stop() from any thread; the rest belongs to one owner.
 */
#ifndef WEIR_EXECUTION_SUPERVISOR_H
#define WEIR_EXECUTION_SUPERVISOR_H

#include <weir/executions.h>

struct weir_execution_supervisor;
struct weir_scan_info; /* weir/scanner.h */

enum weir_reconciler {
    WEIR_RECONCILER_ATTEMPT_TIMEOUT,
    WEIR_RECONCILER_LEASE_EXPIRY,
    WEIR_RECONCILER_SUSPENSION_TIMEOUT,
    WEIR_RECONCILER_BUDGET_RESET,
    WEIR_RECONCILER_DEPENDENCY,
    WEIR_RECONCILER_EDGE_CANCEL_DISPATCHER,
    WEIR_RECONCILER_EDGE_CANCEL_RECONCILER,
    WEIR_RECONCILER_DELAYED_PROMOTER,
    WEIR_RECONCILER_EXECUTION_DEADLINE,
    WEIR_RECONCILER_HOUSEKEEPING,
    WEIR_RECONCILER_COUNT
};

struct weir_execution_supervisor_options {
    struct weir_executions *executions; /* borrowed until destroy() */
    struct weir_executor *executor; /* borrowed; NULL: one of our own, a thread each */
    int64_t interval_ms[WEIR_RECONCILER_COUNT]; /* 100 ms to a year */
    int64_t dependency_stale_ms;                /* default 15,000 */
    uint32_t budget_partitions; /* default 32; those of flows are the flow's */
    const char *name_space;     /* only work of this namespace; copied; NULL: of any */
    const char *tag_key; /* and with this tag; copied, as its value; NULL: with any */
    const char *tag_value;
    /* How long what has ended is kept, members as long as their flow; default 24 h; 0:
     * for ever. */
    int64_t retention_ms;
};

WEIR_BEGIN_DECLS

WEIR_API void
weir_execution_supervisor_options_init(struct weir_execution_supervisor_options *self);

/* WEIR_INVALID: the text names field, value and limit; WEIR_NO_MEMORY, WEIR_SYSTEM. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_supervisor_create(const struct weir_execution_supervisor_options *options,
                                 struct weir_execution_supervisor **out,
                                 struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_supervisor_start(struct weir_execution_supervisor *self,
                                struct weir_error *error);

/* How many reconcilers have not finished: 0 is clean. */
WEIR_API size_t weir_execution_supervisor_stop(struct weir_execution_supervisor *self,
                                               int64_t grace_ns);
WEIR_API void weir_execution_supervisor_destroy(struct weir_execution_supervisor *self);

/* Up to `count` of those that run, named as above; returns how many there are. */
WEIR_API size_t weir_execution_supervisor_read(struct weir_execution_supervisor *self,
                                               struct weir_scan_info *out, size_t count);

/* "attempt_timeout", ... Lives for ever. */
WEIR_API const char *weir_reconciler_name(enum weir_reconciler reconciler);

WEIR_END_DECLS

#endif
