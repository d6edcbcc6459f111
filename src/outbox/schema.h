/*
 * schema.h - the tables of the outbox, as numbered changes (db/migrate.h).
 *
 * What each table is for is said beside it in schema.c; docs/internals/outbox.md draws
 * it.
 */
#ifndef WEIR_OUTBOX_SCHEMA_H
#define WEIR_OUTBOX_SCHEMA_H

#include "db/migrate.h"

extern const struct weir_schema weir_outbox_schema;

/* The number that brings audit rows and tokens. */
enum { WEIR_SCHEMA_WITH_AUDIT = 14 };

/* PostgreSQL: leaves of the log, of acks and of cuts, and how many numbers fill one. */
enum {
    WEIR_LOG_LEAVES = 8,
    WEIR_LOG_SEGMENT_BITS = 20,
    WEIR_ACK_LEAVES = 4,
    WEIR_ACK_SEGMENT_BITS = 16,
    WEIR_CUT_LEAVES = 4,
    WEIR_CUT_SEGMENT_BITS = 12
};

/* Advisory locks of PostgreSQL, with the prefix's hash as the first key. */
enum { WEIR_LOCK_CUT = 1, WEIR_LOCK_SUBSCRIBE = 2, WEIR_LOCK_SWEEP = 3 };

#endif
