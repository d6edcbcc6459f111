/*
 * reconciler.h - what all reconcilers do alike: look, put right what is due, and say
 * when to look again.
 *
 *   look: one statement ---------------- nothing is due ------> asleep until it is
 *     | something is                                              ^
 *     v                                                           |
 *   batch: pick due rows -> rule for each -> store -> commit -> announce
 *     | again while it was full
 *     | it failed because of something in it
 *     v
 *   partition by partition, and where that fails row by row
 *
 * So one row that cannot be repaired delays no other. A row that fails
 * is remembered by its id (weir/failures.h); while it is left alone, batches pass over it
 * and are whole again.
 *
 * Any number of processes may do the same: rows are locked, a row that another process
 * has locked is skipped, and the rule looks again under the lock.
 *
 * Threads  A tick is one thread's; hears() and abort() are any thread's.
 * Memory   Rows of a batch are kept from tick to tick, until fini().
 * Failure  A tick fails as a whole when the database cannot be asked, or has something
 *          that this library does not know (WEIR_SCHEMA). What fails by itself is
 *          counted and logged.
 */
#ifndef WEIR_EXECUTION_RECONCILE_RECONCILER_H
#define WEIR_EXECUTION_RECONCILE_RECONCILER_H

#include <stdatomic.h>

#include "execution/change_set.h"
#include "execution/reconcile/due_cache.h"
#include "ward/lock.h"
#include "weir/execution_supervisor.h"
#include "weir/scanner.h"

enum { WEIR_RECONCILE_BATCH = 1000 };

/* How often it looks while it is attentive. What is set in silence and due later than
 * that is seen before its time; the rest is late by less than that. */
#define WEIR_RECONCILER_PERIOD_NS WEIR_MILLISECONDS(50)

struct weir_reconciler_task;

/* What becomes of a row that is due. */
typedef enum weir_ruling (*weir_reconcile_rule_fn)(struct weir_execution_row *row,
                                                   int64_t now_us,
                                                   struct weir_consequence *out);

/* One kind of reconciler: a constant. */
struct weir_reconciler_kind {
    weir_reconcile_rule_fn rule;

    int64_t period_ns; /* how often it looks while it is attentive; 0: as the others */

    /* Rows for which the rule says DONE are removed, and not stored. It is not urgent:
     * it looks at its interval, and is not woken. */
    bool removes;

    weir_scan_tick_fn tick; /* its state is a struct weir_reconciler_task */
    weir_scan_tick_fn work; /* of weir_reconcile_found(); the same state */
};

/* weir_reconciler_lease_expiry and the like: of every row of reconciler_list.h. */
#define WEIR_RECONCILER_KIND(kind, id, ...) WEIR_RECONCILER_KIND_OF(__VA_ARGS__, 0)
#define WEIR_RECONCILER_KIND_OF(name, ...)                                               \
    extern const struct weir_reconciler_kind weir_reconciler_##name;
WEIR_RECONCILERS(WEIR_RECONCILER_KIND, WEIR_RECONCILER_KIND, WEIR_RECONCILER_KIND,
                 WEIR_RECONCILER_KIND, WEIR_RECONCILER_KIND)

/* A row of the list; each has one, by enum weir_reconciler. */
struct weir_reconciler_row {
    const char *name;
    int64_t interval_ms;
    enum weir_due_kind due;
    const struct weir_reconciler_kind *kind;
};
extern const struct weir_reconciler_row weir_reconcilers[WEIR_RECONCILER_COUNT];

/* One that runs, or may. The first part is set by its supervisor, which calls init()
 * then. */
struct weir_reconciler_task {
    const struct weir_reconciler_kind *kind; /* NULL: it does not run */
    enum weir_due_kind due;
    struct weir_executions *executions; /* these four borrowed */
    struct weir_db *db;
    const struct weir_store *store;
    const struct weir_heap *heap;
    uint32_t partitions;
    int64_t interval_us;
    int64_t age_us;                   /* how long after its time a row is due */
    struct weir_due_cache *due_cache; /* borrowed: what others have seen; NULL: nothing */

    /* the tick's alone */
    int64_t looked_ns; /* when the last look was that it knows of */
    bool borrowed;     /* of other processes */
    struct weir_execution_records records;
    struct weir_change *changes; /* owned, as the next: what the rule has changed */
    int64_t *nos;
    size_t room; /* in both */

    /* When it looks by itself, by the database's clock. INT64_MAX: it is looking now,
     * so whatever comes is news; 0: let it rest. */
    _Atomic int64_t look_us;

    /* Until when it looks often, by the executor's clock. 0: it does not,
     * and has to be woken; INT64_MAX: let it rest. */
    _Atomic int64_t attentive_ns;

    _Atomic bool told; /* that something of its kind was left to it */

    struct weir_lock lock;           /* guards all that follows */
    struct weir_connection *running; /* a transaction of ours that may be aborted; NULL */
};

/* Fails with WEIR_NO_MEMORY or WEIR_SYSTEM. fini() owes only what init() made. */
WEIR_CHECKED enum weir_status weir_reconciler_init(struct weir_reconciler_task *self,
                                                   struct weir_error *error);
void weir_reconciler_fini(struct weir_reconciler_task *self);

/* The tick of all that need no other. The filter of the scan is a struct
 * weir_store_filter. */
enum weir_status weir_reconcile(struct weir_context *context, void *task,
                                const struct weir_scan_tick *tick,
                                struct weir_scan_report *out, struct weir_error *error);

/* The tick of those that do their work whenever there is a time of their kind, due or
 * not. */
enum weir_status weir_reconcile_found(struct weir_context *context, void *task,
                                      const struct weir_scan_tick *tick,
                                      struct weir_scan_report *out,
                                      struct weir_error *error);

/* Something was committed. True: it has to be woken, since it would look too late. Any
 * thread. */
bool weir_reconciler_hears(struct weir_reconciler_task *self,
                           const struct weir_pending_wakeups *pending_wakeups,
                           int64_t now_ns);

/* For ticks of their own: around what they do. begins() returns whether there was an
 * announcement, or the tick before has failed; from ends() on an announcement wakes
 * it, unless this one has failed. */
bool weir_reconciler_begins(struct weir_reconciler_task *self);
void weir_reconciler_ends(struct weir_reconciler_task *self, enum weir_status status,
                          struct weir_scan_report *report);

/* When the first of its kind is due. `told`, from begins(): it has to look itself.
 * Without an announcement, what another reconciler has seen within its interval will
 * do. */
WEIR_CHECKED enum weir_status weir_reconciler_look(struct weir_reconciler_task *self,
                                                   bool told,
                                                   const struct weir_store_filter *filter,
                                                   struct weir_due_time *out,
                                                   struct weir_error *error);

/* What is to be changed is locked: a point for tests. */
void weir_reconciler_has_locked(struct weir_reconciler_task *self);

/* Is what failed likely to work with fewer rows? Otherwise it is the database. */
bool weir_reconciler_is_about_rows(enum weir_status status);

/* End the statement that it waits for, if any; what it was about is undone. */
void weir_reconciler_abort(struct weir_reconciler_task *self);

/* For what a tick does besides: the connection of a statement that may be aborted; then
 * NULL. */
void weir_reconciler_runs_on(struct weir_reconciler_task *self,
                             struct weir_connection *connection);

#endif
