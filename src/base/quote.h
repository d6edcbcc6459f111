/*
 * quote.h - a value from outside in the text of an error.
 *
 * Shown as far as it helps: up to 60 bytes, and no byte that could spoil a terminal or
 * a log.
 */
#ifndef WEIR_BASE_QUOTE_H
#define WEIR_BASE_QUOTE_H

#include "base/str.h"

enum { WEIR_QUOTE_SIZE_MAX = 60 };

struct weir_quote {
    char text[WEIR_QUOTE_SIZE_MAX + sizeof "..."];
};

/* What is not printable ASCII is a question mark. Returns the text of `self`. */
const char *weir_quote(struct weir_quote *self, const char *value);

/* The same for bytes that may have zeros among them. */
const char *weir_quote_str(struct weir_quote *self, struct weir_str value);

#endif
