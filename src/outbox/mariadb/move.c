/*
 * move.c - from incoming into the log: see mariadb/log.h, M1 to M6.
 *
 * Most ids that are picked follow each other, since a call of a producer takes them in
 * a row. Such a *run* is moved by its range; what is scattered goes in one list for
 * all, and so do runs once they have taken too long.
 */
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/query.h"
#include "outbox/mariadb/log.h"

#include "base/buf.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/text.h"
#include "db/clock.h"
#include "db/transact.h"
#include "weir/time.h"

enum {
    RUN_ROWS_MIN = 12, /* two round trips cost as much as so many rows of a list */
    RUNS_MS_MAX = 20, /* of one move: then round trips are slow, and others wait for it */
    ERA_ROWS_SMALL = 10, /* of a test */
    ERA_ROWS = 10000,    /* dead rows that a pick may have to step over, per era */
    ERAS_MAX = 8,        /* at once; SQL_PICK has as many branches */
    LIST_SIZE_MAX = 1024 * 1024,
};

/* By primary keys: eras that are over are not stepped over. A reader that sees something
 * waiting may see it moved a moment later. */
static const struct weir_sql SQL_PROBE = {
    .name = "probe",
    .text = "SELECT (SELECT value FROM {p}_counter WHERE name = 'head'),"
            " (SELECT value FROM {p}_counter WHERE name = 'published'),"
            " EXISTS (SELECT 1 FROM {p}_era e STRAIGHT_JOIN {p}_incoming i"
            " FORCE INDEX (PRIMARY) ON i.era = e.no)",
};

static const struct weir_sql SQL_LOCK_HEAD = {
    .name = "lock head",
    .text = "SELECT value FROM {p}_counter WHERE name = 'head' FOR UPDATE",
};

/* Under the lock of the head new ones cannot come; old ones may go, and then nothing is
 * in them. And a number that is larger than all that were taken before (M2). */
static const struct weir_sql SQL_ERAS = {
    .name = "read eras",
    .text = "SELECT no, (SELECT value FROM {p}_counter WHERE name = 'rotated'),"
            " NEXT VALUE FOR {p}_incoming_id FROM {p}_era ORDER BY no LIMIT 9",
};

/* By the primary key, era by era, in one read view (M2). With a bound for the id it
 * would be a range, and the server looks for the end of a range only at rows that are
 * not dead: it would walk over those of all eras that are over. */
#define OF_ERA(era)                                                                      \
    "(SELECT era, id FROM {p}_incoming WHERE era = " era " ORDER BY id LIMIT {9})"
#define AND_OF_ERA(era) " UNION ALL " OF_ERA(era)
static const struct weir_sql SQL_PICK = {
    .name = "pick",
    .text = OF_ERA("{1}") AND_OF_ERA("{2}") AND_OF_ERA("{3}") AND_OF_ERA("{4}")
        AND_OF_ERA("{5}") AND_OF_ERA("{6}") AND_OF_ERA("{7}")
            AND_OF_ERA("{8}") " ORDER BY id LIMIT {9}",
    .parameters = "iiiiiiiii",
};

#define MOVED(log_position)                                                              \
    "INSERT INTO {p}_log (id, source_id, pid, created_us, uid, message_key, type,"       \
    " headers, payload) SELECT " log_position ", i.id, i.pid, i.created_us, i.uid,"      \
    " i.message_key, i.type, i.headers, i.payload"

/*
 * A range of the primary key, all of whose rows were picked. {4}: what makes a place of
 * an id. {5}: their number. With it the scan stops at the last of them. Without it the
 * server looks for the end of the range, and walks over dead rows behind it: those of
 * eras that are over, all of them if an old read view is open.
 */
static const struct weir_sql SQL_MOVE_RUN = {
    .name = "move run",
    .text = MOVED("i.id + {4}") " FROM {p}_incoming i FORCE INDEX (PRIMARY)"
                                " WHERE i.era = {1} AND i.id BETWEEN {2} AND {3}"
                                " ORDER BY i.id LIMIT {5}",
    .parameters = "iiiii",
};
/*
 * With their number, too, or it would go on to the row behind them, and wait for the
 * transaction that is inserting it.
 */
