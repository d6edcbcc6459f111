/*
 * tls.h - whether a connection to MariaDB is encrypted, and to which server (url.h).
 *
 * Nothing is left to the client library's defaults, which differ from version to
 * version: some try TLS and go on in clear without it.
 */
#ifndef WEIR_DB_MARIADB_TLS_H
#define WEIR_DB_MARIADB_TLS_H

#include <mysql.h>

#include "db/url.h"

/* Before mysql_real_connect(). */
void weir_maria_tls_prepare(MYSQL *mysql, const struct weir_url *url);

/* After it: a connection that should be encrypted and is not is refused. */
WEIR_CHECKED enum weir_status
weir_maria_tls_check(MYSQL *mysql, const struct weir_url *url, struct weir_error *error);

/* Appends what to do about it to the error of a connection that failed for this reason;
 * else does nothing. */
void weir_maria_tls_explain(const struct weir_url *url, struct weir_error *error);

#endif
