/*
 * duty.c - see duty.h.
 *
 * Acks that wait for the sweep's own lock are not heard while it runs. That is why a single run
 * without any is no lull yet: a lull is longer than a few runs and their rests.
 */
#include "outbox/log/duty.h"

void weir_duty_begin(struct weir_duty *self, uint64_t acks, int64_t now_ns)
{
    *self = (struct weir_duty){.round_ns = now_ns, .heard_ns = now_ns, .acks = acks};
}

int64_t weir_duty_rest(struct weir_duty *self, uint64_t acks, int64_t begun_ns,
                       int64_t now_ns)
{
    int64_t run_ns = now_ns - begun_ns;

    if (acks != self->acks) {
        self->acks = acks;
        self->heard_ns = now_ns;
    }
    if (now_ns - self->heard_ns >= WEIR_DUTY_LULL_NS ||
        now_ns - self->round_ns >= WEIR_DUTY_ROUND_NS_MAX)
        return 0;
    return run_ns < WEIR_DUTY_REST_NS_MAX / WEIR_DUTY_REST ? run_ns * WEIR_DUTY_REST
                                                           : WEIR_DUTY_REST_NS_MAX;
}