static const struct weir_sql SQL_DELETE_RUN = {
    .name = "delete run",
    .text = "DELETE FROM {p}_incoming WHERE era = {1} AND id BETWEEN {2} AND {3}"
            " ORDER BY id LIMIT {4}",
    .parameters = "iiii",
};

/* Each row of the list by the primary key, which is forced: a table that the server
 * takes for small it would read as a whole, and wait for the rows of transactions that
 * run. */
#define LISTED                                                                           \
    " FROM JSON_TABLE({1}, '$[*]' COLUMNS (place BIGINT PATH '$[0]',"                    \
    " era BIGINT PATH '$[1]', id BIGINT PATH '$[2]')) p"                                 \
    " STRAIGHT_JOIN {p}_incoming i FORCE INDEX (PRIMARY)"                                \
    " ON i.era = p.era AND i.id = p.id"
static const struct weir_sql SQL_MOVE_LIST = {
    .name = "move list",
    .text = MOVED("p.place") LISTED,
    .parameters = "t",
};
static const struct weir_sql SQL_DELETE_LIST = {
    .name = "delete list",
    .text = "DELETE i" LISTED,
    .parameters = "t",
};

static const struct weir_sql SQL_SET_HEAD = {
    .name = "set head",
    .text = "UPDATE {p}_counter SET value = {1} WHERE name = 'head'",
    .parameters = "i",
};

/* Once it has returned, everything that was seen before it is on disk (M6). */
static const struct weir_sql SQL_FLUSH = {
    .name = "flush",
    .text = "UPDATE {p}_counter SET value = value + 1 WHERE name = 'flushed'",
};

/* Never back. */
static const struct weir_sql SQL_PUBLISH = {
    .name = "publish",
    .text = "UPDATE {p}_counter SET value = {1} WHERE name = 'published' AND value < {1}",
    .parameters = "i",
};

/* ---- eras -------------------------------------------------------------------------- */

static const struct weir_sql SQL_ADD_ERA = {
    .name = "add era",
    .text = "INSERT INTO {p}_era VALUES ({1})",
    .parameters = "i",
};
static const struct weir_sql SQL_SET_ROTATED = {
    .name = "set rotated",
    .text = "UPDATE {p}_counter SET value = {1} WHERE name = 'rotated'",
    .parameters = "i",
};

/* What is no longer published to producers. */
static const struct weir_sql SQL_OLD_ERAS = {
    .name = "read old eras",
    .text = "SELECT no FROM {p}_era"
            " WHERE no < (SELECT next_not_cached_value FROM {p}_era_now)"
            " ORDER BY no LIMIT 8",
};
static const struct weir_sql SQL_LOCK_ERA = {
    .name = "lock era",
    .text = "SELECT no FROM {p}_era WHERE no = {1} FOR UPDATE NOWAIT",
    .parameters = "i",
};
static const struct weir_sql SQL_IS_LEFT = {
    .name = "look into era",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_incoming WHERE era = {1})",
    .parameters = "i",
};
static const struct weir_sql SQL_REMOVE_ERA = {
    .name = "remove era",
    .text = "DELETE FROM {p}_era WHERE no = {1}",
    .parameters = "i",
};

struct pick {
    int64_t era;
    int64_t id;
};

struct move {
    struct weir_fault_points *points; /* for tests; NULL: none */
    int64_t head;                     /* place of the last row of the log */
    int64_t rotated;                  /* the head when the newest era began */
    int64_t end;                      /* ids below it were taken before the pick */
    int64_t eras[ERAS_MAX];           /* ascending; 0: none */
    size_t era_count;
    bool due;           /* out: the newest era has had its rows */
    int64_t begun;      /* out: the era that was added; 0: none */
    struct pick *picks; /* owned; by id */
    size_t count;
    struct weir_buf list; /* of those that are scattered, as JSON */
    size_t listed;
};

/* ---- picking ----------------------------------------------------------------------- */

static enum weir_status lock_head(struct move *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    return weir_connection_query_integer(connection, &SQL_LOCK_HEAD, NO_VALUES,
                                         &self->head, error);
}

