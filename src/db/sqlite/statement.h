/*
 * statement.h - statements of SQLite: bind, step, read.
 *
 * These are the slots of struct weir_driver (driver.h), which says what they promise.
 * What is prepared is a sqlite3_stmt and nothing around it. run() takes the first step,
 * so its errors come at once; further rows are stepped to when next() asks for them. A
 * statement is reset at the end of its rows, not only by finish(): that ends its read
 * transaction.
 *
 * A statement that writes and gives rows, outside of a transaction, is committed at the
 * end of its rows. Read to the end, next() tells when that fails; finish() before the
 * end cannot, and gives the link up instead.
 *
 * Memory   Text and bytes are bound without copying where the statement has no rows.
 *          Otherwise SQLite copies them, since rows may be asked for when the caller's
 *          are gone.
 */
#ifndef WEIR_DB_SQLITE_STATEMENT_H
#define WEIR_DB_SQLITE_STATEMENT_H

#include "db/driver.h"

enum weir_status weir_sqlite_exec(struct weir_link *link, const char *text,
                                  struct weir_error *error);

enum weir_status weir_sqlite_statement_prepare(struct weir_link *link, const char *text,
                                               const char *parameters, void **out,
                                               struct weir_error *error);
void weir_sqlite_statement_unprepare(struct weir_link *link, void *prepared);

enum weir_status weir_sqlite_statement_run(struct weir_link *link, void *prepared,
                                           const struct weir_value *values,
                                           struct weir_cursor *cursor,
                                           struct weir_error *error);
enum weir_status weir_sqlite_statement_next(struct weir_link *link,
                                            struct weir_cursor *cursor,
                                            struct weir_error *error);
void weir_sqlite_statement_read(struct weir_cursor *cursor, size_t column,
                                enum weir_type wanted, struct weir_value *out,
                                bool *fits);
void weir_sqlite_statement_finish(struct weir_link *link, struct weir_cursor *cursor);

enum weir_status weir_sqlite_statement_run_many(struct weir_link *link, void *prepared,
                                                const struct weir_value *values,
                                                size_t row_count, size_t column_count,
                                                int64_t *changed,
                                                struct weir_error *error);
enum weir_status weir_sqlite_statement_run_steps(struct weir_link *link,
                                                 struct weir_driver_step *steps,
                                                 size_t step_count, size_t *failed,
                                                 struct weir_error *error);

#endif
