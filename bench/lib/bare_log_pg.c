/*
 * bare_log_pg.c - see bare_log.h. Everything binary, statements prepared once.
 */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bare_log.h"
#include "lib/must.h"

enum { BYTEA = 17, INTEGER = 23, TEXT = 25 };
enum { BYTEA_ARRAY = 1001, INTEGER_ARRAY = 1007, TEXT_ARRAY = 1009 };
enum { ARRAY_HEADER_SIZE = 20, COLUMN_COUNT = 6 };
enum column { PARTITION, UID, KEY, KIND, HEADERS, PAYLOAD };

struct bare {
    PGconn *connection;
    char *arrays[COLUMN_COUNT]; /* as they are sent */
};

/* The time as the library's default of that column has it. */
#define CREATE                                                                           \
    "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"             \
    " pid integer NOT NULL, created_us bigint NOT NULL"                                  \
    " DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"                \
    " uid bytea NOT NULL, message_key text, type text NOT NULL, headers text,"           \
    " payload bytea NOT NULL)"
#define INSERT "INSERT INTO bare (pid, uid, message_key, type, headers, payload)"

static void must(struct bare *self, PGresult *result)
{
    bench_must(PQresultStatus(result) == PGRES_COMMAND_OK,
               PQerrorMessage(self->connection));
    PQclear(result);
}

static void prepare(struct bare *self)
{
    static const Oid ONE[] = {INTEGER, BYTEA, TEXT, TEXT, TEXT, BYTEA};
    static const Oid MANY[] = {INTEGER_ARRAY, BYTEA_ARRAY, TEXT_ARRAY,
                               TEXT_ARRAY,    TEXT_ARRAY,  BYTEA_ARRAY};

    must(self, PQprepare(self->connection, "one",
                         INSERT " VALUES ($1, $2, $3, $4, $5, $6)", COLUMN_COUNT, ONE));
    must(self, PQprepare(self->connection, "many",
                         INSERT " SELECT * FROM unnest($1, $2, $3, $4, $5, $6)",
                         COLUMN_COUNT, MANY));
}

static void *open_bare(const char *url)
{
    struct bare *self = bench_must_alloc(1, sizeof *self);

    for (size_t i = 0; i < COLUMN_COUNT; i++)
        self->arrays[i] = bench_must_alloc(
            1, ARRAY_HEADER_SIZE + BENCH_BATCH_MAX * (4 + BENCH_PAYLOAD_SIZE));
    self->connection = PQconnectdb(url);
    bench_must(PQstatus(self->connection) == CONNECTION_OK,
               PQerrorMessage(self->connection));
    must(self, PQexec(self->connection, CREATE));
    prepare(self);
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    PQfinish(self->connection);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        free(self->arrays[i]);
    free(self);
}

static char *put_32(char *out, uint32_t value)
{
    value = htonl(value);
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

static char *put_bytes(char *out, const void *bytes, size_t size)
{
    out = put_32(out, (uint32_t)size);
    memcpy(out, bytes, size);
    return out + size;
}

static char *put_value(char *out, enum column column, const struct bench_letter *letter)
{
    switch (column) {
    case PARTITION:
        return put_32(put_32(out, 4), (uint32_t)letter->partition);
    case UID:
        return put_bytes(out, letter->uid, sizeof letter->uid);
    case KEY:
        return put_bytes(out, letter->key, strlen(letter->key));
    case KIND:
        return put_bytes(out, BENCH_MESSAGE_TYPE, sizeof BENCH_MESSAGE_TYPE - 1);
    case PAYLOAD:
        return put_bytes(out, letter->payload, BENCH_PAYLOAD_SIZE);
    case HEADERS:
        break;
    }
    return put_32(out, UINT32_MAX); /* null */
}

static char *put_array_header(char *out, enum column column, size_t count)
{
    static const uint32_t TYPES[] = {INTEGER, BYTEA, TEXT, TEXT, TEXT, BYTEA};

    out = put_32(out, 1);                 /* dimensions */
    out = put_32(out, column == HEADERS); /* has nulls */
    out = put_32(out, TYPES[column]);
    out = put_32(out, (uint32_t)count);
    return put_32(out, 1); /* first index */
}

static void execute(struct bare *self, const char *statement, const char *const *values,
                    const int *sizes)
{
    static const int FORMATS[] = {1, 1, 1, 1, 1, 1};

    must(self, PQexecPrepared(self->connection, statement, COLUMN_COUNT, values, sizes,
                              FORMATS, 1));
}

static void insert_one(struct bare *self, const struct bench_letter *letter)
{
    uint32_t partition = htonl((uint32_t)letter->partition);
    const char *const values[] = {(const char *)&partition,
                                  (const char *)letter->uid,
                                  letter->key,
                                  BENCH_MESSAGE_TYPE,
                                  NULL,
                                  letter->payload};
    const int sizes[] = {sizeof partition,
                         sizeof letter->uid,
                         (int)strlen(letter->key),
                         sizeof BENCH_MESSAGE_TYPE - 1,
                         0,
                         BENCH_PAYLOAD_SIZE};

    execute(self, "one", values, sizes);
}

static void insert(void *state, const struct bench_letter *letters, size_t count)
{
    struct bare *self = state;
    const char *values[COLUMN_COUNT];
    int sizes[COLUMN_COUNT];

    if (count == 1) {
        insert_one(self, letters);
        return;
    }
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        char *end = put_array_header(self->arrays[column], (enum column)column, count);

        for (size_t i = 0; i < count; i++)
            end = put_value(end, (enum column)column, &letters[i]);
        values[column] = self->arrays[column];
        sizes[column] = (int)(end - self->arrays[column]);
    }
    execute(self, "many", values, sizes);
}

static void clear(void *state)
{
    struct bare *self = state;

    must(self, PQexec(self->connection, "TRUNCATE bare"));
}

const struct bench_bare_log bench_bare_log_postgresql = {
    .engine = WEIR_POSTGRESQL,
    .name = "libpq",
    .open = open_bare,
    .close = close_bare,
    .insert = insert,
    .clear = clear,
};
