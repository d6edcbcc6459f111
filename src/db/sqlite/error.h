/*
 * error.h - what an error code of SQLite means to us.
 *
 * The table is in the source, and for people in docs/internals/db-sqlite.md. Codes are
 * looked up as they are (extended) and then by their low byte (primary), so a code that
 * a newer SQLite adds to a family is treated as the rest of it.
 *
 * Threads  Any thread. Memory   None.
 */
#ifndef WEIR_DB_SQLITE_ERROR_H
#define WEIR_DB_SQLITE_ERROR_H

#include <stdbool.h>

#include "weir/status.h"

/*
 * The status for an extended code. `system_errno` is that of sqlite3_system_errno():
 * where the operating system refused (CANTOPEN, IOERR) it says more than the code; 0 is
 * unknown.
 */
enum weir_status weir_sqlite_status(int code, int system_errno);

/*
 * May a COMMIT that ended with this code come back after a crash? True for errors that
 * come after the commit mark was written: the flush of the log, the removal of a
 * journal. Errors before it mean that the transaction certainly did not happen.
 */
bool weir_sqlite_code_leaves_doubt(int code);

#endif
