/*
 * liveness.c - the liveness lock on MariaDB: GET_LOCK on a session of its own.
 *
 * Such names are the server's, not the database's, and have 64 characters at most: the
 * prefix, which has 36, and the number, which no other process has in any database.
 */
#include "outbox/lease/liveness_ops.h"
#include "outbox/mariadb/engine.h"

#define NAME(number) "CONCAT('{n}_alive_', LOWER(HEX(" number ")))"

static const struct weir_sql SQL_HOLD = {
    .name = "take the liveness lock",
    .text = "SELECT GET_LOCK(" NAME("{1}") ", 0)",
    .parameters = "i",
};

/* A session that idles is what this is for: a year, which is the most there is. */
static const char STAY[] = "SET SESSION wait_timeout = 31536000";

static const struct weir_sql SQL_SEEN = {
    .name = "see the liveness lock",
    .text = "SELECT IS_USED_LOCK(" NAME("{1}") ") IS NOT NULL",
    .parameters = "i",
};

/* A number at first, a word since it has more than two values. */
static const char WRITABLE[] = "SELECT CAST(@@read_only AS CHAR) IN ('0', 'OFF')";

/* A row is read before the function is asked for it. */
static const struct weir_sql SQL_PEERS = {
    .name = "look at members",
    .text = WEIR_PEERS("IS_USED_LOCK(" NAME("x.number") ") IS NOT NULL"),
    .parameters = "i",
};

static enum weir_status open(struct weir_liveness *self, struct weir_db *db,
                             struct weir_error *error)
{
    int64_t got = 0;
    enum weir_status status = weir_liveness_open_session(self, db, error);

    if (status == WEIR_OK)
        status = weir_connection_execute_text(self->session, STAY, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            self->session, &SQL_HOLD, VALUES(weir_integer(self->number)), &got, error);
    if (status == WEIR_OK && got != 1)
        status = weir_error_set(error, WEIR_LOCKED, "another session holds it");
    return status;
}

const struct weir_liveness_ops weir_liveness_maria = {
    .open = open,
    .is_held = weir_liveness_has_session,
    .seen = &SQL_SEEN,
    .writable = WRITABLE,
    .peers = &SQL_PEERS,
    .holds = weir_liveness_row_says,
    .close = weir_liveness_close_session,
};
