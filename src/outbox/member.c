/*
 * member.c - see member.h.
 *
 * The leases of a subscription are at most 64 rows, so they are read by holder and the sums are
 * made here: the same on all engines.
 */
#include "outbox/member.h"

#include "base/heap.h"
#include "outbox/columns.h"
#include "outbox/lease.h"
#include "outbox/once.h"

/* Ten minutes: long after everybody has taken its partitions over. Microseconds. */
#define LONG_DEAD "600000000"

#define BEAT                                                                             \
    "INSERT INTO {p}_member (process, subscription, name, until_us, started_us)"         \
    " SELECT {2}, id, {3}, {now} + {4}, {now} FROM {p}_subscription WHERE id "
#define BEAT_AGAIN                                                                       \
    " ON CONFLICT (subscription, process) DO UPDATE"                                     \
    " SET until_us = excluded.until_us, name = excluded.name"

/* Rows of our own only. A subscription that is gone gets none. Repeating is harmless. */
static const struct weir_sql SQL_BEAT[] = {
    [WEIR_SQLITE] = {.name = "beat",
                     .text = BEAT "= {1}" BEAT_AGAIN,
                     .parameters = "iiti"},
    [WEIR_POSTGRESQL] = {.name = "beat",
                         .text = BEAT "= ANY ({1})" BEAT_AGAIN,
                         .parameters = "Iiti"},
};

/* The table is small: a few rows per process. Whoever beats again at this moment is left alone,
 * so nobody waits for anybody. */
static const struct weir_sql SQL_BURY[] = {
    [WEIR_SQLITE] = {.name = "bury members",
                     .text =
                         "DELETE FROM {p}_member WHERE until_us < {now} - " LONG_DEAD},
    [WEIR_POSTGRESQL] = {.name = "bury members",
                         .text = "DELETE FROM {p}_member WHERE (subscription, process) IN"
                                 " (SELECT subscription, process FROM {p}_member"
                                 " WHERE until_us < {now} - " LONG_DEAD
                                 " FOR UPDATE SKIP LOCKED)"},
};

#define STATE                                                                            \
    "SELECT s.id, q.paused, (SELECT count(*) FROM {p}_member m"                          \
    " WHERE m.subscription = s.id AND m.until_us > {now})"                               \
    " FROM {p}_subscription s JOIN {p}_queue q ON q.id = s.queue WHERE s.id "

/* By primary keys. */
static const struct weir_sql SQL_STATE[] = {
    [WEIR_SQLITE] = {.name = "read members", .text = STATE "= {1}", .parameters = "i"},
    [WEIR_POSTGRESQL] = {.name = "read members",
                         .text = STATE "= ANY ({1})",
                         .parameters = "I"},
};

#define HELD(incarnation, which)                                                         \
    "SELECT subscription, holder, count(*), min(until_us) - {now} FROM"                  \
    " (SELECT subscription, until_us, CASE WHEN until_us > {now}"                        \
    " AND incarnation = " incarnation " THEN owner END AS holder"                        \
    " FROM {p}_lease WHERE subscription " which ") l GROUP BY subscription, holder"

/* By the primary key. The holder is null when the lease may be taken. */
static const struct weir_sql SQL_HELD[] = {
    [WEIR_SQLITE] = {.name = "read leases",
                     .text = HELD(WEIR_INCARNATION_SQLITE, "= {1}"),
                     .parameters = "i"},
    [WEIR_POSTGRESQL] = {.name = "read leases",
                         .text = HELD("(SELECT " WEIR_INCARNATION_PG ")", "= ANY ({1})"),
                         .parameters = "I"},
};

static const struct weir_sql SQL_LEAVE = {
    .name = "leave",
    .text = "DELETE FROM {p}_member WHERE process = {1}",
    .parameters = "i",
};

struct beat {
    int64_t owner;
    const char *name;
    int64_t duration_us;
    struct weir_share *shares;
    size_t count;
    const struct weir_value
        *subscriptions; /* one for each call: an array, or one number */
    size_t call_count;
    enum weir_engine engine;
};

typedef void (*share_row_fn)(struct beat *self, struct weir_share *share,
                             struct weir_rows *rows);

/* ---- rows --------------------------------------------------------------------------------- */

