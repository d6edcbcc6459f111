/*
 * rig.h - a crash test: processes that are killed, stopped, ended and replaced at
 * random while they work, and an audit of what they leave behind.
 *
 * What is tested is a model:
 *
 *   plan    before the first process: tables, queues, subscriptions
 *   act     the life of a process, from fork to exit
 *   blame   a process or the server was hit: notes what that may explain
 *   audit   no process runs any more: compares the notes with the tables
 *
 *   plan -> act, with faults and ends -> trial -> unwritten is 0, writers leave
 *        -> settle -> unfinished is 0, all leave -> audit
 *
 * All choices come from the seed. What happens at the same time does not: a seed makes
 * a violation likely to come again, not sure.
 *
 * Threads  The main thread of the test, without any other: it forks.
 * Memory   `struct rig_shared` is the first member of the memory that the processes of
 *          a model share; rig_share() maps it.
 * Failure  A process that does not start, work or end fails the test; what the audit
 *          finds is the model's.
 */
#ifndef WEIR_TEST_RIG_H
#define WEIR_TEST_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault_point.h"
#include "crash/rig/process_set.h"
#include "kit/db/engines.h"

struct rig;

struct rig_options {
    uint64_t seed;
    uint32_t work;         /* units that are written, paced by the faults */
    uint32_t faults;       /* of processes and the server */
    uint32_t outages;      /* of them, of the server, which is the test's own */
    uint32_t ends;         /* and so many processes end in good order and are replaced */
    uint32_t lose_every;   /* of so many commits the reply of one is lost; 0: of none */
    int signal;            /* all faults of processes are this one; 0: both kinds */
    int64_t lease_ms;      /* a stop is longer */
    int64_t wait_limit_ns; /* to wait while nothing ends */
};

struct rig_counts {
    uint32_t kills;
    uint32_t stops;
    uint32_t brief_stops; /* of them, shorter than a lease: on SQLite a longer one would
                             have stopped all */
    uint32_t outages;
    uint32_t ends;
    uint32_t at_orders; /* kills and stops at the place that was ordered */
    int64_t struck_ns;  /* until the last fault, until all had left, and the whole */
    int64_t ended_ns;
    int64_t took_ns;
};

enum rig_event {
    RIG_KILLED, /* and not yet replaced */
    RIG_STOPPED,
    RIG_BLOCKS_ALL, /* the one that was stopped, which will go on at once */
    RIG_CONTINUED,
    RIG_OUTAGE_BEGINS, /* without a slot */
    RIG_OUTAGE_ENDS
};

struct rig_model {
    /* Slots: writers, others, and at the end those that are stopped together. */
    uint32_t slots;
    uint32_t writers;
    uint32_t together; /* the first of them; `slots`: there are none */
    uint32_t ended;    /* the first that may be ended */

    uint32_t gap_ms_min; /* between two faults */
    uint32_t gap_ms_max;
    uint32_t stop_ms_more; /* than a lease, at most */
    uint32_t stops;        /* of `stops_of` faults so many are stops */
    uint32_t stops_of;
    uint32_t stopped_max; /* at the same time; on SQLite another number */
    uint32_t stopped_max_on_sqlite;
    bool may_leave; /* a process may end well by itself */

    void (*plan)(struct rig *rig);
    void (*act)(struct rig *rig);
    void (*audit)(struct rig *rig);

    /* Optional: NULL does nothing, and chooses evenly. */
    uint32_t (*choose_victim)(struct rig *rig);
    uint32_t (*choose_order)(struct rig *rig, uint32_t slot, int signal_number);
    void (*blame)(struct rig *rig, enum rig_event event, uint32_t slot, int64_t since_us);
    void (*trial)(struct rig *rig);  /* after the last fault */
    void (*settle)(struct rig *rig); /* no more is written; the fixture is open */

    /* What is waited for, as long as it gets less. */
    int64_t (*unwritten)(struct rig *rig);
    int64_t (*unfinished)(struct rig *rig);
};

struct rig_shared {
    struct process_set_board board;
    struct weir_fault_points points;
    _Atomic bool leave[PROCESS_SET_PROCESS_SLOTS_MAX];
    _Atomic bool ready[PROCESS_SET_PROCESS_SLOTS_MAX];
    _Atomic uint32_t processes; /* numbers given */
    _Atomic uint32_t allowed;   /* units that may be written by now */
    _Atomic uint32_t doubts;    /* replies that were lost */
};

/* Each process has its copy; what is shared is the same for all. */
struct rig {
    const struct rig_model *model;
    struct rig_options options;
    void *state;             /* the model's */
    struct fixture *fixture; /* its database is open in the test's process only */
    struct rig_shared *shared;
    struct rig_counts *counts; /* the test's process */
    uint64_t chance;           /* the state of this process's choices */
    uint32_t slot;             /* of this process */
    uint32_t process;          /* its number, which no other has */
    uint32_t numbers[PROCESS_SET_PROCESS_SLOTS_MAX]; /* of the processes, by slot */
    struct process_set processes;
};

/* ---- the test's process ------------------------------------------------------------ */

/* Shared memory of so many bytes, all zero, that begins with a rig_shared. */
void *rig_share(size_t size);

/* From plan to audit. Model, options, state, fixture, shared and counts are set. */
void rig_run(struct rig *self);

/* The figures, as a comment of the test. */
void rig_print(const struct fixture *fixture, const struct rig_options *options,
               const struct rig_counts *counts);

/* For trials of a model. */
void rig_start(struct rig *self, uint32_t slot);
void rig_wait_until_ready(struct rig *self);

/* Until nothing is left, as long as it gets less: a slow machine takes its time, what
 * stands still never ends. Returns what is left. */
int64_t rig_wait_while_less(struct rig *self, int64_t (*count)(struct rig *),
                            int64_t limit_ns);

/* ---- any process ------------------------------------------------------------------- */

uint64_t rig_mix(uint64_t x);
void rig_rest_us(uint32_t us);

/* From 0 to below `n`. */
uint32_t rig_roll(struct rig *self, uint32_t n);

/* It has begun to work; it is to leave. */
void rig_be_ready(struct rig *self);
bool rig_must_leave(const struct rig *self);

/* End the process, with the text of the first failure of all. The second does so unless
 * trying again may help; it returns whether all went well, and counts lost replies. */
__attribute__((noreturn, format(printf, 2, 3))) void rig_give_up(struct rig *self,
                                                                 const char *format, ...);
bool rig_went_well(struct rig *self, const char *what, enum weir_status status,
                   const struct weir_error *error);

/* A database handle of this process, with the points of the rig. */
struct weir_db *rig_open_db(struct rig *self);

/* ---- orders ------------------------------------------------------------------------ */

/* An order is a signal, and a number that its receiver understands. */
enum { RIG_ORDER_SIGNALS = 256 };
uint32_t rig_order(int signal_number, uint32_t number);

/* Signals in front of a statement: most within a few transactions. rig_run() obeys
 * these at each point that is passed; a model without them sets its own oracle. */
uint32_t rig_order_statements(struct rig *self, int signal_number, uint32_t most);

/* Take the order of this process, if it is this one, and obey. */
void rig_obey(struct rig *self, uint32_t order);

#endif
