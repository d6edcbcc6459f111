/*
 * bare_pg.c - see bare.h. Everything binary, statements prepared once.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bare.h"
#include "lib/must.h"

enum { BIGINT = 20, BYTEA = 17, BIGINT_ARRAY = 1016, BYTEA_ARRAY = 1001 };
enum { ARRAY_HEADER_SIZE = 20, BATCH_MAX = 10000 };

struct bare {
    PGconn *connection;
    char *parts;  /* the arrays, as they are sent */
    char *bodies; /* likewise */
};

static void must(struct bare *self, PGresult *result, ExecStatusType wanted)
{
    bench_must(PQresultStatus(result) == wanted, PQerrorMessage(self->connection));
    PQclear(result);
}

static void run(void *state, const char *text)
{
    struct bare *self = state;

    must(self, PQexec(self->connection, text), PGRES_COMMAND_OK);
}

static void *open_bare(const struct bench_place *place)
{
    static const Oid FIND_TYPES[] = {BIGINT};
    static const Oid INSERT_TYPES[] = {BIGINT_ARRAY, BYTEA_ARRAY};
    struct bare *self = bench_must_alloc(1, sizeof *self);

    self->parts = bench_must_alloc(BATCH_MAX, 12);
    self->bodies = bench_must_alloc(BATCH_MAX, 4 + BENCH_BODY_SIZE);
    self->connection = PQconnectdb(place->url);
    bench_must(PQstatus(self->connection) == CONNECTION_OK,
               PQerrorMessage(self->connection));
    run(self, "SET client_min_messages = warning");
    run(self, "CREATE TABLE IF NOT EXISTS weir_row (id bigint GENERATED ALWAYS AS "
              "IDENTITY PRIMARY KEY, part bigint NOT NULL, body bytea NOT NULL)");
    must(self,
         PQprepare(self->connection, "find",
                   "SELECT part, body FROM weir_row WHERE id = $1", 1, FIND_TYPES),
         PGRES_COMMAND_OK);
    must(self,
         PQprepare(self->connection, "insert",
                   "INSERT INTO weir_row (part, body) SELECT * FROM unnest($1, $2)", 2,
                   INSERT_TYPES),
         PGRES_COMMAND_OK);
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    PQfinish(self->connection);
    free(self->parts);
    free(self->bodies);
    free(self);
}

static int64_t find(void *state, int64_t id)
{
    struct bare *self = state;
    uint64_t key = htobe64((uint64_t)id);
    const char *const values[] = {(const char *)&key};
    const int sizes[] = {sizeof key};
    const int formats[] = {1};
    PGresult *result =
        PQexecPrepared(self->connection, "find", 1, values, sizes, formats, 1);
    uint64_t part;
    int64_t sum;

    bench_must(PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1,
               "no such row");
    memcpy(&part, PQgetvalue(result, 0, 0), sizeof part);
    sum = (int64_t)be64toh(part) + PQgetvalue(result, 0, 1)[0];
    PQclear(result);
    return sum;
}

static char *put_32(char *out, uint32_t value)
{
    value = htonl(value);
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

static char *put_array_header(char *out, uint32_t type, size_t count)
{
    out = put_32(out, 1); /* dimensions */
    out = put_32(out, 0); /* no nulls */
    out = put_32(out, type);
    out = put_32(out, (uint32_t)count);
    return put_32(out, 1); /* first index */
}

static void insert(void *state, const struct bench_row *rows, size_t count)
{
    struct bare *self = state;
    char *part = put_array_header(self->parts, BIGINT, count);
    char *body = put_array_header(self->bodies, BYTEA, count);
    const char *const values[] = {self->parts, self->bodies};
    const int formats[] = {1, 1};
    int sizes[2];

    for (size_t i = 0; i < count; i++) {
        uint64_t number = htobe64((uint64_t)rows[i].part);

        part = put_32(part, sizeof number);
        memcpy(part, &number, sizeof number);
        part += sizeof number;
        body = put_32(body, BENCH_BODY_SIZE);
        memcpy(body, rows[i].body, BENCH_BODY_SIZE);
        body += BENCH_BODY_SIZE;
    }
    sizes[0] = (int)(part - self->parts);
    sizes[1] = (int)(body - self->bodies);
    run(self, "BEGIN");
    must(self, PQexecPrepared(self->connection, "insert", 2, values, sizes, formats, 1),
         PGRES_COMMAND_OK);
    run(self, "COMMIT");
}

static void clear(void *state)
{
    run(state, "TRUNCATE weir_row");
}

const struct bench_bare bench_bare_postgresql = {
    .engine = WEIR_POSTGRESQL,
    .name = "libpq",
    .open = open_bare,
    .close = close_bare,
    .run = run,
    .find = find,
    .insert = insert,
    .clear = clear,
};
