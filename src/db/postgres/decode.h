/*
 * decode.h - columns in PostgreSQL's binary format.
 *
 *   wanted      from columns of type
 *   INTEGER     smallint, integer, bigint, oid, xid, xid8, boolean
 *   REAL        real, double precision
 *   TEXT        text, varchar, char, name, "char", json, jsonb, unknown
 *   BYTES       bytea, uuid (16 bytes), and all that are TEXT
 *   BOOLEAN     boolean, and whole numbers that are 0 or 1
 *   TIME        timestamptz, timestamp (taken as UTC)
 *
 * Nothing else fits: a numeric is cast in the statement. Infinite times do not fit.
 */
#ifndef WEIR_DB_POSTGRES_DECODE_H
#define WEIR_DB_POSTGRES_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/value.h"

/* The bytes of a column that is not null, of the type with this object id, as `wanted`.
 * Text and bytes are views into `bytes`. False when it does not fit; *out is then a
 * null. */
bool weir_pg_decode(uint32_t type, struct weir_str bytes, enum weir_type wanted,
                    struct weir_value *out);

#endif
