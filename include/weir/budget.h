/*
 * budget.h - how much may be used.
 *
 * A budget has limits for one or several *dimensions* ("tokens", "cents"), and counts
 * what is reported. An execution that names it in its draft is not given to a worker
 * while any of its limits is reached; it waits, and comes back by itself when the
 * budget is reset or raised.
 *
 *   create(limits, period) ... submit(draft with budget) ... claim ... report(amounts)
 *   ... reset
 *
 * Limits   A report that would exceed a hard limit is refused as a whole, and counted
 *          as a breach. One that exceeds a soft limit is accepted, and counted too. 0
 *          is no limit.
 * Ledger   What was reported for an execution is kept beside the sums, so that
 *          release() can give it back. What was reported before a reset is forgotten
 *          with it, and gives nothing back.
 * Period   Resets come at the time of creation plus a whole number of periods, and do
 *          not drift.
 * Once     A report with a key counts once within 24 h. A refused one is not remembered.
 * Threads  Any thread.
 */
#ifndef WEIR_BUDGET_H
#define WEIR_BUDGET_H

#include <weir/executions.h>

enum {
    WEIR_BUDGET_NAME_SIZE_MAX = 256,
    WEIR_BUDGET_DIMENSIONS_MAX = 32,
    WEIR_DIMENSION_SIZE_MAX = 64
};

struct weir_budget_limit {
    const char *dimension; /* 1 to 64 printable ASCII characters */
    int64_t hard;          /* at least 0; 0: no limit */
    int64_t soft;
};

struct weir_budget_draft {
    const char *name;       /* 1 to 256 printable ASCII characters */
    const char *scope_type; /* whose it is, for people: "tenant"; NULL: "" */
    const char *scope;      /* "acme"; NULL: "" */
    int64_t period_ms;      /* 0: only reset by hand; else at least 1 s */
    const struct weir_budget_limit *limits;
    size_t limit_count; /* 1 to WEIR_BUDGET_DIMENSIONS_MAX */
};

struct weir_amount {
    const char *dimension;
    int64_t amount; /* at least 0 */
};

enum weir_spending {
    WEIR_SPENT,
    WEIR_SPENT_OVER_SOFT,
    WEIR_NOT_SPENT,
    WEIR_SPENT_BEFORE
};

/* What became of a report. */
struct weir_budget_answer {
    enum weir_spending spending;
    char dimension[WEIR_DIMENSION_SIZE_MAX + 1]; /* that is over its limit; "" */
    int64_t used, limit;                         /* of that one, as it is now */
};

struct weir_usage_info {
    const char *dimension;
    int64_t used, hard, soft;
};

struct weir_budget_info {
    const char *name;
    const char *scope_type;
    const char *scope;
    int64_t period_ms;
    int64_t next_reset_us; /* 0: none */
    int64_t created_us;
    int64_t hard_breaches, soft_breaches;
    int64_t breached_us;  /* the last one since the reset; 0: none */
    const char *breached; /* its dimension; "" */
    int64_t resets;
    int64_t waiting; /* executions that wait for it; at most 1000 are counted */
    const struct weir_usage_info *usage;
    size_t usage_count;
};

typedef void (*weir_budget_visit_fn)(void *state, const struct weir_budget_info *info);

WEIR_BEGIN_DECLS

/* *existed: it is there and the same. WEIR_MISMATCH: it is there and different. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_create(struct weir_executions *self, const struct weir_budget_draft *draft,
                   bool *existed, struct weir_error *error);

/* Other limits or another period for one that is there; dimensions may be added.
 * Another period begins now. WEIR_FULL: WEIR_BUDGET_DIMENSIONS_MAX. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_change(struct weir_executions *self, const struct weir_budget_draft *draft,
                   struct weir_error *error);

/* For an execution, or `id` NULL: for none. Not fenced: what was used was used. A
 * dimension without a limit is counted too. WEIR_FULL: WEIR_BUDGET_DIMENSIONS_MAX.
 * WEIR_MISMATCH: `key` was used for another report. WEIR_OUT_OF_RANGE: more than can be
 * counted. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_report(struct weir_executions *self, const char *name,
                   const struct weir_execution_id *id, const struct weir_amount *amounts,
                   size_t count, const char *key, struct weir_budget_answer *out,
                   struct weir_error *error);

/* Give back what was reported for this execution since the last reset. Again: nothing. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_release(struct weir_executions *self, const char *name,
                    const struct weir_execution_id *id, struct weir_error *error);

/* Now, besides its period. */
WEIR_CHECKED WEIR_API enum weir_status weir_budget_reset(struct weir_executions *self,
                                                         const char *name,
                                                         struct weir_error *error);

WEIR_CHECKED WEIR_API enum weir_status
weir_budget_get(struct weir_executions *self, const char *name,
                weir_budget_visit_fn visit, void *state, struct weir_error *error);

/* By name, those after `after` ("": from the first), up to `count` of 1 to 1000. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_list(struct weir_executions *self, const char *after, size_t count,
                 weir_budget_visit_fn visit, void *state, struct weir_error *error);

/* Those that an execution is charged to, by name. WEIR_NOT_FOUND: there is no such
 * execution. */
WEIR_CHECKED WEIR_API enum weir_status
weir_budget_of(struct weir_executions *self, const struct weir_execution_id *id,
               weir_budget_visit_fn visit, void *state, struct weir_error *error);

WEIR_END_DECLS

#endif