struct era_row {
    int64_t no;
    int64_t rotated;
    int64_t next; /* of the sequence of incoming */
};

static const struct weir_column ERA[] = {
    COLUMN(struct era_row, no, INTEGER),
    COLUMN(struct era_row, rotated, INTEGER),
    COLUMN(struct era_row, next, INTEGER),
};

static enum weir_status take_era(void *state, struct weir_rows *rows,
                                 struct weir_error *error)
{
    struct move *self = state;
    struct era_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(ERA), &row, error);

    if (status == WEIR_OK && self->era_count == ERAS_MAX)
        status =
            weir_error_set(error, WEIR_SCHEMA, "there are more than %d eras", ERAS_MAX);
    if (status != WEIR_OK)
        return status;
    self->rotated = row.rotated;
    self->end = row.next * WEIR_IDS_PER_NUMBER;
    self->eras[self->era_count++] = row.no;
    return WEIR_OK;
}

static enum weir_status read_eras(struct move *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    self->era_count = 0;
    for (size_t i = 0; i < ERAS_MAX; i++)
        self->eras[i] = 0;
    return weir_query_each(connection, &SQL_ERAS, NO_VALUES, take_era, self, error);
}

static const struct weir_column PICK[] = {
    COLUMN(struct pick, era, INTEGER),
    COLUMN(struct pick, id, INTEGER),
};

static enum weir_status take_pick(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct move *self = state;
    struct pick pick;
    enum weir_status status = weir_row_read(rows, COLUMNS(PICK), &pick, error);

    if (status == WEIR_OK && self->count < WEIR_MOVE_ROWS_MAX && pick.id < self->end)
        self->picks[self->count++] = pick;
    return status;
}

static enum weir_status pick(struct move *self, struct weir_connection *connection,
                             struct weir_error *error)
{
    struct weir_value values[ERAS_MAX + 1];

    for (size_t i = 0; i < ERAS_MAX; i++)
        values[i] = weir_integer(self->eras[i]);
    values[ERAS_MAX] = weir_integer(WEIR_MOVE_ROWS_MAX);
    self->count = 0;
    return weir_query_each(connection, &SQL_PICK, values, ERAS_MAX + 1, take_pick, self,
                           error);
}

/* ---- moving ------------------------------------------------------------------------ */

static int64_t log_position_of(const struct move *self, size_t index)
{
    return self->head + 1 + (int64_t)index;
}

/* Picks from `first` on whose ids follow each other. */
static size_t run_length(const struct move *self, size_t first)
{
    size_t end = first + 1;

    while (end < self->count && self->picks[end].era == self->picks[first].era &&
           self->picks[end].id == self->picks[end - 1].id + 1)
        end++;
    return end - first;
}

static void list_picks(struct move *self, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++, self->listed++)
        weir_buf_append_format(
            &self->list, "%s[%lld,%lld,%lld]", self->listed > 0 ? "," : "",
            (long long)log_position_of(self, i), (long long)self->picks[i].era,
            (long long)self->picks[i].id);
}

/* One of our statements, which must change so many rows. */
static enum weir_status change(struct weir_connection *connection,
                               const struct weir_sql *sql,
                               const struct weir_value *values, size_t value_count,
                               size_t expected, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status =
        weir_connection_execute(connection, sql, values, value_count, &changed, error);

    if (status == WEIR_OK && changed != (int64_t)expected)
        status = weir_error_set(error, WEIR_CONFLICT, "%s: %lld %s, must be %zu",
                                sql->name, (long long)changed,
                                WEIR_NOUN(changed, "row", "rows"), expected);
    return status;
}

static enum weir_status move_run(const struct move *self,
                                 struct weir_connection *connection, size_t first,
                                 size_t count, struct weir_error *error)
{
    struct weir_value era = weir_integer(self->picks[first].era);
    struct weir_value from = weir_integer(self->picks[first].id);
    struct weir_value to = weir_integer(self->picks[first + count - 1].id);
    struct weir_value shift =
        weir_integer(log_position_of(self, first) - self->picks[first].id);
    struct weir_value rows = weir_integer((int64_t)count);
    enum weir_status status = change(connection, &SQL_MOVE_RUN,
                                     VALUES(era, from, to, shift, rows), count, error);

    if (status == WEIR_OK)
        status = change(connection, &SQL_DELETE_RUN, VALUES(era, from, to, rows), count,
                        error);
    return status;
}

