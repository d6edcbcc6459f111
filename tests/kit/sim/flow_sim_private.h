/*
 * flow_sim_private.h - the inside of a simulated world of executions (flow_sim.h).
 *
 *   flow_sim.c         processes, faults, time, the three phases
 *   flow_sim_actors.c  what submitters, workers and operators do
 *   flow_sim_waits.c   what has to do with suspensions, signals and budgets
 *   flow_sim_plan.c    plans
 */
#ifndef WEIR_TEST_FLOW_SIM_SIM_H
#define WEIR_TEST_FLOW_SIM_SIM_H

#include "kit/execution/flow_journal.h"
#include "kit/sim/flow_sim.h"
#include "kit/sim/timeline.h"
#include "kit/temp_dir.h"
#include "weir/execution_supervisor.h"
#include "weir/outbox.h"

enum {
    FLOW_PROCESSES_MAX = TIMELINE_LIVES_MAX,
    FLOW_ACTORS_MAX = 7,
    FLOW_DRAFTS_MAX = 24,
    FLOW_HELD_MAX = 4,
    FLOW_CLAIMS_KEPT = 16,
    FLOW_KNOWN_MAX = 128,
    FLOW_SPOTS_KEPT = 16
};

/* A waitpoint that may be signalled. */
struct flow_waitpoint_slot {
    struct weir_execution_id id;
    struct weir_waitpoint waitpoint;
};

struct flow_process;
struct flow_sim;

/* A fiber that calls the engine. */
struct flow_actor {
    struct flow_process *process;
    char name[32];
    struct weir_context *context; /* NULL: it does not run */
    struct flow_call *call;       /* that it is in the middle of */
    bool done;
    struct weir_claim held[FLOW_HELD_MAX];
    size_t held_count;
};

typedef void (*flow_act_fn)(struct flow_actor *self);

/* A process, across its lives. */
struct flow_process {
    struct sim_life life; /* first */
    struct flow_sim *sim;
    char name[16];
    bool supervises;
    bool serves; /* submitters and operators are in it */
    bool flow_fixture;
    struct weir_outbox *outbox;
    struct weir_executions *executions;        /* NULL: not open (yet, or any more) */
    struct flow_actor actors[FLOW_ACTORS_MAX]; /* the first opens and closes it */
    uint32_t actor_count;
};

struct flow_sim {
    struct timeline time; /* first */
    const struct flow_plan *plan;
    struct event_log event_log;
    struct flow_model *model;
    struct flow_journal *journal;
    int64_t error_us; /* of the database's clock */
    uint32_t db_calls;
    uint32_t disturbances;
    char path[TEMP_DIR_SIZE + 16];
    char url[TEMP_DIR_SIZE + 32];
    struct flow_process processes[FLOW_PROCESSES_MAX];
    uint32_t process_count;
    struct flow_draft drafts[FLOW_DRAFTS_MAX];
    uint32_t draft_next;
    struct weir_execution_id known[FLOW_KNOWN_MAX]; /* of executions, as answered */
    size_t known_count;
    struct weir_claim claims[FLOW_CLAIMS_KEPT]; /* the last ones of all */
    size_t claim_count;
    struct flow_waitpoint_slot spots[FLOW_SPOTS_KEPT]; /* the last ones */
    size_t waitpoint_slot_count;
    uint32_t report_next;
    bool ending;
};

void flow_sim_make_drafts(struct flow_sim *self);

void flow_actor_submit(struct flow_actor *self);
void flow_actor_work(struct flow_actor *self);
void flow_actor_operate(struct flow_actor *self);
void flow_actor_signal(struct flow_actor *self);

/* ---- what they have in common: a call, as the model sees it ---- */

struct flow_call *flow_actor_begin(struct flow_actor *self, enum flow_verb verb);
void flow_actor_end(struct flow_actor *self, enum weir_status status);
void flow_actor_rest(struct flow_actor *self, uint32_t most_ms);

/* ---- flow_sim_waits.c ---- */

void flow_actor_make_budget(struct flow_actor *self);
void flow_actor_spend(struct flow_actor *self, const struct weir_claim *claim);
void flow_actor_suspend(struct flow_actor *self, const struct weir_claim *claim);

/* No more signals: what is suspended is resumed, and the budget is reset. */
void flow_actor_end_waits(struct flow_actor *self);

/* Everything that is there, as it can be read. */
void flow_actor_read_all(struct flow_actor *self);

#endif
