/*
 * torture_claims.h - what is asked of each engine in turn, in a program of its own so
 * that two run at a time: test_torture_*.c.
 */
#ifndef WEIR_TEST_TORTURE_CLAIMS_H
#define WEIR_TEST_TORTURE_CLAIMS_H

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/torture/torture.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/outbox/outbox_engines.h"

enum {
    FAULTS = 24,
    FAULTS_LONG = 1000,
    STANDS = 3,
    STANDS_LONG = 120,
    TRIES_MAX = 6,
};

/* SQLite has no server; the others get one of their own, to be killed. */
static inline void on_own_server(enum weir_engine engine, fixture_fn body)
{
    if (engine == WEIR_SQLITE)
        outbox_fixture_run(engine, body);
    else
        outbox_fixture_run_own(engine, NULL, body);
}

/* ---- everything at once ------------------------------------------------------------ */

static inline void hold_through_everything(struct fixture *fixture)
{
    struct torture_options options;
    struct torture_result result;

    torture_options_init(&options, choice_seed(), fixture->engine,
                         choice_is_long() ? FAULTS_LONG : FAULTS);
    torture_run(fixture, &options, &result);
    torture_print(fixture, &options, &result);

    check_int(result.violations, 0);
    check_int(result.rig.kills + result.rig.stops + result.rig.outages,
              options.rig.faults);
    check_int(result.rig.outages, options.rig.outages);
    check(result.repeats > 0); /* or no fault has hit anything */
    check(result.takeovers > 0);
}

/* ---- a rolling restart ------------------------------------------------------------- */

/* Leases that nobody loses, however slow the machine. */
static inline void restart_in_turn(struct fixture *fixture)
{
    struct torture_options options;
    struct torture_result result;

    torture_options_init(&options, choice_seed(), fixture->engine, 0);
    options.rig.ends = 6;
    options.rig.lease_ms = 30000;
    torture_run(fixture, &options, &result);
    torture_print(fixture, &options, &result);

    check_int(result.violations, 0);
    check_int(result.rig.ends, 6);
    check_int(result.repeats, 0);
}

/* ---- one that stands still --------------------------------------------------------- */

static inline void go_on_beside_one(struct fixture *fixture)
{
    struct torture_options options;
    struct torture_result result;

    torture_options_init(&options, choice_seed(), fixture->engine, 0);
    options.stands = choice_is_long() ? STANDS_LONG : STANDS;
    torture_run(fixture, &options, &result);
    torture_print(fixture, &options, &result);

    check_int(result.violations, 0);
    check_int(result.rig.stops, options.stands);
    check(result.rig.at_orders > 0);
}

/* ---- planted bugs ------------------------------------------------------------------ */

struct torture_bug {
    enum torture_plant plant;
    enum torture_rule rule; /* that it breaks */
    const char *place;      /* of faults; NULL: none are needed */
    int signal;             /* all of them are this one; 0: both kinds */
    uint32_t stands;        /* at the place, instead of faults */
};

static const struct torture_bug *torture_bug;
static struct torture_result torture_found;
static uint64_t torture_seed;

static inline void run_bug(struct fixture *fixture)
{
    struct torture_options options;

    torture_options_init(&options, torture_seed, fixture->engine, 0);
    options.rig.faults = torture_bug->place != NULL && torture_bug->stands == 0 ? 4 : 0;
    options.stands = torture_bug->stands;
    options.rig.work = 400;
    options.plant = torture_bug->plant;
    if (torture_bug->rule == TORTURE_T9)
        options.attempts_max = 1; /* so that a death shows */
    options.place = torture_bug->place;
    options.rig.signal = torture_bug->signal;
    options.rig.wait_limit_ns = WEIR_SECONDS(5);
    torture_run(fixture, &options, &torture_found);
    torture_print(fixture, &options, &torture_found);
}

/* The audit tells that something is wrong. Chance may hide it for a while, not for
 * ever. */
static inline void check_found(enum weir_engine engine, const struct torture_bug *bug)
{
    uint64_t seed = choice_seed();

    torture_bug = bug;
    for (int i = 0; i < TRIES_MAX; i++) {
        torture_seed = seed + (uint64_t)i;
        outbox_fixture_run(engine, run_bug);
        if (torture_found.broken[bug->rule] > 0)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "%d runs found nothing wrong", TRIES_MAX);
}

#endif
