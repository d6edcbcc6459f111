/*
 * graph_model.h - what becomes of a flow, told a second time: a reference of a hundred
 * lines.
 *
 * Written from weir/flow.h and not from src/flow: no tables, no locks, no batches, only
 * what the definitions say. It is told what happens, in the order in which it was
 * committed, and knows then the state of every execution, edge, group and of the flow.
 *
 *   policy    satisfied when             impossible when
 *   all       every one has succeeded    one has ended otherwise
 *   any       one has succeeded          all have ended otherwise
 *   quorum k  k have succeeded           fewer than k can still
 *
 * What ends together is counted together, before any group is decided; what is skipped
 * by that ends together, and so on. Groups are judged when an edge of theirs is over,
 * and decided once.
 *
 * Replays  One that had been let go before is ready at once. One that never was waits
 *          again, for the edges that had not succeeded: for those whose upstream has
 *          succeeded since, not any more; for the others until their upstream ends once
 *          more.
 */
#ifndef WEIR_TEST_GRAPH_MODEL_H
#define WEIR_TEST_GRAPH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/flow.h"

enum { GRAPH_NODES_MAX = 96, GRAPH_EDGES_MAX = 512 };

enum graph_node_state {
    GRAPH_WAITS,
    GRAPH_READY,
    GRAPH_RUNS,
    GRAPH_SUCCEEDED, /* from here on it is over */
    GRAPH_FAILED,
    GRAPH_CANCELLED,
    GRAPH_EXPIRED,
    GRAPH_SKIPPED
};

/* A member, and the group of the edges that lead to it. */
struct graph_node {
    enum graph_node_state state;
    bool not_needed; /* it was cancelled because a join had enough */
    bool deadline;   /* it has one that is still to come */
    int attempts;
    uint32_t retries, retries_max;
    int input, result; /* a number for a text; 0: none */
    bool joined;       /* there is a group */
    enum weir_join policy;
    uint32_t quorum;
    bool cancel_remaining;
    bool cancelling; /* siblings are still to be cancelled */
    enum weir_flow_join_state group;
};

struct graph_link {
    int from, to;
    bool passes_data;
    bool passed; /* and it has: this */
    int result;
    enum weir_edge_state state;
};

struct graph_model {
    struct graph_node nodes[GRAPH_NODES_MAX];
    int node_count;
    struct graph_link links[GRAPH_EDGES_MAX];
    int link_count;
    bool cancelled; /* the flow */
    int revision;
};

/* Members, by number. */
struct graph_set {
    bool has[GRAPH_NODES_MAX];
};

bool graph_model_is_over(const struct graph_model *self, int node);
bool graph_model_leads_in_a_cycle(const struct graph_model *self);

/* How many edges to `node` are in this state. */
uint32_t graph_model_count(const struct graph_model *self, int node,
                           enum weir_edge_state state);

/* All of these end so, together; with all that follows. */
void graph_model_end(struct graph_model *self, const struct graph_set *ended,
                     enum graph_node_state state);

/* The links from `first` on are new: what they lead to waits, unless what they come
 * from has ended. */
void graph_model_extend(struct graph_model *self, int first);

void graph_model_replay(struct graph_model *self, int node);

/* A worker that has it fails: again, or for good. */
void graph_model_fail(struct graph_model *self, int node, bool permanent);

/* Siblings of these groups are cancelled, together; each for the sake of the first that
 * it leads to. False: there were none. */
bool graph_model_dispatch(struct graph_model *self, const int *groups, int count);

/* Groups all of whose siblings have ended have none to cancel. */
void graph_model_tidy(struct graph_model *self);

/* OPEN stands for all that have not ended. */
enum weir_flow_state graph_model_state(const struct graph_model *self);

#endif
