/*
 * Moments as people write them.
 */
#include "base/literal/moment.h"

#include <stddef.h>

#include "kit/test.h"

static int64_t parsed(const char *text)
{
    int64_t us = -1;

    check(weir_moment_parse(text, &us));
    return us;
}

static bool refused(const char *text)
{
    int64_t us = -1;

    return !weir_moment_parse(text, &us) && us == 0;
}

WEIR_TEST(moment, is_read_as_it_is_printed)
{
    check_int(parsed("1970-01-01T00:00:00Z"), 0);
    check_int(parsed("2026-11-17T20:15:07.000123Z"), INT64_C(1794946507000123));
    check_int(parsed("2024-02-29T12:00:00Z"), INT64_C(1709208000000000));
}

WEIR_TEST(moment, may_be_short)
{
    check_int(parsed("2026-11-17"), INT64_C(1794873600000000));
    check_int(parsed("2026-11-17T20:15"), INT64_C(1794946500000000));
    check_int(parsed("2026-11-17 20:15:07.5"), INT64_C(1794946507500000));
}

WEIR_TEST(moment, has_an_offset)
{
    check_int(parsed("2026-11-17T21:15:07+01:00"), INT64_C(1794946507000000));
    check_int(parsed("2026-11-17T14:45:07-05:30"), INT64_C(1794946507000000));
}

WEIR_TEST(moment, that_is_none_is_refused)
{
    static const char *const TEXTS[] = {
        "",           "yesterday",         "2026",
        "2026-13-01", "2026-02-29",        "2026-11-17T",
        "1969-12-31", "2026-11-17T24:00",  "2026-11-17T20:15:07.Z",
        "2026-1-1",   "2026-11-17T20:15+", "2026-11-17T20:15:07Zx",
    };

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        check(refused(TEXTS[i]));
}
