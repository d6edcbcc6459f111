/*
 * The headers of a message, as another program has stored them.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "outbox/headers.h"

enum { REPLACED_SIZE_MAX = 1 << 24 };

/* Headers that are added in place of others must leave JSON behind. */
static void replace(struct weir_str json, size_t count)
{
    const struct weir_header added[] = {{"weir-requeues", "1"}, {"a", "b\"\\\n"}};
    struct weir_buf out;
    size_t size, replaced = 0;

    weir_buf_init(&out, weir_heap_system(), REPLACED_SIZE_MAX);
    weir_headers_replace(json, added, 2, &out);
    WEIR_ASSERT(weir_buf_status(&out) == WEIR_OK);
    WEIR_ASSERT(weir_headers_measure(weir_buf_get(&out), &size, &replaced, NULL) ==
                WEIR_OK);
    WEIR_ASSERT(replaced >= 2 && replaced <= count + 2);
    weir_buf_fini(&out);
}

/* What measure() has promised, place() needs, and no byte more. */
static void place(struct weir_str json, size_t size, size_t count)
{
    void *memory = malloc(size);
    struct weir_headers headers;
    size_t used = count * sizeof(struct weir_header);
    size_t index;

    WEIR_ASSERT(memory != NULL);
    headers = weir_headers_place(json, memory, count);
    WEIR_ASSERT(headers.count == count);
    for (size_t i = 0; i < count; i++)
        used += strlen(headers.list[i].name) + strlen(headers.list[i].value) + 2;
    WEIR_ASSERT(used == size);
    if (weir_headers_find_null(json, &index))
        WEIR_ASSERT(strcmp(headers.list[index].value, "null") == 0);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_str json = {(const char *)bytes, size};
    size_t needed, count;
    enum weir_status status = weir_headers_measure(json, &needed, &count, NULL);

    WEIR_ASSERT(!weir_headers_find_null((struct weir_str){NULL, 0}, &count));
    WEIR_ASSERT(status == WEIR_OK || weir_headers_check(json, NULL) == WEIR_OK);
    if (status == WEIR_OK && count > 0) {
        place(json, needed, count);
        WEIR_ASSERT((weir_headers_check(json, NULL) != WEIR_OK) ==
                    (count > WEIR_HEADERS_STORED_MAX ||
                     needed - count * (sizeof(struct weir_header) + 2) >
                         WEIR_HEADERS_STORED_SIZE_MAX));
    }
    replace(json, count);
    return 0;
}

FUZZ_CORPUS(headers);
