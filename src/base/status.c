/*
 * status.c - class, name and text of each status, made from WEIR_STATUS_LIST.
 */
#include "weir/status.h"

#include <stddef.h>

struct entry {
    enum weir_status_class class;
    const char *name;
    const char *text;
};

#define ENTRY(name, class, text) {WEIR_CLASS_##class, #name, text},
static const struct entry ENTRIES[] = {WEIR_STATUS_LIST(ENTRY)};
#undef ENTRY

/* What a number that is no status gives. The code that made it up cannot be trusted
 * further. */
static const struct entry UNKNOWN = {WEIR_CLASS_STOP, "UNKNOWN", "unknown status"};

static const struct entry *entry_of(enum weir_status status);

enum weir_status_class weir_status_class(enum weir_status status)
{
    return entry_of(status)->class;
}

const char *weir_status_name(enum weir_status status)
{
    return entry_of(status)->name;
}

const char *weir_status_text(enum weir_status status)
{
    return entry_of(status)->text;
}

/* The cast makes a negative number a large one; whether an enum has a sign is up to the
 * compiler. */
static const struct entry *entry_of(enum weir_status status)
{
    size_t index = (size_t)status;

    return index < WEIR_STATUS_COUNT ? &ENTRIES[index] : &UNKNOWN;
}
