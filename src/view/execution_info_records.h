/*
 * execution_info_records.h - rows of executions: what `weir execution`, `weir submit`,
 * `weir work` and `weir supervise` show and answer.
 */
#ifndef WEIR_VIEW_EXECUTION_INFO_RECORDS_H
#define WEIR_VIEW_EXECUTION_INFO_RECORDS_H

#include "view/execution_text.h"
#include "view/record_list.h"
#include "weir/execution_worker.h"
#include "weir/executions.h"
#include "weir/scanner.h"

struct weir_execution_row {
    struct weir_execution_info info;
    const char *why; /* NULL: as weir_execution_spell_why() says */
};
extern const struct weir_record weir_execution_record;

/* Its two first lines in full: which one it is, and why it does not move. */
extern const struct weir_record weir_execution_head_record;

extern const struct weir_record weir_attempt_record; /* struct weir_attempt_info */

/* One execution with all that belongs to it. */
struct weir_execution_detail {
    struct weir_buf execution;  /* composed */
    struct weir_buf suspension; /* likewise; empty: none */
    struct weir_record_list budgets;
    struct weir_record_list attempts;
};
extern const struct weir_record weir_execution_detail_record;

struct weir_execution_page {
    struct weir_record_list executions;
    int64_t after; /* 0: there are no more */
};
extern const struct weir_record weir_execution_page_record;

struct weir_execution_result_row {
    struct weir_execution_id id;
    struct weir_str result;
};
extern const struct weir_record weir_execution_result_record;

struct weir_claimed_row {
    struct weir_claimed claimed;
    int64_t lease_ms;
};
extern const struct weir_record weir_claimed_record;

struct weir_claim_settled {
    struct weir_claim claim;
    const char *answer;
    bool found;
    struct weir_execution_status current;
};
extern const struct weir_record weir_claim_settled_record;

/* Numbers of executions; -1: it was another command. */
struct weir_executions_operated {
    int64_t cancelled, revoked, prioritised, replayed, resumed, unchanged;
    struct weir_record_list refused;
};
extern const struct weir_record weir_executions_operated_record;

struct weir_execution_refused {
    struct weir_execution_id id;
    const char *why;
};
extern const struct weir_record weir_execution_refused_record;

extern const struct weir_record weir_submission_record; /* struct weir_submission */

struct weir_lines_submitted {
    int64_t count;
    int64_t duplicates;
    int64_t elapsed_ns;
    int64_t failed_line; /* -1: none */
};
extern const struct weir_record weir_lines_submitted_record;

extern const struct weir_record weir_reconciler_record; /* struct weir_scan_info */

struct weir_supervised {
    const struct weir_scan_info *reconcilers;
    size_t count;
    size_t unfinished;
};
extern const struct weir_record weir_supervised_record;

struct weir_worked {
    const char *const *lanes;
    size_t lane_count;
    uint64_t ended;
    struct weir_execution_worker_stats stats;
    int64_t elapsed_ns;
    bool drained;
    int64_t left_suspended; /* -1: not drained */
    int64_t left_behind;    /* likewise */
    size_t unfinished;
    const struct weir_scan_info *reconcilers; /* NULL: it did not supervise */
    size_t reconciler_count;
};
extern const struct weir_record weir_worked_record;

#endif
