/*
 * sweep.c - the sweep on SQLite: by id, then the pages that are free, then the log of
 * SQLite itself.
 *
 * A transaction that writes keeps all others from writing, so that no process can
 * subscribe.
 */
#include "db/db.h"
#include "db/sqlite/checkpoint.h"
#include "db/sqlite/space.h"
#include "outbox/log/sweep_by_id.h"
#include "outbox/sqlite/log.h"

/* At the end of a round a log of this size is moved into the file: as many pages as
 * SQLite takes for it when left alone. */
enum { WAL_SIZE_WORTH_IT = 4 * 1024 * 1024 };

/* A range of the primary key. */
static const struct weir_sql SQL_SET_ASIDE = {
    .name = "set aside",
    .text = "INSERT INTO {p}_aside"
            " (pid, id, created_us, uid, message_key, type, headers, payload)"
            " SELECT pid, id, created_us, uid, message_key, type, headers, payload"
            " FROM {p}_log WHERE id BETWEEN {1} AND {2}",
    .parameters = "ii",
};

static const struct weir_sweep_statements STATEMENTS = {.set_aside = &SQL_SET_ASIDE};

/* A connection in the way of a checkpoint makes one itself, or we do the next time. */
static enum weir_status checkpoint(struct weir_db *db, struct weir_connection *writer,
                                   struct weir_error *error)
{
    struct weir_connection *helper = NULL;
    enum weir_status status = weir_db_acquire(db, &helper, error);

    if (status == WEIR_OK)
        status = weir_sqlite_checkpoint(weir_connection_link(writer),
                                        weir_connection_link(helper), error);
    weir_db_release(db, helper);
    return status == WEIR_LOCKED || status == WEIR_BUSY ? WEIR_OK : status;
}

static enum weir_status checkpoint_if_due(struct weir_db *db,
                                          struct weir_connection *connection,
                                          bool round_ended, struct weir_error *error)
{
    int64_t limit = round_ended ? WAL_SIZE_WORTH_IT : WEIR_SQLITE_WAL_SIZE_MAX;
    int64_t size = 0;
    enum weir_status status =
        weir_sqlite_wal_size(weir_connection_link(connection), &size, error);

    if (status != WEIR_OK || size <= limit)
        return status;
    return checkpoint(db, connection, error);
}

/* Other writers go first; the next round tries again. */
static enum weir_status give_back(struct weir_connection *connection, bool *more,
                                  struct weir_error *error)
{
    enum weir_status status = weir_sqlite_space_give_back(connection, more, error);

    return status == WEIR_LOCKED || status == WEIR_BUSY ? WEIR_OK : status;
}

enum weir_status weir_log_sqlite_sweep(const struct weir_outbox_log *self,
                                       struct weir_db *db, struct weir_sweep_state *state,
                                       struct weir_sweep_report *report,
                                       struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    *report = (struct weir_sweep_report){.more = false};
    if (status == WEIR_OK)
        status = weir_sweep_by_id(self, &STATEMENTS, connection, state, report, error);
    if (status == WEIR_OK && !report->more)
        status = give_back(connection, &report->more, error);
    if (status == WEIR_OK)
        status = checkpoint_if_due(db, connection, !report->more, error);
    weir_db_release(db, connection);
    return status;
}
