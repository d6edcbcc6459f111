/*
 * link.c - sending, waiting and judging.
 *
 *   I1  a link of our own is in non-blocking mode from ready() to rest() and never else,
 *       unless it is lost
 *   I2  an adopted connection is never put into non-blocking mode, and cut only by
 *       weir_pg_cut()
 *
 * The wait is counted from the server's last sign of life and not from the beginning: a
 * large result may take its time, silence may not.
 */
#include "db/postgres/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arith.h"
#include "base/count.h"
#include "base/text.h"
#include "db/postgres/error.h"
#include "ward/system.h"
#include "weir/time.h"

/*
 * Encrypted bytes may wait inside the TLS library where poll() does not see them, so
 * libpq is asked again after this time. It happens when a record is larger than libpq's
 * free buffer.
 */
#define ENCRYPTED_SLICE_NS WEIR_MILLISECONDS(20)

/* Messages of a server without a request: more than that in a row is an error. */
enum { UNASKED_MAX = 16 };

/* Until the end of a connection that was cut: more than the kernel can hold. */
enum { READS_MAX = 100000 };

static enum weir_status refuse(struct weir_error *error, const char *why)
{
    return weir_error_set(error, WEIR_INVALID, "the connection %s", why);
}

enum weir_status weir_pg_check_free(const PGconn *connection, struct weir_error *error)
{
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        return refuse(error, "is in pipeline mode, which must be left first");
    if (PQisnonblocking(connection))
        return refuse(error, "is in non-blocking mode, in which its owner may have sent "
                             "half a statement; PQsetnonblocking(connection, 0) first");
    switch (PQtransactionStatus(connection)) {
    case PQTRANS_IDLE:
    case PQTRANS_INTRANS:
        return WEIR_OK;
    case PQTRANS_INERROR:
        return refuse(error, "is in a failed transaction, which must be rolled back");
    case PQTRANS_ACTIVE:
        return refuse(error, "is busy with a statement that has not ended");
    case PQTRANS_UNKNOWN:
        break;
    }
    return refuse(error, "is broken");
}

/* The application may have done anything since we were called last. A failed
 * transaction is fine here: a savepoint may have to be undone. */
static enum weir_status check_adopted(struct weir_pg_link *self, struct weir_error *error)
{
    const PGconn *connection = self->connection;

    if (PQstatus(connection) != CONNECTION_OK) {
        weir_pg_sever(self);
        return weir_error_set(error, WEIR_LOST, "the connection was lost");
    }
    if (PQtransactionStatus(connection) == PQTRANS_INERROR &&
        PQpipelineStatus(connection) == PQ_PIPELINE_OFF && !PQisnonblocking(connection))
        return WEIR_OK;
    return weir_pg_check_free(connection, error);
}

enum weir_status weir_pg_ask_for_fault(struct weir_pg_link *self,
                                       struct weir_error *error)
{
    switch (weir_driver_fault(&self->base)) {
    case WEIR_FAULT_LOSE:
        weir_pg_sever(self);
        return weir_error_set(error, WEIR_LOST, "lost by order of a test");
    case WEIR_FAULT_FAIL:
        return weir_error_set(error, WEIR_FAILED, "failed by order of a test");
    case WEIR_NO_FAULT:
        break;
    }
    return WEIR_OK;
}

bool weir_pg_is_alive(struct weir_link *link)
{
    struct weir_pg_link *self = (struct weir_pg_link *)link;
    PGconn *connection = self->connection;

    for (int i = 0; i < UNASKED_MAX && !link->lost; i++) {
        struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};

        if (PQstatus(connection) != CONNECTION_OK || socket.fd < 0)
            weir_pg_sever(self);
        else if (poll(&socket, 1, 0) <= 0)
            break;
        else if (PQconsumeInput(connection) == 0)
            weir_pg_sever(self);
    }
    return !link->lost;
}

/* What cancel() said was about the statement before. When it is still at it, wait: the
 * server would take the interruption for one of the next statement. */
static void forget_cancel(struct weir_pg_link *self)
{
    if (!atomic_load(&self->base.cancelled))
        return;
    weir_lock_acquire(&self->lock);
    atomic_store(&self->base.cancelled, false);
    weir_lock_release(&self->lock);
}

enum weir_status weir_pg_ready(struct weir_pg_link *self, struct weir_error *error)
{
    enum weir_status status = weir_pg_ask_for_fault(self, error);

    if (status == WEIR_OK && self->base.adopted)
        status = check_adopted(self, error);
    if (status != WEIR_OK)
        return status;
    forget_cancel(self);
    if (self->unset && PQtransactionStatus(self->connection) == PQTRANS_IDLE) {
        self->unset = false; /* or this would never end */
        status = weir_pg_set_session(self, error);
        self->unset = status != WEIR_OK;
    }
    if (status == WEIR_OK && !self->base.adopted &&
        PQsetnonblocking(self->connection, 1) != 0)
        status = weir_pg_fail_send(self, error);
    return status;
}

