/*
 * Tests of cli/flow/flow_draw.c and cli/flow/flow_draw_layers.c: flows, and what is
 * drawn of them.
 */
#include "cli/flow/flow_draw.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kit/test.h"

enum { NODES_MAX = 64, EDGES_MAX = 512, PICTURE_SIZE = 8192 };

struct sketch {
    size_t node_count;
    struct weir_draw_edge edges[EDGES_MAX];
    size_t edge_count;
    struct weir_draw_layers layers;
    struct weir_drawing drawing;
    char picture[PICTURE_SIZE];
};

/* "a>b b>c": nodes are letters. */
static void add_edges(struct sketch *self, const char *text)
{
    for (; *text != '\0'; text += text[0] == ' ' ? 1 : 3) {
        if (text[0] == ' ')
            continue;
        self->edges[self->edge_count++] = (struct weir_draw_edge){
            .from = (uint32_t)(text[0] - 'a'), .to = (uint32_t)(text[2] - 'a')};
    }
}

/* Lines as they are, with the letter of its node behind each item, and of many how
 * many. */
static void compose(struct sketch *self)
{
    size_t used = 0;

    for (size_t i = 0; i < weir_drawing_count(&self->drawing); i++) {
        const struct weir_draw_line *line = weir_drawing_line(&self->drawing, i);
        const struct weir_draw_item *item = &self->layers.items[line->item];
        char text[256];
        size_t size;

        if (line->what != WEIR_DRAW_ITEM)
            size = weir_text_format(text, sizeof text, "%s",
                                    weir_drawing_text(&self->drawing, line->offset));
        else
            size = weir_text_format(text, sizeof text, "%s %c",
                                    weir_drawing_text(&self->drawing, line->offset),
                                    item->count > 1 ? (char)('0' + item->count)
                                                    : (char)('a' + item->first));
        while (size > 0 && text[size - 1] == ' ')
            size--;
        text[size] = '\0';
        used += weir_text_format(self->picture + used, sizeof self->picture - used,
                                 "%s\n", text);
    }
}

static enum weir_status try_draw(struct sketch *self, size_t node_count,
                                 const char *edges, size_t fold,
                                 enum weir_draw_style style, size_t columns_max)
{
    enum weir_draw_mark marks[NODES_MAX] = {WEIR_DRAW_OPEN};
    enum weir_status status;

    self->node_count = node_count;
    add_edges(self, edges);
    weir_drawing_init(&self->drawing);
    check_status(weir_draw_layers_make(&self->layers, node_count, self->edges,
                                       self->edge_count, fold),
                 WEIR_OK);
    for (size_t i = 0; i < self->layers.item_count; i++)
        marks[i] = self->layers.items[i].count > 1 ? WEIR_DRAW_MANY : WEIR_DRAW_OPEN;
    status = weir_drawing_make(&self->drawing, &self->layers, marks, style, columns_max);
    self->picture[0] = '\0';
    if (status == WEIR_OK)
        compose(self);
    return status;
}

static void forget(struct sketch *self)
{
    weir_drawing_fini(&self->drawing);
    weir_draw_layers_fini(&self->layers);
    *self = (struct sketch){.node_count = 0};
}

static void draws(size_t node_count, const char *edges, const char *want)
{
    struct sketch sketch = {.node_count = 0};

    check_status(
        try_draw(&sketch, node_count, edges, 0, WEIR_DRAW_ASCII, WEIR_DRAW_COLUMNS_MAX),
        WEIR_OK);
    check_str(sketch.picture, want);
    forget(&sketch);
}

/* ---- layers ------------------------------------------------------------------------ */

WEIR_TEST(layers, are_one_below_the_lowest_that_leads_there)
{
    struct weir_draw_layers layers;
    const struct weir_draw_edge edges[] = {{0, 1}, {1, 2}, {0, 2}, {3, 2}};

    check_status(weir_draw_layers_make(&layers, 4, edges, 4, 0), WEIR_OK);

    check(layers.item_count == 4);
    check(layers.items[layers.item_of[0]].layer == 0);
    check(layers.items[layers.item_of[1]].layer == 1);
    check(layers.items[layers.item_of[2]].layer == 2);
    check(layers.items[layers.item_of[3]].layer == 0);
    weir_draw_layers_fini(&layers);
}

WEIR_TEST(layers, become_one_item_beyond_the_limit)
{
    struct weir_draw_layers layers;
    const struct weir_draw_edge edges[] = {{0, 1}, {0, 2}, {0, 3},
                                           {1, 4}, {2, 4}, {3, 4}};

    check_status(weir_draw_layers_make(&layers, 5, edges, 6, 3), WEIR_OK);
    check(layers.item_count == 5);
    weir_draw_layers_fini(&layers);

    check_status(weir_draw_layers_make(&layers, 5, edges, 6, 2), WEIR_OK);
    check(layers.item_count == 3);
    check(layers.items[1].count == 3);
    check(layers.item_of[3] == 1);
    check(layers.edge_count == 2);
    weir_draw_layers_fini(&layers);
}

