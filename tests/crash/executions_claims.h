/*
 * executions_claims.h - what is asked of each engine in turn, in a program of its own
 * so that two run at a time: test_executions_*.c.
 */
#ifndef WEIR_TEST_EXECUTIONS_CLAIMS_H
#define WEIR_TEST_EXECUTIONS_CLAIMS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/executions/flow_crash.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/execution/flow_engines.h"
#include "kit/outbox/outbox_engines.h"
#include "weir/execution.h"

enum {
    EXECUTIONS = 4000,
    EXECUTIONS_LONG = 100000,
    EXECUTIONS_FAULTS = 20,
    EXECUTIONS_FAULTS_LONG = 400,
    EXECUTIONS_FEW = 150,
    EXECUTIONS_TRIES_MAX = 6
};

/* ---- everything at once ------------------------------------------------------------ */

static inline void end_exactly_once(struct fixture *fixture)
{
    bool is_long = choice_is_long();
    struct flow_crash_options options;
    struct flow_crash_result result;

    flow_crash_options_init(&options, choice_seed(), fixture->engine,
                            is_long ? EXECUTIONS_LONG : EXECUTIONS,
                            is_long ? EXECUTIONS_FAULTS_LONG : EXECUTIONS_FAULTS);
    flow_crash_run(fixture, &options, &result);
    flow_crash_print(fixture, &options, &result);

    check_int(result.violations, 0);
    check_in_range(result.executions, (int64_t)options.rig.work, INT64_MAX);
    check_int(result.rig.kills + result.rig.stops + result.rig.outages,
              options.rig.faults);
    check_int(result.rig.outages, options.rig.outages);
    check(result.outcomes[WEIR_OUTCOME_LEASE_LOST] >
          0); /* or no fault has hit anything */
    check(result.told_fenced > 0);
    check(result.asked_again > 0);
    check(result.resubmitted > 0);
    check(result.rolled_back > 0);
}

/* ---- planted bugs ------------------------------------------------------------------ */

static struct flow_crash_options executions_options;
static struct flow_crash_result executions_found;

static inline void run_planted(struct fixture *fixture)
{
    flow_crash_run(fixture, &executions_options, &executions_found);
    flow_crash_print(fixture, &executions_options, &executions_found);
}

/* The audit tells of each of these that the rule is broken. What is to be spoilt may be
 * missing in one run, not in many. */
static inline void check_planted(enum weir_engine engine, enum flow_crash_rule rule,
                                 const enum flow_crash_plant *plants)
{
    uint64_t seed = choice_seed();

    for (uint64_t i = 0; i < EXECUTIONS_TRIES_MAX; i++) {
        flow_crash_options_init(&executions_options, seed + i, engine, EXECUTIONS_FEW, 0);
        executions_options.plants = plants;
        executions_options.rule = rule;
        executions_options.rig.lose_every = 0;
        flow_fixture_run(engine, run_planted);
        if (executions_found.missed == FLOW_CRASH_SOUND)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "bug %d was not found in %d runs",
                   (int)executions_found.missed, EXECUTIONS_TRIES_MAX);
}

#define CHECK_PLANTED(engine, rule, ...)                                                 \
    check_planted(engine, rule,                                                          \
                  (const enum flow_crash_plant[]){__VA_ARGS__, FLOW_CRASH_SOUND})

#endif
