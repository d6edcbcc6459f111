/*
 * Tests of outbox/message.c. What is expected of keys was computed with Python's
 * hashlib and md5sum(1), not with this code: producers in other languages do the same.
 */
#include "weir/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/test.h"

static void falls_to(const char *key, size_t key_size, int32_t partitions, int32_t want)
{
    check_int(weir_partition_of_key(key, key_size, partitions), want);
}

/* The same key with 64, 7 (no power of two) and as many partitions as can be asked
 * for. */
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

/* tests/vectors/keys.tsv, from wherever we were built in the repository. */
static FILE *open_vectors(void)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 32);
    FILE *file = NULL;

    check(size > 0);
    for (char *slash;
         file == NULL && (path[size] = '\0', (slash = strrchr(path, '/')) != NULL);) {
        size = slash - path;
        snprintf(slash, 32, "/tests/vectors/keys.tsv");
        file = fopen(path, "re");
    }
    check(file != NULL);
    return file;
}

/* The bytes of a line's first column; returns what is behind it. */
static const char *read_key(const char *line, char *key, size_t *key_size)
{
    unsigned byte;

    check(*line == 'x');
    *key_size = 0;
    for (line++; sscanf(line, "%2x", &byte) == 1 && *line != '\t'; line += 2)
        key[(*key_size)++] = (char)byte;
    return line;
}

/* The file that producers in SQL are held to as well. */
WEIR_TEST(partition_of_key, is_as_the_vectors_say)
{
    char line[8192];
    char key[sizeof line];
    size_t key_size;
    int keys = 0;
    FILE *file = open_vectors();

    while (fgets(line, sizeof line, file) != NULL) {
        const char *rest;

        if (line[0] == '#')
            continue;
        rest = read_key(line, key, &key_size);
        for (int32_t partitions = 1; partitions <= WEIR_PARTITIONS_MAX; partitions *= 2) {
            char *end;
            long want = strtol(rest, &end, 10);

            check(end > rest);
            falls_to(key, key_size, partitions, (int32_t)want);
            rest = end;
        }
        keys++;
    }

    check(keys > 50);
    (void)fclose(file);
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
