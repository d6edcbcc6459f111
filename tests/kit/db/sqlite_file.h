/*
 * sqlite_file.h - a database of SQLite as files: each world of a simulation begins with
 * a copy.
 *
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_SQLITE_FILE_H
#define WEIR_TEST_SQLITE_FILE_H

/* Nobody has either of them open. Whatever was at `to` is gone. */
void sqlite_file_copy(const char *from, const char *to);

/* With its log. It need not be there. */
void sqlite_file_remove(const char *path);

#endif