void weir_pg_rest(struct weir_pg_link *self)
{
    /* Fails when something is left to send, and only a broken connection has that. */
    if (!self->base.adopted && !self->base.lost &&
        PQsetnonblocking(self->connection, 0) != 0 &&
        PQstatus(self->connection) == CONNECTION_OK)
        weir_pg_sever(self);
}

void weir_pg_sever(struct weir_pg_link *self)
{
    int socket = PQsocket(self->connection);

    if (!self->base.adopted && !self->base.lost && socket >= 0)
        (void)shutdown(socket, SHUT_RDWR);
    self->base.lost = true;
}

void weir_pg_cut(struct weir_pg_link *self)
{
    int socket = PQsocket(self->connection);

    if (socket >= 0)
        (void)shutdown(socket, SHUT_RDWR);
    self->base.lost = true;
    /* What has come in is read, until libpq sees the end. Without memory it cannot; then
     * the next call of the application sees it. */
    for (int i = 0; i < READS_MAX && PQstatus(self->connection) == CONNECTION_OK; i++) {
        if (PQconsumeInput(self->connection) == 0)
            break;
    }
}

/* ---- waiting ----------------------------------------------------------------------- */

static int64_t silent_until_ns(const struct weir_pg_link *self)
{
    if (self->silence_ns == 0)
        return WEIR_FOREVER;
    return weir_sat_add_i64(weir_system_now_ns(), self->silence_ns);
}

static bool is_encrypted(PGconn *connection)
{
    return PQsslInUse(connection) || PQgssEncInUse(connection);
}

/* Wait until the socket is ready, which extends the deadline, or it is worth asking libpq
 * again. False: the deadline has passed. */
static bool wait_for_socket(struct weir_pg_link *self, short events, int64_t *deadline_ns)
{
    struct pollfd wanted = {.fd = PQsocket(self->connection), .events = events};
    int64_t left_ns = INT64_MAX;
    int timeout_ms = -1;
    int count;

    if (wanted.fd < 0)
        return true; /* broken already, as libpq will tell */
    if (*deadline_ns != WEIR_FOREVER)
        left_ns = weir_sat_sub_i64(*deadline_ns, weir_system_now_ns());
    if (left_ns <= 0)
        return false;
    if (is_encrypted(self->connection) && left_ns > ENCRYPTED_SLICE_NS)
        left_ns = ENCRYPTED_SLICE_NS;
    if (left_ns != INT64_MAX)
        timeout_ms = (int)(left_ns / 1000000 < 3600000 ? left_ns / 1000000 + 1 : 3600000);

    count = poll(&wanted, 1, timeout_ms);
    if (count > 0)
        *deadline_ns = silent_until_ns(self);
    return count >= 0 || errno == EINTR;
}

bool weir_pg_flush(struct weir_pg_link *self)
{
    int64_t deadline_ns = silent_until_ns(self);

    /* Answers are taken in meanwhile: a server that cannot get rid of them stops
     * reading. */
    while (PQflush(self->connection) > 0) {
        if (!wait_for_socket(self, POLLIN | POLLOUT, &deadline_ns))
            return false;
        if (PQconsumeInput(self->connection) == 0)
            break;
    }
    return true;
}

bool weir_pg_wait(struct weir_pg_link *self)
{
    int64_t deadline_ns;

    if (self->base.adopted || !PQisBusy(self->connection))
        return true;
    deadline_ns = silent_until_ns(self);
    do {
        if (!wait_for_socket(self, POLLIN, &deadline_ns))
            return false;
        if (PQconsumeInput(self->connection) == 0)
            break;
    } while (PQisBusy(self->connection));
    return true;
}

/*
 * libpq that has no memory for the result of a sync drops the answer, says so in its text
 * and would wait for it for ever.
 */
enum weir_status weir_pg_wait_for_sync(struct weir_pg_link *self,
                                       struct weir_error *error)
{
    size_t said = strlen(PQerrorMessage(self->connection));
    int64_t deadline_ns = silent_until_ns(self);

    while (PQisBusy(self->connection)) {
        if (strlen(PQerrorMessage(self->connection)) != said)
            return weir_pg_fail_send(self, error);
        if (!wait_for_socket(self, POLLIN, &deadline_ns))
            return weir_pg_fail_silence(self, error);
        if (PQconsumeInput(self->connection) == 0)
            break;
    }
    return WEIR_OK;
}

/* ---- judging ----------------------------------------------------------------------- */

static bool is_good(const PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        return true;
    default:
        return false;
    }
}

static bool is_copy(const PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        return true;
    default:
        return false;
    }
}

/* The code alone says most; see postgres/error.h for what it cannot say. */
static enum weir_status status_of(struct weir_pg_link *self, const char *sqlstate)
{
    bool connected = PQstatus(self->connection) == CONNECTION_OK;

