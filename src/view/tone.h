/*
 * tone.h - how something is meant, for terminals that can show it.
 *
 * Callers name the meaning; the colour is chosen here, once. Nothing is shown by colour
 * alone.
 */
#ifndef WEIR_VIEW_TONE_H
#define WEIR_VIEW_TONE_H

struct weir_buf;

enum weir_tone {
    WEIR_TONE_PLAIN,
    WEIR_TONE_TITLE,
    WEIR_TONE_FAINT,
    WEIR_TONE_GOOD,
    WEIR_TONE_CAREFUL,
    WEIR_TONE_BAD
};

enum weir_tone_use { WEIR_TONES_OFF, WEIR_TONES_ON };

/* Append what switches the tone on, or off again; nothing for WEIR_TONES_OFF and
 * PLAIN. */
void weir_tone_begin(enum weir_tone tone, enum weir_tone_use use, struct weir_buf *out);
void weir_tone_end(enum weir_tone tone, enum weir_tone_use use, struct weir_buf *out);

#endif
