/*
 * version.h - which weir this is.
 */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#include <weir/api.h>

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

WEIR_BEGIN_DECLS

/* The version of the library that is linked, as "0.1.0". Lives for ever. */
WEIR_API const char *weir_version_string(void);

WEIR_END_DECLS

#endif
