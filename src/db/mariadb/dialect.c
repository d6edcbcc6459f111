/*
 * dialect.c - the words of MariaDB.
 */
#include "db/dialect.h"

const struct weir_dialect weir_dialect_mariadb = {
    .placeholder = '?',
    .now = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
    .or_ignore = " ON DUPLICATE KEY UPDATE id = id",
    .insert_ignore = "INSERT IGNORE",
    .unless_there = "",
    .for_no_key_update = " FOR UPDATE",
};
