/*
 * dump.h - a database written to a file by the engine's own program, and read again
 * elsewhere.
 *
 * Threads  The test's main thread.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_DUMP_H
#define WEIR_TEST_DUMP_H

#include "kit/server/server.h"

/* PostgreSQL's two; MariaDB has the first. */
enum dump_form { DUMP_PLAIN, DUMP_CUSTOM };

void dump_write(const struct server *server, const char *database, enum dump_form form,
                const char *path);

/* Into a database that is there and empty. */
void dump_read(const struct server *server, const char *database, enum dump_form form,
               const char *path);

/* Both, by way of a file that is gone afterwards; the new database is made. */
void dump_copy(const struct server *from, const char *database, enum dump_form form,
               const struct server *to, const char *name);

/* PostgreSQL: the same by pg_dump, with a snapshot that somebody holds (held_dump.h). */
void dump_copy_at(const struct server *from, const char *database, const char *snapshot,
                  const struct server *to, const char *name);

#endif
