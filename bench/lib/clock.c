/*
 * clock.c - see clock.h.
 */
#include "lib/clock.h"

#include <time.h>

enum { CALIBRATIONS = 3000 };

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t bench_processor_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_sleep_ns(int64_t duration_ns)
{
    struct timespec left = {
        .tv_sec = (time_t)(duration_ns / 1000000000),
        .tv_nsec = (long)(duration_ns % 1000000000),
    };

    while (nanosleep(&left, &left) != 0)
        ;
}

void bench_spin(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++)
        __asm__ volatile("" ::: "memory");
}

/* The fastest of many tries is the one that nothing disturbed. */
uint64_t bench_spin_calibrate(int64_t duration_ns)
{
    uint64_t turns = 100000;
    int64_t fastest_ns = INT64_MAX;

    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t begun_ns = bench_now_ns();
        int64_t taken_ns;

        bench_spin(turns);
        taken_ns = bench_now_ns() - begun_ns;
        if (taken_ns > 0 && taken_ns < fastest_ns)
            fastest_ns = taken_ns;
    }
    return turns * (uint64_t)duration_ns / (uint64_t)fastest_ns;
}
