/*
 * graph_run.h - a random flow: what the engine makes of it, and what graph_model.h says.
 *
 * A *plan*, made from a seed, says how large it is and what may happen. Step by step
 * something is done to the flow: members and edges are added, claimed, settled,
 * cancelled, replayed, reconcilers look; and the database fails at a call, or its reply
 * is lost, and the process begins again. After each step every execution, edge, group
 * and the flow itself must be as the model says. What was in doubt has happened or not,
 * as a whole, and may be repeated.
 *
 *   chaos   steps as the dice fall
 *   heal    nothing fails; whoever can be claimed is claimed and completed, siblings
 *           are cancelled, until nothing is left to do: then all have ended, and no
 *           join has siblings to cancel
 *
 * One step after the other: on SQLite, where transactions come one after the other,
 * there is no more to see. Of what depends on the order in which groups are dispatched
 * the model takes the order that is committed.
 */
#ifndef WEIR_TEST_GRAPH_RUN_H
#define WEIR_TEST_GRAPH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/execution/graph_model.h"
#include "kit/sim/event_log.h"
#include "weir/context.h"
#include "weir/db.h"

/* What may happen, besides that all goes well. */
enum graph_chance {
    GRAPH_FAILURES,
    GRAPH_CANCELS,
    GRAPH_FLOW_CANCELS,
    GRAPH_REPLAYS,
    GRAPH_EXTENSIONS, /* while it runs */
    GRAPH_REVOKES,
    GRAPH_DEADLINES, /* pass; not without virtual time */
    GRAPH_CLOCKS,    /* jump; likewise */
    GRAPH_CRASHES,   /* at a call of the database, or a reply is lost */
    GRAPH_CHANCES
};

struct graph_plan {
    uint64_t seed;
    uint32_t nodes; /* that it begins with */
    uint32_t steps;
    uint32_t chances; /* bits, by enum graph_chance */
};

struct graph_outcome {
    char violation[EVENT_LOG_TEXT_SIZE]; /* "": none */
    uint32_t members, edges;
    uint32_t steps;
    uint32_t crashes;  /* or lost replies */
    uint32_t joins;    /* that were decided */
    uint32_t siblings; /* that were cancelled */
};

struct graph_run;

/* Where it runs. */
struct graph_ground {
    struct weir_db *db; /* whose fault points ask graph_run_decides() */
    struct weir_context *context;
    void (*turn_clock)(void *state, int64_t error_us); /* NULL: time is not ours */
    void *state;
};

struct graph_plan graph_plan_of_seed(uint64_t seed);
void graph_plan_format(const struct graph_plan *self, char *out, size_t size);
bool graph_plan_parse(struct graph_plan *self, const char *text);

/* A smaller plan that fails as well, by running smaller ones up to `attempts` times. */
typedef void (*graph_run_fn)(const struct graph_plan *plan, struct graph_outcome *out);
struct graph_plan graph_plan_shrink(const struct graph_plan *plan, graph_run_fn run,
                                    uint32_t attempts);

struct graph_run *graph_run_create(const struct graph_plan *plan, bool loud);
void graph_run_destroy(struct graph_run *self);

/* For weir_fault_points_set_oracle(). */
bool graph_run_decides(void *run, const char *point);

void graph_run_go(struct graph_run *self, const struct graph_ground *ground);
void graph_run_outcome(const struct graph_run *self, struct graph_outcome *out);

#endif
