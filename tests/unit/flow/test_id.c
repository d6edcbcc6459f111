/*
 * Tests of execution/id.c: what an id looks like, what is none, and which partition
 * things have.
 */
#include "execution/id.h"

#include <string.h>

#include "base/text.h"
#include "kit/test.h"

#define UUID "01902c5e-7d1a-7b3c-8f00-0123456789ab"

static const uint8_t UUID_BYTES[WEIR_UUID_SIZE] = {0x01, 0x90, 0x2c, 0x5e, 0x7d, 0x1a,
                                                   0x7b, 0x3c, 0x8f, 0x00, 0x01, 0x23,
                                                   0x45, 0x67, 0x89, 0xab};

static void accepts(const char *text, uint16_t partition)
{
    struct weir_execution_id id;
    struct weir_error error;

    if (weir_execution_id_parse(text, &id, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "refused: %s", error.text);
    check_int(id.partition, partition);
    check(memcmp(id.uuid, UUID_BYTES, WEIR_UUID_SIZE) == 0);
}

static void refuses(const char *text, const char *why)
{
    struct weir_execution_id id = {.partition = 77}, before = id;
    struct weir_error error;

    check_status(weir_execution_id_parse(text, &id, &error), WEIR_INVALID);
    if (strstr(error.text, why) == NULL || strstr(error.text, "execution id") == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", why, error.text);
    check(memcmp(&id, &before, sizeof id) == 0);
    check_status(weir_execution_id_parse(text, &id, NULL), WEIR_INVALID);
}

/* ---- parsing ----------------------------------------------------------------------- */

WEIR_TEST(execution_id, is_a_partition_and_a_uuid)
{
    accepts("12-" UUID, 12);
}

WEIR_TEST(execution_id, of_the_old_form_is_understood)
{
    accepts("{fp:12}:" UUID, 12);
    accepts("{fp:0}:" UUID, 0);
    accepts("{fp:65535}:" UUID, 65535);
    accepts("{fp:1}:01902C5E-7D1A-7b3c-8F00-0123456789AB", 1);
}

WEIR_TEST(execution_id, may_have_any_partition_of_16_bits)
{
    accepts("0-" UUID, 0);
    accepts("65535-" UUID, 65535);
}

WEIR_TEST(execution_id, may_have_its_digits_in_any_case)
{
    accepts("1-01902C5E-7D1A-7b3c-8F00-0123456789AB", 1);
}

WEIR_TEST(execution_id, needs_its_partition)
{
    refuses("-" UUID, "begin with its partition");
    refuses(UUID, "begin with its partition");
    refuses("{b:1}:" UUID, "begin with its partition");
    refuses("{FP:1}:" UUID, "begin with its partition");
    refuses(" {fp:1}:" UUID, "begin with its partition");
    refuses(" 1-" UUID, "begin with its partition");
    refuses("", "begin with its partition");
    refuses("{fp", "begin with its partition");
    refuses("x", "as in \"151-01a1e4d0-2abe-79c2-bc93-40af11a29381\"");
    refuses(NULL, "is NULL");
}

WEIR_TEST(execution_id, needs_a_dash_behind_the_partition)
{
    refuses("12", "followed by \"-\"");
    refuses("12x" UUID, "followed by \"-\"");
    refuses("12:" UUID, "followed by \"-\"");
    refuses("12 -" UUID, "followed by \"-\"");
    refuses("12/" UUID, "followed by \"-\"");
}

WEIR_TEST(execution_id, of_the_old_form_needs_brace_and_colon)
{
    refuses("{fp:12x" UUID, "followed by");
    refuses("{fp:12:" UUID, "followed by");
    refuses("{fp:12}" UUID, "followed by");
    refuses("{fp:12 }:" UUID, "followed by");
    refuses("{fp:12", "followed by");
    refuses("{fp:12}", "followed by");
}

WEIR_TEST(execution_id, is_no_mixture_of_both_forms)
{
    refuses("{fp:12-" UUID, "followed by");
    refuses("{fp:12}-" UUID, "followed by");
    refuses("12}:" UUID, "followed by");
    refuses("12-{fp:12}:" UUID, "a uuid");
    refuses("fp:12-" UUID, "begin with its partition");
    refuses("{12}:" UUID, "begin with its partition");
    refuses("{12-" UUID "}", "begin with its partition");
}

WEIR_TEST(execution_id, needs_a_partition_from_0_to_65535)
{
    static const char *const BAD[] = {
        "65536", "4294967296", "18446744073709551617", "-1", "-0", "+1", "-151", "",
        "x",     " 1"};

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char text[128];

        weir_text_format(text, sizeof text, "%s-" UUID, BAD[i]);
        refuses(text, "from 0 to 65535");
        weir_text_format(text, sizeof text, "{fp:%s}:" UUID, BAD[i]);
        refuses(text, "from 0 to 65535");
    }
    refuses("{fp:", "from 0 to 65535");
}

/* Else one execution would have several texts. */
WEIR_TEST(execution_id, has_no_zeros_before_its_partition)
{
    refuses("0151-" UUID, "from 0 to 65535");
    refuses("00-" UUID, "from 0 to 65535");
    refuses("{fp:01}:" UUID, "from 0 to 65535");
    refuses("{fp:00}:" UUID, "from 0 to 65535");
}

WEIR_TEST(execution_id, needs_a_whole_uuid)
{
    static const char *const BAD[] = {"",
                                      "not-a-uuid",
                                      "01902c5e7d1a7b3c8f000123456789ab",
                                      "{01902c5e-7d1a-7b3c-8f00-0123456789ab}",
                                      "01902c5e-7d1a-7b3c-8f00-0123456789ag",
                                      "01902c5e-7d1a-7b3c-8f0-00123456789ab",
                                      "-" UUID,
                                      UUID "0",
                                      UUID " ",
                                      UUID "-",
                                      UUID "/1/1"};

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char text[128];

        weir_text_format(text, sizeof text, "151-%s", BAD[i]);
        refuses(text, "a uuid");
        weir_text_format(text, sizeof text, "{fp:151}:%s", BAD[i]);
        refuses(text, "a uuid");
    }
}

