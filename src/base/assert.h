/*
 * assert.h - a broken rule of our own ends the process, in every build.
 *
 * For bugs only. Input from outside is checked and refused, never asserted. The host
 * hears of it through the hook in weir/assert.h.
 */
#ifndef WEIR_BASE_ASSERT_H
#define WEIR_BASE_ASSERT_H

#include "weir/api.h"
#include "weir/assert.h"

#define WEIR_ASSERT(condition)                                                           \
    ((condition) ? (void)0 : weir_assert_failed(#condition, __FILE__, __LINE__))

/* Tells the hook, if there is one, and aborts. */
WEIR_NORETURN void weir_assert_failed(const char *condition, const char *file, int line);

#endif
