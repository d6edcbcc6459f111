/*
 * target.h - path and query of a request, split and decoded once.
 *
 * "/v1/budgets/a%2Fb?limit=5" is the segments "v1", "budgets", "a/b" and the parameter
 * limit = "5". A plus sign is itself.
 *
 * Memory   Decoded text goes to a buffer of the caller, which has room for as many bytes
 *          as the target has.
 */
#ifndef WEIR_SERVER_HTTP_TARGET_H
#define WEIR_SERVER_HTTP_TARGET_H

#include "server/http/refusal.h"
#include "server/http/request.h"

struct weir_http_target {
    struct weir_str path; /* as it was sent */
    struct weir_str segments[WEIR_HTTP_SEGMENTS_MAX];
    uint32_t segment_count;
    struct weir_http_pair params[WEIR_HTTP_PARAMS_MAX];
    uint32_t param_count;
    size_t decoded_size; /* bytes of `decoded` in use */
};

/* NULL: fine; else `out` is undefined. */
const struct weir_http_refusal *weir_http_target_parse(struct weir_str target,
                                                       char *decoded,
                                                       struct weir_http_target *out);

#endif
