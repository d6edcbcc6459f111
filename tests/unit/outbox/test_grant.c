/*
 * What a token allows, and its text: without a database.
 */
#include <string.h>

#include "base/codec/base64url.h"
#include "base/codec/crc32.h"
#include "base/count.h"
#include "kit/test.h"
#include "outbox/token/grant.h"
#include "outbox/token/token_text.h"

static struct weir_grant grant_of(uint32_t scopes)
{
    return (struct weir_grant){.scopes = scopes};
}

WEIR_TEST(scope, includes_what_the_table_says)
{
    static const struct {
        enum weir_scope has;
        uint32_t allows;
    } ROWS[] = {
        {WEIR_SCOPE_READ, WEIR_SCOPE_READ},
        {WEIR_SCOPE_CONTENT, WEIR_SCOPE_READ | WEIR_SCOPE_CONTENT},
        {WEIR_SCOPE_PRODUCER, WEIR_SCOPE_PRODUCER},
        {WEIR_SCOPE_WORKER, WEIR_SCOPE_WORKER},
        {WEIR_SCOPE_SIGNAL, WEIR_SCOPE_SIGNAL},
        {WEIR_SCOPE_OPERATOR, WEIR_SCOPE_READ | WEIR_SCOPE_OPERATOR},
        {WEIR_SCOPE_ADMIN, WEIR_SCOPE_ALL},
    };

    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        struct weir_grant grant = grant_of(ROWS[i].has);

        for (int bit = 0; bit < WEIR_SCOPE_COUNT; bit++)
            check_int(weir_grant_allows(&grant, (enum weir_scope)(1U << bit)),
                      (ROWS[i].allows & 1U << bit) != 0);
    }
}

WEIR_TEST(scope, of_none_allows_nothing)
{
    struct weir_grant grant = grant_of(0);

    for (int bit = 0; bit < WEIR_SCOPE_COUNT; bit++)
        check(!weir_grant_allows(&grant, (enum weir_scope)(1U << bit)));
}

WEIR_TEST(scope, is_parsed_from_the_name_it_is_written_as)
{
    for (int bit = 0; bit < WEIR_SCOPE_COUNT; bit++) {
        enum weir_scope scope = (enum weir_scope)(1U << bit), parsed;

        check_int(weir_scope_parse(weir_scope_name(scope), &parsed, NULL), WEIR_OK);
        check_int(parsed, scope);
    }
    check_str(weir_scope_name((enum weir_scope)3), "unknown");
}

WEIR_TEST(scope, that_is_unknown_is_refused_with_the_list)
{
    struct weir_error error = {0};
    enum weir_scope scope;

    check_int(weir_scope_parse("Read", &scope, &error), WEIR_INVALID);
    check(strstr(error.text, "read, content, producer") != NULL);
}

WEIR_TEST(pattern, matches_the_whole_name)
{
    static const struct {
        const char *globs;
        const char *name;
        bool covers;
    } ROWS[] = {
        {"", "anything", true},
        {"orders", "orders", true},
        {"orders", "orders2", false},
        {"orders", "order", false},
        {"orders.*", "orders.", true},
        {"orders.*", "orders.eu", true},
        {"orders.*", "orders", false},
        {"*", "", true},
        {"*.eu", "orders.eu", true},
        {"*.eu", "orders.eu.de", false},
        {"a*b*c", "abc", true},
        {"a*b*c", "aXbXbYc", true},
        {"a*b*c", "aXbXbY", false},
        {"?", "a", true},
        {"?", "", false},
        {"a?c", "abc", true},
        {"a,b*", "bee", true},
        {"a,b*", "see", false},
        {"a,b*", "a,b", false},
        {"**", "x", true},
        {"[a]", "a", false},
        {"Orders", "orders", false},
    };

    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        struct weir_grant grant = grant_of(WEIR_SCOPE_READ);

        (void)strcpy(grant.globs[WEIR_RESTRICT_QUEUES], ROWS[i].globs);
        check_int(weir_grant_covers(&grant, WEIR_RESTRICT_QUEUES, ROWS[i].name),
                  ROWS[i].covers);
    }
}

