/*
 * directive.c - directives are values; all there is to do is to make and compare them.
 */
#include "weir/directive.h"

#include <stddef.h>

struct weir_directive weir_proceed(void)
{
    return (struct weir_directive){.kind = WEIR_PROCEED};
}

struct weir_directive weir_idle(void)
{
    return (struct weir_directive){.kind = WEIR_IDLE};
}

struct weir_directive weir_sleep_for(int64_t duration_ns)
{
    return (struct weir_directive){.kind = WEIR_SLEEP, .duration_ns = duration_ns};
}

struct weir_directive weir_directive_with(struct weir_directive self,
                                          const struct weir_report_type *type,
                                          const void *data)
{
    self.report = (struct weir_report){.type = type, .data = data};
    return self;
}

const void *weir_directive_report(const struct weir_directive *self,
                                  const struct weir_report_type *type)
{
    return type != NULL && self->report.type == type ? self->report.data : NULL;
}

struct weir_directive weir_directive_map(struct weir_directive self,
                                         weir_report_map_fn map, void *state)
{
    if (self.report.type != NULL)
        self.report = map(self.report, state);
    return self;
}

struct weir_directive weir_directive_strip(struct weir_directive self)
{
    self.report = (struct weir_report){NULL, NULL};
    return self;
}

bool weir_directive_equal(const struct weir_directive *a, const struct weir_directive *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind != WEIR_SLEEP || a->duration_ns == b->duration_ns;
}
