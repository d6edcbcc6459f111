/* Tests of base/status.c. */
#include <weir/status.h>

#include <string.h>

#include "kit/test.h"

/* A status without an entry would give the text of no status at all. */
WEIR_TEST(status, has_name_and_text_for_every_number)
{
    for (int i = 0; i < WEIR_STATUS_COUNT; i++) {
        enum weir_status status = (enum weir_status)i;

        check(weir_status_name(status)[0] != '\0');
        check(weir_status_text(status)[0] != '\0');
        check(strcmp(weir_status_name(status), "UNKNOWN") != 0);
        check(strcmp(weir_status_text(status), "unknown status") != 0);
    }
}

WEIR_TEST(status, has_names_that_differ)
{
    for (int i = 0; i < WEIR_STATUS_COUNT; i++)
        for (int j = 0; j < i; j++)
            check(strcmp(weir_status_name((enum weir_status)i),
                         weir_status_name((enum weir_status)j)) != 0);
}

/* The end of the rows is an answer, not a failure. */
WEIR_TEST(status, is_fine_only_when_ok_or_at_the_end_of_rows)
{
    for (int i = 0; i < WEIR_STATUS_COUNT; i++) {
        enum weir_status_class class = weir_status_class((enum weir_status)i);

        check_int(class == WEIR_CLASS_FINE, i == WEIR_OK || i == WEIR_NO_ROW);
        check(class <= WEIR_CLASS_STOP);
    }
}

WEIR_TEST(status, keeps_class_name_and_text_together)
{
    check_int(weir_status_class(WEIR_INVALID), WEIR_CLASS_REJECT);
    check_str(weir_status_name(WEIR_INVALID), "INVALID");
    check_str(weir_status_text(WEIR_INVALID), "invalid argument");

    check_int(weir_status_class(WEIR_NO_MEMORY), WEIR_CLASS_RETRY);
    check_str(weir_status_name(WEIR_NO_MEMORY), "NO_MEMORY");

    check_int(weir_status_class(WEIR_CLOSED), WEIR_CLASS_STOP);
    check_str(weir_status_name(WEIR_CLOSED), "CLOSED");
}

/* Each class decides what a producer or a worker does next. */
WEIR_TEST(status, of_the_outbox_has_the_class_that_decides)
{
    static const struct {
        enum weir_status status;
        enum weir_status_class class;
        const char *name;
    } OUTBOX[] = {
        {WEIR_NOT_FOUND, WEIR_CLASS_REJECT, "NOT_FOUND"},
        {WEIR_OUT_OF_RANGE, WEIR_CLASS_REJECT, "OUT_OF_RANGE"},
        {WEIR_TOO_LARGE, WEIR_CLASS_REJECT, "TOO_LARGE"},
        {WEIR_MISMATCH, WEIR_CLASS_REJECT, "MISMATCH"},
        {WEIR_FULL, WEIR_CLASS_RETRY, "FULL"},
        {WEIR_FENCED, WEIR_CLASS_STOP, "FENCED"},
    };

    for (size_t i = 0; i < sizeof OUTBOX / sizeof OUTBOX[0]; i++) {
        check_int(weir_status_class(OUTBOX[i].status), OUTBOX[i].class);
        check_str(weir_status_name(OUTBOX[i].status), OUTBOX[i].name);
    }
}

WEIR_TEST(status, calls_a_number_beyond_the_list_unknown)
{
    check_str(weir_status_name(WEIR_STATUS_COUNT), "UNKNOWN");
    check_str(weir_status_text(WEIR_STATUS_COUNT), "unknown status");
    check_int(weir_status_class(WEIR_STATUS_COUNT), WEIR_CLASS_STOP);
}

WEIR_TEST(status, calls_a_negative_number_unknown)
{
    int number = -1;
    enum weir_status status;

    memcpy(&status, &number, sizeof status);

    check_str(weir_status_name(status), "UNKNOWN");
    check_str(weir_status_text(status), "unknown status");
    check_int(weir_status_class(status), WEIR_CLASS_STOP);
}
