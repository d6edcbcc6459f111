/*
 * lag.c - how much waits, on SQLite: rows are as near as memory, and each is looked at
 * here.
 */
#include "outbox/log/lag_by_id.h"
#include "outbox/sqlite/log.h"

/* By primary key. */
static const struct weir_sql SQL_FRONT = {
    .name = "lag front",
    .text = "SELECT id, pid, created_us FROM {p}_log WHERE id > {1}"
            " ORDER BY id LIMIT {2}",
    .parameters = "ii",
};

static enum weir_status count_front(struct weir_lag_tally *tally,
                                    struct weir_connection *connection, int64_t after_id,
                                    struct weir_lag_stretch *out,
                                    struct weir_error *error)
{
    return weir_lag_count_rows(tally, connection, &SQL_FRONT, WEIR_LAG_FRONT, after_id,
                               tally->question.look_max, out, error);
}

static const struct weir_lag_means MEANS = {.count_front = count_front};

enum weir_status weir_log_sqlite_lag(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     const struct weir_lag_question *question,
                                     weir_lag_fn visit, void *state,
                                     struct weir_error *error)
{
    (void)self;
    return weir_lag_by_id(&MEANS, connection, question, visit, state, error);
}
