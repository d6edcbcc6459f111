/*
 * dialect.c - the words of PostgreSQL.
 */
#include "db/dialect.h"

const struct weir_dialect weir_dialect_postgresql = {
    .placeholder = '$',
    .now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    .or_ignore = " ON CONFLICT (%s) DO NOTHING",
    .insert_ignore = "INSERT",
    .unless_there = " ON CONFLICT (%s) DO NOTHING",
    .for_no_key_update = " FOR NO KEY UPDATE",
};
