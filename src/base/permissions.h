/*
 * permissions.h - which users may read a file that the library makes.
 *
 * Files with payloads are made for their owner alone, unless other permissions are
 * asked for. They are written in octal, as for chmod: 0640, or 640. Only reading and
 * writing can be given, and the owner has both: the process that makes the file goes on
 * using it.
 *
 * Threads  Any.
 */
#ifndef WEIR_BASE_PERMISSIONS_H
#define WEIR_BASE_PERMISSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { WEIR_PERMISSIONS_OWNER = 0600 };

/* For messages: what weir_permissions_parse() takes. */
#define WEIR_PERMISSIONS_RULE "must be octal from 0600 to 0666, as in 0640"

/* False, and *out is unchanged: it is none of these. */
bool weir_permissions_parse(struct weir_str text, uint32_t *out);

/* Does the caller of the library's C interface ask for such permissions? */
bool weir_permissions_are_valid(uint32_t permissions);

#endif
