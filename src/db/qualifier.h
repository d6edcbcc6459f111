/*
 * qualifier.h - where the tables of a prefix are: a schema of PostgreSQL, a database of
 * MariaDB.
 *
 * Statements name their tables with it (sql.h), since settings of a session decide what
 * a bare name means, and a session may be in other hands: search_path and USE are the
 * first things that a handler for many tenants sets.
 *
 *   SQLite       none: a file has one
 *   MariaDB      the database of the URL
 *   PostgreSQL   the schema in which {p}_schema is *found*. Of several the first in the
 *                search_path of a session of our own. Before there are tables nothing
 *                is found: names stay bare, and the next statement looks again.
 *
 * What was found by a session of our own is kept for all connections of the database
 * (db.h). An adopted connection uses that. If nothing is known yet it looks for itself,
 * and what it finds is its own affair: its search_path may be a tenant's.
 *
 * Threads  That of the connection.
 */
#ifndef WEIR_DB_QUALIFIER_H
#define WEIR_DB_QUALIFIER_H

#include "db/connection.h"

/*
 * The name as statements have it, quoted and with its dot: "app". or `app`. False: it
 * does not fit. Without a quote (db/traits.h) there are no schemas: "".
 */
bool weir_qualifier_quote(char quote, struct weir_str name,
                          char out[WEIR_QUALIFIER_SIZE]);

/*
 * PostgreSQL: look where the tables are. *found is false when this session sees none;
 * on an adopted connection, when the database has none. WEIR_SCHEMA: an adopted
 * connection sees none and the database has several. One statement.
 */
WEIR_CHECKED enum weir_status weir_qualifier_find(struct weir_connection *connection,
                                                  char out[WEIR_QUALIFIER_SIZE],
                                                  bool *found, struct weir_error *error);

/*
 * PostgreSQL, in a transaction that makes tables: settle the connection where the
 * tables are, or, if there are none, where this session would make them; bare names
 * mean that place until the transaction has ended. WEIR_SCHEMA: there is no such place.
 */
WEIR_CHECKED enum weir_status weir_qualifier_apply(struct weir_connection *connection,
                                                   struct weir_error *error);

#endif
