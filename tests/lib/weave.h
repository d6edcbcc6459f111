/*
 * weave.h - sessions that run step by step, in every order.
 *
 *   static void writer(struct strand *self)          what one session does
 *   {
 *       pg_run(..., "BEGIN");
 *       strand_step(self);                           between two of its steps
 *       pg_run(..., "COMMIT");
 *   }
 *
 * An order says whose turn is next: 0 0 1 0 1. A strand that has its turn runs to its next step,
 * alone. When it has to wait for a lock that another strand holds (the server says so), the
 * others go on and it finishes its step when it can; turns that fall to it meanwhile are skipped.
 * After the order all strands run to their ends in turn. So the same order gives the same
 * run, and nothing depends on time.
 *
 * Steps may be places in product code: strand_arm() makes a fault point of base/point.h one.
 *
 * Failure  When nobody can go on, or somebody neither ends its step nor waits, for a minute, the
 *          test fails.
 */
#ifndef WEIR_TEST_WEAVE_H
#define WEIR_TEST_WEAVE_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/point.h"

enum { WEAVE_STRANDS_MAX = 3, WEAVE_ORDER_MAX = 48 };

struct weave;
struct strand;
typedef void (*strand_fn)(struct strand *self);

enum { STRAND_READY, STRAND_RUNNING, STRAND_ENDED };

struct strand {
    strand_fn body;
    void *state;     /* the test's */
    int backends[2]; /* the server's processes it works with, PQbackendPID(); 0: none */

    /* The weave's own. */
    struct weave *weave;
    pthread_t thread;
    int phase;  /* STRAND_READY, ... */
    bool waits; /* running, and behind a lock */
};

/* Only from the strand's body: end of a step. */
void strand_step(struct strand *self);

/* Every pass of the point is the end of a step. */
void strand_arm(struct strand *self, struct weir_points *points, const char *name);

/* Run strands in one order. `monitor` is asked who waits for whom. */
void weave_run(struct strand *strands, size_t count, PGconn *monitor,
               const uint8_t *order, size_t turns);

/* Called with each order. */
typedef void (*weave_fn)(void *state, const uint8_t *order, size_t turns);

/* All orders in which strand i has steps[i] turns. */
void weave_all(const uint8_t *steps, size_t count, weave_fn run, void *state);

/* So many of them, the same for the same seed. When WEIR_LONG is set: all, or twenty times as
 * many where there are more than anybody can wait for. */
void weave_some(const uint8_t *steps, size_t count, size_t samples, uint64_t seed,
                weave_fn run, void *state);

/* "0110": for failures. */
void weave_print(const uint8_t *order, size_t turns, char out[WEAVE_ORDER_MAX + 1]);

#endif
