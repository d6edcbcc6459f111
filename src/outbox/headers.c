/*
 * headers.c - see headers.h.
 *
 * measure() checks the text and counts the memory that it needs, place() writes. Nothing
 * is kept in between, and place() cannot fail.
 */
#include "outbox/headers.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/no_memory.h"
#include "base/noun.h"

enum { DEPTH_MAX = 33, MEMBER_SIZE_MIN = sizeof "\"\":0," - 1 };

/* Other producers write it, so it is taken as far as it can be. */
static const struct weir_json_rules RULES = {
    .depth_max = DEPTH_MAX,
    .object = true,
    .allowed = WEIR_JSON_REPEATED_NAMES | WEIR_JSON_LONE_SURROGATES,
};

/* False: no size_t can have it. */
static bool measure(struct weir_str json, size_t *size, size_t *count)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t text_size = 0;

    weir_json_walk_begin(&walk, json);
    for (*count = 0; weir_json_walk_next(&walk, &item); ++*count)
        text_size += weir_json_text_size(item.name) + weir_json_text_size(item.value) + 2;
    return weir_checked_mul_size(*count, sizeof(struct weir_header), size) &&
           weir_checked_add_size(*size, text_size, size);
}

enum weir_status weir_headers_measure(struct weir_str json, size_t *size, size_t *count,
                                      struct weir_error *error)
{
    struct weir_json_fault fault;

    *size = 0;
    *count = 0;
    if (json.data == NULL)
        return WEIR_OK;
    if (weir_json_check(json, &RULES, &fault) != WEIR_OK) {
        if (fault.not_utf8)
            return weir_error_set(error, WEIR_INVALID, "headers are not UTF-8");
        return weir_error_set(error, WEIR_INVALID,
                              "headers are no JSON object of texts: %s at byte %zu",
                              fault.why, fault.at);
    }
    if (!measure(json, size, count))
        return weir_error_set(error, WEIR_NO_MEMORY, "headers are too many");
    return WEIR_OK;
}

enum weir_status weir_headers_check(struct weir_str json, struct weir_error *error)
{
    size_t size, count, text_size;

    if (json.size <= WEIR_HEADERS_STORED_MAX * MEMBER_SIZE_MIN ||
        weir_headers_measure(json, &size, &count, NULL) != WEIR_OK)
        return WEIR_OK;
    if (count > WEIR_HEADERS_STORED_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "header_count is %zu, must be at most %d", count,
                              WEIR_HEADERS_MAX);
    text_size = size - count * (sizeof(struct weir_header) + 2); /* without their zeros */
    if (text_size > WEIR_HEADERS_STORED_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "headers have %zu %s, names and values must have at "
                              "most %d %s together",
                              text_size, WEIR_NOUN(text_size, "byte", "bytes"),
                              WEIR_HEADERS_SIZE_MAX,
                              WEIR_NOUN(WEIR_HEADERS_SIZE_MAX, "byte", "bytes"));
    return WEIR_OK;
}

struct weir_headers weir_headers_place(struct weir_str json, void *memory, size_t count)
{
    struct weir_header *list = memory;
    struct weir_json_walk walk;
    struct weir_json_item item;
    char *text;

    if (count == 0)
        return (struct weir_headers){NULL, 0};
    text = (char *)(list + count);
    weir_json_walk_begin(&walk, json);
    for (size_t i = 0; weir_json_walk_next(&walk, &item); i++) {
        WEIR_ASSERT(i < count);
        list[i].name = text;
        text += weir_json_copy_text(item.name, text) + 1;
        list[i].value = text;
        text += weir_json_copy_text(item.value, text) + 1;
    }
    return (struct weir_headers){list, count};
}

enum weir_status weir_headers_read(struct weir_str json, const struct weir_heap *heap,
                                   struct weir_headers *out, struct weir_error *error)
{
    size_t size, count;
    enum weir_status status = weir_headers_measure(json, &size, &count, error);
    void *memory;

    *out = (struct weir_headers){NULL, 0};
    if (status != WEIR_OK || count == 0)
        return status;
    memory = weir_heap_alloc(heap, size);
    if (memory == NULL)
        return weir_no_memory(error, "headers");
    *out = weir_headers_place(json, memory, count);
    return WEIR_OK;
}

void weir_headers_free(struct weir_headers *self, const struct weir_heap *heap)
{
    union {
        const struct weir_header *list;
        void *memory; /* ours, so it may be written to */
    } block = {.list = self->list};

    weir_heap_free(heap, block.memory);
    *self = (struct weir_headers){NULL, 0};
}

bool weir_headers_find_null(struct weir_str json, size_t *index)
{
    struct weir_json_walk walk;
    struct weir_json_item item;

    weir_json_walk_begin(&walk, json);
    for (size_t i = 0; weir_json_walk_next(&walk, &item); i++) {
        if (weir_json_kind(item.value) == WEIR_JSON_NULL) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* ---- replacing --------------------------------------------------------------------- */

/* Is it one of the names, in its quotes and without escapes? */
static bool is_replaced(struct weir_str name, const struct weir_header *headers,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_str bare = {name.data + 1, name.size - 2};

        if (weir_str_equal(bare, weir_str(headers[i].name)))
            return true;
    }
    return false;
}

static void append_comma(struct weir_buf *out, bool *first)
{
    weir_buf_append_text(out, *first ? "" : ", ");
    *first = false;
}

/* The members of an object that is known to be JSON, without those that are replaced. */
static void append_others(struct weir_str json, const struct weir_header *headers,
                          size_t count, struct weir_buf *out, bool *first)
{
    struct weir_json_walk walk;
    struct weir_json_item item;

    weir_json_walk_begin(&walk, json);
    while (weir_json_walk_next(&walk, &item)) {
        if (is_replaced(item.name, headers, count))
            continue;
        append_comma(out, first);
        weir_buf_append(out, item.name.data, (size_t)(walk.at - item.name.data));
    }
}

void weir_headers_replace(struct weir_str json, const struct weir_header *headers,
                          size_t count, struct weir_buf *out)
{
    size_t size;
    size_t members = 0;
    bool first = true;

    weir_buf_append_text(out, "{");
    if (weir_headers_measure(json, &size, &members, NULL) == WEIR_OK && members > 0)
        append_others(json, headers, count, out, &first);
    for (size_t i = 0; i < count; i++) {
        append_comma(out, &first);
        weir_json_append_text(out, headers[i].name);
        weir_buf_append_text(out, ": ");
        weir_json_append_text(out, headers[i].value);
    }
    weir_buf_append_text(out, "}");
}
