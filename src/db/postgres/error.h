/*
 * error.h - what PostgreSQL's error codes mean to us.
 *
 * The class of an error is decided by its SQLSTATE, never by its text: texts are
 * translated and change. The table is in postgres/error.c and, for people, in
 * docs/internals/db-postgresql.md.
 */
#ifndef WEIR_DB_POSTGRES_ERROR_H
#define WEIR_DB_POSTGRES_ERROR_H

#include <stddef.h>

#include "weir/status.h"

enum { WEIR_SQLSTATE_SIZE = 6 }; /* five characters and a zero */

/*
 * The status for an SQLSTATE; WEIR_FAILED for one that is not in the table, or none
 * (""). Two depend on more than the code, and the caller knows better: 57014
 * (WEIR_TIMEOUT here) may be a cancel, and 25006 (WEIR_LOST here) a write in a
 * transaction that was begun for reading.
 */
enum weir_status weir_pg_status(const char *sqlstate);

/*
 * libpq gives no code for a connection that was refused, but a verbose text has it
 * between severity and message: `FATAL:  28P01: password ...`. Copies the last one in
 * `text` to `out` and returns the message behind it; NULL, and "", when there is none.
 */
const char *weir_pg_find_sqlstate(const char *text, char out[WEIR_SQLSTATE_SIZE]);

#endif
