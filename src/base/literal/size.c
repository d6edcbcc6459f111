/*
 * size.c - see size.h.
 */
#include "base/literal/size.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/literal/unit.h"
#include "base/text.h"

#define KIB INT64_C(1024)

/* From large to small; the last one divides everything. */
static const struct weir_unit UNITS[] = {
    {KIB * KIB * KIB, "GiB"},
    {KIB * KIB, "MiB"},
    {KIB, "KiB"},
    {1, "B"},
};

bool weir_size_parse(const char *text, int64_t *out)
{
    return weir_unit_parse(text, UNITS, COUNT_OF(UNITS), out);
}

const char *weir_size_spell(int64_t bytes, char *out)
{
    const struct weir_unit *unit = UNITS;

    while (bytes % unit->size != 0)
        unit++;
    if (bytes == 0)
        weir_text_format(out, WEIR_SIZE_TEXT_SIZE, "0");
    else
        weir_text_format(out, WEIR_SIZE_TEXT_SIZE, "%" PRId64 "%s", bytes / unit->size,
                         unit->name);
    return out;
}
