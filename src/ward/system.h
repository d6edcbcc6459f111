/*
 * system.h - the only place that asks the operating system for time and randomness.
 *
 * Everything else gets both from its executor, so that a simulation can decide them.
 */
#ifndef WEIR_WARD_SYSTEM_H
#define WEIR_WARD_SYSTEM_H

#include <stdint.h>

/* The monotonic clock. */
int64_t weir_system_now_ns(void);

/* The same, and it goes on while the host is suspended, where the system has such a
 * clock. Nothing can wait by it. */
int64_t weir_system_boot_ns(void);

/* Microseconds since 1970, UTC. */
int64_t weir_system_wall_us(void);

/* Wait on this thread, for code outside of any action. */
void weir_system_sleep_ns(int64_t duration_ns);

/* 64 bits that no other process will have. */
uint64_t weir_system_random(void);

#endif
