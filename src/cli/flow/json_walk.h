/*
 * json_walk.h - the values of a JSON list or object, one after the other, as they are
 * written.
 *
 *   ["a", {"b": 1}, 2]   "a"   {"b": 1}   2
 *   {"a": "b", "c": []}  "b"   []
 *
 * It looks for where values end and judges nothing: the text is known to be JSON by then.
 *
 * Memory   Values are views of the text.
 */
#ifndef WEIR_CLI_FLOW_JSON_WALK_H
#define WEIR_CLI_FLOW_JSON_WALK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct weir_json_walk {
    const char *at, *end;
    bool named; /* an object */
};

/* Of what is neither list nor object there are no values. */
void weir_json_walk_begin(struct weir_json_walk *self, struct weir_str json);

/* Whether there is another value. */
bool weir_json_walk_next(struct weir_json_walk *self, struct weir_str *out);

/* The characters of a value that is a text, with a zero behind them, which U+0000 in it
 * is not; of any other its JSON. NULL without memory. */
WEIR_CHECKED const char *weir_json_value_text(struct weir_str value,
                                              struct weir_arena *arena);

#endif
