/*
 * queue_policies.h - the policies of queues, as words of the command line and as JSON.
 *
 * A policy is called by the name of its option, so that what is printed can be typed.
 *
 * Failure  Appending never fails at the spot: the buffer tells.
 */
#ifndef WEIR_CLI_QUEUE_QUEUE_POLICIES_H
#define WEIR_CLI_QUEUE_QUEUE_POLICIES_H

#include "base/buf.h"
#include "cli/command.h"
#include "weir/outbox.h"

/* The ids and rows of the options, for the lists of commands. */
enum {
    WEIR_OPTION_UNREAD = 256,
    WEIR_OPTION_BACKLOG_MAX,
    WEIR_OPTION_ATTEMPTS_MAX,
    WEIR_OPTION_RETENTION,
    WEIR_OPTION_RETAIN
};

/* clang-format off */
#define WEIR_POLICY_OPTIONS                                                              \
    {WEIR_OPTION_UNREAD, "unread", "keep|drop",                                          \
     "what nobody subscribed to; default keep"},                                         \
    {WEIR_OPTION_BACKLOG_MAX, "backlog-max", "N",                                        \
     "refuse to enqueue beyond; about; 0: no limit"},                                    \
    {WEIR_OPTION_ATTEMPTS_MAX, "attempts-max", "N",                                      \
     "then a message becomes a dead letter; 0: never"},                                  \
    {WEIR_OPTION_RETENTION, "dead-letter-retention", "D",                                \
     "remove decided dead letters after; 0: never"},                                     \
    {WEIR_OPTION_RETAIN, "retain", "D",                                                  \
     "keep what everybody has passed, as in 7d; 0: not"}
/* clang-format on */

/* Take the value of option `id` (optarg), and note that it was named. WEIR_EXIT_DONE,
 * or the code after telling. */
WEIR_CHECKED int weir_queue_policies_take(const struct weir_command *command, int id,
                                          struct weir_queue_options *out);

#endif
