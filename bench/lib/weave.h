/*
 * weave.h - flows in the making, for measuring them.
 *
 *   bench_weave_begin(&weave, mill, 3, 2);         creates the flow
 *   a = bench_weave_add(&weave, BENCH_LANE); ...
 *   bench_weave_lead(&weave, a, c);
 *   bench_weave_extend(&weave);                    members and edges, in one call
 *   bench_weave_end(&weave);
 *
 * Inputs are those of lib/mill.h.
 *
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_WEAVE_H
#define WEIR_BENCH_WEAVE_H

#include <weir/graph.h>

#include "lib/mill.h"

struct bench_weave {
    struct bench_mill *mill; /* borrowed */
    struct weir_graph_id id;
    struct weir_execution_id *ids; /* these three owned */
    struct weir_execution_draft *members;
    struct weir_graph_edge *edges;
    struct weir_graph_join join;
    size_t member_count, edge_count, join_count;
    size_t members_sent, edges_sent; /* with extensions before */
};

/* Room for so many members and edges. Owes one end. */
void bench_weave_begin(struct bench_weave *self, struct bench_mill *mill,
                       size_t member_count, size_t edge_count);
void bench_weave_end(struct bench_weave *self);

/* Its place among the members. The lane is borrowed until extend(). */
size_t bench_weave_add(struct bench_weave *self, const char *lane);
void bench_weave_lead(struct bench_weave *self, size_t from, size_t to);

/* What leads there is enough when `quorum` of it are; the rest is cancelled. One of a flow. */
void bench_weave_quorum(struct bench_weave *self, size_t to, uint32_t quorum);

/* All that has been added since the last time. */
void bench_weave_extend(struct bench_weave *self);

/* How many members there are in a state, and what has become of the flow. */
uint32_t bench_weave_count(struct bench_weave *self, enum weir_public_state state);
enum weir_graph_state bench_weave_state(struct bench_weave *self);

#endif
