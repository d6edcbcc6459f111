/*
 * latch.c - see latch.h.
 */
#include "lib/latch.h"

#include <time.h>

#include "lib/must.h"

enum { WAIT_LIMIT_S = 120 };

void bench_latch_init(struct bench_latch *self, size_t count)
{
    bench_must(pthread_mutex_init(&self->lock, NULL) == 0, "no mutex");
    bench_must(pthread_cond_init(&self->open, NULL) == 0, "no condition");
    self->missing = count;
}

void bench_latch_fini(struct bench_latch *self)
{
    (void)pthread_cond_destroy(&self->open);
    (void)pthread_mutex_destroy(&self->lock);
}

void bench_latch_hit(struct bench_latch *self)
{
    (void)pthread_mutex_lock(&self->lock);
    if (--self->missing == 0)
        (void)pthread_cond_signal(&self->open);
    (void)pthread_mutex_unlock(&self->lock);
}

void bench_latch_wait(struct bench_latch *self)
{
    struct timespec deadline;
    int code = 0;

    (void)clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += WAIT_LIMIT_S;
    (void)pthread_mutex_lock(&self->lock);
    while (self->missing > 0 && code == 0)
        code = pthread_cond_timedwait(&self->open, &self->lock, &deadline);
    (void)pthread_mutex_unlock(&self->lock);
    bench_must(code == 0, "a run hangs");
}
