/*
 * encode.h - parameters in PostgreSQL's binary format.
 *
 * An encoder turns the values of one execution into the three lists that libpq wants.
 * Text and bytes are pointed at where they are; numbers, booleans and times
 * (big-endian, times counted from the year 2000) and arrays are written into one block
 * that is used again:
 *
 *   array    +------+-------+------------+-------+-------+------+-------+------+----
 *            | dims | nulls | element's  | count | first | size | bytes | size | ...
 *            |  1   | 0, 1  |    type    |       |   1   |      |       |  -1  |
 *            +------+-------+------------+-------+-------+------+-------+------+----
 *                  an array without elements ends after its type, with dims 0    null
 *
 * Memory   One block, of at most WEIR_PG_ENCODED_MAX bytes; one larger than
 *          WEIR_PG_ENCODED_KEPT is given back by relax(). What libpq is handed points
 *          into it and into the values.
 * Failure  All is measured and checked before anything is written.
 */
#ifndef WEIR_DB_POSTGRES_ENCODE_H
#define WEIR_DB_POSTGRES_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "db/value.h"
#include "weir/error.h"

struct weir_heap;

enum {
    WEIR_PG_PARAMETERS_MAX = 99, /* sql.h has numbers of two digits */
    WEIR_PG_ENCODED_MAX = 256 * 1024 * 1024,
    WEIR_PG_ENCODED_KEPT = 1024 * 1024,
};

/* Object ids of built-in types; they never change. */
enum weir_pg_type {
    WEIR_PG_BOOL = 16,
    WEIR_PG_BYTEA = 17,
    WEIR_PG_CHAR = 18,
    WEIR_PG_NAME = 19,
    WEIR_PG_INT8 = 20,
    WEIR_PG_INT2 = 21,
    WEIR_PG_INT4 = 23,
    WEIR_PG_TEXT = 25,
    WEIR_PG_OID = 26,
    WEIR_PG_XID = 28,
    WEIR_PG_JSON = 114,
    WEIR_PG_FLOAT4 = 700,
    WEIR_PG_FLOAT8 = 701,
    WEIR_PG_UNKNOWN = 705,
    WEIR_PG_BOOL_ARRAY = 1000,
    WEIR_PG_BYTEA_ARRAY = 1001,
    WEIR_PG_TEXT_ARRAY = 1009,
    WEIR_PG_INT8_ARRAY = 1016,
    WEIR_PG_FLOAT8_ARRAY = 1022,
    WEIR_PG_BPCHAR = 1042,
    WEIR_PG_VARCHAR = 1043,
    WEIR_PG_TIMESTAMP = 1114,
    WEIR_PG_TIMESTAMPTZ = 1184,
    WEIR_PG_TIMESTAMPTZ_ARRAY = 1185,
    WEIR_PG_UUID = 2950,
    WEIR_PG_JSONB = 3802,
    WEIR_PG_XID8 = 5069,
};

/* 2000-01-01 in microseconds since 1970: where the server's times begin. */
#define WEIR_PG_EPOCH_US INT64_C(946684800000000)

struct weir_pg_encoder {
    const struct weir_heap *heap; /* borrowed */
    char *bytes;
    size_t capacity;
    size_t used;
    const char *values[WEIR_PG_PARAMETERS_MAX]; /* NULL: a null */
    int sizes[WEIR_PG_PARAMETERS_MAX];
    int formats[WEIR_PG_PARAMETERS_MAX]; /* all binary */
};

/* Borrows `heap` until fini(). Allocates nothing yet. */
void weir_pg_encoder_init(struct weir_pg_encoder *self, const struct weir_heap *heap);
void weir_pg_encoder_fini(struct weir_pg_encoder *self);

/* The type of the parameter with this letter of sql.h; 0: there is no such letter. */
uint32_t weir_pg_parameter_type(char letter);

/*
 * How many bytes of the block these values need, one for each letter. Fails with
 * WEIR_INVALID when one does not fit: an array is wanted and not given, a real is not
 * finite (the other engines have no such numbers), a time is before the server's
 * oldest, all together are too large.
 */
WEIR_CHECKED enum weir_status weir_pg_encoder_measure(const char *letters,
                                                      const struct weir_value *values,
                                                      size_t *size,
                                                      struct weir_error *error);

/* Make room. Fails with WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_pg_encoder_reserve(struct weir_pg_encoder *self,
                                                      size_t size,
                                                      struct weir_error *error);

/* Encode what was measured and has room. Returns the bytes that will be sent, about. */
size_t weir_pg_encoder_fill(struct weir_pg_encoder *self, const char *letters,
                            const struct weir_value *values);

/* The three above at once. */
WEIR_CHECKED enum weir_status weir_pg_encode(struct weir_pg_encoder *self,
                                             const char *letters,
                                             const struct weir_value *values,
                                             struct weir_error *error);

/* Rows of scalars, row after row, as one array for each column. Fails as measure() and
 * reserve() do, and when a letter is not that of an array. */
WEIR_CHECKED enum weir_status weir_pg_encode_many(struct weir_pg_encoder *self,
                                                  const char *letters,
                                                  const struct weir_value *values,
                                                  size_t row_count, size_t column_count,
                                                  struct weir_error *error);

/* After use: what is encoded is gone, and so is a block that is too large to keep. */
void weir_pg_encoder_relax(struct weir_pg_encoder *self);

#endif
