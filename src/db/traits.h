/*
 * traits.h - facts about a database engine that code above its driver depends on.
 *
 * Code that does one thing on some engines and another on the rest asks for a fact, not
 * for the engine: a new engine states its facts once, in its driver (driver.h), and the
 * rest of the tree stays as it is.
 *
 *   weir_connection_traits(connection)->one_writer
 *
 * A statement that differs by a phrase has dialect words instead (sql.h); what is done
 * in another way altogether is an operation table (outbox/engine.h, execution/engine.h).
 */
#ifndef WEIR_DB_TRAITS_H
#define WEIR_DB_TRAITS_H

#include <stdbool.h>

#include "weir/db.h"

struct weir_engine_traits {
    const char *title; /* as its makers write it: "PostgreSQL" */

    /* The time in what {p}_schema stores, as an expression. */
    const char *now;

    /* What names of schemas are quoted with; 0: tables have no schema. */
    char quote;

    /* It runs inside this process: a statement costs no round trip, and the database is
     * a file, or memory of this process. */
    bool in_process;

    /* A transaction that writes keeps all others from writing, so that rows need no
     * locks. */
    bool one_writer;

    /* A statement for many rows takes them as arrays (capital letters in sql.h). */
    bool takes_arrays;

    /* A transaction can notify a channel when it commits. */
    bool has_notify;

    /* Tables are found by a search path, so that the schema has to be asked for
     * (qualifier.h). */
    bool has_search_path;

    /* A number that was given to a row is never given again, also when the transaction
     * was rolled back. */
    bool numbers_are_final;

    /* Old versions of rows stay in tables and indexes for a while, and cost whatever
     * looks past them. */
    bool keeps_old_rows;

    /* A statement that changes the schema ends the transaction that it is in. */
    bool ddl_commits;

    /* Tables without any right on them are missing in the catalogue. */
    bool hides_tables;

    /* One text is one statement: no two, with a semicolon between them. */
    bool one_statement_per_text;
};

/* Of a driver that is linked in. Constant, never NULL. */
const struct weir_engine_traits *weir_engine_traits(enum weir_engine engine);

#endif
