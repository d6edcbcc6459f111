/*
 * effect_sqlite.c - see effect.h.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "lib/effect.h"
#include "lib/must.h"

/* What only run() needs, prepared when it is first called. */
enum verb { BEGIN, SAVEPOINT, RELEASE, MOVE, COMMIT, VERB_COUNT };

struct effect {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *verbs[VERB_COUNT];
};

static const char *const VERBS[VERB_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [SAVEPOINT] = "SAVEPOINT by_hand",
    [RELEASE] = "RELEASE SAVEPOINT by_hand",
    [MOVE] = "UPDATE position SET seq = seq + ?1 WHERE id = 1",
    [COMMIT] = "COMMIT",
};

static void execute(sqlite3 *db, const char *text)
{
    bench_must(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(db));
}

static void create(void *handle)
{
    execute(handle,
            "CREATE TABLE effect (id INTEGER PRIMARY KEY, uid BLOB NOT NULL,"
            " message_key TEXT, payload BLOB NOT NULL);"
            "CREATE TABLE position (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL);"
            "INSERT INTO position VALUES (1, 0)");
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement = NULL;

    bench_must(sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK,
               sqlite3_errmsg(db));
    return statement;
}

static void *open_effect(void *handle)
{
    struct effect *self = bench_must_alloc(1, sizeof *self);

    self->db = handle;
    self->insert = prepare(
        handle, "INSERT INTO effect (uid, message_key, payload) VALUES (?1, ?2, ?3)");
    return self;
}

static void close_effect(void *state)
{
    struct effect *self = state;

    (void)sqlite3_finalize(self->insert);
    for (size_t i = 0; i < VERB_COUNT; i++)
        (void)sqlite3_finalize(self->verbs[i]);
    free(self);
}

static void step(struct effect *self, sqlite3_stmt *statement)
{
    bench_must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(self->db));
    (void)sqlite3_reset(statement);
}

static void insert(void *state, const struct bench_effect_row *row)
{
    struct effect *self = state;

    (void)sqlite3_bind_blob(self->insert, 1, row->uid, 16, SQLITE_STATIC);
    (void)sqlite3_bind_text(self->insert, 2, row->key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(self->insert, 3, row->payload, (int)row->payload_size,
                            SQLITE_STATIC);
    step(self, self->insert);
}

static void run(void *state, const struct bench_effect_row *rows, size_t count)
{
    struct effect *self = state;

    for (size_t i = 0; i < VERB_COUNT && self->verbs[i] == NULL; i++)
        self->verbs[i] = prepare(self->db, VERBS[i]);
    step(self, self->verbs[BEGIN]);
    step(self, self->verbs[SAVEPOINT]);
    for (size_t i = 0; i < count; i++) {
        insert(self, &rows[i]);
        step(self, self->verbs[RELEASE]);
        step(self, self->verbs[SAVEPOINT]);
    }
    (void)sqlite3_bind_int64(self->verbs[MOVE], 1, (int64_t)count);
    step(self, self->verbs[MOVE]);
    step(self, self->verbs[COMMIT]);
}

/* The write-ahead log begins anew and keeps its size, as the library's does: flushing a
 * file that grows takes longer. */
static void clear(void *state)
{
    struct effect *self = state;

    execute(self->db, "DELETE FROM effect; PRAGMA wal_checkpoint(RESTART)");
}

const struct bench_effect bench_effect_sqlite = {
    .engine = WEIR_SQLITE,
    .name = "sqlite3",
    .create = create,
    .open = open_effect,
    .close = close_effect,
    .insert = insert,
    .run = run,
    .clear = clear,
};
