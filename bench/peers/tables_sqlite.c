/*
 * tables_sqlite.c - a bare insert and a table as a queue, on SQLite.
 *
 *   bare    BEGIN IMMEDIATE; INSERT; COMMIT; nothing delivers
 *   table   the same, and a thread that reads and deletes 100 rows per transaction
 *
 * Write-ahead log, synchronous FULL. `url` is a path.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { POLL_US = 2000, BUSY_MS = 20000 };

struct session {
    sqlite3 *handle;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *insert;
    sqlite3_stmt *take;
};

static void must(const struct session *self, bool is_true, const char *what)
{
    peer_must(is_true, what, sqlite3_errmsg(self->handle));
}

static void prepare(struct session *self, sqlite3_stmt **out, const char *text)
{
    must(self, sqlite3_prepare_v2(self->handle, text, -1, out, NULL) == SQLITE_OK, text);
}

static void step(struct session *self, sqlite3_stmt *statement)
{
    must(self, sqlite3_step(statement) == SQLITE_DONE, sqlite3_sql(statement));
    must(self, sqlite3_reset(statement) == SQLITE_OK, sqlite3_sql(statement));
}

static void *open_session(const struct peer_options *options)
{
    struct session *self = calloc(1, sizeof *self);

    peer_must(self != NULL, "memory", "is exhausted");
    must(self, sqlite3_open(options->url, &self->handle) == SQLITE_OK, "open");
    (void)sqlite3_busy_timeout(self->handle, BUSY_MS);
    must(self,
         sqlite3_exec(self->handle,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                      "CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, "
                      "payload TEXT NOT NULL)",
                      NULL, NULL, NULL) == SQLITE_OK,
         "set up");
    prepare(self, &self->begin, "BEGIN IMMEDIATE");
    prepare(self, &self->commit, "COMMIT");
    prepare(self, &self->insert, "INSERT INTO queue (payload) VALUES (?)");
    prepare(self, &self->take,
            "DELETE FROM queue WHERE id IN (SELECT id FROM queue ORDER BY id LIMIT 100) "
            "RETURNING payload");
    return self;
}

static void close_session(void *session)
{
    struct session *self = session;

    (void)sqlite3_finalize(self->begin);
    (void)sqlite3_finalize(self->commit);
    (void)sqlite3_finalize(self->insert);
    (void)sqlite3_finalize(self->take);
    (void)sqlite3_close(self->handle);
    free(self);
}

static void send(void *session, int64_t first, int count)
{
    struct session *self = session;
    char payload[PEER_PAYLOAD_SIZE + 1];

    step(self, self->begin);
    for (int i = 0; i < count; i++) {
        peer_payload(payload, first + i);
        (void)sqlite3_bind_text(self->insert, 1, payload, PEER_PAYLOAD_SIZE,
                                SQLITE_STATIC);
        step(self, self->insert);
    }
    step(self, self->commit);
}

/* A reader looks first, so an empty queue costs no write transaction. */
static bool has_rows(struct session *self, sqlite3_stmt *look)
{
    bool found = sqlite3_step(look) == SQLITE_ROW;

    must(self, sqlite3_reset(look) == SQLITE_OK, "look");
    return found;
}

static void *consume(void *argument)
{
    struct session *self = open_session(argument);
    sqlite3_stmt *look;

    prepare(self, &look, "SELECT 1 FROM queue LIMIT 1");
    while (peer_is_running()) {
        int result;

        if (!has_rows(self, look)) {
            peer_sleep_us(POLL_US);
            continue;
        }
        step(self, self->begin);
        while ((result = sqlite3_step(self->take)) == SQLITE_ROW)
            peer_handled((const char *)sqlite3_column_text(self->take, 0));
        must(self, result == SQLITE_DONE, "take");
        (void)sqlite3_reset(self->take);
        step(self, self->commit);
    }
    (void)sqlite3_finalize(look);
    close_session(self);
    return NULL;
}

int main(int count, char **arguments)
{
    struct peer_options options;
    pthread_t consumer;
    bool delivers;
    int result;

    peer_options_read(&options, count, arguments);
    delivers = options.system != NULL && strcmp(options.system, "table") == 0;
    if (delivers)
        peer_must(pthread_create(&consumer, NULL, consume, &options) == 0, "thread",
                  "could not be created");
    result = peer_measure(&(struct peer){.delivers = delivers,
                                         .open = open_session,
                                         .send = send,
                                         .close = close_session},
                          &options);
    if (delivers)
        (void)pthread_join(consumer, NULL);
    return result;
}
