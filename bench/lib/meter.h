/*
 * meter.h - how much memory the process needs at most while something goes on.
 *
 * A thread reads the resident size every few milliseconds. What the C library has free
 * is given back before the meter begins, so that memory of earlier work does not hide
 * what is needed now.
 */
#ifndef WEIR_BENCH_METER_H
#define WEIR_BENCH_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct bench_meter {
    pthread_t thread;
    _Atomic int ended;
    size_t idle_size;
    size_t peak_size;
};

/* What is resident now is idle. */
void bench_meter_begin(struct bench_meter *self);

/* Returns the bytes above idle at the peak. */
size_t bench_meter_end(struct bench_meter *self);

#endif
