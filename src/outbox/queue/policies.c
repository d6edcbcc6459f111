/*
 * policies.c - see policies.h.
 */
#include "outbox/queue/policies.h"

static uint32_t unless_equal(enum weir_queue_policy which, int64_t one, int64_t other)
{
    return one != other ? (uint32_t)which : 0;
}

uint32_t weir_policies_differing(const struct weir_queue_options *one,
                                 const struct weir_queue_options *other)
{
    return unless_equal(WEIR_POLICY_UNREAD, one->unread, other->unread) |
           unless_equal(WEIR_POLICY_BACKLOG_MAX, one->backlog_max, other->backlog_max) |
           unless_equal(WEIR_POLICY_ATTEMPTS_MAX, one->attempts_max,
                        other->attempts_max) |
           unless_equal(WEIR_POLICY_DEAD_LETTER_RETENTION, one->dead_letter_retention_ns,
                        other->dead_letter_retention_ns) |
           unless_equal(WEIR_POLICY_RETAIN, one->retain_ns, other->retain_ns);
}

uint32_t weir_policies_named(const struct weir_queue_options *options)
{
    static const struct weir_queue_options DEFAULTS = {.unread = WEIR_UNREAD_KEEP};

    return options->named | weir_policies_differing(options, &DEFAULTS);
}
