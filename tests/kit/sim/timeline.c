/*
 * timeline.c - see timeline.h.
 */
#include "kit/sim/timeline.h"

#include "kit/test.h"
#include "weir/time.h"

uint32_t timeline_below(struct timeline *self, uint32_t limit)
{
    return weir_random_below(&self->random, limit);
}

bool timeline_one_in(struct timeline *self, uint32_t n)
{
    return timeline_below(self, n) == 0;
}

int64_t timeline_up_to_ms(struct timeline *self, uint32_t most)
{
    return WEIR_MICROSECONDS(1 + timeline_below(self, most * 1000));
}

bool timeline_happens(struct timeline *self, uint32_t fault, uint32_t one_in_so_many)
{
    return (self->faults & (1U << fault)) != 0 && timeline_one_in(self, one_in_so_many);
}

void timeline_add(struct timeline *self, struct sim_life *life)
{
    check(self->life_count < TIMELINE_LIVES_MAX);
    self->lives[self->life_count++] = life;
}

/* When something happens to this process, or in it. */
static int64_t next_of(const struct sim_life *life)
{
    if (life->sim_process == NULL)
        return life->boot_ns;
    return life->resume_ns != 0 ? life->resume_ns
                                : sim_process_next_ns(life->sim_process);
}

static struct sim_life *choose_next(struct timeline *self, int64_t *next_ns)
{
    struct sim_life *chosen = NULL;

    *next_ns = WEIR_FOREVER;
    for (uint32_t i = 0; i < self->life_count; i++) {
        struct sim_life *it = self->lives[i];
        int64_t time_ns = next_of(it);

        if (time_ns < *next_ns || (time_ns == *next_ns && time_ns != WEIR_FOREVER &&
                                   timeline_one_in(self, 2))) {
            *next_ns = time_ns;
            chosen = it;
        }
    }
    return chosen;
}

static void go_on(struct timeline *self, struct sim_life *life)
{
    if (life->sim_process == NULL) {
        self->boot(life);
    } else if (life->resume_ns != 0) {
        self->resume(life);
    } else {
        sim_process_run_until(life->sim_process, self->now_ns);
        if (life->crash)
            self->crash(life);
        else if (sim_process_is_done(life->sim_process))
            self->end(life);
    }
}

bool timeline_step(struct timeline *self, int64_t limit_ns)
{
    int64_t next_ns;
    struct sim_life *life = choose_next(self, &next_ns);

    if (!self->healed && self->chaos_ns < next_ns && self->chaos_ns < limit_ns) {
        self->now_ns = self->chaos_ns;
        self->strike(self);
        return true;
    }
    if (life == NULL || next_ns > limit_ns)
        return false;
    if (next_ns > self->now_ns)
        self->now_ns = next_ns;
    go_on(self, life);
    return true;
}

void timeline_heal(struct timeline *self)
{
    self->healed = true;
    self->faults = 0;
}

void timeline_revive(struct timeline *self, struct sim_life *life)
{
    if (life->resume_ns != 0)
        self->resume(life);
    if (life->sim_process == NULL)
        life->boot_ns = self->now_ns;
}

bool timeline_all_ended(const struct timeline *self, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (self->lives[i]->sim_process != NULL)
            return false;
    }
    return true;
}

void timeline_cut_off(struct timeline *self)
{
    self->faults = 0;
    for (uint32_t i = 0; i < self->life_count; i++) {
        if (self->lives[i]->sim_process != NULL)
            sim_process_crash(self->lives[i]->sim_process);
    }
}
