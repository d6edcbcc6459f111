/*
 * effects.c - see effects.h.
 */
#include "lib/effects.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>

void effects_prepare(struct fixture *fixture)
{
    fixture_prepare(fixture, "CREATE TABLE effect (place $integer, seq $integer)");
}

bool effects_run(struct weir_connection *connection, const char *sql)
{
    void *handle = weir_connection_native(connection);
    PGresult *result;
    bool done;

    if (weir_connection_link(connection)->driver->engine == WEIR_SQLITE)
        return sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    result = PQexec(handle, sql);
    done = PQresultStatus(result) == PGRES_COMMAND_OK ||
           PQresultStatus(result) == PGRES_TUPLES_OK;
    PQclear(result);
    return done;
}

bool effects_write(struct weir_connection *connection, const struct weir_message *message)
{
    char sql[96];

    snprintf(sql, sizeof sql, "INSERT INTO effect VALUES (%d, %lld)", message->partition,
             (long long)message->seq);
    return effects_run(connection, sql);
}

int64_t effects_count(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM effect");
}

int64_t effects_of(struct fixture *fixture, int32_t partition, int64_t seq)
{
    char sql[96];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM effect WHERE place = %d AND seq = %lld", partition,
             (long long)seq);
    return fixture_ask(fixture, sql);
}

int64_t effects_repeated(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM (SELECT 1 FROM effect"
                                " GROUP BY place, seq HAVING count(*) > 1) AS again");
}
