/*
 * row_map.h - columns of a statement and the members of a struct that they fill.
 *
 * A row map is a constant array with one entry for each column, in the order of the
 * SELECT list. Reading a row by it replaces columns that are read one by one by literal
 * numbers: the compiler checks the type of each member, and a value that does not fit
 * is an error that names the column.
 *
 *   struct item { int64_t id; struct weir_str name; bool paused; };
 *
 *   static const struct weir_column ITEM[] = {
 *       COLUMN(struct item, id, INTEGER),
 *       COLUMN(struct item, name, TEXT),
 *       COLUMN(struct item, paused, BOOLEAN),
 *   };
 *
 *   status = weir_row_read(rows, COLUMNS(ITEM), &item, error);
 *
 *   kind              member            column            a null is
 *   INTEGER           any integer       integer           0, or see COLUMN_NULL_IS
 *   ENUM              an enum           integer           0
 *   FLAG              bool              integer, not 0    false
 *   BOOLEAN           bool              boolean           false
 *   REAL              double            real              0
 *   TEXT, BYTES       struct weir_str   text, bytes       empty
 *   .._OR_NONE        struct weir_str   text, bytes       a view without data
 *   CHARS             char [N]          text              empty
 *   FIXED             uint8_t [N]       N bytes           an error
 *   FIXED_OR_NONE     uint8_t [N]       N bytes           zeros
 *
 * Order    Columns behind the last one of a map are left alone, so two maps may share a
 *          row: the second begins at another column (weir_row_read_from).
 * Memory   Views live until the next row; weir_row_keep() copies them into an arena.
 *          Nothing is allocated otherwise.
 * Failure  WEIR_SCHEMA: a value of another type, an integer that its member cannot
 *          hold, a number that the enum does not have, a text or bytes of another size.
 */
#ifndef WEIR_DB_ROW_MAP_H
#define WEIR_DB_ROW_MAP_H

#include <stddef.h>

#include "base/count.h"
#include "db/connection.h"

struct weir_arena;

enum weir_column_kind {
    WEIR_COLUMN_INTEGER,
    WEIR_COLUMN_ENUM,
    WEIR_COLUMN_FLAG,
    WEIR_COLUMN_BOOLEAN,
    WEIR_COLUMN_REAL,
    WEIR_COLUMN_TEXT,
    WEIR_COLUMN_TEXT_OR_NONE,
    WEIR_COLUMN_BYTES,
    WEIR_COLUMN_BYTES_OR_NONE,
    WEIR_COLUMN_CHARS,
    WEIR_COLUMN_FIXED,
    WEIR_COLUMN_FIXED_OR_NONE
};

struct weir_column {
    const char *name; /* of the member; stands in errors */
    size_t offset;
    size_t size;
    enum weir_column_kind kind;
    bool is_signed;
    int64_t null; /* what an integer is when the column is null */
    int64_t last; /* of an enum: the largest number it has */
};

/* Where a row goes: the state of weir_row_read_into(). */
struct weir_row_into {
    const struct weir_column *columns;
    size_t column_count;
    void *row;
    struct weir_arena *arena; /* texts and bytes are copied here; NULL: there are none */
    size_t first;             /* column of the row */
};

/* Rows in an array of an arena: the state of weir_row_append(). */
struct weir_row_list {
    const struct weir_column *columns;
    size_t column_count;
    size_t row_size;
    struct weir_arena *arena;
    void *rows; /* in the arena; NULL: none */
    size_t count;
    size_t first; /* column of each row */
};

#define WEIR_MEMBER_OF(type, member) (((type *)0)->member)
#define WEIR_IS_SIGNED(value)                                                            \
    _Generic((value), int8_t : 1, int16_t : 1, int32_t : 1, int64_t : 1, default : 0)
#define WEIR_IS_INTEGER(value)                                                           \
    _Generic((value), uint8_t : 1, uint16_t : 1, uint32_t : 1, uint64_t : 1, default     \
             : WEIR_IS_SIGNED(value))
#define WEIR_IS_ARRAY(value, element)                                                    \
    _Generic(&(value), element(*)[sizeof(value) / sizeof(element)] : 1, default : 0)
