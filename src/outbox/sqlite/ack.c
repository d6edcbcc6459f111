/*
 * ack.c - moving positions on SQLite: one after the other. The transaction is the lock,
 * and a statement costs no round trip.
 */
#include "base/fault_point.h"
#include "outbox/delivery/ack_move.h"
#include "outbox/transact_once.h"

/* By both primary keys. Repeating is refused: the version has moved. */
static const struct weir_sql SQL_MOVE = {
    .name = "move position",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, cut = {5}, last_id = {6},"
            " seq = {7}, attempts = {8}, alone = {9}, retry_us = {10}, error = {11},"
            " trying = 0, incarnation = " WEIR_INCARNATION_PLAIN
            " WHERE subscription = {1} AND pid = {2} AND version = {4} - 1"
            " AND EXISTS (SELECT 1 FROM {p}_lease WHERE subscription = {1}"
            " AND pid = {2} AND owner = {12} AND epoch = {3} AND until_us > {now}"
            " AND incarnation = " WEIR_INCARNATION_PLAIN ")",
    .parameters = "iiiiiiiiiiti",
};

/* Bugs, for tests that must find them: an ack of whoever held the lease once; one that
 * is not the next; one that moves the place and not the number. */
static const struct weir_sql SQL_MOVE_WRONGLY = {
    .name = "move position wrongly",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, cut = {5}, last_id = {6},"
            " seq = CASE {15} WHEN 1 THEN seq ELSE {7} END, attempts = {8},"
            " alone = {9}, retry_us = {10}, error = {11}, trying = 0, incarnation "
            "= " WEIR_INCARNATION_PLAIN " WHERE subscription = {1} AND pid = {2}"
            " AND ({14} = 1 OR version = {4} - 1)"
            " AND EXISTS (SELECT 1 FROM {p}_lease WHERE subscription = {1}"
            " AND pid = {2} AND ({13} = 1 OR (owner = {12} AND epoch = {3}"
            " AND until_us > {now})))",
    .parameters = "iiiiiiiiiitiiii",
};

/* The same, of the version alone. */
static const struct weir_sql SQL_MARK = {
    .name = "mark position",
    .text = "UPDATE {p}_ack SET epoch = {3}, version = {4}, attempts = {5}, alone = {6},"
            " error = CASE {7} WHEN '' THEN error ELSE {7} END, trying = {8},"
            " incarnation = " WEIR_INCARNATION_PLAIN
            " WHERE subscription = {1} AND pid = {2} AND version = {4} - 1"
            " AND EXISTS (SELECT 1 FROM {p}_lease WHERE subscription = {1}"
            " AND pid = {2} AND owner = {9} AND epoch = {3} AND until_us > {now}"
            " AND incarnation = " WEIR_INCARNATION_PLAIN ")",
    .parameters = "iiiiiitii",
};

static const struct weir_sql SQL_FORGET = {
    .name = "forget crashes",
    .text = "UPDATE {p}_lease SET crashes = 0"
            " WHERE subscription = {1} AND pid = {2} AND crashes <> 0",
    .parameters = "ii",
};

enum { MOVE_VALUES = WEIR_ACK_COLUMNS, MOVE_BUGS = 3 };

/* The statement that moves a position, or the wrong one that a test has ordered: then
 * with the three values behind those of the right one. */
static const struct weir_sql *choose_move(struct weir_connection *connection,
                                          struct weir_value *bugs, size_t *bug_count)
{
    struct weir_fault_points *points = weir_connection_config(connection)->points;
    bool no_epoch = WEIR_POINT(points, "ack.no_epoch");
    bool no_version = WEIR_POINT(points, "ack.no_version");
    bool no_seq = WEIR_POINT(points, "ack.no_seq");

    *bug_count = 0;
    if (!no_epoch && !no_version && !no_seq)
        return &SQL_MOVE;
    bugs[0] = weir_integer(no_epoch);
    bugs[1] = weir_integer(no_version);
    bugs[2] = weir_integer(no_seq);
    *bug_count = MOVE_BUGS;
    return &SQL_MOVE_WRONGLY;
}

static enum weir_status move_one(struct weir_ack_group *self,
                                 struct weir_connection *connection, size_t at,
                                 struct weir_error *error)
{
    struct weir_ack *ack = self->acks[at];
    struct weir_value values[MOVE_VALUES + MOVE_BUGS];
    size_t bug_count;
    const struct weir_sql *sql =
        choose_move(connection, &values[MOVE_VALUES], &bug_count);
    int64_t changed = 0;
    enum weir_status status = weir_ack_group_row(self, at, values, error);

    values[WEIR_ACK_FORGET] = weir_integer(self->owner); /* that one is ours to do */
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, sql, values, MOVE_VALUES + bug_count,
                                         &changed, error);
    if (status == WEIR_OK && changed == 1 && ack->clear_crashes)
        status = weir_connection_execute(connection, &SQL_FORGET, values, 2, NULL, error);
    ack->accepted = changed == 1;
    return status;
}

static enum weir_status mark(struct weir_ack_group *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    struct weir_value values[WEIR_ACK_MARK_VALUES];
    int64_t changed = 0;
    enum weir_status status = weir_ack_group_mark(self, values, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_MARK, values,
                                         WEIR_ACK_MARK_VALUES, &changed, error);
    self->acks[0]->accepted = changed == 1;
    return status;
}

static enum weir_status move(struct weir_connection *connection, void *argument,
                             struct weir_error *error)
{
    struct weir_ack_group *self = argument;
    enum weir_status status = WEIR_OK;

    if (self->is_mark)
        return mark(self, connection, error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = move_one(self, connection, i, error);
    return status == WEIR_OK ? weir_ack_group_reject(self, connection, error) : status;
}

enum weir_status weir_ack_move_sqlite(struct weir_ack_group *self,
                                      struct weir_connection *connection, bool alone,
                                      struct weir_error *error)
{
    return alone ? weir_transact_once(connection, move, self, error)
                 : move(connection, self, error);
}
