/*
 * execution_claimant.h - the claimant: the options that `weir execution claim` and `weir
 * work` share.
 *
 *   static const struct weir_command_option OPTIONS[] = {
 *       WEIR_EXECUTION_CLAIMANT_OPTIONS(struct claim_call),
 *       ...
 *   };
 *
 * Memory   Texts are those of the command line, but for the name of the instance.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_CLAIMANT_H
#define WEIR_CLI_EXECUTION_EXECUTION_CLAIMANT_H

#include <sys/types.h>

#include "cli/command.h"
#include "weir/executions.h"

enum { WEIR_EXECUTION_LANES_MAX = 64 };

/* Rows for a struct T with a member `claimant`. */
#define WEIR_EXECUTION_CLAIMANT_OPTIONS(T)                                               \
    WEIR_OPTION('l', "lane", "LANE", "of the work; may be given 64 times",               \
                WEIR_AS_TEXT(T, claimant.lanes[0]),                                      \
                WEIR_IN_SET(T, claimant.lanes, claimant.options.lane_count, "lanes")),   \
        WEIR_OPTION(0, "capability", "C", "that we have; may be repeated",               \
                    WEIR_AS_TEXT(T, claimant.capabilities[0]),                           \
                    WEIR_IN_LIST(T, claimant.capabilities,                               \
                                 claimant.options.capability_count, "capabilities")),    \
        WEIR_OPTION(0, "lease", "D", "1s to 1h; default 30s",                            \
                    WEIR_AS_MS(T, claimant.options.lease_ms,                             \
                               WEIR_EXECUTION_LEASE_MS_MIN,                              \
                               WEIR_EXECUTION_LEASE_MS_MAX)),                            \
        WEIR_OPTION(0, "worker", "NAME", "of workers that are alike; default 'weir'",    \
                    WEIR_AS_TEXT(T, claimant.options.worker)),                           \
        WEIR_OPTION(0, "instance", "NAME", "of this one; default host and process",      \
                    WEIR_AS_TEXT(T, claimant.options.instance))

struct weir_execution_claimant {
    struct weir_claim_options options; /* points at what follows: must not move */
    const char *lanes[WEIR_EXECUTION_LANES_MAX];
    const char *capabilities[WEIR_CAPABILITIES_MAX];
    char instance[WEIR_INSTANCE_SIZE_MAX + 1];
};

/* `process`: in the name of the instance, unless one is given. */
void weir_execution_claimant_init(struct weir_execution_claimant *self, pid_t process);

/* Behind all options. The exit code. */
WEIR_CHECKED int weir_execution_claimant_check(const struct weir_execution_claimant *self,
                                               const struct weir_command *command);

#endif
