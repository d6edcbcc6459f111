/*
 * order_shared.c - see order_shared.h.
 */
#include "crash/order/order_shared.h"

uint32_t order_roll_between(struct order_run *self, uint32_t low, uint32_t high)
{
    return low + rig_roll(&self->rig, high - low + 1);
}

bool order_is_passing(const struct order_run *self, enum weir_status status)
{
    if (self->options->outages > 0)
        return weir_status_class(status) == WEIR_CLASS_RETRY;
    return status == WEIR_CONFLICT || status == WEIR_LOCKED || status == WEIR_BUSY ||
           status == WEIR_TIMEOUT;
}

void order_must(struct order_run *self, const char *what, enum weir_status status,
                const struct weir_error *error)
{
    if (status != WEIR_OK)
        rig_give_up(&self->rig, "%s: %s: %s", what, weir_status_name(status),
                    error->text);
}
