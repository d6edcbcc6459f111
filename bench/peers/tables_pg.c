/*
 * tables_pg.c - systems on PostgreSQL that are SQL alone, by libpq.
 *
 *   bare    BEGIN; INSERT; COMMIT into a table; nothing delivers
 *   table   the same table as a queue: FOR UPDATE SKIP LOCKED, 100 rows at a time
 *   pgmq    pgmq.send() or send_batch(); read() and delete(), 100 at a time
 *   pgq     pgq.insert_event(); next_batch(), get_batch_events(), finish_batch()
 *
 * Each producer sends BEGIN, one prepared statement and COMMIT. The consumer is one
 * thread with one connection; when it finds nothing it looks again after POLL_US.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { POLL_US = 2000, PAGE = 100 };

#define PAGE_TEXT "100"

struct statements {
    const char *system;
    const char *insert_one;  /* $1: a payload */
    const char *insert_many; /* $1: an array of payloads */
    int (*take)(PGconn *connection);
};

static const struct statements *chosen;

static PGresult *run(PGconn *connection, const char *name, const char *value)
{
    PGresult *result = value != NULL
                           ? PQexecPrepared(connection, name, 1, &value, NULL, NULL, 0)
                           : PQexecPrepared(connection, name, 0, NULL, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);

    peer_must(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, name,
              PQerrorMessage(connection));
    return result;
}

static void prepare(PGconn *connection, const char *name, const char *text)
{
    PGresult *result = PQprepare(connection, name, text, 0, NULL);

    peer_must(PQresultStatus(result) == PGRES_COMMAND_OK, text,
              PQerrorMessage(connection));
    PQclear(result);
}

static PGconn *open_connection(const char *url)
{
    PGconn *self = PQconnectdb(url);

    peer_must(PQstatus(self) == CONNECTION_OK, "connect", PQerrorMessage(self));
    prepare(self, "begin", "BEGIN");
    prepare(self, "commit", "COMMIT");
    return self;
}

/* ---- consumers --------------------------------------------------------------------- */

static int handle_all(const PGresult *rows, int column)
{
    int count = PQntuples(rows);

    for (int i = 0; i < count; i++)
        peer_handled(PQgetvalue(rows, i, column));
    return count;
}

static int take_from_table(PGconn *connection)
{
    PGresult *rows;
    int count;

    PQclear(run(connection, "begin", NULL));
    rows = run(connection, "take", NULL);
    count = handle_all(rows, 0);
    PQclear(rows);
    PQclear(run(connection, "commit", NULL));
    return count;
}

static int take_from_pgmq(PGconn *connection)
{
    char ids[PAGE * 24] = "{";
    size_t size = 1;
    PGresult *rows = run(connection, "take", NULL);
    int count = handle_all(rows, 0);

    for (int i = 0; i < count; i++)
        size += (size_t)snprintf(ids + size, sizeof ids - size, "%s%s", i > 0 ? "," : "",
                                 PQgetvalue(rows, i, 1));
    ids[size] = '}';
    PQclear(rows);
    if (count > 0)
        PQclear(run(connection, "delete", ids));
    return count;
}

static int take_from_pgq(PGconn *connection)
{
    PGresult *batch = run(connection, "next", NULL);
    int count = !PQgetisnull(batch, 0, 0);

    if (count > 0) {
        PGresult *rows = run(connection, "take", PQgetvalue(batch, 0, 0));

        (void)handle_all(rows, 0);
        PQclear(rows);
        PQclear(run(connection, "finish", PQgetvalue(batch, 0, 0)));
    }
    PQclear(batch);
    return count;
}

static void prepare_consumer(PGconn *connection)
{
    if (chosen->take == take_from_table)
        prepare(connection, "take",
                "DELETE FROM queue WHERE id = ANY (ARRAY (SELECT id FROM queue "
                "ORDER BY id LIMIT " PAGE_TEXT " FOR UPDATE SKIP LOCKED)) "
                "RETURNING payload");
    else if (chosen->take == take_from_pgmq) {
        prepare(connection, "take",
                "SELECT message::text, msg_id FROM pgmq.read('bench', 30, " PAGE_TEXT
                ")");
        prepare(connection, "delete",
                "SELECT count(*) FROM pgmq.delete('bench', $1::bigint[])");
    } else {
        prepare(connection, "next", "SELECT pgq.next_batch('bench', 'consumer')");
        prepare(connection, "take",
                "SELECT ev_data FROM pgq.get_batch_events($1::bigint)");
        prepare(connection, "finish", "SELECT pgq.finish_batch($1::bigint)");
    }
}

static void *consume(void *url)
{
    PGconn *connection = open_connection(url);

    prepare_consumer(connection);
    while (peer_is_running()) {
        if (chosen->take(connection) == 0)
            peer_sleep_us(POLL_US);
    }
    PQfinish(connection);
    return NULL;
}

/* ---- producers --------------------------------------------------------------------- */

static void *open_producer(const struct peer_options *options)
{
    PGconn *self = open_connection(options->url);

    prepare(self, "insert",
            options->batch == 1 ? chosen->insert_one : chosen->insert_many);
    return self;
}

static void send(void *session, int64_t first, int count)
{
    char payload[PEER_PAYLOAD_SIZE + 1];
    char *payloads = NULL;

    if (count > 1)
        payloads = peer_payload_array(first, count);
    else
        peer_payload(payload, first);
    PQclear(run(session, "begin", NULL));
    PQclear(run(session, "insert", payloads != NULL ? payloads : payload));
    PQclear(run(session, "commit", NULL));
    free(payloads);
}

static void close_producer(void *session)
{
    PQfinish(session);
}

int main(int count, char **arguments)
{
    static const struct statements ALL[] = {
        {"bare", "INSERT INTO queue (payload) VALUES ($1)",
         "INSERT INTO queue (payload) SELECT unnest($1::text[])", NULL},
        {"table", "INSERT INTO queue (payload) VALUES ($1)",
         "INSERT INTO queue (payload) SELECT unnest($1::text[])", take_from_table},
        {"pgmq", "SELECT pgmq.send('bench', $1::jsonb)",
         "SELECT count(*) FROM pgmq.send_batch('bench', $1::jsonb[])", take_from_pgmq},
        {"pgq", "SELECT pgq.insert_event('bench', 'bench', $1)",
         "SELECT count(pgq.insert_event('bench', 'bench', payload)) "
         "FROM unnest($1::text[]) payload",
         take_from_pgq},
    };
    struct peer_options options;
    pthread_t consumer;
    int result;

    peer_options_read(&options, count, arguments);
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        if (options.system != NULL && strcmp(ALL[i].system, options.system) == 0)
            chosen = &ALL[i];
    }
    peer_must(chosen != NULL, "system", "unknown");
    if (chosen->take != NULL)
        peer_must(pthread_create(&consumer, NULL, consume, (void *)options.url) == 0,
                  "thread", "could not be created");
    result = peer_measure(&(struct peer){.delivers = chosen->take != NULL,
                                         .open = open_producer,
                                         .send = send,
                                         .close = close_producer},
                          &options);
    if (chosen->take != NULL)
        (void)pthread_join(consumer, NULL);
    return result;
}
