/*
 * cut.h - takes a text apart at a character.
 */
#ifndef WEIR_SERVER_HTTP_CUT_H
#define WEIR_SERVER_HTTP_CUT_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/* The text up to the first `end`, which is taken out of *rest with its end; all of it
 * when there is none: then *found is false. */
static inline struct weir_str weir_http_cut(struct weir_str *rest, char end, bool *found)
{
    const char *at = rest->size > 0 ? memchr(rest->data, end, rest->size) : NULL;
    size_t size = at != NULL ? (size_t)(at - rest->data) : rest->size;
    struct weir_str piece = {rest->data, size};

    *found = at != NULL;
    if (rest->size > 0) {
        rest->data += size + *found;
        rest->size -= size + *found;
    }
    return piece;
}

#endif
