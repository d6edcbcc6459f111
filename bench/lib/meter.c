/*
 * meter.c - see meter.h.
 */
#include "lib/meter.h"

#include <malloc.h>

#include <weir/time.h>

#include "lib/clock.h"
#include "lib/must.h"
#include "lib/proc.h"

static void *read_often(void *state)
{
    struct bench_meter *self = state;

    while (!atomic_load(&self->ended)) {
        size_t size = bench_resident_size();

        if (size > self->peak_size)
            self->peak_size = size;
        bench_sleep_ns(WEIR_MILLISECONDS(5));
    }
    return NULL;
}

void bench_meter_begin(struct bench_meter *self)
{
    (void)malloc_trim(0);
    atomic_init(&self->ended, 0);
    self->idle_size = self->peak_size = bench_resident_size();
    bench_must(pthread_create(&self->thread, NULL, read_often, self) == 0,
               "start a thread");
}

size_t bench_meter_end(struct bench_meter *self)
{
    atomic_store(&self->ended, 1);
    (void)pthread_join(self->thread, NULL);
    return self->peak_size - self->idle_size;
}
