/*
 * liveness.c - the liveness lock on PostgreSQL: an advisory lock of a session.
 *
 * Its key is one bigint, the number. All other locks of ours have two keys, but for
 * that of a migration, which is held for a transaction: pg_locks tells these apart by
 * `objsubid`.
 */
#include "outbox/lease/liveness_ops.h"
#include "outbox/postgres/engine.h"

/* Of this database. `number` is a bigint. */
#define HELD(number)                                                                     \
    "(EXISTS (SELECT 1 FROM pg_locks l"                                                  \
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"                    \
    " AND l.database = (SELECT oid FROM pg_database"                                     \
    "   WHERE datname = current_database())"                                             \
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = " number "))::int"

static const struct weir_sql SQL_HOLD = {
    .name = "take the liveness lock",
    .text = "SELECT pg_try_advisory_lock({1})::int",
    .parameters = "i",
};

/* A session that idles is what this is for. Servers before 14 have no such setting. */
static const struct weir_sql SQL_STAY = {
    .name = "stay",
    .text = "SELECT set_config(name, '0', false) FROM pg_settings"
            " WHERE name = 'idle_session_timeout'",
    .parameters = "",
};

static const struct weir_sql SQL_SEEN = {
    .name = "see the liveness lock",
    .text = "SELECT " HELD("{1}"),
    .parameters = "i",
};

/* A standby says so, too. */
static const char WRITABLE[] =
    "SELECT (current_setting('transaction_read_only') = 'off')::int";

/*
 * The locks are read while the statement runs, and so after its snapshot was taken,
 * which has the rows: a process whose row says that it has a lock had it by then.
 */
static const struct weir_sql SQL_PEERS = {
    .name = "look at members",
    .text = WEIR_PEERS(HELD("x.number")),
    .parameters = "i",
};

static enum weir_status open(struct weir_liveness *self, struct weir_db *db,
                             struct weir_error *error)
{
    int64_t got = 0;
    enum weir_status status = weir_liveness_open_session(self, db, error);

    if (status == WEIR_OK)
        status =
            weir_connection_execute(self->session, &SQL_STAY, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            self->session, &SQL_HOLD, VALUES(weir_integer(self->number)), &got, error);
    if (status == WEIR_OK && got == 0)
        status = weir_error_set(error, WEIR_LOCKED, "another session holds it");
    return status;
}

const struct weir_liveness_ops weir_liveness_pg = {
    .open = open,
    .is_held = weir_liveness_has_session,
    .seen = &SQL_SEEN,
    .writable = WRITABLE,
    .peers = &SQL_PEERS,
    .holds = weir_liveness_row_says,
    .close = weir_liveness_close_session,
};
