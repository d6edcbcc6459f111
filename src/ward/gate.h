/*
 * gate.h - the inside of weir/gate.h: how workers stand in line.
 *
 * Threads  The executor's lock, except for references.
 */
#ifndef WEIR_WARD_GATE_H
#define WEIR_WARD_GATE_H

#include "ward/executor.h"
#include "ward/lock.h"
#include "ward/wait.h"
#include "weir/gate.h"

struct weir_gate {
    struct weir_executor *executor; /* a reference */
    _Atomic uint32_t references;    /* the creator and each worker that uses it */
    uint32_t permits;

    /* guarded by the executor's lock */
    struct weir_list line; /* of struct weir_wait, oldest first */
    uint32_t inside;
    uint64_t admitted_total;
    bool closed;
};

void weir_gate_retain(struct weir_gate *self);

/* Take a permit if one is free; then the line is empty. */
bool weir_gate_take(struct weir_gate *self) WEIR_REQUIRES(weir_executor_role);

/* Stand in line: `wait` is woken by SIGNAL when it holds a permit, by CLOSING
 * otherwise. */
void weir_gate_queue(struct weir_gate *self, struct weir_wait *wait)
    WEIR_REQUIRES(weir_executor_role);

/* Hand a permit on, or free it when the line is empty. */
void weir_gate_hand_over(struct weir_gate *self) WEIR_REQUIRES(weir_executor_role);

#endif
