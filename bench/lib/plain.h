/*
 * plain.h - what the execution engine is compared with: the three writes of an
 * execution's life to a plain table, and nothing else.
 *
 *   INSERT a row            submit
 *   UPDATE its state to 1   claim
 *   UPDATE its state to 2   complete
 *
 * Each is a durable transaction, of one row or of a batch; on PostgreSQL one statement
 * with arrays, on SQLite a loop over a prepared one. Rows belong to the thread that
 * inserts them, so nobody looks for work or waits for a row. Connections are the
 * library's, so settings are the same.
 *
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_PLAIN_H
#define WEIR_BENCH_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

enum { BENCH_PLAIN_SIZE = 200 }; /* of a body */

struct bench_plain {
    struct weir_db *db;
    int64_t used; /* ids up to here */
};

/* Makes the table. Owes one close. */
void bench_plain_open(struct bench_plain *self, const char *url);
void bench_plain_close(struct bench_plain *self);

/* All three for `count` rows by `threads`, `batch` of them at a time; how long that
 * took. `count` is a multiple of both together. */
int64_t bench_plain_run(struct bench_plain *self, uint64_t count, size_t batch,
                        size_t threads);

/* `count` rows that are there are updated in one transaction; how long that took. */
int64_t bench_plain_update(struct bench_plain *self, uint64_t count);

/* A row by its key, again and again by one thread; how long that took. */
int64_t bench_plain_find(struct bench_plain *self, uint64_t count);

#endif
