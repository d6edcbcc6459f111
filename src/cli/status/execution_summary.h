/*
 * execution_summary.h - how much work there is for the execution engine, for `weir
 * status`.
 *
 * Where there are no tables of executions there is nothing to show.
 */
#ifndef WEIR_CLI_STATUS_EXECUTION_SUMMARY_H
#define WEIR_CLI_STATUS_EXECUTION_SUMMARY_H

#include "cli/output.h"
#include "view/status_records.h"

/* As it is now, in place of what was read before. */
WEIR_CHECKED enum weir_status weir_execution_summary_read(struct weir_status_view *view,
                                                          struct weir_db *db,
                                                          struct weir_error *error);

/* For people, behind an empty line. */
WEIR_CHECKED enum weir_status
weir_execution_summary_append_table(const struct weir_status_view *view,
                                    struct weir_buf *frame);

#endif
