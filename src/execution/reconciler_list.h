/*
 * reconciler_list.h - every reconciler, with the kind of time that it keeps.
 *
 * Each row is all that a reconciler needs besides its own file reconcile/NAME.c, which
 * defines weir_reconciler_NAME, and its value of enum weir_reconciler in
 * weir/execution_supervisor.h. From the rows come the due kinds, their statements, the
 * intervals and the table of the supervisor.
 *
 *   DUE   executions that are due at a time of theirs
 *   AGED  the same, when they are old enough: no timer, so nothing is announced
 *   TIME  another table has the time
 *   WORK  due as soon as it is announced
 *   ALSO  a second reconciler of a kind above
 *
 *   kind, value of enum weir_reconciler, name, default interval in ms
 *   DUE, AGED  condition of the partial index; the same in words that do not fit it;
 *              time; what holds of a due row besides; what holds of the next one
 *   TIME       the first time behind {1}
 *
 * The interval is that of the specification. What is due later than that is not announced
 * to other processes: its reconciler looks before.
 *
 * Order  Kinds are numbered by row. The numbers travel between processes: a new row comes
 *        last.
 */
#ifndef WEIR_EXECUTION_RECONCILER_LIST_H
#define WEIR_EXECUTION_RECONCILER_LIST_H

/* The conditions of the partial indexes, for schema.c and for all statements that
 * use them. */
#define WEIR_IS_READY "state = 1"
#define WEIR_IS_DELAYED "state = 2"
#define WEIR_IS_ACTIVE "state = 4"
#define WEIR_HAS_ATTEMPT_DEADLINE "state = 4 AND attempt_deadline_us > 0"
#define WEIR_HAS_WAIT_LIMIT "state = 5 AND due_us > 0"
#define WEIR_HAS_DEADLINE "state < 10 AND deadline_us > 0"
#define WEIR_IS_OVER "state >= 10"
#define WEIR_IS_OVER_ALONE "state >= 10 AND flow = 0" /* members go with their flow */

/* An attempt that is over as well is that reconciler's, and a lease that ends behind its
 * attempt's deadline will be. */
#define WEIR_ATTEMPT_GOES_ON " AND (attempt_deadline_us = 0 OR attempt_deadline_us > {1})"
#define WEIR_LEASE_COMES_FIRST                                                           \
    " AND (attempt_deadline_us = 0 OR attempt_deadline_us > lease_us)"

/* By the index of those. Whose they are does not matter. */
#define WEIR_FIRST_SIBLINGS                                                              \
    "(SELECT cancel_us FROM {p}_edge_group WHERE cancel_us > 0 AND cancel_us > {1}"      \
    " ORDER BY cancel_us LIMIT {2})"

/* clang-format off */
#define WEIR_RECONCILERS(DUE, AGED, TIME, WORK, ALSO)                                    \
    DUE(DELAYED, DELAYED_PROMOTER, delayed_promoter, 750,                                \
        WEIR_IS_DELAYED, "e.state + 0 = 2", "due_us", "", "")                            \
    DUE(LEASE, LEASE_EXPIRY, lease_expiry, 1500,                                         \
        WEIR_IS_ACTIVE, "e.state + 0 = 4", "lease_us",                                   \
        WEIR_ATTEMPT_GOES_ON, WEIR_LEASE_COMES_FIRST)                                    \
    DUE(ATTEMPT, ATTEMPT_TIMEOUT, attempt_timeout, 2000,                                 \
        WEIR_HAS_ATTEMPT_DEADLINE, "e.state + 0 = 4 AND e.attempt_deadline_us + 0 > 0",  \
        "attempt_deadline_us", "", "")                                                   \
    DUE(WAIT, SUSPENSION_TIMEOUT, suspension_timeout, 2000,                              \
        WEIR_HAS_WAIT_LIMIT, "e.state + 0 = 5 AND e.due_us + 0 > 0", "due_us", "", "")   \
    DUE(DEADLINE, EXECUTION_DEADLINE, execution_deadline, 5000,                          \
        WEIR_HAS_DEADLINE, "e.state + 0 < 10 AND e.deadline_us + 0 > 0",                 \
        "deadline_us", "", "")                                                           \
    TIME(SIBLINGS, EDGE_CANCEL_DISPATCHER, edge_cancel_dispatcher, 1000,                 \
         WEIR_FIRST_SIBLINGS)                                                            \
    WORK(EDGES, DEPENDENCY, dependency, 15000)                                           \
    WORK(BUDGET, BUDGET_RESET, budget_reset, 15000)                                      \
    AGED(ENDED, HOUSEKEEPING, housekeeping, 60000,                                       \
         WEIR_IS_OVER_ALONE, "e.state + 0 >= 10 AND e.flow + 0 = 0", "ended_us", "", "") \
    ALSO(SIBLINGS, EDGE_CANCEL_RECONCILER, edge_cancel_reconciler, 10000)
/* clang-format on */

/* For uses of the list that leave some rows out. */
#define WEIR_NO_ROW_OF_LIST(...)

/* What waits for a time. */
#define WEIR_DUE_VALUE(kind, ...) WEIR_DUE_##kind,
enum weir_due_kind {
    WEIR_RECONCILERS(WEIR_DUE_VALUE, WEIR_DUE_VALUE, WEIR_DUE_VALUE, WEIR_DUE_VALUE,
                     WEIR_NO_ROW_OF_LIST) WEIR_DUE_KINDS
};

/* Times that come by the clock, and of them those that one statement asks for
 * (weir_store_next_times()): 1 << kind of each. */
#define WEIR_DUE_BIT(kind, ...) | 1U << WEIR_DUE_##kind
#define WEIR_DUE_TIMERS                                                                  \
    (0U WEIR_RECONCILERS(WEIR_DUE_BIT, WEIR_NO_ROW_OF_LIST, WEIR_DUE_BIT, WEIR_DUE_BIT,  \
                         WEIR_NO_ROW_OF_LIST))
#define WEIR_DUE_ASKED                                                                   \
    (0U WEIR_RECONCILERS(WEIR_DUE_BIT, WEIR_NO_ROW_OF_LIST, WEIR_DUE_BIT,                \
                         WEIR_NO_ROW_OF_LIST, WEIR_NO_ROW_OF_LIST))

/* WEIR_LEASE_LOOK_MS and the like: the default interval of a kind. */
#define WEIR_LOOK_VALUE(kind, ...) WEIR_LOOK_VALUE_OF(kind, __VA_ARGS__, 0)
#define WEIR_LOOK_VALUE_OF(kind, value, name, interval_ms, ...)                          \
    WEIR_##kind##_LOOK_MS = interval_ms,
enum {
    WEIR_RECONCILERS(WEIR_LOOK_VALUE, WEIR_LOOK_VALUE, WEIR_LOOK_VALUE, WEIR_LOOK_VALUE,
                     WEIR_NO_ROW_OF_LIST)
};

#endif
