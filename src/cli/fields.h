/*
 * fields.h - picks fields out of a line that is a JSON object.
 *
 *   {"customer": "c42", "kind": null, "body": {"total": 5}}
 *
 *   customer   GIVEN   c42             a text is its characters
 *   body       GIVEN   {"total": 5}    anything else is its JSON, as it was written
 *   kind       NULL
 *   other      ABSENT
 *
 * A field that is there twice counts as the last one says. \u0000 becomes U+FFFD, as
 * does half of a UTF-16 pair.
 *
 * Memory   Texts are in the caller's arena.
 */
#ifndef WEIR_CLI_FIELDS_H
#define WEIR_CLI_FIELDS_H

#include "base/arena.h"
#include "base/str.h"
#include "weir/error.h"

enum weir_field_found { WEIR_FIELD_ABSENT, WEIR_FIELD_NULL, WEIR_FIELD_GIVEN };

struct weir_field {
    const char *name; /* in; NULL: not wanted */
    enum weir_field_found found;
    const char *text; /* ends in a zero; NULL unless GIVEN */
};

/* Fails with WEIR_INVALID (no JSON object; the text says why) or WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_fields_read(struct weir_str line,
                                               struct weir_arena *arena,
                                               struct weir_field *fields, size_t count,
                                               struct weir_error *error);

#endif
