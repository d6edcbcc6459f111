/*
 * adopted.h - a connection of the application's own, lent to us, in processes whose
 * server may be gone.
 *
 * Failure  A status, never a failed test: processes that a test has forked use it, too.
 */
#ifndef WEIR_TEST_ADOPTED_H
#define WEIR_TEST_ADOPTED_H

#include "kit/db/engines.h"

struct adopted {
    struct weir_connection *connection;
    struct sqlite3 *sqlite; /* or */
    struct pg_conn *postgresql;
    struct st_mysql *mariadb;
};

/* WEIR_LOST: there was nobody to connect to. Owes one close in any case. */
enum weir_status adopted_open(struct adopted *self, const struct fixture *fixture,
                              struct weir_db *db, struct weir_error *error);
void adopted_close(struct adopted *self);

#endif
