/*
 * rate.h - how fast a number grows, from occasional samples of it.
 *
 * The looks may come at any distance. The rate is that of the time since a look at
 * least WEIR_RATE_WINDOW_NS ago (before there is one: since the first look), and of no
 * more than twice that if there are looks enough. So it stands still while the number
 * grows evenly, and is 0 two windows after it has stopped.
 *
 *   looks    x    x  x      x    x     x   x
 *            |--window--|               |
 *            older          newer      now        rate: from `older` to now
 *
 * Threads  The owner's. Memory   None. All zero: has not been looked at.
 */
#ifndef WEIR_OUTBOX_DELIVERY_RATE_H
#define WEIR_OUTBOX_DELIVERY_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/time.h"

#define WEIR_RATE_WINDOW_NS WEIR_SECONDS(5)

struct weir_rate_look {
    int64_t at_ns;
    uint64_t total;
};

struct weir_rate {
    bool begun;
    struct weir_rate_look older;
    struct weir_rate_look newer;
};

/* Look: `total`, which never shrinks, at `now_ns`, which does not either. Per second; 0
 * at the first look. */
double weir_rate_look(struct weir_rate *self, uint64_t total, int64_t now_ns);

#endif
