/*
 * target.h - the target of a request: segments of its path, parameters of its query.
 *
 *   /v1/budgets/a%2Fb?limit=10     segments   v1, budgets, a/b
 *                                  query      limit = 10
 *
 * The HTTP layer has split and decoded it; here each piece ends in a zero and lives as
 * long as the call.
 *
 * Memory   Copies into itself, so it must not move.
 */
#ifndef WEIR_SERVER_API_TARGET_H
#define WEIR_SERVER_API_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
    WEIR_TARGET_SIZE_MAX = 8192, /* of all pieces, with a zero for each */
    WEIR_TARGET_SEGMENTS_MAX = 12,
    WEIR_TARGET_PARAMETERS_MAX = 32
};

struct weir_target_parameter {
    const char *name;
    const char *value;
};

struct weir_target {
    const char *segments[WEIR_TARGET_SEGMENTS_MAX];
    size_t segment_count;
    struct weir_target_parameter parameters[WEIR_TARGET_PARAMETERS_MAX];
    size_t parameter_count;
    size_t used; /* of the storage */
    char storage[WEIR_TARGET_SIZE_MAX];
};

/* Nothing in it. */
void weir_target_init(struct weir_target *self);

/* Copy a piece behind those that are there. False: there is no room for it. */
bool weir_target_add_segment(struct weir_target *self, struct weir_str segment);
bool weir_target_add_parameter(struct weir_target *self, struct weir_str name,
                               struct weir_str value);

/* The value of a parameter, or NULL. The first of several. */
const char *weir_target_find(const struct weir_target *self, const char *name);

#endif
