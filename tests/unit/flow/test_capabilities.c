/*
 * Tests of execution/capabilities.c: what a token may be, the text of a set, and which
 * set suffices.
 */
#include "execution/capabilities.h"

#include <string.h>

#include "kit/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TOKENS(...)                                                                      \
    (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *[]){__VA_ARGS__}))

static void accepts(const char *const *tokens, size_t count)
{
    struct weir_error error;

    if (weir_capabilities_check(tokens, count, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "refused: %s", error.text);
}

static void refuses(const char *const *tokens, size_t count, enum weir_status want,
                    const char *value, const char *limit)
{
    struct weir_error error;

    check_status(weir_capabilities_check(tokens, count, &error), want);
    if (strstr(error.text, value) == NULL || strstr(error.text, limit) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" or \"%s\" is not in \"%s\"", value,
                       limit, error.text);
}

/* The text of a set, for one comparison. */
static const char *written(const char *const *tokens, size_t count)
{
    static char text[WEIR_CAPABILITY_SET_TEXT_SIZE];
    struct weir_str set = weir_capabilities_write(tokens, count, text);

    check(set.data == text);
    check_int(set.size, strlen(text));
    return text;
}

static const char *token_of(char c, size_t size)
{
    static char text[WEIR_CAPABILITIES_SIZE_MAX + 100];

    memset(text, c, size);
    text[size] = '\0';
    return text;
}

/* ---- tokens ------------------------------------------------------------------------ */

WEIR_TEST(capabilities, may_be_any_text_without_comma_blank_and_control_character)
{
    accepts(TOKENS("gpu", "cuda>=12", "zone=eu-1", "gr\xc3\xbcn"));
    accepts(NULL, 0);

    refuses(TOKENS("ok", "a,b"), WEIR_INVALID, "\"a,b\"", "0x2c at 1");
    refuses(TOKENS("a b"), WEIR_INVALID, "\"a b\"", "0x20 at 1");
    refuses(TOKENS("a\tb"), WEIR_INVALID, "\"a?b\"", "0x09 at 1");
    refuses(TOKENS("a\n"), WEIR_INVALID, "\"a?\"", "no comma, blank or control");
    refuses(TOKENS("\x7f"), WEIR_INVALID, "\"?\"", "0x7f at 0");
    refuses(TOKENS("\xff"), WEIR_INVALID, "\"?\"", "UTF-8");
}

WEIR_TEST(capabilities, must_be_there)
{
    refuses(NULL, 2, WEIR_INVALID, "NULL", "2 texts");
    refuses(TOKENS("a", NULL), WEIR_INVALID, "capability 2 of 2 is NULL", "a text");
}

WEIR_TEST(capabilities, may_be_256_and_not_257)
{
    const char *tokens[257];

    for (size_t i = 0; i < COUNT_OF(tokens); i++)
        tokens[i] = "x";
    accepts(tokens, 256);
    refuses(tokens, 257, WEIR_TOO_LARGE, "257", "at most 256");
    refuses(tokens, SIZE_MAX, WEIR_TOO_LARGE, "18446744073709551615", "at most 256");
}

WEIR_TEST(capabilities, may_have_4096_bytes_as_a_list_and_not_4097)
{
    accepts(TOKENS(token_of('a', 4096)));
    accepts(TOKENS(token_of('a', 4090), "bbb", "c"));
    accepts(TOKENS(token_of('a', 4096), ""));

    refuses(TOKENS(token_of('a', 4097)), WEIR_TOO_LARGE, "number 1", "at most 4096");
    refuses(TOKENS(token_of('a', 4096), "b"), WEIR_TOO_LARGE, "number 2", "at most 4096");
    refuses(TOKENS(token_of('a', 4095), "b"), WEIR_TOO_LARGE, "number 2", "at most 4096");
    accepts(TOKENS(token_of('a', 4094), "b"));
}

/* ---- sets -------------------------------------------------------------------------- */

WEIR_TEST(capabilities, of_one_set_have_one_text)
{
    check_str(written(TOKENS("linux", "gpu", "linux", "gpu")), ",gpu,linux,");
    check_str(written(TOKENS("gpu", "linux")), ",gpu,linux,");
    check_str(written(TOKENS("b", "a", "c", "ab", "B")), ",B,a,ab,b,c,");
}

WEIR_TEST(capabilities, that_are_empty_count_for_nothing)
{
    check_str(written(NULL, 0), "");
    check_str(written(TOKENS("", "")), "");
    check_str(written(TOKENS("", "a", "")), ",a,");
    accepts(TOKENS("", "a", ""));
}

WEIR_TEST(capabilities, fill_the_text_of_a_set_at_most)
{
    check_int(strlen(written(TOKENS(token_of('a', 4096)))),
              WEIR_CAPABILITY_SET_TEXT_SIZE - 1);
}

static bool suffices(const char *offered, const char *required)
{
    return weir_capabilities_suffice(weir_str(offered), weir_str(required));
}

WEIR_TEST(capabilities, suffice_when_all_that_is_required_is_among_them)
{
    check(suffices(",gpu,linux,", ",gpu,"));
    check(suffices(",gpu,linux,", ",linux,"));
    check(suffices(",gpu,linux,", ",gpu,linux,"));
    check(suffices(",a,b,c,d,", ",b,d,"));

    check(!suffices(",gpu,", ",gpu,linux,"));
    check(!suffices(",gpu,", ",arm,gpu,"));
    check(!suffices(",a,c,", ",b,"));
    check(!suffices("", ",a,"));
}

WEIR_TEST(capabilities, suffice_for_whoever_requires_nothing)
{
    check(suffices("", ""));
    check(suffices(",gpu,", ""));
}

WEIR_TEST(capabilities, are_compared_as_whole_tokens)
{
    check(!suffices(",gpu2,", ",gpu,"));
    check(!suffices(",gp,", ",gpu,"));
    check(!suffices(",xgpu,", ",gpu,"));
    check(suffices(",gp,gpu,gpu2,", ",gpu,"));
}

/* Against the obvious way, over all pairs of subsets of five tokens that are alike. */
WEIR_TEST(capabilities, suffice_exactly_when_they_are_a_superset)
{
    static const char *const ALL[] = {"b", "a", "ab", "aa", "abc"};

    for (unsigned offered = 0; offered < 32; offered++) {
        for (unsigned required = 0; required < 32; required++) {
            char have[WEIR_CAPABILITY_SET_TEXT_SIZE], want[WEIR_CAPABILITY_SET_TEXT_SIZE];
            const char *tokens[2][5] = {{NULL}};
            size_t counts[2] = {0, 0};

            for (unsigned i = 0; i < 5; i++) {
                if ((offered >> i & 1) != 0)
                    tokens[0][counts[0]++] = ALL[i];
                if ((required >> i & 1) != 0)
                    tokens[1][counts[1]++] = ALL[i];
            }
            check_int(weir_capabilities_suffice(
                          weir_capabilities_write(tokens[0], counts[0], have),
                          weir_capabilities_write(tokens[1], counts[1], want)),
                      (required & ~offered) == 0);
        }
    }
}
