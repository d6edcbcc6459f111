/*
 * scanner.h - scans that look after something again and again, each at its own interval.
 *
 * A scan is a function that searches for what is overdue and puts it right. It is
 * *global*, and then a cycle is one tick, or *partitioned*, and then a cycle is one
 * tick for each of the partitions 0 to n-1. A scanner runs many scans. Neither an error
 * nor a panic of a tick keeps the next partition or the next cycle from being tried,
 * and a tick that never comes back holds up its own scan and no other.
 *
 *   create -> add, add, ... -> start -> stop(grace) -> destroy
 *
 * The first cycle begins at start(), the next one an interval after the one before it
 * began. A cycle that takes longer is followed by the next one at once, and time is
 * counted from there: cycles that were missed are not made up for.
 *
 *   time      0         10        20        30   34   40   44   50
 *   interval  |---------|---------|---------|---------|---------|
 *   cycles    aaa       b         ccccccccccccccdd        e
 *
 * A tick that knows when there will be something to do says so, and the next cycle
 * begins then; code that adds earlier work wakes the scan. The interval is
 * then the safety net.
 *
 * Order    The partitions of a cycle strictly one after the other. A scan never runs
 *          twice at the same time; two scans do, as far as the executor has threads.
 * Threads  read(), wake() and stop() from any thread; the rest belongs to one owner.
 *          Ticks run on the executor, each as an execution of its own.
 * Memory   What a scan uses stays until its last tick has returned, even after destroy().
 *          As long do the scanner's filter, heap and log and the scan's state have to
 *          stay; they are the caller's.
 * Failure  An error or panic of a tick is logged as a warning, counted, and not retried
 *          before the next cycle. Nothing ends a scan but stop().
 */
#ifndef WEIR_SCANNER_H
#define WEIR_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/context.h>
#include <weir/error.h>
#include <weir/failures.h>
#include <weir/heap.h>
#include <weir/log.h>
#include <weir/time.h>
#include <weir/worker.h>

struct weir_executor;
struct weir_scanner;

enum { WEIR_SCANNER_SCANS_MAX = 256, WEIR_SCAN_PARTITIONS_MAX = 65536 };

/* Shorter would be a busy loop; the longest is WEIR_DURATION_MAX. */
#define WEIR_SCAN_INTERVAL_MIN WEIR_MILLISECONDS(100)

/* What a tick says to be due sooner than this is due then: a tick that is wrong about
 * it may not become a busy loop. */
#define WEIR_SCAN_NEXT_MIN WEIR_MILLISECONDS(1)

/* In place of a time: it has not happened yet. */
#define WEIR_SCAN_NEVER ((int64_t)-1)

struct weir_scanner_options {
    const char *name;             /* copied; as a worker's name */
    const void *filter;           /* borrowed, never looked at; see `filtered` */
    const struct weir_heap *heap; /* borrowed; NULL: the C library's */
    struct weir_log log;          /* copied; all zero: silence */
};

enum weir_scan_scope { WEIR_SCAN_GLOBAL, WEIR_SCAN_PARTITIONED };

/* What a tick is asked to do. Lives for the call. */
struct weir_scan_tick {
    const char *scanner;
    const char *scan;
    uint64_t cycle;                 /* from 1 */
    uint32_t partition;             /* 0 in a global scan */
    const void *filter;             /* the scanner's; NULL if the scan is not filtered */
    struct weir_failures *failures; /* the scan's own; for this tick only */
};

/* What a tick has done, in items. Counts also when the tick ended with an error. */
struct weir_scan_report {
    uint64_t processed;
    uint64_t errors;  /* items that failed; they stay for a later tick */
    uint64_t skipped; /* items left alone, because the failure tracker said so */
    int64_t next_ns;  /* something is due so long from now; 0: nothing that is known */
};

/*
 * One tick. *out is preset to zeros. On any status but WEIR_OK the tick has failed, and
 * `error`, which is never NULL, says why (a text left empty becomes the status's own). A
 * tick that gives up because it is cancelled returns WEIR_CANCELLED: that is no failure.
 */
typedef enum weir_status (*weir_scan_tick_fn)(struct weir_context *context, void *state,
                                              const struct weir_scan_tick *tick,
                                              struct weir_scan_report *out,
                                              struct weir_error *error);

struct weir_scan_options {
    const char *name;    /* copied; as a worker's name, unique in the scanner */
    int64_t interval_ns; /* WEIR_SCAN_INTERVAL_MIN to WEIR_DURATION_MAX */
    enum weir_scan_scope scope;
    uint32_t partition_count; /* 1 to WEIR_SCAN_PARTITIONS_MAX; 0 in a global scan */
    bool filtered;            /* do the ticks get the scanner's filter? */
    weir_scan_tick_fn tick;
    void *state; /* the tick's; borrowed */
};

