/*
 * str.h - a view of borrowed bytes.
 *
 * It is passed by value, is never freed, and need not end in a zero; its bytes may
 * contain some. Code that keeps one beyond the call has to say which object owns the
 * bytes.
 *
 * Memory   None.
 */
#ifndef WEIR_BASE_STR_H
#define WEIR_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_str {
    const char *data; /* borrowed; may be NULL when size is 0 */
    size_t size;
};

/* The characters of `text`, without its zero. */
struct weir_str weir_str(const char *text);

bool weir_str_equal(struct weir_str a, struct weir_str b);

/* Equal strings have equal hashes, in every process. Not for secrets. */
uint64_t weir_str_hash(struct weir_str self);

#endif
