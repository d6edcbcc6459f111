/*
 * capabilities.h - what a worker must have, and what one has.
 *
 * A set of tokens has one text: sorted by bytes, each once, between commas. So two sets
 * are equal when their texts are, and a token is in a set when it is in the text with
 * its commas.
 *
 *   "linux", "gpu", "linux"  ->  ",gpu,linux,"        no token  ->  ""
 *
 * Memory   The caller's. Nothing is allocated.
 */
#ifndef WEIR_EXECUTION_CAPABILITIES_H
#define WEIR_EXECUTION_CAPABILITIES_H

#include "base/str.h"
#include "weir/execution.h"

/* A comma at each end, and a zero. */
enum { WEIR_CAPABILITY_SET_TEXT_SIZE = WEIR_CAPABILITIES_SIZE_MAX + 3 };

/*
 * UTF-8 without comma, blank and control character: WEIR_INVALID. At most
 * WEIR_CAPABILITIES_MAX tokens, of WEIR_CAPABILITIES_SIZE_MAX bytes as a list:
 * WEIR_TOO_LARGE. Empty ones count for nothing.
 */
WEIR_CHECKED enum weir_status weir_capabilities_check(const char *const *tokens,
                                                      size_t count,
                                                      struct weir_error *error);

/* The text of the set, of tokens that were checked, in `out`, which has
 * WEIR_CAPABILITY_SET_TEXT_SIZE bytes. */
struct weir_str weir_capabilities_write(const char *const *tokens, size_t count,
                                        char *out);

/* Is every token of the set `required` in the set `offered`? Both as written above. */
bool weir_capabilities_suffice(struct weir_str offered, struct weir_str required);

#endif