    if (strcmp(sqlstate, "57014") == 0 && atomic_load(&self->base.cancelled))
        return connected ? WEIR_CANCELLED : WEIR_LOST;
    if (strcmp(sqlstate, "25006") == 0 && (self->read_only || self->base.adopted))
        return connected ? WEIR_INVALID : WEIR_LOST;
    return connected ? weir_pg_status(sqlstate) : WEIR_LOST;
}

enum weir_status weir_pg_judge(struct weir_pg_link *self, const PGresult *result,
                               struct weir_error *error)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = "";
    enum weir_status status;

    if (is_good(result))
        return WEIR_OK;
    if (is_copy(result)) { /* there is no way back from it but copying */
        weir_pg_sever(self);
        return weir_error_set(error, WEIR_LOST, "COPY cannot be done here");
    }
    if (sqlstate == NULL)
        sqlstate = "";
    if (text == NULL)
        text = result != NULL ? PQresultErrorMessage(result)
                              : PQerrorMessage(self->connection);
    if (strcmp(sqlstate, "42P05") == 0)
        hint = "; a pooler in transaction mode needs pooler=transaction in the URL";
    status = status_of(self, sqlstate);
    (void)weir_error_set(error, status, "%.*s%s%s%s%s", (int)strcspn(text, "\n"), text,
                         sqlstate[0] != '\0' ? " (" : "", sqlstate,
                         sqlstate[0] != '\0' ? ")" : "", hint);
    weir_text_format(error->sqlstate, sizeof error->sqlstate, "%s", sqlstate);
    if (status == WEIR_LOST)
        weir_pg_sever(self);
    return status;
}

enum weir_status weir_pg_fail_send(struct weir_pg_link *self, struct weir_error *error)
{
    const char *text = PQerrorMessage(self->connection);

    (void)weir_error_set(error, WEIR_LOST, "%.*s", (int)strcspn(text, "\n"),
                         text[0] != '\0' ? text : "the connection was lost");
    weir_pg_sever(self);
    return WEIR_LOST;
}

enum weir_status weir_pg_fail_silence(struct weir_pg_link *self, struct weir_error *error)
{
    weir_pg_sever(self);
    return weir_error_set(error, WEIR_LOST, "the server was silent for %lld s",
                          (long long)(self->silence_ns / WEIR_SECONDS(1)));
}

/* ---- one exchange ------------------------------------------------------------------ */

/* Of several results the first failure is kept, else the last. Takes both. */
static PGresult *keep_one(PGresult *kept, PGresult *next)
{
    if (kept != NULL && !is_good(kept)) {
        PQclear(next);
        return kept;
    }
    PQclear(kept);
    return next;
}

/* All results up to the end of the answer, into one; NULL when there was none. False:
 * silence. */
static bool take_results(struct weir_pg_link *self, PGresult **out)
{
    PGresult *next;

    *out = NULL;
    do {
        if (!weir_pg_wait(self))
            return false;
        next = PQgetResult(self->connection);
        if (next != NULL)
            *out = keep_one(*out, next);
    } while (next != NULL && !is_copy(*out)); /* which has no end by itself */
    return true;
}

enum weir_status weir_pg_collect(struct weir_pg_link *self, int sent, PGresult **out,
                                 struct weir_error *error)
{
    enum weir_status status;

    *out = NULL;
    if (!sent)
        return weir_pg_fail_send(self, error);
    if ((!self->base.adopted && !weir_pg_flush(self)) || !take_results(self, out))
        status = weir_pg_fail_silence(self, error);
    else
        status = weir_pg_judge(self, *out, error);
    if (status != WEIR_OK) {
        PQclear(*out);
        *out = NULL;
    }
    weir_pg_rest(self);
    return status;
}

enum weir_status weir_pg_execute_text(struct weir_pg_link *self, const char *text,
                                      struct weir_error *error)
{
    PGresult *result = NULL;
    enum weir_status status = weir_pg_ready(self, error);

    if (status == WEIR_OK)
        status =
            weir_pg_collect(self, PQsendQuery(self->connection, text), &result, error);
    PQclear(result);
    return status;
}

enum weir_status weir_pg_query_text(struct weir_pg_link *self, const char *text,
                                    PGresult **out, struct weir_error *error)
{
    enum weir_status status = weir_pg_ready(self, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = weir_pg_collect(
            self, PQsendQueryParams(self->connection, text, 0, NULL, NULL, NULL, NULL, 1),
            out, error);
    return status;
}

int64_t weir_pg_changed(PGresult *result)
{
    static const char *const VERBS[] = {"INSERT", "UPDATE", "DELETE", "MERGE"};
    const char *tag = PQcmdStatus(result);

    for (size_t i = 0; i < COUNT_OF(VERBS); i++) {
        if (strncmp(tag, VERBS[i], strlen(VERBS[i])) == 0)
            return strtoll(PQcmdTuples(result), NULL, 10);
    }
    return 0;
}
