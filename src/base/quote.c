/*
 * quote.c - see quote.h.
 */
#include "base/quote.h"

#include <string.h>

const char *weir_quote(struct weir_quote *self, const char *value)
{
    struct weir_str text = {value, strnlen(value, WEIR_QUOTE_SIZE_MAX + 1)};

    return weir_quote_str(self, text);
}

const char *weir_quote_str(struct weir_quote *self, struct weir_str value)
{
    bool whole = value.size <= WEIR_QUOTE_SIZE_MAX;
    size_t size = whole ? value.size : WEIR_QUOTE_SIZE_MAX;

    for (size_t i = 0; i < size; i++) {
        char byte = value.data[i];

        self->text[i] = byte >= 0x20 && byte <= 0x7e ? byte : '?';
    }
    memcpy(self->text + size, whole ? "" : "...", whole ? 1 : sizeof "...");
    return self->text;
}
