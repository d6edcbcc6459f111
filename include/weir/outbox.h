/*
 * outbox.h - a transactional outbox in the application's database.
 *
 * What is enqueued in a transaction is delivered if and only if that transaction
 * commits, in order per partition, to every subscription of the queue.
 *
 *   application's transaction          this process, or another one
 *   -------------------------          ----------------------------
 *   INSERT INTO orders ...             weir_outbox_add_handler(outbox, &mailer, ...)
 *   weir_enqueue(outbox, ...)          weir_outbox_start(outbox, ...)
 *   COMMIT ------------------------->  handler(message 1), handler(message 2), ...
 *
 * Life     create, add queues and handlers, start, stop, destroy. A process that only
 *          enqueues needs create and destroy, nothing else.
 * Order    Messages of one transaction in enqueue order. If a transaction enqueues after
 *          another one has committed, its messages come later, in each partition.
 * Threads  Any thread; create, add, start, stop and destroy one at a time. A handler is
 *          called from several threads at once, for different partitions.
 * Failure  The database may vanish and come back at any time: workers retry with backoff.
 */
#ifndef WEIR_OUTBOX_H
#define WEIR_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/db.h>
#include <weir/error.h>
#include <weir/message.h>
#include <weir/time.h>

struct weir_outbox;
struct weir_stats;

/* Sets of numbers that belong together; see docs/internals/outbox.md for all of them. */
enum weir_profile {
    WEIR_PROFILE_DEFAULT,
    WEIR_PROFILE_LOW_LATENCY,
    WEIR_PROFILE_HIGH_THROUGHPUT,
    WEIR_PROFILE_RELAXED
};

enum weir_worker_kind {
    WEIR_KIND_LANE,       /* calls handlers */
    WEIR_KIND_DISPATCHER, /* reads the log, and gives messages to their partitions */
    WEIR_KIND_SWEEP,      /* removes what every subscription has passed */
    WEIR_KIND_CHECK,      /* looks for what was missed; none runs today */
    WEIR_KIND_COUNT
};

struct weir_tuning {
    uint32_t batch; /* messages per handler call, rows per page or step; 1 to 10,000 */
    int64_t min_ns; /* pace, as struct weir_pace: min <= active */
    int64_t active_ns;
    int64_t ramp_ns;
    int64_t idle_ns;       /* how often it polls without a notification; at least 1 ms */
    int64_t retry_base_ns; /* wait after the first failure; above 0, at most retry_max */
    int64_t retry_max_ns;
    uint32_t
        degradation_threshold; /* failures in a row until batches shrink; at least 1 */
};

/* Limits of duration_ns. */
#define WEIR_LEASE_DURATION_MIN WEIR_MILLISECONDS(100)
#define WEIR_LEASE_DURATION_MAX WEIR_HOURS(1)

struct weir_lease_options {
    int64_t duration_ns; /* 100 ms to 1 h; default 30 s */
    int64_t headroom_ns; /* 0 to below duration; default 2 s */
};

struct weir_outbox_options {
    struct weir_db *db; /* borrowed until destroy() */
    struct weir_executor
        *executor;            /* borrowed; NULL: one of our own, of the right size */
    const char *process_name; /* for people; copied; NULL: host and process id, and a
                                 number from the second outbox on */
    enum weir_profile profile;
    const struct weir_tuning *tuning[WEIR_KIND_COUNT]; /* copied; NULL: the profile's */
    uint32_t handlers;               /* handler calls at once; 1 to 512; default 4 */
    uint32_t maintenance_guaranteed; /* permits that only reading may use; default 2 */
    uint32_t maintenance_shared;     /* permits of the sweep and of reading; default 1 */
    uint32_t pages_per_run;          /* pages the dispatcher reads per turn; default 8 */
    int64_t stats_interval_ns;       /* 0: no statistics; default 60 s */
    size_t payload_size_max;         /* up to WEIR_PAYLOAD_SIZE_MAX; default 64 KiB */
    size_t memory_max; /* of messages waiting in memory; 1 MiB or more; default 8 MiB */
    /* PostgreSQL: for applications that PREPARE their transactions, which a NOTIFY
     * forbids; delivery then begins within a second. SET LOCAL weir.notify = off does
     * the same for one transaction. */
    bool no_notify;
    bool no_savepoint; /* enqueue in a caller's transaction without a savepoint */
};

/* What happens to messages of a queue without a subscription. */
enum weir_unread { WEIR_UNREAD_KEEP, WEIR_UNREAD_DROP };

enum { WEIR_ATTEMPTS_MAX_MAX = 1000000 };

