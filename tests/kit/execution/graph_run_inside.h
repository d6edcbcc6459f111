/*
 * graph_run_inside.h - the inside of a random flow (graph_run.h).
 *
 *   graph_run.c         one step, the two phases, faults
 *   graph_run_choose.c  what is done next
 *   graph_run_engine.c  how it is done, and what there is then
 *   graph_run_expect.c  what the model says to it
 *   graph_run_plan.c    plans
 */
#ifndef WEIR_TEST_GRAPH_RUN_INSIDE_H
#define WEIR_TEST_GRAPH_RUN_INSIDE_H

#include "base/random.h"
#include "kit/execution/graph_run.h"
#include "weir/executions.h"

enum {
    MEMBERS_MAX = 70, /* of one extension */
    LINKS_MAX = 200,
    DEEP = 50,                   /* as many levels follow in one transaction */
    ROUNDS_MAX = GRAPH_NODES_MAX /* of a dispatcher */
};

enum graph_action_kind {
    EXTEND,
    CLAIM,
    COMPLETE,
    FAIL,
    ABANDON,
    CANCEL,
    REPLAY,
    REVOKE,
    CANCEL_FLOW,
    DISPATCH, /* the reconcilers, from here on */
    TIDY,
    BACKSTOP,
    TIME_PASSES
};

struct graph_action {
    enum graph_action_kind kind;
    int node;
    bool permanent;
    int result; /* COMPLETE */
    enum weir_flow_cancel_policy policy;
    size_t cancelled; /* CANCEL_FLOW: how many, as told; and as the model says */
    size_t meant;

    /* EXTEND: members from model.node_count on, links from link_count on */
    int members;
    int links;
    struct graph_node nodes[MEMBERS_MAX];
    struct graph_link link[LINKS_MAX];
    bool joins[GRAPH_NODES_MAX]; /* where a policy is given */

    /* DISPATCH: in this order */
    int groups[GRAPH_NODES_MAX];
    int group_count;
};

enum graph_fault { NO_FAULT, CRASH, LOST_REPLY, REFUSAL };

struct graph_run {
    struct graph_plan plan;
    const struct graph_ground *ground;
    struct weir_random random;
    struct event_log event_log;
    int64_t step_ns; /* the chronicle's time is the number of the step */
    struct graph_model model;
    struct graph_outcome outcome;

    struct weir_executions *executions;
    struct weir_flow_id id;
    struct weir_execution_id ids[GRAPH_NODES_MAX];
    struct weir_claim claims[GRAPH_NODES_MAX];
    bool held[GRAPH_NODES_MAX]; /* there is a claim that nobody has settled */

    enum graph_fault fault; /* that is to come */
    uint32_t calls_left;
    bool dead; /* nothing reaches the database any more */
    bool struck;
};

uint32_t graph_run_below(struct graph_run *self, uint32_t limit);
bool graph_run_one_in(struct graph_run *self, uint32_t n);
bool graph_run_may(const struct graph_run *self, enum graph_chance chance);

/* ---- graph_run_choose.c ---- */

/* What is done next, as the dice fall. Of a deed that is all zero. */
void graph_run_choose(struct graph_run *self, struct graph_action *out);

/* So that all comes to an end; false: it has. */
bool graph_run_choose_healing(struct graph_run *self, struct graph_action *out);

/* `members` more of them, in a chain or not. */
void graph_run_choose_extension(struct graph_run *self, struct graph_action *out,
                                int members, bool chain);

/* ---- graph_run_engine.c ---- */

/* Do it. WEIR_NO_ROW: there was nobody to claim or to revoke. */
enum weir_status graph_run_perform(struct graph_run *self, struct graph_action *action);

/* The groups with siblings to cancel, in the order in which a dispatcher finds them. */
void graph_run_list_groups(struct graph_run *self, struct graph_action *action);

/* Whether all is as the model says; if not, *difference (of EVENT_LOG_TEXT_SIZE) says
 * why. */
bool graph_run_looks_like(struct graph_run *self, const struct graph_model *model,
                          char *difference);

/* ---- graph_run_expect.c ---- */

/* What must be answered; and if that is WEIR_OK, how it is then. */
enum weir_status graph_run_expect(const struct graph_run *self, struct graph_model *model,
                                  struct graph_action *action);

/* A dispatcher that works for so many rounds, each a transaction; returns how many it
 * takes. */
int graph_run_dispatch(struct graph_model *model, const struct graph_action *action,
                       int rounds);

#endif
