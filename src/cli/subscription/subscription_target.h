/*
 * subscription_target.h - which subscription a command is about: QUEUE and NAME on its
 * line.
 *
 * Memory   Texts are those of the command line.
 */
#ifndef WEIR_CLI_SUBSCRIPTION_SUBSCRIPTION_TARGET_H
#define WEIR_CLI_SUBSCRIPTION_SUBSCRIPTION_TARGET_H

#include "cli/session.h"
#include "weir/subscription.h"

struct weir_subscription_target {
    const char *queue;
    const char *name;
};

/* The two operands and no more. WEIR_EXIT_DONE, or the exit code. */
WEIR_CHECKED int weir_subscription_target_take(struct weir_subscription_target *self,
                                               const struct weir_command *command,
                                               int argc, char **argv);

/* Tell why a call on it failed. Returns the exit code. */
int weir_subscription_target_fail(const struct weir_subscription_target *self,
                                  const struct weir_session *session,
                                  const struct weir_error *error);

#endif
