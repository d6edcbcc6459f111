/*
 * version.c - the version macros, as one text.
 */
#include "weir/version.h"

/* Two steps, so that the macros are replaced by their numbers before they are quoted. */
#define QUOTE(number) #number
#define TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

const char *weir_version_string(void)
{
    return TEXT(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
}
