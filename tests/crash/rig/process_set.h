/*
 * process_set.h - processes that a test forks, kills, stops, ends and replaces, at
 * random.
 *
 *   process_set_start --> runs --SIGKILL--> gone (start the next one)
 *                   ^ |
 *                   | +---SIGSTOP--> lies, for a time
 *                   +----------------+
 *
 * A process has a *seat*, which its successor takes over. It is struck at once, or when
 * it obeys an order: a number on the board, whose meaning is its own, that it takes off
 * and then strikes itself.
 *
 * The test's process has no connection open while it forks: neither a server's nor
 * SQLite's locks would survive that. What all share is in pages mapped beforehand.
 * Nobody but the test's process may fail a check; the others leave a text and go.
 *
 * Threads  The test's main thread, without any other.
 * Failure  Fails the running test, and leaves nobody behind.
 */
#ifndef WEIR_TEST_PROCESS_SET_H
#define WEIR_TEST_PROCESS_SET_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault_point.h"
#include "kit/db/engines.h"
#include "weir/db.h"

enum { PROCESS_SET_PROCESS_SLOTS_MAX = 32, PROCESS_SET_TROUBLE_SIZE = 512 };

/* In memory that all processes share. */
struct process_set_board {
    _Atomic uint32_t order[PROCESS_SET_PROCESS_SLOTS_MAX]; /* 0: nothing is ordered */
    _Atomic bool troubled;
    char trouble[PROCESS_SET_TROUBLE_SIZE];
};

struct process_set_process_slot {
    pid_t pid; /* 0: nobody */
    bool lies;
    int64_t until_ns; /* when one that lies goes on */
};

struct process_set {
    struct fixture *fixture; /* its database is open in the test's process only */
    struct process_set_board *board;
    uint64_t seed;
    uint32_t process_slot_count;
    bool may_leave; /* one that ends well without being told is no failure */
    void *state;    /* of these two */
    void (*live)(void *state,
                 uint32_t process_slot); /* in the process, which ends with it */
    void (*goes_on)(
        void *state,
        uint32_t process_slot); /* in the test's: it lies no more; NULL: nobody asks */
    struct process_set_process_slot process_slots[PROCESS_SET_PROCESS_SLOTS_MAX];
};

/* ---- the test's process ------------------------------------------------------------ */

/* Whoever had the seat is gone. */
void process_set_start(struct process_set *self, uint32_t process_slot);

/* Closed while processes are forked; opened again for whoever looks at what they did. */
void process_set_close_fixture(struct process_set *self);
void process_set_open_fixture(struct process_set *self);

/*
 * Strike a process that runs, and return when it has ended or stopped. With an `order`,
 * when it obeys that; it has no occasion to: at once. *at_order says which, and
 * *begin_us since when it may have been struck. After SIGKILL the seat is empty; after
 * SIGSTOP it lies until process_set_lay() says for how long.
 */
void process_set_strike(struct process_set *self, uint32_t process_slot,
                        int signal_number, uint32_t order, bool *at_order,
                        int64_t *begin_us);

/* So long; then it goes on, while any of the functions here waits. */
void process_set_lay(struct process_set *self, uint32_t process_slot, int64_t ms);
void process_set_go_on(struct process_set *self,
                       uint32_t process_slot); /* now, if it lies */
void process_set_let_go_on(struct process_set *self, bool all);
uint32_t process_set_lying(const struct process_set *self);

/* On SQLite: one that lies may be in the middle of writing, and then nobody can. */
bool process_set_blocks_everybody(struct process_set *self);

/* Told to end: within two minutes, and well. */
void process_set_await(struct process_set *self, uint32_t process_slot,
                       const char *trouble);

/* Nobody has ended without being told; and the same again and again, for so long. */
void process_set_check(struct process_set *self);
void process_set_rest(struct process_set *self, uint32_t ms);

__attribute__((noreturn)) void process_set_fail(struct process_set *self,
                                                const char *text);

/* ---- any process ------------------------------------------------------------------- */

/* Microseconds since 1970: the clock of the databases too, which are on this machine. */
int64_t process_set_now_us(void);

/* Leave, with the first trouble of all as text. */
__attribute__((noreturn, format(printf, 2, 0))) void
process_set_give_up(struct process_set_board *board, const char *format, va_list args);

/* A database handle of this process, with these points. WEIR_VERBOSE=1: what the
 * library has to say goes to the error output, with the time and the process's number,
 * which is borrowed. NULL, with a text, when it cannot be made. */
struct weir_db *process_set_open_db(const struct fixture *fixture,
                                    struct weir_fault_points *points, uint32_t *process,
                                    struct weir_error *error);

#endif
