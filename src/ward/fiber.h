/*
 * fiber.h - a flow of control with a stack of its own, for the simulation.
 *
 * The simulation switches into a fiber, which runs until it switches back, either
 * because its entry is done or because it has to wait. Each switch is announced to the
 * address and thread sanitizers.
 *
 * Threads  One. Memory   The stack is mapped, with a page below it that must not be
 *          touched.
 */
#ifndef WEIR_WARD_FIBER_H
#define WEIR_WARD_FIBER_H

#include <stdbool.h>

#include "weir/status.h"

struct weir_fiber;
struct weir_heap;

/* Called on the fiber's stack, once per run(). */
typedef void (*weir_fiber_fn)(void *argument);

/* Fails with WEIR_NO_MEMORY; *out is then NULL. Copies nothing: `argument` is
 * borrowed. */
WEIR_CHECKED enum weir_status weir_fiber_create(const struct weir_heap *heap,
                                                weir_fiber_fn entry, void *argument,
                                                struct weir_fiber **out);

/* Whatever is on its stack is dropped. NULL is fine; not from inside it. */
void weir_fiber_destroy(struct weir_fiber *self);

/* Run the fiber until it pauses (true) or its entry has returned (false; the next run()
 * begins it anew). Not from inside a fiber. */
bool weir_fiber_run(struct weir_fiber *self);

/* From inside: back to the caller of run(), until the next one. */
void weir_fiber_pause(struct weir_fiber *self);

#endif