enum weir_scan_state {
    WEIR_SCAN_ADDED,   /* not started */
    WEIR_SCAN_WAITING, /* for its time, or for a thread */
    WEIR_SCAN_TICKING,
    WEIR_SCAN_ENDED
};

/*
 * One scan at one instant. A scan that hangs is TICKING since `tick_started_ns`; one that
 * gets no thread is WAITING although `due_ns` has passed. Times are the executor's.
 */
struct weir_scan_info {
    char name[WEIR_WORKER_NAME_SIZE_MAX + 1];
    int64_t interval_ns;
    enum weir_scan_scope scope;
    uint32_t partition_count;
    enum weir_scan_state state;
    uint32_t partition;      /* of the tick that runs or ran last */
    int64_t tick_started_ns; /* of the same; WEIR_SCAN_NEVER */
    int64_t due_ns;          /* when the next cycle is to begin; WEIR_SCAN_NEVER */

    uint64_t cycles;       /* complete ones: every partition was visited */
    uint64_t ticks;        /* that returned, failed ones included */
    uint64_t ticks_failed; /* by error or panic */
    uint64_t panics;
    uint64_t processed; /* sums of the reports */
    uint64_t errors;
    uint64_t skipped;

    int64_t cycle_last_ns; /* how long complete cycles took */
    int64_t cycle_max_ns;
    int64_t cycle_total_ns;
    int64_t completed_ns; /* end of the last complete cycle; WEIR_SCAN_NEVER */
    int64_t clean_ns;     /* the same without failed ticks and errors; WEIR_SCAN_NEVER */

    size_t failing_items;        /* in the failure tracker, after the last tick */
    uint64_t failures_untracked; /* that did not fit in there */
    char last_error[WEIR_ERROR_TEXT_SIZE]; /* of a tick; "" before the first */
};

WEIR_BEGIN_DECLS

/* Defaults: no filter, the C library's heap, silence. The name is the caller's to set. */
WEIR_API void weir_scanner_options_init(struct weir_scanner_options *self);

/*
 * Build a scanner that runs on `executor`. Fails with WEIR_INVALID (name), WEIR_NO_MEMORY
 * or WEIR_SYSTEM; *out is then NULL.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_scanner_create(struct weir_executor *executor,
                    const struct weir_scanner_options *options, struct weir_scanner **out,
                    struct weir_error *error);

/* stop(0) if it was not stopped, then give it up. NULL is fine. Scans that are unfinished
 * keep what they use until they end. */
WEIR_API void weir_scanner_destroy(struct weir_scanner *self);

/* Defaults: global, unfiltered, no state. Name, interval and tick are the caller's to
 * set. */
WEIR_API void weir_scan_options_init(struct weir_scan_options *self);

/*
 * Register a scan. All that can fail fails here: WEIR_INVALID (the text names field,
 * value and limit), WEIR_EXISTS (the name), WEIR_NO_MEMORY, WEIR_SYSTEM, or WEIR_CLOSED
 * once start() or stop() was called; nothing is registered then.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_scanner_add(struct weir_scanner *self, const struct weir_scan_options *options,
                 struct weir_error *error);

/*
 * Begin the first cycle of every scan. They are all registered when it returns, so a
 * stop() that follows at once finds each of them. WEIR_CLOSED, and nothing else, when
 * start() or stop() was called before.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_scanner_start(struct weir_scanner *self,
                                                          struct weir_error *error);

/*
 * Let no further tick begin, wait up to `grace_ns` for those that run, and return how
 * many scans have not ended: 0 is clean, and then nothing of them runs any more.
 * Running ticks are asked by weir_context_cancelled(), and a partitioned scan goes to
 * no further partition. Again is harmless: it waits for what is still unfinished. From
 * inside a tick it does not wait, and counts the caller.
 */
WEIR_API size_t weir_scanner_stop(struct weir_scanner *self, int64_t grace_ns);

/*
 * Begin the next cycle of this scan now; after the one that runs, if one does. Many
 * calls before that are one. Nothing when there is no such scan, before start() and
 * after stop(). Any thread.
 */
WEIR_API void weir_scanner_wake(struct weir_scanner *self, const char *scan);

/* Read up to `count` scans in the order they were added; returns how many there are.
 * `out` may be NULL when `count` is 0. */
WEIR_API size_t weir_scanner_read(struct weir_scanner *self, struct weir_scan_info *out,
                                  size_t count);

/* "added", "waiting", "ticking", "ended". Lives for ever. */
WEIR_API const char *weir_scan_state_name(enum weir_scan_state state);

WEIR_END_DECLS

#endif
