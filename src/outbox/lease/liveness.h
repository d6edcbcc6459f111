/*
 * liveness.h - a lock that vanishes with its process.
 *
 * A lease says until when a process is believed to be alive. That is the truth, but it
 * takes as long as a lease to notice that a process is dead. So each process also holds
 * a lock, on a session that does nothing else, and that ends with the process whatever
 * ends it. A process that sees a member without its lock knows that the member is dead,
 * and need not wait.
 *
 *   PostgreSQL   an advisory lock of the session; its key is the process's number;
 *                pg_locks shows it
 *   MariaDB      GET_LOCK of a name with that number; IS_USED_LOCK shows it
 *   SQLite       one byte, at that number, of a file beside the database: a lock of the
 *                open file, so that two outboxes of one process have one each
 *
 * A number is used for one session and never again. So "the lock of this number is
 * gone" stays true: any number of processes may find it out, and act on it as late as
 * they like. A process that has lost its session and lives goes on under another
 * number, with new epochs (lease_keeper.c).
 *
 * Others look for the lock where they write. A session that is there may have been left
 * behind: its server was the primary, takes no writes any more, and the connections of
 * the pool lead to another one. Its lock is not visible there. So the question is asked
 * as others ask it, from each connection that the lease keeper gets (confirm), and of the
 * session itself when there is no connection to be had (doubt). That other connections
 * were lost says nothing: they may end for reasons of their own.
 *
 * The lock protects no process: epochs fence. It only makes a death known sooner. The
 * lock is taken before the member's row says so (`alive_by`), and a process that checks
 * others reads the row before the lock.
 *
 * A process that is stopped keeps its lock, as does one whose host has lost its power
 * until the server's TCP notices: their leases run out. A child that was forked, and
 * did not exec, keeps SQLite's lock as long as it lives.
 *
 * Threads  The lease keeper's.
 * Failure  Whatever goes wrong, the process is known by its lease.
 */
#ifndef WEIR_OUTBOX_LEASE_LIVENESS_H
#define WEIR_OUTBOX_LEASE_LIVENESS_H

#include "outbox/lease/process.h"

struct weir_liveness;

/* A number for a process that no other one has had, nor will have: random, positive. */
int64_t weir_liveness_number(void);

/* Can there be such a lock? Not for a database in memory, nor behind a transaction
 * pooler. */
bool weir_liveness_is_possible(const struct weir_db *db);

/* Take the lock of this number on a new session. *out is NULL on failure. */
WEIR_CHECKED enum weir_status weir_liveness_open(struct weir_db *db, int64_t number,
                                                 struct weir_liveness **out,
                                                 struct weir_error *error);

/* Give it up. NULL is fine. */
void weir_liveness_close(struct weir_liveness *self);

/* Is the session still there, and where it should be, as far as is known without
 * a query? Once false, always. */
bool weir_liveness_is_held(struct weir_liveness *self);

/*
 * Look for the lock from a connection of the pool. If it is not seen there is_held() is
 * false from then on. One statement, once for each connection: it leads to one server
 * as long as it lives.
 */
WEIR_CHECKED enum weir_status weir_liveness_confirm(struct weir_liveness *self,
                                                    struct weir_connection *connection,
                                                    struct weir_error *error);

/*
 * There is no connection to look from. If the server of the session takes no writes any
 * more, or says nothing within `wait_limit_ns`, is_held() is false from then on.
 */
void weir_liveness_probe(struct weir_liveness *self, int64_t wait_limit_ns);

/* Another process that counts as alive. Texts live for the call of the visitor. */
struct weir_peer {
    int64_t number;
    struct weir_str name;
    struct weir_str library;
    enum weir_alive_by alive_by;
    bool dead;            /* it has a lock to be known by, and does not hold it */
    int64_t clock_off_us; /* as it says */
    int64_t
        ahead_us; /* of the database's clock: its last heartbeat; below 0: it is over */
};
typedef void (*weir_peer_fn)(void *state, const struct weir_peer *peer);

/*
 * Visit all members but `number` that count as alive, each once. With a server that is
 * one statement on the session itself, and so the proof that it is there: when it is
 * not, is_held() is false from then on. `connection` is used on SQLite, and everywhere
 * when `self` is NULL: then no process is dead.
 */
WEIR_CHECKED enum weir_status weir_liveness_poll(struct weir_liveness *self,
                                                 struct weir_connection *connection,
                                                 int64_t number, weir_peer_fn visit,
                                                 void *state, struct weir_error *error);

#endif
