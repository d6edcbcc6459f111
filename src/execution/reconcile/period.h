/*
 * period.h - times that come again and again, without drifting.
 */
#ifndef WEIR_EXECUTION_RECONCILE_PERIOD_H
#define WEIR_EXECUTION_RECONCILE_PERIOD_H

#include <stdint.h>

/* The first of due, due + period, due + 2 periods, ... that lies after now; the end of
 * time, if that is beyond it. Times are not negative, `period_us` is at least 1. */
static inline int64_t weir_period_next(int64_t due_us, int64_t period_us, int64_t now_us)
{
    int64_t left_us; /* from now to the next one */

    if (due_us > now_us)
        return due_us;
    left_us = period_us - (now_us - due_us) % period_us;
    return left_us > INT64_MAX - now_us ? INT64_MAX : now_us + left_us;
}

#endif
