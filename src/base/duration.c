/*
 * duration.c - nanoseconds as people read them.
 *
 * Whole numbers throughout: a double has no room for the last digits of a long duration.
 */
#include "base/duration.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/literal/unit.h"
#include "base/text.h"
#include "weir/time.h"

/* From long to short; the last one divides everything. */
static const struct weir_unit UNITS[] = {
    {WEIR_HOURS(24), "d"},
    {WEIR_HOURS(1), "h"},
    {WEIR_MINUTES(1), "min"},
    {WEIR_SECONDS(1), "s"},
    {WEIR_MILLISECONDS(1), "ms"},
    {WEIR_MICROSECONDS(1), "µs"},
    {1, "ns"},
};

/* What people write; of these none is shorter than a millisecond. */
static const struct weir_unit WRITTEN[] = {
    {WEIR_MILLISECONDS(1), "ms"}, {WEIR_SECONDS(1), "s"}, {WEIR_MINUTES(1), "min"},
    {WEIR_MINUTES(1), "m"},       {WEIR_HOURS(1), "h"},   {WEIR_HOURS(24), "d"},
};

static uint64_t magnitude(int64_t number);

const char *weir_duration_format(int64_t duration_ns, char *out, size_t size)
{
    const char *sign = duration_ns < 0 ? "-" : "";
    uint64_t us = magnitude(duration_ns) / 1000;
    uint64_t tenths;
    const char *unit;

    WEIR_ASSERT(size >= WEIR_DURATION_TEXT_SIZE);
    if (us < 1000) {
        weir_text_format(out, size, "%s%" PRIu64 " µs", us > 0 ? sign : "", us);
        return out;
    }

    tenths = us < 1000000 ? us / 100 : us / 100000;
    unit = us < 1000000 ? "ms" : "s";
    weir_text_format(out, size, "%s%" PRIu64 ".%" PRIu64 " %s", sign, tenths / 10,
                     tenths % 10, unit);
    return out;
}

enum weir_status weir_duration_check(const char *field, int64_t duration_ns,
                                     int64_t min_ns, int64_t max_ns,
                                     struct weir_error *error)
{
    char value[WEIR_DURATION_TEXT_SIZE];
    char min[WEIR_DURATION_TEXT_SIZE];
    char max[WEIR_DURATION_TEXT_SIZE];

    if (duration_ns >= min_ns && duration_ns <= max_ns)
        return WEIR_OK;

    return weir_error_set(error, WEIR_INVALID, "%s is %s, must be from %s to %s", field,
                          weir_duration_spell(duration_ns, value, sizeof value),
                          weir_duration_spell(min_ns, min, sizeof min),
                          weir_duration_spell(max_ns, max, sizeof max));
}

const char *weir_duration_spell(int64_t duration_ns, char *out, size_t size)
{
    const struct weir_unit *unit = UNITS;

    WEIR_ASSERT(size >= WEIR_DURATION_TEXT_SIZE);
    if (duration_ns == 0 || duration_ns == WEIR_FOREVER) {
        weir_text_format(out, size, "%s", duration_ns == 0 ? "0" : "for ever");
        return out;
    }

    while (duration_ns % unit->size != 0)
        unit++;
    weir_text_format(out, size, "%" PRId64 " %s", duration_ns / unit->size, unit->name);
    return out;
}

bool weir_duration_parse(const char *text, int64_t *out)
{
    return weir_unit_parse(text, WRITTEN, COUNT_OF(WRITTEN), out);
}

/* Also right for INT64_MIN, which has no positive counterpart. */
static uint64_t magnitude(int64_t number)
{
    return number < 0 ? UINT64_C(0) - (uint64_t)number : (uint64_t)number;
}
