/*
 * lag.c - how much waits, on MariaDB.
 *
 * All rows of a statement come to us before the first can be looked at, and to send a
 * row takes longer than to count it. So the server counts, by ranges of ids in which no
 * position is; only where positions are close to each other rows are looked at here:
 *
 *   | counted there       | counted there | rows, looked at here |
 *   ^ position            ^ position      ^ ^^ ^ positions
 *
 * Ids of the log have no gaps when they are given, so a range has at most as many rows
 * as ids.
 *
 * What is committed and not moved yet waits for every subscription.
 */
#include "db/query.h"
#include "outbox/log/lag_by_id.h"
#include "outbox/mariadb/log.h"
#include "weir/inspect.h"

enum {
    FETCHED_ROWS = 5000, /* at once; some milliseconds, and little memory */
    RANGE_IDS = 20000    /* at first; more where few of them are left */
};

/* Primary key. */
static const struct weir_sql SQL_ENDS = {
    .name = "lag ends",
    .text = "SELECT (SELECT value FROM {p}_counter WHERE name = 'swept'),"
            " (SELECT max(id) FROM {p}_log)",
};

/* By primary key. */
static const struct weir_sql SQL_FRONT = {
    .name = "lag front",
    .text = "SELECT id, pid, created_us FROM {p}_log WHERE id > {1}"
            " ORDER BY id LIMIT {2}",
    .parameters = "ii",
};

/* A range of the primary key. Other queues count together, as partition -1. */
#define GROUPS                                                                           \
    "SELECT CASE WHEN pid BETWEEN {1} * 64 AND {1} * 64 + 63 THEN pid ELSE -1 END,"      \
    " count(*), min(created_us), min(id), max(id)"
static const struct weir_sql SQL_RANGE = {
    .name = "lag range",
    .text = GROUPS " FROM {p}_log WHERE id > {2} AND id <= {3} GROUP BY 1",
    .parameters = "iii",
};

/* Era by era, each by primary key: what is left in the index of eras that are over is
 * not stepped over. */
static const struct weir_sql SQL_INCOMING = {
    .name = "lag incoming",
    .text = GROUPS " FROM (SELECT i.pid, i.created_us, i.id FROM {p}_era e"
                   " STRAIGHT_JOIN {p}_incoming i FORCE INDEX (PRIMARY)"
                   " ON i.era = e.no LIMIT {2}) some"
                   " GROUP BY 1",
    .parameters = "ii",
};

/* Primary key, backwards. */
static const struct weir_sql SQL_INCOMING_LAST = {
    .name = "lag incoming last",
    .text = "SELECT id FROM {p}_incoming ORDER BY era DESC, id DESC LIMIT 1",
};

/* A row of GROUPS. */
struct group_columns {
    struct weir_lag_group group; /* its id: of the last row */
    int64_t first_id;
};
static const struct weir_column GROUP[] = {
    COLUMN(struct group_columns, group.pid, INTEGER),
    COLUMN(struct group_columns, group.rows, INTEGER),
    COLUMN(struct group_columns, group.oldest_us, INTEGER),
    COLUMN(struct group_columns, first_id, INTEGER),
    COLUMN(struct group_columns, group.id, INTEGER),
};

/* The stretch grows by it. */
static enum weir_status read_group(struct weir_rows *rows,
                                   struct weir_lag_stretch *stretch,
                                   struct weir_lag_group *out, struct weir_error *error)
{
    struct group_columns row;
    enum weir_status status = weir_row_read(rows, COLUMNS(GROUP), &row, error);

    if (status != WEIR_OK)
        return status;
    *out = row.group;
    weir_lag_stretch_grow(stretch, row.first_id, out->id, out->rows);
    return WEIR_OK;
}

/* ---- the log ----------------------------------------------------------------------- */

/* Along the log. */
struct walk {
    struct weir_lag_tally *tally;
    struct weir_connection *connection;
    struct weir_lag_stretch *seen;
    int64_t after_id; /* behind which it goes on */
    int64_t last_id;  /* of the log */
    int64_t ids;      /* of a range */
};

static enum weir_status begin_walk(struct walk *self, struct weir_error *error)
{
    struct ends {
        int64_t swept_id;
        int64_t last_id;
    } ends;
    static const struct weir_column ENDS[] = {
        COLUMN(struct ends, swept_id, INTEGER),
        COLUMN(struct ends, last_id, INTEGER),
    };
    enum weir_status status =
        weir_query_one(self->connection, &SQL_ENDS, NO_VALUES, INTO(ENDS, &ends), error);

    if (status != WEIR_OK)
        return status;
    if (self->after_id < ends.swept_id)
        self->after_id = ends.swept_id;
    self->last_id = ends.last_id;
    return WEIR_OK;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Up to the next position, or the end. */
static int64_t next_stop(const struct walk *self)
{
    int64_t next = self->last_id;

    for (size_t i = 0; i < self->tally->count; i++) {
        int64_t id = self->tally->entries[i].log_position_id;

        if (id > self->after_id && id < next)
            next = id;
    }
    return next;
}

static enum weir_status walk_rows(struct walk *self, int64_t row_max,
                                  struct weir_error *error)
{
    int64_t before = self->seen->rows;
    enum weir_status status =
        weir_lag_count_rows(self->tally, self->connection, &SQL_FRONT, WEIR_LAG_FRONT,
                            self->after_id, row_max, self->seen, error);

