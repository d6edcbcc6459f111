/*
 * flow_load.h - flows in the making, for measuring them.
 *
 *   bench_flow_load_begin(&weave, mill, 3, 2);         creates the flow
 *   a = bench_flow_load_add(&weave, BENCH_LANE); ...
 *   bench_flow_load_lead(&weave, a, c);
 *   bench_flow_load_extend(&weave);                    members and edges, in one call
 *   bench_flow_load_end(&weave);
 *
 * Inputs are those of lib/execution_load.h.
 *
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_FLOW_LOAD_H
#define WEIR_BENCH_FLOW_LOAD_H

#include <weir/flow.h>

#include "lib/execution_load.h"

struct bench_flow_load {
    struct bench_execution_load *execution_load; /* borrowed */
    struct weir_flow_id id;
    struct weir_execution_id *ids; /* these three owned */
    struct weir_execution_draft *members;
    struct weir_flow_edge *edges;
    struct weir_flow_join join;
    size_t member_count, edge_count, join_count;
    size_t members_sent, edges_sent; /* with extensions before */
};

/* Room for so many members and edges. Owes one end. */
void bench_flow_load_begin(struct bench_flow_load *self,
                           struct bench_execution_load *execution_load,
                           size_t member_count, size_t edge_count);
void bench_flow_load_end(struct bench_flow_load *self);

/* Its place among the members. The lane is borrowed until extend(). */
size_t bench_flow_load_add(struct bench_flow_load *self, const char *lane);
void bench_flow_load_lead(struct bench_flow_load *self, size_t from, size_t to);

/* What leads there is enough when `quorum` of it are; the rest is cancelled. One of a
 * flow. */
void bench_flow_load_quorum(struct bench_flow_load *self, size_t to, uint32_t quorum);

/* All that has been added since the last time. */
void bench_flow_load_extend(struct bench_flow_load *self);

/* How many members there are in a state, and what has become of the flow. */
uint32_t bench_flow_load_count(struct bench_flow_load *self,
                               enum weir_public_state state);
enum weir_flow_state bench_flow_load_state(struct bench_flow_load *self);

#endif
