/*
 * log.c - the log on PostgreSQL.
 *
 *   postgres/append.c   producers
 *   postgres/cut.c      what is committed becomes a cut
 *   postgres/read.c     from cut to cut, by the statements of postgres/page.c
 *   postgres/lag.c      what waits
 *   postgres/sweep.c    what all have passed is removed
 *
 * A message has a transaction id and a message id, taken in that order and before
 * commit. Neither is the order of commits. The order in which all readers read is (cut,
 * id): cuts follow each other as snapshots do, so a transaction that began after
 * another had committed comes later, and one that takes an hour delays only itself.
 *
 * The log has eight leaves by (id >> segment_bits) & 7. They are emptied by TRUNCATE,
 * which is not for older snapshots: every statement that reads rows has a snapshot of
 * its own.
 */
#include "outbox/log/log.h"
#include "db/query.h"
#include "outbox/postgres/append.h"
#include "outbox/postgres/cut.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/identity.h"
#include "outbox/postgres/lag.h"
#include "outbox/postgres/read.h"
#include "outbox/postgres/sweep.h"

/* By primary key. The newest cut by the index on no, backwards. */
static const struct weir_sql SQL_START = {
    .name = "start",
    .text = "SELECT q.removed_cut, q.removed_id,"
            " (SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1)"
            " FROM {p}_queue q WHERE q.id = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_NEWEST = {
    .name = "newest cut",
    .text = "SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1",
};

/*
 * Not transactional and without dead rows. A reader that has announced that it watches
 * takes back only its own announcement, and another watching reader repeats its own soon.
 */
static const struct weir_sql SQL_WATCH = {
    .name = "watch",
    .text = "SELECT setval('{q}_asleep', {now})",
};
static const struct weir_sql SQL_SLEEP = {
    .name = "sleep",
    .text = "SELECT setval('{q}_asleep', 2)",
};

static enum weir_status pg_advance(const struct weir_outbox_log *self,
                                   struct weir_connection *connection,
                                   struct weir_log_position known, bool may_cut,
                                   const char *channel, struct weir_log_position *head,
                                   bool *moved, struct weir_error *error)
{
    int64_t newest = 0;
    enum weir_status status =
        may_cut
            ? weir_pg_cut_catch_up(connection, self->cut_pace, channel, &newest, error)
            : weir_connection_query_integer(connection, &SQL_NEWEST, NO_VALUES, &newest,
                                            error);

    *head = (struct weir_log_position){.cut = newest};
    *moved = status == WEIR_OK && weir_log_position_before(known, *head);
    return status;
}

static enum weir_status pg_say_watching(const struct weir_outbox_log *self,
                                        struct weir_connection *connection, bool watching,
                                        struct weir_error *error)
{
    (void)self;
    return weir_connection_execute(connection, watching ? &SQL_WATCH : &SQL_SLEEP,
                                   NO_VALUES, NULL, error);
}

struct start_row {
    struct weir_log_position start;
    int64_t newest_cut;
};

static const struct weir_column START[] = {
    COLUMN(struct start_row, start.cut, INTEGER),
    COLUMN(struct start_row, start.id, INTEGER),
    COLUMN(struct start_row, newest_cut, INTEGER),
};

/*
 * "Now" is behind the newest cut there is: no cut may be made in this transaction.
 * A caller that needs it to be behind what is committed calls advance() before
 * the transaction begins.
 */
static enum weir_status pg_start(const struct weir_outbox_log *self,
                                 struct weir_connection *connection, int64_t queue_id,
                                 bool now, struct weir_log_position *out,
                                 struct weir_error *error)
{
    struct start_row row;
    enum weir_status status = weir_query_one(
        connection, &SQL_START, VALUES(weir_integer(queue_id)), INTO(START, &row), error);

    (void)self;
    if (status == WEIR_NO_ROW)
        return weir_error_set(error, WEIR_NOT_FOUND, "start: there is no such queue");
    if (status == WEIR_OK)
        *out = now ? weir_log_position_later(
                         row.start, (struct weir_log_position){.cut = row.newest_cut})
                   : row.start;
    return status;
}

const struct weir_log_ops weir_log_postgresql = {
    .open = weir_pg_log_open,
    .check = weir_pg_log_check,
    .vet = weir_pg_log_vet,
    .append = weir_pg_append,
    .can_append_saved = weir_pg_can_append_saved,
    .append_saved = weir_pg_append_saved,
    .advance = pg_advance,
    .say_watching = pg_say_watching,
    .read = weir_pg_read,
    .start = pg_start,
    .lag = weir_pg_lag,
    .sweep = weir_pg_sweep,
};
