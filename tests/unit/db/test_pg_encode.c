/* Tests of db/postgres/encode.c: values to bytes, without a server. */
#include "db/postgres/encode.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

/* An encoder on a heap that counts. */
struct setup {
    struct weir_faulty_heap heap;
    struct weir_pg_encoder encoder;
    struct weir_error error;
};

static void open_setup(struct setup *self)
{
    weir_faulty_heap_init(&self->heap);
    weir_pg_encoder_init(&self->encoder, &self->heap.heap);
    weir_error_clear(&self->error);
}

static void close_setup(struct setup *self)
{
    weir_pg_encoder_fini(&self->encoder);
    check_int(atomic_load(&self->heap.outstanding), 0);
}

/* Parameter `index` is exactly these bytes. */
#define check_bytes(setup, index, literal)                                               \
    check_parameter(__FILE__, __LINE__, (setup), (index), (literal), sizeof(literal) - 1)

static void check_parameter(const char *file, int line, const struct setup *setup,
                            size_t index, const char *want, size_t size)
{
    if (setup->encoder.values[index] == NULL ||
        setup->encoder.sizes[index] != (int)size ||
        memcmp(setup->encoder.values[index], want, size) != 0)
        weir_test_fail(file, line, "parameter %zu is not as wanted (%d bytes, want %zu)",
                       index, setup->encoder.sizes[index], size);
}

/* ---- scalars ---- */

WEIR_TEST(pg_encode, writes_numbers_with_the_high_byte_first)
{
    const struct weir_value values[] = {
        weir_integer(1), weir_integer(-2),   weir_integer(INT64_MIN),
        weir_real(1.5),  weir_boolean(true), weir_boolean(false),
    };
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "iiirff", values, &setup.error), WEIR_OK);

    check_bytes(&setup, 0, "\0\0\0\0\0\0\0\1");
    check_bytes(&setup, 1, "\xff\xff\xff\xff\xff\xff\xff\xfe");
    check_bytes(&setup, 2, "\x80\0\0\0\0\0\0\0");
    check_bytes(&setup, 3, "\x3f\xf8\0\0\0\0\0\0");
    check_bytes(&setup, 4, "\1");
    check_bytes(&setup, 5, "\0");
    close_setup(&setup);
}

WEIR_TEST(pg_encode, counts_times_from_the_year_2000)
{
    const struct weir_value values[] = {weir_time(WEIR_PG_EPOCH_US),
                                        weir_time(WEIR_PG_EPOCH_US + 1), weir_time(0)};
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "mmm", values, &setup.error), WEIR_OK);

    check_bytes(&setup, 0, "\0\0\0\0\0\0\0\0");
    check_bytes(&setup, 1, "\0\0\0\0\0\0\0\1");
    check_bytes(&setup, 2, "\xff\xfc\xa2\xfe\xc4\xc8\x20\x00");
    close_setup(&setup);
}

/* The least int64 would overflow, or arrive as "-infinity", which is another time. */
WEIR_TEST(pg_encode, refuses_times_before_the_oldest_of_the_server)
{
    const struct weir_value oldest = weir_time(INT64_C(-210866803200000000));
    const struct weir_value older = weir_time(INT64_C(-210866803200000001));
    const struct weir_value least = weir_time(INT64_MIN);
    const struct weir_value latest = weir_time(INT64_MAX);
    const struct weir_value array = weir_array(WEIR_TYPE_TIME, &least, 1);
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "m", &oldest, &setup.error), WEIR_OK);
    check_status(weir_pg_encode(&setup.encoder, "m", &latest, &setup.error), WEIR_OK);
    check_status(weir_pg_encode(&setup.encoder, "m", &older, &setup.error), WEIR_INVALID);
    check_status(weir_pg_encode(&setup.encoder, "m", &least, &setup.error), WEIR_INVALID);
    check_str(setup.error.text, "parameter 1 is a time before 4713 BC");
    check_status(weir_pg_encode(&setup.encoder, "M", &array, &setup.error), WEIR_INVALID);
    close_setup(&setup);
}

WEIR_TEST(pg_encode, points_at_text_and_bytes_where_they_are)
{
    static const char text[] = "caf\xc3\xa9";
    static const char bytes[] = {0, 1, 0};
    const struct weir_value values[] = {weir_text(weir_str(text)), weir_bytes(bytes, 3)};
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "tb", values, &setup.error), WEIR_OK);

    check(setup.encoder.values[0] == text);
    check_int(setup.encoder.sizes[0], 5);
    check(setup.encoder.values[1] == bytes);
    check_int(setup.encoder.sizes[1], 3);
    check_int(atomic_load(&setup.heap.allocations), 0);
    close_setup(&setup);
}