static void refuses_every_beginning(const char *whole)
{
    struct weir_execution_id id;

    for (size_t size = 0; size < strlen(whole); size++) {
        char text[64] = "";

        memcpy(text, whole, size);
        check_status(weir_execution_id_parse(text, &id, NULL), WEIR_INVALID);
    }
}

WEIR_TEST(execution_id, that_ends_anywhere_is_refused)
{
    refuses_every_beginning("12-" UUID);
    refuses_every_beginning("{fp:12}:" UUID);
}

WEIR_TEST(execution_id, is_shown_when_it_is_refused)
{
    refuses("-7-\n", "\"-7-?\"");
}

/* ---- formatting -------------------------------------------------------------------- */

WEIR_TEST(execution_id, has_one_text)
{
    struct weir_execution_id id = {.partition = 907};
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    memcpy(id.uuid, UUID_BYTES, WEIR_UUID_SIZE);
    check_str(weir_execution_id_format(&id, text), "907-" UUID);
}

WEIR_TEST(execution_id, comes_back_from_its_text_with_every_partition)
{
    struct weir_execution_id id = {.partition = 0}, back;
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_mint mint;

    weir_mint_init(&mint, 1, 1);
    for (uint32_t partition = 0; partition <= UINT16_MAX; partition++) {
        id.partition = (uint16_t)partition;
        weir_mint_uuid(&mint, id.uuid);
        check_status(
            weir_execution_id_parse(weir_execution_id_format(&id, text), &back, NULL),
            WEIR_OK);
        check_int(back.partition, partition);
        check(memcmp(back.uuid, id.uuid, WEIR_UUID_SIZE) == 0);
    }
    check_int(strlen(text), WEIR_EXECUTION_ID_TEXT_SIZE - 1);
}

/* ---- partitions -------------------------------------------------------------------- */

static uint32_t crc_of(const char *text)
{
    return weir_execution_partition(text, strlen(text), 65536);
}

