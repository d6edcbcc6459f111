/*
 * space.c - see sqlite/space.h.
 */
#include "db/sqlite/space.h"

#include "base/text.h"
#include "db/query.h"

enum { TEXT_SIZE = 64 };

#define WASTED_BYTES ((int64_t)64 * 1024 * 1024)
#define RESERVED_BYTES ((int64_t)16 * 1024 * 1024)

/* Numbers of the file's header. */
static const struct weir_sql SQL_SPACE = {
    .name = "read space",
    .text = "SELECT c.page_count, f.freelist_count, s.page_size, v.auto_vacuum"
            " FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s,"
            " pragma_auto_vacuum v",
};

struct header {
    struct weir_sqlite_space space;
    int64_t auto_vacuum;
};

static const struct weir_column HEADER[] = {
    COLUMN(struct header, space.pages, INTEGER),
    COLUMN(struct header, space.free_pages, INTEGER),
    COLUMN(struct header, space.page_size, INTEGER),
    COLUMN(struct header, auto_vacuum, INTEGER),
};

enum weir_status weir_sqlite_space_read(struct weir_connection *connection,
                                        struct weir_sqlite_space *out,
                                        struct weir_error *error)
{
    enum { INCREMENTAL = 2 };
    struct header header = {.auto_vacuum = 0};
    enum weir_status status =
        weir_query_one(connection, &SQL_SPACE, NO_VALUES, INTO(HEADER, &header), error);

    header.space.incremental = header.auto_vacuum == INCREMENTAL;
    *out = header.space;
    return status;
}

bool weir_sqlite_space_is_wasted(const struct weir_sqlite_space *self)
{
    return self->free_pages * self->page_size > WASTED_BYTES &&
           self->free_pages > self->pages / 2;
}

/* How many pages the file has too much. */
static int64_t surplus(const struct weir_sqlite_space *self)
{
    int64_t reserve = self->pages / 4;

    if (!self->incremental)
        return 0;
    if (reserve * self->page_size < RESERVED_BYTES)
        reserve = RESERVED_BYTES / self->page_size;
    return self->free_pages > reserve ? self->free_pages - reserve : 0;
}

enum weir_status weir_sqlite_space_give_back(struct weir_connection *connection,
                                             bool *more, struct weir_error *error)
{
    struct weir_sqlite_space space;
    char text[TEXT_SIZE];
    enum weir_status status = weir_sqlite_space_read(connection, &space, error);

    *more = false;
    if (status != WEIR_OK || surplus(&space) == 0)
        return status;
    (void)weir_text_format(text, sizeof text, "PRAGMA incremental_vacuum(%d)",
                           (int)WEIR_SQLITE_GIVEN_BACK);
    status = weir_connection_begin_own(connection, error);
    if (status != WEIR_OK)
        return status;
    status = weir_connection_execute_text(connection, text, error);
    if (status == WEIR_OK)
        status = weir_connection_commit(connection, error);
    else
        weir_connection_rollback(connection);
    *more = status == WEIR_OK && surplus(&space) > WEIR_SQLITE_GIVEN_BACK;
    return status;
}
