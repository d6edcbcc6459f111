/*
 * sweep_throttle.c - see sweep_throttle.h.
 *
 * Acks that wait for the sweep's own lock are not heard while it runs. That is why a
 * single run without any is no lull yet: a lull is longer than a few runs and their
 * rests.
 */
#include "outbox/log/sweep_throttle.h"

void weir_sweep_throttle_begin(struct weir_sweep_throttle *self, uint64_t acks,
                               int64_t now_ns)
{
    *self = (struct weir_sweep_throttle){
        .round_ns = now_ns, .heard_ns = now_ns, .acks = acks};
}

int64_t weir_sweep_throttle_delay(struct weir_sweep_throttle *self, uint64_t acks,
                                  int64_t begun_ns, int64_t now_ns)
{
    int64_t run_ns = now_ns - begun_ns;

    if (acks != self->acks) {
        self->acks = acks;
        self->heard_ns = now_ns;
    }
    if (now_ns - self->heard_ns >= WEIR_SWEEP_THROTTLE_LULL_NS ||
        now_ns - self->round_ns >= WEIR_SWEEP_THROTTLE_ROUND_NS_MAX)
        return 0;
    return run_ns < WEIR_SWEEP_THROTTLE_REST_NS_MAX / WEIR_SWEEP_THROTTLE_REST
               ? run_ns * WEIR_SWEEP_THROTTLE_REST
               : WEIR_SWEEP_THROTTLE_REST_NS_MAX;
}
