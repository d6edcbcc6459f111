/*
 * outbox_application.h - an application with a connection of its own, which it may lend.
 */
#ifndef WEIR_TEST_OUTBOX_APPLICATION_H
#define WEIR_TEST_OUTBOX_APPLICATION_H

#include <libpq-fe.h>
#include <sqlite3.h>

#include "lib/outbox_engines.h"

struct application {
    sqlite3 *sqlite; /* or */
    PGconn *postgresql;
};

static inline struct application application_start(struct fixture *fixture)
{
    struct application self = {0};

    if (fixture->engine == WEIR_SQLITE) {
        check_int(sqlite3_open(fixture->database, &self.sqlite), SQLITE_OK);
        check_int(sqlite3_busy_timeout(self.sqlite, 10000), SQLITE_OK);
    } else {
        self.postgresql = PQconnectdb(fixture->url);
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
    else
        PQfinish(self->postgresql);
}

#endif
