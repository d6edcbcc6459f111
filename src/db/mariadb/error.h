/*
 * error.h - what an error code of MariaDB means to us.
 *
 * Codes below 2000 and from 3000 on are the server's, the others those of its client
 * library. The table is in the source, and for people in docs/internals/db-mariadb.md.
 * A code that is not in it is judged by the class of its SQLSTATE.
 *
 * Threads  Any thread.
 * Memory   None.
 */
#ifndef WEIR_DB_MARIADB_ERROR_H
#define WEIR_DB_MARIADB_ERROR_H

#include <stdbool.h>

#include "weir/api.h"
#include "weir/error.h"

/*
 * The status of a code. WEIR_FAILED for a query that was interrupted (1317): whether we
 * asked for that only the link knows.
 */
enum weir_status weir_maria_status(unsigned code, const char *sqlstate);

/* Is the connection gone, or useless, after this code? More than WEIR_LOST: a packet
 * that was too large is the caller's mistake, and the server hangs up on it. */
bool weir_maria_code_ends_connection(unsigned code, const char *sqlstate);

/* Did a server that is read only, or not ready, refuse? Then the connection is given up
 * although it stands, and what was asked for certainly did not happen. */
bool weir_maria_code_is_refusal(unsigned code);

/* Did the client library make this error? Then the server's state did not change by
 * it. */
bool weir_maria_code_is_clients(unsigned code);

/*
 * May we work with a server that calls itself this? `version` is as of
 * mysql_get_server_info(): "10.11.6-MariaDB-0+deb12u1". WEIR_SCHEMA: MySQL, a MariaDB
 * before 10.6, or something unreadable; the text says which and what was tested.
 */
WEIR_CHECKED enum weir_status weir_maria_version_check(const char *version,
                                                       struct weir_error *error);

#endif
