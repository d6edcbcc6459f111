/*
 * inspect.h - what an operator wants to see of an outbox.
 *
 * Read from the database, so it shows all processes, and it works when none runs. Each
 * call is a few statements; nothing is locked.
 *
 * Lag      Exact while up to WEIR_LAG_EXACT_MAX messages of the queue wait, one that
 *          waits for two subscriptions being two; also beside any number of others that
 *          are delivered, as long as no more than 1,500,000 rows of the log, of
 *          whatever queue, lie behind the position that is furthest behind, and can be
 *          looked at in 0.7 s; 300,000 are looked at however long it takes. The sweep
 *          sees to that, unless more than an eighth of such rows wait. What is set
 *          aside is found by index, and is no such row. When fewer wait than that by an
 *          estimate, 20,000,000 rows are looked at for up to 3 s, since a part of them
 *          tells nothing of few messages among many. Beyond that an estimate, and
 *          marked as one, so that the answer comes soon however long the backlog is and
 *          however busy the machine: on PostgreSQL from samples all over it, on SQLite
 *          from both its ends. Positions that have nothing but close to the end are
 *          exact in any case. On PostgreSQL an estimate also while the sweep has a part
 *          of the log to itself: then by the positions alone, and oldest_age_us may be
 *          0.
 * Rates    Without waiting. *Out*: each process says with every sign of life (every 3
 *          s, or a third of its shortest lease) how many messages it has acknowledged,
 *          and how many per second in the last 5 to 10 s; a process that was killed is
 *          believed until its time of life is over. *In*: the messages of the queue
 *          among the newest WEIR_RATE_ROWS_MAX of the log that are no older than a
 *          minute, by the time since the oldest of them (at least a second, unless the
 *          log has more from that second). So it is 0 when the newest is older than a
 *          minute or the sweep has a part of the log to itself, and too low where it
 *          removes messages as soon as they come.
 */
#ifndef WEIR_INSPECT_H
#define WEIR_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/outbox.h>

enum { WEIR_LAG_EXACT_MAX = 100000, WEIR_RATE_ROWS_MAX = 1000 };

/* All texts live for the call of the visitor. */
struct weir_queue_info {
    const char *name;
    int32_t partitions;
    bool paused;
    uint32_t subscriptions;
    enum weir_unread unread;
    int64_t backlog_max; /* 0: none */
    /* for the subscription that is furthest behind; without any: kept for future ones */
    int64_t waiting;
    bool waiting_is_estimate;
    int64_t oldest_age_us; /* of the oldest message that waits; 0: none waits */
    int64_t aside;         /* rows set aside */
    int64_t dead_letters;  /* pending */
    uint32_t attempts_max; /* 0: none */
    int64_t dead_letter_retention_us; /* 0: for ever */
    /* what every subscription has passed is kept for so long; 0: not */
    int64_t retain_us;
    int64_t whole_from_us; /* everything enqueued since then is there; microseconds since
                              1970, by the database's clock */
    double in_per_s;       /* messages enqueued per second: an estimate, see above */
    /* acknowledged per second, by all live processes: for the subscription that is
     * furthest behind; if none is, for the quickest */
    double out_per_s;
};

struct weir_partition_info {
    const char *queue;
    const char *subscription;
    int32_t partition;
    int64_t seq; /* of the last message acknowledged; 0: none yet */
    int64_t waiting;
    bool waiting_is_estimate;
    int64_t oldest_age_us;
    uint32_t attempts;      /* failures of the message at the head */
    int64_t retry_in_us;    /* until it is tried again; 0: not waiting for that */
    const char *last_error; /* ""; never NULL */
    const char *owner;      /* name of the process that holds the lease; "": none */
    int64_t epoch;
    int64_t lease_left_us; /* 0: no process holds it, or it has expired */
    uint32_t
        crashes; /* owners in a row that ended without releasing it; counts nothing */
};

/* By what a process is known to be alive: by its lease alone, or also by a lock that
 * vanishes with it, so that its death is noticed at once. */
enum weir_alive_by { WEIR_ALIVE_BY_LEASE, WEIR_ALIVE_BY_LOCK };

/* One process that serves one subscription. */
struct weir_process_info {
    const char *name; /* host and process id, unless it was given another */
    const char *queue;
    const char *subscription;
    uint32_t partitions; /* whose leases it holds */
    int64_t up_us;       /* since it began to serve */
    int64_t alive_us;    /* it counts as alive for so long without another sign of life */
    uint64_t delivered;  /* messages that it has acknowledged so far */
    double out_per_s;    /* of late */
    enum weir_alive_by alive_by;
    const char *library;   /* its version of weir; "": one that does not say */
    bool library_is_older; /* than ours */
    int64_t clock_off_us;  /* its wall clock minus the database's; on SQLite, where the
                              clock is each process's own: how far it is ahead of ours */
    bool name_used_twice;  /* by another live process */
};

typedef void (*weir_queue_name_fn)(void *state, const char *name);
typedef void (*weir_process_info_fn)(void *state, const struct weir_process_info *info);
typedef void (*weir_queue_info_fn)(void *state, const struct weir_queue_info *info);
typedef void (*weir_partition_info_fn)(void *state,
                                       const struct weir_partition_info *info);

WEIR_BEGIN_DECLS

/* Just the names, in their order, which costs one look at a small table. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_queue_names(struct weir_outbox *self, weir_queue_name_fn visit,
                             void *state, struct weir_error *error);

/* One queue. WEIR_NOT_FOUND: no such queue. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_queue(struct weir_outbox *self, const char *queue,
                       weir_queue_info_fn visit, void *state, struct weir_error *error);

/* Each queue, by name. */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_read_queues(struct weir_outbox *self,
                                                               weir_queue_info_fn visit,
                                                               void *state,
                                                               struct weir_error *error);

/* Each partition of each subscription of a queue, by subscription and partition.
 * WEIR_NOT_FOUND: no such queue. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_partitions(struct weir_outbox *self, const char *queue,
                            weir_partition_info_fn visit, void *state,
                            struct weir_error *error);

/* Each process that is alive, once for each subscription that it serves, by queue,
 * subscription and name. `queue` NULL: of all queues. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_processes(struct weir_outbox *self, const char *queue,
                           weir_process_info_fn visit, void *state,
                           struct weir_error *error);

/*
 * Is nothing left for a subscription? *drained: every message of the queue that was
 * committed when it was asked is acknowledged for it, or among its dead letters. Always
 * exact: the answer "no" comes at once, for "yes" the log behind the positions has been
 * looked at. A subscription that does not exist has nothing waiting. WEIR_NOT_FOUND: no
 * such queue.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_read_drained(struct weir_outbox *self,
                                                                const char *queue,
                                                                const char *subscription,
                                                                bool *drained,
                                                                struct weir_error *error);

WEIR_END_DECLS

#endif
