/*
 * timeline.h - the time of a simulated world, its chances, and the lives of its
 * processes.
 *
 * The process whose next event is the earliest runs; between events of the processes
 * the world strikes with its faults, until it is healed. A process that has crashed
 * boots again later, and one that stands still goes on later.
 *
 * Order    All chances come from one seed, so the same calls give the same world.
 */
#ifndef WEIR_TEST_TIMELINE_H
#define WEIR_TEST_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "kit/sim/sim_process.h"

enum { TIMELINE_LIVES_MAX = 6 };

/* A process, across its lives. The first member of what a world knows of it. */
struct sim_life {
    struct sim_process *sim_process; /* NULL: it is down */
    int64_t boot_ns;                 /* when it comes back */
    int64_t resume_ns;               /* when it goes on; 0: it runs */
    bool crash;                      /* as soon as what runs now has paused */
};

struct timeline {
    struct weir_random random;
    int64_t now_ns;
    int64_t chaos_ns; /* when something happens next */
    uint32_t faults;  /* that happen now */
    bool healed;      /* no more faults */
    struct sim_life *lives[TIMELINE_LIVES_MAX];
    uint32_t life_count;
    void (*boot)(struct sim_life *life);
    void (*crash)(struct sim_life *life);
    void (*end)(struct sim_life *life); /* all its mains have returned */
    void (*resume)(struct sim_life *life);
    void (*strike)(struct timeline *self); /* also chooses the next `chaos_ns` */
};

uint32_t timeline_below(struct timeline *self, uint32_t limit);
bool timeline_one_in(struct timeline *self, uint32_t n);
int64_t timeline_up_to_ms(struct timeline *self, uint32_t most);

/* Only if the fault is one of those that happen now. */
bool timeline_happens(struct timeline *self, uint32_t fault, uint32_t one_in_so_many);

void timeline_add(struct timeline *self, struct sim_life *life);

/* One step; false: nothing can happen any more, or not before `limit_ns`. */
bool timeline_step(struct timeline *self, int64_t limit_ns);

/* No fault happens any more. */
void timeline_heal(struct timeline *self);

/* Lets what is down boot now, and what stands still go on. */
void timeline_revive(struct timeline *self, struct sim_life *life);

/* No process runs, of the first `count`. */
bool timeline_all_ended(const struct timeline *self, uint32_t count);

/* Crash whatever still runs. */
void timeline_cut_off(struct timeline *self);

#endif