/* With one place to go back to, each * is tried once for each character. */
WEIR_TEST(pattern, of_many_stars_ends_soon)
{
    struct weir_grant grant = grant_of(WEIR_SCOPE_READ);
    static char name[1024];

    memset(name, 'a', sizeof name - 1);
    for (size_t i = 0; i < 400; i += 2)
        memcpy(grant.globs[WEIR_RESTRICT_LANES] + i, "*a", 2);
    (void)strcpy(grant.globs[WEIR_RESTRICT_LANES] + 400, "*b");
    check(!weir_grant_covers(&grant, WEIR_RESTRICT_LANES, name));
}

WEIR_TEST(token_text, has_the_form_and_is_another_each_time)
{
    char one[WEIR_API_TOKEN_SIZE + 1], two[WEIR_API_TOKEN_SIZE + 1];
    char id[WEIR_TOKEN_ID_SIZE + 1];
    uint8_t hash_one[WEIR_TOKEN_HASH_SIZE], hash_two[WEIR_TOKEN_HASH_SIZE];

    check_int(weir_token_draw(one, id, NULL), WEIR_OK);
    check_int(weir_token_draw(two, id, NULL), WEIR_OK);
    check_int(strlen(one), WEIR_API_TOKEN_SIZE);
    check_int(strlen(id), WEIR_TOKEN_ID_SIZE);
    check(strncmp(one, "weir_", 5) == 0);
    check(strcmp(one, two) != 0);
    check_int(weir_token_hash(one, strlen(one), hash_one, NULL), WEIR_OK);
    check_int(weir_token_hash(two, strlen(two), hash_two, NULL), WEIR_OK);
    check(memcmp(hash_one, hash_two, sizeof hash_one) != 0);
}

/* Every letter, also of the checksum. */
WEIR_TEST(token_text, with_one_wrong_letter_is_none)
{
    char text[WEIR_API_TOKEN_SIZE + 1];
    char id[WEIR_TOKEN_ID_SIZE + 1];
    uint8_t hash[WEIR_TOKEN_HASH_SIZE];

    check_int(weir_token_draw(text, id, NULL), WEIR_OK);
    for (size_t i = 0; i < WEIR_API_TOKEN_SIZE; i++) {
        char was = text[i];

        text[i] = was == 'A' ? 'B' : 'A';
        check_int(weir_token_hash(text, WEIR_API_TOKEN_SIZE, hash, NULL), WEIR_INVALID);
        text[i] = '+';
        check_int(weir_token_hash(text, WEIR_API_TOKEN_SIZE, hash, NULL), WEIR_INVALID);
        text[i] = was;
    }
    check_int(weir_token_hash(text, WEIR_API_TOKEN_SIZE - 1, hash, NULL), WEIR_INVALID);
    check_int(weir_token_hash("", 0, hash, NULL), WEIR_INVALID);
    check_int(weir_token_hash(text, WEIR_API_TOKEN_SIZE, hash, NULL), WEIR_OK);
}

WEIR_TEST(crc32, is_the_one_of_the_standard)
{
    check_int(weir_crc32("123456789", 9), 0xcbf43926);
    check_int(weir_crc32("", 0), 0);
}

WEIR_TEST(base64url, writes_the_letters_of_rfc_4648)
{
    static const struct {
        const char *bytes;
        const char *letters;
    } ROWS[] = {{"", ""},           {"f", "Zg"},        {"fo", "Zm8"},
                {"foo", "Zm9v"},    {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"},
                {"\xfb\xff", "-_8"}};
    char out[16];

    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        *weir_base64url_write(ROWS[i].bytes, strlen(ROWS[i].bytes), out) = '\0';
        check_str(out, ROWS[i].letters);
    }
}
