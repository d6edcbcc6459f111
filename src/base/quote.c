/*
 * quote.c - see quote.h.
 */
#include "base/quote.h"

#include <string.h>

const char *weir_quote(struct weir_quote *self, const char *value)
{
    size_t size = 0;

    for (; size < WEIR_QUOTE_SIZE_MAX && value[size] != '\0'; size++)
        self->text[size] = value[size] >= 0x20 && value[size] <= 0x7e ? value[size] : '?';
    memcpy(self->text + size, value[size] == '\0' ? "" : "...",
           value[size] == '\0' ? 1 : sizeof "...");
    return self->text;
}
