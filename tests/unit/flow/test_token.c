/*
 * Tests of execution/wait/token.c.
 */
#include "execution/wait/token.h"

#include <string.h>

#include "kit/test.h"

static const struct weir_execution_id ID = {.uuid = {1, 2, 3}, .partition = 7};
static const uint8_t WAITPOINT[WEIR_UUID_SIZE] = {9, 8, 7};

static struct weir_secret secret(const char *key_id, uint8_t first)
{
    struct weir_secret self = {.bytes = {first}};

    strcpy(self.key_id, key_id);
    return self;
}

static void make(const struct weir_secret *secret, const char *key, char *out)
{
    struct weir_token_subject subject = {&ID, WAITPOINT, weir_str(key)};

    check_int(weir_token_make(secret, &subject, out, NULL), WEIR_OK);
}

/* Computed by another program: HMAC-SHA256 over the two uuids and the key. */
WEIR_TEST(token, is_the_hmac_of_execution_waitpoint_and_key)
{
    struct weir_secret by = secret("k1", 5);
    char token[WEIR_TOKEN_TEXT_SIZE];

    make(&by, "review", token);
    check_str(token,
              "k1:a962862c92e7197a3f0487b16e030e70ea34cd76f1e3c544d3d645bf521ec507");
}

WEIR_TEST(token, differs_with_secret_execution_waitpoint_and_key)
{
    struct weir_secret by = secret("k1", 5), other = secret("k1", 6);
    struct weir_execution_id other_id = {.uuid = {1, 2, 4}, .partition = 7};
    uint8_t other_waitpoint[WEIR_UUID_SIZE] = {9, 8, 8};
    char token[WEIR_TOKEN_TEXT_SIZE], another[WEIR_TOKEN_TEXT_SIZE];
    struct weir_token_subject subject = {&ID, WAITPOINT, weir_str("review")};

    make(&by, "review", token);
    make(&other, "review", another);
    check(!weir_token_equal(token, another));
    make(&by, "reviews", another);
    check(!weir_token_equal(token, another));
    subject.id = &other_id;
    check_int(weir_token_make(&by, &subject, another, NULL), WEIR_OK);
    check(!weir_token_equal(token, another));
    subject.id = &ID;
    subject.waitpoint = other_waitpoint;
    check_int(weir_token_make(&by, &subject, another, NULL), WEIR_OK);
    check(!weir_token_equal(token, another));
    make(&by, "review", another);
    check(weir_token_equal(token, another));
}

WEIR_TEST(token, fits_with_the_longest_key_id)
{
    struct weir_secret by = {.bytes = {1}};
    char token[WEIR_TOKEN_TEXT_SIZE];

    memset(by.key_id, 'k', WEIR_KEY_ID_SIZE_MAX);
    make(&by, "review", token);
    check_int((int64_t)strlen(token), WEIR_TOKEN_TEXT_SIZE - 1);
    check_int((int64_t)weir_token_key_id(token).size, WEIR_KEY_ID_SIZE_MAX);
}

WEIR_TEST(key_id, is_told_only_of_what_looks_like_a_token)
{
    struct weir_secret by = secret("team:2026", 5);
    char token[WEIR_TOKEN_TEXT_SIZE];

    make(&by, "review", token);
    check(weir_str_equal(weir_token_key_id(token), weir_str("team:2026")));
    token[strlen(token) - 1] = '\0';
    check_int((int64_t)weir_token_key_id(token).size, 0);
    check_int((int64_t)weir_token_key_id("").size, 0);
    check_int((int64_t)weir_token_key_id(":").size, 0);
    check_int((int64_t)weir_token_key_id("k1").size, 0);
}

WEIR_TEST(fingerprint, has_16_digits_and_nothing_of_the_token)
{
    struct weir_secret by = secret("k1", 5);
    char token[WEIR_TOKEN_TEXT_SIZE], print[WEIR_FINGERPRINT_TEXT_SIZE];

    make(&by, "review", token);
    check_int(weir_token_fingerprint(token, print, NULL), WEIR_OK);
    check_int((int64_t)strlen(print), 16);
    check(strstr(token, print) == NULL);
}
