/*
 * liveness_pg.c - the liveness lock on PostgreSQL: an advisory lock of a session.
 *
 * Its key is one bigint, the number. All other locks of ours have two keys, but for that of a migration,
 * which is held for a transaction: pg_locks tells these apart by `objsubid`.
 *
 * Of several hosts the one where the session is may have been left by everybody without its end: a
 * primary that became a standby. So the session counts as lost when another connection was, as the
 * one that listens does (db/watch_pg.c).
 */
#include "db/db.h"
#include "db/pg_conninfo.h"
#include "outbox/liveness_ops.h"

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

/*
 * The locks are read while the statement runs, and so after its snapshot was taken, which has the rows:
 * whoever's row says that it has a lock had it by then.
 */
static const struct weir_sql SQL_PEERS = {
    .name = "look at members",
    .text = WEIR_PEERS("(EXISTS (SELECT 1 FROM pg_locks l"
                       " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
                       " AND l.database = (SELECT oid FROM pg_database"
                       "   WHERE datname = current_database())"
                       " AND ((l.classid::bigint << 32) | l.objid::bigint) = x.number))"
                       "::int"),
    .parameters = "i",
};

static enum weir_status open(struct weir_liveness *self, struct weir_db *db,
                             struct weir_error *error)
{
    struct weir_pg_target target = {.several_hosts = false};
    int64_t got = 0;
    enum weir_status status;

    self->db = db;
    self->generation = weir_db_generation(db);
    status = weir_liveness_open_session(self, db, error);
    if (status == WEIR_OK)
        weir_pg_conninfo_read(weir_connection_native(self->session), 0, &target);
    self->several_hosts = target.several_hosts;
    if (status == WEIR_OK)
        status =
            weir_connection_execute(self->session, &SQL_STAY, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            self->session, &SQL_HOLD, VALUES(weir_integer(self->number)), &got, error);
    if (status == WEIR_OK && got == 0)
        status = weir_error_set(error, WEIR_LOCKED, "somebody holds it");
    return status;
}

static bool is_held(struct weir_liveness *self)
{
    if (self->several_hosts && weir_db_generation(self->db) != self->generation)
        return false;
    return weir_liveness_has_session(self);
}

const struct weir_liveness_ops weir_liveness_pg = {
    .open = open,
    .is_held = is_held,
    .peers = &SQL_PEERS,
    .holds = weir_liveness_row_says,
    .close = weir_liveness_close_session,
};
