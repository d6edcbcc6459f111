/*
 * lock.c - thin walls around pthreads.
 *
 * Conditions are tied to the monotonic clock when they are made, so that a wall clock
 * that is set back cannot make a thread wait for an hour.
 */
#include "ward/lock.h"

#include <errno.h>
#include <time.h>

#include "base/assert.h"
#include "weir/time.h"

enum weir_status weir_lock_init(struct weir_lock *self)
{
    pthread_mutexattr_t attributes;
    int code = pthread_mutexattr_init(&attributes);

    if (code != 0)
        return WEIR_SYSTEM;
    /* Our locks are held for some hundred nanoseconds and a sleep costs many
     * microseconds: turn a few times before going to sleep. */
    code = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    if (code == 0)
        code = pthread_mutex_init(&self->mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    return code == 0 ? WEIR_OK : WEIR_SYSTEM;
}

void weir_lock_fini(struct weir_lock *self)
{
    int code = pthread_mutex_destroy(&self->mutex);

    WEIR_ASSERT(code == 0);
}

void weir_lock_acquire(struct weir_lock *self) WEIR_NO_LOCK_ANALYSIS
{
    int code = pthread_mutex_lock(&self->mutex);

    WEIR_ASSERT(code == 0);
}

void weir_lock_release(struct weir_lock *self) WEIR_NO_LOCK_ANALYSIS
{
    int code = pthread_mutex_unlock(&self->mutex);

    WEIR_ASSERT(code == 0);
}

enum weir_status weir_cond_init(struct weir_cond *self)
{
    pthread_condattr_t attributes;
    int code = pthread_condattr_init(&attributes);

    if (code != 0)
        return WEIR_SYSTEM;
    code = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (code == 0)
        code = pthread_cond_init(&self->cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return code == 0 ? WEIR_OK : WEIR_SYSTEM;
}

void weir_cond_fini(struct weir_cond *self)
{
    int code = pthread_cond_destroy(&self->cond);

    WEIR_ASSERT(code == 0);
}

void weir_cond_signal(struct weir_cond *self)
{
    int code = pthread_cond_signal(&self->cond);

    WEIR_ASSERT(code == 0);
}

void weir_cond_broadcast(struct weir_cond *self)
{
    int code = pthread_cond_broadcast(&self->cond);

    WEIR_ASSERT(code == 0);
}

bool weir_cond_wait_until(struct weir_cond *self, struct weir_lock *lock,
                          int64_t deadline_ns)
{
    struct timespec deadline;
    int code;

    if (deadline_ns == WEIR_FOREVER) {
        code = pthread_cond_wait(&self->cond, &lock->mutex);
        WEIR_ASSERT(code == 0);
        return true;
    }
    if (deadline_ns < 0)
        deadline_ns = 0;
    deadline.tv_sec = (time_t)(deadline_ns / 1000000000);
    deadline.tv_nsec = (long)(deadline_ns % 1000000000);
    code = pthread_cond_timedwait(&self->cond, &lock->mutex, &deadline);
    WEIR_ASSERT(code == 0 || code == ETIMEDOUT);
    return code == 0;
}
