/*
 * delivery_deadline.h - how long a process that works on a message is waited for.
 *
 * Until the time of its batch is over. When the outbox is stopped or the lease is lost
 * before that, what is under way still gets a grace: most handlers are done in a
 * moment, and killing one that has done half of its work means doing it again.
 *
 * Threads  The delivering one.
 */
#ifndef WEIR_SINK_UTIL_DELIVERY_DEADLINE_H
#define WEIR_SINK_UTIL_DELIVERY_DEADLINE_H

#include <stdint.h>

struct weir_batch;
struct weir_sink;

struct weir_delivery_deadline {
    const struct weir_sink *sink;   /* borrowed */
    const struct weir_batch *batch; /* borrowed; NULL: only the grace, from now on */
    int64_t grace_ns;
    int64_t stopped_ns; /* when stop was first seen; 0: not yet */
};

void weir_delivery_deadline_init(struct weir_delivery_deadline *self,
                                 const struct weir_sink *sink,
                                 const struct weir_batch *batch);

/* NULL: go on. Otherwise why it is over, for people. */
const char *weir_delivery_deadline_over(struct weir_delivery_deadline *self);

/* How many milliseconds may be waited until over() is asked again. */
int weir_delivery_deadline_wait_ms(const struct weir_delivery_deadline *self);

#endif
