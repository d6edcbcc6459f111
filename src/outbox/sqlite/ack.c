/*
 * ack.c - moving positions on SQLite: one after the other. The transaction is the lock,
 * and a statement costs no round trip.
 */
#include "db/transact.h"
#include "outbox/delivery/ack_move.h"
#include "outbox/sqlite/engine.h"

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

static enum weir_status move_one(struct weir_ack_group *self,
                                 struct weir_connection *connection, size_t at,
                                 struct weir_error *error)
{
    struct weir_ack *ack = self->acks[at];
    struct weir_value values[WEIR_ACK_COLUMNS];
    int64_t changed = 0;
    enum weir_status status = weir_ack_group_row(self, at, values, error);

    values[WEIR_ACK_FORGET] = weir_integer(self->owner); /* that one is ours to do */
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_MOVE, values, WEIR_ACK_COLUMNS,
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

static enum weir_status move_group(struct weir_ack_group *self,
                                   struct weir_connection *connection, bool alone,
                                   struct weir_error *error)
{
    return alone ? weir_transact_once(connection, move, self, error)
                 : move(connection, self, error);
}

/* Positions are read one by one: there is no round trip to save. */
const struct weir_ack_ops weir_ack_sqlite = {.move = move_group};
