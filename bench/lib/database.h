/*
 * database.h - an engine with databases on disk, for the benches of the outbox.
 *
 * Commits there are as durable as in earnest: SQLite flushes at each of them,
 * PostgreSQL runs with its own defaults but for checkpoints, which are kept out of
 * short runs. The folder is in TMPDIR or in /var/tmp; a file system in memory there
 * makes the bench one of processors only.
 *
 * Statements are counted from outside, BEGIN and COMMIT too: PostgreSQL counts for the
 * databases that ask for it (pg_stat_statements), SQLite tells of each one that begins
 * on any connection of this process. SQLite has no arrays: what is one statement for
 * many rows elsewhere is there a prepared one that runs once per row. Such a loop is
 * one statement here, and its runs are a number of their own.
 *
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_DATABASE_H
#define WEIR_BENCH_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/db.h>

struct bench_database;

/* A server of its own. Owes one close, which ends it and removes everything. */
struct bench_database *bench_database_open(enum weir_engine engine);
void bench_database_close(struct bench_database *self);

enum weir_engine bench_database_engine(const struct bench_database *self);

/* A new database; its URL lives as long as the ground. With `counted` its statements
 * count. */
const char *bench_database_add(struct bench_database *self, const char *name,
                               bool counted);

/* What began since the ground was opened, in databases that count. */
struct bench_statements {
    int64_t statements;
    int64_t runs; /* SQLite: with each run of a loop counted */
};
struct bench_statements bench_database_statements(struct bench_database *self);

/* Write transactions that were ever committed in a file of SQLite, by any process: the
 * index of its write-ahead log counts them. The file is open elsewhere, too. */
uint32_t bench_database_write_transactions(struct bench_database *self, const char *name);

/* A number that a database answers, on a connection of its own. */
int64_t bench_database_ask(struct bench_database *self, const char *name,
                           const char *sql);

/* Hold an old snapshot of a database open: a REPEATABLE READ transaction, or on SQLite
 * one that reads. It locks nothing. Owes one drop. */
void *bench_snapshot_hold(struct bench_database *self, const char *name);
void bench_snapshot_drop(struct bench_database *self, void *snapshot);

#endif
