/*
 * Tests of cli/flow/json_walk.c: values of a JSON list or object, as they are written.
 */
#include "cli/flow/json_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kit/test.h"
#include "weir/heap.h"

/* All values, with a bar behind each. */
static void walks(const char *json, const char *want)
{
    struct weir_json_walk walk;
    struct weir_str value;
    char got[256] = "";
    size_t used = 0;

    weir_json_walk_begin(&walk, weir_str(json));
    while (weir_json_walk_next(&walk, &value))
        used += weir_text_format(got + used, sizeof got - used, "%.*s|", (int)value.size,
                                 value.data);
    check_str(got, want);
}

WEIR_TEST(walk, gives_the_values_of_a_list)
{
    walks("[1, \"two\", [3, 4], {\"five\": 6}, null]",
          "1|\"two\"|[3, 4]|{\"five\": 6}|null|");
    walks(" [ ] ", "");
    walks("[[], {}, \"\"]", "[]|{}|\"\"|");
}

WEIR_TEST(walk, gives_the_values_of_an_object)
{
    walks("{\"a\": 1, \"b\":\"x\",\n \"c\" : [true]}", "1|\"x\"|[true]|");
    walks("{}", "");
}

/* Brackets and quotes inside of texts are none. */
WEIR_TEST(walk, knows_where_a_text_ends)
{
    walks("[\"]\", \"a\\\"b,\", {\"}\": \"\\\\\"}, -1.5e3]",
          "\"]\"|\"a\\\"b,\"|{\"}\": \"\\\\\"}|-1.5e3|");
}

WEIR_TEST(walk, gives_nothing_of_what_is_no_list_and_no_object)
{
    walks("\"text\"", "");
    walks("12", "");
    walks("", "");
}

/* It is for JSON; of anything else it may say anything, but reads nothing beyond it. */
WEIR_TEST(walk, stays_inside_of_what_is_no_json)
{
    static const char *const BROKEN[] = {"[",  "{",  "[\"", "[\"\\", "{\"a", "{\"a\"",
                                         "[[", "[,", "{:",  "[1",    "[}"};

    for (size_t i = 0; i < sizeof BROKEN / sizeof BROKEN[0]; i++) {
        size_t size = strlen(BROKEN[i]);
        char *copy = malloc(size); /* so that what is read beyond it is noticed */
        struct weir_json_walk walk;
        struct weir_str value;

        memcpy(copy, BROKEN[i], size);
        weir_json_walk_begin(&walk, (struct weir_str){copy, size});
        for (size_t steps = 0; steps <= size && weir_json_walk_next(&walk, &value);
             steps++)
            check(value.data >= copy && value.data + value.size <= copy + size);
        free(copy);
    }
}

WEIR_TEST(text, is_that_of_a_text_and_the_json_of_others)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_str(weir_json_value_text(weir_str("\"a\\n\\u00e4\""), &arena), "a\nä");
    check_str(weir_json_value_text(weir_str("[1, 2]"), &arena), "[1, 2]");
    check_str(weir_json_value_text(weir_str("true"), &arena), "true");
    weir_arena_fini(&arena);
}
