/*
 * notify_limit.c - see notify_limit.h.
 */
#include "outbox/notify_limit.h"

#define AHEAD_MAX_NS ((WEIR_NOTIFY_LIMIT_BURST - 1) * WEIR_NOTIFY_LIMIT_NS)

bool weir_notify_limit_take(struct weir_notify_limit *self, int64_t now_ns)
{
    int64_t paid_ns = atomic_load(&self->paid_until_ns);
    int64_t from_ns;

    do {
        from_ns = paid_ns > now_ns ? paid_ns : now_ns;
        if (from_ns - now_ns > AHEAD_MAX_NS)
            return false;
    } while (!atomic_compare_exchange_weak(&self->paid_until_ns, &paid_ns,
                                           from_ns + WEIR_NOTIFY_LIMIT_NS));
    return true;
}
