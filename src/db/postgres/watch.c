/*
 * watch.c - LISTEN on a connection of its own.
 *
 * That something happened is all that most want, and several notifications become one.
 * A caller that asks for their payloads gets each. The connection does nothing else, so
 * it never blocks in a transaction, which would keep the server's notification queue from
 * shrinking.
 *
 *   CONNECTING ---> ASKING ---> LISTENING
 *   PQconnectPoll   LISTEN sent   PQnotifies
 *
 * A primary that was one may be alive, take no writes and keep its sessions. A writer
 * there notices; a listener would wait for ever. So of several hosts, once a
 * connection of the database was found lost, ours is made anew as well.
 *
 * It is not opened by the driver, whose open() waits for the server. Nothing here
 * waits, but for the resolver of host names, which libpq calls when it starts.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/postgres/conninfo.h"
#include "db/watch.h"
#include "ward/system.h"
#include "weir/time.h"

/* libpq gives up one of several hosts when the kernel does, and goes to the next. */
enum { SEVERAL_HOSTS_WAIT_LIMIT = 20 };

enum stage { CONNECTING, ASKING, LISTENING };

struct pg_watch {
    struct weir_watch watch;
    const struct weir_heap *heap;
    struct weir_fault_points *points;
    struct weir_db *db;
    uint64_t generation; /* of the database, when this began */
    bool several_hosts;
    bool outdated; /* others have moved */
    bool clear; /* errors of libpq have no part of the password (postgres/conninfo.h) */
    PGconn *connection;
    enum stage stage;
    char listen[80]; /* the statement */
};

static void pg_close(struct weir_watch *watch)
{
    struct pg_watch *self = WEIR_CONTAINER_OF(watch, struct pg_watch, watch);

    PQfinish(self->connection);
    weir_heap_free(self->heap, self);
}

/* No query is made for a better text: libpq's, up to the end of its first line. */
static enum weir_status fail(const struct pg_watch *self, struct weir_error *error)
{
    const char *text = self->clear ? PQerrorMessage(self->connection) : "";

    return weir_error_set(error, WEIR_LOST, "listen: %.*s", (int)strcspn(text, "\n"),
                          *text != '\0' ? text : "the connection was lost");
}

/* Without this, libpq would print what the server says on its way down. */
static void log_notice(void *state, const char *text)
{
    weir_log_event(state, WEIR_LOG_DEBUG, "wake.notice", "text=\"%.*s\"",
                   (int)strcspn(text, "\n"), text);
}

static enum weir_status start(struct pg_watch *self,
                              const struct weir_link_config *config,
                              struct weir_error *error)
{
    int64_t wait_limit_ns;
    struct weir_pg_target target;
    enum weir_status status = weir_pg_conninfo_check(config->url.conninfo, error);

    if (status != WEIR_OK)
        return status;
    self->clear = weir_pg_conninfo_is_clear(config->url.conninfo);
    self->connection =
        weir_pg_conninfo_start(config->url.conninfo, config->connect_timeout_ns);
    if (self->connection == NULL)
        return weir_no_memory(error, "listen");
    (void)PQsetNoticeProcessor(self->connection, log_notice,
                               (void *)(uintptr_t)config->log);
    if (PQstatus(self->connection) == CONNECTION_BAD)
        return fail(self, error);
    weir_pg_conninfo_read(self->connection, config->connect_timeout_ns, &target);
    self->several_hosts = target.several_hosts;
    wait_limit_ns =
        target.timeout_ns * (target.several_hosts ? SEVERAL_HOSTS_WAIT_LIMIT : 1);
    self->watch.fd = PQsocket(self->connection);
    self->watch.events = POLLOUT;
    self->watch.look_ns = weir_sat_add_i64(weir_system_now_ns(), wait_limit_ns);
    return WEIR_OK;
}

