/*
 * queue_policies.c - see queue_policies.h.
 */
#include "cli/queue/queue_policies.h"

#include <getopt.h>
#include <string.h>

#include "base/count.h"
#include "base/duration.h"
#include "weir/worker.h"

static int take_unread(const struct weir_command *command, enum weir_unread *out)
{
    *out = strcmp(optarg, "drop") == 0 ? WEIR_UNREAD_DROP : WEIR_UNREAD_KEEP;
    if (*out == WEIR_UNREAD_DROP || strcmp(optarg, "keep") == 0)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(command, "--unread is '%s', must be keep or drop", optarg);
}

static int take_attempts_max(const struct weir_command *command, uint32_t *out)
{
    int64_t number = 0;
    int code = weir_command_number(command, "attempts-max", optarg, 0,
                                   WEIR_ATTEMPTS_MAX_MAX, &number);

    *out = (uint32_t)number;
    return code;
}

int weir_queue_policies_take(const struct weir_command *command, int id,
                             struct weir_queue_options *out)
{
    switch (id) {
    case WEIR_OPTION_UNREAD:
        out->named |= WEIR_POLICY_UNREAD;
        return take_unread(command, &out->unread);
    case WEIR_OPTION_BACKLOG_MAX:
        out->named |= WEIR_POLICY_BACKLOG_MAX;
        return weir_command_number(command, "backlog-max", optarg, 0, INT64_MAX,
                                   &out->backlog_max);
    case WEIR_OPTION_ATTEMPTS_MAX:
        out->named |= WEIR_POLICY_ATTEMPTS_MAX;
        return take_attempts_max(command, &out->attempts_max);
    case WEIR_OPTION_RETAIN:
        out->named |= WEIR_POLICY_RETAIN;
        return weir_command_duration(command, "retain", optarg, 0, WEIR_DURATION_MAX,
                                     &out->retain_ns);
    default:
        out->named |= WEIR_POLICY_DEAD_LETTER_RETENTION;
        return weir_command_duration(command, "dead-letter-retention", optarg, 0,
                                     WEIR_DURATION_MAX, &out->dead_letter_retention_ns);
    }
}
