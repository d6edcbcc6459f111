/*
 * due_cache.h - one look for several reconcilers.
 *
 * Each has to look at its interval, and mostly nothing is due. So the one that looks asks
 * for all of them, in one statement; the others find their answer here, and need not ask
 * before it is as old as their own interval. One that was notified of something asks
 * for itself.
 *
 *   delayed_promoter   |look      |look      |look       every 750 ms, the shortest
 *   lease_expiry            |known               |known  1.5 s after the look that it
 *                           knows of
 *
 * What is committed after the look is announced (weir_reconciler_hears()), or found
 * by the next one, as if each had looked itself.
 *
 * Threads  Any thread.
 */
#ifndef WEIR_EXECUTION_RECONCILE_DUE_CACHE_H
#define WEIR_EXECUTION_RECONCILE_DUE_CACHE_H

#include "execution/store/store.h"
#include "ward/lock.h"

struct weir_due_cache {
    struct weir_lock lock; /* guards all that follows */
    int64_t looked_ns;     /* before the statement was sent; INT64_MIN: never */
    struct weir_due_times times;
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_due_cache_init(struct weir_due_cache *self);
void weir_due_cache_fini(struct weir_due_cache *self);

/* The answer of a look that was not before `since_ns`, with the database's clock as it
 * should be now. *looked_ns: when it was. False: there was none. */
bool weir_due_cache_find(struct weir_due_cache *self, enum weir_due_kind kind,
                         int64_t now_ns, int64_t since_ns, struct weir_due_time *out,
                         int64_t *looked_ns);

/* An older one than there is changes nothing. */
void weir_due_cache_note(struct weir_due_cache *self, int64_t looked_ns,
                         const struct weir_due_times *times);

#endif