static enum weir_status pg_open(struct weir_db *db, const char *channel,
                                struct weir_watch **out, struct weir_error *error)
{
    struct pg_watch *self = weir_heap_zalloc(weir_db_heap(db), sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "listen");
    self->heap = weir_db_heap(db);
    self->points = weir_db_config(db)->points;
    self->db = db;
    self->generation = weir_db_generation(db);
    self->watch.ops = &weir_watch_postgresql;
    (void)snprintf(self->listen, sizeof self->listen, "LISTEN %s",
                   channel); /* a-z, 0-9 and _ only */
    status = start(self, weir_db_config(db), error);
    if (status == WEIR_OK)
        *out = &self->watch;
    else
        pg_close(&self->watch);
    return status;
}

static enum weir_status go_on_connecting(struct pg_watch *self, struct weir_error *error)
{
    PostgresPollingStatusType wanted = PQconnectPoll(self->connection);

    self->watch.fd = PQsocket(self->connection); /* another one for another address */
    self->watch.events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (wanted == PGRES_POLLING_FAILED)
        return fail(self, error);
    if (wanted != PGRES_POLLING_OK)
        return WEIR_OK;
    if (PQsetnonblocking(self->connection, 1) != 0 ||
        PQsendQuery(self->connection, self->listen) == 0)
        return fail(self, error);
    self->stage = ASKING;
    self->watch.events = POLLIN | POLLOUT; /* to flush, at once */
    return WEIR_OK;
}

static enum weir_status go_on_asking(struct pg_watch *self, struct weir_error *error)
{
    int unsent = PQflush(self->connection);

    if (unsent < 0 || PQconsumeInput(self->connection) == 0)
        return fail(self, error);
    self->watch.events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
    while (unsent == 0 && !PQisBusy(self->connection)) {
        PGresult *result = PQgetResult(self->connection);
        bool done = PQresultStatus(result) == PGRES_COMMAND_OK;

        if (result == NULL) { /* the answer has ended */
            self->stage = LISTENING;
            self->watch.ready = true;
            self->watch.look_ns = WEIR_FOREVER;
            break;
        }
        PQclear(result);
        if (!done)
            return fail(self, error);
    }
    return WEIR_OK;
}

static enum weir_status take_notifications(struct pg_watch *self, bool *hinted,
                                           struct weir_error *error)
{
    PGnotify *notification;

    if (PQconsumeInput(self->connection) == 0 ||
        PQstatus(self->connection) != CONNECTION_OK)
        return fail(self, error);
    while ((notification = PQnotifies(self->connection)) != NULL) {
        bool deaf = WEIR_POINT(self->points, "watch.deaf");

        if (!deaf && self->watch.heard != NULL)
            self->watch.heard(self->watch.heard_state, notification->extra);
        else if (!deaf)
            *hinted = true;
        PQfreemem(notification);
    }
    return WEIR_OK;
}

static enum weir_status pg_look(struct weir_watch *watch, int64_t now_ns, bool *hinted,
                                struct weir_error *error)
{
    struct pg_watch *self = WEIR_CONTAINER_OF(watch, struct pg_watch, watch);

    if (self->outdated)
        return weir_error_set(error, WEIR_LOST, "listen: other connections were lost");
    if (now_ns >= watch->look_ns)
        return weir_error_set(error, WEIR_LOST, "listen: no answer in time");
    switch (self->stage) {
    case CONNECTING:
        return go_on_connecting(self, error);
    case ASKING:
        return go_on_asking(self, error);
    case LISTENING:
        break;
    }
    return take_notifications(self, hinted, error);
}

/* There is no cheap check: polls are rare here. Often enough to see where the
 * others are. */
static bool pg_worth_polling(struct weir_watch *watch)
{
    struct pg_watch *self = WEIR_CONTAINER_OF(watch, struct pg_watch, watch);

    if (self->several_hosts && weir_db_generation(self->db) != self->generation) {
        self->outdated = true;
        watch->look_ns = 0;
    }
    return true;
}

const struct weir_watch_ops weir_watch_postgresql = {
    .hears_all = true,
    .open = pg_open,
    .look = pg_look,
    .worth_polling = pg_worth_polling,
    .close = pg_close,
};
