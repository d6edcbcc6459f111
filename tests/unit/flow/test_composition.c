/* Tests of execution/flow/composition.c. */
#include "execution/flow/composition.h"

#include <string.h>

#include "base/json_read.h"
#include "kit/test.h"
#include "weir/heap.h"

struct setup {
    struct weir_composition composition;
    struct weir_buf out;
};

static void open_setup(struct setup *self, size_t size_max)
{
    weir_composition_init(&self->composition, weir_heap_system(), size_max);
    weir_buf_init(&self->out, weir_heap_system(), size_max);
}

static void close_setup(struct setup *self)
{
    weir_composition_fini(&self->composition);
    weir_buf_fini(&self->out);
}

static void add(struct setup *self, const char *name, const char *result)
{
    weir_composition_add(&self->composition, weir_str(name), weir_str(result));
}

static void composes(struct setup *self, const char *input, const char *want)
{
    check_status(weir_composition_finish(&self->composition, weir_str(input), &self->out),
                 WEIR_OK);
    check_str(weir_buf_text(&self->out), want);
    check(weir_json_is_value(weir_buf_get(&self->out)));
    close_setup(self);
}

WEIR_TEST(composition, of_nothing_is_an_object_with_nothing)
{
    struct setup setup;

    open_setup(&setup, 1000);
    composes(&setup, "", "{\"input\": null, \"results\": {}}");
}

WEIR_TEST(composition, has_json_as_it_is)
{
    struct setup setup;

    open_setup(&setup, 1000);
    add(&setup, "a", "{\"b\": [1, \"\\u0000\"]} ");
    add(&setup, "c", "-0.5");
    composes(&setup, "[]",
             "{\"input\": [], \"results\": {\"a\": {\"b\": [1, \"\\u0000\"]} , \"c\": "
             "-0.5}}");
}

WEIR_TEST(composition, escapes_names_and_texts)
{
    struct setup setup;

    open_setup(&setup, 1000);
    add(&setup, "say \"x\" \\", "line\none\t");
    composes(&setup, "a\"b",
             "{\"input\": \"a\\\"b\", \"results\": {\"say \\\"x\\\" \\\\\": "
             "\"line\\none\\u0009\"}, \"encodings\": {\"input\": \"text\", \"results\": "
             "{\"say \\\"x\\\" \\\\\": \"text\"}}}");
}

WEIR_TEST(composition, names_the_input_alone_if_only_that_is_no_json)
{
    struct setup setup;

    open_setup(&setup, 1000);
    add(&setup, "a", "1");
    composes(&setup, "\xfe",
             "{\"input\": \"/g==\", \"results\": {\"a\": 1}, \"encodings\": {\"input\": "
             "\"base64\"}}");
}

/* Counted is what comes out, with all that is around it. */
WEIR_TEST(composition, beyond_its_limit_is_too_large)
{
    static const char WHOLE[] = "{\"input\": null, \"results\": {\"a\": \"\\u0001\"}, "
                                "\"encodings\": {\"results\": {\"a\": \"text\"}}}";
    struct setup setup;

    open_setup(&setup, sizeof WHOLE - 1);
    add(&setup, "a", "\x01");
    composes(&setup, "", WHOLE);

    open_setup(&setup, sizeof WHOLE - 2);
    add(&setup, "a", "\x01");
    check_status(weir_composition_finish(&setup.composition, weir_str(""), &setup.out),
                 WEIR_TOO_LARGE);
    close_setup(&setup);
}
