/*
 * pg_outbox.c - see pg_outbox.h.
 */
#include "kit/outbox/pg_outbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 2048, SNAPSHOT_SIZE = 4096 };

static PGresult *run(PGconn *connection, const char *format, va_list arguments)
    WEIR_PRINTF(2, 0);

static PGresult *run(PGconn *connection, const char *format, va_list arguments)
{
    char text[TEXT_SIZE];
    PGresult *result;
    ExecStatusType status;

    (void)vsnprintf(text, sizeof text, format, arguments);
    result = PQexec(connection, text);
    status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(connection));
    return result;
}

PGconn *pg_outbox_connect(const struct fixture *fixture)
{
    char url[SERVER_URL_SIZE];
    PGconn *connection;

    server_direct_url(fixture->server, fixture->database, url, sizeof url);
    connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
    return connection;
}

void pg_run(PGconn *connection, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    PQclear(run(connection, format, arguments));
    va_end(arguments);
}

int64_t pg_ask(PGconn *connection, const char *format, ...)
{
    va_list arguments;
    PGresult *result;
    int64_t answer;

    va_start(arguments, format);
    result = run(connection, format, arguments);
    va_end(arguments);
    check_int(PQntuples(result), 1);
    answer = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return answer;
}

int64_t pg_outbox_queue(PGconn *connection, const char *name, int partitions)
{
    return pg_ask(connection,
                  "INSERT INTO weir_queue (name, partitions, created_us)"
                  " VALUES ('%s', %d, 0) RETURNING id",
                  name, partitions);
}

int64_t pg_outbox_subscribe(PGconn *connection, int64_t queue, const char *name)
{
    int64_t subscription;

    pg_run(connection, "BEGIN");
    pg_run(connection, "SELECT pg_advisory_xact_lock_shared(hashtext('weir'), 2)");
    subscription =
        pg_ask(connection,
               "INSERT INTO weir_subscription (queue, name, serving, created_us)"
               " VALUES (%lld, '%s', 0, 0) RETURNING id",
               (long long)queue, name);
    pg_run(connection,
           "INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation,"
           " cut, last_id, seq) SELECT %lld, q.id * 64 + p, 0, 0, '', removed_cut,"
           " removed_id, 0 FROM weir_queue q, generate_series(0, partitions - 1) p"
           " WHERE q.id = %lld",
           (long long)subscription, (long long)queue);
    pg_run(connection,
           "INSERT INTO weir_lease (subscription, pid) SELECT %lld, q.id * 64 + p"
           " FROM weir_queue q, generate_series(0, partitions - 1) p WHERE q.id = %lld",
           (long long)subscription, (long long)queue);
    pg_run(connection, "COMMIT");
    return subscription;
}

int64_t pg_outbox_write(PGconn *connection, int64_t pid, int count)
{
    return pg_ask(
        connection,
        "WITH written AS (INSERT INTO weir_log (pid, uid, type, payload)"
        " SELECT %lld, gen_random_uuid()::text::bytea, 't', 'p'"
        " FROM generate_series(1, %d) RETURNING id) SELECT max(id) FROM written",
        (long long)pid, count);
}

int64_t pg_outbox_cut(PGconn *connection)
{
    static const char *const HI =
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM weir_log_id";
    char snapshot[SNAPSHOT_SIZE];
    PGresult *result;
    int64_t hi;
    int64_t own;
    int64_t top;
    int64_t no;

    pg_run(connection, "BEGIN ISOLATION LEVEL READ COMMITTED");
    pg_run(connection, "SELECT pg_advisory_xact_lock(hashtext('weir'), 1)");
    hi = pg_ask(connection, "%s", HI);
    own = pg_ask(connection, "SELECT pg_current_xact_id()");
    result = PQexec(connection, "SELECT pg_current_snapshot()");
    (void)snprintf(snapshot, sizeof snapshot, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    top = pg_ask(connection, "%s", HI);
    no = pg_ask(connection,
                "INSERT INTO weir_cut SELECT max(no) + 1, %lld, '%lld', '%s', %lld, 0"
                " FROM weir_cut RETURNING no",
                (long long)hi, (long long)own, snapshot, (long long)top);
    pg_run(connection, "COMMIT");
    return no;
}

void pg_outbox_ack(PGconn *connection, int64_t subscription, int64_t pid,
                   struct weir_log_position log_position)
{
    pg_run(connection,
           "INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation,"
           " cut, last_id, seq) SELECT %lld, %lld, max(version) + 1, 0, '', %lld, %lld, 0"
           " FROM weir_ack WHERE subscription = %lld AND pid = %lld",
           (long long)subscription, (long long)pid, (long long)log_position.cut,
           (long long)log_position.id, (long long)subscription, (long long)pid);
}

struct weir_log_position pg_outbox_place(PGconn *connection, int64_t subscription,
                                         int64_t pid)
{
    struct weir_log_position log_position;
    PGresult *result;
    char text[TEXT_SIZE];

    (void)snprintf(text, sizeof text,
                   "SELECT cut, last_id FROM weir_ack WHERE subscription = %lld"
                   " AND pid = %lld ORDER BY version DESC LIMIT 1",
                   (long long)subscription, (long long)pid);
    result = PQexec(connection, text);
    check_int(PQntuples(result), 1);
    log_position.cut = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    log_position.id = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return log_position;
}

void pg_outbox_list(PGconn *connection, int64_t pid, struct weir_log_position after,
                    char out[PG_OUTBOX_LIST_SIZE])
{
    char text[TEXT_SIZE];
    PGresult *result;

    (void)snprintf(
        text, sizeof text,
        "SELECT coalesce(string_agg(cut || ':' || id, ' ' ORDER BY cut, id), '') FROM ("
        "SELECT pid, (SELECT min(no) FROM weir_cut"
        " WHERE pg_visible_in_snapshot(xid, snap)) AS cut, id FROM weir_log UNION"
        " SELECT pid, cut, id FROM weir_aside) m"
        " WHERE pid = %lld AND (cut - 1, id) > (%lld, %lld)",
        (long long)pid, (long long)after.cut, (long long)after.id);
    result = PQexec(connection, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
    check(strlen(PQgetvalue(result, 0, 0)) < PG_OUTBOX_LIST_SIZE);
    (void)snprintf(out, PG_OUTBOX_LIST_SIZE, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}
