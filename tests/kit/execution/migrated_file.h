/*
 * migrated_file.h - a database of SQLite with its tables, which simulations copy.
 */
#ifndef WEIR_TESTS_KIT_EXECUTION_MIGRATED_FILE_H
#define WEIR_TESTS_KIT_EXECUTION_MIGRATED_FILE_H

#include <stdbool.h>

/* Makes the file `path`: the tables of the outbox, and those of executions too. */
void migrated_file_make(const char *path, bool with_executions);

#endif