/* To libpq a NULL pointer is a null, and nothing else is. */
WEIR_TEST(pg_encode, tells_an_empty_text_from_a_null)
{
    const struct weir_value values[] = {
        weir_text((struct weir_str){NULL, 0}),
        weir_bytes(NULL, 0),
        weir_null(),
        weir_null(),
        weir_null(),
    };
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "tbtiI", values, &setup.error), WEIR_OK);

    check_bytes(&setup, 0, "");
    check_bytes(&setup, 1, "");
    check(setup.encoder.values[2] == NULL);
    check(setup.encoder.values[3] == NULL);
    check(setup.encoder.values[4] == NULL);
    close_setup(&setup);
}

WEIR_TEST(pg_encode, says_binary_for_every_parameter)
{
    struct setup setup;

    open_setup(&setup);

    for (size_t i = 0; i < WEIR_PG_PARAMETERS_MAX; i++)
        check_int(setup.encoder.formats[i], 1);
    close_setup(&setup);
}

WEIR_TEST(pg_encode, knows_the_type_of_each_letter)
{
    static const struct {
        char letter;
        uint32_t type;
    } known[] = {
        {'i', 20},   {'r', 701},  {'t', 25},   {'b', 17},   {'f', 16},
        {'m', 1184}, {'I', 1016}, {'R', 1022}, {'T', 1009}, {'B', 1001},
        {'F', 1000}, {'M', 1185}, {'x', 0},    {'X', 0},    {'\0', 0},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        check_int(weir_pg_parameter_type(known[i].letter), known[i].type);
}

/* ---- arrays ---- */

WEIR_TEST(pg_encode, writes_an_array_of_integers)
{
    const struct weir_value elements[] = {weir_integer(7), weir_integer(-1)};
    const struct weir_value array = weir_array(WEIR_TYPE_INTEGER, elements, 2);
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "I", &array, &setup.error), WEIR_OK);

    check_bytes(&setup, 0,
                "\0\0\0\1\0\0\0\0\0\0\0\x14" /* one dimension, no null, bigint */
                "\0\0\0\2\0\0\0\1"           /* two from 1 on */
                "\0\0\0\x8\0\0\0\0\0\0\0\7"
                "\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff");
    close_setup(&setup);
}

WEIR_TEST(pg_encode, writes_nulls_as_elements_without_bytes)
{
    const struct weir_value elements[] = {weir_text(weir_str("ab")), weir_null(),
                                          weir_text(weir_str(""))};
    const struct weir_value array = weir_array(WEIR_TYPE_TEXT, elements, 3);
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "T", &array, &setup.error), WEIR_OK);

    check_bytes(&setup, 0,
                "\0\0\0\1\0\0\0\1\0\0\0\x19"
                "\0\0\0\3\0\0\0\1"
                "\0\0\0\2ab"
                "\xff\xff\xff\xff"
                "\0\0\0\0");
    close_setup(&setup);
}

WEIR_TEST(pg_encode, gives_an_empty_array_no_dimension)
{
    const struct weir_value array = weir_array(WEIR_TYPE_BOOLEAN, NULL, 0);
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "F", &array, &setup.error), WEIR_OK);

    check_bytes(&setup, 0, "\0\0\0\0\0\0\0\0\0\0\0\x10");
    close_setup(&setup);
}

WEIR_TEST(pg_encode, makes_one_array_of_each_column)
{
    const struct weir_value rows[] = {
        weir_integer(1),
        weir_boolean(true),
        weir_integer(2),
        weir_null(),
    };
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode_many(&setup.encoder, "IF", rows, 2, 2, &setup.error),
                 WEIR_OK);

    check_bytes(&setup, 0,
                "\0\0\0\1\0\0\0\0\0\0\0\x14"
                "\0\0\0\2\0\0\0\1"
                "\0\0\0\x8\0\0\0\0\0\0\0\1"
                "\0\0\0\x8\0\0\0\0\0\0\0\2");
    check_bytes(&setup, 1,
                "\0\0\0\1\0\0\0\1\0\0\0\x10"
                "\0\0\0\2\0\0\0\1"
                "\0\0\0\1\1"
                "\xff\xff\xff\xff");
    close_setup(&setup);
}

