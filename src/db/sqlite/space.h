/*
 * space.h - what a file of SQLite has room for.
 *
 * What is deleted leaves free pages in the file, which later messages use; the file
 * does not shrink. A file with `auto_vacuum` set to incremental can give them back, a
 * few at a time: the last page of the file moves into a free one and the file ends
 * before it. Whether it can is decided when the file is made, or by VACUUM, which
 * writes all of it anew. It costs writers a little, so weir does not decide it for an
 * application's file.
 *
 * Threads  The owner of the connection.
 */
#ifndef WEIR_DB_SQLITE_SPACE_H
#define WEIR_DB_SQLITE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"

/*
 * Pages that one step gives back: about 4 MB are written, while no other connection can
 * write.
 */
enum { WEIR_SQLITE_GIVEN_BACK = 1000 };

struct weir_sqlite_space {
    int64_t pages;
    int64_t free_pages; /* of these */
    int64_t page_size;
    bool incremental; /* it can give pages back */
};

/* One cheap statement. */
WEIR_CHECKED enum weir_status weir_sqlite_space_read(struct weir_connection *connection,
                                                     struct weir_sqlite_space *out,
                                                     struct weir_error *error);

/*
 * So much is free that the operator should know: more than a half of the file, and 64
 * MiB.
 */
bool weir_sqlite_space_is_wasted(const struct weir_sqlite_space *self);

/*
 * One step, in a transaction of its own, if the file can do it and has far more free
 * pages than deliveries need: a quarter of the file and 16 MiB stay. *more: there is
 * more to give back.
 */
WEIR_CHECKED enum weir_status
weir_sqlite_space_give_back(struct weir_connection *connection, bool *more,
                            struct weir_error *error);

#endif
