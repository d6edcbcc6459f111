/*
 * dialect.h - the words of one engine for phrases that statements have in common.
 *
 * A statement that differs between engines by a phrase says what it wants in braces, and
 * weir_sql_expand() puts the phrase of the engine there (sql.h):
 *
 *   INSERT INTO {p}_queue (name) VALUES ({1}){or_ignore:name}
 *
 * Every engine has a table in its folder. In a phrase %s stands for what follows the
 * colon.
 */
#ifndef WEIR_DB_DIALECT_H
#define WEIR_DB_DIALECT_H

struct weir_dialect {
    char placeholder; /* before the number of a parameter */

    /* {now}: microseconds since 1970 by the database's clock. */
    const char *now;

    /* {or_ignore:COLUMNS}, behind the values of an INSERT: a row that is there already
     * stays as it is. COLUMNS are those of the unique index, and the table has an id. */
    const char *or_ignore;

    /* {insert_ignore} and {unless_there:COLUMNS}: the same in two places, for a statement
     * whose RETURNING gives no row then. */
    const char *insert_ignore;
    const char *unless_there;

    /* {for_no_key_update}, at the end of a SELECT: locks the rows against writers until
     * the transaction ends. */
    const char *for_no_key_update;
};

extern const struct weir_dialect weir_dialect_sqlite;
extern const struct weir_dialect weir_dialect_postgresql;
extern const struct weir_dialect weir_dialect_mariadb;

#endif
