/*
 * request.c - see request.h.
 */
#include "server/http/request.h"

static const struct weir_str *find(const struct weir_http_pair *pairs, uint32_t count,
                                   const char *name)
{
    struct weir_str want = weir_str(name);

    for (uint32_t i = 0; i < count; i++)
        if (weir_str_equal(pairs[i].name, want))
            return &pairs[i].value;
    return NULL;
}

const struct weir_str *weir_http_request_header(const struct weir_http_request *self,
                                                const char *name)
{
    return find(self->headers, self->header_count, name);
}

const struct weir_str *weir_http_request_param(const struct weir_http_request *self,
                                               const char *name)
{
    return find(self->params, self->param_count, name);
}
