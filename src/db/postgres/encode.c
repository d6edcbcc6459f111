/*
 * encode.c - two passes: measure and check, then write.
 *
 * So the block is allocated once and never moves while pointers into it are handed out,
 * and nothing can fail once the first of several statements is on its way.
 */
#include "db/postgres/encode.h"

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/sql.h"

/* What the server calls 4713 BC. (Its far end is beyond what our microseconds can
 * say.) */
#define OLDEST_US (INT64_C(-211813488000000000) + WEIR_PG_EPOCH_US)

enum {
    ARRAY_HEAD_SIZE = 12, /* dims, nulls, element type */
    ARRAY_DIM_SIZE = 8,   /* count, first index */
    ELEMENT_HEAD_SIZE = 4,
    BINARY = 1,
};

/* The elements of one array, wherever they are: every `stride`th value from `first`. */
struct column {
    const struct weir_value *first;
    size_t stride;
    size_t count;
};

void weir_pg_encoder_init(struct weir_pg_encoder *self, const struct weir_heap *heap)
{
    *self = (struct weir_pg_encoder){.heap = heap};
    for (size_t i = 0; i < WEIR_PG_PARAMETERS_MAX; i++)
        self->formats[i] = BINARY;
}

void weir_pg_encoder_fini(struct weir_pg_encoder *self)
{
    weir_heap_free(self->heap, self->bytes);
    self->bytes = NULL;
    self->capacity = 0;
}

static bool is_array(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

uint32_t weir_pg_parameter_type(char letter)
{
    switch (letter) {
    case 'i':
        return WEIR_PG_INT8;
    case 'r':
        return WEIR_PG_FLOAT8;
    case 't':
        return WEIR_PG_TEXT;
    case 'b':
        return WEIR_PG_BYTEA;
    case 'f':
        return WEIR_PG_BOOL;
    case 'm':
        return WEIR_PG_TIMESTAMPTZ;
    case 'I':
        return WEIR_PG_INT8_ARRAY;
    case 'R':
        return WEIR_PG_FLOAT8_ARRAY;
    case 'T':
        return WEIR_PG_TEXT_ARRAY;
    case 'B':
        return WEIR_PG_BYTEA_ARRAY;
    case 'F':
        return WEIR_PG_BOOL_ARRAY;
    case 'M':
        return WEIR_PG_TIMESTAMPTZ_ARRAY;
    default:
        return 0;
    }
}

/* ---- measuring --------------------------------------------------------------------- */

static bool is_counted(const struct weir_value *value)
{
    return value->type == WEIR_TYPE_TEXT || value->type == WEIR_TYPE_BYTES;
}

/* Bytes of one scalar that is not null. */
static size_t scalar_size(const struct weir_value *value)
{
    if (is_counted(value))
        return value->as.text.size;
    return value->type == WEIR_TYPE_BOOLEAN ? 1 : 8;
}

static enum weir_status check_scalar(const struct weir_value *value, char letter,
                                     size_t index, struct weir_error *error)
{
    if (value->type == WEIR_TYPE_NULL)
        return WEIR_OK;
    if ((int)value->type != weir_sql_type(letter))
        return weir_error_set(error, WEIR_INVALID, "parameter %zu is of another type",
                              index + 1);
    if (value->type == WEIR_TYPE_REAL && !isfinite(value->as.real))
        return weir_error_set(error, WEIR_INVALID, "parameter %zu is not finite",
                              index + 1);
    if (value->type == WEIR_TYPE_TIME && value->as.time_us < OLDEST_US)
        return weir_error_set(error, WEIR_INVALID,
                              "parameter %zu is a time before 4713 BC", index + 1);
    return WEIR_OK;
}

static enum weir_status measure_column(const struct column *column, char letter,
                                       size_t index, size_t *size,
                                       struct weir_error *error)
{
    size_t sum = ARRAY_HEAD_SIZE + ARRAY_DIM_SIZE;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < column->count && status == WEIR_OK; i++) {
        const struct weir_value *value = &column->first[i * column->stride];

        status = check_scalar(value, letter, index, error);
        sum += ELEMENT_HEAD_SIZE;
        if (status == WEIR_OK && value->type != WEIR_TYPE_NULL)
            sum += scalar_size(value);
        if (status == WEIR_OK && sum > WEIR_PG_ENCODED_MAX)
            status = weir_error_set(error, WEIR_INVALID,
                                    "parameter %zu is an array of more than %d bytes",
                                    index + 1, WEIR_PG_ENCODED_MAX);
    }
    *size += sum;
    return status;
}

