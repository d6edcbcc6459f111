/*
 * explain.h - how PostgreSQL would run a statement of the library.
 *
 *   explain_prepare(fixture, native, 7, &weir_pg_sql_load);
 *   explain(native, 7, "'{1,2}'", plan);
 *
 * Whether plans are made for the values or for any is set on the connection, with
 * explain_execute().
 */
#ifndef WEIR_TEST_EXPLAIN_H
#define WEIR_TEST_EXPLAIN_H

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/db/engines.h"

enum { PLAN_SIZE = 64 * 1024 };

struct weir_sql;

/* Fails the test when it does not work, as all of these. */
void explain_execute(PGconn *native, const char *text);

/* As the library prepares it, under the name s<number>. */
void explain_prepare(struct fixture *fixture, PGconn *native, size_t number,
                     const struct weir_sql *sql);

/* Run s<number>, which must not change anything, and count the pages that it reads. */
int64_t explain_pages(PGconn *native, size_t number, const char *arguments);

/* The plan of s<number>, for these arguments; "": it has none. */
void explain(PGconn *native, size_t number, const char *arguments, char out[PLAN_SIZE]);

#endif
