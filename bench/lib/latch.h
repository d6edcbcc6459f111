/*
 * latch.h - wait until so many things have happened.
 *
 * Threads  Any thread. Waiting is for one at a time.
 */
#ifndef WEIR_BENCH_LATCH_H
#define WEIR_BENCH_LATCH_H

#include <pthread.h>
#include <stddef.h>

struct bench_latch {
    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t open;
    size_t missing;
};

void bench_latch_init(struct bench_latch *self, size_t count);
void bench_latch_fini(struct bench_latch *self);

/* One of them has happened. */
void bench_latch_hit(struct bench_latch *self);

/* Wait for the last one; the bench ends when that takes more than two minutes. */
void bench_latch_wait(struct bench_latch *self);

#endif
