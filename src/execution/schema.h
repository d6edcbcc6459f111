/*
 * schema.h - the tables of the execution engine, as numbered changes (db/migrate.h).
 *
 * A family of its own, numbered from 1001 in {p}_schema, since the outbox works without
 * it, and MariaDB has only the outbox. What each table is for is said beside it in
 * schema.c.
 */
#ifndef WEIR_EXECUTION_SCHEMA_H
#define WEIR_EXECUTION_SCHEMA_H

#include "db/migrate.h"

extern const struct weir_schema weir_executions_schema;

#endif