static enum weir_status move_list(struct move *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    struct weir_value list;
    enum weir_status status;

    if (self->listed == 0)
        return WEIR_OK;
    weir_buf_append_text(&self->list, "]");
    status = weir_buf_status(&self->list);
    if (status != WEIR_OK)
        return weir_error_set(error, status, "move: %s", weir_status_text(status));
    list = weir_text(weir_buf_get(&self->list));
    status = change(connection, &SQL_MOVE_LIST, &list, 1, self->listed, error);
    if (status == WEIR_OK)
        status = change(connection, &SQL_DELETE_LIST, &list, 1, self->listed, error);
    return status;
}

static enum weir_status move_picks(struct move *self, struct weir_connection *connection,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    int64_t end_ns = weir_clock_now_ns() + WEIR_MILLISECONDS(RUNS_MS_MAX);
    size_t length;

    weir_buf_reset(&self->list);
    weir_buf_append_text(&self->list, "[");
    self->listed = 0;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i += length) {
        length = run_length(self, i);
        if (length >= RUN_ROWS_MIN && weir_clock_now_ns() < end_ns)
            status = move_run(self, connection, i, length, error);
        else
            list_picks(self, i, length);
    }
    if (status == WEIR_OK)
        status = move_list(self, connection, error);
    return status;
}

/* The next era, when this one has had its rows and there is room. */
static enum weir_status rotate(struct move *self, struct weir_connection *connection,
                               struct weir_error *error)
{
    int64_t rows = WEIR_POINT(self->points, "move.small_era") ? ERA_ROWS_SMALL : ERA_ROWS;
    int64_t next;
    enum weir_status status;

    self->due = self->head - self->rotated >= rows;
    if (!self->due || self->era_count == ERAS_MAX || self->era_count == 0)
        return WEIR_OK;
    next = self->eras[self->era_count - 1] + 1;
    status = weir_connection_execute(connection, &SQL_ADD_ERA, VALUES(weir_integer(next)),
                                     NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_SET_ROTATED,
                                         VALUES(weir_integer(self->head)), NULL, error);
    if (status == WEIR_OK)
        self->begun = next;
    return status;
}

static enum weir_status move_some(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct move *self = argument;
    enum weir_status status = lock_head(self, connection, error);

    self->due = false;
    self->begun = 0;
    if (status == WEIR_OK)
        status = read_eras(self, connection, error);
    (void)WEIR_POINT(self->points, "move.pick");
    if (status == WEIR_OK)
        status = pick(self, connection, error);
    if (status != WEIR_OK || self->count == 0)
        return status;
    status = move_picks(self, connection, error);
    if (status != WEIR_OK)
        return status;
    self->head += (int64_t)self->count;
    status = weir_connection_execute(connection, &SQL_SET_HEAD,
                                     VALUES(weir_integer(self->head)), NULL, error);
    return status == WEIR_OK ? rotate(self, connection, error) : status;
}

/* ---- the end of an era ------------------------------------------------------------- */

/* M5. A transaction that is still in it has it locked: another time. */
static enum weir_status end_era(struct weir_connection *connection, int64_t era,
                                struct weir_error *error)
{
    int64_t left = 1;
    int64_t found = 0;
    struct weir_value number = weir_integer(era);
    enum weir_status status = weir_connection_begin_own(connection, error);

    if (status != WEIR_OK)
        return status;
    status = weir_connection_query_integer(connection, &SQL_LOCK_ERA, &number, 1, &found,
                                           error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_IS_LEFT, &number, 1,
                                               &left, error);
    if (status == WEIR_OK && left == 0)
        status =
            weir_connection_execute(connection, &SQL_REMOVE_ERA, &number, 1, NULL, error);
    if (status == WEIR_OK)
        return weir_connection_commit(connection, error);
    weir_connection_rollback(connection);
    return status == WEIR_LOCKED || status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* Never back, also for a late caller. The sequence shows the number behind the one it is
 * given. */
static enum weir_status tell_producers(struct weir_connection *connection, int64_t era,
                                       struct weir_error *error)
{
    char text[80];

