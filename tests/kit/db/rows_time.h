/*
 * rows_time.h - a column with a point in time, as microseconds since 1970. The library
 * itself stores times as numbers; an application's tables need not.
 */
#ifndef WEIR_TESTS_KIT_DB_ROWS_TIME_H
#define WEIR_TESTS_KIT_DB_ROWS_TIME_H

#include "base/assert.h"
#include "db/connection.h"

/* 0 for a null. A column that is no time is misread, as with weir_rows_integer(). */
static inline int64_t rows_time_us(struct weir_rows *self, size_t column)
{
    struct weir_value value = weir_null();
    bool fits = false;

    WEIR_ASSERT(self->connection != NULL);
    if (column < self->cursor.column_count)
        weir_connection_link(self->connection)
            ->driver->read(&self->cursor, column, WEIR_TYPE_TIME, &value, &fits);
    self->misread = self->misread || !fits;
    return value.type == WEIR_TYPE_TIME ? value.as.time_us : 0;
}

#endif
