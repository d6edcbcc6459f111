/*
 * lock.h - a mutex and a condition, with the promises that clang can check.
 *
 * Locking cannot fail for a lock that was initialised: an error there is a bug and
 * asserts. Waiting is always against an absolute time of the monotonic clock.
 */
#ifndef WEIR_WARD_LOCK_H
#define WEIR_WARD_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/status.h"

#if defined(__clang__)
#define WEIR_CAPABILITY(name) __attribute__((capability(name)))
#define WEIR_ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define WEIR_RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))
#define WEIR_REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
#define WEIR_EXCLUDES(...) __attribute__((locks_excluded(__VA_ARGS__)))
#define WEIR_NO_LOCK_ANALYSIS __attribute__((no_thread_safety_analysis))
#else
#define WEIR_CAPABILITY(name)
#define WEIR_ACQUIRE(...)
#define WEIR_RELEASE(...)
#define WEIR_REQUIRES(...)
#define WEIR_EXCLUDES(...)
#define WEIR_NO_LOCK_ANALYSIS
#endif

struct WEIR_CAPABILITY("lock") weir_lock {
    pthread_mutex_t mutex;
};

struct weir_cond {
    pthread_cond_t cond;
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_lock_init(struct weir_lock *self);
void weir_lock_fini(struct weir_lock *self);
void weir_lock_acquire(struct weir_lock *self) WEIR_ACQUIRE(*self);
void weir_lock_release(struct weir_lock *self) WEIR_RELEASE(*self);

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_cond_init(struct weir_cond *self);
void weir_cond_fini(struct weir_cond *self);
void weir_cond_signal(struct weir_cond *self);    /* one of the waiters */
void weir_cond_broadcast(struct weir_cond *self); /* all of them */

/* Wait until signalled (or for no reason at all), or until `deadline_ns` of the monotonic
 * clock: false. WEIR_FOREVER waits without end. */
bool weir_cond_wait_until(struct weir_cond *self, struct weir_lock *lock,
                          int64_t deadline_ns) WEIR_REQUIRES(*lock);

#endif
