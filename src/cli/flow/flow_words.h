/*
 * flow_words.h - what the commands on flows have in common.
 *
 *   flow     0193...                   as `weir flow create` printed it
 *   join     all, any, quorum:2        how the edges to one execution are joined
 *
 * A mistake is reported here.
 */
#ifndef WEIR_CLI_FLOW_FLOW_WORDS_H
#define WEIR_CLI_FLOW_FLOW_WORDS_H

#include "cli/execution/execution_session.h"
#include "cli/output.h"
#include "view/flow_records.h"

/* The exit code, as of the next two. */
WEIR_CHECKED int weir_flow_take_id(const struct weir_command *command, const char *word,
                                   struct weir_flow_id *out);
WEIR_CHECKED int weir_flow_parse_id(const struct weir_command *command,
                                    const struct weir_command_option *option, char *word,
                                    void *out);
#define WEIR_AS_FLOW_ID(T, m)                                                            \
    WEIR_AS_PARSED(T, m, struct weir_flow_id, weir_flow_parse_id)
WEIR_CHECKED int weir_flow_parse_join(const struct weir_command *command,
                                      const struct weir_command_option *option,
                                      char *word, void *out);
#define WEIR_AS_FLOW_JOIN(T, m)                                                          \
    WEIR_AS_PARSED(T, m, struct weir_flow_join, weir_flow_parse_join)

/* Tell what a call of weir/flow.h answered, and what to do about it. The exit code. */
int weir_flow_fail(const struct weir_execution_session *self,
                   const struct weir_error *error);

#endif
