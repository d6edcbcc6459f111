/*
 * effect_pg.c - see effect.h.
 */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/effect.h"
#include "lib/must.h"

enum { INTEGER = 23, BYTEA = 17, TEXT = 25, COLUMN_COUNT = 3 };

#define INSERT "effect_insert"
#define MOVE "effect_move"

struct effect {
    PGconn *connection;
    bool moves; /* run() has prepared its statement */
};

static void must(struct effect *self, PGresult *result)
{
    bench_must(PQresultStatus(result) == PGRES_COMMAND_OK,
               PQerrorMessage(self->connection));
    PQclear(result);
}

static void execute(struct effect *self, const char *text)
{
    must(self, PQexec(self->connection, text));
}

static void create(void *handle)
{
    struct effect self = {.connection = handle};

    execute(&self,
            "CREATE TABLE effect (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
            " uid bytea NOT NULL, message_key text, payload bytea NOT NULL);"
            "CREATE TABLE position (id integer PRIMARY KEY, seq bigint NOT NULL);"
            "INSERT INTO position VALUES (1, 0)");
}

static void *open_effect(void *handle)
{
    static const Oid COLUMNS[] = {BYTEA, TEXT, BYTEA};
    struct effect *self = bench_must_alloc(1, sizeof *self);

    self->connection = handle;
    must(self,
         PQprepare(handle, INSERT,
                   "INSERT INTO effect (uid, message_key, payload) VALUES ($1, $2, $3)",
                   COLUMN_COUNT, COLUMNS));
    return self;
}

/* A connection of the library's is given back as it was. */
static void close_effect(void *state)
{
    struct effect *self = state;

    execute(self, "DEALLOCATE " INSERT);
    if (self->moves)
        execute(self, "DEALLOCATE " MOVE);
    free(self);
}

static void insert(void *state, const struct bench_effect_row *row)
{
    static const int FORMATS[] = {1, 1, 1};
    struct effect *self = state;
    const char *const values[] = {(const char *)row->uid, row->key, row->payload};
    const int sizes[] = {16, (int)strlen(row->key), (int)row->payload_size};

    must(self, PQexecPrepared(self->connection, INSERT, COLUMN_COUNT, values, sizes,
                              FORMATS, 1));
}

static void move(struct effect *self, size_t count)
{
    static const int BINARY = 1;
    static const Oid TYPE = INTEGER;
    uint32_t number = htonl((uint32_t)count);
    const char *value = (const char *)&number;
    int size = sizeof number;

    if (!self->moves)
        must(self,
             PQprepare(self->connection, MOVE,
                       "UPDATE position SET seq = seq + $1 WHERE id = 1", 1, &TYPE));
    self->moves = true;
    must(self, PQexecPrepared(self->connection, MOVE, 1, &value, &size, &BINARY, 1));
}

static void run(void *state, const struct bench_effect_row *rows, size_t count)
{
    struct effect *self = state;

    execute(self, "BEGIN");
    execute(self, "SAVEPOINT by_hand");
    for (size_t i = 0; i < count; i++) {
        insert(self, &rows[i]);
        execute(self, "RELEASE SAVEPOINT by_hand;SAVEPOINT by_hand");
    }
    move(self, count);
    execute(self, "COMMIT");
}

static void clear(void *state)
{
    execute(state, "TRUNCATE effect");
}

const struct bench_effect bench_effect_postgresql = {
    .engine = WEIR_POSTGRESQL,
    .name = "libpq",
    .create = create,
    .open = open_effect,
    .close = close_effect,
    .insert = insert,
    .run = run,
    .clear = clear,
};
