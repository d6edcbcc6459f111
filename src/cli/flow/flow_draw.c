/*
 * flow_draw.c - see flow_draw.h.
 *
 * A column holds the item that its line leads to. For each item, in order:
 *
 *   1  the columns that lead to it meet in the leftmost of them
 *   2  its mark is drawn there
 *   3  its first way out goes on in its column; the others join a column that leads
 *      there already, or begin one
 *
 * So there are never more columns than items that have an incoming edge and as many
 * again.
 */
#include "cli/flow/flow_draw.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/heap.h"

#include "base/count.h"

enum { TEXT_SIZE_MAX = 64 << 20, LINES_SIZE_MAX = 64 << 20 };

#define NOBODY UINT32_MAX

/* Where lines leave a place. */
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };

static const char *const BOXES[16] = {
    [0] = " ",
    [UP] = "│",
    [DOWN] = "│",
    [UP | DOWN] = "│",
    [LEFT] = "─",
    [RIGHT] = "─",
    [LEFT | RIGHT] = "─",
    [UP | RIGHT] = "╰",
    [UP | LEFT] = "╯",
    [DOWN | RIGHT] = "╭",
    [DOWN | LEFT] = "╮",
    [UP | DOWN | RIGHT] = "├",
    [UP | DOWN | LEFT] = "┤",
    [UP | LEFT | RIGHT] = "┴",
    [DOWN | LEFT | RIGHT] = "┬",
    [UP | DOWN | LEFT | RIGHT] = "┼",
};
static const char *const MARKS[][WEIR_DRAW_MARK_COUNT] = {
    [WEIR_DRAW_ASCII] = {"o", "@", "*", "x", "-", "#"},
    [WEIR_DRAW_BOXES] = {"○", "◉", "●", "✗", "◌", "■"},
};

struct flow_painter {
    struct weir_drawing *drawing;
    const struct weir_draw_layers *layers;
    enum weir_draw_style style;
    size_t columns_max;
    uint32_t columns[WEIR_DRAW_COLUMNS_MAX]; /* what each leads to, or `NOBODY` */
    size_t column_count;                     /* the last of them is in use */
    size_t last_column;                      /* of the item in the line above */
    bool below_item;                         /* the line above has one */
};

/* ---- lines ------------------------------------------------------------------------- */

static const char *glyph(const struct flow_painter *self, unsigned ways)
{
    if (self->style == WEIR_DRAW_BOXES)
        return BOXES[ways];
    if (ways == 0)
        return " ";
    if ((ways & (LEFT | RIGHT)) == 0)
        return "|";
    return (ways & (UP | DOWN)) == 0 ? "-" : "+";
}

static void end_text(struct flow_painter *self)
{
    weir_buf_append(&self->drawing->text, "", 1);
}

/* Columns straight down, `mark` in one of them unless it is NULL, which hides nothing. */
static size_t draw_columns(struct flow_painter *self, size_t column, const char *mark)
{
    struct weir_buf *text = &self->drawing->text;
    size_t offset = text->size;
    size_t count = self->column_count;

    if (mark != NULL && count < column + 1)
        count = column + 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            weir_buf_append_text(text, " ");
        if (mark != NULL && i == column)
            weir_buf_append_text(text, mark);
        else
            weir_buf_append_text(text,
                                 glyph(self, self->columns[i] != NOBODY ? UP | DOWN : 0));
    }
    end_text(self);
    if (self->drawing->columns < count)
        self->drawing->columns = count;
    return offset;
}

/* Places of one line, and from where to where it goes. */
struct links {
    unsigned ways[WEIR_DRAW_COLUMNS_MAX]; /* 0: a column that only passes, or nothing */
    size_t left, right;
};

static void draw_links(struct flow_painter *self, const struct links *links)
{
    struct weir_buf *text = &self->drawing->text;
    struct weir_draw_line line = {.what = WEIR_DRAW_LINKS, .offset = text->size};
    size_t count =
        self->column_count > links->right + 1 ? self->column_count : links->right + 1;

    for (size_t i = 0; i < count; i++) {
        bool inside = i > links->left && i <= links->right;
        unsigned ways = links->ways[i];

        if (i > 0)
            weir_buf_append_text(text, inside ? glyph(self, LEFT | RIGHT) : " ");
        if (ways == 0 && i < self->column_count && self->columns[i] != NOBODY)
            ways = UP | DOWN;
        else if (ways == 0 && inside && i < links->right)
            ways = LEFT | RIGHT;
        weir_buf_append_text(text, glyph(self, ways));
    }
    end_text(self);
    weir_buf_append(&self->drawing->lines, &line, sizeof line);
    if (self->drawing->columns < count)
        self->drawing->columns = count;
    self->below_item = false;
}

