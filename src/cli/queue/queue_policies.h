/*
 * queue_policies.h - the policies of queues as options of commands.
 */
#ifndef WEIR_CLI_QUEUE_QUEUE_POLICIES_H
#define WEIR_CLI_QUEUE_QUEUE_POLICIES_H

#include "cli/command.h"
#include "weir/outbox.h"
#include "weir/worker.h"

/* Rows of options, bound to struct weir_queue_options. */
#define WEIR_POLICY_OPTIONS                                                              \
    WEIR_POLICY_OPTION("unread", "keep|drop",                                            \
                       "messages without subscription; default keep", UNREAD,            \
                       WEIR_AS_CHOICE(struct weir_queue_options, unread,                 \
                                      weir_queue_policies_unread_words)),                \
        WEIR_POLICY_OPTION(                                                              \
            "backlog-max", "N", "refuse to enqueue beyond; about; 0: no limit",          \
            BACKLOG_MAX,                                                                 \
            WEIR_AS_NUMBER(struct weir_queue_options, backlog_max, 0, INT64_MAX)),       \
        WEIR_POLICY_OPTION("attempts-max", "N",                                          \
                           "then a message becomes a dead letter; 0: never",             \
                           ATTEMPTS_MAX,                                                 \
                           WEIR_AS_NUMBER(struct weir_queue_options, attempts_max, 0,    \
                                          WEIR_ATTEMPTS_MAX_MAX)),                       \
        WEIR_POLICY_OPTION("dead-letter-retention", "D",                                 \
                           "remove decided dead letters after; 0: never",                \
                           DEAD_LETTER_RETENTION,                                        \
                           WEIR_AS_NS(struct weir_queue_options,                         \
                                      dead_letter_retention_ns, 0, WEIR_DURATION_MAX)),  \
        WEIR_POLICY_OPTION(                                                              \
            "retain", "D", "keep what all have passed, as in 7d; 0: not", RETAIN,        \
            WEIR_AS_NS(struct weir_queue_options, retain_ns, 0, WEIR_DURATION_MAX))

#define WEIR_POLICY_OPTION(name_, argument_, summary_, policy_, ...)                     \
    WEIR_OPTION(0, name_, argument_, summary_, __VA_ARGS__,                              \
                WEIR_ALSO_BITS(struct weir_queue_options, named, WEIR_POLICY_##policy_))

extern const struct weir_option_words weir_queue_policies_unread_words;

#endif
