/*
 * sweep_throttle.h - how long the sweep rests between two runs of a round.
 *
 * Where one writer at a time is all there is, the sweep keeps acks and producers
 * waiting while it removes; and it takes the lock again before its waiters have
 * polled once more. So while messages are delivered it rests after each run for
 * twice as long as the run took: at most a third of the time is the sweep's.
 *
 *   delivering     |run|...rest...|run|...rest...|run|...rest...
 *   a lull         |run|run|run|run|run|
 *
 * It rests no longer when nothing was acknowledged for a while, since then no writer is
 * in its way; nor when its round has become old. Then more is delivered than a third of
 * the time can remove, and the log would grow without end. A round ends when the sweep
 * has come to the log's end, so a young round means that it keeps up.
 *
 * Threads  The sweep's. Memory   None.
 */
#ifndef WEIR_OUTBOX_LOG_SWEEP_THROTTLE_H
#define WEIR_OUTBOX_LOG_SWEEP_THROTTLE_H

#include <stdint.h>

#include "weir/time.h"

enum { WEIR_SWEEP_THROTTLE_REST = 2 }; /* times as long as the run */

/* A run that had to wait itself, or was kept off its processor, has not worked so
 * long. */
#define WEIR_SWEEP_THROTTLE_REST_NS_MAX WEIR_SECONDS(1)
#define WEIR_SWEEP_THROTTLE_LULL_NS WEIR_SECONDS(1)
#define WEIR_SWEEP_THROTTLE_ROUND_NS_MAX WEIR_SECONDS(30)

struct weir_sweep_throttle {
    int64_t round_ns; /* when the round began */
    int64_t heard_ns; /* when acks had last become more */
    uint64_t acks;
};

/* A round begins, and as a rule that is because of acks. `acks`: how many groups of
 * them were stored so far, a number that only grows. */
void weir_sweep_throttle_begin(struct weir_sweep_throttle *self, uint64_t acks,
                               int64_t now_ns);

/* A run of the round is over: how long to rest before the next one. 0: not at all. */
int64_t weir_sweep_throttle_delay(struct weir_sweep_throttle *self, uint64_t acks,
                                  int64_t begun_ns, int64_t now_ns);

#endif