static void add_way(struct links *self, size_t column, size_t home, unsigned vertical)
{
    self->ways[column] |= vertical | (column > home ? LEFT : RIGHT);
    self->ways[home] |= column > home ? RIGHT : LEFT;
    self->left = column < self->left ? column : self->left;
    self->right = column > self->right ? column : self->right;
}

/* A place between the ends goes on to both sides. */
static void finish_ways(struct links *self)
{
    for (size_t i = self->left + 1; i < self->right; i++) {
        if (self->ways[i] != 0)
            self->ways[i] |= LEFT | RIGHT;
    }
}

/* ---- columns ----------------------------------------------------------------------- */

static size_t find_column(const struct flow_painter *self, uint32_t item)
{
    size_t column = 0;

    while (column < self->column_count && self->columns[column] != item)
        column++;
    return column;
}

/* A free column, from `from` on; at most one behind the last. */
static size_t find_free(const struct flow_painter *self, size_t from)
{
    while (from < self->column_count && self->columns[from] != NOBODY)
        from++;
    return from;
}

static enum weir_status lead(struct flow_painter *self, size_t column, uint32_t item)
{
    if (column >= self->columns_max)
        return WEIR_OUT_OF_RANGE;
    while (self->column_count <= column)
        self->columns[self->column_count++] = NOBODY;
    self->columns[column] = item;
    return WEIR_OK;
}

static void trim(struct flow_painter *self)
{
    while (self->column_count > 0 && self->columns[self->column_count - 1] == NOBODY)
        self->column_count--;
}

/* ---- items ------------------------------------------------------------------------- */

/* All columns that lead to it meet in the first. */
static void meet(struct flow_painter *self, uint32_t item, size_t home)
{
    struct links links = {.left = home, .right = home};

    links.ways[home] = UP | DOWN;
    for (size_t i = home + 1; i < self->column_count; i++) {
        if (self->columns[i] != item)
            continue;
        add_way(&links, i, home, UP);
        self->columns[i] = NOBODY;
    }
    finish_ways(&links);
    if (links.right > home)
        draw_links(self, &links);
    trim(self);
}

/* Its ways out but for the first, which goes on in its own column. */
static enum weir_status split(struct flow_painter *self,
                              const struct weir_draw_edge *edges, size_t count,
                              size_t home, uint32_t kept)
{
    struct links links = {.left = home, .right = home};
    enum weir_status status = WEIR_OK;

    links.ways[home] = UP | DOWN;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        size_t column = find_column(self, edges[i].to);

        if (edges[i].to == kept)
            continue;
        if (column < self->column_count) {
            add_way(&links, column, home, UP | DOWN);
            continue;
        }
        column = find_free(self, home + 1);
        status = lead(self, column, edges[i].to);
        if (status == WEIR_OK)
            add_way(&links, column, home, DOWN);
    }
    finish_ways(&links);
    if (status == WEIR_OK)
        draw_links(self, &links);
    return status;
}

/* The one that no edge leads to yet, if there is one: it needs a column of its own
 * anyway. */
static uint32_t choose_way(const struct flow_painter *self,
                           const struct weir_draw_edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (find_column(self, edges[i].to) == self->column_count)
            return edges[i].to;
    }
    return edges[0].to;
}

static void draw_gap(struct flow_painter *self)
{
    struct weir_draw_line line = {.what = WEIR_DRAW_GAP};

    line.offset = draw_columns(self, 0, NULL);
    weir_buf_append(&self->drawing->lines, &line, sizeof line);
}

static enum weir_status draw_item(struct flow_painter *self, uint32_t item,
                                  const char *mark, const struct weir_draw_edge *edges,
                                  size_t count)
{
    struct weir_draw_line line = {.what = WEIR_DRAW_ITEM, .item = item};
    size_t home = find_column(self, item);
    bool led_to = home < self->column_count;
    uint32_t kept = NOBODY;
    enum weir_status status = WEIR_OK;

    if (led_to)
        meet(self, item, home);
    else
        home = find_free(self, 0);
    if (led_to && self->below_item && self->last_column == home)
        draw_gap(self);
    if (home >= self->columns_max)
        return WEIR_OUT_OF_RANGE;
    line.offset = draw_columns(self, home, mark);
    if (led_to)
        self->columns[home] = NOBODY;
    if (count > 0) {
        kept = choose_way(self, edges, count);
        status = lead(self, home, kept);
    }
    trim(self);
    line.below = draw_columns(self, 0, NULL);
    weir_buf_append(&self->drawing->lines, &line, sizeof line);
    self->below_item = true;
    self->last_column = home;
    if (status == WEIR_OK && count > 1)
        status = split(self, edges, count, home, kept);
    return status;
}

