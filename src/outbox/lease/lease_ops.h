/*
 * lease_ops.h - the inside of lease.h: what each engine does in its own way.
 */
#ifndef WEIR_OUTBOX_LEASE_LEASE_OPS_H
#define WEIR_OUTBOX_LEASE_LEASE_OPS_H

#include "outbox/lease/lease.h"

/* Not held by any process, whatever the row says of its owner. */
#define WEIR_LEASE_TAKEABLE(incarnation)                                                 \
    "(owner IS NULL OR until_us <= {now} OR incarnation <> " incarnation ")"

/* An owner is there that did not release: one more. Stays within the column. */
#define WEIR_LEASE_CRASHES                                                               \
    "CASE WHEN owner IS NULL OR crashes = 2147483647 THEN crashes ELSE crashes + 1 END"

/* Marks of owners before this take are found only if all since then did not release. */
#define WEIR_LEASE_MARKS_FROM(current)                                                   \
    "CASE WHEN owner IS NULL OR incarnation <> " current                                 \
    " THEN epoch + 1 ELSE marks_from END"

/* What ends a lease: it is given up, or its owner is dead and stays, so that a crash is
 * counted. */
#define WEIR_LEASE_GIVEN_UP "owner = NULL, until_us = 0"
#define WEIR_LEASE_RUN_OUT "until_us = 0"

/* Held by the owner that its row names. */
#define WEIR_LEASE_ALIVE(incarnation)                                                    \
    "(until_us > {now} AND incarnation = " incarnation ")"

struct weir_lease_taking {
    int64_t owner;
    int64_t subscription;
    int64_t duration_us;
    const int64_t *except;
    size_t except_count;
    struct weir_lease *out;
    size_t count; /* at least 1 */
    size_t taken;
};

/* Keep one that was taken: its epoch, crashes, marks_from and replay_to are in the
 * columns from `column` on. */
void weir_lease_keep_taken(struct weir_lease_taking *self, int64_t pid,
                           struct weir_rows *rows, size_t column);
bool weir_lease_is_excepted(const struct weir_lease_taking *self, int64_t pid);

struct weir_lease_renewal {
    int64_t owner;
    int64_t duration_us;
    struct weir_lease *leases; /* none is kept, but for those that it says */
    size_t count;              /* at least 1 */
};

struct weir_lease_giving {
    int64_t owner;
    const struct weir_lease *leases;
    size_t count; /* at least 1 */
    bool dead;    /* the owner is: it stays in the row */
};

/* As the functions of lease.h. All but confirm() are transactions of their own. */
struct weir_lease_ops {
    enum weir_status (*take)(struct weir_lease_taking *taking,
                             struct weir_connection *connection,
                             struct weir_error *error);
    enum weir_status (*renew)(struct weir_lease_renewal *renewal,
                              struct weir_connection *connection,
                              struct weir_error *error);
    enum weir_status (*check)(struct weir_lease_renewal *renewal,
                              struct weir_connection *connection,
                              struct weir_error *error);
    /* Both of release() and end(). */
    enum weir_status (*release)(struct weir_lease_giving *giving,
                                struct weir_connection *connection,
                                struct weir_error *error);
    enum weir_status (*confirm)(struct weir_connection *connection, int64_t owner,
                                const struct weir_lease *lease, int64_t duration_us,
                                bool *ours, struct weir_error *error);
};

#endif
