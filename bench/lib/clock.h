/*
 * clock.h - the monotonic clock, and work that takes a known time.
 *
 * Threads  Any thread, once bench_spin_calibrate() has returned.
 */
#ifndef WEIR_BENCH_CLOCK_H
#define WEIR_BENCH_CLOCK_H

#include <stdint.h>

int64_t bench_now_ns(void);

/* What this process has spent of its processors' time, with all its threads. */
int64_t bench_processor_ns(void);

/* Block this thread; no other way of waiting is as idle. */
void bench_sleep_ns(int64_t duration_ns);

/*
 * A busy loop of a fixed number of turns, measured by the clock once. Looking at the
 * clock inside the loop would be simpler and wrong: a thread that was taken off its
 * core would find its time passed without having worked.
 */
uint64_t bench_spin_calibrate(int64_t duration_ns);
void bench_spin(uint64_t turns);

#endif
