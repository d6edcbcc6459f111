/*
 * stats.h - how much the workers have done, by category.
 *
 * A registry gives out one listener per worker, which counts that worker's executions,
 * and adds the figures up by category: "lane", "dispatcher", "sweep". Workers come and
 * go; what they did stays in their category.
 *
 *   worker -> its listener: counters --+
 *   worker -> its listener: counters --+--> category --> read(): since the beginning
 *   removed workers: folded in --------+            \--> drain(): since the last drain
 *
 * Two readers want different things: a metrics endpoint wants figures that only grow, a
 * report wants those of the last minute. So the counters only ever grow, and the registry
 * remembers what they were at the last drain and gives out the difference; the two do not
 * disturb each other. Only a maximum has no difference: it is kept twice, and the one of
 * drain() starts anew each time. There is one drain; a second reader of it would take the
 * first one's figures away.
 *
 * Order    Categories appear in the order in which they were first named, and for ever.
 * Threads  Any thread; destroy() needs the registry to itself. Counting takes no lock.
 *          The figures of one row are read one after the other while workers go on, so
 *          an execution that ends in that moment may be in one of them and not yet in
 *          the next. It is never lost and never counted twice.
 * Memory   From the executor's heap: one allocation per worker and one per category. The
 *          executor is kept alive until destroy().
 */
#ifndef WEIR_STATS_H
#define WEIR_STATS_H

#include <stddef.h>
#include <stdint.h>

#include <weir/directive.h>
#include <weir/error.h>
#include <weir/listener.h>

struct weir_executor;
struct weir_stats;

enum { WEIR_STATS_CATEGORIES_MAX = 64 };

/*
 * How many messages did this execution handle? Looks into the directive's report. Called
 * on the thread of the execution, like a listener.
 */
typedef uint64_t (*weir_stats_messages_fn)(void *state,
                                           const struct weir_directive *directive);

/*
 * One category. Microseconds, because the idle time of ten thousand workers would
 * overflow a sum of nanoseconds within weeks; each worker's own sums are finer, so that
 * short executions count too.
 */
struct weir_stats_row {
    const char *category; /* lives as long as the registry */
    size_t workers;       /* added and not removed */
    uint64_t executions;  /* that succeeded */
    uint64_t noops;       /* of these, without any message */
    uint64_t failures;    /* executions that failed; no other figure counts them */
    uint64_t messages;
    uint64_t execution_us_total;
    uint64_t execution_us_max;
    uint64_t idle_us_total; /* from the end of each execution to the start of the next */
};

WEIR_BEGIN_DECLS

/* An empty registry. Fails with WEIR_NO_MEMORY or WEIR_SYSTEM; *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status weir_stats_create(struct weir_executor *executor,
                                                         struct weir_stats **out);

/* Free the registry and all its listeners: no worker may have one any more. NULL is
 * fine. */
WEIR_API void weir_stats_destroy(struct weir_stats *self);

/*
 * Count one more worker under `category` (copied; as a worker's name). `messages` may be
 * NULL: no execution handles any; `state` is its own.
 *
 * *out is a listener to put into the list of that one worker; it is the registry's.
 * Fails with WEIR_INVALID (the text names the value and the limit; also for one
 * category too many) or WEIR_NO_MEMORY; then *out is NULL and nothing was added.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_stats_add(struct weir_stats *self, const char *category,
               weir_stats_messages_fn messages, void *state,
               const struct weir_listener **out, struct weir_error *error);

/* The worker has ended (or was never spawned): its figures stay in its category, the
 * listener is freed. NULL is fine. */
WEIR_API void weir_stats_remove(struct weir_stats *self,
                                const struct weir_listener *listener);

/* Read up to `count` categories as they are since the beginning; returns how many there
 * are. */
WEIR_API size_t weir_stats_read(struct weir_stats *self, struct weir_stats_row *out,
                                size_t count);

/*
 * Read what has happened since the last drain, or since create(), and begin anew. Returns
 * how many categories there are, as read() does; those that found no room keep their
 * figures for the next time. *period_ns, which may be NULL, gets the time since then.
 */
WEIR_API size_t weir_stats_drain(struct weir_stats *self, struct weir_stats_row *out,
                                 size_t count, int64_t *period_ns);

/* Total execution time by executions, messages by executions; cut to whole numbers, and 0
 * without executions. */
WEIR_API uint64_t weir_stats_row_execution_us_average(const struct weir_stats_row *self);
WEIR_API uint64_t weir_stats_row_batch_average(const struct weir_stats_row *self);

WEIR_END_DECLS

#endif
