/*
 * target.c - see target.h.
 *
 * Each piece is cut out first and decoded then, so an encoded slash, ampersand or equals
 * sign is part of a name.
 */
#include "server/http/target.h"

#include <string.h>

#include "base/codec/hex.h"
#include "base/utf8.h"
#include "server/http/cut.h"

#define REFUSE(name) (&weir_http_refusal_##name)

/* What RFC 3986 lets stand in a path or a query. */
static bool may_stand(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~!$&'()*+,;=:@/?%", c) != NULL);
}

static const struct weir_http_refusal *check_characters(struct weir_str target)
{
    if (target.size == 0 || target.data[0] != '/')
        return REFUSE(TARGET_FORM);
    for (size_t i = 0; i < target.size; i++) {
        if (!may_stand(target.data[i]))
            return REFUSE(TARGET_CHARACTER);
        if (target.data[i] == '%' &&
            (target.size - i < 3 || weir_hex_digit(target.data[i + 1]) < 0 ||
             weir_hex_digit(target.data[i + 2]) < 0))
            return REFUSE(PERCENT);
    }
    return NULL;
}

static struct weir_str decode(struct weir_str text, char *decoded,
                              struct weir_http_target *out)
{
    struct weir_str piece = {decoded + out->decoded_size, 0};
    char *to = decoded + out->decoded_size;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == '%') {
            c = (char)(weir_hex_digit(text.data[i + 1]) * 16 +
                       weir_hex_digit(text.data[i + 2]));
            i += 2;
        }
        to[piece.size++] = c;
    }
    out->decoded_size += piece.size;
    return piece;
}

static bool is_text(struct weir_str piece)
{
    return weir_utf8_valid(piece) &&
           (piece.size == 0 || memchr(piece.data, '\0', piece.size) == NULL);
}

static bool is_dots(struct weir_str piece)
{
    return (piece.size == 1 || piece.size == 2) && piece.data[0] == '.' &&
           piece.data[piece.size - 1] == '.';
}

static const struct weir_http_refusal *parse_path(char *decoded,
                                                  struct weir_http_target *out)
{
    struct weir_str rest = {out->path.data + 1, out->path.size - 1};
    bool more = rest.size > 0;

    while (more) {
        struct weir_str piece = decode(weir_http_cut(&rest, '/', &more), decoded, out);

        if (piece.size == 0 || is_dots(piece) || !is_text(piece))
            return REFUSE(PATH);
        if (out->segment_count == WEIR_HTTP_SEGMENTS_MAX)
            return REFUSE(PATH_LONG);
        out->segments[out->segment_count++] = piece;
    }
    return NULL;
}

static bool has_param(const struct weir_http_target *self, struct weir_str name)
{
    for (uint32_t i = 0; i < self->param_count; i++)
        if (weir_str_equal(self->params[i].name, name))
            return true;
    return false;
}

static const struct weir_http_refusal *parse_query(struct weir_str rest, char *decoded,
                                                   struct weir_http_target *out)
{
    bool more = rest.size > 0;

    while (more) {
        struct weir_str value = weir_http_cut(&rest, '&', &more);
        bool has_value;
        struct weir_str name = weir_http_cut(&value, '=', &has_value);
        struct weir_http_pair pair;

        pair.name = decode(name, decoded, out);
        pair.value = decode(value, decoded, out);
        if (!is_text(pair.name) || !is_text(pair.value))
            return REFUSE(QUERY_TEXT);
        if (pair.name.size == 0)
            return REFUSE(QUERY_EMPTY);
        if (has_param(out, pair.name))
            return REFUSE(QUERY_TWICE);
        if (out->param_count == WEIR_HTTP_PARAMS_MAX)
            return REFUSE(QUERY_LONG);
        out->params[out->param_count++] = pair;
    }
    return NULL;
}

const struct weir_http_refusal *weir_http_target_parse(struct weir_str target,
                                                       char *decoded,
                                                       struct weir_http_target *out)
{
    const struct weir_http_refusal *refusal = check_characters(target);
    bool has_query;

    out->segment_count = 0;
    out->param_count = 0;
    out->decoded_size = 0;
    if (refusal != NULL)
        return refusal;
    out->path = weir_http_cut(&target, '?', &has_query);
    refusal = parse_path(decoded, out);
    return refusal != NULL ? refusal : parse_query(target, decoded, out);
}
