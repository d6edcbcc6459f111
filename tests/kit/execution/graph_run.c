/*
 * graph_run.c - see graph_run.h: steps, faults, and the two phases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/execution/graph_run_inside.h"
#include "kit/test.h"

enum { HEAL_STEPS_MAX = 2000, OPEN_ATTEMPTS = 500 };

#define JUMP_US 20000000

static const char *const ACTION_NAMES[] = {
    "extend", "claim",       "complete", "fail", "abandon",  "cancel",     "replay",
    "revoke", "cancel_flow", "dispatch", "tidy", "backstop", "time passes"};

uint32_t graph_run_below(struct graph_run *self, uint32_t limit)
{
    return weir_random_below(&self->random, limit);
}

bool graph_run_one_in(struct graph_run *self, uint32_t n)
{
    return graph_run_below(self, n) == 0;
}

bool graph_run_may(const struct graph_run *self, enum graph_chance chance)
{
    return (self->plan.chances & (1U << chance)) != 0;
}

static bool fine(const struct graph_run *self)
{
    return self->event_log.violation[0] == '\0';
}

/* ---- faults ------------------------------------------------------------------------ */

static bool strikes(struct graph_run *self, enum graph_fault fault)
{
    if (self->fault != fault || --self->calls_left > 0)
        return false;
    self->fault = NO_FAULT;
    self->struck = true;
    self->dead = fault != REFUSAL;
    self->outcome.crashes++;
    return true;
}

bool graph_run_decides(void *run, const char *point)
{
    struct graph_run *self = run;

    if (strncmp(point, "db.", 3) != 0)
        return false;
    if (self->dead)
        return true;
    if (strcmp(point, "db.lose") == 0)
        return strikes(self, CRASH);
    if (strcmp(point, "db.lose_after_commit") == 0)
        return strikes(self, LOST_REPLY);
    return strcmp(point, "db.fail") == 0 && strikes(self, REFUSAL);
}

/* A reconciler that is refused a call works on one by one, which comes out
 * differently. */
static void arm(struct graph_run *self, bool reconciles)
{
    self->struck = false;
    if (!graph_run_may(self, GRAPH_CRASHES) || !graph_run_one_in(self, 5))
        return;
    self->fault = (enum graph_fault)(CRASH + graph_run_below(self, reconciles ? 2 : 3));
    self->calls_left = self->fault == LOST_REPLY ? 1 : 1 + graph_run_below(self, 30);
}

static void open_flow(struct graph_run *self)
{
    struct weir_executions_options options;
    struct weir_error error;

    weir_executions_options_init(&options);
    options.db = self->ground->db;
    /* After a lost connection the database is left alone for a moment. */
    for (int i = 0; i < OPEN_ATTEMPTS; i++) {
        if (weir_executions_create(&options, &self->executions, &error) == WEIR_OK)
            return;
        weir_sleep_through(self->ground->context, WEIR_MILLISECONDS(20));
    }
    event_log_violate(&self->event_log, "no engine: %s", error.text);
}

/* The process ends, and another one begins: what it had in memory is gone. */
static void begin_again(struct graph_run *self)
{
    self->dead = false;
    self->fault = NO_FAULT;
    weir_executions_destroy(self->executions);
    self->executions = NULL;
    open_flow(self);
}

/* ---- one step ---------------------------------------------------------------------- */

/* Claims of what was taken from its worker are of no use any more, and neither are
 * those that were settled. */
static void forget_claims(struct graph_run *self, const struct graph_action *action,
                          bool done)
{
    if (action->kind == COMPLETE || action->kind == FAIL || action->kind == ABANDON)
        self->held[action->node] = false;
    if (action->kind == REVOKE && done)
        self->held[action->node] = false;
    for (int i = 0; i < self->model.node_count && action->kind == TIME_PASSES; i++)
        self->held[i] = false;
}

static bool repeats_well(enum graph_action_kind kind)
{
    return kind == EXTEND || kind == COMPLETE || kind == FAIL || kind == ABANDON ||
           kind == CANCEL || kind == CANCEL_FLOW;
}

