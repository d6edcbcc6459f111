/*
 * flow_sim.h - executions in virtual time: processes that submit, work, operate and
 * reconcile, on one database, and everything that can go wrong.
 *
 * A *plan*, made from a seed, says which processes there are and which kinds of
 * faults happen. A world lives through three phases:
 *
 *   chaos   all of them at work, faults happen
 *   heal    no faults any more, no submits, workers complete what they get, until
 *           all has ended
 *   end     everything is read once more, and every process stops in order
 *
 * What must hold is in flow_model.h; besides, healing takes a bounded time, every stop
 * ends within its grace, and no memory is left. The same plan gives the same world,
 * step by step.
 */
#ifndef WEIR_TEST_FLOW_SIM_H
#define WEIR_TEST_FLOW_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/execution/flow_model.h"

enum flow_fault {
    FLOW_ERRORS,  /* calls of the database fail, connections are lost, locks are not to be
                     had */
    FLOW_DOUBTS,  /* a commit happens and its reply is lost */
    FLOW_CRASHES, /* a process ends in the middle of anything */
    FLOW_PAUSES,  /* a process stands still, also beyond its leases, and goes on */
    FLOW_CLOCKS,  /* the database's clock jumps, forward and back */
    FLOW_WORKERS, /* workers hang, vanish, and come with claims of long ago */
    FLOW_SLOW,    /* some calls of the database take very long */
    FLOW_FAULTS
};

struct flow_plan {
    uint64_t seed;
    uint32_t submitters;  /* 1 or 2, in one process with the operators */
    uint32_t operators;   /* 0 to 2 */
    uint32_t signallers;  /* 0 to 2; 0: nothing is suspended */
    uint32_t budget;      /* how much of it may be used; 0: there is none */
    uint32_t workers;     /* 1 to 3 processes, two workers each */
    uint32_t supervisors; /* 1 or 2 */
    uint32_t together;    /* 1: supervisors are in the processes of workers */
    uint32_t drafts;      /* different ones; some are submitted several times */
    uint32_t retention;   /* seconds; 0: for ever */
    uint32_t faults;      /* bits, by enum flow_fault */
    uint32_t crash_call;  /* the process that makes this call of the database ends there;
                             0: none */
};

struct flow_outcome {
    char violation[EVENT_LOG_TEXT_SIZE]; /* "": none */
    uint64_t fingerprint;
    int64_t virtual_ns;
    uint32_t db_calls;
    uint32_t disturbances;
    struct flow_stats stats;
};

struct flow_plan flow_plan_of_seed(uint64_t seed);

/* As text that flow_plan_parse() understands: "seed=7 submitters=2 ...
 * faults=crashes,clocks". */
void flow_plan_format(const struct flow_plan *self, char *out, size_t size);
bool flow_plan_parse(struct flow_plan *self, const char *text);

/* `loud` prints what happens; `tell` the last of it if there is a violation. */
void flow_sim_run(const struct flow_plan *plan, bool loud, bool tell,
                  struct flow_outcome *out);

/* A smaller plan that fails as well, found by leaving things out; up to `attempts`
 * runs. */
struct flow_plan flow_plan_shrink(const struct flow_plan *plan, uint32_t attempts);

#endif
