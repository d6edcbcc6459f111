/*
 * sim.h - an outbox with several processes in virtual time, and everything that can go
 * wrong.
 *
 * A *plan*, made from a seed, says how many processes there are, what they write, and
 * which kinds of faults happen. A world lives through three phases:
 *
 *   chaos   producers write, consumers deliver, faults happen
 *   heal    no faults any more, all consumers run, until nothing waits
 *   end     every process stops in order, and nothing is left over
 *
 * What must hold is in history.h; besides, healing takes a bounded time, every stop
 * ends within its grace, and no memory is left. The same plan gives the same world,
 * step by step.
 */
#ifndef WEIR_TEST_SIM_H
#define WEIR_TEST_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/sim/history.h"

enum sim_fault {
    SIM_ERRORS,   /* calls of the database fail, connections are lost */
    SIM_DOUBTS,   /* a commit happens and its reply is lost */
    SIM_CRASHES,  /* a process ends in the middle of anything */
    SIM_PAUSES,   /* a process stands still, also beyond its leases, and goes on */
    SIM_CLOCKS,   /* a wall clock jumps */
    SIM_WAKES,    /* a commit wakes no process */
    SIM_HANDLERS, /* retry, reject, panic, hang */
    SIM_RARE,     /* the library does the unusual: tiny pages and batches, forgets what it
                     read */
    SIM_SLOW,     /* some calls of the database take very long */
    SIM_SUSPENSIONS, /* a process stands still and so does its clock for leases; or that
                        jumps */
    SIM_FAULTS
};

struct plan {
    uint64_t seed;
    uint32_t producers;    /* 1 to 4, in one process */
    uint32_t consumers;    /* 1 to 3 processes */
    uint32_t streams;      /* 1 to HISTORY_STREAMS subscriptions */
    uint32_t partitions;   /* 1, 2, 4 or 8 */
    uint32_t transactions; /* of all producers */
    uint32_t faults;       /* bits, by enum sim_fault */
};

struct sim_outcome {
    char violation[HISTORY_TEXT_SIZE]; /* "": none */
    uint64_t fingerprint;
    int64_t virtual_ns;
    struct history_stats stats;
};

struct plan plan_of_seed(uint64_t seed);

/* As text that plan_parse() understands: "seed=7 producers=2 ...
 * faults=crashes,clocks". */
void plan_format(const struct plan *self, char *out, size_t size);
bool plan_parse(struct plan *self, const char *text);

/* `loud` prints what happens; `tell` the last of it if there is a violation. */
void sim_run(const struct plan *plan, bool loud, bool tell, struct sim_outcome *out);

/* A smaller plan that fails as well, found by leaving things out; up to `attempts`
 * runs. */
struct plan plan_shrink(const struct plan *plan, uint32_t attempts);

#endif
