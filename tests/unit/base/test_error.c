/* Tests of base/error.c. */
#include <weir/error.h>

#include <stddef.h>
#include <string.h>

#include "kit/test.h"

enum { LENGTH_MAX = WEIR_ERROR_TEXT_SIZE - 1 };

static const char *letters(size_t count);

WEIR_TEST(error, is_ok_and_empty_after_clear)
{
    struct weir_error error = {
        .status = WEIR_FAILED, .text = "old", .native_code = 5, .sqlstate = "08006"};

    weir_error_clear(&error);

    check_status(error.status, WEIR_OK);
    check_str(error.text, "");
    check_int(error.native_code, 0);
    check_str(error.sqlstate, "");
}

WEIR_TEST(error, keeps_status_and_text)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_INVALID, "multiplier is %.1f, must be at least %d", 0.5,
                   1);

    check_status(error.status, WEIR_INVALID);
    check_str(error.text, "multiplier is 0.5, must be at least 1");
}

WEIR_TEST(error, returns_the_status_it_was_given)
{
    struct weir_error error;

    check_status(weir_error_set(&error, WEIR_TIMEOUT, "late"), WEIR_TIMEOUT);
    check_status(weir_error_set(NULL, WEIR_BUSY, "full"), WEIR_BUSY);
}

WEIR_TEST(error, is_not_needed)
{
    weir_error_clear(NULL);
    weir_error_prefix(NULL, "spawn %s", "mailer");
}

WEIR_TEST(error, gets_phrases_put_in_front)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "lost connection");
    weir_error_prefix(&error, "claim %s", "batch");
    weir_error_prefix(&error, "relay orders");

    check_status(error.status, WEIR_FAILED);
    check_str(error.text, "relay orders: claim batch: lost connection");
}

WEIR_TEST(error, holds_a_text_that_just_fits)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "%s", letters(LENGTH_MAX));

    check_str(error.text, letters(LENGTH_MAX));
}

WEIR_TEST(error, ends_in_dots_when_the_text_is_too_long)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "%s", letters(LENGTH_MAX + 1));

    check_int(strlen(error.text), LENGTH_MAX);
    check(strncmp(error.text, letters(LENGTH_MAX), LENGTH_MAX - 3) == 0);
    check_str(error.text + LENGTH_MAX - 3, "...");
}

/* The phrase in front says where, and that is worth more than the end of the text. */
WEIR_TEST(error, loses_its_end_when_a_phrase_does_not_fit)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "%s", letters(LENGTH_MAX));
    weir_error_prefix(&error, "claim");

    check_int(strlen(error.text), LENGTH_MAX);
    check(strncmp(error.text, "claim: xxx", 10) == 0);
    check_str(error.text + LENGTH_MAX - 3, "...");
}

WEIR_TEST(error, survives_a_phrase_that_is_too_long_itself)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "lost");
    weir_error_prefix(&error, "%s", letters(1000));

    check_status(error.status, WEIR_FAILED);
    check_int(strlen(error.text), LENGTH_MAX);
    check_str(error.text + LENGTH_MAX - 4, "x...");
}

WEIR_TEST(error, may_be_built_from_its_own_text)
{
    struct weir_error error;

    weir_error_set(&error, WEIR_FAILED, "lost connection");
    weir_error_set(&error, WEIR_CLOSED, "gave up after: %s", error.text);
    weir_error_prefix(&error, "was \"%s\"", error.text);

    check_str(error.text,
              "was \"gave up after: lost connection\": gave up after: lost connection");
}

/* So many x. Lives until the next call. */
static const char *letters(size_t count)
{
    static char text[1024];

    check(count < sizeof text);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}