/* ---- what does not fit ---- */

WEIR_TEST(pg_encode, refuses_what_is_no_array_where_one_is_wanted)
{
    const struct weir_value scalar = weir_integer(1);
    const struct weir_value array = weir_array(WEIR_TYPE_INTEGER, &scalar, 1);
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "I", &scalar, &setup.error),
                 WEIR_INVALID);
    check_str(setup.error.text, "parameter 1 must be an array");
    check_status(weir_pg_encode_many(&setup.encoder, "i", &scalar, 1, 1, &setup.error),
                 WEIR_INVALID);
    check_status(weir_pg_encode_many(&setup.encoder, "I", &array, 1, 1, &setup.error),
                 WEIR_INVALID);
    close_setup(&setup);
}

WEIR_TEST(pg_encode, refuses_arrays_that_are_too_large_together)
{
    static char large[16 * 1024 * 1024];
    struct weir_value elements[17];
    struct setup setup;

    open_setup(&setup);
    for (size_t i = 0; i < 17; i++)
        elements[i] = weir_bytes(large, sizeof large);

    check_status(weir_pg_encode_many(&setup.encoder, "B", elements, 17, 1, &setup.error),
                 WEIR_INVALID);
    check_status(weir_pg_encode_many(&setup.encoder, "BBBBBBBBBBBBBBBBB", elements, 1, 17,
                                     &setup.error),
                 WEIR_INVALID);
    check_int(atomic_load(&setup.heap.allocations), 0);
    close_setup(&setup);
}

/* The server could store them; other engines could not. */
WEIR_TEST(pg_encode, refuses_reals_that_are_not_finite)
{
    const struct weir_value values[] = {weir_real((double)INFINITY),
                                        weir_real((double)NAN), weir_real(DBL_MAX)};
    struct setup setup;

    open_setup(&setup);

    check_status(weir_pg_encode(&setup.encoder, "r", &values[0], &setup.error),
                 WEIR_INVALID);
    check_status(weir_pg_encode(&setup.encoder, "r", &values[1], &setup.error),
                 WEIR_INVALID);
    check_str(setup.error.text, "parameter 1 is not finite");
    check_status(weir_pg_encode(&setup.encoder, "r", &values[2], &setup.error), WEIR_OK);
    check_status(weir_pg_encode_many(&setup.encoder, "R", &values[0], 1, 1, &setup.error),
                 WEIR_INVALID);
    close_setup(&setup);
}

/* ---- memory ---- */

WEIR_TEST(pg_encode, uses_its_block_again)
{
    const struct weir_value values[] = {weir_integer(1), weir_integer(2)};
    struct setup setup;

    open_setup(&setup);

    for (int i = 0; i < 100; i++) {
        check_status(weir_pg_encode(&setup.encoder, "ii", values, &setup.error), WEIR_OK);
        weir_pg_encoder_relax(&setup.encoder);
    }

    check_int(atomic_load(&setup.heap.allocations), 1);
    close_setup(&setup);
}

WEIR_TEST(pg_encode, gives_a_large_block_back)
{
    static char large[2 * 1024 * 1024];
    const struct weir_value element = weir_bytes(large, sizeof large);
    struct setup setup;

    open_setup(&setup);
    check_status(weir_pg_encode_many(&setup.encoder, "B", &element, 1, 1, &setup.error),
                 WEIR_OK);
    check_int(atomic_load(&setup.heap.outstanding), 1);

    weir_pg_encoder_relax(&setup.encoder);

    check_int(atomic_load(&setup.heap.outstanding), 0);
    close_setup(&setup);
}

static enum weir_status encode_rows(const struct weir_heap *heap)
{
    const struct weir_value rows[] = {weir_integer(1), weir_text(weir_str("a")),
                                      weir_integer(2), weir_null()};
    struct weir_pg_encoder encoder;
    enum weir_status status;

    weir_pg_encoder_init(&encoder, heap);
    status = weir_pg_encode(&encoder, "it", rows, NULL);
    if (status == WEIR_OK)
        status = weir_pg_encode_many(&encoder, "IT", rows, 2, 2, NULL);
    weir_pg_encoder_fini(&encoder);
    return status;
}

WEIR_TEST(pg_encode, survives_any_failing_allocation)
{
    check_alloc_failures(encode_rows);
}
