/*
 * clock.h - waiting and the wall clock, for code that may or may not run inside an
 * action.
 *
 * Inside an action (on a thread of a pool, or on a fiber of a simulation) a pause is the
 * runtime's: virtual time passes in a simulation, and others run meanwhile. On any other
 * thread it is the operating system's.
 */
#ifndef WEIR_DB_CLOCK_H
#define WEIR_DB_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Wait; false when the worker was cancelled meanwhile. */
bool weir_clock_sleep(int64_t duration_ns);

/* A monotonic clock that agrees with weir_clock_sleep(). */
int64_t weir_clock_now_ns(void);

/* 64 random bits, another 64 at each call; inside a simulation they repeat with its
 * seed. */
uint64_t weir_clock_random(void);

/* Microseconds since 1970: of the simulation inside one (it begins in 2020), else
 * real. */
int64_t weir_clock_wall_us(void);

#endif
