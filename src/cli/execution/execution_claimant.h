/*
 * execution_claimant.h - the claimant: the options that `weir execution claim` and `weir
 * work` share.
 *
 *   static const struct weir_command_option OPTIONS[] = {
 *       WEIR_EXECUTION_CLAIMANT_OPTIONS,
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

enum {
    WEIR_EXECUTION_LANES_MAX = 64,
    WEIR_EXECUTION_LANE = 'l',
    WEIR_EXECUTION_CAPABILITY = 300,
    WEIR_EXECUTION_LEASE,
    WEIR_EXECUTION_WORKER,
    WEIR_EXECUTION_INSTANCE,
};

#define WEIR_EXECUTION_CLAIMANT_OPTIONS                                                  \
    {WEIR_EXECUTION_LANE, "lane", "LANE", "whose work; may be given 64 times"},          \
        {WEIR_EXECUTION_CAPABILITY, "capability", "C", "that we have; may be repeated"}, \
        {WEIR_EXECUTION_LEASE, "lease", "D", "1s to 1h; default 30s"},                   \
        {WEIR_EXECUTION_WORKER, "worker", "NAME",                                        \
         "of those who work alike; default 'weir'"},                                     \
    {                                                                                    \
        WEIR_EXECUTION_INSTANCE, "instance", "NAME",                                     \
            "of this one; default host and process"                                      \
    }

struct weir_execution_claimant {
    struct weir_claim_options options; /* points at what follows: must not move */
    const char *lanes[WEIR_EXECUTION_LANES_MAX];
    const char *capabilities[WEIR_CAPABILITIES_MAX];
    char instance[WEIR_INSTANCE_SIZE_MAX + 1];
};

/* `process`: in the name of the instance, unless one is given. */
void weir_execution_claimant_init(struct weir_execution_claimant *self, pid_t process);

/* Is this option one of ours? */
bool weir_execution_claimant_has(int option);

/* The exit code, as of check(), which comes behind all options. */
WEIR_CHECKED int weir_execution_claimant_take(struct weir_execution_claimant *self,
                                              const struct weir_command *command,
                                              int option, const char *value);
WEIR_CHECKED int weir_execution_claimant_check(const struct weir_execution_claimant *self,
                                               const struct weir_command *command);

#endif
