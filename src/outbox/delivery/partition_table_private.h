/*
 * partition_table_private.h - the inside of partition_table.h: leased partitions and
 * the partition table itself.
 *
 * Three sources share it: partition_table.c (life, and what the lease keeper does),
 * partition_table_fill.c (readers) and partition_table_run.c (handler threads and the
 * acker). All of it is under the partition table's lock.
 *
 *   I1  the buffered messages of a leased partition are consecutive messages of its
 *       partition, the first one right behind `position`, the last one right before or
 *       at `read`
 *   I2  a leased partition that is not behind has every message up to the front of the
 *       main reader
 *   I3  a leased partition is in the list of its state (ready, retrying, acking) and in
 *       no other
 *   I4  a leased partition that was lost is in no list of leased partitions; it lives
 *       on only for a handler or an ack that still has it
 *   I5  `bytes` of the partition table is the sum over all buffered messages
 *   I6  a leased partition reads on from before what was removed of its queue only if
 *       its lease was ours after that removal: then nothing behind `read` is missing,
 *       and numbers are right
 *   I7  a leased partition with a mark of its own (mark.h) runs, or its ack is under
 *       way, or it is leaving
 *   I8  `trial` is the one suspect that runs or whose ack is under way: until then its
 *       mark says "alone", and no other message that may end the process is called
 *       alone beside it
 *   I9  `position` is ahead of the stored one only by calls that were answered with
 *       WEIR_DONE, and only while the leased partition is deferred, storing or acking;
 *       its version is the stored one. What is unstored and what is being called are
 *       together no more than one batch
 */
#ifndef WEIR_OUTBOX_DELIVERY_LEASED_H
#define WEIR_OUTBOX_DELIVERY_LEASED_H

#include "outbox/delivery/partition_table.h"
#include "ward/lock.h"
#include "weir/notifier.h"

enum weir_partition_state {
    WEIR_PARTITION_IDLE,
    WEIR_PARTITION_READY,
    WEIR_PARTITION_RUNNING,
    WEIR_PARTITION_ACKING,
    WEIR_PARTITION_RETRYING,
    WEIR_PARTITION_LEAVING
};

struct weir_leased_partition {
    struct weir_list turn; /* I3; of an orphan: in the partition table's `orphans` */
    struct weir_subscriber *subscriber;
    struct weir_lease lease;
    int64_t taken_ns;     /* since when it is ours; by the clock that leases end by */
    int64_t lease_end_ns; /* by the same (ward/executor.h): no call begins later */
    enum weir_partition_state state;
    struct weir_stored_position position; /* as stored, and with what a mark has added;
                                             or ahead of it (I9) */
    struct weir_batch_sizer batch_sizer;

    struct weir_list buffered_messages;
    size_t count;
    size_t bytes;
    struct weir_log_position
        read; /* everything up to here is in `buffered_messages`, or passed */
    int64_t seq_read;
    struct weir_removal asked; /* its lease was ours when that was removed (I6) */
    bool given;                /* a message has been in it since it was admitted */
    bool behind;
    bool near;       /* one more page of the follower and it is at the front */
    bool blocked;    /* it was full in the middle of the follower's page */
    bool in_page[2]; /* by reader: the page under way is for it too */

    bool leaving; /* given up as soon as nothing is under way */
    bool lost;
    bool overrun;  /* the call's budget is over: its lease is not renewed any more */
    bool forgiven; /* its crashes were not caused by a message; to be stored */
    bool suspect;  /* an owner before us ended with a mark of its head */

    /* the call, and then its ack */
    struct weir_batch *batch;                   /* the handler's, while it runs */
    struct weir_batch_sizer batch_sizer_before; /* as it was when the call began */
    size_t call_count;
    int64_t begun_ns;
    int64_t deadline_ns;
    int64_t due_ns; /* of a retry */
    int64_t
        drained_ns; /* its place was last stored because it had fallen behind; 0: never */
    bool collected; /* the acker has it */
    struct weir_list deferring; /* I9: in the table's `deferred` */
    bool deferred;              /* it is there: `position` is to be stored */
    bool storing;               /* the acker stores what `position` was */
    size_t unstored;            /* messages passed since the stored position */
    size_t unstored_taken;      /* of these, those that the acker stores */
    int64_t deferred_ns;        /* when the oldest of `unstored` was answered */
    struct weir_stored_position next;
    size_t processed;
    bool retry;
    bool clear_crashes;
    bool clearing; /* the ack does nothing but end a mark */
    char error[WEIR_ERROR_TEXT_SIZE];
    struct weir_batch_rejection *reasons; /* owned */
    struct weir_rejection *rejections; /* owned; views of buffered messages and reasons */
    size_t rejection_count;
    bool given_up; /* what is rejected has failed too often */
};

