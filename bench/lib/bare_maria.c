/*
 * bare_maria.c - see bare.h. Statements prepared once, their buffers bound once; many
 * rows by arrays of each column.
 */
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bare.h"
#include "lib/must.h"

enum { BATCH_MAX = 10000 };

struct bare {
    MYSQL *connection;
    MYSQL_STMT *find;
    MYSQL_STMT *insert;
    int64_t id;   /* of the row to find */
    int64_t part; /* of the row that was found */
    char body[BENCH_BODY_SIZE];
    unsigned long body_size;
    int64_t *parts; /* of the rows to insert */
    char **bodies;
    unsigned long *sizes;
};

static void run(void *state, const char *text)
{
    struct bare *self = state;

    bench_must(mysql_query(self->connection, text) == 0, mysql_error(self->connection));
}

static MYSQL_STMT *prepare(struct bare *self, const char *text)
{
    MYSQL_STMT *statement = mysql_stmt_init(self->connection);

    bench_must(statement != NULL, "out of memory");
    bench_must(mysql_stmt_prepare(statement, text, strlen(text)) == 0,
               mysql_stmt_error(statement));
    return statement;
}

static void prepare_find(struct bare *self)
{
    MYSQL_BIND key = {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &self->id};
    MYSQL_BIND columns[2] = {
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &self->part},
        {.buffer_type = MYSQL_TYPE_BLOB,
         .buffer = self->body,
         .buffer_length = sizeof self->body,
         .length = &self->body_size},
    };

    self->find = prepare(self, "SELECT part, body FROM weir_row WHERE id = ?");
    bench_must(mysql_stmt_bind_param(self->find, &key) == 0 &&
                   mysql_stmt_bind_result(self->find, columns) == 0,
               mysql_stmt_error(self->find));
}

static void *open_bare(const struct bench_place *place)
{
    struct bare *self = bench_must_alloc(1, sizeof *self);

    self->parts = bench_must_alloc(BATCH_MAX, sizeof *self->parts);
    self->bodies = bench_must_alloc(BATCH_MAX, sizeof *self->bodies);
    self->sizes = bench_must_alloc(BATCH_MAX, sizeof *self->sizes);
    self->connection = mysql_init(NULL);
    bench_must(self->connection != NULL, "out of memory");
    bench_must(mysql_real_connect(self->connection, "127.0.0.1", place->user,
                                  place->password, place->database, place->port, NULL,
                                  0) != NULL,
               mysql_error(self->connection));
    run(self, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run(self,
        "CREATE TABLE IF NOT EXISTS weir_row (id BIGINT PRIMARY KEY AUTO_INCREMENT, "
        "part BIGINT NOT NULL, body VARBINARY(1000) NOT NULL) ENGINE=InnoDB");
    prepare_find(self);
    self->insert = prepare(self, "INSERT INTO weir_row (part, body) VALUES (?, ?)");
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    (void)mysql_stmt_close(self->find);
    (void)mysql_stmt_close(self->insert);
    mysql_close(self->connection);
    free(self->parts);
    free(self->bodies);
    free(self->sizes);
    free(self);
}

static int64_t find(void *state, int64_t id)
{
    struct bare *self = state;

    self->id = id;
    bench_must(mysql_stmt_execute(self->find) == 0 && mysql_stmt_fetch(self->find) == 0,
               "no such row");
    (void)mysql_stmt_free_result(self->find);
    return self->part + self->body[0];
}

static void insert(void *state, const struct bench_row *rows, size_t count)
{
    struct bare *self = state;
    unsigned row_count = (unsigned)count;
    MYSQL_BIND columns[2] = {
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = self->parts},
        {.buffer_type = MYSQL_TYPE_BLOB, .buffer = self->bodies, .length = self->sizes},
    };

    for (size_t i = 0; i < count; i++) {
        const union {
            const char *fixed;
            char *any;
        } body = {.fixed = rows[i].body}; /* the library reads it only */

        self->parts[i] = rows[i].part;
        self->bodies[i] = body.any;
        self->sizes[i] = BENCH_BODY_SIZE;
    }
    run(self, "START TRANSACTION");
    bench_must(mysql_stmt_attr_set(self->insert, STMT_ATTR_ARRAY_SIZE, &row_count) == 0 &&
                   mysql_stmt_bind_param(self->insert, columns) == 0 &&
                   mysql_stmt_execute(self->insert) == 0,
               mysql_stmt_error(self->insert));
    run(self, "COMMIT");
}

static void clear(void *state)
{
    run(state, "TRUNCATE TABLE weir_row");
}

const struct bench_bare bench_bare_mariadb = {
    .engine = WEIR_MARIADB,
    .name = "libmariadb",
    .open = open_bare,
    .close = close_bare,
    .run = run,
    .find = find,
    .insert = insert,
    .clear = clear,
};
