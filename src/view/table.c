/*
 * table.c - cells in one text, laid out when they are printed.
 *
 * A width is a number of characters, not of bytes: continuation bytes of UTF-8 count
 * nothing, and nothing is cut inside a character. (East Asian wide characters count one
 * and may push a line to the right; no text of ours has any.)
 */
#include "view/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"

enum { TEXT_SIZE_MAX = 1 << 20, CELLS_SIZE_MAX = 4 << 20, CELL_SIZE_MAX = 512, GAP = 2 };

struct cell {
    size_t offset; /* in the table's text */
    size_t size;
    enum weir_tone tone;
};

/* How wide each column is printed; 0 means that it is left out. */
struct layout {
    size_t widths[WEIR_TABLE_COLUMNS_MAX];
};

static size_t count_characters(const char *text, size_t size);
static struct layout make_layout(const struct weir_table *self, size_t width);
static size_t total_width(const struct layout *layout, size_t column_count);
static void print_row(const struct weir_table *self, const struct layout *layout,
                      const struct cell *row, enum weir_tone_use use,
                      struct weir_buf *out);

void weir_table_init(struct weir_table *self, const struct weir_heap *heap,
                     const struct weir_table_column *columns, size_t column_count)
{
    WEIR_ASSERT(column_count >= 1 && column_count <= WEIR_TABLE_COLUMNS_MAX);
    self->columns = columns;
    self->column_count = column_count;
    for (size_t i = 0; i < column_count; i++) {
        self->widths[i] = count_characters(columns[i].title, strlen(columns[i].title));
        if (self->widths[i] < columns[i].width)
            self->widths[i] = columns[i].width;
    }
    weir_buf_init(&self->text, heap, TEXT_SIZE_MAX);
    weir_buf_init(&self->cells, heap, CELLS_SIZE_MAX);
}

void weir_table_fini(struct weir_table *self)
{
    weir_buf_fini(&self->text);
    weir_buf_fini(&self->cells);
}

void weir_table_reset(struct weir_table *self)
{
    weir_buf_reset(&self->text);
    weir_buf_reset(&self->cells);
}

void weir_table_add(struct weir_table *self, enum weir_tone tone, const char *format, ...)
{
    size_t column = self->cells.size / sizeof(struct cell) % self->column_count;
    struct cell cell = {.offset = self->text.size, .tone = tone};
    char text[CELL_SIZE_MAX];
    size_t characters;
    va_list arguments;

    va_start(arguments, format);
    cell.size = weir_text_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < cell.size; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = '?';
    }

    characters = count_characters(text, cell.size);
    if (self->widths[column] < characters)
        self->widths[column] = characters;
    weir_buf_append(&self->text, text, cell.size);
    weir_buf_append(&self->cells, &cell, sizeof cell);
}

enum weir_status weir_table_print(const struct weir_table *self, size_t width,
                                  enum weir_tone_use use, struct weir_buf *out)
{
    const struct cell *cells = (const struct cell *)(const void *)self->cells.data;
    size_t cell_count = self->cells.size / sizeof *cells;
    struct layout layout = make_layout(self, width);
    enum weir_status status = weir_buf_status(&self->text);

    if (status == WEIR_OK)
        status = weir_buf_status(&self->cells);
    if (status != WEIR_OK)
        return status;

    print_row(self, &layout, NULL, use, out);
    for (size_t i = 0; i + self->column_count <= cell_count; i += self->column_count)
        print_row(self, &layout, &cells[i], use, out);
    return weir_buf_status(out);
}

static bool continues_a_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += !continues_a_character(text[i]);
    return count;
}

/* The column that goes first when there is no room, or the count of columns. */
static size_t find_least_wanted(const struct weir_table *self,
                                const struct layout *layout)
{
    size_t found = self->column_count;
    unsigned rank = 0;

    for (size_t i = 0; i < self->column_count; i++) {
        if (layout->widths[i] > 0 && self->columns[i].rank > rank) {
            rank = self->columns[i].rank;
            found = i;
        }
    }
    return found;
}

static struct layout make_layout(const struct weir_table *self, size_t width)
{
    struct layout least = {0};
    size_t room;

    for (size_t i = 0; i < self->column_count; i++) {
        size_t cut_to = self->columns[i].cut_to;

        least.widths[i] =
            cut_to > 0 && cut_to < self->widths[i] ? cut_to : self->widths[i];
    }
    while (width > 0 && total_width(&least, self->column_count) > width) {
        size_t column = find_least_wanted(self, &least);

        if (column == self->column_count)
            break;
        least.widths[column] = 0;
    }

    /* What is left of the width goes to the columns that were cut, from the left. */
    room = total_width(&least, self->column_count);
    room = width == 0 ? SIZE_MAX : width > room ? width - room : 0;
    for (size_t i = 0; i < self->column_count; i++) {
        size_t missing = self->widths[i] - least.widths[i];

        if (least.widths[i] == 0 || missing == 0)
            continue;
        missing = missing < room ? missing : room;
        least.widths[i] += missing;
        room -= missing;
    }
    return least;
}

static size_t total_width(const struct layout *layout, size_t column_count)
{
    size_t total = 0;

    for (size_t i = 0; i < column_count; i++) {
        if (layout->widths[i] > 0)
            total += layout->widths[i] + (total > 0 ? GAP : 0);
    }
    return total;
}

static void print_spaces(size_t count, struct weir_buf *out)
{
    while (count-- > 0)
        weir_buf_append(out, " ", 1);
}

/* Print as much of the text as fits; what was cut ends in "..". */
static void print_cut(const char *text, size_t size, size_t width, struct weir_buf *out)
{
    size_t kept = 0, characters = 0;
    bool cut = count_characters(text, size) > width;
    size_t limit = cut && width > 2 ? width - 2 : width;

    while (kept < size && (characters < limit || continues_a_character(text[kept])))
        characters += !continues_a_character(text[kept++]);
    weir_buf_append(out, text, kept);
    if (cut && width > 2)
        weir_buf_append_text(out, "..");
}

/* One row, or the titles for NULL. Spaces at the end of a line are held back until
 * something follows them. */
static void print_row(const struct weir_table *self, const struct layout *layout,
                      const struct cell *row, enum weir_tone_use use,
                      struct weir_buf *out)
{
    size_t spaces = 0;

    for (size_t i = 0; i < self->column_count; i++) {
        const char *text = self->columns[i].title;
        size_t size, characters, padding;
        enum weir_tone tone = WEIR_TONE_TITLE;

        if (layout->widths[i] == 0)
            continue;
        size = strlen(text);
        if (row != NULL) {
            text = weir_buf_text(&self->text) + row[i].offset;
            size = row[i].size;
            tone = row[i].tone;
        }
        characters = count_characters(text, size);
        padding = characters < layout->widths[i] ? layout->widths[i] - characters : 0;

        if (self->columns[i].align == WEIR_TABLE_RIGHT)
            spaces += padding;
        if (size > 0) {
            print_spaces(spaces, out);
            spaces = 0;
            weir_tone_begin(tone, use, out);
            print_cut(text, size, layout->widths[i], out);
            weir_tone_end(tone, use, out);
        }
        if (self->columns[i].align == WEIR_TABLE_LEFT)
            spaces += padding;
        spaces += GAP;
    }
    weir_buf_append_text(out, "\n");
}
