/*
 * sql.h - one statement of ours.
 *
 * A statement is a static constant; its address is its name in the statement cache of every
 * connection. In its text `{p}` stands for the table prefix, which is validated and the only
 * thing that is ever printed in, and `{1}`, `{2}`, ... for parameters:
 *
 *   static const struct weir_sql SQL_TOUCH = {
 *       .name = "touch",
 *       .text = "UPDATE {p}_lease SET until = {1} WHERE id = {2}",
 *       .parameters = "mi",
 *   };
 *
 * and `{now}` for the database's clock, in microseconds since 1970 (not on an adopted SQLite
 * connection, whose clock is not ours).
 *
 * Parameters become $1 on PostgreSQL and ?1 on the others; the server of MariaDB knows only ?, so
 * its driver remembers which value each of them stands for. A literal brace is not available.
 */
#ifndef WEIR_DB_SQL_H
#define WEIR_DB_SQL_H

#include "base/buf.h"
#include "weir/db.h"

struct weir_sql {
    const char *name; /* for errors and logs */
    const char *text;

    /*
     * One letter per parameter: i integer, r real, t text, b bytes, f flag (boolean), m moment
     * (time); capitals are arrays of these (PostgreSQL). NULL may be given for any of them.
     */
    const char *parameters;
};

/* The text for one engine, into `out`. Fails with WEIR_INVALID (malformed text: a bug, told in
 * `error`) or WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_sql_expand(const struct weir_sql *self,
                                              enum weir_engine engine, const char *prefix,
                                              struct weir_buf *out,
                                              struct weir_error *error);

/* The type that a letter stands for; capitals give the element's. WEIR_TYPE_NULL: no letter. */
int weir_sql_type(char letter);

/* 1 to 36 ASCII letters, digits and underscores, the first a letter. WEIR_INVALID otherwise. */
WEIR_CHECKED enum weir_status weir_prefix_check(const char *prefix,
                                                struct weir_error *error);

#endif
