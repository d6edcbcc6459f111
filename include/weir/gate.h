/*
 * gate.h - at most so many at once, first come first served.
 *
 * A gate has a fixed number of permits. A worker with a gate is executed only while it
 * holds one; the others stand in line, as data, without a thread. Two gates make a
 * *tiered* limit: the worker takes a permit of the shared gate when there is one, else
 * of the guaranteed gate, and stands in both lines when neither has one.
 *
 * Order    The permit that is given back goes straight to the head of the line; a
 *          newcomer never overtakes. It is never laid down between two owners.
 * Threads  Any thread; enter() only inside an action.
 * Memory   One allocation. Workers that use the gate keep it alive until they end.
 */
#ifndef WEIR_GATE_H
#define WEIR_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

struct weir_context;
struct weir_executor;
struct weir_gate;

enum { WEIR_GATE_PERMITS_MAX = 1000000 };

struct weir_gate_info {
    uint32_t permits;
    uint32_t inside;  /* permits in use */
    uint32_t waiting; /* in line */
    uint64_t admitted_total;
};

WEIR_BEGIN_DECLS

/* `permits` from 0 (always closed) to WEIR_GATE_PERMITS_MAX. Fails with WEIR_INVALID or
 * WEIR_NO_MEMORY; *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status weir_gate_create(struct weir_executor *executor,
                                                        uint32_t permits,
                                                        struct weir_gate **out,
                                                        struct weir_error *error);

/* Give up the caller's hold. NULL is fine. Permits still out are given back as usual. */
WEIR_API void weir_gate_destroy(struct weir_gate *self);

/* Take a permit if one is free and the line is empty. Owes one leave(). */
WEIR_CHECKED WEIR_API bool weir_gate_try_enter(struct weir_gate *self);

/*
 * Inside an action: take a permit, waiting in line until `deadline_ns`. On WEIR_OK the
 * caller owes one leave(); on WEIR_TIMEOUT, WEIR_CANCELLED and WEIR_CLOSED it holds
 * nothing.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_gate_enter(struct weir_gate *self,
                                                       struct weir_context *context,
                                                       int64_t deadline_ns);

/* Give one permit back, from any thread. */
WEIR_API void weir_gate_leave(struct weir_gate *self);

/* Admit no caller any more. The line is sent away: workers in it end, enter() returns
 * WEIR_CLOSED. Twice is harmless. */
WEIR_API void weir_gate_close(struct weir_gate *self);

/* All figures at one instant. */
WEIR_API void weir_gate_read(struct weir_gate *self, struct weir_gate_info *out);

WEIR_END_DECLS

#endif