static struct column column_of(const struct weir_value *array)
{
    return (struct column){
        .first = array->as.array.elements,
        .stride = 1,
        .count = array->as.array.count,
    };
}

static enum weir_status measure_value(const struct weir_value *value, char letter,
                                      size_t index, size_t *size,
                                      struct weir_error *error)
{
    struct column column;

    if (value->type == WEIR_TYPE_NULL)
        return WEIR_OK;
    if (is_array(letter)) {
        if (value->type != WEIR_TYPE_ARRAY)
            return weir_error_set(error, WEIR_INVALID, "parameter %zu must be an array",
                                  index + 1);
        column = column_of(value);
        return measure_column(&column, letter, index, size, error);
    }
    if (!is_counted(value)) /* the others stay where they are */
        *size += scalar_size(value);
    return check_scalar(value, letter, index, error);
}

static enum weir_status check_sum(size_t size, struct weir_error *error)
{
    if (size <= WEIR_PG_ENCODED_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "parameters have %zu %s together, must have at most %d", size,
                          WEIR_NOUN(size, "byte", "bytes"), WEIR_PG_ENCODED_MAX);
}

enum weir_status weir_pg_encoder_measure(const char *letters,
                                         const struct weir_value *values, size_t *size,
                                         struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *size = 0;
    for (size_t i = 0; letters[i] != '\0' && status == WEIR_OK; i++)
        status = measure_value(&values[i], letters[i], i, size, error);
    return status == WEIR_OK ? check_sum(*size, error) : status;
}

enum weir_status weir_pg_encoder_reserve(struct weir_pg_encoder *self, size_t size,
                                         struct weir_error *error)
{
    char *bytes;

    if (size <= self->capacity)
        return WEIR_OK;
    bytes = weir_heap_resize(self->heap, self->bytes, size);
    if (bytes == NULL)
        return weir_no_memory_for(error, "parameters of %zu %s", size,
                                  WEIR_NOUN(size, "byte", "bytes"));
    self->bytes = bytes;
    self->capacity = size;
    return WEIR_OK;
}

/* ---- writing ----------------------------------------------------------------------- */

static char *write_32(char *at, uint32_t number)
{
    number = htobe32(number);
    memcpy(at, &number, sizeof number);
    return at + sizeof number;
}

static char *write_64(char *at, uint64_t number)
{
    number = htobe64(number);
    memcpy(at, &number, sizeof number);
    return at + sizeof number;
}

static char *write_scalar(char *at, const struct weir_value *value)
{
    uint64_t bits;

    switch (value->type) {
    case WEIR_TYPE_INTEGER:
        return write_64(at, (uint64_t)value->as.integer);
    case WEIR_TYPE_REAL:
        memcpy(&bits, &value->as.real, sizeof bits);
        return write_64(at, bits);
    case WEIR_TYPE_TIME: /* no overflow: it was checked to be late enough */
        return write_64(at, (uint64_t)(value->as.time_us - WEIR_PG_EPOCH_US));
    case WEIR_TYPE_BOOLEAN:
        *at = value->as.boolean ? 1 : 0;
        return at + 1;
    case WEIR_TYPE_TEXT:
    case WEIR_TYPE_BYTES:
        if (value->as.text.size > 0)
            memcpy(at, value->as.text.data, value->as.text.size);
        return at + value->as.text.size;
    case WEIR_TYPE_NULL:
    case WEIR_TYPE_ARRAY:
        break;
    }
    return at;
}

static bool has_null(const struct column *column)
{
    for (size_t i = 0; i < column->count; i++) {
        if (column->first[i * column->stride].type == WEIR_TYPE_NULL)
            return true;
    }
    return false;
}

