/*
 * log_interleaving.h - a log on PostgreSQL that sessions work on step by step
 * (interleaving.h), and what must hold.
 *
 * One database serves all orders of a test: each goes on where the one before has
 * ended, begins at a place of its own, and is judged by its own messages. Whatever the
 * order of steps:
 *
 *   - each committed message is delivered once, and none of a transaction that was
 *     rolled back;
 *   - messages of one transaction come in their order;
 *   - a message that was enqueued after a transaction had committed comes after that
 *     one's messages;
 *   - who reads from the start again gets the same messages in the same order;
 *   - what owners of the lease have passed, and what is behind their position, is that
 *     same list: `seq` has no gap, and nothing was passed twice;
 *   - an ack of an owner that lost its lease is refused.
 *
 * A payload is "order t k seen": the k-th message of transaction t, enqueued when so many
 * transactions of this order had ended with a commit.
 *
 * Everything is done by the product's own functions; the pace of cuts is taken out of the
 * database by a trigger, since a run takes less time than is between two cuts.
 *
 * Threads  Strands work with their own session each, and with the notes of the loom,
 *          which have a lock. All else is the test's thread's.
 * Failure  A call that fails fails the test. So does what does not hold, and is reported
 *          with the order.
 */
#ifndef WEIR_TEST_LOG_INTERLEAVING_H
#define WEIR_TEST_LOG_INTERLEAVING_H

#include "base/fault_point.h"
#include "kit/db/engines.h"
#include "kit/db/interleaving.h"
#include "outbox/delivery/ack.h"
#include "outbox/log/log.h"

enum {
    LOG_INTERLEAVING_TRANSACTIONS_MAX = 16,
    LOG_INTERLEAVING_DELIVERIES_MAX = 64,
    LOG_INTERLEAVING_ROWS =
        LOG_INTERLEAVING_DELIVERIES_MAX, /* of a page that has everything */
    LOG_INTERLEAVING_OLD_OWNER = 111,
    LOG_INTERLEAVING_NEW_OWNER = 222
};

struct log_interleaving_transaction {
    int count; /* of its messages */
    bool committed;
};

struct log_interleaving_delivery {
    struct weir_log_position log_position; /* behind it */
    int64_t id;
    int order;
    int transaction;
    int k;
    int seen;
};

struct log_interleaving_reading {
    struct log_interleaving_delivery list[LOG_INTERLEAVING_DELIVERIES_MAX];
    size_t count;
    struct weir_log_position log_position; /* behind the last */
};

struct log_interleaving_session {
    struct log_interleaving *log_interleaving;
    struct weir_db *db;
    struct weir_connection *connection;
    PGconn *bare; /* the same one, for statements that are not the product's */
    struct weir_outbox_log log;
    struct weir_fault_points points; /* of its database and its log */
    bool reads;                      /* got is compared with what a newcomer reads */
    struct log_interleaving_reading got;
    struct weir_error error;
};

/* Who moves the position, and from where. */
struct log_interleaving_owner {
    int64_t owner;
    int64_t epoch;
    struct weir_stored_position position;
};

struct log_interleaving {
    struct fixture fixture;
    struct log_interleaving_session sessions[INTERLEAVING_INTERLEAVED_SESSIONS_MAX];
    struct log_interleaving_session control;
    struct interleaved_session
        interleaved_sessions[INTERLEAVING_INTERLEAVED_SESSIONS_MAX];
    size_t interleaved_session_count;
    struct weir_lease_key key; /* of the one subscription and partition */
    void (*prepare)(
        struct log_interleaving *self); /* before each order; a cut must be needed then */

    int order;                      /* its number */
    struct weir_log_position start; /* where readers begin */
    struct log_interleaving_owner
        first;     /* has the lease when an order begins; owner 0: nobody */
    uint32_t leaf; /* of the log, to be swept */

    pthread_mutex_t
        lock; /* guards all that follows: one that waited runs beside others */
    struct log_interleaving_transaction transactions[LOG_INTERLEAVING_TRANSACTIONS_MAX];
    int transaction_count;
    int ended[LOG_INTERLEAVING_TRANSACTIONS_MAX]; /* by commit, in that order */
    int ended_count;
    struct log_interleaving_reading passed; /* by acks that were accepted */
    bool taken_over;
    const char *problem;
};

/* ---- life and orders ---- */

/* A database with one queue of one partition and one subscription. Each order begins
 * with a message that is in no cut. */
struct log_interleaving *log_interleaving_open(void);
void log_interleaving_close(struct log_interleaving *self);

/* One more strand. */
void log_interleaving_use(struct log_interleaving *self,
                          const struct interleaving_part *part);

/* Run and judge all orders of the strands, or a sample; interleaving.h. */
void log_interleaving_all(struct log_interleaving *self);
void log_interleaving_some(struct log_interleaving *self, size_t samples, uint64_t seed);

/* ---- preparing ---- */

/* The first owner takes the lease, and its position is where the order before has
 * ended. */
void log_interleaving_own(struct log_interleaving *self);

/* Make a cut, as whole. */
void log_interleaving_cut(struct log_interleaving_session *self);

/* ---- in strands ---- */

/* A new transaction's number; and that it has committed. BEGIN and COMMIT are the
 * strand's. */
int log_interleaving_begin(struct log_interleaving_session *self);
void log_interleaving_end(struct log_interleaving_session *self, int t);

/* One more message of a transaction, by the product's append; and its last one is
 * undone. */
void log_interleaving_append(struct log_interleaving_session *self, int t);
void log_interleaving_undo(struct log_interleaving_session *self, int t);

/* The payload of the next message of a transaction, for statements of the strand's
 * own. */
void log_interleaving_payload(struct log_interleaving_session *self, int t, char *out,
                              size_t size);

/* A page, or pages until the head. Returns true at the head. */
bool log_interleaving_read_page(struct log_interleaving_session *self,
                                struct log_interleaving_reading *got, uint32_t rows);
void log_interleaving_read(struct log_interleaving_session *self,
                           struct log_interleaving_reading *got, uint32_t rows);

/* Arm a point of the session: every pass is the end of a step.
 * log_interleaving_disarm(): of all of them. */
void log_interleaving_arm(struct interleaved_session *interleaved_session,
                          const char *name);
void log_interleaving_disarm(struct log_interleaving_session *self);

/* Move the position past `rows` messages behind it, which are read first. */
void log_interleaving_ack(struct log_interleaving_session *self,
                          struct log_interleaving_owner *owner, uint32_t rows);

/* The lease runs out and another one takes it, if it can; false: it could not. Its
 * position is not read yet. */
void log_interleaving_expire(struct log_interleaving_session *self);
bool log_interleaving_take_over(struct log_interleaving_session *self,
                                struct log_interleaving_owner *out);
void log_interleaving_find_position(struct log_interleaving_session *self,
                                    struct log_interleaving_owner *owner);

/* One step of the sweep: a leaf of the log, or of acks (postgres/sweep.h). */
void log_interleaving_sweep(struct log_interleaving_session *self, uint32_t leaf);

#endif
