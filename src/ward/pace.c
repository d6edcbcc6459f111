/*
 * pace.c - the interval shrinks by one step with each use, and never below the minimum.
 */
#include "ward/pace.h"

#include "base/arith.h"
#include "base/duration.h"

struct weir_pace weir_pace_none(void)
{
    return (struct weir_pace){0};
}

enum weir_status weir_pace_check(const struct weir_pace *pace, struct weir_error *error)
{
    char min[WEIR_DURATION_TEXT_SIZE];
    char active[WEIR_DURATION_TEXT_SIZE];
    enum weir_status status;

    status =
        weir_duration_check("pace.min_ns", pace->min_ns, 0, WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = weir_duration_check("pace.active_ns", pace->active_ns, 0,
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = weir_duration_check("pace.ramp_ns", pace->ramp_ns, 0, WEIR_DURATION_MAX,
                                     error);
    if (status != WEIR_OK)
        return status;

    if (pace->min_ns > pace->active_ns)
        return weir_error_set(
            error, WEIR_INVALID,
            "pace.min_ns is %s, must be at most pace.active_ns, which is %s",
            weir_duration_spell(pace->min_ns, min, sizeof min),
            weir_duration_spell(pace->active_ns, active, sizeof active));
    return WEIR_OK;
}

void weir_pacer_init(struct weir_pacer *self, const struct weir_pace *pace)
{
    self->pace = *pace;
    weir_pacer_reset(self);
}

int64_t weir_pacer_next(struct weir_pacer *self)
{
    int64_t due_ns = self->current_ns;
    int64_t shorter_ns = weir_sat_sub_i64(due_ns, self->pace.ramp_ns);

    self->current_ns = shorter_ns > self->pace.min_ns ? shorter_ns : self->pace.min_ns;
    return due_ns;
}

void weir_pacer_reset(struct weir_pacer *self)
{
    self->current_ns = self->pace.active_ns;
}