/* The engine allows none; a reader must not hang all the same. */
WEIR_TEST(layers, end_where_there_is_a_circle)
{
    struct weir_draw_layers layers;
    const struct weir_draw_edge edges[] = {{0, 1}, {1, 2}, {2, 1}};

    check_status(weir_draw_layers_make(&layers, 3, edges, 3, 0), WEIR_OK);
    check(layers.item_count == 3);
    weir_draw_layers_fini(&layers);
}

/* ---- drawing ----------------------------------------------------------------------- */

WEIR_TEST(drawing, of_nothing_is_nothing)
{
    draws(0, "", "");
}

WEIR_TEST(drawing, shows_what_belongs_together)
{
    draws(2, "",
          "o a\n"
          "o b\n");
    draws(2, "a>b",
          "o a\n"
          "|\n"
          "o b\n");
}

WEIR_TEST(drawing, splits_and_meets)
{
    draws(5, "a>b a>c a>d b>e c>e d>e",
          "o a\n"
          "+-+-+\n"
          "o | | b\n"
          "| o | c\n"
          "| | o d\n"
          "+-+-+\n"
          "o e\n");
}

WEIR_TEST(drawing, lets_a_long_line_pass)
{
    draws(4, "a>b b>c c>d a>d",
          "o a\n"
          "+-+\n"
          "o | b\n"
          "| |\n"
          "o | c\n"
          "+-+\n"
          "o d\n");
}

/* c leads to where a leads already; b is on the way and has nothing to do with it. */
WEIR_TEST(drawing, draws_a_column_on_top_of_a_line_that_crosses_it)
{
    draws(6, "a>d b>e c>d c>f",
          "o a\n"
          "| o b\n"
          "| | o c\n"
          "+-|-+\n"
          "o | | d\n"
          "  o | e\n"
          "    o f\n");
}

WEIR_TEST(drawing, uses_a_column_again)
{
    draws(4, "a>b c>d",
          "o a\n"
          "| o c\n"
          "o | b\n"
          "  o d\n");
}

WEIR_TEST(drawing, has_boxes_where_they_can_be_shown)
{
    struct sketch sketch = {.node_count = 0};

    check_status(try_draw(&sketch, 5, "a>b a>c a>d b>e c>e d>e", 0, WEIR_DRAW_BOXES, 8),
                 WEIR_OK);
    check_str(sketch.picture, "○ a\n"
                              "├─┬─╮\n"
                              "○ │ │ b\n"
                              "│ ○ │ c\n"
                              "│ │ ○ d\n"
                              "├─┴─╯\n"
                              "○ e\n");
    check(weir_drawing_width(&sketch.drawing) == 5);
    forget(&sketch);
}

WEIR_TEST(drawing, folds)
{
    struct sketch sketch = {.node_count = 0};

    check_status(try_draw(&sketch, 5, "a>b a>c a>d b>e c>e d>e", 2, WEIR_DRAW_ASCII, 8),
                 WEIR_OK);
    check_str(sketch.picture, "o a\n"
                              "|\n"
                              "# 3\n"
                              "|\n"
                              "o e\n");
    forget(&sketch);
}

WEIR_TEST(drawing, refuses_more_columns_than_there_is_room_for)
{
    struct sketch sketch = {.node_count = 0};

    check_status(try_draw(&sketch, 4, "a>b a>c a>d", 0, WEIR_DRAW_ASCII, 2),
                 WEIR_OUT_OF_RANGE);
    forget(&sketch);
    check_status(try_draw(&sketch, 4, "a>b a>c a>d", 0, WEIR_DRAW_ASCII, 3), WEIR_OK);
    forget(&sketch);
}

/* ---- all sorts of flows ------------------------------------------------------------ */

/* Somebody who has only the picture: which items the line in each column comes from. */
struct reader {
    uint64_t comes_from[WEIR_DRAW_COLUMNS_MAX];
    uint64_t leads_to[NODES_MAX]; /* what was found: of each item, those it comes from */
    size_t home;                  /* the column of the last item */
    uint32_t item;
};

/* What is drawn in a column: two characters further is the next. */
static const char *cell(const char *text, size_t column)
{
    for (size_t left = 2 * column; left > 0 && *text != '\0'; text++)
        left -= ((unsigned char)text[1] & 0xc0) != 0x80;
    return text;
}

static bool is_one_of(const char *at, const char *glyphs)
{
    char glyph[4] = "";

    memcpy(glyph, at, strnlen(at, 3));
    return *at != '\0' && *at != ' ' && strstr(glyphs, glyph) != NULL;
}

