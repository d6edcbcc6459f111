/*
 * tx.h - the transaction of one call of a transactional handler.
 *
 * The handler writes inside the transaction that moves its position. So its writes and
 * the ack commit together or not at all, whatever happens, and each message takes
 * effect once.
 *
 *   mark     if its message may have ended a process: stored and committed before
 *            (mark.h)
 *   begin    BEGIN, compare the lease, SAVEPOINT
 *     |         handler: message 1          keep:  RELEASE, SAVEPOINT
 *     |         handler: message 2, reject  undo:  ROLLBACK TO
 *     |         handler: message 3          keep
 *   commit   lock the lease row, compare, move the position, dead letters, COMMIT
 *   end      what was not committed is rolled back; the connection goes back
 *
 * From begin to commit there is always exactly one savepoint of ours: it is where an
 * answer that keeps nothing returns to, and it is how we know that the transaction is
 * still the one that we began. A handler that commits, or rolls back, takes it along.
 *
 * Between a handler and the ack, and between two messages, there is always keep or
 * undo, and behind both the session's user, role and settings are ours
 * (db/connection.h): so the ack is written with our rights, wherever the handler has
 * looked for its tables. What it deferred under another role is checked by keep, with
 * that role.
 *
 * The lease is *compared* at the beginning, so that a fenced process does not
 * begin, and *locked* only at the end, together with the comparison that counts.
 * Locking it first, for as long as the handler runs, would be just as safe and worse to
 * live with: renewal, which extends all leases of the process in one statement, would
 * wait behind the slowest handler or have to pass its row over; and a handler that
 * hangs could not lose its partition at all until the server ends its session. As it
 * is, a partition whose time is over goes to another process at once, and the former
 * owner finds another epoch when it locks the row, and rolls back. Between lock and
 * commit nothing waits for anything but other moves: deferred constraints, which may
 * wait for rows of the application's, are checked before. So there is no circle in
 * which renewal, a commit and another handler wait for each other.
 *
 * What a handler leaves locked in the application's tables when it hangs, its successor
 * has to wait for. Therefore the budget cancels the statement that runs
 * (tx_watchdog.c), and PostgreSQL and MariaDB end a session that does nothing inside
 * its transaction for as long as a call may last (MariaDB counts in seconds, rounded
 * up).
 *
 * MariaDB gives a whole transaction up to end a deadlock. A handler that goes on all
 * the same, by the native handle, must not commit statement by statement: autocommit is
 * off until the transaction is over (weir_connection_begin_to_lend), and the savepoint
 * that is gone tells. Most statements that change a schema commit there, as if the
 * handler did: they are reported likewise.
 *
 * On SQLite the transaction itself is the lock. No process can renew or take a lease
 * meanwhile, so begin extends the lease in the same transaction, for as long as the
 * call may last.
 *
 *   I1  nothing is committed but by commit(), and there not without the move of the
 *       position
 *   I2  a transaction that is *broken* is never committed: ended by the handler, lost,
 *       or without its savepoint
 *
 * Threads  The caller's; weir_tx_cancel_late() and weir_tx_abandon() any.
 * Memory   One per caller, for as long as the outbox runs.
 */
#ifndef WEIR_OUTBOX_DELIVERY_TX_H
#define WEIR_OUTBOX_DELIVERY_TX_H

#include <stdbool.h>

#include "outbox/delivery/ack.h"
#include "outbox/delivery/batch.h"
#include "ward/lock.h"
#include "weir/error.h"

struct weir_db;
struct weir_fault_points;

struct weir_tx_options {
    struct weir_db *db;               /* borrowed */
    struct weir_fault_points *points; /* for tests; NULL: none */
    int64_t owner;
    struct weir_lease lease; /* under which the call runs */
    int64_t limit_us;        /* how long the call may last */
    struct weir_ack
        *mark; /* to be stored before, in a transaction of its own; NULL: none */
};

enum weir_tx_state {
    WEIR_TX_FREE,
    WEIR_TX_AT_WORK,   /* talks to the database: soon done */
    WEIR_TX_IN_HANDLER /* may never end */
};

struct weir_tx {
    struct weir_tx_options options;     /* of the call under way */
    struct weir_connection *connection; /* from begin() to end() */
    bool broken;                        /* I2 */
    struct weir_error failure;          /* why, when broken */

    struct weir_lock lock; /* guards what follows; held while a statement is cancelled */
    enum weir_tx_state state;
    int64_t deadline_ns; /* in a handler */
    bool abandoned;      /* the outbox is gone */
};

WEIR_CHECKED enum weir_status weir_tx_init(struct weir_tx *self);
void weir_tx_fini(struct weir_tx *self);

/*
 * Take a connection, store the mark and begin. WEIR_FENCED: another process has the
 * lease; WEIR_IN_DOUBT: it is unknown whether the mark is stored. On failure nothing is
 * held, and the handler must not be called; the mark may be `accepted` all the same.
 */
WEIR_CHECKED enum weir_status weir_tx_begin(struct weir_tx *self,
                                            const struct weir_tx_options *options,
                                            struct weir_error *error);

/* The handler's; what is done on it counts until keep() or undo(). */
struct weir_connection *weir_tx_connection(struct weir_tx *self);

/* What becomes of the writes at each answer: for struct weir_batch. */
struct weir_batch_effects weir_tx_effects(struct weir_tx *self);

/* Undo what was written since the last answer. */
WEIR_CHECKED enum weir_status weir_tx_undo(struct weir_tx *self,
                                           struct weir_error *error);

/* The handler is called, and has to be done at `deadline_ns`; it has returned. */
void weir_tx_enter(struct weir_tx *self, int64_t deadline_ns);
void weir_tx_leave(struct weir_tx *self);

/*
 * Move the position and commit. WEIR_FENCED: another process has the lease, or the
 * position was moved; WEIR_IN_DOUBT: the outcome is unknown; else as the database does.
 * After any failure but the doubtful one nothing of the transaction has happened.
 */
WEIR_CHECKED enum weir_status weir_tx_commit(struct weir_tx *self, struct weir_ack *ack,
                                             struct weir_error *error);

/* Was something enqueued in it? After commit(). */
bool weir_tx_has_enqueued(const struct weir_tx *self);

/* After WEIR_FENCED: roll back, and give the lease up in case that it is ours all the
 * same. */
WEIR_CHECKED enum weir_status weir_tx_give_up_lease(struct weir_tx *self,
                                                    struct weir_error *error);

/* Roll back what was not committed, and give the connection back. */
void weir_tx_end(struct weir_tx *self);

/* Cancel what the handler runs, if its time is over. Returns when it will be, or
 * WEIR_FOREVER. */
int64_t weir_tx_cancel_late(struct weir_tx *self, int64_t now_ns);

/* The outbox stops without its handler: the database may be destroyed before it
 * returns, and what it did is rolled back then. False: it is not in a handler but at
 * work, and soon done. */
bool weir_tx_abandon(struct weir_tx *self);

#endif
