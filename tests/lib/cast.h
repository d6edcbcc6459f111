/*
 * cast.h - processes that a test forks, kills, stops, ends and replaces, at random.
 *
 *   cast_start --> runs --SIGKILL--> gone (start the next one)
 *                   ^ |
 *                   | +---SIGSTOP--> lies, for a time
 *                   +----------------+
 *
 * A process has a *seat*, which its successor takes over. It is struck at once, or when it obeys an
 * order: a number on the board, whose meaning is its own, that it takes off and then strikes itself.
 *
 * The test's process has no connection open while it forks: neither a server's nor SQLite's locks
 * would survive that. What all share is in pages mapped beforehand. Nobody but the test's process may
 * fail a check; the others leave a text and go.
 *
 * Threads  The test's main thread, without any other.
 * Failure  Fails the running test, and leaves nobody behind.
 */
#ifndef WEIR_TEST_CAST_H
#define WEIR_TEST_CAST_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault_point.h"
#include "lib/engines.h"
#include "weir/db.h"

enum { CAST_SEATS_MAX = 16, CAST_TROUBLE_SIZE = 512 };

/* In memory that all processes share. */
struct cast_board {
    _Atomic uint32_t order[CAST_SEATS_MAX]; /* 0: nothing is ordered */
    _Atomic bool troubled;
    char trouble[CAST_TROUBLE_SIZE];
};

struct cast_seat {
    pid_t pid; /* 0: nobody */
    bool lies;
    int64_t until_ns; /* when one that lies goes on */
};

struct cast {
    struct fixture *fixture; /* its database is open in the test's process only */
    struct cast_board *board;
    uint64_t seed;
    uint32_t seat_count;
    void *state;                              /* of these two */
    void (*live)(void *state, uint32_t seat); /* in the process, which ends with it */
    void (*goes_on)(
        void *state,
        uint32_t seat); /* in the test's: it lies no more; NULL: nobody asks */
    struct cast_seat seats[CAST_SEATS_MAX];
};

/* ---- the test's process ------------------------------------------------------------------- */

/* Whoever had the seat is gone. */
void cast_start(struct cast *self, uint32_t seat);

/* Closed while processes are forked; opened again for whoever looks at what they did. */
void cast_close_fixture(struct cast *self);
void cast_open_fixture(struct cast *self);

/*
 * Strike a process that runs, and return when it has ended or stopped. With an `order`, when it obeys
 * that; it has no occasion to: at once. *at_order says which, and *begin_us since when it may have been
 * struck. After SIGKILL the seat is empty; after SIGSTOP it lies until cast_lay() says for how long.
 */
void cast_strike(struct cast *self, uint32_t seat, int signal_number, uint32_t order,
                 bool *at_order, int64_t *begin_us);

/* So long; then it goes on, while any of the functions here waits. */
void cast_lay(struct cast *self, uint32_t seat, int64_t ms);
void cast_go_on(struct cast *self, uint32_t seat); /* now, if it lies */
void cast_let_go_on(struct cast *self, bool all);
uint32_t cast_lying(const struct cast *self);

/* On SQLite: one that lies may be in the middle of writing, and then nobody can. */
bool cast_blocks_everybody(struct cast *self);

/* Told to end: within a minute, and well. */
void cast_await(struct cast *self, uint32_t seat, const char *trouble);

/* Nobody has ended without being told; and the same again and again, for so long. */
void cast_check(struct cast *self);
void cast_rest(struct cast *self, uint32_t ms);

__attribute__((noreturn)) void cast_fail(struct cast *self, const char *text);

/* ---- any process -------------------------------------------------------------------------- */

/* Microseconds since 1970: the clock of the databases too, which are on this machine. */
int64_t cast_now_us(void);

/* Leave, with the first trouble of all as text. */
__attribute__((noreturn, format(printf, 2, 0))) void
cast_give_up(struct cast_board *board, const char *format, va_list args);

/* A database handle of this process, with these points. WEIR_VERBOSE=1: what the library has to say
 * goes to the error output, with the time and the process's number, which is borrowed. NULL, with a
 * text, when it cannot be made. */
struct weir_db *cast_open_db(const struct fixture *fixture,
                             struct weir_fault_points *points, uint32_t *process,
                             struct weir_error *error);

#endif
