/*
 * bare_sqlite.c - see bare.h. Same settings as the library's: write-ahead, flushed at
 * each commit, no checkpoint by itself.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "lib/bare.h"
#include "lib/must.h"

struct bare {
    sqlite3 *db;
    sqlite3_stmt *find;
    sqlite3_stmt *insert;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
};

static void run(void *state, const char *text)
{
    struct bare *self = state;

    bench_must(sqlite3_exec(self->db, text, NULL, NULL, NULL) == SQLITE_OK,
               sqlite3_errmsg(self->db));
}

static sqlite3_stmt *prepare(struct bare *self, const char *text)
{
    sqlite3_stmt *statement = NULL;

    bench_must(sqlite3_prepare_v3(self->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                                  &statement, NULL) == SQLITE_OK,
               sqlite3_errmsg(self->db));
    return statement;
}

static void *open_bare(const struct bench_place *place)
{
    struct bare *self = bench_must_alloc(1, sizeof *self);

    bench_must(
        sqlite3_open_v2(place->path, &self->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK,
        "open the file");
    (void)sqlite3_busy_timeout(self->db, 10000);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    run(self, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
              "PRAGMA wal_autocheckpoint=0; PRAGMA foreign_keys=ON");
    run(self, "CREATE TABLE IF NOT EXISTS weir_row "
              "(id INTEGER PRIMARY KEY, part INTEGER NOT NULL, body BLOB NOT NULL)");
    self->find = prepare(self, "SELECT part, body FROM weir_row WHERE id = ?1");
    self->insert = prepare(self, "INSERT INTO weir_row (part, body) VALUES (?1, ?2)");
    self->begin = prepare(self, "BEGIN IMMEDIATE");
    self->commit = prepare(self, "COMMIT");
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    (void)sqlite3_finalize(self->find);
    (void)sqlite3_finalize(self->insert);
    (void)sqlite3_finalize(self->begin);
    (void)sqlite3_finalize(self->commit);
    (void)sqlite3_close(self->db);
    free(self);
}

static int64_t find(void *state, int64_t id)
{
    struct bare *self = state;
    int64_t sum;

    (void)sqlite3_bind_int64(self->find, 1, id);
    bench_must(sqlite3_step(self->find) == SQLITE_ROW, "no such row");
    sum = sqlite3_column_int64(self->find, 0);
    sum += ((const char *)sqlite3_column_blob(self->find, 1))[0];
    (void)sqlite3_reset(self->find);
    return sum;
}

static void step(struct bare *self, sqlite3_stmt *statement)
{
    bench_must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(self->db));
    (void)sqlite3_reset(statement);
}

static void insert(void *state, const struct bench_row *rows, size_t count)
{
    struct bare *self = state;

    step(self, self->begin);
    for (size_t i = 0; i < count; i++) {
        (void)sqlite3_bind_int64(self->insert, 1, rows[i].part);
        (void)sqlite3_bind_blob(self->insert, 2, rows[i].body, BENCH_BODY_SIZE,
                                SQLITE_STATIC);
        step(self, self->insert);
    }
    step(self, self->commit);
}

static void clear(void *state)
{
    run(state, "DELETE FROM weir_row; PRAGMA wal_checkpoint(TRUNCATE)");
}

const struct bench_bare bench_bare_sqlite = {
    .engine = WEIR_SQLITE,
    .name = "sqlite3",
    .open = open_bare,
    .close = close_bare,
    .run = run,
    .find = find,
    .insert = insert,
    .clear = clear,
};