/* Lines that end there come from the left or the right; those that end from above
 * meet. */
static void read_links(struct reader *self, const char *text)
{
    size_t first = WEIR_DRAW_COLUMNS_MAX;
    bool meets = false;

    for (size_t i = 0; i < WEIR_DRAW_COLUMNS_MAX; i++)
        meets = meets || is_one_of(cell(text, i), "╯┴╰");
    for (size_t i = 0; i < WEIR_DRAW_COLUMNS_MAX; i++) {
        if (!is_one_of(cell(text, i), "├┤┼╮╭┬╯┴╰"))
            continue;
        first = first < i ? first : i;
        if (!meets && i != self->home)
            self->comes_from[i] |= UINT64_C(1) << self->item;
        if (meets && i != first) {
            self->comes_from[first] |= self->comes_from[i];
            self->comes_from[i] = 0;
        }
    }
}

static void read_item(struct reader *self, const struct sketch *sketch,
                      const struct weir_draw_line *line)
{
    const char *text = weir_drawing_text(&sketch->drawing, line->offset);
    size_t home = 0;

    while (!is_one_of(cell(text, home), "○"))
        home++;
    self->home = home;
    self->item = line->item;
    self->leads_to[line->item] = self->comes_from[home];
    text = weir_drawing_text(&sketch->drawing, line->below);
    self->comes_from[home] =
        is_one_of(cell(text, home), "│") ? UINT64_C(1) << line->item : 0;
}

static void check_read(const struct sketch *self)
{
    struct reader reader = {.home = 0};
    uint64_t want[NODES_MAX] = {0};
    size_t seen = 0;

    for (size_t i = 0; i < weir_drawing_count(&self->drawing); i++) {
        const struct weir_draw_line *line = weir_drawing_line(&self->drawing, i);

        seen += line->what == WEIR_DRAW_ITEM;
        if (line->what == WEIR_DRAW_ITEM)
            read_item(&reader, self, line);
        else if (line->what == WEIR_DRAW_LINKS)
            read_links(&reader, weir_drawing_text(&self->drawing, line->offset));
    }
    for (size_t i = 0; i < self->layers.edge_count; i++)
        want[self->layers.edges[i].to] |= UINT64_C(1) << self->layers.edges[i].from;
    check_int(seen, self->layers.item_count);
    for (size_t i = 0; i < self->layers.item_count; i++)
        check(reader.leads_to[i] == want[i]);
}

static void check_random(unsigned seed)
{
    struct sketch sketch = {.node_count = 0};
    enum weir_draw_mark marks[NODES_MAX] = {WEIR_DRAW_OPEN};
    int density;

    srand(seed);
    density = 2 + rand() % 8;
    sketch.node_count = 1 + (size_t)rand() % 24;
    for (uint32_t to = 1; to < sketch.node_count; to++) {
        for (uint32_t from = 0; from < to; from++) {
            if (rand() % density == 0)
                sketch.edges[sketch.edge_count++] = (struct weir_draw_edge){from, to};
        }
    }
    weir_drawing_init(&sketch.drawing);
    check_status(weir_draw_layers_make(&sketch.layers, sketch.node_count, sketch.edges,
                                       sketch.edge_count, (size_t)rand() % 6),
                 WEIR_OK);
    check_status(weir_drawing_make(&sketch.drawing, &sketch.layers, marks,
                                   WEIR_DRAW_BOXES, WEIR_DRAW_COLUMNS_MAX),
                 WEIR_OK);
    check_read(&sketch);
    forget(&sketch);
}

WEIR_TEST(drawing, has_every_item_and_every_edge_once)
{
    for (unsigned seed = 1; seed <= 1000; seed++)
        check_random(seed);
}

/* ---- where it is shown ------------------------------------------------------------- */

static enum weir_draw_style style_for(const char *all, const char *lang, const char *term)
{
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", "", 1);
    setenv("LANG", lang, 1);
    setenv("TERM", term, 1);
    return weir_draw_style_of_output();
}

WEIR_TEST(style, is_what_the_locale_can_show)
{
    check(style_for("", "en_GB.UTF-8", "xterm") == WEIR_DRAW_BOXES);
    check(style_for("", "C.utf8", "xterm") == WEIR_DRAW_BOXES);
    check(style_for("", "en_GB.ISO-8859-1", "xterm") == WEIR_DRAW_ASCII);
    check(style_for("C", "en_GB.UTF-8", "xterm") == WEIR_DRAW_ASCII);
    check(style_for("", "", "xterm") == WEIR_DRAW_ASCII);
    check(style_for("", "en_GB.UTF-8", "dumb") == WEIR_DRAW_ASCII);
}
