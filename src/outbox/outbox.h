/*
 * outbox.h - the inside of weir/outbox.h: one outbox of one process.
 *
 *   enqueue.c      producers                         any thread
 *   registry.c     queues by name, remembered        any thread
 *   dispatcher.c   reads the log into leased partitions          two workers: main
 *                  reader and follower
 *   handler_runner.c       calls handlers                    as many workers as permits
 *   acker.c        moves positions                   one worker
 *   lease_keeper.c       leases, members, shares           one worker on a thread
 *                        without user code
 *   tx_watchdog.c   cancels statements of handlers    likewise; for transactional
 *                   handlers only
 *   sweeper.c      removes what all have passed      one worker
 *   retention.c    removes old dead letters          one worker
 *
 * Each of them is a worker of the ward; the leased partitions between them are in
 * partition_table.h. Two wards: the callers are stopped first, while the others still
 * renew their leases and store their acks.
 */
#ifndef WEIR_OUTBOX_OUTBOX_H
#define WEIR_OUTBOX_OUTBOX_H

#include <stdatomic.h>

#include "db/wake.h"
#include "outbox/delivery/ack_health.h"
#include "outbox/delivery/partition_table.h"
#include "outbox/delivery/tx.h"
#include "outbox/engine.h"
#include "outbox/log/cut_pace.h"
#include "outbox/log/log.h"
#include "outbox/notify_limit.h"
#include "outbox/queue/catalog.h"
#include "outbox/queue/registry.h"
#include "weir/executor.h"
#include "weir/listener.h"
#include "weir/notifier.h"
#include "weir/outbox.h"
#include "weir/stats.h"
#include "weir/ward.h"

enum { WEIR_CHANNEL_SIZE = 49, WEIR_PROCESS_NAME_SIZE = 128, WEIR_OUTBOX_NOTIFIERS = 9 };

/* How often the main reader polls without a notification: polling is the truth. */
#define WEIR_OUTBOX_POLL_NS WEIR_SECONDS(1)

/* From one group of acks to the next, where a commit of acks keeps all others from
 * writing and no partition has to wait for its ack. */
#define WEIR_OUTBOX_ACK_PACE_NS WEIR_MILLISECONDS(20)

/* What wakes which worker. */
enum weir_outbox_notifier_id {
    WEIR_NOTIFY_MAIN, /* the main reader: something committed, room, leased partitions */
    WEIR_NOTIFY_FOLLOWER, /* the follower: a leased partition behind has room */
    WEIR_NOTIFY_WORK,     /* callers: a leased partition is ready */
    WEIR_NOTIFY_ACKS,     /* the acker */
    WEIR_NOTIFY_LEASE_KEEPER,
    WEIR_NOTIFY_TX_WATCHDOG, /* a call whose time is over sooner than it believes */
    WEIR_NOTIFY_SWEEP,
    WEIR_NOTIFY_RETENTION, /* at the start only */
    WEIR_NOTIFY_PUBLISHER  /* likewise */
};

/* What an execution of any worker of ours has done. */
struct weir_outbox_report {
    uint64_t messages;
};
extern const struct weir_report_type weir_outbox_report_type;

struct weir_outbox {
    struct weir_db *db;           /* borrowed */
    const struct weir_heap *heap; /* borrowed: the database's */
    struct weir_log
        own_logger; /* a copy: a handler that hangs may outlive the database */
    const struct weir_log *logger; /* of it: where we log to */
    struct weir_outbox_options options;
    struct weir_tuning tuning[WEIR_KIND_COUNT];
    struct weir_fault_points *points; /* for tests; NULL: none */
    _Atomic int64_t owner; /* this process in leases and members: random; another one when
                              its liveness session was lost (liveness.h) */
    char name[WEIR_PROCESS_NAME_SIZE];
    char channel[WEIR_CHANNEL_SIZE];
    const struct weir_outbox_engine *engine;
    struct weir_outbox_log log;
    struct weir_cut_pace cut_pace; /* the log's */
    struct weir_registry registry;
    struct weir_notify_limit notify_limit; /* of the producers */
    struct weir_ack_health acking;

    struct weir_subscriber **subscribers; /* owned; until destroy() */
    size_t subscriber_count;
    size_t unfinished;              /* workers that stop() had to leave behind */
    struct weir_listener listener;  /* writes to our log */
    _Atomic uint64_t pages_read[2]; /* by reader, as the next; since create() */
    _Atomic uint64_t rows_read[2];
    _Atomic uint64_t rows_swept;

    /* from start() to stop() */
    bool started;
    bool own_executor;
    struct weir_executor *executor;
    struct weir_notifier *notifiers[WEIR_OUTBOX_NOTIFIERS];
    struct weir_partition_table *partition_table;
    struct weir_ward *handler_runners;
    struct weir_ward *internal_workers;
    struct weir_gate *guaranteed;
    struct weir_gate *shared;
    struct weir_wake *wake;
    struct weir_stats *stats;
    struct weir_reporter *reporter;
    struct weir_dispatcher *readers[2];
    void *handler_runner_states; /* owned: handler_runner.c */
    struct weir_tx
        *transactions; /* owned: one per caller; NULL: no transactional handler */
    size_t transaction_count;
    _Atomic int64_t watch_ns; /* when the transaction watchdog looks at them again */
    struct weir_lease_keeper *lease_keeper;
    struct weir_sweeper *sweeper;
    struct weir_retention *retention;
    struct weir_outbox_report moved; /* the acker's */
    _Atomic bool alone; /* no other process serves our subscriptions: none to notify */
};

