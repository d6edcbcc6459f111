/*
 * refusal.h - answers that the layer itself gives to what is no valid request.
 *
 * Memory   Constants, which live for ever.
 */
#ifndef WEIR_SERVER_HTTP_REFUSAL_H
#define WEIR_SERVER_HTTP_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

struct weir_http_refusal {
    uint32_t status;
    const char *code;   /* as in the problem document */
    const char *detail; /* no character that JSON would escape */
};

enum { WEIR_HTTP_PROBLEM_SIZE = 640 };

/* X(name, status, code, detail) */
#define WEIR_HTTP_REFUSALS(X)                                                            \
    X(LINE_END, 400, "bad_request", "a line of the head does not end in CR LF")          \
    X(CONTROL, 400, "bad_request", "the head has a control character")                   \
    X(REQUEST_LINE, 400, "bad_request",                                                  \
      "the first line is not METHOD TARGET HTTP/1.1, with one space between them")       \
    X(VERSION, 505, "version", "only HTTP/1.1 and HTTP/1.0 are spoken here")             \
    X(TARGET_FORM, 400, "bad_request", "the target does not begin with a slash")         \
    X(TARGET_CHARACTER, 400, "bad_request",                                              \
      "the target has a character that must be percent-encoded")                         \
    X(PERCENT, 400, "bad_request", "a percent sign is not followed by two hex digits")   \
    X(PATH, 404, "no_route",                                                             \
      "the path has an empty segment, a dot segment, a zero, or is not UTF-8")           \
    X(PATH_LONG, 404, "no_route", "the path has too many segments")                      \
    X(QUERY_TEXT, 400, "bad_request", "a parameter of the query is not UTF-8")           \
    X(QUERY_EMPTY, 400, "bad_request", "a parameter of the query has no name")           \
    X(QUERY_TWICE, 400, "bad_request", "a parameter of the query is given twice")        \
    X(QUERY_LONG, 400, "bad_request", "the query has too many parameters")               \
    X(HEADER_LINE, 400, "bad_request", "a line of the head is no header")                \
    X(HEADER_FOLD, 400, "bad_request", "a header is continued on a second line")         \
    X(HEADERS_MANY, 431, "too_large", "the request has more than 100 headers")           \
    X(HEAD_LARGE, 431, "too_large", "the head of the request is too large")              \
    X(TARGET_LARGE, 414, "too_large", "the target of the request is too long")           \
    X(HEADER_TWICE, 400, "bad_request", "a header that may occur once occurs twice")     \
    X(HOST, 400, "bad_request", "the request does not have exactly one valid Host")      \
    X(LENGTH, 400, "bad_request", "Content-Length is not one decimal number")            \
    X(ENCODING, 400, "bad_request", "Transfer-Encoding is not chunked, once")            \
    X(LENGTH_AND_ENCODING, 400, "bad_request",                                           \
      "the request has Content-Length and Transfer-Encoding")                            \
    X(ENCODING_OLD, 400, "bad_request", "HTTP/1.0 has no Transfer-Encoding")             \
    X(BODY_UNWANTED, 400, "bad_request", "a request of this method has no body")         \
    X(EXPECT, 417, "bad_request", "Expect is not 100-continue")                          \
    X(BODY_LARGE, 413, "too_large", "the body of the request is too large")              \
    X(CHUNK, 400, "bad_request",                                                         \
      "the chunked body is malformed; extensions and trailers are not taken")            \
    X(HEAD_LATE, 408, "timeout", "the head of the request did not arrive in time")       \
    X(BODY_LATE, 408, "timeout", "the body of the request did not arrive in time")       \
    X(MEMORY, 503, "busy", "the server is at its limit of memory; nothing was changed")  \
    X(CONNECTIONS, 503, "busy",                                                          \
      "the server is at its limit of connections; nothing was changed")                  \
    X(PLAIN, 400, "bad_request", "this port speaks TLS; use https")

#define WEIR_HTTP_REFUSAL_DECLARE_(name, status, code, detail)                           \
    extern const struct weir_http_refusal weir_http_refusal_##name;
WEIR_HTTP_REFUSALS(WEIR_HTTP_REFUSAL_DECLARE_)
#undef WEIR_HTTP_REFUSAL_DECLARE_

/* Write the problem document (RFC 9457), with a zero behind it; `id` is that of the
 * request. Returns its length. */
size_t weir_http_refusal_format(const struct weir_http_refusal *self, const char *id,
                                char out[WEIR_HTTP_PROBLEM_SIZE]);

#endif
