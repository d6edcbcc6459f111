/*
 * weir_outbox.c - weir's outbox on PostgreSQL and SQLite.
 *
 *   caller    BEGIN and COMMIT by the caller on its own connection, which weir adopts
 *   own       a transaction of the library's for each call
 *   sql       BEGIN; SELECT weir_enqueue(...); COMMIT by libpq alone
 *
 * One queue of 8 partitions, 4 handler calls at once, profile low_latency or
 * high_throughput. `url` is a URL of weir's.
 */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

#include "load.h"

enum { PARTITIONS = 8, BATCH_MAX = 1000 };

struct session {
    bool is_sql;
    PGconn *postgresql;
    sqlite3 *sqlite;
    struct weir_connection *connection; /* NULL: transactions of the library's */
    char payloads[BATCH_MAX][PEER_PAYLOAD_SIZE + 1];
    struct weir_draft drafts[BATCH_MAX];
};

static struct weir_db *db;
static struct weir_outbox *outbox;

static void must(enum weir_status status, const struct weir_error *error,
                 const char *what)
{
    peer_must(status == WEIR_OK, what, error->text);
}

static enum weir_outcome handle(struct weir_context *context, void *state,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    (void)state;
    (void)reason;
    peer_handled(message->payload);
    return WEIR_DONE;
}

static void start(const struct peer_options *options)
{
    struct weir_db_options of_db;
    struct weir_outbox_options of_outbox;
    struct weir_queue_options of_queue;
    struct weir_handler_options of_handler;
    struct weir_error error = {0};

    weir_db_options_init(&of_db);
    of_db.url = options->url;
    must(weir_db_create(&of_db, &db, &error), &error, "open");
    must(weir_outbox_migrate(db, &error), &error, "migrate");
    weir_outbox_options_init(&of_outbox);
    of_outbox.db = db;
    of_outbox.profile =
        options->latency ? WEIR_PROFILE_LOW_LATENCY : WEIR_PROFILE_HIGH_THROUGHPUT;
    must(weir_outbox_create(&of_outbox, &outbox, &error), &error, "create");
    weir_queue_options_init(&of_queue);
    of_queue.name = "bench";
    of_queue.partitions = PARTITIONS;
    must(weir_outbox_add_queue(outbox, &of_queue, &error), &error, "queue");
    weir_handler_options_init(&of_handler);
    of_handler.queue = "bench";
    of_handler.on_message = handle;
    must(weir_outbox_add_handler(outbox, &of_handler, &error), &error, "handler");
    must(weir_outbox_start(outbox, &error), &error, "start");
}

/* ---- producers --------------------------------------------------------------------- */

#define ENQUEUE_ONE "SELECT weir_enqueue('bench', NULL, $1::text, 'bench', NULL)"
#define ENQUEUE_MANY                                                                     \
    "SELECT count(weir_enqueue('bench', NULL, payload, 'bench', NULL)) "                 \
    "FROM unnest($1::text[]) payload"

static void open_postgresql(struct session *self, const char *url, int batch)
{
    PGresult *result;

    self->postgresql = PQconnectdb(url);
    peer_must(PQstatus(self->postgresql) == CONNECTION_OK, "connect",
              PQerrorMessage(self->postgresql));
    result = PQprepare(self->postgresql, "enqueue",
                       batch == 1 ? ENQUEUE_ONE : ENQUEUE_MANY, 0, NULL);
    peer_must(PQresultStatus(result) == PGRES_COMMAND_OK, "prepare",
              PQerrorMessage(self->postgresql));
    PQclear(result);
}

static void open_sqlite(struct session *self, const char *url)
{
    const char *path = strchr(url, ':') + 1;

    peer_must(sqlite3_open(path, &self->sqlite) == SQLITE_OK, "open", path);
    (void)sqlite3_busy_timeout(self->sqlite, 20000);
    peer_must(sqlite3_exec(self->sqlite, "PRAGMA synchronous = FULL", NULL, NULL, NULL) ==
                  SQLITE_OK,
              "synchronous", sqlite3_errmsg(self->sqlite));
}

static void *open_session(const struct peer_options *options)
{
    struct session *self = calloc(1, sizeof *self);
    struct weir_error error = {0};

    peer_must(self != NULL && options->batch <= BATCH_MAX, "session", "is too large");
    if (outbox == NULL)
        start(options);
    self->is_sql = strcmp(options->system, "sql") == 0;
    if (strcmp(options->system, "own") == 0)
        return self;
    if (weir_db_engine(db) == WEIR_SQLITE) {
        open_sqlite(self, options->url);
        must(weir_connection_adopt_sqlite(db, self->sqlite, &self->connection, &error),
             &error, "adopt");
    } else {
        open_postgresql(self, options->url, options->batch);
        must(weir_connection_adopt_postgresql(db, self->postgresql, &self->connection,
                                              &error),
             &error, "adopt");
    }
    return self;
}

static void close_session(void *session)
{
    struct session *self = session;

    weir_connection_disown(self->connection);
    PQfinish(self->postgresql);
    (void)sqlite3_close(self->sqlite);
    free(self);
}

static void execute(struct session *self, const char *text)
{
    if (self->sqlite != NULL) {
        peer_must(sqlite3_exec(self->sqlite, text, NULL, NULL, NULL) == SQLITE_OK, text,
                  sqlite3_errmsg(self->sqlite));
    } else {
        PGresult *result = PQexec(self->postgresql, text);

        peer_must(PQresultStatus(result) == PGRES_COMMAND_OK, text,
                  PQerrorMessage(self->postgresql));
        PQclear(result);
    }
}

static void enqueue_by_sql(struct session *self, int64_t first, int count)
{
    char *payloads = count > 1 ? peer_payload_array(first, count) : NULL;
    const char *value = payloads != NULL ? payloads : self->payloads[0];
    PGresult *result =
        PQexecPrepared(self->postgresql, "enqueue", 1, &value, NULL, NULL, 0);

    peer_must(PQresultStatus(result) == PGRES_TUPLES_OK, "weir_enqueue",
              PQerrorMessage(self->postgresql));
    PQclear(result);
    free(payloads);
}

static void send(void *session, int64_t first, int count)
{
    struct session *self = session;
    struct weir_error error = {0};

    for (int i = 0; i < count; i++) {
        peer_payload(self->payloads[i], first + i);
        self->drafts[i] = (struct weir_draft){.type = "bench",
                                              .payload = self->payloads[i],
                                              .payload_size = PEER_PAYLOAD_SIZE};
    }
    if (self->connection != NULL)
        execute(self, self->sqlite != NULL ? "BEGIN IMMEDIATE" : "BEGIN");
    if (self->is_sql)
        enqueue_by_sql(self, first, count);
    else if (count == 1)
        must(weir_enqueue(outbox, self->connection, "bench", self->drafts, NULL, &error),
             &error, "enqueue");
    else
        must(weir_enqueue_batch(outbox, self->connection, "bench", self->drafts,
                                (size_t)count, NULL, &error),
             &error, "enqueue");
    if (self->connection != NULL) {
        execute(self, "COMMIT");
        weir_outbox_flush(outbox);
    }
}

int main(int count, char **arguments)
{
    struct peer_options options;
    int result;

    peer_options_read(&options, count, arguments);
    peer_must(options.system != NULL, "system", "is missing");
    result = peer_measure(
        &(struct peer){
            .delivers = true, .open = open_session, .send = send, .close = close_session},
        &options);
    (void)weir_outbox_stop(outbox, WEIR_SECONDS(5));
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return result;
}
