/*
 * effects.c - see effects.h.
 */
#include "kit/outbox/effects.h"

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

void effects_prepare(struct fixture *fixture)
{
    fixture_prepare(fixture, "CREATE TABLE effect (place $integer, seq $integer)");
}

static bool run_postgresql(PGconn *handle, const char *sql)
{
    PGresult *result = PQexec(handle, sql);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK ||
                PQresultStatus(result) == PGRES_TUPLES_OK;

    PQclear(result);
    return done;
}

/* One statement after the other: the library sends no two unless it was asked to. */
static bool run_mariadb(MYSQL *handle, const char *sql)
{
    bool done = true;

    while (done && *sql != '\0') {
        size_t size = strcspn(sql, ";");

        done = mysql_real_query(handle, sql, size) == 0;
        if (done)
            mysql_free_result(mysql_store_result(handle));
        sql += size + (sql[size] == ';');
    }
    return done;
}

bool effects_run(struct weir_connection *connection, const char *sql)
{
    void *handle = weir_connection_native(connection);

    switch (weir_connection_engine(connection)) {
    case WEIR_SQLITE:
        return sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    case WEIR_POSTGRESQL:
        return run_postgresql(handle, sql);
    case WEIR_MARIADB:
        break;
    }
    return run_mariadb(handle, sql);
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
