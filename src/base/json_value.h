/*
 * json_value.h - is a text JSON?
 *
 * Asked about texts that come from outside and are put into a larger JSON text as they
 * are: what is no JSON would spoil all of it.
 */
#ifndef WEIR_BASE_JSON_VALUE_H
#define WEIR_BASE_JSON_VALUE_H

#include <stdbool.h>

#include "base/str.h"

/* Lists and objects within each other; a text with more is none. */
enum { WEIR_JSON_DEPTH_MAX = 512 };

/* One value as RFC 8259 has it, of any kind, in UTF-8 and without a byte order mark.
 * Blanks may be around it. */
bool weir_json_is_value(struct weir_str text);

#endif
