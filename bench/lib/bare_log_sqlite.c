/*
 * bare_log_sqlite.c - see bare_log.h.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/bare_log.h"
#include "lib/must.h"

struct bare {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
};

static void run(struct bare *self, const char *text)
{
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

static void *open_bare(const char *url)
{
    static const char SCHEME[] = "sqlite:";
    struct bare *self = bench_must_alloc(1, sizeof *self);

    bench_must(
        sqlite3_open_v2(url + sizeof SCHEME - 1, &self->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK,
        "open the file");
    (void)sqlite3_busy_timeout(self->db, 10000);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    run(self, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
              "PRAGMA wal_autocheckpoint=0; PRAGMA foreign_keys=ON");
    run(self, "CREATE TABLE bare (id INTEGER PRIMARY KEY AUTOINCREMENT,"
              " pid INTEGER NOT NULL, created_us INTEGER NOT NULL,"
              " uid BLOB NOT NULL, message_key TEXT, type TEXT NOT NULL, headers TEXT,"
              " payload BLOB NOT NULL)");
    self->insert =
        prepare(self, "INSERT INTO bare (pid, created_us, uid, message_key, type,"
                      " headers, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    self->begin = prepare(self, "BEGIN IMMEDIATE");
    self->commit = prepare(self, "COMMIT");
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    (void)sqlite3_finalize(self->insert);
    (void)sqlite3_finalize(self->begin);
    (void)sqlite3_finalize(self->commit);
    (void)sqlite3_close(self->db);
    free(self);
}

static void step(struct bare *self, sqlite3_stmt *statement)
{
    bench_must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(self->db));
    (void)sqlite3_reset(statement);
}

static int64_t wall_clock_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void insert_one(struct bare *self, const struct bench_letter *letter,
                       int64_t now_us)
{
    (void)sqlite3_bind_int64(self->insert, 1, letter->partition);
    (void)sqlite3_bind_int64(self->insert, 2, now_us);
    (void)sqlite3_bind_blob(self->insert, 3, letter->uid, sizeof letter->uid,
                            SQLITE_STATIC);
    (void)sqlite3_bind_text(self->insert, 4, letter->key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(self->insert, 5, BENCH_MESSAGE_TYPE, -1, SQLITE_STATIC);
    (void)sqlite3_bind_null(self->insert, 6);
    (void)sqlite3_bind_blob(self->insert, 7, letter->payload, BENCH_PAYLOAD_SIZE,
                            SQLITE_STATIC);
    step(self, self->insert);
}

static void insert(void *state, const struct bench_letter *letters, size_t count)
{
    struct bare *self = state;
    int64_t now_us = wall_clock_us();

    if (count > 1)
        step(self, self->begin);
    for (size_t i = 0; i < count; i++)
        insert_one(self, &letters[i], now_us);
    if (count > 1)
        step(self, self->commit);
}

static void clear(void *state)
{
    run(state, "DELETE FROM bare; PRAGMA wal_checkpoint(TRUNCATE)");
}

const struct bench_bare_log bench_bare_log_sqlite = {
    .engine = WEIR_SQLITE,
    .name = "sqlite3",
    .open = open_bare,
    .close = close_bare,
    .insert = insert,
    .clear = clear,
};
