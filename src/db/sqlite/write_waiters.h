/*
 * write_waiters.h - transactions of this process that wait for the write lock of SQLite.
 *
 * SQLite does not notify when the lock is free; a waiter polls. With
 * many writers in one process the lock would be free for longer than it is held. So
 * a transaction that ends wakes one of the waiters, which asks at once. Other
 * processes are seen by polling.
 *
 *   seen = count()                     before asking
 *   ask; it is locked
 *   wait(seen, 5 ms)                   at once over, if another one has ended since
 *
 * Threads  Any thread. Not in a simulation, whose waits take virtual time.
 */
#ifndef WEIR_DB_SQLITE_WRITE_WAITERS_H
#define WEIR_DB_SQLITE_WRITE_WAITERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "ward/lock.h"

struct weir_write_waiters {
    _Atomic uint64_t ended; /* transactions; grows under the lock */

    struct weir_lock lock; /* guards what follows */
    struct weir_cond end;
    size_t waiting;
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_write_waiters_init(struct weir_write_waiters *self);
void weir_write_waiters_fini(struct weir_write_waiters *self);

uint64_t weir_write_waiters_count(const struct weir_write_waiters *self);

/* Until the count is another one, or so long. Another waiter may be woken by the same
 * end. */
void weir_write_waiters_wait(struct weir_write_waiters *self, uint64_t seen,
                             int64_t duration_ns);

/* A transaction has ended. */
void weir_write_waiters_wake(struct weir_write_waiters *self);

#endif
