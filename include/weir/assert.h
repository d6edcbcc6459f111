/*
 * assert.h - the host's last words when the library finds a bug.
 *
 * Weir checks its own rules in every build. When one is broken, nothing it could do
 * next is safe, so the process aborts; the library prints nothing, as it never does. A
 * host that wants to know which rule it was sets a hook:
 *
 *   rule broken ---> hook(condition, file, line) ---> abort()
 *
 * Threads  Any thread may break a rule, so the hook may run on any thread, also on one
 *          that holds a lock of the library. It must not call back into weir.
 */
#ifndef WEIR_ASSERT_H
#define WEIR_ASSERT_H

#include <weir/api.h>

/* The three arguments live for ever. Returning is fine: the process aborts then. */
typedef void (*weir_assert_hook_fn)(const char *condition, const char *file, int line);

WEIR_BEGIN_DECLS

/*
 * Call `hook` once, with the first rule that is broken, before the process aborts. NULL
 * takes it away. It belongs to the process; set it at start, before other threads run.
 */
WEIR_API void weir_assert_set_hook(weir_assert_hook_fn hook);

WEIR_END_DECLS

#endif
