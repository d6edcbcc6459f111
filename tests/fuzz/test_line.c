/*
 * A message as a line: whatever its bytes are, it is one line of JSON in UTF-8.
 *
 * The input is texts that end in a zero: key, type, then names and values of headers;
 * what is behind the first three of these pairs is the payload.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "outbox/headers.h"
#include "sink/line.h"
#include "weir/heap.h"

enum { LINE_SIZE_MAX = 1 << 24, HEADERS = 20, HEADERS_OF_INPUT = 3 };

/* The next text; NULL: there is no zero any more. */
static const char *take_text(const uint8_t **at, size_t *left)
{
    const uint8_t *text = *at;
    const uint8_t *end = *left > 0 ? memchr(text, '\0', *left) : NULL;

    if (end == NULL)
        return NULL;
    *left -= (size_t)(end - text) + 1;
    *at = end + 1;
    return (const char *)text;
}

/* Given twenty times, so that both ways to find the last of a name are taken. */
static size_t take_headers(const uint8_t **at, size_t *left, struct weir_header *out)
{
    size_t given = 0;

    for (const char *name, *value; given < HEADERS_OF_INPUT &&
                                   (name = take_text(at, left)) != NULL &&
                                   (value = take_text(at, left)) != NULL;)
        out[given++] = (struct weir_header){name, value};
    for (size_t i = given; given > 0 && i < HEADERS; i++)
        out[i] = out[i % given];
    return given == HEADERS_OF_INPUT ? HEADERS : given;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_header headers[HEADERS];
    struct weir_message message = {.queue = "orders", .type = "", .created_us = -1};
    struct weir_buf out;
    struct weir_str line;
    size_t needed, count;

    message.key = take_text(&bytes, &size);
    message.type = message.key != NULL ? take_text(&bytes, &size) : NULL;
    if (message.type == NULL)
        message.type = "t";
    message.header_count = take_headers(&bytes, &size, headers);
    message.headers = headers;
    message.payload = bytes;
    message.payload_size = size;
    weir_buf_init(&out, weir_heap_system(), LINE_SIZE_MAX);
    weir_line_append(&out, &message);

    line = weir_buf_get(&out);
    WEIR_ASSERT(weir_buf_status(&out) == WEIR_OK);
    WEIR_ASSERT(memchr(line.data, '\n', line.size) == line.data + line.size - 1);
    WEIR_ASSERT(weir_utf8_valid(line));
    WEIR_ASSERT(weir_headers_measure(line, &needed, &count, NULL) == WEIR_OK);
    WEIR_ASSERT(count == 11);
    weir_buf_fini(&out);
    return 0;
}

FUZZ_CORPUS(line);