struct weir_queue_options {
    const char *name;   /* 1 to 1024 of A-Z a-z 0-9 . _ -, first and last alphanumeric */
    int32_t partitions; /* a power of two from 1 to 64; for ever */
    enum weir_unread unread;
    int64_t backlog_max; /* enqueue fails with WEIR_FULL above; about; 0: no limit */
    /* A message that has failed so often in calls of its own becomes a dead letter, and
     * the next one is delivered; 0: never, it is tried for ever. Up to
     * WEIR_ATTEMPTS_MAX_MAX. A process that ends counts against a message only if that
     * was called alone because a process had ended in its call before: a message that
     * kills its process each time costs two deaths more. */
    uint32_t attempts_max;
    /* Dead letters that were resolved or discarded are removed after this; 0: never. */
    int64_t dead_letter_retention_ns;
    /* What every subscription has passed is kept for so long after it was enqueued, for
     * a subscription that begins, or goes back; 0: it is removed. On PostgreSQL as much
     * as the log can hold: about seven million messages of all queues, and the oldest
     * are given up first. */
    int64_t retain_ns;
    /* For a queue that exists: the policies (enum weir_queue_policy) to be changed. One
     * that is not 0 is changed in any case; list one here to change it to 0. All others
     * stay as they are. */
    uint32_t named;
};

/* The policies of a queue: what may be changed later. */
enum weir_queue_policy {
    WEIR_POLICY_UNREAD = 1 << 0,
    WEIR_POLICY_BACKLOG_MAX = 1 << 1,
    WEIR_POLICY_ATTEMPTS_MAX = 1 << 2,
    WEIR_POLICY_DEAD_LETTER_RETENTION = 1 << 3,
    WEIR_POLICY_RETAIN = 1 << 4,
    WEIR_POLICY_ALL = (1 << 5) - 1
};

/* What a call did to a queue. */
struct weir_queue_change {
    bool added;                       /* the queue did not exist before */
    uint32_t changed;                 /* policies with another value than before */
    struct weir_queue_options before; /* of a queue that was added: the same as now */
    struct weir_queue_options now;    /* `name` is borrowed from the call's options */
};

enum weir_start { WEIR_START_BEGINNING, WEIR_START_NOW };

/* A subscription remembers which of the two serves it, and refuses the other: their
 * idea of "delivered" differs. */
enum weir_serving { WEIR_SERVED_BY_HANDLER, WEIR_SERVED_BY_SINK };

/*
 * Exactly one handler of the four. The first two run outside of any transaction and may
 * be called twice for a message, after a crash; the other two run inside the
 * transaction that moves the position, so that what they write to this database happens
 * once (weir/batch.h). They need a connection each while they run, get at most
 * WEIR_TRANSACTIONAL_BATCH_MAX messages, and are not for sinks. On SQLite, where they
 * would wait for each other, one call of each runs at a time.
 */
struct weir_handler_options {
    const char *queue;        /* copied; must exist */
    const char *subscription; /* as a queue's name; copied; NULL: "default" */
    enum weir_start start;    /* of a subscription that is new */
    enum weir_serving serving;
    weir_message_fn on_message;
    weir_batch_fn on_batch;
    weir_message_tx_fn on_message_tx;
    weir_batch_tx_fn on_batch_tx;
    void *state;      /* borrowed until destroy() */
    uint32_t permits; /* calls of this handler at once; 0: as many as the process's */
    struct weir_lease_options lease;
    int64_t budget_ns;                /* of one call; 0: the lease without its headroom */
    const struct weir_tuning *tuning; /* of its lanes; copied; NULL: the outbox's */
};

/* The body of weir_outbox_transact(): statements and enqueues on `connection`. It may run
 * several times, each time in a new transaction. */
typedef enum weir_status (*weir_outbox_body_fn)(struct weir_outbox *outbox,
                                                struct weir_connection *connection,
                                                void *argument, struct weir_error *error);

WEIR_BEGIN_DECLS

/* Create or bring up to date the tables of the outbox. Idempotent; any number of
 * processes may do it at once. Needs the owner's rights (docs/roles.md). */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_migrate(struct weir_db *db,
                                                           struct weir_error *error);

WEIR_API void weir_outbox_options_init(struct weir_outbox_options *self);
WEIR_API void weir_queue_options_init(struct weir_queue_options *self);
WEIR_API void weir_handler_options_init(struct weir_handler_options *self);

/* The numbers of a profile. */
WEIR_API struct weir_tuning weir_tuning_of(enum weir_profile profile,
                                           enum weir_worker_kind kind);

