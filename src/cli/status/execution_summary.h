/*
 * execution_summary.h - how much work there is for the execution engine, for `weir
 * status`.
 *
 * Where there are no tables of executions there is nothing to show.
 */
#ifndef WEIR_CLI_STATUS_EXECUTION_SUMMARY_H
#define WEIR_CLI_STATUS_EXECUTION_SUMMARY_H

#include "cli/output.h"
#include "execution/stats.h"

struct weir_execution_summary {
    bool there;
    struct weir_execution_stats stats;
    struct weir_table lanes;
    struct weir_buf lanes_json; /* objects of a list */
    size_t lane_count;
};

void weir_execution_summary_init(struct weir_execution_summary *self);
void weir_execution_summary_fini(struct weir_execution_summary *self);

/* As it is now, in place of what was read before. */
WEIR_CHECKED enum weir_status
weir_execution_summary_read(struct weir_execution_summary *self, struct weir_db *db,
                            struct weir_error *error);

/* For people, behind an empty line; `"executions":{...}` to the end of an object. */
WEIR_CHECKED enum weir_status
weir_execution_summary_append_table(const struct weir_execution_summary *self,
                                    struct weir_buf *frame);
void weir_execution_summary_append_json(const struct weir_execution_summary *self,
                                        struct weir_buf *json);

/* "12", or "10000+" where nobody counted further. Returns `out`, of WEIR_COUNT_SIZE
 * bytes. */
const char *weir_execution_summary_count(int64_t count, int64_t most, char *out);

#endif
