#include "db/sqlite/write_waiters.h"

#include <pthread.h>

#include "kit/db/engines.h"
#include "ward/system.h"
#include "weir/time.h"

/* Longer than any test: a wait that is not ended fails by the time limit. */
#define LONG_NS WEIR_HOURS(1)

WEIR_TEST(writers, do_not_wait_when_one_has_ended_since_they_looked)
{
    struct weir_write_waiters writers;
    uint64_t seen;

    check_int(weir_write_waiters_init(&writers), WEIR_OK);
    seen = weir_write_waiters_count(&writers);
    weir_write_waiters_wake(&writers);

    weir_write_waiters_wait(&writers, seen, LONG_NS);

    check(weir_write_waiters_count(&writers) != seen);
    weir_write_waiters_fini(&writers);
}

WEIR_TEST(writers, ask_by_themselves_when_nobody_ends)
{
    struct weir_write_waiters writers;
    int64_t begun_ns = weir_system_now_ns();

    check_int(weir_write_waiters_init(&writers), WEIR_OK);
    weir_write_waiters_wait(&writers, weir_write_waiters_count(&writers),
                            WEIR_MILLISECONDS(2));

    check(weir_system_now_ns() - begun_ns >= WEIR_MILLISECONDS(2));
    weir_write_waiters_fini(&writers);
}

static size_t waiting(struct weir_write_waiters *self)
{
    size_t count;

    weir_lock_acquire(&self->lock);
    count = self->waiting;
    weir_lock_release(&self->lock);
    return count;
}

static void *wait_long(void *state)
{
    struct weir_write_waiters *writers = state;

    weir_write_waiters_wait(writers, 0, LONG_NS);
    return NULL;
}

WEIR_TEST(writers, are_woken_by_one_that_ends)
{
    struct weir_write_waiters writers;
    pthread_t thread;

    check_int(weir_write_waiters_init(&writers), WEIR_OK);
    check_int(pthread_create(&thread, NULL, wait_long, &writers), 0);
    wait_until(waiting(&writers) == 1);

    weir_write_waiters_wake(&writers);

    check_int(pthread_join(thread, NULL), 0);
    check_int(waiting(&writers), 0);
    weir_write_waiters_fini(&writers);
}
