/*
 * lap.c - see lap.h.
 */
#include "lib/lap.h"

#include <stdlib.h>

#include "lib/clock.h"
#include "lib/must.h"

static enum weir_status lap_over(struct bench_lap *self)
{
    self->ended_ns = bench_now_ns();
    bench_latch_hit(self->done);
    return WEIR_OK; /* idle for good */
}

enum weir_status bench_step_proceed(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct bench_lap *lap = state;

    (void)context;
    (void)error;
    if (lap->begun_ns == 0)
        lap->begun_ns = bench_now_ns();
    if (--lap->left == 0)
        return lap_over(lap);
    *out = weir_proceed();
    return WEIR_OK;
}

enum weir_status bench_step_spin(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct bench_lap *lap = state;

    if (lap->begun_ns == 0)
        lap->begun_ns = bench_now_ns(); /* before the work */
    bench_spin(lap->spin_turns);
    return bench_step_proceed(context, state, out, error);
}

/* Signals that come when the lap is over still execute it. */
enum weir_status bench_step_idle(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct bench_lap *lap = state;

    (void)context;
    (void)out; /* preset to idle */
    (void)error;
    if (lap->left > 0 && --lap->left == 0)
        return lap_over(lap);
    return WEIR_OK;
}

enum weir_status bench_step_alternate(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct bench_lap *lap = state;

    if (lap->left % 2 == 0 && lap->left > 0)
        *out = weir_proceed();
    return bench_step_idle(context, state, out, error);
}

struct bench_lap *bench_laps_create(size_t count, uint64_t each, uint64_t spin_turns,
                                    struct bench_latch *done)
{
    struct bench_lap *laps =
        aligned_alloc(_Alignof(struct bench_lap), count * sizeof *laps);

    bench_must(laps != NULL, "out of memory");
    bench_latch_init(done, count);
    for (size_t i = 0; i < count; i++)
        laps[i] =
            (struct bench_lap){.left = each, .spin_turns = spin_turns, .done = done};
    return laps;
}

int64_t bench_laps_taken_ns(const struct bench_lap *laps, size_t count)
{
    int64_t first_ns = laps[0].begun_ns;
    int64_t last_ns = laps[0].ended_ns;

    for (size_t i = 1; i < count; i++) {
        first_ns = laps[i].begun_ns < first_ns ? laps[i].begun_ns : first_ns;
        last_ns = laps[i].ended_ns > last_ns ? laps[i].ended_ns : last_ns;
    }
    return last_ns - first_ns;
}
