/*
 * flows_claims.h - what is asked of each engine in turn, in a program of its own so
 * that two run at a time: test_flows_*.c.
 */
#ifndef WEIR_TEST_FLOWS_CLAIMS_H
#define WEIR_TEST_FLOWS_CLAIMS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/flows/flows_crash.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/execution/flow_engines.h"
#include "kit/outbox/outbox_engines.h"
#include "weir/suspension.h"

enum {
    FLOWS = 140,
    FLOWS_LONG = 2400,
    FLOWS_FAULTS = 30,
    FLOWS_FAULTS_LONG = 600,
    FLOWS_FEW = 60,
    FLOWS_TRIES_MAX = 24
};

/* ---- everything at once ------------------------------------------------------------ */

/* And there was something of everything, or no fault has hit anything. */
static inline void come_to_their_end(struct fixture *fixture)
{
    bool is_long = choice_is_long();
    struct flows_crash_options options;
    struct flows_crash_result result;

    flows_crash_options_init(&options, choice_seed(), fixture->engine,
                             is_long ? FLOWS_LONG : FLOWS,
                             is_long ? FLOWS_FAULTS_LONG : FLOWS_FAULTS);
    flows_crash_run(fixture, &options, &result);
    flows_crash_print(fixture, &options, &result);

    check_int(result.violations, 0);
    check_int(result.rig.kills + result.rig.stops + result.rig.outages,
              options.rig.faults);
    check_int(result.rig.outages, options.rig.outages);
    check(result.lost_leases > 0);
    check(result.asked_again > 0);
    check(result.decided[1] > 0 && result.decided[2] > 0);
    check(result.siblings > 0);
    check(result.timeouts > 0);
    check(result.effects[WEIR_SIGNAL_RESUMED] > 0);
    check(result.effects[WEIR_SIGNAL_LATE] > 0);
    check(result.refused > 0);
    check(result.held_back > 0);
}

/* ---- planted bugs ------------------------------------------------------------------ */

static struct flows_crash_options flows_options;
static struct flows_crash_result flows_found;

static inline void run_planted(struct fixture *fixture)
{
    flows_crash_run(fixture, &flows_options, &flows_found);
    flows_crash_print(fixture, &flows_options, &flows_found);
    check_int(flows_found.violations, 0); /* before anything was planted */
}

/* What is to be spoilt may be missing in one run, not in many. */
static inline void check_planted(enum weir_engine engine)
{
    uint64_t seed = choice_seed();
    uint64_t found = 0;
    uint32_t first = 0;

    for (uint64_t i = 0; i < FLOWS_TRIES_MAX; i++) {
        flows_crash_options_init(&flows_options, seed + i, engine, FLOWS_FEW, 0);
        flows_options.plants = true;
        flows_options.rig.lose_every = 0;
        flow_fixture_run(engine, run_planted);
        found |= flows_found.found;
        while (first < flows_found.planted && (found >> first & 1) != 0)
            first++;
        if (first == flows_found.planted)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "a bug was not found in %d runs: %s",
                   FLOWS_TRIES_MAX, flows_crash_plant_name(first));
}

#endif
