/*
 * fault_point.h - named places in product code where a test can make something happen.
 *
 *   (void)WEIR_POINT(points, "tx.committed");   a place: a test waits or kills here
 *   if (WEIR_POINT(points, "db.lose"))          a fault, or a small limit
 *       return WEIR_FAULT_LOSE;
 *
 * A point never chooses wrong code: bugs that tests must find are patches, in
 * tests/mutants. script/check/mutants lists the points that decide something.
 *
 * Without WEIR_POINTS (a release build) a point is the constant false and costs nothing.
 * A test arms a point by name; nothing fires by itself. A point that is armed with a call
 * does not fire: the call happens at that place, and the passing thread continues as
 * usual.
 *
 * A simulation wants to be asked at every place, whatever its name: it sets an
 * *oracle*, which decides about all points that are not armed, and may wait there
 * (weir/sim.h).
 *
 * Threads  Arm before the code under test runs; firing is any thread's.
 */
#ifndef WEIR_BASE_FAULT_POINT_H
#define WEIR_BASE_FAULT_POINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WEIR_POINTS_MAX = 16 };

typedef void (*weir_fault_point_fn)(void *argument);

/* Does the point of this name fire for this pass? */
typedef bool (*weir_oracle_fn)(void *argument, const char *name);

struct weir_fault_point {
    const char *name;         /* borrowed */
    _Atomic uint64_t passed;  /* how often the place was reached */
    uint64_t every;           /* fires at each `every`th pass; 1 is always */
    bool once;                /* and then never again */
    weir_fault_point_fn call; /* instead of firing; may be NULL */
    void *argument;           /* of the call */
};

struct weir_fault_points {
    struct weir_fault_point armed[WEIR_POINTS_MAX];
    uint32_t armed_count;
    weir_oracle_fn oracle; /* of all that are not armed; may be NULL */
    void *oracle_argument;
};

#ifdef WEIR_POINTS
#define WEIR_POINT(points, name) weir_fault_points_fires(points, name)
#else
#define WEIR_POINT(points, name) ((void)(points), (void)(name), false)
#endif

void weir_fault_points_init(struct weir_fault_points *self);

/* From now on `name` fires at each `every`th pass (at least 1). At most WEIR_POINTS_MAX
 * names; arming one again starts its count anew. Borrows `name`. */
void weir_fault_points_arm(struct weir_fault_points *self, const char *name,
                           uint64_t every);

/* The same, but it fires only once: at pass `at` (at least 1). */
void weir_fault_points_arm_once(struct weir_fault_points *self, const char *name,
                                uint64_t at);

/* At pass `at` (at least 1), and only then, call `call` on the thread that passes. */
void weir_fault_points_arm_call(struct weir_fault_points *self, const char *name,
                                uint64_t at, weir_fault_point_fn call, void *argument);

void weir_fault_points_set_oracle(struct weir_fault_points *self, weir_oracle_fn oracle,
                                  void *argument);

/* Count a pass; true when it fires. `self` may be NULL: never. */
bool weir_fault_points_fires(struct weir_fault_points *self, const char *name);

#endif
