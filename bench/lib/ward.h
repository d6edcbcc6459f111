/*
 * ward.h - the sections of bench_ward, one per file ward_*.c.
 *
 * Each measures one thing and prints it.
 */
#ifndef WEIR_BENCH_WARD_H
#define WEIR_BENCH_WARD_H

#include <stddef.h>
#include <stdint.h>

/* How much of everything. */
struct bench_ward_plan {
    size_t rounds;
    size_t short_rounds;   /* of noops and scaling: many, but short */
    uint64_t noops;        /* executions of one run, per thread */
    uint64_t spins;        /* of 10 microseconds each, in all */
    size_t pings;          /* of one run */
    int64_t idle_ns;       /* how long idle workers are watched */
    size_t sleeper_count;  /* of the order by time */
    size_t sleeper_rounds; /* they take long */
    uint64_t groups_max;   /* the largest count of the five groups */
    uint64_t paced_count;  /* executions with the default pace, 0: not at all */
    int64_t storm_ns;
};

/* 1. The memory and the wake-ups of many idle workers. Before all others: resident
 *    memory is
 * only telling while the heap has nothing to use again. */
void bench_ward_idle(const struct bench_ward_plan *plan);

/* 2. and 3. Executions per second against a plain queue, and on two threads against
 * one. */
void bench_ward_noops(const struct bench_ward_plan *plan);
void bench_ward_scaling(const struct bench_ward_plan *plan);

/* 4. From notify_one() to the action, against a bare condition. */
void bench_ward_latency(const struct bench_ward_plan *plan);

/* 5. Very many timers: order and lateness. */
void bench_ward_sleepers(const struct bench_ward_plan *plan);

/* 6. The five groups of the specification, 11.2. */
void bench_ward_groups(const struct bench_ward_plan *plan);

/* 7. Signals from outside, as fast as they go. */
void bench_ward_storms(const struct bench_ward_plan *plan);

#endif
