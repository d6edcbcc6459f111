/*
 * tone.c - tones as ANSI colours: the eight that every palette makes readable.
 */
#include "view/tone.h"

#include <stddef.h>

#include "base/buf.h"

static const char *const CODES[] = {
    [WEIR_TONE_PLAIN] = NULL,         [WEIR_TONE_TITLE] = "\033[1m",
    [WEIR_TONE_FAINT] = "\033[2m",    [WEIR_TONE_GOOD] = "\033[32m",
    [WEIR_TONE_CAREFUL] = "\033[33m", [WEIR_TONE_BAD] = "\033[31m",
};

void weir_tone_begin(enum weir_tone tone, enum weir_tone_use use, struct weir_buf *out)
{
    if (use == WEIR_TONES_ON && CODES[tone] != NULL)
        weir_buf_append_text(out, CODES[tone]);
}

void weir_tone_end(enum weir_tone tone, enum weir_tone_use use, struct weir_buf *out)
{
    if (use == WEIR_TONES_ON && CODES[tone] != NULL)
        weir_buf_append_text(out, "\033[0m");
}
