/*
 * row_map.c - see row_map.h.
 */
#include "db/row_map.h"

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/no_memory.h"
#include "base/noun.h"

/* ---- reading ----------------------------------------------------------------------- */

/* Without the structs that the member is in. */
static const char *name_of(const struct weir_column *column)
{
    const char *dot = strrchr(column->name, '.');

    return dot != NULL ? dot + 1 : column->name;
}

/* Into a member of this width; false when it does not fit. */
static bool store_integer(const struct weir_column *column, int64_t value, void *member)
{
    unsigned bits = (unsigned)column->size * 8;
    int64_t max = INT64_MAX >> (64 - bits);
    int64_t min = column->is_signed ? -max - 1 : 0;

    if (!column->is_signed && bits < 64)
        max = max * 2 + 1;
    if (value < min || value > max)
        return false;
    if (column->size == sizeof(uint8_t))
        *(uint8_t *)member = (uint8_t)value;
    else if (column->size == sizeof(uint16_t))
        *(uint16_t *)member = (uint16_t)value;
    else if (column->size == sizeof(uint32_t))
        *(uint32_t *)member = (uint32_t)value;
    else
        *(int64_t *)member = value;
    return true;
}

static enum weir_status read_integer(struct weir_rows *rows, size_t number,
                                     const struct weir_column *column, void *member,
                                     struct weir_error *error)
{
    int64_t value = weir_rows_integer(rows, number);

    if (value == 0 && column->null != 0 && weir_rows_is_null(rows, number))
        value = column->null;
    if (store_integer(column, value, member))
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA, "column %s has %lld, which cannot be",
                          name_of(column), (long long)value);
}

static enum weir_status read_enum(struct weir_rows *rows, size_t number,
                                  const struct weir_column *column, void *member,
                                  struct weir_error *error)
{
    int64_t value = weir_rows_integer(rows, number);

    if (value >= 0 && value <= column->last && store_integer(column, value, member))
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA,
                          "a row has %s %lld, which this library does not know: "
                          "install a newer weir",
                          name_of(column), (long long)value);
}

static enum weir_status wrong_size(const struct weir_column *column, size_t size,
                                   const char *must, size_t limit,
                                   struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA, "column %s has %zu %s, must have %s%zu",
                          name_of(column), size, WEIR_NOUN(size, "byte", "bytes"), must,
                          limit);
}

static enum weir_status read_chars(struct weir_rows *rows, size_t number,
                                   const struct weir_column *column, char *member,
                                   struct weir_error *error)
{
    struct weir_str text = weir_rows_text(rows, number);

    if (text.size >= column->size)
        return wrong_size(column, text.size, "at most ", column->size - 1, error);
    memcpy(member, text.data, text.size);
    memset(member + text.size, 0, column->size - text.size);
    return WEIR_OK;
}

static enum weir_status read_fixed(struct weir_rows *rows, size_t number,
                                   const struct weir_column *column, void *member,
                                   struct weir_error *error)
{
    struct weir_str bytes = weir_rows_bytes(rows, number);

    if (column->kind == WEIR_COLUMN_FIXED_OR_NONE && weir_rows_is_null(rows, number)) {
        memset(member, 0, column->size);
        return WEIR_OK;
    }
    if (rows->misread)
        return WEIR_OK; /* says so itself */
    if (bytes.size != column->size)
        return wrong_size(column, bytes.size, "", column->size, error);
    memcpy(member, bytes.data, column->size);
    return WEIR_OK;
}

static struct weir_str read_view(struct weir_rows *rows, size_t number,
                                 enum weir_column_kind kind)
{
    bool or_none = kind == WEIR_COLUMN_TEXT_OR_NONE || kind == WEIR_COLUMN_BYTES_OR_NONE;
    bool text = kind == WEIR_COLUMN_TEXT || kind == WEIR_COLUMN_TEXT_OR_NONE;
    struct weir_str view;

    if (or_none && weir_rows_is_null(rows, number))
        return (struct weir_str){NULL, 0};
    view = text ? weir_rows_text(rows, number) : weir_rows_bytes(rows, number);
    return view.data != NULL ? view : (struct weir_str){"", 0}; /* empty is not null */
}

static enum weir_status read_column(struct weir_rows *rows, size_t number,
                                    const struct weir_column *column, void *member,
                                    struct weir_error *error)
{
    switch (column->kind) {
    case WEIR_COLUMN_INTEGER:
        return read_integer(rows, number, column, member, error);
    case WEIR_COLUMN_ENUM:
        return read_enum(rows, number, column, member, error);
    case WEIR_COLUMN_FLAG:
        *(bool *)member = weir_rows_integer(rows, number) != 0;
        return WEIR_OK;
    case WEIR_COLUMN_BOOLEAN:
        *(bool *)member = weir_rows_boolean(rows, number);
        return WEIR_OK;
    case WEIR_COLUMN_REAL:
        *(double *)member = weir_rows_real(rows, number);
        return WEIR_OK;
    case WEIR_COLUMN_CHARS:
        return read_chars(rows, number, column, member, error);
    case WEIR_COLUMN_FIXED:
    case WEIR_COLUMN_FIXED_OR_NONE:
        return read_fixed(rows, number, column, member, error);
    case WEIR_COLUMN_TEXT:
    case WEIR_COLUMN_TEXT_OR_NONE:
    case WEIR_COLUMN_BYTES:
    case WEIR_COLUMN_BYTES_OR_NONE:
        break;
    }
    *(struct weir_str *)member = read_view(rows, number, column->kind);
    return WEIR_OK;
}

