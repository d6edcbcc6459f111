/*
 * open.c - how a link comes to life and goes.
 *
 *   connect   start, poll ----------> connected -> session settings -> open
 *                    | late, several hosts   ^
 *                    +------> PQreset() -----+
 *                    | late, refused
 *                    +---------------------------------------------> failed
 *
 * libpq's blocking connect would do, but for one thing: it tells no SQLSTATE when it is
 * refused, and whether a password is wrong or the server is starting up decides between
 * stopping and trying again. In verbose texts the code is there, and only a connection
 * that has been started can be set to be verbose. The price is that the time per host,
 * which libpq only keeps in its blocking call, is lost; so when the time is over and
 * there are several hosts, PQreset() goes through all of them once more, blocking,
 * keeping it.
 */
#include "base/no_memory.h"
#include "db/postgres/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/log.h"
#include "db/postgres/conninfo.h"
#include "db/postgres/error.h"
#include "ward/system.h"
#include "weir/time.h"

/* A living server ends a statement at its timeout. For the way there and back, and for
 * a machine that swaps, it is given this much more; for control statements it is all
 * there is. */
#define SILENCE_EXTRA_NS WEIR_SECONDS(15)

enum { SERVER_VERSION_MIN = 130000 };

/* ---- connecting -------------------------------------------------------------------- */

static void log_notice(void *state, const char *text)
{
    const struct weir_link_config *config = state;

    weir_log_event(config->log, WEIR_LOG_DEBUG, "db.notice", "text=\"%.*s\"",
                   (int)strcspn(text, "\n"), text);
}

/* Wait for what PQconnectPoll() asked for; false when the time is over. */
static bool wait_to_connect(PGconn *connection, PostgresPollingStatusType wanted,
                            int64_t deadline_ns)
{
    struct pollfd socket = {
        .fd = PQsocket(connection),
        .events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT,
    };
    int64_t left_ns = weir_sat_sub_i64(deadline_ns, weir_system_now_ns());
    int count;

    if (left_ns <= 0)
        return false;
    count = poll(&socket, 1, (int)(left_ns / 1000000 + 1));
    return count >= 0 || errno == EINTR;
}

/* True when PQstatus() has the answer; false when the time is over. */
static bool poll_connection(PGconn *connection, int64_t timeout_ns)
{
    int64_t deadline_ns = weir_sat_add_i64(weir_system_now_ns(), timeout_ns);
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;

    while (wanted != PGRES_POLLING_OK && wanted != PGRES_POLLING_FAILED) {
        if (!wait_to_connect(connection, wanted, deadline_ns))
            return false;
        wanted = PQconnectPoll(connection);
    }
    return true;
}

/* Nothing of libpq's text: what it calls host or database may be a part of the
 * password. */
static enum weir_status refused_unclear(const char *sqlstate, struct weir_error *error)
{
    enum weir_status status = *sqlstate != '\0' ? weir_pg_status(sqlstate) : WEIR_LOST;

    (void)weir_error_set(error, status,
                         "no connection%s%s (the reason is not shown, it may have a part "
                         "of the password: an @ in it is written %%40)",
                         *sqlstate != '\0' ? ", " : "", sqlstate);
    memcpy(error->sqlstate, sqlstate, sizeof error->sqlstate);
    return status;
}

static enum weir_status refused(PGconn *connection, const char *conninfo,
                                struct weir_error *error)
{
    const char *text = PQerrorMessage(connection);
    char sqlstate[WEIR_SQLSTATE_SIZE];
    const char *message = weir_pg_find_sqlstate(text, sqlstate);
    enum weir_status status = message != NULL ? weir_pg_status(sqlstate) : WEIR_LOST;

    if (!weir_pg_conninfo_is_clear(conninfo))
        return refused_unclear(sqlstate, error);
    if (message == NULL)
        return weir_error_set(error, status, "%.*s", (int)strcspn(text, "\n"), text);
    (void)weir_error_set(error, status, "%.*s (%s)", (int)strcspn(message, "\n"), message,
                         sqlstate);
    memcpy(error->sqlstate, sqlstate, sizeof sqlstate);
    return status;
}

static enum weir_status connect_to_server(struct weir_pg_link *self,
                                          struct weir_error *error)
{
    const struct weir_link_config *config = self->base.config;
    struct weir_pg_target target = {0};
    PGconn *connection;
    bool in_time = true;
    enum weir_status status = weir_pg_ask_for_fault(self, error);

    if (status != WEIR_OK)
        return status;
    connection = self->connection =
        weir_pg_conninfo_start(config->url.conninfo, config->connect_timeout_ns);
    if (connection == NULL)
        return weir_no_memory(error, NULL);
    (void)PQsetNoticeProcessor(connection, log_notice, (void *)(uintptr_t)config);
    (void)PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
    if (PQstatus(connection) != CONNECTION_BAD) {
        weir_pg_conninfo_read(connection, config->connect_timeout_ns, &target);
        in_time = poll_connection(connection, target.timeout_ns);
        if (!in_time && target.several_hosts) {
            PQreset(connection);
            in_time = true;
        }
    }
    if (!in_time)
        return weir_error_set(error, WEIR_LOST, "no answer for %lld s",
                              (long long)(target.timeout_ns / WEIR_SECONDS(1)));
    if (PQstatus(connection) != CONNECTION_OK)
        return refused(connection, config->url.conninfo, error);
    (void)PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
    return WEIR_OK;
}

