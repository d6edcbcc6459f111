/*
 * function.h - how the text of a function of PostgreSQL begins and ends.
 *
 * Functions look up names in pg_catalog alone; tables and functions of ours are named
 * with their schema, for which a text has "@." (postgres/producer.c). The schema is a
 * setting of the migration.
 */
#ifndef WEIR_OUTBOX_POSTGRES_FUNCTION_H
#define WEIR_OUTBOX_POSTGRES_FUNCTION_H

#define WEIR_PG_FUNCTION                                                                 \
    "DO $make$ BEGIN EXECUTE pg_catalog.replace($text$\n"                                \
    "CREATE OR REPLACE FUNCTION "
#define WEIR_PG_FUNCTION_END                                                             \
    "END $weir$\n"                                                                       \
    "$text$, '@.', pg_catalog.current_setting('{p}.home')); END $make$"

#endif