static char *write_column(char *at, const struct column *column, char letter)
{
    bool empty = column->count == 0;

    at = write_32(at, empty ? 0 : 1);
    at = write_32(at, has_null(column) ? 1 : 0);
    at = write_32(at, weir_pg_parameter_type((char)(letter | 0x20)));
    if (empty)
        return at;
    at = write_32(at, (uint32_t)column->count);
    at = write_32(at, 1);
    for (size_t i = 0; i < column->count; i++) {
        const struct weir_value *value = &column->first[i * column->stride];

        if (value->type == WEIR_TYPE_NULL) {
            at = write_32(at, UINT32_MAX); /* -1 */
            continue;
        }
        at = write_32(at, (uint32_t)scalar_size(value));
        at = write_scalar(at, value);
    }
    return at;
}

/* What was written from the end of the used part up to `end` is parameter `index`. */
static void take_written(struct weir_pg_encoder *self, size_t index, const char *end)
{
    const char *begin = self->bytes + self->used;

    self->values[index] = begin;
    self->sizes[index] = (int)(end - begin);
    self->used += (size_t)(end - begin);
    WEIR_ASSERT(self->used <= self->capacity);
}

static void fill_value(struct weir_pg_encoder *self, size_t index, char letter,
                       const struct weir_value *value)
{
    struct column column;

    self->values[index] = NULL;
    self->sizes[index] = 0;
    if (value->type == WEIR_TYPE_NULL)
        return;
    if (is_array(letter)) {
        column = column_of(value);
        take_written(self, index,
                     write_column(self->bytes + self->used, &column, letter));
    } else if (is_counted(value)) {
        /* To libpq a NULL pointer is a null, and an empty text may well have one. */
        self->values[index] = value->as.text.size > 0 ? value->as.text.data : "";
        self->sizes[index] = (int)value->as.text.size;
    } else {
        take_written(self, index, write_scalar(self->bytes + self->used, value));
    }
}

size_t weir_pg_encoder_fill(struct weir_pg_encoder *self, const char *letters,
                            const struct weir_value *values)
{
    size_t sum = 0;

    self->used = 0;
    for (size_t i = 0; letters[i] != '\0'; i++) {
        fill_value(self, i, letters[i], &values[i]);
        sum += (size_t)self->sizes[i];
    }
    return sum;
}

enum weir_status weir_pg_encode(struct weir_pg_encoder *self, const char *letters,
                                const struct weir_value *values, struct weir_error *error)
{
    size_t size;
    enum weir_status status = weir_pg_encoder_measure(letters, values, &size, error);

    if (status == WEIR_OK)
        status = weir_pg_encoder_reserve(self, size, error);
    if (status == WEIR_OK)
        (void)weir_pg_encoder_fill(self, letters, values);
    return status;
}

enum weir_status weir_pg_encode_many(struct weir_pg_encoder *self, const char *letters,
                                     const struct weir_value *values, size_t row_count,
                                     size_t column_count, struct weir_error *error)
{
    struct column column = {.stride = column_count, .count = row_count};
    size_t size = 0;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < column_count && status == WEIR_OK; i++) {
        if (!is_array(letters[i]))
            return weir_error_set(error, WEIR_INVALID,
                                  "parameter %zu is not an array in the statement",
                                  i + 1);
        column.first = &values[i];
        status = measure_column(&column, letters[i], i, &size, error);
    }
    if (status == WEIR_OK)
        status = check_sum(size, error);
    if (status == WEIR_OK)
        status = weir_pg_encoder_reserve(self, size, error);
    if (status != WEIR_OK)
        return status;

    self->used = 0;
    for (size_t i = 0; i < column_count; i++) {
        column.first = &values[i];
        take_written(self, i,
                     write_column(self->bytes + self->used, &column, letters[i]));
    }
    return WEIR_OK;
}

void weir_pg_encoder_relax(struct weir_pg_encoder *self)
{
    self->used = 0;
    if (self->capacity > WEIR_PG_ENCODED_KEPT)
        weir_pg_encoder_fini(self);
}
