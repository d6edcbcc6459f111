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

/* Rows of the two operands, for a struct T with a member `target`. */
#define WEIR_SUBSCRIPTION_OPERANDS(T)                                                    \
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(T, target.queue)),                                \
        WEIR_OPERAND("NAME", WEIR_AS_TEXT(T, target.name))

/* Tell why a call on it failed. Returns the exit code. */
int weir_subscription_target_fail(const struct weir_subscription_target *self,
                                  const struct weir_session *session,
                                  const struct weir_error *error);

#endif
