/*
 * process_pool.h - processes that share a queue, and a ledger of everything their
 * handlers were given.
 *
 *   process_pool_open(&crew, fixture, &options);           a queue, an outbox to
 *                                                          enqueue with
 *   pid_t one = process_pool_start(&crew);                 a process of its own, or
 *   struct pool_process *two = process_pool_join(&crew);    an outbox of its own in
 *                                                           this process
 *   process_pool_enqueue(&crew, 0, 100);
 *   wait_until(process_pool_done(&crew) == 100);
 *   process_pool_audit(&crew);
 *   process_pool_kill(&crew, one);
 *   process_pool_leave(two);
 *   process_pool_close(&crew);
 *
 * The ledger is a file that all of them map, so what a process has written stays when
 * it is killed. The test tells handlers through it what to do: hold a partition, fail,
 * be slow, kill the process at a message or at a named point.
 *
 * A process is this program once more, called with `--crew`; it never comes to main().
 *
 * Threads  The test's main thread.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_PROCESS_POOL_H
#define WEIR_TEST_PROCESS_POOL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "kit/db/engines.h"
#include "weir/outbox.h"

enum {
    PROCESS_POOL_PARTITIONS_MAX = 64,
    PROCESS_POOL_RECORDS_MAX = 60000,
    PROCESS_POOL_POINT_SIZE = 64
};

/* One message given to a handler, in the order of these events over all processes. */
struct process_pool_record {
    _Atomic bool written;
    uint32_t process;
    int32_t partition;
    uint32_t attempts;
    uint32_t batch; /* messages in its call */
    int64_t seq;
    int64_t epoch;
    int64_t number; /* the test's: 1, 2, 3, ... per partition, in the payload */
    int64_t
        at_us; /* since 1970: the clock of the databases too, which are on this machine */
    uint8_t uid[WEIR_UID_SIZE];
};

struct process_pool_options {
    int32_t partitions;    /* default 1 */
    uint32_t batch;        /* default 10 */
    uint32_t handlers;     /* default 4 */
    int64_t lease_ns;      /* default 500 ms */
    int64_t budget_ns;     /* default: the lease without a headroom of a fifth */
    int64_t retry_ns;      /* default 10 ms */
    size_t memory_max;     /* default: the outbox's */
    uint32_t attempts_max; /* of the queue; default: no limit */

    bool transactional; /* handlers are process_pool_book, for single messages */
    uint32_t
        mischief; /* what process_pool_book does wrong, in 1000 messages; default none */
    /* faults of the driver in processes, at each such pass; 0: none */
    uint64_t lose_every;
    uint64_t fail_every;
    uint64_t lose_reply_every; /* of commits that were done */
};

/* Shared by all processes. */
struct process_pool_ledger {
    struct process_pool_options options;

    /* orders to handlers */
    _Atomic bool
        hold[PROCESS_POOL_PARTITIONS_MAX]; /* wait in each call before the answer */
    _Atomic uint32_t exempt;               /* process, plus one, that does not hold */
    _Atomic bool fail[PROCESS_POOL_PARTITIONS_MAX]; /* ask for a retry at each message */
    _Atomic int64_t slow_ns;                        /* wait so long at each message */
    _Atomic int64_t
        poison; /* kill the process at the message of this number in partition 0 */
    char point[PROCESS_POOL_POINT_SIZE]; /* kill processes that start from now on here */
    uint64_t point_at;                   /* at this pass */

    /* what happened */
    _Atomic uint32_t processes;
    _Atomic uint32_t ready; /* processes that have started */
    _Atomic uint32_t
        owner[PROCESS_POOL_PARTITIONS_MAX]; /* who is in a handler, plus one; 0: none */
    _Atomic uint32_t overlaps;              /* two at once in one partition */
    _Atomic uint32_t holding;               /* calls that wait because of `hold` */
    _Atomic int64_t
        done[PROCESS_POOL_PARTITIONS_MAX]; /* highest seq that a handler answered for */
    _Atomic size_t count;
    struct process_pool_record records[PROCESS_POOL_RECORDS_MAX];
};

struct process_pool {
    struct fixture *fixture;
    struct weir_outbox *outbox; /* to enqueue with */
    struct process_pool_ledger *ledger;
    char path[SERVER_PATH_SIZE];
    int64_t enqueued[PROCESS_POOL_PARTITIONS_MAX];
    int64_t audited
        [PROCESS_POOL_PARTITIONS_MAX]; /* stored when process_pool_note_stored() looked */
    size_t audited_from;               /* the ledger's count just after that */
};

