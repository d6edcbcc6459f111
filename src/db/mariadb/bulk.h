/*
 * bulk.h - one statement for many rows, by MariaDB's bulk protocol.
 *
 * The rows travel in packets of about a megabyte and the server runs the statement for
 * each of them. It takes INSERT ... VALUES, REPLACE, UPDATE and DELETE; others are run
 * row by row.
 *
 * Order    All rows or none. A bulk INSERT in one packet is one statement to the
 *          server, which undoes it as a whole. Everything else is put into a
 *          transaction of its own, or behind a savepoint when there is one already.
 * Threads  The holder of the link.
 */
#ifndef WEIR_DB_MARIADB_BULK_H
#define WEIR_DB_MARIADB_BULK_H

#include "db/driver.h"

/* The slot of struct weir_driver. */
WEIR_CHECKED enum weir_status weir_maria_run_many(struct weir_link *link, void *prepared,
                                                  const struct weir_value *values,
                                                  size_t row_count, size_t column_count,
                                                  int64_t *changed,
                                                  struct weir_error *error);

#endif
