/*
 * floors.h - where claims begin to look, when the index of the ready ones is full of
 * what was.
 *
 * On PostgreSQL an execution that was claimed leaves its entry in the index of the
 * ready ones until vacuum removes it, which it cannot while a snapshot is open that is
 * older (a backup, a report, a forgotten transaction). Every claim would walk all of
 * them again. Places in line grow with time (WEIR_TURN_AGAIN() in rules.h), so a process
 * that has walked them once knows a floor: below it nothing is ready.
 *
 *   one lane and set, priority 5          again                           new
 *                              ----------------|=====>  0  ------------------|=====>
 *                                used up     floor           used up       floor
 *
 * Floors belong to a process, and cost nothing while claims are fast. A claim that took
 * long may have walked far, or the machine is busy: the index is walked once without a
 * lock, and the entries are counted. Claims begin at floors only when the entries are
 * many, because statements with floors cost more where there is nothing to pass over.
 * From then on floors are learnt anew several times a second, from where they are. A
 * place is given out before its transaction commits, so a floor stays a moment behind.
 * Every now and then, for a small share of the time, everything is walked again: that
 * finds an execution whose transaction was open for longer than that moment. When that
 * walk passes few entries, the floors are dropped.
 * Priorities that were not met have no floor, and are looked at from their beginning.
 *
 * Threads  Any.
 * Memory   A table of fixed size; what does not fit has no floor.
 */
#ifndef WEIR_EXECUTION_STORE_FLOORS_H
#define WEIR_EXECUTION_STORE_FLOORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ward/lock.h"
#include "weir/time.h"

enum {
    WEIR_FLOORS_MAX = 256,
    WEIR_FLOORS_WALK_MIN =
        4000 /* entries of the index: walking fewer costs less than floors do */
};

#define WEIR_FLOORS_SLOW_NS WEIR_MILLISECONDS(20) /* a look that takes so long is slow */

/* Of one lane, set of capabilities and priority: turns below are used up. */
struct weir_floor {
    int64_t lane;
    int64_t capability_set;
    int64_t priority;
    int64_t again; /* of turns below 0 */
    int64_t fresh; /* of the others */
};

/* How much of the index is to be walked to learn floors anew. */
enum weir_floors_due { WEIR_FLOORS_NOTHING, WEIR_FLOORS_NEXT, WEIR_FLOORS_ALL };

struct weir_floors {
    struct weir_lock lock; /* guards all that follows */
    bool active;           /* they are learnt */
    bool used;        /* and claims begin there: the last walk of everything was long */
    bool learning;    /* one thread is */
    int64_t quiet_ns; /* until then a slow claim is no reason to walk */
    int64_t fastest_ns;
    int64_t next_ns; /* when to learn */
    int64_t all_ns;  /* when to walk everything */
    size_t count;
    struct weir_floor floors[WEIR_FLOORS_MAX]; /* by lane, set; larger priorities first */
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_floors_init(struct weir_floors *self);
void weir_floors_fini(struct weir_floors *self);

/* A look at what is ready took so long. */
void weir_floors_note(struct weir_floors *self, int64_t took_ns, int64_t now_ns);

bool weir_floors_are_active(struct weir_floors *self);
bool weir_floors_are_used(struct weir_floors *self);

/* There are such executions. Nothing happens while no floors are needed. */
void weir_floors_meet(struct weir_floors *self, int64_t lane, int64_t capability_set,
                      int64_t priority);

/*
 * Is it time to learn? Other than NOTHING: the caller does it, and *out has room for
 * WEIR_FLOORS_MAX: what to ask for, each from where it begins. Then it calls learnt(),
 * with what it has found: the first ready turn of each kind, INT64_MAX if there is
 * none, the database's clock and the number of entries that were walked; or forget(),
 * if it failed.
 */
enum weir_floors_due weir_floors_begin(struct weir_floors *self, int64_t now_ns,
                                       struct weir_floor *out, size_t *count);
void weir_floors_learnt(struct weir_floors *self, enum weir_floors_due due,
                        const struct weir_floor *found, size_t count, int64_t clock_us,
                        int64_t walked, int64_t took_ns, int64_t now_ns);
void weir_floors_forget(struct weir_floors *self);

/* The floors of these lanes and sets, by lane, set, larger priorities first; *out has
 * room for WEIR_FLOORS_MAX. Returns how many. */
size_t weir_floors_copy(struct weir_floors *self, const int64_t *lanes, size_t lane_count,
                        const int64_t *capability_sets, size_t capability_set_count,
                        struct weir_floor *out);

#endif
