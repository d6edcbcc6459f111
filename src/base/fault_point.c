/*
 * fault_point.c - which named places fire, and how often they were passed.
 *
 * A handful of names, so they are simply looked through one by one.
 */
#include "base/fault_point.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"

static struct weir_fault_point *find_point(struct weir_fault_points *self,
                                           const char *name);
static void arm(struct weir_fault_points *self, const struct weir_fault_point *order);

void weir_fault_points_init(struct weir_fault_points *self)
{
    self->armed_count = 0;
    self->oracle = NULL;
}

void weir_fault_points_arm(struct weir_fault_points *self, const char *name,
                           uint64_t every)
{
    arm(self, &(struct weir_fault_point){.name = name, .every = every});
}

void weir_fault_points_arm_once(struct weir_fault_points *self, const char *name,
                                uint64_t at)
{
    arm(self, &(struct weir_fault_point){.name = name, .every = at, .once = true});
}

void weir_fault_points_arm_call(struct weir_fault_points *self, const char *name,
                                uint64_t at, weir_fault_point_fn call, void *argument)
{
    arm(self,
        &(struct weir_fault_point){
            .name = name, .every = at, .once = true, .call = call, .argument = argument});
}

void weir_fault_points_set_oracle(struct weir_fault_points *self, weir_oracle_fn oracle,
                                  void *argument)
{
    self->oracle = oracle;
    self->oracle_argument = argument;
}

bool weir_fault_points_fires(struct weir_fault_points *self, const char *name)
{
    struct weir_fault_point *point = self == NULL ? NULL : find_point(self, name);
    uint64_t pass;
    bool due;

    if (point == NULL)
        return self != NULL && self->oracle != NULL &&
               self->oracle(self->oracle_argument, name);
    pass = atomic_fetch_add(&point->passed, 1) + 1;
    due = point->once ? pass == point->every : pass % point->every == 0;
    if (point->call == NULL)
        return due;
    if (due)
        point->call(point->argument);
    return false;
}

static void arm(struct weir_fault_points *self, const struct weir_fault_point *order)
{
    struct weir_fault_point *point = find_point(self, order->name);

    WEIR_ASSERT(order->every > 0);
    if (point == NULL) {
        WEIR_ASSERT(self->armed_count < WEIR_POINTS_MAX);
        point = &self->armed[self->armed_count++];
    }
    point->name = order->name;
    point->every = order->every;
    point->once = order->once;
    point->call = order->call;
    point->argument = order->argument;
    atomic_init(&point->passed, 0);
}

static struct weir_fault_point *find_point(struct weir_fault_points *self,
                                           const char *name)
{
    for (uint32_t i = 0; i < self->armed_count; i++)
        if (strcmp(self->armed[i].name, name) == 0)
            return &self->armed[i];
    return NULL;
}