enum weir_status weir_row_read_from(struct weir_rows *rows, size_t first,
                                    const struct weir_column *columns,
                                    size_t column_count, void *row,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < column_count && status == WEIR_OK; i++) {
        status = read_column(rows, first + i, &columns[i],
                             (char *)row + columns[i].offset, error);
        if (status == WEIR_OK && rows->misread)
            status = weir_error_set(error, WEIR_SCHEMA,
                                    "column %s is not of the type it was read as",
                                    name_of(&columns[i]));
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "%s", rows->sql->name);
    return status;
}

enum weir_status weir_row_read(struct weir_rows *rows, const struct weir_column *columns,
                               size_t column_count, void *row, struct weir_error *error)
{
    return weir_row_read_from(rows, 0, columns, column_count, row, error);
}

/* ---- keeping ----------------------------------------------------------------------- */

static bool is_view(const struct weir_column *column)
{
    return column->kind >= WEIR_COLUMN_TEXT && column->kind <= WEIR_COLUMN_BYTES_OR_NONE;
}

enum weir_status weir_row_keep(const struct weir_column *columns, size_t column_count,
                               void *row, struct weir_arena *arena,
                               struct weir_error *error)
{
    for (size_t i = 0; i < column_count; i++) {
        struct weir_str *text;

        if (!is_view(&columns[i]))
            continue;
        text = (struct weir_str *)(void *)((char *)row + columns[i].offset);
        if (text->data != NULL && !weir_arena_keep(arena, text))
            return weir_no_memory_for(error, "column %s", name_of(&columns[i]));
    }
    return WEIR_OK;
}

enum weir_status weir_row_read_into(void *into, struct weir_rows *rows,
                                    struct weir_error *error)
{
    const struct weir_row_into *self = into;
    enum weir_status status = weir_row_read_from(rows, self->first, self->columns,
                                                 self->column_count, self->row, error);

    if (status == WEIR_OK && self->arena != NULL)
        status = weir_row_keep(self->columns, self->column_count, self->row, self->arena,
                               error);
    for (size_t i = 0; i < self->column_count && self->arena == NULL; i++)
        WEIR_ASSERT(!is_view(&self->columns[i])); /* the row is gone when it is used */
    return status;
}

enum weir_status weir_row_append(void *list, struct weir_rows *rows,
                                 struct weir_error *error)
{
    struct weir_row_list *self = list;
    char *room = weir_arena_grow(self->arena, self->rows, self->count, self->row_size);
    struct weir_row_into into = {self->columns, self->column_count, NULL, self->arena,
                                 self->first};
    enum weir_status status;

    if (room == NULL)
        return weir_no_memory_for(error, "rows of \"%s\"", rows->sql->name);
    self->rows = room;
    into.row = memset(room + self->count * self->row_size, 0, self->row_size);
    status = weir_row_read_into(&into, rows, error);
    if (status == WEIR_OK)
        self->count++;
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

static int64_t load_integer(const struct weir_column *column, const void *member)
{
    unsigned unused = 64 - (unsigned)column->size * 8;
    uint64_t value = 0;

    if (column->size == sizeof(uint8_t))
        value = *(const uint8_t *)member;
    else if (column->size == sizeof(uint16_t))
        value = *(const uint16_t *)member;
    else if (column->size == sizeof(uint32_t))
        value = *(const uint32_t *)member;
    else
        value = *(const uint64_t *)member;
    if (!column->is_signed)
        return (int64_t)value;
    return (int64_t)(value << unused) >> unused; /* with the sign */
}

static struct weir_value value_of(const struct weir_column *column, const void *member)
{
    const struct weir_str *text = member;

    switch (column->kind) {
    case WEIR_COLUMN_INTEGER:
    case WEIR_COLUMN_ENUM:
        return weir_integer(load_integer(column, member));
    case WEIR_COLUMN_FLAG:
        return weir_integer(*(const bool *)member);
    case WEIR_COLUMN_BOOLEAN:
        return weir_boolean(*(const bool *)member);
    case WEIR_COLUMN_REAL:
        return weir_real(*(const double *)member);
    case WEIR_COLUMN_CHARS:
        return weir_text(weir_str(member));
    case WEIR_COLUMN_FIXED:
    case WEIR_COLUMN_FIXED_OR_NONE:
        return weir_bytes(member, column->size);
    case WEIR_COLUMN_TEXT:
        return weir_text(*text);
    case WEIR_COLUMN_TEXT_OR_NONE:
        return weir_text_or_null(*text);
    case WEIR_COLUMN_BYTES:
        return weir_bytes(text->data, text->size);
    case WEIR_COLUMN_BYTES_OR_NONE:
        break;
    }
    return text->data != NULL ? weir_bytes(text->data, text->size) : weir_null();
}

void weir_row_values(const struct weir_column *columns, size_t column_count,
                     const void *row, struct weir_value *out, size_t stride)
{
    for (size_t i = 0; i < column_count; i++)
        out[i * stride] = value_of(&columns[i], (const char *)row + columns[i].offset);
}
