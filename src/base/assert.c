/*
 * assert.c - the one place in the library that ends the process.
 *
 * The hook is taken out before it is called. So it hears of the first broken rule only:
 * a hook that breaks a rule itself does not come back here for ever, and a second
 * thread that stumbles over the same ruins does not call it at the same time.
 */
#include "base/assert.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(weir_assert_hook_fn) the_hook;

void weir_assert_set_hook(weir_assert_hook_fn hook)
{
    atomic_store(&the_hook, hook);
}

void weir_assert_failed(const char *condition, const char *file, int line)
{
    weir_assert_hook_fn hook = atomic_exchange(&the_hook, (weir_assert_hook_fn)NULL);

    if (hook != NULL)
        hook(condition, file, line);
    abort();
}
