/*
 * outbox_application.h - an application with a connection of its own, which it may lend.
 */
#ifndef WEIR_TEST_OUTBOX_APPLICATION_H
#define WEIR_TEST_OUTBOX_APPLICATION_H

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

#include "kit/outbox/outbox_engines.h"

struct application {
    sqlite3 *sqlite; /* or */
    PGconn *postgresql;
    MYSQL *mariadb;
};

static inline MYSQL *application_connect_mariadb(struct fixture *fixture)
{
    MYSQL *handle = mysql_init(NULL);

    check(handle != NULL);
    check_int(mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4"), 0);
    check(mysql_real_connect(handle, "127.0.0.1", SERVER_USER, SERVER_PASSWORD,
                             fixture->database, server_port(fixture->server), NULL,
                             0) != NULL);
    return handle;
}

static inline struct application application_start(struct fixture *fixture)
{
    struct application self = {0};
    char url[SERVER_URL_SIZE];

    if (fixture->engine == WEIR_SQLITE) {
        check_int(sqlite3_open(fixture->database, &self.sqlite), SQLITE_OK);
        check_int(sqlite3_busy_timeout(self.sqlite, 10000), SQLITE_OK);
    } else if (fixture->engine == WEIR_POSTGRESQL) {
        server_application_url(fixture->server, fixture->database, url, sizeof url);
        self.postgresql = PQconnectdb(url);
    } else {
        self.mariadb = application_connect_mariadb(fixture);
    }
    return self;
}

/* Which must work. */
static inline void application_run(struct application *self, const char *sql)
{
    PGresult *result;
    ExecStatusType status;

    if (self->sqlite != NULL) {
        check_int(sqlite3_exec(self->sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
        return;
    }
    if (self->mariadb != NULL) {
        check_int(mysql_query(self->mariadb, sql), 0);
        mysql_free_result(mysql_store_result(self->mariadb));
        return;
    }
    result = PQexec(self->postgresql, sql);
    status = PQresultStatus(result);
    PQclear(result);
    check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
}

/* Owes weir_connection_disown(). */
static inline struct weir_connection *application_adopt(struct fixture *fixture,
                                                        struct application *self)
{
    struct weir_connection *connection = NULL;

    if (self->sqlite != NULL)
        check_db(weir_connection_adopt_sqlite(fixture->db, self->sqlite, &connection,
                                              &fixture->error),
                 WEIR_OK);
    else if (self->mariadb != NULL)
        check_db(weir_connection_adopt_mariadb(fixture->db, self->mariadb, &connection,
                                               &fixture->error),
                 WEIR_OK);
    else
        check_db(weir_connection_adopt_postgresql(fixture->db, self->postgresql,
                                                  &connection, &fixture->error),
                 WEIR_OK);
    return connection;
}

static inline void application_stop(struct application *self)
{
    if (self->sqlite != NULL)
        check_int(sqlite3_close(self->sqlite), SQLITE_OK);
    else if (self->mariadb != NULL)
        mysql_close(self->mariadb);
    else
        PQfinish(self->postgresql);
}

#endif
