/*
 * delivery_deadline.c - see delivery_deadline.h.
 *
 * Nothing rings when a batch is stopped: it is looked at now and then, while something
 * runs.
 */
#include "sink/util/delivery_deadline.h"

#include <stddef.h>

#include "base/arith.h"
#include "db/clock.h"
#include "sink/sink.h"
#include "weir/time.h"

enum { LOOK_MS = 50 };

void weir_delivery_deadline_init(struct weir_delivery_deadline *self,
                                 const struct weir_sink *sink,
                                 const struct weir_batch *batch)
{
    *self = (struct weir_delivery_deadline){
        .sink = sink, .batch = batch, .grace_ns = sink->options.stop_grace_ns};
}

const char *weir_delivery_deadline_over(struct weir_delivery_deadline *self)
{
    int64_t now_ns;

    if (self->batch != NULL && weir_batch_remaining_ns(self->batch) == 0)
        return "killed, since its time was over";
    if (self->batch != NULL && self->sink->halted)
        return "killed, since the sink was closed";
    if (self->batch != NULL && !weir_batch_stopped(self->batch))
        return NULL;
    now_ns = weir_clock_now_ns();
    if (self->stopped_ns == 0)
        self->stopped_ns = now_ns > 0 ? now_ns : 1;
    return now_ns - self->stopped_ns >= self->grace_ns
               ? "killed, since delivery was stopped"
               : NULL;
}

int weir_delivery_deadline_wait_ms(const struct weir_delivery_deadline *self)
{
    int64_t wait_ns = WEIR_MILLISECONDS(LOOK_MS);

    if (self->batch != NULL && weir_batch_remaining_ns(self->batch) < wait_ns)
        wait_ns = weir_batch_remaining_ns(self->batch);
    if (self->stopped_ns != 0 && self->grace_ns < wait_ns)
        wait_ns = self->grace_ns;
    return (int)(wait_ns / WEIR_MILLISECONDS(1)) + 1;
}
