/*
 * flow_draw.h - the lines of a flow, drawn from top to bottom in front of its rows.
 *
 *   *      reserve        a row has one item, marked in its column
 *   |
 *   *      charge
 *   +-+    two come of it
 *   | |
 *   @ |    carrier
 *   | o    carrier
 *   +-+    one comes of both
 *   o      ship
 *
 * A column is a line on its way down to the item that it leads to. Where a line crosses
 * columns that it has nothing to do with, these are drawn on top of it.
 *
 * Order    Layer by layer; in a layer from the left to the right, by the lines that
 *          lead there.
 * Memory   Owned; fini() gives it back, also after a failure.
 */
#ifndef WEIR_CLI_FLOW_FLOW_DRAW_H
#define WEIR_CLI_FLOW_FLOW_DRAW_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/flow/flow_draw_layers.h"

enum weir_draw_style { WEIR_DRAW_ASCII, WEIR_DRAW_BOXES };

enum weir_draw_mark {
    WEIR_DRAW_OPEN,   /* it has not begun, or rests */
    WEIR_DRAW_ACTIVE, /* a worker runs it */
    WEIR_DRAW_DONE,   /* it has ended well */
    WEIR_DRAW_BAD,    /* and not so */
    WEIR_DRAW_NEVER,  /* it will not be done */
    WEIR_DRAW_MANY,   /* several in one */
    WEIR_DRAW_MARK_COUNT
};

enum weir_draw_what {
    WEIR_DRAW_ITEM,  /* the row of an item */
    WEIR_DRAW_LINKS, /* lines that split or meet */
    WEIR_DRAW_GAP    /* between two items of one column that belong together */
};

/* One line of the drawing. */
struct weir_draw_line {
    enum weir_draw_what what;
    uint32_t item; /* ITEM */
    size_t offset; /* of its text, which ends in a zero */
    size_t below; /* ITEM: of the text for more lines that belong to the row; it ends in a
                     zero */
};

struct weir_drawing {
    struct weir_buf text;
    struct weir_buf lines;
    size_t columns; /* the most that a line has */
};

/*
 * Draw items and the edges between them; `marks` has one for each. WEIR_OUT_OF_RANGE:
 * it takes more than `columns_max` columns, of 1 to WEIR_DRAW_COLUMNS_MAX. Else
 * WEIR_NO_MEMORY and WEIR_INVALID, as of a weir_buf.
 */
enum { WEIR_DRAW_COLUMNS_MAX = 64 };
void weir_drawing_init(struct weir_drawing *self);
WEIR_CHECKED enum weir_status weir_drawing_make(struct weir_drawing *self,
                                                const struct weir_draw_layers *layers,
                                                const enum weir_draw_mark *marks,
                                                enum weir_draw_style style,
                                                size_t columns_max);
void weir_drawing_fini(struct weir_drawing *self);

size_t weir_drawing_count(const struct weir_drawing *self);
const struct weir_draw_line *weir_drawing_line(const struct weir_drawing *self,
                                               size_t index);
const char *weir_drawing_text(const struct weir_drawing *self, size_t offset);

/* How wide the lines are, in characters. */
size_t weir_drawing_width(const struct weir_drawing *self);

/* Of this terminal and locale: LC_ALL, LC_CTYPE or LANG names UTF-8, and TERM is not
 * "dumb". */
enum weir_draw_style weir_draw_style_of_output(void);

#endif
