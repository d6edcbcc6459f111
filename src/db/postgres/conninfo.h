/*
 * conninfo.h - a connection string of libpq's, and what we add to it.
 */
#ifndef WEIR_DB_POSTGRES_CONNINFO_H
#define WEIR_DB_POSTGRES_CONNINFO_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/error.h"

/*
 * Can libpq read it? WEIR_INVALID names the kind of part that is wrong: an unknown
 * option, a port out of range, a bad escape. Never shows a word of it, which might be
 * of the password. Does not connect.
 */
WEIR_CHECKED enum weir_status weir_pg_conninfo_check(const char *conninfo,
                                                     struct weir_error *error);

/*
 * Is it certain where the password ends? Not of a URL with an @ more than the one
 * behind user and password: libpq takes what is behind the first one for the host, and
 * repeats it in its errors.
 */
bool weir_pg_conninfo_is_clear(const char *conninfo);

/* Is a password in it, also that of a key? Of a string that passed the check; also true
 * if it is not clear, or memory runs out. */
bool weir_pg_conninfo_has_password(const char *conninfo);

/*
 * Begin to connect, with our settings where the string has none. NULL without memory.
 * Goes on with PQconnectPoll().
 */
WEIR_CHECKED PGconn *weir_pg_conninfo_start(const char *conninfo,
                                            int64_t connect_timeout_ns);

/* The options for several hosts, of which it takes the first that will do; and
 * for how long it should try one, by the string or by us. */
struct weir_pg_target {
    bool several_hosts;
    int64_t timeout_ns;
};
void weir_pg_conninfo_read(PGconn *connection, int64_t connect_timeout_ns,
                           struct weir_pg_target *out);

#endif