    (void)weir_text_format(text, sizeof text, "SELECT SETVAL({p}_era_now, %lld)",
                           (long long)(era - 1));
    return weir_connection_execute_text(connection, text, error);
}

/* See which of the old ones may go, also when a new one has no room for want of that. */
static enum weir_status end_eras(struct weir_connection *connection,
                                 struct weir_error *error)
{
    int64_t eras[ERAS_MAX];
    size_t count = 0;
    enum weir_status status = weir_query_integers(connection, &SQL_OLD_ERAS, NO_VALUES,
                                                  eras, ERAS_MAX, &count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = end_era(connection, eras[i], error);
    return status;
}

/* ---- a step ------------------------------------------------------------------------ */

/* What is readable, and what there is to do about it. */
struct outlook {
    int64_t head;
    int64_t published;
    bool waits; /* something is in incoming */
};

static const struct weir_column OUTLOOK[] = {
    COLUMN(struct outlook, head, INTEGER),
    COLUMN(struct outlook, published, INTEGER),
    COLUMN(struct outlook, waits, FLAG),
};

static enum weir_status probe(struct weir_connection *connection, struct outlook *out,
                              struct weir_error *error)
{
    return weir_query_one(connection, &SQL_PROBE, NO_VALUES, INTO(OUTLOOK, out), error);
}

/* M6. A transaction of ours that has written, and whose commit has returned, was the
 * flush. */
static enum weir_status publish(struct weir_connection *connection, int64_t head,
                                bool flushed, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (!flushed)
        status = weir_connection_execute(connection, &SQL_FLUSH, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_PUBLISH,
                                         VALUES(weir_integer(head)), NULL, error);
    return status;
}

static enum weir_status move_and_publish(struct move *self,
                                         struct weir_connection *connection,
                                         struct weir_error *error)
{
    enum weir_status status = weir_transact_on(connection, move_some, self, error);

    (void)WEIR_POINT(self->points, "move.moved");
    if (status == WEIR_OK)
        status = publish(connection, self->head, self->count > 0, error);
    if (status == WEIR_OK && self->begun != 0)
        status = tell_producers(connection, self->begun, error);
    if (status == WEIR_OK && self->due)
        status = end_eras(connection, error);
    return status;
}

static enum weir_status move_once(const struct weir_outbox_log *log,
                                  struct weir_connection *connection, int64_t *head,
                                  struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct move move = {.points = log->points};
    enum weir_status status;

    move.picks = weir_heap_alloc(heap, WEIR_MOVE_ROWS_MAX * sizeof *move.picks);
    if (move.picks == NULL)
        return weir_no_memory(error, "move");
    weir_buf_init(&move.list, heap, LIST_SIZE_MAX);
    status = move_and_publish(&move, connection, error);
    if (status == WEIR_OK)
        *head = move.head;
    weir_buf_fini(&move.list);
    weir_heap_free(heap, move.picks);
    return status;
}

/* Move what waits; or publish what another process has moved that is about to publish it,
 * or has died. */
static enum weir_status step(const struct weir_outbox_log *log,
                             struct weir_connection *connection,
                             const struct outlook *outlook, int64_t *head,
                             struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (outlook->waits)
        return move_once(log, connection, head, error);
    if (outlook->head > outlook->published)
        status = publish(connection, outlook->head, false, error);
    *head = outlook->head;
    return status;
}

enum weir_status weir_log_maria_advance(const struct weir_outbox_log *self,
                                        struct weir_connection *connection,
                                        struct weir_log_position known, bool may_cut,
                                        const char *channel,
                                        struct weir_log_position *head, bool *moved,
                                        struct weir_error *error)
{
    struct outlook outlook = {0};
    enum weir_status status = probe(connection, &outlook, error);

    (void)channel;
    *head = (struct weir_log_position){0, outlook.published};
    if (status == WEIR_OK && may_cut)
        status = step(self, connection, &outlook, &head->id, error);
    *moved = status == WEIR_OK && weir_log_position_before(known, *head);
    return status;
}
