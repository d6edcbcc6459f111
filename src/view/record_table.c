/*
 * record_table.c - rows as cells of a table, and as lines in full.
 */
#include "base/assert.h"
#include "view/record.h"

enum { LINES_MAX = 48 };

typedef unsigned (*place_fn)(const struct weir_record_field *field);

static unsigned place_in_table(const struct weir_record_field *field)
{
    return field->column;
}

static unsigned place_in_lines(const struct weir_record_field *field)
{
    return field->line_at;
}

/* Fields with a place of their own move there, before the one that has it by order; all
 * others keep their order. */
static void insert(const struct weir_record_field **fields, unsigned *places,
                   size_t count, const struct weir_record_field *field, place_fn place)
{
    unsigned own = place(field) > 0 ? 2 * place(field) - 1 : 2 * ((unsigned)count + 1);
    size_t at = count;

    for (; at > 0 && places[at - 1] > own; at--) {
        fields[at] = fields[at - 1];
        places[at] = places[at - 1];
    }
    fields[at] = field;
    places[at] = own;
}

/* ---- tables ------------------------------------------------------------------------ */

static bool is_right(const struct weir_record_field *field)
{
    switch (field->type) {
    case WEIR_FIELD_I32:
    case WEIR_FIELD_U32:
    case WEIR_FIELD_I64:
    case WEIR_FIELD_U64:
    case WEIR_FIELD_SIZE:
    case WEIR_FIELD_RATE:
    case WEIR_FIELD_US:
    case WEIR_FIELD_MS:
    case WEIR_FIELD_NS:
        return true;
    default:
        return field->right;
    }
}

size_t weir_record_columns(const struct weir_record *self,
                           struct weir_table_column *columns,
                           const struct weir_record_field **fields)
{
    unsigned places[WEIR_TABLE_COLUMNS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->fields[i].title == NULL)
            continue;
        WEIR_ASSERT(count < WEIR_TABLE_COLUMNS_MAX);
        insert(fields, places, count++, &self->fields[i], place_in_table);
    }
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct weir_table_column){
            .title = fields[i]->title,
            .align = is_right(fields[i]) ? WEIR_TABLE_RIGHT : WEIR_TABLE_LEFT,
            .cut_to = fields[i]->cut_to,
            .rank = fields[i]->rank,
        };
    return count;
}

void weir_record_add_cells(const struct weir_record_field *const *fields, size_t count,
                           struct weir_table *table, const void *row, int64_t now_us)
{
    char cell[WEIR_CELL_SIZE];

    for (size_t i = 0; i < count; i++) {
        const struct weir_record_field *field = fields[i];
        enum weir_tone tone = field->tone != NULL ? field->tone(row) : WEIR_TONE_PLAIN;

        weir_table_add(table, tone, "%s",
                       field->cell != NULL ? field->cell(row, now_us, cell)
                                           : weir_field_spell(field, row, now_us, cell));
    }
}

/* ---- lines ------------------------------------------------------------------------- */

/* A text that is empty, or a time that is 0, says nothing. */
static bool says_something(const struct weir_record_field *field, const void *row,
                           const char *text)
{
    if ((field->shown != NULL && !field->shown(row)) ||
        (field->known != NULL && !field->known(row)))
        return false;
    if (field->type == WEIR_FIELD_TIME && field->full == NULL)
        return weir_field_number(field, row) != 0;
    return text[0] != '\0' || field->empty != NULL;
}

/* The lines of a map: the name stands before the first. */
struct pairs {
    struct weir_buf *text;
    const char *name;
};

static void append_pair(void *state, const void *element)
{
    struct pairs *pairs = state;
    const struct weir_record_pair *pair = element;

    weir_buf_append_format(pairs->text, "%-13s %s: %s\n", pairs->name, pair->name,
                           pair->value);
    pairs->name = "";
}

static void append_line(const struct weir_record_field *field, struct weir_buf *text,
                        const void *row, int64_t now_us)
{
    struct pairs pairs = {.text = text, .name = field->line};
    char out[WEIR_CELL_SIZE];
    const char *value;

    if (field->type == WEIR_FIELD_MAP) {
        field->each(row, append_pair, &pairs);
        return;
    }
    value = field->full != NULL ? field->full(row, now_us, out)
                                : weir_field_spell(field, row, now_us, out);
    if (says_something(field, row, value))
        weir_output_line(text, field->line, value);
}

void weir_record_append_lines(const struct weir_record *self, struct weir_buf *text,
                              const void *row, int64_t now_us)
{
    const struct weir_record_field *fields[LINES_MAX];
    unsigned places[LINES_MAX];
    size_t count = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->fields[i].line == NULL)
            continue;
        WEIR_ASSERT(count < LINES_MAX);
        insert(fields, places, count++, &self->fields[i], place_in_lines);
    }
    for (size_t i = 0; i < count; i++)
        append_line(fields[i], text, row, now_us);
}
