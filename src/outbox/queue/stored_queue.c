/*
 * stored_queue.c - see stored_queue.h.
 */
#include "outbox/queue/stored_queue.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/count.h"
#include "base/quote.h"
#include "outbox/log/log_position.h"
#include "weir/message.h"
#include "weir/outbox.h"
#include "weir/worker.h"

#define RETENTION_US_MAX (WEIR_DURATION_MAX / 1000)

struct rule {
    const char *column;
    int64_t value;
    int64_t min;
    int64_t max;
};

/* A limit that no value can pass is not worth a word. */
static enum weir_status check_rule(const struct rule *rule, struct weir_error *error)
{
    if (rule->value >= rule->min && rule->value <= rule->max)
        return WEIR_OK;
    if (rule->max == INT64_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "%s is %" PRId64 ", must be at least %" PRId64,
                              rule->column, rule->value, rule->min);
    return weir_error_set(error, WEIR_SCHEMA,
                          "%s is %" PRId64 ", must be from %" PRId64 " to %" PRId64,
                          rule->column, rule->value, rule->min, rule->max);
}

static enum weir_status check_partitions(int64_t partitions, struct weir_error *error)
{
    if (partitions >= 1 && partitions <= WEIR_PARTITIONS_MAX &&
        (partitions & (partitions - 1)) == 0)
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA,
                          "partitions is %" PRId64
                          ", must be a power of two from 1 to %d",
                          partitions, WEIR_PARTITIONS_MAX);
}

uint32_t weir_stored_attempts_max(int64_t stored)
{
    return stored >= 0 && stored <= WEIR_ATTEMPTS_MAX_MAX ? (uint32_t)stored : 0;
}

enum weir_status weir_stored_queue_check(const struct weir_stored_queue *self,
                                         const char *name, struct weir_error *error)
{
    const struct rule rules[] = {
        {"id", self->id, 1, WEIR_QUEUE_ID_MAX},
        {"unread", self->unread, 0, WEIR_UNREAD_DROP},
        {"backlog_max", self->backlog_max, 0, INT64_MAX},
        {"attempts_max", self->attempts_max, 0, WEIR_ATTEMPTS_MAX_MAX},
        {"retention_us", self->retention_us, 0, RETENTION_US_MAX},
        {"retain_us", self->retain_us, 0, RETENTION_US_MAX},
    };
    enum weir_status status = check_partitions(self->partitions, error);
    struct weir_quote shown;

    for (size_t i = 0; status == WEIR_OK && i < COUNT_OF(rules); i++)
        status = check_rule(&rules[i], error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "the row of queue \"%s\"", weir_quote(&shown, name));
    return status;
}
