/*
 * crew.h - processes that share a queue, and a ledger of everything their handlers were given.
 *
 *   crew_open(&crew, fixture, &options);           a queue, an outbox to enqueue with
 *   pid_t one = crew_start(&crew);                 a process of its own, or
 *   struct crew_member *two = crew_join(&crew);    an outbox of its own in this process
 *   crew_enqueue(&crew, 0, 100);
 *   wait_until(crew_done(&crew) == 100);
 *   crew_audit(&crew);
 *   crew_kill(&crew, one);
 *   crew_leave(two);
 *   crew_close(&crew);
 *
 * The ledger is a file that all of them map, so what a process has written stays when it is
 * killed. The test tells handlers through it what to do: hold a partition, fail, be slow, kill
 * the process at a message or at a named point.
 *
 * A process is this program once more, called with `--crew`; it never comes to main().
 *
 * Threads  The test's main thread.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_CREW_H
#define WEIR_TEST_CREW_H

#include <stdatomic.h>
#include <sys/types.h>

#include "lib/engines.h"
#include "weir/outbox.h"

enum { CREW_PARTITIONS_MAX = 64, CREW_RECORDS_MAX = 60000, CREW_POINT_SIZE = 64 };

/* One message given to a handler, in the order of these events over all processes. */
struct crew_record {
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

struct crew_options {
    int32_t partitions;    /* default 1 */
    uint32_t batch;        /* default 10 */
    uint32_t handlers;     /* default 4 */
    int64_t lease_ns;      /* default 500 ms */
    int64_t budget_ns;     /* default: the lease without a headroom of a fifth */
    int64_t retry_ns;      /* default 10 ms */
    size_t memory_max;     /* default: the outbox's */
    uint32_t attempts_max; /* of the queue; default: no limit */

    bool transactional; /* handlers are crew_book, for single messages */
    uint32_t mischief;  /* what crew_book does wrong, in 1000 messages; default none */
    /* faults of the driver in processes, at each such pass; 0: none */
    uint64_t lose_every;
    uint64_t fail_every;
    uint64_t lose_reply_every; /* of commits that were done */
};

/* Shared by all processes. */
struct crew_ledger {
    struct crew_options options;

    /* orders to handlers */
    _Atomic bool hold[CREW_PARTITIONS_MAX]; /* wait in each call before the answer */
    _Atomic uint32_t exempt;                /* process, plus one, that does not hold */
    _Atomic bool fail[CREW_PARTITIONS_MAX]; /* ask for a retry at each message */
    _Atomic int64_t slow_ns;                /* wait so long at each message */
    _Atomic int64_t
        poison; /* kill the process at the message of this number in partition 0 */
    char point[CREW_POINT_SIZE]; /* kill processes that start from now on here */
    uint64_t point_at;           /* at this pass */