#define WEIR_FITS_INTEGER(value) WEIR_IS_INTEGER(value)
#define WEIR_FITS_ENUM(value) (WEIR_IS_INTEGER(value) && sizeof(value) == sizeof(int))
#define WEIR_FITS_FLAG(value) _Generic((value), bool : 1, default : 0)
#define WEIR_FITS_BOOLEAN(value) WEIR_FITS_FLAG(value)
#define WEIR_FITS_REAL(value) _Generic((value), double : 1, default : 0)
#define WEIR_FITS_TEXT(value) _Generic((value), struct weir_str : 1, default : 0)
#define WEIR_FITS_TEXT_OR_NONE(value) WEIR_FITS_TEXT(value)
#define WEIR_FITS_BYTES(value) WEIR_FITS_TEXT(value)
#define WEIR_FITS_BYTES_OR_NONE(value) WEIR_FITS_TEXT(value)
#define WEIR_FITS_CHARS(value) WEIR_IS_ARRAY(value, char)
#define WEIR_FITS_FIXED(value) WEIR_IS_ARRAY(value, uint8_t)
#define WEIR_FITS_FIXED_OR_NONE(value) WEIR_FITS_FIXED(value)

/* The size of a member, once its type is found to fit the kind. */
#define WEIR_CHECKED_SIZE(type, member, fits)                                            \
    (sizeof WEIR_MEMBER_OF(type, member) +                                               \
     0 * sizeof(struct {                                                                 \
         _Static_assert(fits(WEIR_MEMBER_OF(type, member)),                              \
                        "the member is not of a type for this kind of column");          \
         char used;                                                                      \
     }))
#define WEIR_COLUMN_OF(type, member, of_kind, ...)                                       \
    {                                                                                    \
        .name = #member, .offset = offsetof(type, member),                               \
        .size = WEIR_CHECKED_SIZE(type, member, WEIR_FITS_##of_kind),                    \
        .kind = WEIR_COLUMN_##of_kind,                                                   \
        .is_signed = WEIR_IS_SIGNED(WEIR_MEMBER_OF(type, member)), __VA_ARGS__           \
    }

#define COLUMN(type, member, kind) WEIR_COLUMN_OF(type, member, kind, .null = 0)

/* An integer that has another value than 0 when the column is null. */
#define COLUMN_NULL_IS(type, member, value)                                              \
    WEIR_COLUMN_OF(type, member, INTEGER, .null = (value))

/* An enum whose numbers are 0 to `last_number`. A larger one was written by a newer
 * version of the library. */
#define COLUMN_ENUM(type, member, last_number)                                           \
    WEIR_COLUMN_OF(type, member, ENUM, .last = (last_number))

/* A map with its length. */
#define COLUMNS(map) map, COUNT_OF(map)

/* Function and state for weir_query_one(): the row without texts, or with its texts
 * copied into an arena. */
#define INTO(map, row)                                                                   \
    weir_row_read_into, &(struct weir_row_into)                                          \
    {                                                                                    \
        COLUMNS(map), (row), NULL, 0                                                     \
    }
#define KEPT_INTO(map, row, arena)                                                       \
    weir_row_read_into, &(struct weir_row_into)                                          \
    {                                                                                    \
        COLUMNS(map), (row), (arena), 0                                                  \
    }

/* An empty list of rows of `type`. */
#define ROW_LIST(map, type, arena)                                                       \
    {                                                                                    \
        COLUMNS(map), sizeof(type), (arena), NULL, 0, 0                                  \
    }

/* The current row; its columns from the first on, or from column `first`. */
WEIR_CHECKED enum weir_status weir_row_read(struct weir_rows *rows,
                                            const struct weir_column *columns,
                                            size_t column_count, void *row,
                                            struct weir_error *error);
WEIR_CHECKED enum weir_status weir_row_read_from(struct weir_rows *rows, size_t first,
                                                 const struct weir_column *columns,
                                                 size_t column_count, void *row,
                                                 struct weir_error *error);

/* Texts and bytes of a row become copies in the arena, with a zero behind them. */
WEIR_CHECKED enum weir_status weir_row_keep(const struct weir_column *columns,
                                            size_t column_count, void *row,
                                            struct weir_arena *arena,
                                            struct weir_error *error);

/* For weir_query_one(): a struct weir_row_into. */
WEIR_CHECKED enum weir_status weir_row_read_into(void *into, struct weir_rows *rows,
                                                 struct weir_error *error);

/* For weir_query_each(): a struct weir_row_list, which grows by the row. */
WEIR_CHECKED enum weir_status weir_row_append(void *list, struct weir_rows *rows,
                                              struct weir_error *error);

/* The members as parameters of a statement, in the order of the map: each `stride` behind
 * the one before, so 1 for one row, and the number of rows for a row of arrays. Views of
 * `row`. */
void weir_row_values(const struct weir_column *columns, size_t column_count,
                     const void *row, struct weir_value *out, size_t stride);

#endif