/* What was in doubt has happened or not: by what there is now. True: it has. */
static bool has_happened(struct graph_run *self, const struct graph_model *after)
{
    char text[EVENT_LOG_TEXT_SIZE];

    return !graph_run_looks_like(self, &self->model, text) ||
           graph_run_looks_like(self, after, text);
}

static bool is_after(struct graph_run *self, const struct graph_model *after)
{
    char text[EVENT_LOG_TEXT_SIZE];

    return graph_run_looks_like(self, after, text);
}

/* A dispatcher that ended in the middle of it has finished some of its rounds. */
static void find_round(struct graph_run *self, const struct graph_action *action)
{
    static struct graph_model then;
    char text[EVENT_LOG_TEXT_SIZE];

    for (int rounds = 1; rounds < ROUNDS_MAX; rounds++) {
        then = self->model;
        if (graph_run_dispatch(&then, action, rounds) < rounds)
            return;
        if (graph_run_looks_like(self, &then, text)) {
            self->model = then;
            return;
        }
    }
}

/* *status is what came of it in the end. */
static void answer_fault(struct graph_run *self, struct graph_action *action,
                         enum weir_status *status, enum weir_status expected,
                         const struct graph_model *after)
{
    begin_again(self);
    if (!fine(self) || weir_status_class(*status) != WEIR_CLASS_RETRY)
        return;
    if (repeats_well(action->kind) && graph_run_one_in(self, 2)) {
        *status = graph_run_perform(self, action);
        return;
    }
    *status = expected;
    if (action->kind == DISPATCH && !is_after(self, after))
        find_round(self, action);
    if (expected == WEIR_OK && !has_happened(self, after))
        *status = WEIR_LOST;
    else if (action->kind == CLAIM)
        self->held[action->node] = false; /* whoever had it will not know */
}

static void count(struct graph_run *self, const struct graph_model *after)
{
    for (int i = 0; i < after->node_count; i++) {
        const struct graph_node *was = &self->model.nodes[i];
        const struct graph_node *is = &after->nodes[i];

        self->outcome.joins +=
            was->group == WEIR_FLOW_JOIN_PENDING && is->group != WEIR_FLOW_JOIN_PENDING;
        self->outcome.siblings += !was->not_needed && is->not_needed;
    }
}

static void step(struct graph_run *self, struct graph_action *action, bool safe)
{
    static struct graph_model after;
    char text[EVENT_LOG_TEXT_SIZE];
    enum weir_status expected;
    enum weir_status status;

    self->step_ns += WEIR_SECONDS(1);
    if (action->kind == DISPATCH)
        graph_run_list_groups(self, action);
    if (!fine(self))
        return;
    after = self->model;
    expected = graph_run_expect(self, &after, action);
    if (!safe)
        arm(self, action->kind >= DISPATCH);
    status = graph_run_perform(self, action);
    self->fault = NO_FAULT;
    if (self->struck) {
        event_log_note(&self->event_log, "world", "a call of the database fails: %s",
                       weir_status_name(status));
        answer_fault(self, action, &status, expected, &after);
    }
    if (action->kind == CANCEL_FLOW && !self->struck &&
        action->cancelled != action->meant)
        event_log_violate(&self->event_log, "%zu members were cancelled, not %zu",
                          action->cancelled, action->meant);
    self->struck = false;
    event_log_note(&self->event_log, ACTION_NAMES[action->kind], "%d: %s", action->node,
                   weir_status_name(status));
    if (action->kind != BACKSTOP && self->plan.nodes > DEEP)
        (void)graph_run_perform(self, &(struct graph_action){.kind = BACKSTOP});
    if (status != WEIR_LOST && status != expected)
        event_log_violate(&self->event_log, "%s of %d: %s, not %s",
                          ACTION_NAMES[action->kind], action->node,
                          weir_status_name(status), weir_status_name(expected));
    if (status == WEIR_OK && expected == WEIR_OK) {
        count(self, &after);
        self->model = after;
    }
    forget_claims(self, action, status == WEIR_OK);
    if (fine(self) && !graph_run_looks_like(self, &self->model, text))
        event_log_violate(&self->event_log, "%s of %d: %s", ACTION_NAMES[action->kind],
                          action->node, text);
    self->outcome.steps++;
}

