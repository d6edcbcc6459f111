/*
 * lease.h - which process may deliver which partition, by the database's clock.
 *
 * One row per (subscription, partition). A lease is held by a process until a time of
 * the database's clock; `epoch` grows at every change of owner and is the fencing
 * token. After a promotion of a standby (another incarnation) older leases are void.
 *
 *   free --take--> held --renew--> held
 *    ^               |  \-- time is over --> free for any process: epoch + 1,
 *    |               |      crashes + 1
 *    +--- release ---+   \-- end (its owner is dead) --> the same, at once
 *
 * `crashes` counts owners in a row that did not release; the ack of a call clears it.
 * It chooses how the next owner begins and counts against no message. `marks_from` is
 * the epoch of the first owner after the last release, or after a promotion: marks
 * since then are found (mark.h).
 *
 * Threads  The holder of the connection. Each call is a transaction of its own, but for
 *          confirm(), which is part of one.
 */
#ifndef WEIR_OUTBOX_LEASE_LEASE_H
#define WEIR_OUTBOX_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"

struct weir_lease_key {
    int64_t subscription;
    int64_t pid; /* temp_dir.h */
};

struct weir_lease {
    struct weir_lease_key key;
    int64_t epoch;
    uint32_t crashes;
    int64_t marks_from; /* out of take() */
    int64_t replay_to;  /* likewise: messages up to this number are a replay (seek.h) */
    bool kept;          /* out of renew() and check(): still ours */
};

/*
 * Take up to `count` leases of a subscription that are free or have run out, for
 * `duration_us`. `except` are pids not to take (a handler of ours still hangs on them).
 * *taken says how many are in `out`. Rows that others are taking are skipped, not
 * waited for.
 */
WEIR_CHECKED enum weir_status weir_lease_take(struct weir_connection *connection,
                                              int64_t owner, int64_t subscription,
                                              int64_t duration_us, const int64_t *except,
                                              size_t except_count, struct weir_lease *out,
                                              size_t count, size_t *taken,
                                              struct weir_error *error);

/* Extend these, in one transaction; those that have expired or belong to another process
 * are not revived: `kept` is false. */
WEIR_CHECKED enum weir_status weir_lease_renew(struct weir_connection *connection,
                                               int64_t owner, int64_t duration_us,
                                               struct weir_lease *leases, size_t count,
                                               struct weir_error *error);

/* Which of these are still ours? Sets `kept` of each. Takes no lock and extends
 * nothing; one statement, on SQLite one for each. */
WEIR_CHECKED enum weir_status weir_lease_check(struct weir_connection *connection,
                                               int64_t owner, struct weir_lease *leases,
                                               size_t count, struct weir_error *error);

/* Give these up cleanly: free at once, and no crash is added. Those not ours any more
 * are left alone. */
WEIR_CHECKED enum weir_status weir_lease_release(struct weir_connection *connection,
                                                 int64_t owner,
                                                 const struct weir_lease *leases,
                                                 size_t count, struct weir_error *error);

/*
 * The owner is dead: let these run out at once. The process that takes them counts a
 * crash, as always.
 */
WEIR_CHECKED enum weir_status weir_lease_end(struct weir_connection *connection,
                                             int64_t owner,
                                             const struct weir_lease *leases,
                                             size_t count, struct weir_error *error);

/*
 * Inside the transaction of a handler that begins: is this lease still ours? *ours
 * tells. A compare without a lock: the one that counts comes with the ack. On SQLite
 * no process can renew it until the transaction ends, so it is extended to `duration_us`
 * from now; on PostgreSQL the server ends the session when it does nothing for that
 * long inside the transaction (on MariaDB that is said when the transaction is begun:
 * tx.c).
 */
WEIR_CHECKED enum weir_status weir_lease_confirm(struct weir_connection *connection,
                                                 int64_t owner,
                                                 const struct weir_lease *lease,
                                                 int64_t duration_us, bool *ours,
                                                 struct weir_error *error);

/* What the database believes to be this owner's of a subscription, run out or not: up
 * to `count`, with key and epoch. */
WEIR_CHECKED enum weir_status weir_lease_list(struct weir_connection *connection,
                                              int64_t owner, int64_t subscription,
                                              struct weir_lease *out, size_t count,
                                              size_t *found, struct weir_error *error);

/* The same of all subscriptions, of those that have not run out; in the order of the
 * key. */
WEIR_CHECKED enum weir_status weir_lease_list_all(struct weir_connection *connection,
                                                  int64_t owner, struct weir_lease *out,
                                                  size_t count, size_t *found,
                                                  struct weir_error *error);

/* Nothing waited when we took it over: the owner that died did not die of a message. */
WEIR_CHECKED enum weir_status weir_lease_forgive(struct weir_connection *connection,
                                                 int64_t owner,
                                                 const struct weir_lease *lease,
                                                 struct weir_error *error);

/* Free leases for the partitions of a new subscription. */
WEIR_CHECKED enum weir_status weir_lease_begin(struct weir_connection *connection,
                                               const struct weir_lease_key *keys,
                                               size_t count, struct weir_error *error);

/* The SQL expression for the current incarnation, to be pasted into a statement's text:
 * PostgreSQL system identifier, database and timeline; constant on the others. */
#define WEIR_INCARNATION_PG                                                              \
    "(SELECT system_identifier FROM pg_control_system())::text || '/' || "               \
    "(SELECT oid FROM pg_database WHERE datname = current_database())::text || '/' || "  \
    "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
#define WEIR_INCARNATION_PLAIN "'-'"

#endif
