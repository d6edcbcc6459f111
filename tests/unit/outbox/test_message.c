/*
 * Tests of outbox/message.c. What is expected of keys was computed with Python's hashlib and
 * md5sum(1), not with this code: producers in other languages do the same.
 */
#include "weir/message.h"

#include <string.h>

#include "lib/test.h"

static void falls_to(const char *key, size_t key_size, int32_t partitions, int32_t want)
{
    check_int(weir_partition_of_key(key, key_size, partitions), want);
}

/* The same key with 64, 7 (no power of two) and as many partitions as can be asked for. */
static void falls(const char *key, size_t key_size, int32_t of_64, int32_t of_7,
                  int32_t of_most)
{
    falls_to(key, key_size, 64, of_64);
    falls_to(key, key_size, 7, of_7);
    falls_to(key, key_size, INT32_MAX, of_most);
    falls_to(key, key_size, 1, 0);
}

WEIR_TEST(partition_of_key, is_the_first_four_bytes_of_md5_modulo_partitions)
{
    falls("a", 1, 57, 1, 214005177);
    falls("order-1", 7, 41, 1, 1853851049);
    falls("order-2", 7, 61, 1, 411671933);
    falls("a b", 3, 13, 2, 214551885);
}

WEIR_TEST(partition_of_key, takes_four_bytes_as_a_number_without_sign)
{
    falls("\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87", 8, 38, 4, 1130724199); /* c3657b66 */
    falls("\xe6\xb0\xb4", 3, 59, 4, 1790319100);                     /* eab619fb */
}

WEIR_TEST(partition_of_key, takes_the_empty_key_for_a_key)
{
    falls("", 0, 25, 4, 1411222746);
    falls(NULL, 0, 25, 4, 1411222746);
}

WEIR_TEST(partition_of_key, takes_the_bytes_of_utf8)
{
    falls("Gr\xc3\xbc\xc3\x9f\x65", 7, 53, 0, 1237710453);
}

WEIR_TEST(partition_of_key, takes_long_keys_and_zeros_in_them)
{
    static char xs[100000];

    memset(xs, 'x', sizeof xs);
    falls(xs, 55, 32, 3, 70665248);
    falls(xs, 56, 21, 4, 1720349397);
    falls(xs, 64, 1, 4, 1102794626);
    falls(xs, WEIR_KEY_SIZE_MAX, 18, 4, 1919284434);
    falls(xs, sizeof xs, 53, 2, 1434545974);
    falls("a\0b", 3, 32, 3, 1882525536);
}

WEIR_TEST(uid, is_written_in_32_hexadecimal_digits)
{
    uint8_t uid[WEIR_UID_SIZE];
    char text[WEIR_UID_TEXT_SIZE + 1] = "?????????????????????????????????";

    for (size_t i = 0; i < sizeof uid; i++)
        uid[i] = (uint8_t)(i * 17);

    check(weir_uid_format(uid, text) == text);

    check_str(text, "00112233445566778899aabbccddeeff");
    check_int(sizeof "00112233445566778899aabbccddeeff", WEIR_UID_TEXT_SIZE);
}

WEIR_TEST(message, finds_a_header_by_its_name)
{
    const struct weir_header headers[] = {{"trace", "4bf9"}, {"tenant", ""}};
    const struct weir_message message = {.headers = headers, .header_count = 2};

    check_str(weir_message_header(&message, "trace"), "4bf9");
    check_str(weir_message_header(&message, "tenant"), "");
    check_str(weir_message_header(&message, "Trace"), NULL);
    check_str(weir_message_header(&message, ""), NULL);
}

WEIR_TEST(message, without_headers_has_none_of_any_name)
{
    const struct weir_message message = {.header_count = 0};

    check_str(weir_message_header(&message, "trace"), NULL);
}

/* Our producers write each name once; another one may not. */
WEIR_TEST(message, gives_the_last_header_of_a_name)
{
    const struct weir_header headers[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
    const struct weir_message message = {.headers = headers, .header_count = 3};

    check_str(weir_message_header(&message, "a"), "3");
}
