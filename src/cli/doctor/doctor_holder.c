/*
 * doctor_holder.c - see doctor.h: the subscription that the log is kept for.
 *
 * A queue's log is kept for the subscription that is furthest behind, served or not.
 * Where much of it waits, or was set aside to free the log of others, its name is what
 * an operator needs.
 */
#include <inttypes.h>
#include <string.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"

enum { NAME_SIZE = 128, WAITING_MANY = 100000 };

struct holder {
    char current[NAME_SIZE]; /* partitions come by subscription */
    int64_t waiting;         /* for that one */
    int64_t oldest_us;
    char name[NAME_SIZE]; /* the one with the most so far */
    int64_t most;
    int64_t most_oldest_us;
};

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct holder *self = state;

    if (strncmp(self->current, info->subscription, NAME_SIZE - 1) != 0) {
        weir_text_format(self->current, NAME_SIZE, "%s", info->subscription);
        self->waiting = 0;
        self->oldest_us = 0;
    }
    self->waiting += info->waiting;
    if (info->oldest_age_us > self->oldest_us)
        self->oldest_us = info->oldest_age_us;
    if (self->waiting > self->most) {
        weir_text_format(self->name, NAME_SIZE, "%s", self->current);
        self->most = self->waiting;
        self->most_oldest_us = self->oldest_us;
    }
}

void weir_doctor_judge_holder(struct weir_doctor *self,
                              const struct weir_queue_info *info)
{
    struct holder holder = {.waiting = 0};
    struct weir_error error = {0};
    char age[WEIR_AGE_SIZE];

    if (info->subscriptions == 0 || (info->waiting < WAITING_MANY && info->aside == 0))
        return;
    if (weir_outbox_read_partitions(self->session.outbox, info->name, add_partition,
                                    &holder, &error) != WEIR_OK) {
        weir_doctor_note_failure(self, "log", &error);
        return;
    }
    if (holder.most > 0)
        weir_findings_add(
            &self->findings,
            holder.most < WAITING_MANY ? WEIR_VERDICT_NOTE : WEIR_VERDICT_WARNING, "log",
            "deliver it, or let 'weir subscription remove' forget it",
            "subscription '%s' of queue '%s' holds the log: %" PRId64
            " %s for it, the oldest for %s",
            holder.name, info->name, holder.most, WEIR_NOUN(holder.most, "waits", "wait"),
            weir_output_age(holder.most_oldest_us, age));
}
