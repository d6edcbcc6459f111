/*
 * Any JSON text, as a file, a request or another program has it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json_read.h"
#include "base/utf8.h"
#include "fuzz.h"

/* An item lies inside of the text, and its characters are UTF-8 of the promised size. */
static void check_text(struct weir_str value)
{
    size_t size = weir_json_text_size(value);
    char *text = malloc(size + 1);

    WEIR_ASSERT(text != NULL);
    WEIR_ASSERT(weir_json_copy_text(value, text) == size);
    WEIR_ASSERT(strlen(text) == size);
    WEIR_ASSERT(weir_utf8_valid((struct weir_str){text, size}));
    free(text);
}

/* Each value of a JSON text is one itself. */
static void check_items(struct weir_str json, const struct weir_json_rules *rules)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    int64_t number;

    weir_json_walk_begin(&walk, json);
    while (weir_json_walk_next(&walk, &item)) {
        WEIR_ASSERT(item.value.data >= json.data);
        WEIR_ASSERT(item.value.data + item.value.size <= json.data + json.size);
        WEIR_ASSERT(weir_json_check(item.value, rules, NULL) == WEIR_OK);
        check_text(item.name);
        check_text(item.value);
        if (weir_json_i64(item.value, &number))
            WEIR_ASSERT(weir_json_kind(item.value) == WEIR_JSON_NUMBER);
    }
}

/* A walk over what is no JSON says anything, and ends. */
static void walk_anyway(struct weir_str text)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t steps = 0;

    weir_json_walk_begin(&walk, text);
    while (weir_json_walk_next(&walk, &item)) {
        WEIR_ASSERT(steps++ <= text.size);
        WEIR_ASSERT(weir_json_text_size(item.value) <= 3 * text.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct weir_json_rules strict = {.heap = weir_heap_system()};
    struct weir_str text = {(const char *)bytes, size};
    struct weir_json_fault fault = {0};

    if (weir_json_check(text, &strict, &fault) == WEIR_OK) {
        WEIR_ASSERT(weir_json_is_value(text));
        check_items(text, &strict);
    } else {
        WEIR_ASSERT(fault.why != NULL && fault.at <= size);
        walk_anyway(text);
    }
    return 0;
}

FUZZ_CORPUS(json_read);
