/*
 * refusal.c - see refusal.h.
 */
#include "server/http/refusal.h"

#include "base/text.h"
#include "server/http/response.h"

#define DEFINE(name, status, code, detail)                                               \
    const struct weir_http_refusal weir_http_refusal_##name = {status, code, detail};
WEIR_HTTP_REFUSALS(DEFINE)
#undef DEFINE

size_t weir_http_refusal_format(const struct weir_http_refusal *self, const char *id,
                                char out[WEIR_HTTP_PROBLEM_SIZE])
{
    const char *class = self->status == 503 || self->status == 408 ? "retry" : "reject";

    return weir_text_format(out, WEIR_HTTP_PROBLEM_SIZE,
                            "{\"type\":\"urn:weir:%s\",\"title\":\"%s\",\"status\":%u,"
                            "\"detail\":\"%s\",\"instance\":\"%s\",\"code\":\"%s\","
                            "\"class\":\"%s\"}",
                            self->code, weir_http_reason(self->status), self->status,
                            self->detail, id, self->code, class);
}