    /* what happened */
    _Atomic uint32_t processes;
    _Atomic uint32_t ready; /* processes that have started */
    _Atomic uint32_t
        owner[CREW_PARTITIONS_MAX]; /* who is in a handler, plus one; 0: none */
    _Atomic uint32_t overlaps;      /* two at once in one partition */
    _Atomic uint32_t holding;       /* calls that wait because of `hold` */
    _Atomic int64_t
        done[CREW_PARTITIONS_MAX]; /* highest seq that a handler answered for */
    _Atomic size_t count;
    struct crew_record records[CREW_RECORDS_MAX];
};

struct crew {
    struct fixture *fixture;
    struct weir_outbox *outbox; /* to enqueue with */
    struct crew_ledger *ledger;
    char path[SERVER_PATH_SIZE];
    int64_t enqueued[CREW_PARTITIONS_MAX];
    int64_t audited[CREW_PARTITIONS_MAX]; /* stored when crew_note_stored() looked */
    size_t audited_from;                  /* the ledger's count just after that */
};

/* An outbox in this process. */
struct crew_member {
    struct crew_ledger *ledger;
    uint32_t process;
    struct weir_db *db;
    struct weir_outbox *outbox;
};

void crew_open(struct crew *self, struct fixture *fixture,
               const struct crew_options *options);
void crew_close(struct crew *self);

/* Processes: begin one and wait until it delivers; kill -9 it; end it in order. */
pid_t crew_start(struct crew *self);
pid_t crew_spawn(struct crew *self); /* does not wait */
void crew_kill(struct crew *self, pid_t pid);
void crew_end(struct crew *self, pid_t pid);

/* Members. */
struct crew_joining {
    struct weir_db *db;               /* becomes the member's; NULL: one of its own */
    struct weir_fault_points *points; /* NULL: none */
    bool patient;                     /* try each step again while it fails */
    weir_batch_fn on_batch;           /* NULL: crew_handle, with the member */
    void *state;
};
struct crew_member *crew_join(struct crew *self);
struct crew_member *crew_join_with(struct crew *self, const struct crew_joining *how);
void crew_leave(struct crew_member *member);

/* The handler of a member or process: `state` is a struct crew_member. */
enum weir_outcome crew_handle(struct weir_context *context, void *state,
                              struct weir_batch *batch, struct weir_reason *reason);

/*
 * The transactional handler: writes one effect (effects.h) for each message, and keeps no record.
 * Numbers that CREW_REJECTED divides are rejected, `poison` kills. With `mischief` it fails in every way that a
 * handler can: it asks for a retry, panics, has a statement that fails and says done or retry,
 * rolls back, tries to commit (SQLite), leaves a statement unread, kills its own connection.
 */
enum { CREW_REJECTED = 97 };
enum weir_outcome crew_book(struct weir_context *context, void *state,
                            struct weir_connection *connection,
                            const struct weir_message *message,
                            struct weir_reason *reason);

/* After the end: each message but the rejected ones has its effect, once. */
void crew_audit_effects(struct crew *self);

/* `count` messages for a partition, one transaction each; in one, up to 100; or one. */
void crew_enqueue(struct crew *self, int32_t partition, int count);
void crew_enqueue_together(struct crew *self, int32_t partition, int count);
enum weir_status crew_try_enqueue(struct crew *self, int32_t partition);

/* Microseconds since 1970, as in records. */
int64_t crew_now_us(void);

/* Pause the queue, or let it go on. */
void crew_pause(struct crew *self, bool paused);

/* Is this the message that kills? */
bool crew_is_poison(const struct crew_ledger *ledger, const struct weir_message *message);

/* Sum over all partitions of the highest seq answered for. */
int64_t crew_done(const struct crew *self);

/* As stored in the database. */
struct crew_lane {
    int64_t seq;
    int64_t epoch;
    uint32_t attempts;
    uint32_t crashes;
    int64_t lease_left_us;
    char owner[64];
};
struct crew_lane crew_read(struct crew *self, int32_t partition);
int64_t crew_stored(struct crew *self); /* sum of seq */

/* From now on no message may be given to anybody that is acknowledged now. */
void crew_note_stored(struct crew *self);

/*
 * Each partition was given everything, in order: seq without gap, the same seq is the same
 * message and the message of that number, a later owner has a larger epoch and begins not later
 * than its predecessor ended.
 */
void crew_audit(struct crew *self);

/* Records from `from` on, of a partition; NULL after the last. *from is moved on. */
const struct crew_record *crew_next(const struct crew *self, int32_t partition,
                                    size_t *from);

/* How many partitions are stored as this process's. A member is woken by being asked about: with
 * its point "keeper.eager" armed it looks at once for what it should have, and not in seconds. */
int crew_quota(struct crew *self, const char *owner);
int crew_quota_of(struct crew *self, const struct crew_member *member);

/* The name of process number `process` in the database. */
void crew_name(uint32_t process, char *out, size_t size);

#endif
