/*
 * name.h - what workers, wards, scans and categories may be called.
 */
#ifndef WEIR_WARD_NAME_H
#define WEIR_WARD_NAME_H

#include "weir/error.h"

/* WEIR_INVALID unless 1 to 255 printable ASCII characters without space; `field` for the
 * text. */
WEIR_CHECKED enum weir_status weir_name_check(const char *field, const char *name,
                                              struct weir_error *error);

#endif
