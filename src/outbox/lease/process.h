/*
 * process.h - the processes that serve a subscription.
 *
 * Each has a row with a time of the database's clock until which it counts as alive at
 * most, and says by what it is known to be: by that time alone, or also by a lock
 * (liveness.h). From the live ones follows the quota of each. The quotas of a
 * subscription add up to its partitions and differ by one at most: by the order of the
 * processes' numbers, beginning with another one in each subscription, so that it is
 * not always the same process that has more. Where there are more processes than
 * partitions each may have one, and the first has it.
 *
 * Threads  The holder of the connection. Each call is a transaction of its own (on
 *          MariaDB several).
 */
#ifndef WEIR_OUTBOX_LEASE_PROCESS_H
#define WEIR_OUTBOX_LEASE_PROCESS_H

#include "db/connection.h"
#include "weir/inspect.h"

/* A process, as it wants to be seen. */
struct weir_process {
    int64_t owner;
    const char *name;
    const char *library; /* its version */
    int64_t duration_us; /* alive for so long without another heartbeat */
    enum weir_alive_by alive_by;
    int64_t clock_off_us; /* its wall clock minus the database's */
};

/* What one subscription looks like from here. */
struct weir_quota {
    int64_t subscription; /* in */
    int32_t partitions;   /* in */
    uint64_t delivered;   /* in: messages that this process has acknowledged so far */
    double rate;          /* in: per second, of late */
    uint32_t processes;   /* out: alive, ourselves included */
    uint32_t quota;       /* out: what we may hold */
    uint32_t free;        /* out: leases without a holder, or that have expired */
    uint32_t surplus;     /* out: leases that others hold beyond the quota */
    int64_t
        next_free_us; /* out: until the next lease of another process expires; -1: none */
    int64_t next_dead_us; /* out: until another one is dead, if it sends no heartbeat; -1:
                             none */
    bool queue_paused;    /* out */
    bool paused;          /* out: this subscription is */
    uint32_t attempts_max; /* out: of the queue; 0: no limit */
    bool removed;          /* out: the subscription is gone */
    uint32_t held;         /* out: leases that are ours, as the database has it */
    int64_t now_us; /* out: the database's clock; 0 when the subscription is gone */
};

/* Be alive for `duration_us` more in each of these subscriptions, publish what was
 * delivered, remove members long dead, and read the quotas. */
WEIR_CHECKED enum weir_status weir_process_heartbeat(struct weir_connection *connection,
                                                     const struct weir_process *process,
                                                     struct weir_quota *quotas,
                                                     size_t count,
                                                     struct weir_error *error);

/* Leave all subscriptions. */
WEIR_CHECKED enum weir_status weir_process_leave(struct weir_connection *connection,
                                                 int64_t owner, struct weir_error *error);

#endif
