/*
 * head.c - see head.h.
 *
 * scan() has proved that each line ends in CR LF, that no other CR, LF or control
 * character but a tab is in the head, and that it ends in one empty line. parse() relies
 * on that.
 */
#include "server/http/head.h"

#include <string.h>

#include "base/count.h"
#include "server/http/cut.h"

#define REFUSE(name) (&weir_http_refusal_##name)

static const struct {
    const char *name;
    enum weir_http_method method;
    bool body;
} methods[] = {
    {"GET", WEIR_HTTP_GET, false},         {"HEAD", WEIR_HTTP_HEAD, false},
    {"POST", WEIR_HTTP_POST, true},        {"PUT", WEIR_HTTP_PUT, true},
    {"DELETE", WEIR_HTTP_DELETE, false},   {"PATCH", WEIR_HTTP_PATCH, true},
    {"OPTIONS", WEIR_HTTP_OPTIONS, false},
};

/* Of these, two that differ would leave open which one counts. Host, Content-Length and
 * Transfer-Encoding have rules of their own. */
static const char *const once[] = {"authorization", "content-type",    "cookie",
                                   "expect",        "idempotency-key", "if-match",
                                   "origin",        "traceparent",     "weir-request"};

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_token_character(char c)
{
    return is_letter_or_digit(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool weir_http_is_token(struct weir_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_token_character(text.data[i]))
            return false;
    return text.size > 0;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

const struct weir_http_refusal *weir_http_head_scan(struct weir_http_head_scan *self,
                                                    const char *data, size_t size,
                                                    size_t *head_size)
{
    *head_size = 0;
    for (size_t i = self->offset; i < size; i++) {
        bool after_cr = i > 0 && data[i - 1] == '\r';

        if ((data[i] == '\n') != after_cr)
            return REFUSE(LINE_END);
        if (is_control(data[i]))
            return REFUSE(CONTROL);
        if (data[i] != '\n')
            continue;
        if (self->line_start == i - 1) {
            if (i == 1)
                return REFUSE(REQUEST_LINE);
            *head_size = i + 1;
            self->offset = i + 1;
            return NULL;
        }
        self->line_start = i + 1;
    }
    self->offset = size;
    return NULL;
}

static bool equals(struct weir_str text, const char *want)
{
    return weir_str_equal(text, weir_str(want));
}

static bool equals_in_any_case(struct weir_str text, const char *want)
{
    if (text.size != strlen(want))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != want[i])
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct weir_str trim(struct weir_str text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

/* "HTTP/d.d" of any version but 1.0 and 1.1. */
static bool is_other_version(struct weir_str text)
{
    return text.size == 8 && memcmp(text.data, "HTTP/", 5) == 0 && text.data[6] == '.' &&
           text.data[5] >= '0' && text.data[5] <= '9' && text.data[7] >= '0' &&
           text.data[7] <= '9';
}

static void find_method(struct weir_http_head *head)
{
    head->method = WEIR_HTTP_OTHER;
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (equals(head->method_name, methods[i].name))
            head->method = methods[i].method;
}

static const struct weir_http_refusal *parse_request_line(struct weir_str line,
                                                          struct weir_http_head *out)
{
    bool first, second, third;
    struct weir_str version;

    out->method_name = weir_http_cut(&line, ' ', &first);
    out->target = weir_http_cut(&line, ' ', &second);
    version = weir_http_cut(&line, ' ', &third);
    if (!first || !second || third || !weir_http_is_token(out->method_name) ||
        out->target.size == 0)
        return REFUSE(REQUEST_LINE);
    out->http10 = equals(version, "HTTP/1.0");
    if (!out->http10 && !equals(version, "HTTP/1.1"))
        return is_other_version(version) ? REFUSE(VERSION) : REFUSE(REQUEST_LINE);
    find_method(out);
    return NULL;
}

static const struct weir_http_refusal *parse_header(char *line, size_t size,
                                                    struct weir_http_head *out)
{
    struct weir_str rest = {line, size};
    struct weir_http_pair *pair;
    bool found;

    if (is_blank(line[0]))
        return REFUSE(HEADER_FOLD);
    if (out->header_count == WEIR_HTTP_HEADERS_MAX)
        return REFUSE(HEADERS_MANY);
    pair = &out->headers[out->header_count];
    pair->name = weir_http_cut(&rest, ':', &found);
    if (!found || !weir_http_is_token(pair->name))
        return REFUSE(HEADER_LINE);
    for (size_t i = 0; i < pair->name.size; i++)
        if (line[i] >= 'A' && line[i] <= 'Z')
            line[i] = (char)(line[i] - 'A' + 'a');
    pair->value = trim(rest);
    out->header_count++;
    return NULL;
}

/* The value of the first header of this name, and how often it occurs. */
static uint32_t find_header(const struct weir_http_head *head, const char *name,
                            struct weir_str *value)
{
    uint32_t count = 0;

    *value = (struct weir_str){NULL, 0};
    for (uint32_t i = head->header_count; i-- > 0;) {
        if (!equals(head->headers[i].name, name))
            continue;
        *value = head->headers[i].value;
        count++;
    }
    return count;
}

/* host[:port]: names, addresses, and an address of IPv6 in brackets. */
static bool is_host(struct weir_str text)
{
    const char *allowed = "!$&'()*+,;=-._~%:";
    size_t i = 0;

    if (text.size > 0 && text.data[0] == '[') {
        while (i < text.size && text.data[i] != ']')
            i++;
        if (i == text.size || i < 3)
            return false;
        for (size_t k = 1; k < i; k++)
            if (!is_letter_or_digit(text.data[k]) && text.data[k] != ':' &&
                text.data[k] != '.')
                return false;
        i++;
        allowed = ":";
    }
    for (; i < text.size; i++)
        if (!is_letter_or_digit(text.data[i]) && strchr(allowed, text.data[i]) == NULL)
            return false;
    return text.size > 0;
}

static const struct weir_http_refusal *check_host(const struct weir_http_head *head)
{
    struct weir_str host;
    uint32_t count = find_header(head, "host", &host);

    if (count == 0)
        return head->http10 ? NULL : REFUSE(HOST);
    return count == 1 && is_host(host) ? NULL : REFUSE(HOST);
}

static bool parse_length(struct weir_str text, uint64_t *out)
{
    *out = 0;
    if (text.size == 0 || text.size > 18)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(text.data[i] - '0');
    }
    return true;
}

static const struct weir_http_refusal *read_framing(struct weir_http_head *head)
{
    struct weir_str length, encoding;
    uint32_t lengths = find_header(head, "content-length", &length);
    uint32_t encodings = find_header(head, "transfer-encoding", &encoding);

    if (encodings > 0 && lengths > 0)
        return REFUSE(LENGTH_AND_ENCODING);
    if (encodings > 0 && head->http10)
        return REFUSE(ENCODING_OLD);
    if (encodings > 1 || (encodings == 1 && !equals_in_any_case(encoding, "chunked")))
        return REFUSE(ENCODING);
    if (lengths > 1 || (lengths == 1 && !parse_length(length, &head->length)))
        return REFUSE(LENGTH);
    head->chunked = encodings == 1;
    head->has_length = lengths == 1;
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (head->method == methods[i].method && !methods[i].body &&
            (head->chunked || head->length > 0))
            return REFUSE(BODY_UNWANTED);
    return NULL;
}

static const struct weir_http_refusal *read_connection(struct weir_http_head *head)
{
    struct weir_str expect;

    head->close = head->http10;
    for (uint32_t i = 0; i < head->header_count; i++) {
        struct weir_str rest = head->headers[i].value;
        bool found = equals(head->headers[i].name, "connection");

        while (found)
            if (equals_in_any_case(trim(weir_http_cut(&rest, ',', &found)), "close"))
                head->close = true;
    }
    if (head->http10 || find_header(head, "expect", &expect) == 0)
        return NULL;
    if (!equals_in_any_case(expect, "100-continue"))
        return REFUSE(EXPECT);
    head->expect_continue = true;
    return NULL;
}

static const struct weir_http_refusal *check_once(const struct weir_http_head *head)
{
    struct weir_str value;

    for (size_t i = 0; i < COUNT_OF(once); i++)
        if (find_header(head, once[i], &value) > 1)
            return REFUSE(HEADER_TWICE);
    return NULL;
}

static const struct weir_http_refusal *parse_lines(char *data, size_t size,
                                                   struct weir_http_head *out)
{
    const struct weir_http_refusal *refusal = NULL;
    size_t start = 0;

    for (size_t i = 1; i + 2 < size && refusal == NULL; i++) {
        if (data[i] != '\n')
            continue;
        if (start == 0)
            refusal = parse_request_line((struct weir_str){data, i - 1}, out);
        else
            refusal = parse_header(data + start, i - 1 - start, out);
        start = i + 1;
    }
    return refusal;
}

const struct weir_http_refusal *weir_http_head_parse(char *data, size_t size,
                                                     struct weir_http_head *out)
{
    const struct weir_http_refusal *refusal;

    out->header_count = 0;
    out->length = 0;
    out->expect_continue = false;
    refusal = parse_lines(data, size, out);
    if (refusal == NULL)
        refusal = check_host(out);
    if (refusal == NULL)
        refusal = check_once(out);
    if (refusal == NULL)
        refusal = read_framing(out);
    return refusal != NULL ? refusal : read_connection(out);
}
