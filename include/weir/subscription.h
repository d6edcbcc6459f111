/*
 * subscription.h - what an operator does with the subscriptions of a queue.
 *
 * A subscription is made by the first handler or relay that serves it, and from then on the log is
 * kept until it has passed, whether anybody serves it or not. Here it is listed, stopped and removed:
 *
 *   read      each subscription, what waits for it and who serves it
 *   pause     no delivery to this one until resume(); the others of its queue go on
 *   remove    forget it; the log is no longer kept for it
 *
 * remove() takes the partitions away from whoever serves them: an acknowledgement that is under way is
 * refused. A process that has served it ends its delivery (check_subscriptions()), and never makes it
 * again.
 *
 * Threads  Any thread. Each call is one transaction.
 * Failure  WEIR_NOT_FOUND: no such queue or subscription. After WEIR_IN_DOUBT read() tells. Every call
 *          may be repeated.
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

WEIR_BEGIN_DECLS

/* Each subscription, by queue and name. `queue` NULL: of all queues. */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_read_subscriptions(struct weir_outbox *self, const char *queue,
                               weir_subscription_info_fn visit, void *state,
                               struct weir_error *error);

/*
 * Stop or resume delivery to one subscription, in all processes (within a few seconds in others).
 * Calls that are running end as usual. What comes meanwhile waits. The queue has a switch of its own
 * (weir/outbox.h): delivered is when neither is off.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_pause_subscription(struct weir_outbox *self, const char *queue,
                               const char *subscription, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_resume_subscription(struct weir_outbox *self, const char *queue,
                                const char *subscription, struct weir_error *error);

/*
 * Remove a subscription with its positions and dead letters. Refused with WEIR_BUSY while a live process
 * serves it, or one of its dead letters waits for a decision, unless `force`. Messages that wait for it
 * are no reason to refuse. A process that was killed counts as alive until its time is over
 * (weir_outbox_read_processes()).
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_remove_subscription(struct weir_outbox *self, const char *queue,
                                const char *subscription, bool force,
                                struct weir_error *error);

/*
 * Are the subscriptions that this outbox serves still there? WEIR_NOT_FOUND names the first that was
 * removed, or its queue: nothing is delivered to it any more, and an application that is to make it
 * anew has to be started again. For an application's health check.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_outbox_check_subscriptions(struct weir_outbox *self, struct weir_error *error);

WEIR_END_DECLS

#endif