static struct weir_share *find_share(struct beat *self, int64_t subscription)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->shares[i].subscription == subscription)
            return &self->shares[i];
    }
    return NULL;
}

static void take_state(struct beat *self, struct weir_share *share,
                       struct weir_rows *rows)
{
    uint32_t partitions = share->partitions > 0 ? (uint32_t)share->partitions : 0;
    int64_t members = weir_rows_integer(rows, 2);

    (void)self;
    share->removed = false;
    share->paused = weir_rows_boolean(rows, 1);
    share->members = members > 1 ? (uint32_t)members : 1;
    share->share = (partitions + share->members - 1) / share->members;
}

static void take_held(struct beat *self, struct weir_share *share, struct weir_rows *rows)
{
    uint32_t held = (uint32_t)weir_rows_integer(rows, 2);
    int64_t left_us = weir_rows_integer(rows, 3);

    if (weir_rows_is_null(rows, 1)) {
        share->free += held;
        return;
    }
    if (weir_rows_integer(rows, 1) == self->owner)
        return;
    if (held > share->share)
        share->surplus += held - share->share;
    left_us = left_us > 0 ? left_us : 0; /* it ran out while we looked */
    if (share->next_free_us < 0 || left_us < share->next_free_us)
        share->next_free_us = left_us;
}

static enum weir_status read_rows(struct beat *self, struct weir_connection *connection,
                                  const struct weir_sql *sql, share_row_fn take,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->call_count && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status = weir_connection_query(connection, sql, &self->subscriptions[i], 1, &rows,
                                       error);
        while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
            struct weir_share *share = find_share(self, weir_rows_integer(&rows, 0));

            if (share != NULL)
                take(self, share, &rows);
        }
        weir_rows_close(&rows);
        status = status == WEIR_NO_ROW ? WEIR_OK : status;
    }
    return status;
}

/* ---- the beat ----------------------------------------------------------------------------- */

static void clear_shares(struct beat *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct weir_share *share = &self->shares[i];

        *share = (struct weir_share){.subscription = share->subscription,
                                     .partitions = share->partitions,
                                     .next_free_us = -1,
                                     .removed = true}; /* until it is found */
    }
}

static enum weir_status beat(struct weir_connection *connection, void *argument,
                             struct weir_error *error)
{
    struct beat *self = argument;
    enum weir_status status = WEIR_OK;

    clear_shares(self);
    for (size_t i = 0; i < self->call_count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, &SQL_BEAT[self->engine],
            VALUES(self->subscriptions[i], weir_integer(self->owner),
                   weir_text(weir_str(self->name)), weir_integer(self->duration_us)),
            NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_BURY[self->engine], NO_VALUES,
                                         NULL, error);
    if (status == WEIR_OK)
        status = read_rows(self, connection, &SQL_STATE[self->engine], take_state, error);
    if (status == WEIR_OK)
        status = read_rows(self, connection, &SQL_HELD[self->engine], take_held, error);
    return status;
}

enum weir_status weir_member_beat(struct weir_connection *connection, int64_t owner,
                                  const char *name, int64_t duration_us,
                                  struct weir_share *shares, size_t count,
                                  struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_columns list;
    struct weir_value all;
    struct beat self = {
        .owner = owner,
        .name = name,
        .duration_us = duration_us,
        .shares = shares,
        .count = count,
        .engine = weir_connection_link(connection)->driver->engine,
    };
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = weir_columns_init(&list, heap, 1, count, error);
    if (status == WEIR_OK) {
        for (size_t i = 0; i < count; i++)
            weir_columns_set(&list, 0, i, weir_integer(shares[i].subscription));
        all = weir_columns_array(&list, 0, WEIR_TYPE_INTEGER, 0, count);
        self.subscriptions = self.engine == WEIR_SQLITE ? list.cells : &all;
        self.call_count = self.engine == WEIR_SQLITE ? count : 1;
        status = weir_once(connection, beat, &self, error);
    }
    weir_columns_fini(&list);
    return status;
}

enum weir_status weir_member_leave(struct weir_connection *connection, int64_t owner,
                                   struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_LEAVE, VALUES(weir_integer(owner)),
                                   NULL, error);
}
