/*
 * point.c - which named places fire, and how often they were passed.
 *
 * A handful of names, so they are simply looked through one by one.
 */
#include "base/point.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"

static struct weir_point *find_point(struct weir_points *self, const char *name);

void weir_points_init(struct weir_points *self)
{
    self->armed_count = 0;
}

void weir_points_arm(struct weir_points *self, const char *name, uint64_t every)
{
    struct weir_point *point = find_point(self, name);

    WEIR_ASSERT(every > 0);
    if (point == NULL) {
        WEIR_ASSERT(self->armed_count < WEIR_POINTS_MAX);
        point = &self->armed[self->armed_count++];
    }
    point->name = name;
    point->every = every;
    atomic_init(&point->passed, 0);
}

bool weir_points_fires(struct weir_points *self, const char *name)
{
    struct weir_point *point = self == NULL ? NULL : find_point(self, name);

    if (point == NULL)
        return false;
    return (atomic_fetch_add(&point->passed, 1) + 1) % point->every == 0;
}

static struct weir_point *find_point(struct weir_points *self, const char *name)
{
    for (uint32_t i = 0; i < self->armed_count; i++)
        if (strcmp(self->armed[i].name, name) == 0)
            return &self->armed[i];
    return NULL;
}
