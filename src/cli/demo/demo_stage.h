/*
 * demo_stage.h - what both demos have in common: database, console, lines of text, and
 * the way from the first order to the verdict.
 *
 *   open console -> play -> summary -> verdict, which is the exit code
 *
 * Threads  The main thread.
 * Memory   The text is owed weir_buf_fini(), which run() does.
 */
#ifndef WEIR_CLI_DEMO_DEMO_STAGE_H
#define WEIR_CLI_DEMO_DEMO_STAGE_H

#include "cli/console.h"
#include "cli/demo/demo_site.h"
#include "view/tone.h"

enum weir_demo_form { WEIR_DEMO_LIVE, WEIR_DEMO_PLAIN, WEIR_DEMO_SILENT };

/* Lines of text, cut to a width. */
struct weir_demo_text {
    struct weir_buf text; /* what was appended since it was reset, in whole lines */
    enum weir_tone_use tones;
    size_t width; /* of the terminal; 0: no limit */
};

void weir_demo_text_init(struct weir_demo_text *self, const struct weir_heap *heap);
void weir_demo_text_fini(struct weir_demo_text *self);
void weir_demo_text_append_line(struct weir_demo_text *self, enum weir_tone tone,
                                const char *format, ...) WEIR_PRINTF(3, 4);

struct weir_demo_stage {
    /* given */
    const struct weir_command *command;
    const char *dir; /* NULL: a temporary folder */
    bool json;
    enum weir_demo_form form;
    void *state; /* of the functions below */

    /* From the first order to the verdict. WEIR_OK when there is one, in `good`. */
    enum weir_status (*perform)(void *state, struct weir_error *error);
    void (*append_verdict)(void *state, struct weir_buf *out);
    void (*append_json)(void *state, struct weir_buf *out, struct weir_buf *verdict);
    void (*append_text)(void *state, struct weir_buf *verdict);

    struct weir_console console;
    struct weir_demo_site site;
    struct weir_demo_text out;
    int64_t start_ns;
    int64_t end_ns; /* when no more orders were placed */
    bool good;
};

/* Play it in the database of `site`. The exit code. */
WEIR_CHECKED int weir_demo_stage_run(struct weir_demo_stage *self);

/* An empty text, as wide as the terminal is now; and its drawing. */
void weir_demo_stage_begin_frame(struct weir_demo_stage *self);
void weir_demo_stage_draw(struct weir_demo_stage *self);

/* The output cannot be written any more. */
static inline bool weir_demo_stage_is_unread(const struct weir_demo_stage *self)
{
    return self->console.write_errno != 0;
}

/* A second signal: leave no folder behind, and end as the signal would have it. */
void weir_demo_stage_end_at_once(struct weir_demo_stage *self);

#endif