/* ---- the session ------------------------------------------------------------------- */

int64_t weir_pg_milliseconds(int64_t duration_ns)
{
    int64_t milliseconds = duration_ns / 1000000 + (duration_ns % 1000000 > 0 ? 1 : 0);

    return milliseconds < INT32_MAX ? milliseconds : INT32_MAX;
}

static enum weir_status check_version(const PGconn *connection, struct weir_error *error)
{
    int version = PQserverVersion(connection);

    if (version >= SERVER_VERSION_MIN)
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA,
                          "the server is PostgreSQL %d, must be %d or later",
                          version / 10000, SERVER_VERSION_MIN / 10000);
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status create_link(const struct weir_link_config *config,
                                    struct weir_pg_link **out, struct weir_error *error)
{
    struct weir_pg_link *self = weir_heap_zalloc(config->heap, sizeof *self);

    *out = self;
    if (self == NULL)
        return weir_no_memory(error, NULL);
    self->base.driver = &weir_driver_postgresql;
    self->base.config = config;
    weir_pg_encoder_init(&self->encoder, config->heap);
    if (weir_lock_init(&self->lock) != WEIR_OK) {
        weir_heap_free(config->heap, self);
        *out = NULL;
        return weir_error_set(error, WEIR_SYSTEM, "no lock to be had");
    }
    return WEIR_OK;
}

static enum weir_status keep_cancel(struct weir_pg_link *self, struct weir_error *error)
{
    weir_lock_acquire(&self->lock);
    self->cancel = PQgetCancel(self->connection);
    weir_lock_release(&self->lock);
    return self->cancel != NULL ? WEIR_OK : weir_no_memory(error, NULL);
}

enum weir_status weir_pg_open(const struct weir_link_config *config,
                              struct weir_link **out, struct weir_error *error)
{
    struct weir_pg_link *self = NULL;
    enum weir_status status = weir_pg_conninfo_check(config->url.conninfo, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = create_link(config, &self, error);
    if (status != WEIR_OK)
        return status;
    self->named = !config->url.transaction_pooler;
    if (config->statement_timeout_ns > 0)
        self->silence_ns =
            weir_sat_add_i64(config->statement_timeout_ns, SILENCE_EXTRA_NS);
    status = connect_to_server(self, error);
    if (status == WEIR_OK)
        status = check_version(self->connection, error);
    if (status == WEIR_OK)
        status = keep_cancel(self, error);
    if (status == WEIR_OK && self->named)
        status = weir_pg_set_session(self, error);
    if (status == WEIR_OK) {
        *out = &self->base;
        return WEIR_OK;
    }
    weir_pg_close(&self->base);
    return status;
}

/* Text goes to the server as UTF-8, and it must take it for that. */
static enum weir_status check_encoding(const PGconn *connection, struct weir_error *error)
{
    const char *encoding = PQparameterStatus(connection, "client_encoding");

    if (encoding != NULL &&
        (strcmp(encoding, "UTF8") == 0 || strcmp(encoding, "SQL_ASCII") == 0))
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "the connection's client_encoding is %s, must be UTF8",
                          encoding != NULL ? encoding : "unknown");
}

enum weir_status weir_pg_adopt(const struct weir_link_config *config, void *native,
                               struct weir_link **out, struct weir_error *error)
{
    struct weir_pg_link *self = NULL;
    enum weir_status status;

    *out = NULL;
    if (native == NULL)
        return weir_error_set(error, WEIR_INVALID, "there is no connection");
    status = weir_pg_check_free(native, error);
    if (status == WEIR_OK)
        status = check_version(native, error);
    if (status == WEIR_OK)
        status = check_encoding(native, error);
    if (status == WEIR_OK)
        status = create_link(config, &self, error);
    if (status != WEIR_OK)
        return status;
    self->base.adopted = true;
    self->connection = native;
    status = keep_cancel(self, error);
    if (status == WEIR_OK) {
        *out = &self->base;
        return WEIR_OK;
    }
    weir_pg_close(&self->base);
    return status;
}

void weir_pg_close(struct weir_link *link)
{
    struct weir_pg_link *self = (struct weir_pg_link *)link;
    const struct weir_heap *heap = link->config->heap;

    weir_lock_acquire(&self->lock);
    PQfreeCancel(self->cancel);
    self->cancel = NULL;
    weir_lock_release(&self->lock);
    if (!link->adopted)
        PQfinish(self->connection); /* of a lost one it does not wait: it has been cut */
    weir_pg_encoder_fini(&self->encoder);
    weir_lock_fini(&self->lock);
    weir_heap_free(heap, self);
}
