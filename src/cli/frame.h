/*
 * frame.h - one look at the demo's workers, as a table for people or as JSON.
 *
 * Memory   The table's columns keep their widths from frame to frame, so that it stands
 *          still on a terminal.
 */
#ifndef WEIR_CLI_FRAME_H
#define WEIR_CLI_FRAME_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/cast.h"
#include "cli/table.h"
#include "cli/tone.h"

struct weir_heap;

struct weir_frame {
    struct weir_buf text; /* what was shown last, in whole lines */
    struct weir_table table;
};

/* How to print it. */
struct weir_frame_look {
    enum weir_tone_use tones;
    size_t width;     /* 0: no limit */
    const char *hint; /* what comes behind the first line; "" for nothing */
};

void weir_frame_init(struct weir_frame *self, const struct weir_heap *heap);
void weir_frame_fini(struct weir_frame *self);

/* Empty the text, to begin something new. */
void weir_frame_reset(struct weir_frame *self);

/* Append the snapshot. How it went is in weir_buf_status(&self->text). */
void weir_frame_append_table(struct weir_frame *self, const struct weir_frame_look *look,
                             const struct weir_cast_snapshot *now);
void weir_frame_append_json(struct weir_frame *self,
                            const struct weir_cast_snapshot *now);

/* Append a line of text, cut to the width. */
void weir_frame_append_line(struct weir_frame *self, const struct weir_frame_look *look,
                            enum weir_tone tone, const char *format, ...)
    WEIR_PRINTF(4, 5);

#endif
