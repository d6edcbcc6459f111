/*
 * Marks: which of them an owner finds.
 */
#include "kit/test.h"
#include "outbox/delivery/mark.h"

/* The owner of epoch 9, behind owners that did not release from epoch 5 on, at message
 * 4. */
static enum weir_mark find(int64_t epoch, int64_t trying)
{
    struct weir_stored_position position = {.seq = 3, .epoch = epoch, .trying = trying};
    struct weir_lease lease = {.epoch = 9, .marks_from = 5};

    return weir_mark_find(&position, &lease);
}

WEIR_TEST(mark, of_the_owner_before_is_found)
{
    check_int(find(8, 4), WEIR_MARK_BESIDE);
    check_int(find(8, -4), WEIR_MARK_ALONE);
    check_int(find(8, 0), WEIR_MARK_NONE);
}

WEIR_TEST(mark, of_an_owner_in_the_same_row_is_found)
{
    check_int(find(5, -4), WEIR_MARK_ALONE);
}

WEIR_TEST(mark, from_before_a_release_is_not_found)
{
    check_int(find(4, -4), WEIR_MARK_NONE);
}

/* An ack in doubt: the owner reads its own mark again. */
WEIR_TEST(mark, of_the_same_epoch_is_not_found)
{
    check_int(find(9, -4), WEIR_MARK_NONE);
    check_int(find(9, 4), WEIR_MARK_NONE);
}

WEIR_TEST(mark, of_another_message_is_not_found)
{
    check_int(find(8, 3), WEIR_MARK_NONE);
    check_int(find(8, -5), WEIR_MARK_NONE);
}

WEIR_TEST(mark, says_which_message_and_how)
{
    check_int(weir_mark_trying(4, WEIR_MARK_NONE), 0);
    check_int(weir_mark_trying(4, WEIR_MARK_BESIDE), 4);
    check_int(weir_mark_trying(4, WEIR_MARK_ALONE), -4);
}
