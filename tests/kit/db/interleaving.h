/*
 * interleaving.h - sessions that run step by step, in every order.
 *
 *   static void write(struct interleaved_session *self)           what one session does
 *   {
 *       pg_run(..., "BEGIN");
 *       interleaved_session_step(self);                           between two of its
 *                                                                 steps
 *       pg_run(..., "COMMIT");
 *   }
 *   static const struct interleaving_part WRITER = {write, 2, {...}};
 *
 * An order says whose turn is next: 0 0 1 0 1. A strand that has its turn runs to its
 * next step, alone. When it has to wait for a lock that another strand holds (the
 * server says so), the others go on and it finishes its step when it can; turns that
 * fall to it meanwhile are skipped. After the order all strands run to their ends in
 * turn. So the same order gives the same run, and nothing depends on time.
 *
 * Steps may be places in product code: interleaved_session_arm() makes a fault point of
 * base/fault_point.h one.
 *
 * Orders that are the same. A part says of each step what it reads, what it adds to and
 * what it changes, as bits whose meaning is the test's. Two steps of different strands
 * *commute* when neither changes what the other touches, and neither adds to what the
 * other reads: whichever of them comes first, both do the same and leave the same.
 * Orders that become one another by swapping neighbours that commute are one run, and
 * only the first of them by the alphabet is made. (An order with a step that would have
 * to wait cannot happen as it is written. Waiting is touching the lock, so no swap
 * makes it one that can.) With WEIR_LONG=1 all are made.
 *
 * Failure  When nobody can go on, or somebody neither ends its step nor waits, for a
 *          minute, the test fails.
 */
#ifndef WEIR_TEST_INTERLEAVING_H
#define WEIR_TEST_INTERLEAVING_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault_point.h"

enum {
    INTERLEAVING_INTERLEAVED_SESSIONS_MAX = 3,
    INTERLEAVING_STEPS_MAX = 6,
    INTERLEAVING_ORDER_MAX = 18
};

struct interleaving;
struct interleaved_session;
typedef void (*interleaved_session_fn)(struct interleaved_session *self);

/* What a step has to do with the rest of the world: sets of bits. */
struct interleaving_touch {
    unsigned reads;
    unsigned adds; /* as others may too, in any order */
    unsigned changes;
};

/* What a session does. */
struct interleaving_part {
    interleaved_session_fn body;
    size_t steps; /* turns in an order; one more than it has interleaved_session_step()s
                     on its way */
    struct interleaving_touch touches[INTERLEAVING_STEPS_MAX];
};

enum {
    INTERLEAVED_SESSION_READY,
    INTERLEAVED_SESSION_RUNNING,
    INTERLEAVED_SESSION_ENDED
};

struct interleaved_session {
    const struct interleaving_part *part;
    void *state; /* the test's */
    int backend; /* the server's process it works with, PQbackendPID() */

    /* The weave's own. */
    struct interleaving *interleaving;
    pthread_t thread;
    pthread_cond_t go; /* it has its turn */
    int phase;         /* INTERLEAVED_SESSION_READY, ... */
    bool waits;        /* running, and behind a lock */
};

/* Only from the strand's body: end of a step. */
void interleaved_session_step(struct interleaved_session *self);

/* Every pass of the point is the end of a step. */
void interleaved_session_arm(struct interleaved_session *self,
                             struct weir_fault_points *points, const char *name);

/* Run strands in one order. `monitor` is asked who waits for whom. */
void interleaving_run(struct interleaved_session *interleaved_sessions, size_t count,
                      PGconn *monitor, const uint8_t *order, size_t turns);

/* Called with each order; false: no more of them. */
typedef bool (*interleaving_fn)(void *state, const uint8_t *order, size_t turns);

/* All orders of the strands' steps, but for those that are the same (see above).
 * Returns how many were made. */
size_t interleaving_all(const struct interleaved_session *interleaved_sessions,
                        size_t count, interleaving_fn run, void *state);

/* So many of all orders, the same for the same seed; when WEIR_LONG is set, one of each
 * that are the same. */
size_t interleaving_some(const struct interleaved_session *interleaved_sessions,
                         size_t count, size_t samples, uint64_t seed, interleaving_fn run,
                         void *state);

/* "0110": for failures. */
void interleaving_print(const uint8_t *order, size_t turns,
                        char out[INTERLEAVING_ORDER_MAX + 1]);

#endif
