/*
 * utc.c - see utc.h.
 */
#include "base/codec/utc.h"

#include <time.h>

#include "base/text.h"

const char *weir_utc_format(int64_t time_us, char *out)
{
    time_t seconds = time_us / 1000000;
    struct tm parts = {0};

    (void)gmtime_r(&seconds, &parts);
    (void)weir_text_format(out, WEIR_UTC_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                           parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                           parts.tm_hour, parts.tm_min, parts.tm_sec,
                           (int)(time_us % 1000000));
    return out;
}
