/*
 * ack.h - positions, and moving them.
 *
 * A position belongs to (subscription, partition): how far delivery came (place and
 * seq), and how the message at its head has failed so far. Every move is a
 * compare-and-set on incarnation, epoch and version: a process that lost the lease, or
 * acted on an old position, is refused and changes nothing. A mark (mark.h) is such a
 * move, of the version alone.
 *
 * PostgreSQL appends a row per move; the newest is the one with the highest version.
 * Lock and compare are two statements: in one, the comparison would see the table as it
 * was before the lock was had, and a stale ack gets through. SQLite and MariaDB update
 * the row in place; on MariaDB a statement that locks compares with what was committed
 * last.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_DELIVERY_ACK_H
#define WEIR_OUTBOX_DELIVERY_ACK_H

#include "db/connection.h"
#include "outbox/lease/lease.h"
#include "outbox/log/log_position.h"

/* As stored. */
struct weir_stored_position {
    struct weir_log_position log_position;
    int64_t seq;     /* of the last message passed */
    int64_t version; /* one more at each move */
    uint32_t attempts;
    uint32_t alone;   /* of the attempts, those in a call of its own */
    int64_t retry_us; /* database's clock; 0: no wait */
    int64_t epoch;    /* of the owner that stored it */
    int64_t trying;   /* the mark of a call: mark.h; 0: none */
};

/* A message to be kept as a dead letter, with the ack that passes it. All borrowed. */
struct weir_rejection {
    int64_t seq;
    int64_t id;
    const uint8_t *uid;
    int64_t created_us;
    struct weir_str key; /* data NULL: none */
    struct weir_str type;
    struct weir_str headers; /* data NULL: none */
    struct weir_str payload;
    uint32_t attempts;
    struct weir_str reason;
};

/* One move of one position. */
struct weir_ack {
    /* in */
    struct weir_lease_key key;
    int64_t epoch;
    struct weir_stored_position
        next;              /* next.version is one more than the version acted upon */
    struct weir_str error; /* "": none; with attempts above 0 */
    bool clear_crashes;    /* a call was answered: forget the owners that died before */
    bool is_mark; /* stores or ends a mark: place, seq and wait stay, error too if it is
                     ""; in a group of its own */
    bool is_deferred; /* the partition does not wait for it (partition_table.h) */
    const struct weir_rejection *rejections;
    size_t rejection_count;
    /* out */
    bool accepted;
    bool is_ours; /* refused, but the lease is ours: of a deferred ack only */
};

/*
 * Move many positions in one transaction of their own, in any order. Sets `accepted` of
 * each: a refused one changes nothing and does not disturb the others. Dead letters of
 * accepted ones are stored in the same transaction, one per (subscription, partition,
 * seq). Texts of failures are stored as plain text (plain_text.h), attempts up to
 * INT32_MAX. Whatever is no mark ends the mark that there is. WEIR_INVALID: two of them
 * move the same position, or a mark is not alone. On WEIR_IN_DOUBT the outcome is
 * unknown; the caller reads the positions again.
 */
WEIR_CHECKED enum weir_status weir_ack_move(struct weir_connection *connection,
                                            int64_t owner, struct weir_ack *acks,
                                            size_t count, struct weir_error *error);

/*
 * The same inside the caller's transaction, which is rolled back by the caller after
 * any failure. On PostgreSQL deferred constraints are checked first: once the lease
 * rows are locked, nothing waits for anything but other moves.
 */
WEIR_CHECKED enum weir_status weir_ack_move_inside(struct weir_connection *connection,
                                                   int64_t owner, struct weir_ack *acks,
                                                   size_t count,
                                                   struct weir_error *error);

/*
 * The current position of (subscription, partition), in a statement of its own. A
 * missing one is WEIR_SCHEMA: never a start at 0.
 */
WEIR_CHECKED enum weir_status weir_ack_read(struct weir_connection *connection,
                                            struct weir_lease_key key,
                                            struct weir_stored_position *out,
                                            struct weir_error *error);

/* Those of many leases, at once where the engine can; positions[i] is of leases[i]. */
WEIR_CHECKED enum weir_status weir_ack_read_all(struct weir_connection *connection,
                                                const struct weir_lease *leases,
                                                size_t count,
                                                struct weir_stored_position *positions,
                                                struct weir_error *error);

/* The first positions of a new subscription's partitions: version 0. */
WEIR_CHECKED enum weir_status weir_ack_begin(struct weir_connection *connection,
                                             const struct weir_lease_key *keys,
                                             size_t count,
                                             struct weir_log_position log_position,
                                             struct weir_error *error);

#endif
