/*
 * held_dump.h - a dump of the outbox on PostgreSQL that stands still behind its snapshot.
 *
 *   struct held_dump *dump = held_dump_begin(server, database);   as pg_dump begins
 *   ...                                                           anything may happen
 *   held_dump_restore(dump, copy);                                it takes its locks,
 *                                                                 reads, ends
 *
 * pg_dump takes its snapshot first, then locks every table, then reads them and the
 * sequences. Here the three are apart: rows are those of the snapshot, sequences and
 * tables that were truncated are what they are at the second step. The copy is a
 * database that has the schema.
 *
 * Threads  The test's main thread, and calls of points.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_HELD_DUMP_H
#define WEIR_TEST_HELD_DUMP_H

#include "kit/db/engines.h"

struct held_dump;

/* A transaction at REPEATABLE READ that has its snapshot and no lock. */
struct held_dump *held_dump_begin(const struct server *server, const char *database);

/* The name by which pg_dump can take the same snapshot (--snapshot). */
const char *held_dump_snapshot(struct held_dump *self);

/* Lock, read, and write all of it into the tables of `to`. Ends the dump. */
void held_dump_restore(struct held_dump *self, const struct fixture *to);

/* End it without reading anything. NULL is fine. */
void held_dump_end(struct held_dump *self);

#endif
