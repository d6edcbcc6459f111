/*
 * clock.c - see clock.h.
 */
#include "db/clock.h"

#include "base/random.h"
#include "ward/context.h"
#include "ward/executor.h"
#include "ward/system.h"

bool weir_clock_sleep(int64_t duration_ns)
{
    struct weir_context *context = weir_context_current();

    if (context != NULL)
        return weir_sleep(context, duration_ns) == WEIR_OK;
    weir_system_sleep_ns(duration_ns);
    return true;
}

int64_t weir_clock_now_ns(void)
{
    const struct weir_context *context = weir_context_current();

    return context != NULL ? weir_context_now(context) : weir_system_now_ns();
}

uint64_t weir_clock_random(void)
{
    const struct weir_context *context = weir_context_current();
    struct weir_executor *executor = context != NULL ? context->executor : NULL;

    if (executor == NULL || !executor->simulated)
        return weir_system_random();
    return weir_mix_u64(executor->seed ^
                        weir_mix_u64(atomic_fetch_add(&executor->draws, 1) + 1));
}

int64_t weir_clock_wall_us(void)
{
    const struct weir_context *context = weir_context_current();

    if (context == NULL)
        return weir_system_wall_us();
    return context->executor->ops->wall_us(context->executor);
}
