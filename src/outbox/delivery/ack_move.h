/*
 * ack_move.h - the inside of weir_ack_move(): one group of acks on its way into the
 * tables.
 *
 * ack.c puts the group in order; each engine has its own way to move it.
 */
#ifndef WEIR_OUTBOX_DELIVERY_ACK_MOVE_H
#define WEIR_OUTBOX_DELIVERY_ACK_MOVE_H

#include "base/arena.h"
#include "outbox/columns.h"
#include "outbox/delivery/ack.h"

enum { WEIR_ACK_CHUNK_MAX = 512 }; /* acks of one statement */

struct weir_ack_group {
    int64_t owner;
    struct weir_ack **acks; /* in the order of their keys */
    size_t count;
    size_t rejection_count; /* of all of them */
    bool is_mark;           /* and nothing else */
    struct weir_arena texts;
    struct weir_columns table; /* an engine's, to be made by it; ends with the group */
};

/* An ack as a row of values. */
enum weir_ack_column {
    WEIR_ACK_SUBSCRIPTION,
    WEIR_ACK_PARTITION,
    WEIR_ACK_EPOCH,
    WEIR_ACK_VERSION,
    WEIR_ACK_CUT,
    WEIR_ACK_LAST_ID,
    WEIR_ACK_SEQ,
    WEIR_ACK_ATTEMPTS,
    WEIR_ACK_ALONE,
    WEIR_ACK_RETRY_US,
    WEIR_ACK_ERROR,
    WEIR_ACK_FORGET,
    WEIR_ACK_COLUMNS
};

enum { WEIR_ACK_MARK_VALUES = 9 };

/* Number `at` of the group. Texts live as long as it does. */
WEIR_CHECKED enum weir_status weir_ack_group_row(struct weir_ack_group *self, size_t at,
                                                 struct weir_value *out,
                                                 struct weir_error *error);

/* A group that is one mark: subscription, partition, epoch, version, attempts, alone,
 * error, trying and the owner, as the statements of all engines number them from 1. */
WEIR_CHECKED enum weir_status weir_ack_group_mark(struct weir_ack_group *self,
                                                  struct weir_value *out,
                                                  struct weir_error *error);

/* The dead letters of those that were accepted; in the transaction that moved them. */
WEIR_CHECKED enum weir_status weir_ack_group_reject(struct weir_ack_group *self,
                                                    struct weir_connection *connection,
                                                    struct weir_error *error);

/* What each engine does in its own way. */
struct weir_ack_ops {
    /*
     * Move those that may move and mark them, dead letters included. `alone`: in a
     * transaction of their own, else in the one that is open.
     */
    enum weir_status (*move)(struct weir_ack_group *self,
                             struct weir_connection *connection, bool alone,
                             struct weir_error *error);

    /*
     * Rows of WEIR_ACK_POSITION and the number from 1 for the keys of `count` leases, in
     * the columns 0 and 1 of `keys`. `text` is there to be used until the rows are
     * closed. NULL: positions are read one by one.
     */
    enum weir_status (*query)(struct weir_connection *connection,
                              const struct weir_columns *keys, size_t count,
                              struct weir_buf *text, struct weir_rows *rows,
                              struct weir_error *error);
};

/* The columns of a position. */
#define WEIR_ACK_POSITION                                                                \
    "cut, last_id, seq, version, attempts, retry_us, alone, epoch, trying"

#endif
