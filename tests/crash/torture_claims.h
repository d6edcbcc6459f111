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

/* ---- one place --------------------------------------------------------------------- */

/* Few messages, and faults of one kind at one place. */
struct torture_case {
    enum torture_plant plant;
    enum torture_rule rule; /* that is asked for; all are by hold_through_everything() */
    const char *place;      /* of faults; NULL: none */
    int signal;             /* all of them are this one; 0: both kinds */
    uint32_t stands;        /* at the place, instead of faults */
    uint32_t attempts_max;  /* 0: as ever */
};

static const struct torture_case *torture_case;
static struct torture_result torture_found;
static uint64_t torture_seed;

static inline void run_case(struct fixture *fixture)
{
    struct torture_options options;

    torture_options_init(&options, torture_seed, fixture->engine, 0);
    options.rig.faults = torture_case->place != NULL && torture_case->stands == 0 ? 4 : 0;
    options.stands = torture_case->stands;
    options.rig.work = 400;
    options.plant = torture_case->plant;
    if (torture_case->attempts_max > 0)
        options.attempts_max = torture_case->attempts_max;
    options.place = torture_case->place;
    options.rig.signal = torture_case->signal;
    if (torture_case->plant != TORTURE_SOUND)
        options.rig.wait_limit_ns = WEIR_SECONDS(5);
    torture_run(fixture, &options, &torture_found);
    torture_print(fixture, &options, &torture_found);
}

static inline void check_sound(enum weir_engine engine, const struct torture_case *sound)
{
    uint64_t seed = choice_seed();

    torture_case = sound;
    for (unsigned i = 0; i < weir_test_tries(); i++) {
        torture_seed = seed + i;
        outbox_fixture_run(engine, run_case);
        check_int(torture_found.broken[sound->rule], 0);
    }
}

/* Killed between what the handler wrote and the ack, which are one transaction. */
static const struct torture_case KILLED_BEFORE_COMMIT = {.rule = TORTURE_T6,
                                                         .place = "tx.commit",
                                                         .signal = SIGKILL};

/* Stopped just before it acknowledges; when it goes on another process has the lease. */
static const struct torture_case STOPPED_BEFORE_ACK = {.rule = TORTURE_T2,
                                                       .place = "acker.collected",
                                                       .signal = SIGSTOP};

/* Killed in any call: what waited in its other partitions was in no call. One attempt,
 * so that a death would show; a message that was alone in its call is rejected. */
static const struct torture_case KILLED_IN_CALLS = {.rule = TORTURE_T9,
                                                    .place = "handler_runner.begun",
                                                    .signal = SIGKILL,
                                                    .attempts_max = 1};

/* ---- planted bugs ------------------------------------------------------------------ */

/* The audit tells that something is wrong. Chance may hide it for a while, not for
 * ever. */
static inline void check_found(enum weir_engine engine, const struct torture_case *bug)
{
    uint64_t seed = choice_seed();

    torture_case = bug;
    for (int i = 0; i < TRIES_MAX; i++) {
        torture_seed = seed + (uint64_t)i;
        outbox_fixture_run(engine, run_case);
        if (torture_found.broken[bug->rule] > 0)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "%d runs found nothing wrong", TRIES_MAX);
}

#endif
