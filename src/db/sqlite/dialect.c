/*
 * dialect.c - the words of SQLite. It has no clock of its own: its links define
 * weir_now(), which reads the environment's. One transaction writes at a time, so rows
 * are not locked.
 */
#include "db/dialect.h"

const struct weir_dialect weir_dialect_sqlite = {
    .placeholder = '?',
    .now = "weir_now()",
    .or_ignore = " ON CONFLICT (%s) DO NOTHING",
    .insert_ignore = "INSERT",
    .unless_there = " ON CONFLICT (%s) DO NOTHING",
    .for_no_key_update = "",
};
