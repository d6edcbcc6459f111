/*
 * Rows of parameters as one JSON text.
 */
#include <math.h>

#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "outbox/columns_json.h"

enum { COLUMNS = 2, ROWS = 3 };

struct setup {
    struct weir_faulty_heap heap;
    struct weir_columns table;
    struct weir_buf text;
};

static void setup_init(struct setup *self, size_t size_max)
{
    weir_faulty_heap_init(&self->heap);
    check_status(weir_columns_init(&self->table, &self->heap.heap, COLUMNS, ROWS, NULL),
                 WEIR_OK);
    weir_buf_init(&self->text, &self->heap.heap, size_max);
}

static void setup_fini(struct setup *self)
{
    weir_buf_fini(&self->text);
    weir_columns_fini(&self->table);
    check_int(self->heap.outstanding, 0);
}

static enum weir_status write_rows(struct setup *self, size_t begin, size_t count)
{
    return weir_columns_json(&self->table, COLUMNS, begin, count, &self->text, NULL);
}

/* What one value becomes. */
static void check_cell(struct weir_value value, const char *want)
{
    struct setup setup;

    setup_init(&setup, 1024);
    weir_columns_set(&setup.table, 0, 0, value);
    check_status(weir_columns_json(&setup.table, 1, 0, 1, &setup.text, NULL), WEIR_OK);
    check_str(weir_buf_text(&setup.text), want);
    setup_fini(&setup);
}

WEIR_TEST(columns_json, writes_row_by_row)
{
    struct setup setup;

    setup_init(&setup, 1024);
    for (size_t row = 0; row < ROWS; row++) {
        weir_columns_set(&setup.table, 0, row, weir_integer((int64_t)row));
        weir_columns_set(&setup.table, 1, row, weir_integer((int64_t)row + 10));
    }

    check_status(write_rows(&setup, 0, ROWS), WEIR_OK);
    check_str(weir_buf_text(&setup.text), "[[0,10],[1,11],[2,12]]");
    check_status(write_rows(&setup, 1, 1), WEIR_OK);
    check_str(weir_buf_text(&setup.text), "[[1,11]]");
    check_status(write_rows(&setup, 1, 0), WEIR_OK);
    check_str(weir_buf_text(&setup.text), "[]");
    setup_fini(&setup);
}

WEIR_TEST(columns_json, writes_each_type)
{
    check_cell(weir_null(), "[[null]]");
    check_cell(weir_integer(INT64_MIN), "[[-9223372036854775808]]");
    check_cell(weir_real(0.5), "[[0.5]]");
    check_cell(weir_real((double)INFINITY), "[[null]]");
    check_cell(weir_boolean(true), "[[true]]");
    check_cell(weir_boolean(false), "[[false]]");
    check_cell(weir_text(weir_str("a \"b\" \\ \n \x01 €")),
               "[[\"a \\\"b\\\" \\\\ \\n \\u0001 €\"]]");
    check_cell(weir_bytes("\x00\xab\x1f", 3), "[[\"00ab1f\"]]");
}

WEIR_TEST(columns_json, tells_that_there_is_no_room)
{
    struct setup setup;

    setup_init(&setup, 8);
    check_status(write_rows(&setup, 0, ROWS), WEIR_INVALID);
    setup_fini(&setup);
}

WEIR_TEST(columns_json, tells_that_there_is_no_memory)
{
    struct setup setup;

    setup_init(&setup, 1024);
    weir_faulty_heap_fail_at(&setup.heap, 1);
    check_status(write_rows(&setup, 0, ROWS), WEIR_NO_MEMORY);
    check_status(write_rows(&setup, 0, ROWS), WEIR_OK);
    check_str(weir_buf_text(&setup.text), "[[null,null],[null,null],[null,null]]");
    setup_fini(&setup);
}