/* ---- order ------------------------------------------------------------------------- */

/* An item of a layer, and the column that leads to it. */
struct place {
    size_t column;
    uint32_t item;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;

    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    return left->item < right->item ? -1 : left->item > right->item;
}

/* The edges of an item are one behind the other; *at grows with the items. */
static size_t find_edges(const struct weir_draw_layers *layers, uint32_t item,
                         size_t *out)
{
    size_t low = 0;
    size_t high = layers->edge_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (layers->edges[middle].from < item)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    while (low < layers->edge_count && layers->edges[low].from == item)
        low++;
    return low - *out;
}

static enum weir_status draw_layer(struct flow_painter *self,
                                   const enum weir_draw_mark *marks, struct place *places,
                                   size_t count)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++)
        places[i].column = find_column(self, places[i].item);
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        uint32_t item = places[i].item;
        size_t first;
        size_t edge_count = find_edges(self->layers, item, &first);

        status = draw_item(self, item, MARKS[self->style][marks[item]],
                           self->layers->edges + first, edge_count);
    }
    return status;
}

static enum weir_status draw_layers(struct flow_painter *self,
                                    const enum weir_draw_mark *marks,
                                    struct place *places)
{
    const struct weir_draw_item *items = self->layers->items;
    enum weir_status status = WEIR_OK;
    size_t end;

    for (size_t begin = 0; begin < self->layers->item_count && status == WEIR_OK;
         begin = end) {
        for (end = begin;
             end < self->layers->item_count && items[end].layer == items[begin].layer;
             end++)
            places[end - begin].item = (uint32_t)end;
        status = draw_layer(self, marks, places, end - begin);
    }
    return status;
}

/* ---- drawing ----------------------------------------------------------------------- */

void weir_drawing_init(struct weir_drawing *self)
{
    weir_buf_init(&self->text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_buf_init(&self->lines, weir_heap_system(), LINES_SIZE_MAX);
    self->columns = 0;
}

void weir_drawing_fini(struct weir_drawing *self)
{
    weir_buf_fini(&self->text);
    weir_buf_fini(&self->lines);
}

enum weir_status weir_drawing_make(struct weir_drawing *self,
                                   const struct weir_draw_layers *layers,
                                   const enum weir_draw_mark *marks,
                                   enum weir_draw_style style, size_t columns_max)
{
    struct flow_painter flow_painter = {
        .drawing = self, .layers = layers, .style = style, .columns_max = columns_max};
    struct place *places = calloc(layers->item_count + 1, sizeof *places);
    enum weir_status status = places != NULL ? WEIR_OK : WEIR_NO_MEMORY;

    weir_buf_reset(&self->text);
    weir_buf_reset(&self->lines);
    self->columns = 0;
    if (status == WEIR_OK)
        status = draw_layers(&flow_painter, marks, places);
    free(places);
    if (status == WEIR_OK)
        status = weir_buf_status(&self->text);
    return status == WEIR_OK ? weir_buf_status(&self->lines) : status;
}

size_t weir_drawing_count(const struct weir_drawing *self)
{
    return self->lines.size / sizeof(struct weir_draw_line);
}

const struct weir_draw_line *weir_drawing_line(const struct weir_drawing *self,
                                               size_t index)
{
    return (const struct weir_draw_line *)(const void *)self->lines.data + index;
}

const char *weir_drawing_text(const struct weir_drawing *self, size_t offset)
{
    return weir_buf_text(&self->text) + offset;
}

size_t weir_drawing_width(const struct weir_drawing *self)
{
    return self->columns > 0 ? 2 * self->columns - 1 : 0;
}

enum weir_draw_style weir_draw_style_of_output(void)
{
    static const char *const NAMES[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *terminal = getenv("TERM");

    if (terminal != NULL && strcmp(terminal, "dumb") == 0)
        return WEIR_DRAW_ASCII;
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        const char *value = getenv(NAMES[i]);
        const char *dot = value != NULL ? strchr(value, '.') : NULL;

        if (value == NULL || value[0] == '\0')
            continue; /* as if it were not there */
        return dot != NULL && (strncasecmp(dot, ".UTF-8", 6) == 0 ||
                               strncasecmp(dot, ".UTF8", 5) == 0)
                   ? WEIR_DRAW_BOXES
                   : WEIR_DRAW_ASCII;
    }
    return WEIR_DRAW_ASCII;
}
