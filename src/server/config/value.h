/*
 * value.h - the text of a value in its type.
 *
 * Memory   What a value points to is in the arena of the loading.
 */
#ifndef WEIR_SERVER_CONFIG_VALUE_H
#define WEIR_SERVER_CONFIG_VALUE_H

#include <stdbool.h>

#include "server/config/key.h"
#include "weir/error.h"

struct weir_config_loading;

/*
 * Store the value of `text` in the struct at `values`, which the key is bound to. `text`
 * lives in the arena. WEIR_INVALID: the text says what is wrong with it, and shows no
 * secret; WEIR_NO_MEMORY.
 */
WEIR_CHECKED enum weir_status weir_value_read(struct weir_config_loading *loading,
                                              const struct weir_config_key *key,
                                              const char *text, void *values,
                                              struct weir_error *error);

/* Has the key the same value in both structs? */
bool weir_value_equal(const struct weir_config_key *key, const void *a, const void *b);

#endif
