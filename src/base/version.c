/*
 * version.c - the version macros, as one text.
 */
#include "weir/version.h"

#include "base/stringize.h"

const char *weir_version_string(void)
{
    return STRINGIZE(WEIR_VERSION_MAJOR) "." STRINGIZE(
        WEIR_VERSION_MINOR) "." STRINGIZE(WEIR_VERSION_PATCH);
}
