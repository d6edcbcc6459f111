/*
 * due_cache.c - see due_cache.h.
 */
#include "execution/reconcile/due_cache.h"

enum weir_status weir_due_cache_init(struct weir_due_cache *self)
{
    self->looked_ns = INT64_MIN;
    return weir_lock_init(&self->lock);
}

void weir_due_cache_fini(struct weir_due_cache *self)
{
    weir_lock_fini(&self->lock);
}

bool weir_due_cache_find(struct weir_due_cache *self, enum weir_due_kind kind,
                         int64_t now_ns, int64_t since_ns, struct weir_due_time *out,
                         int64_t *looked_ns)
{
    bool known = false;

    weir_lock_acquire(&self->lock);
    if (self->looked_ns != INT64_MIN && self->looked_ns >= since_ns) {
        out->due_us = self->times.due_us[kind];
        out->now_us = self->times.now_us + (now_ns - self->looked_ns) / 1000;
        *looked_ns = self->looked_ns;
        known = true;
    }
    weir_lock_release(&self->lock);
    return known;
}

void weir_due_cache_note(struct weir_due_cache *self, int64_t looked_ns,
                         const struct weir_due_times *times)
{
    weir_lock_acquire(&self->lock);
    if (looked_ns > self->looked_ns) {
        self->looked_ns = looked_ns;
        self->times = *times;
    }
    weir_lock_release(&self->lock);
}
