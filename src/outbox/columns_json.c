/*
 * columns_json.c - see columns_json.h.
 */
#include "outbox/columns_json.h"

#include <inttypes.h>
#include <math.h>

#include "base/assert.h"
#include "base/codec/hex.h"
#include "base/json.h"
#include "base/noun.h"

static void append_real(struct weir_buf *out, double real)
{
    if (isfinite(real))
        weir_buf_append_format(out, "%.17g", real);
    else
        weir_buf_append_text(out, "null");
}

static void append_digits(struct weir_buf *out, struct weir_str bytes)
{
    weir_buf_append_text(out, "\"");
    weir_hex_append(out, bytes.data, bytes.size);
    weir_buf_append_text(out, "\"");
}

static void append_value(struct weir_buf *out, const struct weir_value *value)
{
    switch (value->type) {
    case WEIR_TYPE_NULL:
        weir_buf_append_text(out, "null");
        return;
    case WEIR_TYPE_INTEGER:
        weir_buf_append_format(out, "%" PRId64, value->as.integer);
        return;
    case WEIR_TYPE_REAL:
        append_real(out, value->as.real);
        return;
    case WEIR_TYPE_TEXT:
        weir_json_append_str(out, value->as.text);
        return;
    case WEIR_TYPE_BYTES:
        append_digits(out, value->as.text);
        return;
    case WEIR_TYPE_BOOLEAN:
        weir_buf_append_text(out, value->as.boolean ? "true" : "false");
        return;
    case WEIR_TYPE_TIME:
    case WEIR_TYPE_ARRAY:
        break;
    }
    WEIR_ASSERT(false); /* a cell that has no form in JSON */
}

static void append_row(const struct weir_columns *self, size_t column_count, size_t row,
                       struct weir_buf *out)
{
    for (size_t column = 0; column < column_count; column++) {
        weir_buf_append_text(out, column == 0 ? "[" : ",");
        append_value(out, &self->cells[column * self->row_count + row]);
    }
    weir_buf_append_text(out, "]");
}

enum weir_status weir_columns_json(const struct weir_columns *self, size_t column_count,
                                   size_t begin, size_t count, struct weir_buf *out,
                                   struct weir_error *error)
{
    weir_buf_reset(out);
    weir_buf_append_text(out, "[");
    for (size_t row = begin; row < begin + count; row++) {
        if (row > begin)
            weir_buf_append_text(out, ",");
        append_row(self, column_count, row, out);
    }
    weir_buf_append_text(out, "]");
    if (weir_buf_status(out) == WEIR_OK)
        return WEIR_OK;
    return weir_error_set(error, weir_buf_status(out), "no room for %zu %s as a text",
                          count, WEIR_NOUN(count, "row", "rows"));
}
