/*
 * dlq_scope.h - which dead letters a command is about: by options, or by their ids.
 *
 *   struct list_call {
 *       struct weir_dlq_scope scope;
 *   };
 *
 *   static const struct weir_command_option OPTIONS[] = {
 *       WEIR_DLQ_SCOPE_OPTIONS(struct list_call),
 *       ...
 *   };
 *
 * Memory   Texts are those of the command line.
 */
#ifndef WEIR_CLI_DLQ_DLQ_SCOPE_H
#define WEIR_CLI_DLQ_DLQ_SCOPE_H

#include "cli/session.h"
#include "weir/dead_letter.h"
#include "weir/worker.h"

/* Rows for a struct T with a member `scope`. */
#define WEIR_DLQ_SCOPE_OPTIONS(T)                                                        \
    WEIR_DLQ_SCOPE_OPTION(T, 'Q', "queue", "QUEUE", "only of this queue",                \
                          WEIR_AS_TEXT(T, scope.scope.queue)),                           \
        WEIR_DLQ_SCOPE_OPTION(T, 's', "subscription", "NAME",                            \
                              "only of this subscription",                               \
                              WEIR_AS_TEXT(T, scope.scope.subscription)),                \
        WEIR_DLQ_SCOPE_OPTION(                                                           \
            T, 'p', "partition", "N", "only of this partition of --queue",               \
            WEIR_AS_NUMBER(T, scope.scope.partition, 0, WEIR_PARTITIONS_MAX - 1)),       \
        WEIR_DLQ_SCOPE_OPTION(T, 0, "key", "K", "only with this key",                    \
                              WEIR_AS_TEXT(T, scope.scope.key)),                         \
        WEIR_DLQ_SCOPE_OPTION(T, 0, "type", "T", "only of this type",                    \
                              WEIR_AS_TEXT(T, scope.scope.type)),                        \
        WEIR_DLQ_SCOPE_OPTION(T, 0, "since", "D",                                        \
                              "only failed within the last D, as in 2h",                 \
                              WEIR_AS_AGO(T, scope.scope.failed_from_us)),               \
        WEIR_DLQ_SCOPE_OPTION(T, 0, "before", "D",                                       \
                              "only failed longer ago than D, as in 7d",                 \
                              WEIR_AS_AGO(T, scope.scope.failed_until_us)),              \
        WEIR_DLQ_SCOPE_OPTION(T, 'l', "limit", "N", "at most so many",                   \
                              WEIR_AS_NUMBER(T, scope.scope.limit, 1, INT64_MAX))

#define WEIR_DLQ_SCOPE_OPTION(T, id_, name_, argument_, summary_, ...)                   \
    WEIR_OPTION(id_, name_, argument_, summary_, __VA_ARGS__,                            \
                WEIR_ALSO_SET(T, scope.narrowed))

/* Ids as operands of such a struct, any number of them; `.optional` may follow. */
#define WEIR_DLQ_IDS(T)                                                                  \
    WEIR_AS_PARSED(T, scope.ids[0], int64_t, weir_dlq_parse_id),                         \
        WEIR_IN_LIST(T, scope.ids, scope.id_count, "ids")

enum { WEIR_DLQ_IDS_MAX = WEIR_DEAD_LETTER_LIMIT_MAX };

struct weir_dlq_scope {
    struct weir_dead_letter_scope scope;
    int64_t ids[WEIR_DLQ_IDS_MAX];
    size_t id_count;
    bool narrowed; /* one of the options was given */
};

void weir_dlq_scope_init(struct weir_dlq_scope *self);

/* The id of a dead letter, an int64_t. */
WEIR_CHECKED int weir_dlq_parse_id(const struct weir_command *command,
                                   const struct weir_command_option *option, char *word,
                                   void *out);

/* Tell why a call on the scope failed. Returns the exit code. */
int weir_dlq_scope_fail(const struct weir_dlq_scope *self,
                        const struct weir_session *session,
                        const struct weir_error *error);

#endif
