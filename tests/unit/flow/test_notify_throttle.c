/*
 * What is told to other processes, and when there is silence.
 */
#include "execution/notify_throttle.h"
#include "kit/test.h"

enum { DELAYED = 1 << WEIR_DUE_DELAYED, LEASE = 1 << WEIR_DUE_LEASE };

WEIR_TEST(awaited, tells_of_each_kind_once_in_a_while)
{
    struct weir_notify_throttle notify_throttle;

    weir_notify_throttle_init(&notify_throttle, "weir", false);
    check_int(weir_notify_throttle_due(&notify_throttle, DELAYED | LEASE, 0),
              DELAYED | LEASE);

    weir_notify_throttle_note_sent(&notify_throttle, DELAYED, 1000);

    check_int(weir_notify_throttle_due(&notify_throttle, DELAYED | LEASE, 1000), LEASE);
    check_int(weir_notify_throttle_due(&notify_throttle, DELAYED, 999 + WEIR_SILENCE_NS),
              0);
    check_int(weir_notify_throttle_due(&notify_throttle, DELAYED, 1000 + WEIR_SILENCE_NS),
              DELAYED);
}

/* Those who keep silent have as long again to commit. */
WEIR_TEST(awaited, is_attended_to_for_longer_than_there_is_silence)
{
    check(WEIR_ATTENTION_NS >= WEIR_SILENCE_NS + WEIR_MILLISECONDS(500));
}

WEIR_TEST(announcement, is_read_from_what_is_told)
{
    struct weir_announcement heard;

    check(weir_announcement_read("1 3 ffffffffffffffff", &heard));

    check(heard.ready);
    check_int(heard.kinds, DELAYED | LEASE);
    check(heard.teller == UINT64_MAX);
    check(weir_announcement_read("0 0 0", &heard));
    check(!heard.ready);
    check_int(heard.kinds, 0);
}

/* Of another version, or of somebody else on the same channel: then anything may be
 * new. */
WEIR_TEST(announcement, is_nothing_else)
{
    static const char *const TEXTS[] = {"",      "1",     "1 3",   "1 3 5 7",
                                        "a 3 5", "1 x 5", "1 3 5x"};
    struct weir_announcement heard;

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        check(!weir_announcement_read(TEXTS[i], &heard));
}
