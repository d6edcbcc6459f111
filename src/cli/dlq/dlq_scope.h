/*
 * dlq_scope.h - which dead letters a command is about: by options, or by their ids.
 *
 *   static const struct weir_command_option OPTIONS[] = {
 *       WEIR_DLQ_SCOPE_OPTIONS,
 *       ...
 *   };
 *
 *   while ((id = weir_command_next_option(...)) != WEIR_OPTIONS_END) {
 *       code = weir_dlq_scope_take(&scope, self, id);   if id is one of them
 *
 * Memory   Texts are those of the command line.
 */
#ifndef WEIR_CLI_DLQ_DLQ_SCOPE_H
#define WEIR_CLI_DLQ_DLQ_SCOPE_H

#include "cli/session.h"
#include "weir/dead_letter.h"

enum {
    WEIR_DLQ_QUEUE = 'Q',
    WEIR_DLQ_SUBSCRIPTION = 's',
    WEIR_DLQ_PARTITION = 'p',
    WEIR_DLQ_LIMIT = 'l',
    WEIR_DLQ_KEY = 300,
    WEIR_DLQ_TYPE,
    WEIR_DLQ_SINCE,
    WEIR_DLQ_BEFORE,
};

#define WEIR_DLQ_SCOPE_OPTIONS                                                           \
    {WEIR_DLQ_QUEUE, "queue", "QUEUE", "only of this queue"},                            \
        {WEIR_DLQ_SUBSCRIPTION, "subscription", "NAME", "only of this subscription"},    \
        {WEIR_DLQ_PARTITION, "partition", "N", "only of this partition of --queue"},     \
        {WEIR_DLQ_KEY, "key", "K", "only with this key"},                                \
        {WEIR_DLQ_TYPE, "type", "T", "only of this type"},                               \
        {WEIR_DLQ_SINCE, "since", "D", "only failed within the last D, as in 2h"},       \
        {WEIR_DLQ_BEFORE, "before", "D", "only failed longer ago than D, as in 7d"},     \
    {                                                                                    \
        WEIR_DLQ_LIMIT, "limit", "N", "at most so many"                                  \
    }
enum { WEIR_DLQ_IDS_MAX = WEIR_DEAD_LETTER_LIMIT_MAX };

struct weir_dlq_scope {
    struct weir_dead_letter_scope scope;
    int64_t ids[WEIR_DLQ_IDS_MAX];
    size_t id_count;
    bool narrowed; /* one of the options was given */
};

void weir_dlq_scope_init(struct weir_dlq_scope *self);

/* Is this option one of ours? */
bool weir_dlq_scope_has(int option);

/* Take its value from `optarg`. The exit code. */
WEIR_CHECKED int weir_dlq_scope_take(struct weir_dlq_scope *self,
                                     const struct weir_command *command, int option);

/* The operands as ids; there may be none. The exit code. */
WEIR_CHECKED int weir_dlq_scope_take_ids(struct weir_dlq_scope *self,
                                         const struct weir_command *command, int argc,
                                         char **argv);

/* Tell why a call on the scope failed. Returns the exit code. */
int weir_dlq_scope_fail(const struct weir_dlq_scope *self,
                        const struct weir_session *session,
                        const struct weir_error *error);

#endif