/* The first is the check value of every catalogue of CRCs. */
WEIR_TEST(partition, is_crc16_xmodem)
{
    check_int(crc_of("123456789"), 0x31c3);
    check_int(crc_of(""), 0);
    check_int(crc_of("A"), 0x58e5);
    check_int(weir_execution_partition("\xff\xff", 2, 65536), 0x1d0f);
    check_int(weir_execution_partition("\0\0\0\0", 4, 65536), 0);
    check_int(weir_execution_partition(NULL, 0, 65536), 0);
}

WEIR_TEST(partition, is_below_the_number_of_partitions)
{
    check_int(weir_execution_partition("123456789", 9, 256), 0xc3);
    check_int(weir_execution_partition("123456789", 9, 32), 0xc3 % 32);
    check_int(weir_execution_partition("123456789", 9, 1), 0);
    check_int(weir_execution_partition("123456789", 9, 1000), 0x31c3 % 1000);
}

/* ---- uuids ------------------------------------------------------------------------- */

WEIR_TEST(uuid, is_of_version_7_and_begins_with_the_time)
{
    uint8_t uuid[WEIR_UUID_SIZE];
    struct weir_mint mint;
    uint64_t ms = 0;

    weir_mint_init(&mint, INT64_C(1700000000123) * 1000 + 500, 42);
    weir_mint_uuid(&mint, uuid);

    for (int i = 0; i < 6; i++)
        ms = ms << 8 | uuid[i];
    check_int(ms, INT64_C(1700000000123));
    check_int(uuid[6] >> 4, 7);
    check_int((uuid[6] & 15) << 8 | uuid[7], 2048); /* half a millisecond */
    check_int(uuid[8] >> 6, 2);
}

WEIR_TEST(uuid, of_a_later_microsecond_is_larger)
{
    uint8_t earlier[WEIR_UUID_SIZE], later[WEIR_UUID_SIZE];
    struct weir_mint mint;

    for (int64_t us = 1; us < 3000; us++) {
        weir_mint_init(&mint, INT64_C(1700000000000000) + us - 1, UINT64_MAX - 9);
        weir_mint_uuid(&mint, earlier);
        weir_mint_init(&mint, INT64_C(1700000000000000) + us, (uint64_t)us);
        weir_mint_uuid(&mint, later);
        check(memcmp(earlier, later, 8) < 0);
    }
}

WEIR_TEST(uuid, is_another_one_each_time)
{
    enum { COUNT = 1000 };
    static uint8_t uuids[COUNT][WEIR_UUID_SIZE];
    struct weir_mint mint;

    weir_mint_init(&mint, 1, 7);
    for (size_t i = 0; i < COUNT; i++) {
        weir_mint_uuid(&mint, uuids[i]);
        check_int(uuids[i][8] >> 6, 2); /* the variant, whatever chance says */
        for (size_t j = 0; j < i; j++)
            check(memcmp(uuids[i], uuids[j], WEIR_UUID_SIZE) != 0);
    }
}

/* In a simulation, a run that failed is to be repeated. */
WEIR_TEST(uuid, repeats_with_its_time_and_chance)
{
    uint8_t one[WEIR_UUID_SIZE], two[WEIR_UUID_SIZE];
    struct weir_mint mint;

    weir_mint_init(&mint, 5000, 7);
    weir_mint_uuid(&mint, one);
    weir_mint_init(&mint, 5000, 7);
    weir_mint_uuid(&mint, two);
    check(memcmp(one, two, WEIR_UUID_SIZE) == 0);
}

WEIR_TEST(uuid, is_read_as_it_is_written_and_nothing_else_is)
{
    static const char TEXT[] = "01a1e54d-3131-75c2-93dd-3b7984690c15";
    static const char *const BAD[] = {"",
                                      "01a1e54d",
                                      "01a1e54d-3131-75c2-93dd-3b7984690c1",
                                      "01a1e54d-3131-75c2-93dd-3b7984690c151",
                                      "01a1e54d31-31-75c2-93dd-3b7984690c15",
                                      "01a1e54d-3131-75c2-93dd-3b7984690c1g"};
    uint8_t uuid[WEIR_UUID_SIZE];
    char text[WEIR_UUID_TEXT_SIZE];

    check(weir_uuid_parse(TEXT, uuid));
    check_str(weir_uuid_format(uuid, text), TEXT);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        check(!weir_uuid_parse(BAD[i], uuid));
}
