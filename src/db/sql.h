/*
 * sql.h - one statement of ours.
 *
 * A statement is a static constant; its address is its name in the statement cache of
 * every connection. In its text `{p}` stands for the table prefix and `{1}`, `{2}`, ...
 * for parameters:
 *
 *   static const struct weir_sql SQL_TOUCH = {
 *       .name = "touch",
 *       .text = "UPDATE {p}_lease SET until = {1} WHERE id = {2}",
 *       .parameters = "mi",
 *   };
 *
 * and `{now}` for the database's clock, in microseconds since 1970 (not on an adopted
 * SQLite connection, whose clock is not ours). `{now}` is a word of the engine's dialect,
 * as are `{or_ignore:columns}` and the others of dialect.h: phrases that engines spell
 * differently.
 *
 * A session has settings that decide where a bare name is looked for, and a handler or
 * an application may change them (search_path, USE). So the names of tables, sequences
 * and functions come with their *qualifier*: the schema of PostgreSQL, the database of
 * MariaDB. The prefix has three forms:
 *
 *   {p}   a table, sequence or function:             UPDATE {p}_lease
 *         "app".weir_lease
 *   {q}   the same inside a literal:                 '{q}_log'::regclass
 *         '"app".weir_log'
 *   {n}   the prefix alone, where no table is looked up: indexes, constraints, roles,
 *         channels, locks, variables, and names to compare with a catalogue
 *
 * The prefix is validated, and the home is quoted; nothing else is ever printed in.
 *
 * Parameters become $1 on PostgreSQL and ?1 on the others; the server of MariaDB knows
 * only ?, so its driver remembers which value each of them stands for. A literal brace
 * is not available.
 */
#ifndef WEIR_DB_SQL_H
#define WEIR_DB_SQL_H

#include <stdbool.h>

#include "base/buf.h"
#include "weir/db.h"

struct weir_sql {
    const char *name; /* for errors and logs */
    const char *text;

    /*
     * One letter per parameter: i integer, r real, t text, b bytes, f flag (boolean), m
     * moment (time); capitals are arrays of these (PostgreSQL). NULL may be given for
     * any of them.
     */
    const char *parameters;
};

/*
 * A statement for many rows in two forms: `one` is run for each row, `many` takes arrays
 * where the engine does (traits.h). weir_connection_form() chooses.
 */
struct weir_sql_pair {
    struct weir_sql one;
    struct weir_sql many;
};

/* The text for one engine, into `out`, with bare names. Fails with WEIR_INVALID
 * (malformed text: a bug, described in `error`) or WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_sql_expand(const struct weir_sql *self,
                                              enum weir_engine engine, const char *prefix,
                                              struct weir_buf *out,
                                              struct weir_error *error);

/*
 * The same with the qualifier of the tables, quoted and with its dot
 * (weir_qualifier_quote()); "": it has none. A statement that says {p} in a literal,
 * {q} outside of one, or {n} where a table belongs is malformed: it would mean whatever
 * the session's settings make of it.
 */
WEIR_CHECKED enum weir_status weir_sql_expand_at(const struct weir_sql *self,
                                                 enum weir_engine engine,
                                                 const char *qualifier,
                                                 const char *prefix, struct weir_buf *out,
                                                 struct weir_error *error);

/* Does a statement name a table, sequence or function of ours? */
bool weir_sql_names_tables(const struct weir_sql *self);

/* The type that a letter stands for; capitals give the element's. WEIR_TYPE_NULL: no
 * letter. */
int weir_sql_type(char letter);

/* 1 to 36 ASCII letters, digits and underscores, the first a letter. WEIR_INVALID
 * otherwise. */
WEIR_CHECKED enum weir_status weir_prefix_check(const char *prefix,
                                                struct weir_error *error);

#endif
