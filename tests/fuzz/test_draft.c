/*
 * What a producer gives: a draft that passes the check is stored in a form that can be
 * read, and is within the limits of what a handler may be given.
 *
 * The input is texts that end in a zero: key, type, then names and values of headers.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "outbox/headers.h"
#include "outbox/names.h"

enum { STORED_SIZE_MAX = 8 * WEIR_HEADERS_SIZE_MAX, HEADERS = 80 };

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

static void store_and_read(const struct weir_draft *draft)
{
    struct weir_headers headers;
    struct weir_buf stored;

    weir_buf_init(&stored, weir_heap_system(), STORED_SIZE_MAX);
    weir_headers_write(draft->headers, draft->header_count, &stored);
    WEIR_ASSERT(weir_buf_status(&stored) == WEIR_OK);
    if (draft->header_count == 0)
        WEIR_ASSERT(stored.size == 0);
    else
        WEIR_ASSERT(weir_headers_check(weir_buf_get(&stored), NULL) == WEIR_OK);
    if (draft->header_count > 0) {
        WEIR_ASSERT(weir_headers_read(weir_buf_get(&stored), weir_heap_system(), &headers,
                                      NULL) == WEIR_OK);
        WEIR_ASSERT(headers.count == draft->header_count);
        for (size_t i = 0; i < headers.count; i++) {
            WEIR_ASSERT(strcmp(headers.list[i].name, draft->headers[i].name) == 0);
            WEIR_ASSERT(strcmp(headers.list[i].value, draft->headers[i].value) == 0);
        }
        weir_headers_free(&headers, weir_heap_system());
    }
    weir_buf_fini(&stored);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_header headers[HEADERS];
    struct weir_draft draft = {.headers = headers};
    struct weir_error error = {0};
    int32_t partition;

    draft.key = take_text(&bytes, &size);
    draft.type = take_text(&bytes, &size);
    while (draft.header_count < HEADERS) {
        struct weir_header *next = &headers[draft.header_count];

        next->name = take_text(&bytes, &size);
        next->value = take_text(&bytes, &size);
        if (next->value == NULL)
            break;
        draft.header_count++;
    }
    draft.payload = bytes;
    draft.payload_size = size;
    (void)!weir_queue_name_check("queue name", draft.key, &error);
    if (weir_draft_check(&draft, WEIR_PAYLOAD_SIZE_DEFAULT, &error) != WEIR_OK) {
        WEIR_ASSERT(error.text[0] != '\0');
        return 0;
    }
    store_and_read(&draft);
    if (draft.key != NULL) {
        partition = weir_partition_of_key(draft.key, strlen(draft.key), 64);
        WEIR_ASSERT(partition >= 0 && partition < 64);
    }
    return 0;
}

FUZZ_CORPUS(draft);
