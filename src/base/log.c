/*
 * log.c - one event, one line.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/text.h"

enum { LINE_SIZE = 512 }; /* with the zero; what log.h promises */

static void flatten(char *line);

const char *weir_log_level_name(enum weir_log_level level)
{
    switch (level) {
    case WEIR_LOG_TRACE:
        return "trace";
    case WEIR_LOG_DEBUG:
        return "debug";
    case WEIR_LOG_INFO:
        return "info";
    case WEIR_LOG_WARNING:
        return "warning";
    case WEIR_LOG_ERROR:
        return "error";
    case WEIR_LOG_NOTHING:
        break;
    }
    return "nothing";
}

bool weir_log_wants(const struct weir_log *self, enum weir_log_level level)
{
    return self != NULL && self->write != NULL && level >= self->minimum &&
           level < WEIR_LOG_NOTHING;
}

void weir_log_event(const struct weir_log *self, enum weir_log_level level,
                    const char *event, const char *facts, ...)
{
    char known[LINE_SIZE] = "";
    char line[LINE_SIZE];
    va_list arguments;

    if (!weir_log_wants(self, level))
        return;

    if (facts != NULL) {
        va_start(arguments, facts);
        weir_text_format_list(known, sizeof known, facts, arguments);
        va_end(arguments);
    }
    weir_text_format(line, sizeof line, "%s%s%s", event, known[0] ? " " : "", known);
    flatten(line);
    self->write(self->state, level, line);
}

/* Facts carry texts from outside, and a line break in one of them must not look like a
 * second event. */
static void flatten(char *line)
{
    for (; *line != '\0'; line++)
        if ((unsigned char)*line < ' ' || *line == 0x7f)
            *line = ' ';
}