/* For tests: named places in the workers. Before start(). */
void weir_outbox_set_fault_points(struct weir_outbox *self,
                                  struct weir_fault_points *points);

/*
 * The subscriber of this subscription; NULL: none in this outbox. Constant until
 * destroy().
 */
const struct weir_subscriber *weir_outbox_find_subscriber(const struct weir_outbox *self,
                                                          const char *queue,
                                                          const char *subscription);

/* Take a connection for the current step; owes weir_db_release(). */
WEIR_CHECKED enum weir_status weir_outbox_connect(struct weir_outbox *self,
                                                  struct weir_connection **out,
                                                  struct weir_error *error);

/* weir_outbox_add_queue(), and what it did. `change` may be NULL. */
WEIR_CHECKED enum weir_status
weir_outbox_add_queue_telling(struct weir_outbox *self,
                              const struct weir_queue_options *options,
                              struct weir_queue_change *change, struct weir_error *error);

/* May `count` more messages wait in this queue? WEIR_FULL: not now. Counts them, if
 * so. */
WEIR_CHECKED enum weir_status
weir_outbox_check_room(struct weir_outbox *self, struct weir_connection *connection,
                       const char *queue, const struct weir_queue_row *row, size_t count,
                       struct weir_error *error);

/* What waits in a queue, counted as exactly as status does (inspect.c); 0: there is no
 * such queue. Outside of any transaction, on a connection of ours. */
WEIR_CHECKED enum weir_status
weir_outbox_count_waiting(struct weir_outbox *self, struct weir_connection *connection,
                          const char *queue, int64_t *waiting, struct weir_error *error);

/* Something is new for the main reader: look now. Does nothing before start(). */
void weir_outbox_notify(struct weir_outbox *self, enum weir_outbox_notifier_id notifier);

/* ---- the workers: each spawns itself into the outbox's wards ----------------------- */

WEIR_CHECKED enum weir_status weir_dispatcher_spawn(struct weir_outbox *outbox,
                                                    enum weir_reader_kind kind,
                                                    struct weir_error *error);
WEIR_CHECKED enum weir_status weir_handler_runners_spawn(struct weir_outbox *outbox,
                                                         struct weir_error *error);
WEIR_CHECKED enum weir_status weir_acker_spawn(struct weir_outbox *outbox,
                                               struct weir_error *error);
WEIR_CHECKED enum weir_status weir_lease_keeper_spawn(struct weir_outbox *outbox,
                                                      struct weir_error *error);
WEIR_CHECKED enum weir_status weir_sweeper_spawn(struct weir_outbox *outbox,
                                                 struct weir_error *error);

/*
 * The transaction watchdog, and the transactions that it watches: made when there is a
 * handler that needs them. note(): a handler begins, and has to be done at
 * `deadline_ns`. abandon(): leave those behind that are in a handler; false: another
 * one is not, and soon done. dismiss(): none is.
 */
bool weir_tx_watchdog_is_needed(const struct weir_outbox *outbox);
WEIR_CHECKED enum weir_status weir_tx_watchdog_spawn(struct weir_outbox *outbox,
                                                     struct weir_error *error);
void weir_tx_watchdog_note(struct weir_outbox *outbox, int64_t deadline_ns);
bool weir_tx_watchdog_abandon(struct weir_outbox *outbox);
void weir_tx_watchdog_dismiss(struct weir_outbox *outbox);

WEIR_CHECKED enum weir_status weir_retention_spawn(struct weir_outbox *outbox,
                                                   struct weir_error *error);
WEIR_CHECKED enum weir_status weir_publisher_spawn(struct weir_outbox *outbox,
                                                   struct weir_error *error);

/* One group of acks, on this thread; *count gets how many. Also used by stop(). */
WEIR_CHECKED enum weir_status weir_acker_flush(struct weir_outbox *outbox, size_t *count,
                                               struct weir_error *error);

/* A group was acknowledged: now and then that is worth a sweep. */
void weir_sweeper_note(struct weir_outbox *outbox);

/* Take leases at once, so that start() begins to deliver; and give all of them up. */
WEIR_CHECKED enum weir_status weir_lease_keeper_arrive(struct weir_outbox *outbox,
                                                       struct weir_error *error);
enum weir_depart { WEIR_DEPART_RELEASING, WEIR_DEPART_AT_ONCE /* they run out */ };
void weir_lease_keeper_depart(struct weir_outbox *outbox, enum weir_depart how);

/* A worker with the outbox's ways: listener of the log, statistics under `category`
 * (the messages of an execution are those of its weir_outbox_report), panics are
 * errors. The caller fills in name, action, state, notifiers and pace. */
struct weir_outbox_worker_options {
    struct weir_worker_options worker;
    const char *category;
    bool handler_runner; /* into the ward of callers */
};
WEIR_CHECKED enum weir_status
weir_outbox_spawn(struct weir_outbox *self,
                  const struct weir_outbox_worker_options *options,
                  struct weir_error *error);

/* Such a worker beside delivery: it runs as its directives say, and when this notifier is
 * signalled; the name is the category. */
WEIR_CHECKED enum weir_status weir_outbox_spawn_maintenance(
    struct weir_outbox *self, const char *name, weir_action_fn action, void *state,
    enum weir_outbox_notifier_id notifier, struct weir_error *error);

#endif