struct weir_partition_table {
    struct weir_partition_table_options options;

    struct weir_lock lock; /* guards all that follows */
    struct weir_leased_partition *
        *leased_partitions; /* owned; by pid, then subscription */
    size_t leased_count;
    size_t leased_capacity;
    struct weir_list ready;    /* oldest first */
    struct weir_list retrying; /* soonest first */
    struct weir_list acking;   /* oldest first */
    struct weir_list deferred; /* by `deferring`; oldest first */
    int64_t collected_ns;      /* when acks were collected last */
    bool hurry;                /* do not wait for more */
    struct weir_list orphans;
    size_t bytes;
    size_t messages;
    size_t running;
    struct weir_leased_partition *trial; /* I8; NULL: none */
    size_t holds;                        /* the outbox's, and one per call */
    bool closed;
    int64_t clock_offset_us; /* database's clock minus ours */

    bool front_known;
    struct weir_log_position front;
    struct weir_log_position follower_target; /* the front when its page began */
    bool waits[2];                            /* the reader was sent away */
    int64_t *pids[2];                         /* owned: of the page under way */
    size_t pid_capacity[2];
    struct weir_removal *removals[2]; /* owned: of its queues; as many */
};

/* ---- leased partitions (partition_table.c) ----------------------------------------- */

/* The first leased partition of a partition, or the place where it would be; and the
 * one of a key. */
size_t weir_partition_table_find_pid(const struct weir_partition_table *self, int64_t pid)
    WEIR_REQUIRES(self->lock);
struct weir_leased_partition *
weir_partition_table_find(const struct weir_partition_table *self,
                          struct weir_lease_key key, int64_t epoch)
    WEIR_REQUIRES(self->lock);

/* Drop what is behind the first `keep` buffered messages; the leased partition is
 * behind then, if anything went. */
void weir_leased_partition_trim(struct weir_partition_table *self,
                                struct weir_leased_partition *leased, size_t keep)
    WEIR_REQUIRES(self->lock);

/* Pass the first `count` buffered messages. */
void weir_leased_partition_pass(struct weir_partition_table *self,
                                struct weir_leased_partition *leased, size_t count)
    WEIR_REQUIRES(self->lock);

/* To a state, into its list. */
void weir_leased_partition_move(struct weir_partition_table *self,
                                struct weir_leased_partition *leased,
                                enum weir_partition_state state)
    WEIR_REQUIRES(self->lock);

/* Begin from what is stored, and from the mark that an owner before us has left. Under
 * the lock of the table. */
void weir_leased_partition_adopt(struct weir_leased_partition *leased,
                                 const struct weir_stored_position *position);

/* The ack that ends its mark; counts what the mark has recorded. */
void weir_leased_partition_describe_clearing(struct weir_leased_partition *leased);

/* How many messages may still be passed or called before the position is stored. */
size_t weir_leased_partition_room(const struct weir_leased_partition *leased);

/* The position has moved, which may be stored later (I9). */
void weir_leased_partition_defer(struct weir_partition_table *self,
                                 struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock);

/* It is to be stored, and the leased partition waits for that. */
void weir_leased_partition_store(struct weir_partition_table *self,
                                 struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock);

/* Nothing is under way any more: ready, idle, or leaving. */
void weir_leased_partition_rest(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock);

/* Take it out of the partition table. Freed at once, or when handler and acker are done
 * with it. */
void weir_leased_partition_remove(struct weir_partition_table *self,
                                  struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock);
void weir_leased_partition_lose(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock); /* the same, and it is counted as lost */
void weir_leased_partition_forget_ack(struct weir_partition_table *self,
                                      struct weir_leased_partition *leased);
void weir_leased_partition_free(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock);

/* A partition table whose owner is gone wakes nothing. */
static inline void weir_partition_table_notify(struct weir_notifier *notifier)
{
    if (notifier != NULL)
        weir_notifier_notify_one(notifier);
}

/* There may be something to read again. */
void weir_partition_table_wake_readers(struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock);

/* Give up a hold; true: it was the last, free it after unlocking with roster_free(). */
bool weir_partition_table_drop_hold(struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock);
void weir_partition_table_free(struct weir_partition_table *self);

#endif