/* An outbox in this process. */
struct pool_process {
    struct process_pool_ledger *ledger;
    uint32_t process;
    struct weir_db *db;
    struct weir_outbox *outbox;
};

void process_pool_open(struct process_pool *self, struct fixture *fixture,
                       const struct process_pool_options *options);
void process_pool_close(struct process_pool *self);

/* Processes: begin one and wait until it delivers; kill -9 it; end it in order. */
pid_t process_pool_start(struct process_pool *self);
pid_t process_pool_spawn(struct process_pool *self); /* does not wait */
void process_pool_kill(struct process_pool *self, pid_t pid);
void process_pool_end(struct process_pool *self, pid_t pid);

/* Members. */
struct process_pool_joining {
    struct weir_db *db;               /* becomes the member's; NULL: one of its own */
    struct weir_fault_points *points; /* NULL: none */
    bool patient;                     /* try each step again while it fails */
    weir_batch_fn on_batch;           /* NULL: process_pool_handle, with the member */
    void *state;
};
struct pool_process *process_pool_join(struct process_pool *self);
struct pool_process *process_pool_join_with(struct process_pool *self,
                                            const struct process_pool_joining *how);
void process_pool_leave(struct pool_process *member);

/* The handler of a member or process: `state` is a struct pool_process. */
enum weir_outcome process_pool_handle(struct weir_context *context, void *state,
                                      struct weir_batch *batch,
                                      struct weir_reason *reason);

/*
 * The transactional handler: writes one effect (effects.h) for each message, and keeps
 * no record. Numbers that PROCESS_POOL_REJECTED divides are rejected, `poison` kills.
 * With `mischief` it fails in every way that a handler can: it asks for a retry,
 * panics, has a statement that fails and says done or retry, rolls back, tries to
 * commit (SQLite), leaves a statement unread, kills its own connection.
 */
enum { PROCESS_POOL_REJECTED = 97 };
enum weir_outcome process_pool_book(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason);

/* After the end: each message but the rejected ones has its effect, once. */
void process_pool_audit_effects(struct process_pool *self);

/* `count` messages for a partition, one transaction each; in one, up to 100; or one. */
void process_pool_enqueue(struct process_pool *self, int32_t partition, int count);
void process_pool_enqueue_together(struct process_pool *self, int32_t partition,
                                   int count);
enum weir_status process_pool_try_enqueue(struct process_pool *self, int32_t partition);

/* Microseconds since 1970, as in records. */
int64_t process_pool_now_us(void);

/* Pause the queue, or let it go on. */
void process_pool_pause(struct process_pool *self, bool paused);

/* Is this the message that kills? */
bool process_pool_is_poison(const struct process_pool_ledger *ledger,
                            const struct weir_message *message);

/* Sum over all partitions of the highest seq answered for. */
int64_t process_pool_done(const struct process_pool *self);

/* As stored in the database. */
struct process_pool_lane {
    int64_t seq;
    int64_t epoch;
    uint32_t attempts;
    uint32_t crashes;
    int64_t lease_left_us;
    char owner[64];
};
struct process_pool_lane process_pool_read(struct process_pool *self, int32_t partition);
int64_t process_pool_stored(struct process_pool *self); /* sum of seq */

/* From now on no message may be given to anybody that is acknowledged now. */
void process_pool_note_stored(struct process_pool *self);

/*
 * Each partition was given everything, in order: seq without gap, the same seq is the
 * same message and the message of that number, a later owner has a larger epoch and
 * begins not later than its predecessor ended.
 */
void process_pool_audit(struct process_pool *self);

/* Records from `from` on, of a partition; NULL after the last. *from is moved on. */
const struct process_pool_record *process_pool_next(const struct process_pool *self,
                                                    int32_t partition, size_t *from);

/* How many partitions are stored as this process's. A member is woken by being asked
 * about: with its point "lease_keeper.eager" armed it looks at once for what it should
 * have, and not in seconds. */
int process_pool_quota(struct process_pool *self, const char *owner);
int process_pool_quota_of(struct process_pool *self, const struct pool_process *member);

/* The name of process number `process` in the database. */
void process_pool_name(uint32_t process, char *out, size_t size);

#endif