    /* None: they are gone since, in a transaction that is not ours and sees that. */
    self->after_id = self->seen->rows > before ? self->seen->last_id : self->last_id;
    return status;
}

static enum weir_status walk_range(struct walk *self, int64_t size,
                                   struct weir_error *error)
{
    int64_t before = self->seen->rows;
    int64_t to_id = self->after_id + size;
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(self->connection, &SQL_RANGE,
                              VALUES(weir_integer(self->tally->question.queue_id),
                                     weir_integer(self->after_id), weir_integer(to_id)),
                              &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_lag_group group;

        status = read_group(&rows, self->seen, &group, error);
        if (status == WEIR_OK)
            weir_lag_add(self->tally, &group, WEIR_LAG_FRONT);
    }
    weir_rows_close(&rows);
    self->after_id = to_id;
    if (self->seen->rows - before < size / 4)
        self->ids *= 2;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static bool may_go_on(const struct walk *self)
{
    return self->after_id < self->last_id &&
           self->seen->rows < self->tally->question.look_max &&
           !weir_lag_is_enough(self->tally, self->seen->rows);
}

static enum weir_status count_front(struct weir_lag_tally *tally,
                                    struct weir_connection *connection, int64_t after_id,
                                    struct weir_lag_stretch *out,
                                    struct weir_error *error)
{
    struct walk self = {
        .tally = tally,
        .connection = connection,
        .seen = out,
        .after_id = after_id,
        .ids = RANGE_IDS,
    };
    enum weir_status status = begin_walk(&self, error);

    while (status == WEIR_OK && may_go_on(&self)) {
        int64_t size = next_stop(&self) - self.after_id;
        int64_t left = tally->question.look_max - out->rows;

        status = size <= FETCHED_ROWS
                     ? walk_rows(&self, lesser(left, FETCHED_ROWS), error)
                     : walk_range(&self, lesser(lesser(size, self.ids), left), error);
    }
    return status;
}

/* ---- what has no place yet --------------------------------------------------------- */

struct incoming {
    struct weir_lag_group groups[WEIR_PARTITIONS_MAX + 1];
    size_t count;
    struct weir_lag_stretch stretch; /* all of them */
};

static enum weir_status read_incoming(struct weir_connection *connection,
                                      int64_t queue_id, int64_t row_max,
                                      struct incoming *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_INCOMING, VALUES(weir_integer(queue_id), weir_integer(row_max)),
        &rows, error);

    *out = (struct incoming){.count = 0};
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = read_group(&rows, &out->stretch, &out->groups[out->count++], error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static int64_t rows_of_queue(const struct incoming *incoming)
{
    int64_t rows = 0;

    for (size_t i = 0; i < incoming->count; i++)
        rows += incoming->groups[i].pid >= 0 ? incoming->groups[i].rows : 0;
    return rows;
}

/* As many as are counted exactly; more if they are mostly of others. *all: there are no
 * more. */
static enum weir_status look_at_incoming(struct weir_connection *connection,
                                         const struct weir_lag_question *question,
                                         struct incoming *out, bool *all,
                                         struct weir_error *error)
{
    int64_t row_most = question->look_us > 0 ? question->look_sure : question->look_max;
    int64_t row_max = lesser(question->look_max, WEIR_LAG_EXACT_MAX + 1);
    enum weir_status status =
        read_incoming(connection, question->queue_id, row_max, out, error);

    if (status == WEIR_OK && out->stretch.rows == row_max && row_max < row_most &&
        rows_of_queue(out) < row_max) {
        row_max = row_most;
        status = read_incoming(connection, question->queue_id, row_max, out, error);
    }
    *all = out->stretch.rows < row_max;
    return status;
}

/* As if it went on as far as the last id like that. */
static void estimate_incoming(struct weir_lag_tally *tally, struct incoming *incoming,
                              int64_t last_id)
{
    const struct weir_lag_stretch *stretch = &incoming->stretch;

    if (last_id <= stretch->last_id)
        return;
    for (size_t i = 0; i < incoming->count; i++) {
        struct weir_lag_group *group = &incoming->groups[i];

        group->rows = weir_lag_extrapolate(group->rows, stretch->first_id - 1,
                                           stretch->last_id, last_id);
    }
    for (size_t i = 0; i < tally->count; i++)
        tally->entries[i].lag.estimate = true;
}

static enum weir_status count_incoming(struct weir_lag_tally *tally,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct incoming incoming;
    int64_t last_id = 0;
    bool all = true;
    enum weir_status status =
        look_at_incoming(connection, &tally->question, &incoming, &all, error);

    if (status == WEIR_OK && !all)
        status = weir_connection_query_integer(connection, &SQL_INCOMING_LAST, NO_VALUES,
                                               &last_id, error);
    if (status != WEIR_OK)
        return status;
    estimate_incoming(tally, &incoming, last_id);
    for (size_t i = 0; i < incoming.count; i++)
        weir_lag_add(tally, &incoming.groups[i], WEIR_LAG_INCOMING);
    return WEIR_OK;
}

/* ---- all of it --------------------------------------------------------------------- */

static const struct weir_lag_means MEANS = {
    .count_front = count_front,
    .count_incoming = count_incoming,
};

enum weir_status weir_log_maria_lag(const struct weir_outbox_log *self,
                                    struct weir_connection *connection,
                                    const struct weir_lag_question *question,
                                    weir_lag_fn visit, void *state,
                                    struct weir_error *error)
{
    (void)self;
    return weir_lag_by_id(&MEANS, connection, question, visit, state, error);
}
