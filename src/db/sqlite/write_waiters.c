/*
 * write_waiters.c - see write_waiters.h.
 */
#include "db/sqlite/write_waiters.h"

#include "base/arith.h"
#include "ward/system.h"

enum weir_status weir_write_waiters_init(struct weir_write_waiters *self)
{
    enum weir_status status = weir_lock_init(&self->lock);

    atomic_init(&self->ended, 0);
    self->waiting = 0;
    if (status != WEIR_OK)
        return status;
    status = weir_cond_init(&self->end);
    if (status != WEIR_OK)
        weir_lock_fini(&self->lock);
    return status;
}

void weir_write_waiters_fini(struct weir_write_waiters *self)
{
    weir_cond_fini(&self->end);
    weir_lock_fini(&self->lock);
}

uint64_t weir_write_waiters_count(const struct weir_write_waiters *self)
{
    return atomic_load(&self->ended);
}

void weir_write_waiters_wait(struct weir_write_waiters *self, uint64_t seen,
                             int64_t duration_ns)
{
    int64_t until_ns = weir_sat_add_i64(weir_system_now_ns(), duration_ns);
    bool in_time = true;

    weir_lock_acquire(&self->lock);
    self->waiting++;
    while (in_time && atomic_load(&self->ended) == seen)
        in_time = weir_cond_wait_until(&self->end, &self->lock, until_ns);
    self->waiting--;
    weir_lock_release(&self->lock);
}

void weir_write_waiters_wake(struct weir_write_waiters *self)
{
    bool wanted;

    weir_lock_acquire(&self->lock);
    (void)atomic_fetch_add(&self->ended, 1);
    wanted = self->waiting > 0;
    weir_lock_release(&self->lock);
    if (wanted)
        weir_cond_signal(&self->end);
}