/*
 * Check the options and the schema. Fails with WEIR_INVALID (the text names field,
 * value and limit), WEIR_SCHEMA (not migrated, too new, or restored from another
 * cluster) or as the database does; *out is then NULL.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_create(const struct weir_outbox_options *options, struct weir_outbox **out,
                   struct weir_error *error);

/*
 * Register a queue: made if it is new, compared if it exists; then only the policies
 * that are named (`named`) are changed. WEIR_EXISTS when this outbox was given the name
 * before; WEIR_MISMATCH when it exists with another number of partitions; both numbers
 * are in the text. Before or after start().
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_add_queue(struct weir_outbox *self, const struct weir_queue_options *options,
                      struct weir_error *error);

/*
 * Change the policies of a queue that are named, and no other. `partitions` 0: any
 * number; else it is compared as above. `change` may be NULL. WEIR_NOT_FOUND: no such
 * queue. Running processes follow within seconds.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_set_queue(struct weir_outbox *self, const struct weir_queue_options *options,
                      struct weir_queue_change *change, struct weir_error *error);

/*
 * Serve a subscription of a queue from start() on. WEIR_NOT_FOUND: no such queue;
 * WEIR_EXISTS: this outbox serves that subscription already; WEIR_MISMATCH: a sink
 * serves it; WEIR_CLOSED: after start().
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_add_handler(struct weir_outbox *self,
                        const struct weir_handler_options *options,
                        struct weir_error *error);

/* Begin to deliver. On failure nothing runs, and it may be tried again. */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_start(struct weir_outbox *self,
                                                         struct weir_error *error);

/*
 * Begin no new call, give running ones up to `grace_ns`, release the leases. Returns
 * how many workers have not finished: 0 is clean. Their partitions move when their
 * leases run out. Enqueueing goes on. Without start(), or twice: 0.
 */
WEIR_API size_t weir_outbox_stop(struct weir_outbox *self, int64_t grace_ns);

/* stop(0) if need be, and free. NULL is fine. */
WEIR_API void weir_outbox_destroy(struct weir_outbox *self);

/*
 * Enqueue one message, or several of one queue, in order. `connection` is one of ours
 * with an open transaction, or an adopted one; NULL: a transaction of its own.
 * `receipts`, which may be NULL, has room for `count`.
 *
 * Checked in this order, before anything is written: queue name, then per draft type,
 * size, key, headers and route; queue known, partition in range. WEIR_INVALID,
 * WEIR_TOO_LARGE, WEIR_NOT_FOUND, WEIR_OUT_OF_RANGE, WEIR_FULL. A failed call leaves
 * the caller's transaction usable (unless the database has given it up: WEIR_CONFLICT,
 * WEIR_LOST) and without a trace of this call. On PostgreSQL, if a trigger of the
 * application skips rows (WEIR_SCHEMA), the transaction can only be rolled back.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_enqueue(struct weir_outbox *self, struct weir_connection *connection,
             const char *queue, const struct weir_draft *draft,
             struct weir_receipt *receipt, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_enqueue_batch(struct weir_outbox *self, struct weir_connection *connection,
                   const char *queue, const struct weir_draft *drafts, size_t count,
                   struct weir_receipt *receipts, struct weir_error *error);

/* Run `body` in a transaction, retry after a conflict with another one, and wake the
 * delivering processes when it has committed. A body that fails rolls back and wakes
 * no process. */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_transact(struct weir_outbox *self,
                                                            weir_outbox_body_fn body,
                                                            void *argument,
                                                            struct weir_error *error);

/* Something was committed: look now. Never blocks; many calls are one. */
WEIR_API void weir_outbox_flush(struct weir_outbox *self);

/*
 * Stop or resume delivery of a queue to all its subscriptions, in all processes (within
 * a few seconds in others). Enqueueing goes on. Calls that are running end as usual.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_pause_queue(struct weir_outbox *self,
                                                               const char *queue,
                                                               struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_resume_queue(struct weir_outbox *self,
                                                                const char *queue,
                                                                struct weir_error *error);

/*
 * Remove a queue with its subscriptions, positions and dead letters. Refused with
 * WEIR_BUSY while a message waits for any subscription, or a dead letter for a
 * decision, unless `force`.
 *
 * Takes a second, and up to ten more while transactions are open that may have
 * enqueued: all of this database on PostgreSQL, those that have enqueued into this
 * queue on MariaDB. If they do not end it is refused with WEIR_BUSY, with a text that
 * names them (MariaDB: how much they have enqueued), also by `force`. Meanwhile
 * producers are refused with WEIR_BUSY. If the process dies meanwhile, the queue can be
 * used again within half a minute.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_remove_queue(struct weir_outbox *self,
                                                                const char *queue,
                                                                bool force,
                                                                struct weir_error *error);

/* Borrowed; NULL when statistics are off or before start(). */
WEIR_API struct weir_stats *weir_outbox_stats(struct weir_outbox *self);

WEIR_END_DECLS

#endif
