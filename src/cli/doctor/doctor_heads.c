/*
 * doctor_heads.c - see doctor.h: subscriptions that stand still although a process
 * delivers their queue.
 *
 * The message at the head of a partition is tried for ever unless the queue has
 * --attempts-max, and everything behind it waits. A subscription that no process serves
 * waits as well, also beside one that is served. Neither shows in what the queue does
 * as a whole.
 */
#include <inttypes.h>
#include <string.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"

enum { NAME_SIZE = 128, ATTEMPTS_MANY = 10 };

struct heads {
    struct weir_doctor *doctor;
    char current[NAME_SIZE]; /* partitions come by subscription */
    int64_t waiting;         /* for that one */
    bool owned;              /* a process holds a partition of it */
};

static void judge_head(struct weir_doctor *doctor, const struct weir_partition_info *info)
{
    if (info->attempts >= ATTEMPTS_MANY)
        weir_findings_add(&doctor->findings, WEIR_VERDICT_WARNING, "head",
                          "correct the cause, or end it: weir queue set QUEUE "
                          "--attempts-max N",
                          "message %" PRId64 " of partition %" PRId32
                          " of queue '%s' has failed %" PRIu32
                          " %s for subscription '%s', and %" PRId64 " %s: %s",
                          info->seq + 1, info->partition, info->queue, info->attempts,
                          WEIR_NOUN(info->attempts, "time", "times"), info->subscription,
                          info->waiting, WEIR_NOUN(info->waiting, "waits", "wait"),
                          info->last_error);
}

static void judge_subscription(const struct heads *self, const char *queue)
{
    if (self->waiting > 0 && !self->owned)
        weir_findings_add(&self->doctor->findings, WEIR_VERDICT_WARNING, "delivery",
                          "serve it, or let 'weir subscription remove' forget it",
                          "subscription '%s' of queue '%s': %" PRId64
                          " wait, no process serves it",
                          self->current, queue, self->waiting);
}

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct heads *self = state;

    if (strncmp(self->current, info->subscription, NAME_SIZE - 1) != 0) {
        judge_subscription(self, info->queue);
        weir_text_format(self->current, NAME_SIZE, "%s", info->subscription);
        self->waiting = 0;
        self->owned = false;
    }
    self->waiting += info->waiting;
    self->owned = self->owned || info->lease_left_us > 0;
    judge_head(self->doctor, info);
}

void weir_doctor_judge_heads(struct weir_doctor *self, const struct weir_queue_info *info)
{
    struct heads heads = {.doctor = self};
    struct weir_error error = {0};

    if (info->subscriptions == 0)
        return;
    if (weir_outbox_read_partitions(self->session.outbox, info->name, add_partition,
                                    &heads, &error) != WEIR_OK)
        weir_doctor_note_failure(self, "head", &error);
    else
        judge_subscription(&heads, info->name);
}
