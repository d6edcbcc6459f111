/*
 * error.c - the words that go with a status.
 *
 * Texts are built on the stack and copied over at the end, because the old text is
 * often an argument of the new one, and printf must not read what it is writing.
 */
#include "weir/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

void weir_error_clear(struct weir_error *self)
{
    if (self == NULL)
        return;

    self->status = WEIR_OK;
    self->native_code = 0;
    self->sqlstate[0] = '\0';
    self->text[0] = '\0';
}

enum weir_status weir_error_set(struct weir_error *self, enum weir_status status,
                                const char *format, ...)
{
    char text[WEIR_ERROR_TEXT_SIZE];
    va_list arguments;
    size_t length;

    if (self == NULL)
        return status;

    va_start(arguments, format);
    length = weir_text_format_list(text, sizeof text, format, arguments);
    va_end(arguments);

    self->status = status;
    self->native_code = 0;
    self->sqlstate[0] = '\0';
    memcpy(self->text, text, length + 1);
    return status;
}

void weir_error_prefix(struct weir_error *self, const char *format, ...)
{
    char phrase[WEIR_ERROR_TEXT_SIZE];
    char text[WEIR_ERROR_TEXT_SIZE];
    va_list arguments;
    size_t length;

    if (self == NULL)
        return;

    va_start(arguments, format);
    weir_text_format_list(phrase, sizeof phrase, format, arguments);
    va_end(arguments);

    length = weir_text_format(text, sizeof text, "%s: %s", phrase, self->text);
    memcpy(self->text, text, length + 1);
}
