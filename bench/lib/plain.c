/*
 * plain.c - see plain.h.
 */
#include "lib/plain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "db/connection.h"
#include "db/transact.h"
#include "lib/clock.h"
#include "lib/must.h"

enum { STEPS = 3, THREADS_MAX = 64 };

static const char *const SQL_CREATE[] = {
    [WEIR_SQLITE] =
        "CREATE TABLE {p}_plain (id INTEGER PRIMARY KEY, state INTEGER NOT NULL,"
        " body BLOB NOT NULL)",
    [WEIR_POSTGRESQL] = "CREATE TABLE {p}_plain (id bigint PRIMARY KEY,"
                        " state integer NOT NULL, body bytea NOT NULL)",
};

static const struct weir_sql SQL_STEPS[][STEPS] = {
    [WEIR_SQLITE] = {{.name = "insert",
                      .text =
                          "INSERT INTO {p}_plain (id, state, body) VALUES ({1}, 0, {2})",
                      .parameters = "ib"},
                     {.name = "begin",
                      .text = "UPDATE {p}_plain SET state = 1 WHERE id = {1}",
                      .parameters = "i"},
                     {.name = "end",
                      .text = "UPDATE {p}_plain SET state = 2 WHERE id = {1}",
                      .parameters = "i"}},
    [WEIR_POSTGRESQL] = {{.name = "insert",
                          .text =
                              "INSERT INTO {p}_plain (id, state, body)"
                              " SELECT id, 0, body FROM unnest({1}, {2}) AS u (id, body)",
                          .parameters = "IB"},
                         {.name = "begin",
                          .text = "UPDATE {p}_plain SET state = 1 WHERE id = ANY({1})",
                          .parameters = "I"},
                         {.name = "end",
                          .text = "UPDATE {p}_plain SET state = 2 WHERE id = ANY({1})",
                          .parameters = "I"}},
};

static const struct weir_sql SQL_UPDATE = {
    .name = "update",
    .text = "UPDATE {p}_plain SET state = state + 1 WHERE id > {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_FIND = {
    .name = "find",
    .text = "SELECT state FROM {p}_plain WHERE id = {1}",
    .parameters = "i",
};

/* Rows of one batch; `step` is what is done to them. */
struct batch {
    int64_t first;
    size_t count;
    size_t step;
};

struct hand {
    struct bench_plain *plain;
    pthread_t thread;
    int64_t first; /* id */
    uint64_t count;
    size_t batch;
};

void bench_plain_open(struct bench_plain *self, const char *url)
{
    struct weir_db_options options;
    struct weir_connection *connection = NULL;
    struct weir_error error;

    memset(self, 0, sizeof *self);
    weir_db_options_init(&options);
    options.url = url;
    bench_must_ok(weir_db_create(&options, &self->db, &error), &error,
                  "open the database");
    bench_must_ok(weir_db_acquire(self->db, &connection, &error), &error, "connect");
    bench_must_ok(weir_connection_execute_text(
                      connection, SQL_CREATE[weir_db_engine(self->db)], &error),
                  &error, "create the table");
    weir_db_release(self->db, connection);
}

void bench_plain_close(struct bench_plain *self)
{
    weir_db_destroy(self->db);
}

static enum weir_status run_batch(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    static const char BODY[BENCH_PLAIN_SIZE] = "plain";
    enum weir_engine engine = weir_connection_engine(connection);
    const struct batch *self = argument;
    size_t width = self->step == 0 ? 2 : 1;
    struct weir_value *values = bench_must_alloc(self->count * width, sizeof *values);
    enum weir_status status;

    for (size_t i = 0; i < self->count; i++) {
        values[i * width] = weir_integer(self->first + (int64_t)i);
        if (self->step == 0)
            values[i * width + 1] = weir_bytes(BODY, sizeof BODY);
    }
    status = weir_connection_execute_many(connection, &SQL_STEPS[engine][self->step],
                                          values, self->count, width, NULL, error);
    free(values);
    return status;
}

/* On PostgreSQL a statement is a transaction. */
static void do_batch(struct bench_plain *self, struct batch *batch)
{
    struct weir_connection *connection = NULL;
    struct weir_error error;

    if (weir_db_engine(self->db) == WEIR_SQLITE) {
        bench_must_ok(weir_transact(self->db, run_batch, batch, &error), &error,
                      "write plain rows");
        return;
    }
    bench_must_ok(weir_db_acquire(self->db, &connection, &error), &error, "connect");
    bench_must_ok(run_batch(connection, batch, &error), &error, "write plain rows");
    weir_db_release(self->db, connection);
}

static void *work(void *state)
{
    const struct hand *self = state;

    for (uint64_t done = 0; done < self->count; done += self->batch) {
        struct batch batch = {self->first + (int64_t)done, self->batch, 0};

        for (; batch.step < STEPS; batch.step++)
            do_batch(self->plain, &batch);
    }
    return NULL;
}

int64_t bench_plain_run(struct bench_plain *self, uint64_t count, size_t batch,
                        size_t threads)
{
    struct hand hands[THREADS_MAX];
    int64_t begun_ns = bench_now_ns();

    bench_must(threads <= THREADS_MAX && count % (batch * threads) == 0,
               "rows that can be divided");
    for (size_t i = 0; i < threads; i++) {
        hands[i] = (struct hand){.plain = self,
                                 .first = self->used + 1,
                                 .count = count / threads,
                                 .batch = batch};
        self->used += (int64_t)hands[i].count;
        bench_must(pthread_create(&hands[i].thread, NULL, work, &hands[i]) == 0,
                   "start a thread");
    }
    for (size_t i = 0; i < threads; i++)
        (void)pthread_join(hands[i].thread, NULL);
    return bench_now_ns() - begun_ns;
}

static enum weir_status update(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_UPDATE,
                                   VALUES(weir_integer(*(const int64_t *)argument)), NULL,
                                   error);
}

int64_t bench_plain_update(struct bench_plain *self, uint64_t count)
{
    int64_t above = self->used - (int64_t)count;
    struct weir_error error;
    int64_t begun_ns = bench_now_ns();

    bench_must(above >= 0, "rows to be updated");
    bench_must_ok(weir_transact(self->db, update, &above, &error), &error,
                  "update plain rows");
    return bench_now_ns() - begun_ns;
}

int64_t bench_plain_find(struct bench_plain *self, uint64_t count)
{
    int64_t begun_ns = bench_now_ns();

    for (uint64_t i = 0; i < count; i++) {
        struct weir_connection *connection = NULL;
        struct weir_error error;
        int64_t state;

        bench_must_ok(weir_db_acquire(self->db, &connection, &error), &error, "connect");
        bench_must_ok(weir_connection_query_integer(connection, &SQL_FIND,
                                                    VALUES(weir_integer(self->used)),
                                                    &state, &error),
                      &error, "find a plain row");
        weir_db_release(self->db, connection);
    }
    return bench_now_ns() - begun_ns;
}
