/*
 * endpoint.c - see endpoint.h.
 */
#include "server/api/endpoint.h"

#include <string.h>

static const char *const METHODS[WEIR_HTTP_OTHER] = {
    [WEIR_HTTP_GET] = "GET",       [WEIR_HTTP_POST] = "POST",   [WEIR_HTTP_PUT] = "PUT",
    [WEIR_HTTP_DELETE] = "DELETE", [WEIR_HTTP_PATCH] = "PATCH",
};

const char *weir_method_name(enum weir_http_method method)
{
    return METHODS[method];
}

void weir_method_append(unsigned methods, struct weir_buf *text)
{
    const char *before = "";

    for (size_t i = 0; i < WEIR_HTTP_OTHER; i++) {
        if ((methods & (1u << i)) == 0)
            continue;
        weir_buf_append_format(text, "%s%s", before, METHODS[i]);
        if (i == WEIR_HTTP_GET)
            weir_buf_append_text(text, ", HEAD");
        before = ", ";
    }
}

/* ---- matching ---------------------------------------------------------------------- */

/* The segment of a pattern at `*at`, which moves behind it; empty at the end. */
static struct weir_str next_segment(const char **at)
{
    struct weir_str segment;

    if (**at == '/')
        (*at)++;
    segment = (struct weir_str){*at, strcspn(*at, "/")};
    *at += segment.size;
    return segment;
}

/* Do the segments from `first` on fit the pattern? Fills in the names. */
static bool fits(const char *pattern, const struct weir_target *target, size_t first,
                 const char **names)
{
    size_t name_count = 0;

    for (size_t i = first; i < target->segment_count; i++) {
        struct weir_str segment = next_segment(&pattern);

        if (segment.size == 0)
            return false;
        if (segment.data[0] == '{')
            names[name_count++] = target->segments[i];
        else if (!weir_str_equal(segment, weir_str(target->segments[i])))
            return false;
    }
    return *pattern == '\0';
}

static bool is_mounted(const struct weir_target *target)
{
    return target->segment_count > 2 && strcmp(target->segments[0], "db") == 0;
}

void weir_endpoint_find(const struct weir_endpoint *rows, size_t count,
                        const struct weir_target *target, enum weir_http_method method,
                        struct weir_endpoint_match *out)
{
    bool mounted = is_mounted(target);

    *out = (struct weir_endpoint_match){.endpoint = NULL};
    for (size_t i = 0; i < count; i++) {
        const char *names[WEIR_ENDPOINT_NAMES_MAX] = {NULL};

        if (mounted && rows[i].at == WEIR_AT_SERVER)
            continue;
        if (!fits(rows[i].path, target, mounted ? 2 : 0, names))
            continue;
        out->methods |= 1u << rows[i].method;
        if (rows[i].method != method || out->endpoint != NULL)
            continue;
        out->endpoint = &rows[i];
        memcpy(out->names, names, sizeof names);
    }
    if (mounted && out->methods != 0)
        out->database = target->segments[1];
}
