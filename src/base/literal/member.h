/*
 * member.h - checks of a member that a row of a table is bound to.
 *
 * Options of commands and keys of the configuration are rows that name a member of a
 * struct. These macros make a member of the wrong type, or one that is too small, an
 * error of the compiler.
 */
#ifndef WEIR_BASE_LITERAL_MEMBER_H
#define WEIR_BASE_LITERAL_MEMBER_H

#include <stddef.h>
#include <stdint.h>

/* 1 if member `m` of struct T has this type. */
#define WEIR_MEMBER_IS(T, m, type_) _Generic(&((T *)0)->m, type_ * : 1, default : 0)

/* The largest value that an integer member can hold; -1: it is none of 32 or 64 bits. */
#define WEIR_MEMBER_MAX(T, m)                                                            \
    _Generic(&((T *)0)->m, int32_t *                                                     \
             : (int64_t)INT32_MAX, uint32_t *                                            \
             : (int64_t)UINT32_MAX, int64_t *                                            \
             : INT64_MAX, default                                                        \
             : _Generic(&((T *)0)->m, size_t *                                           \
                        : (int64_t)UINT32_MAX, default                                   \
                        : -1))

/* Its offset, if `ok`. */
#define WEIR_MEMBER_OFFSET(T, m, ok)                                                     \
    (offsetof(T, m) +                                                                    \
     0 * sizeof(struct {                                                                 \
         _Static_assert(ok, "the member has another type, or cannot hold the value");    \
         char unused;                                                                    \
     }))

#endif
