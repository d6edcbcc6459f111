/*
 * cut_pace.h - how far apart cuts are, as a limit of their cost.
 *
 * A cut costs a flush, and what waits for that flush are the commits of the producers. So
 * the newest cut, whichever process made it, must have an age before the next one. The
 * age is compared by the server, under the lock of cuts (cut.c); which age, each process
 * decides by what it has seen:
 *
 *   made          durable                       next one
 *    |--- took ----|--- as long, or 0.5 ms ------|          few messages
 *    |------------- 1 ms for 1,000 messages a second ---|   many
 *
 *   - as long as the last cut took, after its flush: cuts use half of the time that the
 *     disk has, and no more;
 *   - in proportion to the messages per second: one by one, a cut delays the commits
 *     beside it, and ten times the messages do not need ten times the cuts;
 *   - 20 ms at most.
 *
 * Threads  Any. Allocates nothing.
 */
#ifndef WEIR_OUTBOX_LOG_CUT_PACE_H
#define WEIR_OUTBOX_LOG_CUT_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WEIR_CUT_REST_MIN_US = 500, /* after a cut's flush */
    WEIR_CUT_AGE_MAX_US = 20000,
    WEIR_CUT_RATE_UNIT = 1000, /* so many messages a second are worth a millisecond */
};

/* All zeros is a process that has seen nothing yet. */
struct weir_cut_pace {
    _Atomic int64_t took_us; /* our last cut, from the request to the reply */
    _Atomic int64_t rate;    /* ids per second, smoothed */
    _Atomic int64_t no;      /* the newest cut that was observed, and of that one: */
    _Atomic int64_t hi;
    _Atomic int64_t made_us;
    bool off; /* for tests: no cut waits for another; set before the first use */
};

/* Our cut was made, and is durable. */
void weir_cut_pace_took(struct weir_cut_pace *self, int64_t took_us);

/* The newest cut as a look has found it, with its `hi` and the time of its row. */
void weir_cut_pace_observe(struct weir_cut_pace *self, int64_t no, int64_t hi,
                           int64_t made_us);

/* The age that the newest cut must have, counted from the time of its row. NULL: the
 * smallest, for one that cuts once. */
int64_t weir_cut_pace_age_us(const struct weir_cut_pace *self);

#endif