/* ---- the two phases ---------------------------------------------------------------- */

static void turn_clock(struct graph_run *self)
{
    if (self->ground->turn_clock != NULL && graph_run_may(self, GRAPH_CLOCKS) &&
        graph_run_one_in(self, 6))
        self->ground->turn_clock(self->ground->state,
                                 (int64_t)graph_run_below(self, 2 * JUMP_US) - JUMP_US);
}

static void live_in_chaos(struct graph_run *self)
{
    static struct graph_action action;

    for (uint32_t i = 0; i < self->plan.steps && fine(self); i++) {
        action = (struct graph_action){.kind = BACKSTOP};
        turn_clock(self);
        graph_run_choose(self, &action);
        step(self, &action, action.kind == TIME_PASSES);
    }
}

/* Each that waits does so for one that has ended, and has not succeeded. */
static void check_waits(struct graph_run *self, int node)
{
    bool replayable = false;

    for (int i = 0; i < self->model.link_count; i++) {
        const struct graph_link *link = &self->model.links[i];

        replayable |= link->to == node && link->state == WEIR_EDGE_OPEN;
    }
    if (!replayable)
        event_log_violate(&self->event_log, "member %d is stuck", node);
}

static void heal(struct graph_run *self)
{
    static struct graph_action action;
    int steps = 0;

    event_log_note(&self->event_log, "world", "heals");
    for (action = (struct graph_action){.kind = BACKSTOP};
         fine(self) && graph_run_choose_healing(self, &action);
         action = (struct graph_action){.kind = BACKSTOP}) {
        if (action.kind == CANCEL)
            check_waits(self, action.node);
        step(self, &action, true);
        if (++steps == HEAL_STEPS_MAX)
            event_log_violate(&self->event_log, "it does not end");
    }
    if (fine(self) && graph_model_state(&self->model) == WEIR_FLOW_OPEN)
        event_log_violate(&self->event_log, "the flow has not ended");
}

/* ---- a whole run ------------------------------------------------------------------- */

struct graph_run *graph_run_create(const struct graph_plan *plan, bool loud)
{
    struct graph_run *self = calloc(1, sizeof *self);

    check(self != NULL);
    self->plan = *plan;
    self->event_log.loud = loud;
    self->event_log.clock_ns = &self->step_ns;
    weir_random_init(&self->random, weir_mix_u64(plan->seed));
    return self;
}

void graph_run_destroy(struct graph_run *self)
{
    free(self);
}

static void begin(struct graph_run *self)
{
    struct weir_flow_draft draft = {.kind = "random"};
    static struct graph_action action;

    open_flow(self);
    if (!fine(self))
        return;
    if (weir_flow_create(self->executions, &draft, &self->id, NULL) != WEIR_OK)
        event_log_violate(&self->event_log, "no flow");
    weir_flow_mint(self->executions, &self->id, self->ids, GRAPH_NODES_MAX);
    action = (struct graph_action){.kind = EXTEND};
    graph_run_choose_extension(self, &action, (int)self->plan.nodes,
                               self->plan.nodes > DEEP);
    step(self, &action, false);
    while (fine(self) && self->model.node_count == 0)
        step(self, &action, true); /* it was lost in a crash */
}

void graph_run_go(struct graph_run *self, const struct graph_ground *ground)
{
    self->ground = ground;
    begin(self);
    live_in_chaos(self);
    if (fine(self))
        heal(self);
    self->dead = false;
    self->fault = NO_FAULT;
    weir_executions_destroy(self->executions);
    if (!fine(self) && !self->event_log.loud)
        event_log_note(&self->event_log, "world", "%s", self->event_log.violation);
}

void graph_run_outcome(const struct graph_run *self, struct graph_outcome *out)
{
    *out = self->outcome;
    out->members = (uint32_t)self->model.node_count;
    out->edges = (uint32_t)self->model.link_count;
    memcpy(out->violation, self->event_log.violation, sizeof out->violation);
}
