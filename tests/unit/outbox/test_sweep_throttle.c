/* Tests of outbox/log/sweep_throttle.c. */
#include "outbox/log/sweep_throttle.h"

#include "kit/test.h"
#include "weir/time.h"

#define RUN_NS WEIR_MILLISECONDS(30)

/* Somebody who sweeps, in a time of the test's own. */
struct shift {
    struct weir_sweep_throttle sweep_throttle;
    int64_t now_ns;
    uint64_t acks;
    int64_t worked_ns;
    int64_t rested_ns;
};

static struct shift shift_begin(void)
{
    struct shift shift = {.now_ns = WEIR_SECONDS(1000), .acks = 50};

    weir_sweep_throttle_begin(&shift.sweep_throttle, shift.acks, shift.now_ns);
    return shift;
}

/* A run during which so many acks came; returns the rest, which is over then. */
static int64_t shift_run(struct shift *self, int64_t run_ns, uint64_t acks)
{
    int64_t begun_ns = self->now_ns;
    int64_t rest_ns;

    self->now_ns += run_ns;
    self->acks += acks;
    rest_ns = weir_sweep_throttle_delay(&self->sweep_throttle, self->acks, begun_ns,
                                        self->now_ns);
    self->now_ns += rest_ns;
    self->worked_ns += run_ns;
    self->rested_ns += rest_ns;
    return rest_ns;
}

/* ---- resting ----------------------------------------------------------------------- */

WEIR_TEST(duty, rests_twice_as_long_as_it_worked)
{
    struct shift shift = shift_begin();

    check_int(shift_run(&shift, RUN_NS, 1), 2 * RUN_NS);
}

WEIR_TEST(duty, takes_a_third_of_the_time_while_acks_come)
{
    struct shift shift = shift_begin();

    for (int64_t i = 1; i <= 100; i++)
        (void)shift_run(&shift, i % 7 * RUN_NS, 3);

    check_int(shift.rested_ns, 2 * shift.worked_ns);
}

/* Such a run has waited for somebody, and nobody is served by waiting for that. */
WEIR_TEST(duty, rests_for_no_more_than_its_limit)
{
    struct shift shift = shift_begin();

    check_int(shift_run(&shift, WEIR_SECONDS(5), 1), WEIR_SWEEP_THROTTLE_REST_NS_MAX);
}

WEIR_TEST(duty, of_no_time_needs_no_rest)
{
    struct shift shift = shift_begin();

    check_int(shift_run(&shift, 0, 1), 0);
}

/* ---- a lull ------------------------------------------------------------------------ */

/* Acks that wait for the sweep's lock are not heard during its run. */
WEIR_TEST(duty, takes_one_run_without_acks_for_no_lull)
{
    struct shift shift = shift_begin();

    check_int(shift_run(&shift, RUN_NS, 0), 2 * RUN_NS);
}

WEIR_TEST(duty, goes_on_at_once_when_no_more_acks_come)
{
    struct shift shift = shift_begin();

    while (shift.now_ns - shift.sweep_throttle.heard_ns < WEIR_SWEEP_THROTTLE_LULL_NS)
        (void)shift_run(&shift, RUN_NS, 0);

    check_int(shift_run(&shift, RUN_NS, 0), 0);
    check_int(shift_run(&shift, RUN_NS, 0), 0);
}

WEIR_TEST(duty, rests_again_when_acks_come_again)
{
    struct shift shift = shift_begin();

    (void)shift_run(&shift, WEIR_SWEEP_THROTTLE_LULL_NS, 0);
    check_int(shift_run(&shift, RUN_NS, 0), 0);

    check_int(shift_run(&shift, RUN_NS, 1), 2 * RUN_NS);
}

/* ---- an old round ------------------------------------------------------------------ */

WEIR_TEST(duty, goes_on_at_once_when_its_round_is_old)
{
    struct shift shift = shift_begin();

    check_int(shift_run(&shift, RUN_NS, 1), 2 * RUN_NS);
    shift.now_ns = shift.sweep_throttle.round_ns + WEIR_SWEEP_THROTTLE_ROUND_NS_MAX;

    check_int(shift_run(&shift, RUN_NS, 1), 0);
    check_int(shift_run(&shift, RUN_NS, 1), 0);
}

WEIR_TEST(duty, rests_in_the_round_that_follows_an_old_one)
{
    struct shift shift = shift_begin();

    shift.now_ns += WEIR_SWEEP_THROTTLE_ROUND_NS_MAX;
    check_int(shift_run(&shift, RUN_NS, 1), 0);
    weir_sweep_throttle_begin(&shift.sweep_throttle, shift.acks, shift.now_ns);

    check_int(shift_run(&shift, RUN_NS, 1), 2 * RUN_NS);
}
