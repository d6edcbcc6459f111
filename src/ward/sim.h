/*
 * sim.h - the inside of weir/sim.h: what tests of the runtime itself may do.
 */
#ifndef WEIR_WARD_SIM_H
#define WEIR_WARD_SIM_H

#include "weir/sim.h"

struct weir_sim;

/* Actions that have begun and wait for something. */
size_t weir_sim_waiting(const struct weir_sim *self);

#endif
