/*
 * subscription.h - what an operator does with the subscriptions of a queue.
 *
 * A subscription is made by the first handler or relay that serves it, and from then on
 * the log is kept until it has passed, whether a process serves it or not. Here it is
 * listed, stopped, moved and removed:
 *
 *   read      each subscription, what waits for it and which processes serve it
 *   pause     no delivery to this one until resume(); the others of its queue go on
 *   seek      deliver from another place of the log on: again, or leaving something out
 *   remove    forget it; the log is no longer kept for it
 *
 * seek() and remove() take the partitions away from the processes that serve them: the
 * epoch grows, and an acknowledgement that is under way is refused. After seek() a
 * process takes its partitions again, within a few seconds, and goes on from the new
 * place; no crash is counted. After remove() a process that has served it ends its
 * delivery (check_subscriptions()), and never makes it again.
 *
 * Order    A message keeps its `seq`, wherever the subscription is moved to.
 * Threads  Any thread. Each call is one transaction, but for seek(), which counts
 *          before it.
 * Failure  WEIR_NOT_FOUND: no such queue or subscription. After WEIR_IN_DOUBT read()
 *          tells. Every call may be repeated.
 */
#ifndef WEIR_SUBSCRIPTION_H
#define WEIR_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/outbox.h>

struct weir_subscription_info {
    const char *queue;
    const char *name;
    enum weir_serving serving;
    bool paused;
    bool queue_paused;
    uint32_t processes; /* that serve it and are alive */
    int64_t waiting;    /* in all partitions */
    bool waiting_is_estimate;
    int64_t oldest_age_us; /* of the oldest of these; 0: none */
    int64_t dead_letters;  /* that wait for a decision, claimed ones included */
    int64_t created_us;    /* when it was made, microseconds since 1970 */
};

typedef void (*weir_subscription_info_fn)(void *state,
                                          const struct weir_subscription_info *info);

/* Where a subscription is moved to. */
enum weir_seek_to {
    WEIR_SEEK_BEGINNING, /* before the oldest message that is whole for it */
    WEIR_SEEK_NOW,       /* behind everything that is committed */
    WEIR_SEEK_SEQ,       /* before message `seq` of one partition */
    WEIR_SEEK_TIME /* before the first message of the queue, in the log's order, that was
                            created at `time_us` or later; where there is none, as now */
};

/* All zero: all partitions to the beginning. */
struct weir_seek {
    enum weir_seek_to to;
    int64_t seq;     /* from 1; one behind the last message there is: as now */
    int64_t time_us; /* microseconds since 1970 */
    bool only;       /* one partition; needed for a seq if the queue has more than one */
    int32_t partition; /* which; else 0 */
    bool dry_run;      /* only tell what would be done */
};

/* What becomes of a partition: the numbers of the last message that counts as passed. */
struct weir_seek_info {
    int32_t partition;
    int64_t seq_before;
    int64_t seq_after;
};
typedef void (*weir_seek_info_fn)(void *state, const struct weir_seek_info *info);

/* A message that had been passed before the subscription was moved back, by delivery or
 * by an earlier seek, comes with this header, of value "true". */
#define WEIR_HEADER_REPLAY "weir-replay"

WEIR_BEGIN_DECLS

/* Each subscription, by queue and name. `queue` NULL: of all queues. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_subscriptions(struct weir_outbox *self, const char *queue,
                               weir_subscription_info_fn visit, void *state,
                               struct weir_error *error);

/*
 * Stop or resume delivery to one subscription, in all processes (within a few seconds
 * in others). Calls that are running end as usual. What comes meanwhile waits. The
 * queue has a switch of its own (weir/outbox.h): delivered is when neither is off.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_pause_subscription(struct weir_outbox *self, const char *queue,
                               const char *subscription, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_resume_subscription(struct weir_outbox *self, const char *queue,
                                const char *subscription, struct weir_error *error);

/*
 * Remove a subscription with its positions and dead letters. Refused with WEIR_BUSY
 * while a live process serves it, or one of its dead letters waits for a decision,
 * unless `force`. Messages that wait for it are no reason to refuse. A process that was
 * killed counts as alive until its time is over (weir_outbox_read_processes()).
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_remove_subscription(struct weir_outbox *self, const char *queue,
                                const char *subscription, bool force,
                                struct weir_error *error);

/*
 * Deliver from another place on, in all partitions or in one. Every message keeps its
 * `seq`: what is gone over in either direction is counted. What failed at the head is
 * forgotten with it: attempts, the wait for a retry, marks of calls. Dead letters stay
 * as they are; a message that is rejected again opens its dead letter again if that was
 * decided about.
 *
 * WEIR_OUT_OF_RANGE: messages are removed that the place is before; the text names the
 * oldest there is. (For a subscription that is itself the slowest of its queue that is
 * where it stands.) Or a seq that no message has yet. For a time it has to be known
 * that nothing created since then was removed: by an older message that is there, or by
 * the time since when there is everything (whole_from_us of weir/inspect.h).
 *
 * `visit`, which may be NULL, is called for each partition, once it is done.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_seek_subscription(struct weir_outbox *self, const char *queue,
                              const char *subscription, const struct weir_seek *seek,
                              weir_seek_info_fn visit, void *state,
                              struct weir_error *error);

/*
 * Are the subscriptions that this outbox serves still there? WEIR_NOT_FOUND names the
 * first that was removed, or its queue: nothing is delivered to it any more, and an
 * application that is to make it anew has to be started again. For an application's
 * health check.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_check_subscriptions(struct weir_outbox *self, struct weir_error *error);

WEIR_END_DECLS

#endif
