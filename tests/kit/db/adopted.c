/*
 * adopted.c - see adopted.h.
 */
#include "kit/db/adopted.h"

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

static enum weir_status adopt_sqlite(struct adopted *self, const struct fixture *fixture,
                                     struct weir_db *db, struct weir_error *error)
{
    if (sqlite3_open(fixture->database, &self->sqlite) != SQLITE_OK)
        return WEIR_LOST;
    (void)sqlite3_busy_timeout(self->sqlite, 10000);
    return weir_connection_adopt_sqlite(db, self->sqlite, &self->connection, error);
}

/* That its server is killed. */
static void hush(void *state, const char *text)
{
    (void)state;
    (void)text;
}

static enum weir_status adopt_postgresql(struct adopted *self,
                                         const struct fixture *fixture,
                                         struct weir_db *db, struct weir_error *error)
{
    self->postgresql = PQconnectdb(fixture->url);
    if (PQstatus(self->postgresql) != CONNECTION_OK)
        return WEIR_LOST;
    (void)PQsetNoticeProcessor(self->postgresql, hush, NULL);
    return weir_connection_adopt_postgresql(db, self->postgresql, &self->connection,
                                            error);
}

static enum weir_status adopt_mariadb(struct adopted *self, const struct fixture *fixture,
                                      struct weir_db *db, struct weir_error *error)
{
    self->mariadb = mysql_init(NULL);
    if (self->mariadb == NULL ||
        mysql_options(self->mariadb, MYSQL_SET_CHARSET_NAME, "utf8mb4") != 0 ||
        mysql_real_connect(self->mariadb, "127.0.0.1", SERVER_USER, SERVER_PASSWORD,
                           fixture->database, server_port(fixture->server), NULL,
                           0) == NULL)
        return WEIR_LOST;
    return weir_connection_adopt_mariadb(db, self->mariadb, &self->connection, error);
}

enum weir_status adopted_open(struct adopted *self, const struct fixture *fixture,
                              struct weir_db *db, struct weir_error *error)
{
    *self = (struct adopted){.connection = NULL};
    switch (fixture->engine) {
    case WEIR_SQLITE:
        return adopt_sqlite(self, fixture, db, error);
    case WEIR_POSTGRESQL:
        return adopt_postgresql(self, fixture, db, error);
    case WEIR_MARIADB:
        break;
    }
    return adopt_mariadb(self, fixture, db, error);
}

void adopted_close(struct adopted *self)
{
    weir_connection_disown(self->connection);
    (void)sqlite3_close(self->sqlite);
    PQfinish(self->postgresql);
    if (self->mariadb != NULL)
        mysql_close(self->mariadb);
}
