/*
 * sweep.c - the sweep on MariaDB: by id.
 *
 * A row that was deleted stays in the index while any session has a read view from
 * before, and every walk over it pays for it. So a counter says up to which id the log is
 * empty: places are given once and upwards, so nothing ever comes before it, and the walk
 * begins there.
 */
#include "db/db.h"
#include "outbox/log/sweep_by_id.h"
#include "outbox/mariadb/log.h"

/* A range of the primary key, without locks on it: only the sweep deletes, and the
 * sweep has the lock. */
static const struct weir_sql SQL_SET_ASIDE = {
    .name = "set aside",
    .text = "INSERT INTO {p}_aside"
            " (pid, id, source_id, created_us, uid, message_key, type, headers, payload)"
            " SELECT pid, id, source_id, created_us, uid, message_key, type, headers,"
            " payload FROM {p}_log WHERE id BETWEEN {1} AND {2}",
    .parameters = "ii",
};

/* A subscriber has this row in share mode. What the transaction reads in
 * statements that follow, it reads as it is under the lock. Another sweep is not
 * waited for. */
static const struct weir_sql SQL_LOCK = {
    .name = "sweep lock",
    .text = "SELECT value FROM {p}_counter WHERE name = 'subscribe' FOR UPDATE NOWAIT",
};

static const struct weir_sql SQL_BEGIN = {
    .name = "sweep begin",
    .text = "SELECT value FROM {p}_counter WHERE name = 'swept'",
};

static const struct weir_sql SQL_MOVE_BEGIN = {
    .name = "sweep move begin",
    .text = "UPDATE {p}_counter SET value = {2} WHERE name = 'swept' AND value = {1}",
    .parameters = "ii",
};

static const struct weir_sweep_statements STATEMENTS = {
    .set_aside = &SQL_SET_ASIDE,
    .lock = &SQL_LOCK,
    .begin = &SQL_BEGIN,
    .move_begin = &SQL_MOVE_BEGIN,
    .end = &weir_maria_sql_head,
};

enum weir_status weir_log_maria_sweep(const struct weir_outbox_log *self,
                                      struct weir_db *db, struct weir_sweep_state *state,
                                      struct weir_sweep_report *report,
                                      struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    *report = (struct weir_sweep_report){.more = false};
    if (status == WEIR_OK)
        status = weir_sweep_by_id(self, &STATEMENTS, connection, state, report, error);
    weir_db_release(db, connection);
    return status;
}
