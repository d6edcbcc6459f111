/*
 * sim.h - the inside of weir/sim.h: what tests of the runtime itself may do.
 *
 * Several simulations side by side are several processes on one world's clock: the driver
 * runs the one whose next event is the earliest, up to that event.
 */
#ifndef WEIR_WARD_SIM_H
#define WEIR_WARD_SIM_H

#include "weir/sim.h"

struct weir_sim;

/* Actions that have begun and wait for something. */
size_t weir_sim_waiting(const struct weir_sim *self);

/* When something happens next: now, if anything can run; WEIR_FOREVER: never by
 * itself. */
int64_t weir_sim_next_ns(struct weir_sim *self);

/* The clock goes on to `time_ns` and nothing runs meanwhile, as when a process was
 * stopped and is continued. A time in the past changes nothing. */
void weir_sim_jump(struct weir_sim *self, int64_t time_ns);

/* The clock that counts suspension (ward/executor.h) jumps, and no other does: ahead,
 * as when the host was suspended; back, after a jump() of the same length, as when a
 * virtual machine was paused. */
void weir_sim_jump_boot(struct weir_sim *self, int64_t duration_ns);

/* The wall clock is wrong by so much from now on. */
void weir_sim_set_wall_error(struct weir_sim *self, int64_t error_us);

#endif
