/*
 * lease_keeper.c - keeps the leases of a process, sends its heartbeat, and rebalances.
 *
 * It runs on a thread that never runs user code, so that no handler, however slow, can
 * cost a lease. In each round it releases leased partitions that are leaving, renews
 * the leases of the others, says that the process is alive, and takes or gives up
 * partitions until it has its quota (process.h).
 *
 * A process that has died without its lock (liveness.h) is *evicted*: its leases end,
 * and then its membership, in this order, so that a process that evicts and dies leaves
 * it to the next one. Several may evict it at once.
 *
 * When our own liveness session is lost others may declare us dead, and be at our
 * partitions already. So all leased partitions are given up at once, before anything is
 * written to the database; running handlers are asked to stop, and their acks are
 * refused. Then the process comes back under another number: what is left of the former
 * one is released, and partitions are taken as a newcomer takes them.
 *
 * Lost is also a session that others do not see, because they look on another server
 * (liveness.h). So from each connection it is looked for before a heartbeat on it says
 * that there is one; and while there is no connection to be had, a session on a server
 * that takes no writes is given up.
 *
 * A process in which a handler hangs cannot take that partition again, and the others
 * have their quotas. So a partition that is orphaned for two heartbeats is taken beyond
 * the quota; another one is given up for it, held for longer, which that process can
 * take.
 *
 *   renew   every third of the shortest lease
 *   beat    as often, at most every 3 s; sooner while another process should give us
 *           something, when a process has joined, left or died, and when
 *           the time of one that sends no heartbeat is over
 *   look    at the others, while there are any (failure_detector.h)
 *
 * If the database cannot be reached leases run out by themselves. No call begins once
 * our own clock says that they have; and what was running is refused when it acks.
 */
#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "outbox/delivery/mark.h"
#include "outbox/lease/failure_detector.h"
#include "outbox/lease/process.h"
#include "outbox/outbox.h"
#include "ward/executor.h"
#include "weir/subscription.h"

#define HEARTBEAT_MAX_NS WEIR_SECONDS(3)
#define HEARTBEAT_SOON_NS WEIR_MILLISECONDS(250)

enum { OCCUPIED_MAX = 2 * WEIR_PARTITIONS_MAX, LEAVE_ATTEMPTS = 3 };

struct weir_lease_keeper {
    struct weir_outbox *outbox;
    int64_t renew_ns;     /* when next, by the clock that leases end by */
    int64_t heartbeat_ns; /* by the one that timers go by */
    struct weir_failure_detector failure_detector;
    int64_t former; /* our number before; something may be left of it; 0: none */
    bool untidy;    /* leases may have our name that we know nothing of */
    struct weir_quota *quotas; /* owned; one per subscriber */
    int64_t *orphaned_ns; /* owned; one per subscriber: free since then; 0: none is */
    struct weir_lease *leases; /* owned; room for all leased partitions there can be */
    struct weir_ack *acks;     /* owned; as many */
    struct weir_stored_position *positions; /* owned; as many */
    size_t lease_max;
};

/* ---- leaving ----------------------------------------------------------------------- */

/* Leased partitions that nothing waits for also say how far the log was read for them.
 * Those with a mark end it, each by itself, so that what it has recorded is kept; it
 * counts no more once the lease is released. */
static enum weir_status store_positions(struct weir_lease_keeper *self,
                                        struct weir_connection *connection, size_t count,
                                        struct weir_error *error)
{
    int64_t owner = self->outbox->owner;
    size_t worth = 0;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (self->acks[i].is_mark)
            status = weir_ack_move(connection, owner, &self->acks[i], 1, error);
        else if (self->acks[i].epoch != 0)
            self->acks[worth++] = self->acks[i];
    }
    if (status != WEIR_OK || worth == 0)
        return status;
    return weir_ack_move(connection, owner, self->acks, worth, error);
}

static enum weir_status release_leaving(struct weir_lease_keeper *self,
                                        struct weir_connection *connection, bool all,
                                        struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    size_t count = weir_partition_table_take_leaving(
        outbox->partition_table, all, self->leases, self->acks, self->lease_max);
    enum weir_status status = WEIR_OK;

    if (count == 0)
        return WEIR_OK;
    /* It costs the next owner some reading, and where acks are deferred it may repeat up
     * to a batch of each partition. */
    if (store_positions(self, connection, count, error) != WEIR_OK)
        weir_log_event(outbox->logger, WEIR_LOG_DEBUG, "outbox.place_not_stored",
                       "count=%zu", count);
    (void)WEIR_POINT(outbox->points, "lease_keeper.leaving");
    if (WEIR_POINT(outbox->points, "lease_keeper.cannot_release"))
        status = weir_error_set(error, WEIR_LOST, "lost by order of a test");
    else
        status =
            weir_lease_release(connection, outbox->owner, self->leases, count, error);
    self->untidy |=
        status != WEIR_OK; /* the partition table has forgotten them already */
    (void)WEIR_POINT(outbox->points, "lease_keeper.released");
    if (status == WEIR_OK && !atomic_load(&outbox->alone)) {
        status = weir_wake_send(connection, outbox->channel, error);
        weir_wake_signal(outbox->db, outbox->channel);
    }
    return status;
}

static enum weir_status forgive(struct weir_lease_keeper *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    size_t count = weir_partition_table_take_forgiven(outbox->partition_table,
                                                      self->leases, self->lease_max);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = weir_lease_forgive(connection, outbox->owner, &self->leases[i], error);
    return status;
}

/* ---- renewing ---------------------------------------------------------------------- */

static int64_t shortest_lease(const struct weir_outbox *outbox)
{
    int64_t shortest_ns = WEIR_FOREVER;

    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        if (outbox->subscribers[i]->lease_ns < shortest_ns)
            shortest_ns = outbox->subscribers[i]->lease_ns;
    }
    return shortest_ns;
}

static int64_t heartbeat_interval(const struct weir_outbox *outbox)
{
    int64_t third_ns = shortest_lease(outbox) / 3;

    return third_ns < HEARTBEAT_MAX_NS ? third_ns : HEARTBEAT_MAX_NS;
}

static const struct weir_subscriber *find_subscriber(const struct weir_outbox *outbox,
                                                     int64_t subscription)
{
    const struct weir_subscriber *subscriber = NULL;

    for (size_t i = 0; i < outbox->subscriber_count && subscriber == NULL; i++) {
        if (outbox->subscribers[i]->subscription_id == subscription)
            subscriber = outbox->subscribers[i];
    }
    return subscriber;
}

static void note_lost(struct weir_lease_keeper *self, const struct weir_lease *lease)
{
    struct weir_outbox *outbox = self->outbox;
    const struct weir_subscriber *subscriber =
        find_subscriber(outbox, lease->key.subscription);

    weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.lease_lost",
                   "queue=%s subscription=%s partition=%d", subscriber->queue,
                   subscriber->subscription, weir_pid_partition(lease->key.pid));
    weir_partition_table_lose(outbox->partition_table, lease->key, lease->epoch);
    self->heartbeat_ns = 0; /* and look for another one */
}

/* The leases of all subscribers that last as long as that of subscribers[first]; none
 * if one before it does: then they were renewed with that. */
static size_t list_leases(struct weir_lease_keeper *self, size_t first)
{
    const struct weir_outbox *outbox = self->outbox;
    int64_t lease_ns = outbox->subscribers[first]->lease_ns;
    size_t count = 0;

    for (size_t i = 0; i < first; i++) {
        if (outbox->subscribers[i]->lease_ns == lease_ns)
            return 0;
    }
    for (size_t i = first; i < outbox->subscriber_count; i++) {
        if (outbox->subscribers[i]->lease_ns == lease_ns)
            count += weir_partition_table_leases(
                outbox->partition_table, outbox->subscribers[i], self->leases + count,
                self->lease_max - count);
    }
    return count;
}

/* Of one length in one statement: a process that has nothing to do still renews. */
static enum weir_status renew_like(struct weir_lease_keeper *self,
                                   struct weir_connection *connection, size_t first,
                                   struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t now_ns = weir_executor_boot_now(outbox->executor);
    size_t count = list_leases(self, first);
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = weir_lease_renew(connection, outbox->owner,
                              outbox->subscribers[first]->lease_ns / 1000, self->leases,
                              count, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const struct weir_lease *lease = &self->leases[i];

        if (lease->kept)
            weir_partition_table_renewed(outbox->partition_table, lease->key,
                                         lease->epoch, now_ns);
        else
            note_lost(self, lease);
    }
    return status;
}

static enum weir_status renew(struct weir_lease_keeper *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t now_ns = weir_executor_boot_now(outbox->executor);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < outbox->subscriber_count && status == WEIR_OK; i++)
        status = renew_like(self, connection, i, error);
    (void)WEIR_POINT(outbox->points, "lease_keeper.renewed");
    if (status == WEIR_OK)
        self->renew_ns = weir_sat_add_i64(now_ns, shortest_lease(outbox) / 3);
    return status;
}

/* ---- quotas ------------------------------------------------------------------------ */

/* What an owner that died has left is worth a line: it leads to a dead letter. */
static void log_mark(const struct weir_outbox *outbox,
                     const struct weir_subscriber *subscriber,
                     const struct weir_lease *lease,
                     const struct weir_stored_position *position)
{
    enum weir_mark mark = weir_mark_find(position, lease);

    if (mark != WEIR_MARK_NONE)
        weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.suspect",
                       "queue=%s subscription=%s partition=%d seq=%lld text=\"%s\"",
                       subscriber->queue, subscriber->subscription,
                       weir_pid_partition(lease->key.pid), (long long)position->seq + 1,
                       mark == WEIR_MARK_ALONE
                           ? "its process ended in its call alone: a failed attempt"
                           : "a process ended in its call: it is called alone");
}

static enum weir_status admit(struct weir_lease_keeper *self,
                              struct weir_subscriber *subscriber,
                              const struct weir_lease *lease,
                              const struct weir_stored_position *position, int64_t now_us,
                              int64_t taken_ns, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t wait_ns =
        position->retry_us > now_us ? (position->retry_us - now_us) * 1000 : 0;
    enum weir_status status = weir_partition_table_admit(
        outbox->partition_table, subscriber, lease, position, wait_ns, taken_ns);

    if (status != WEIR_OK)
        return weir_error_set(error, status, "take a partition: %s",
                              weir_status_text(status));
    weir_log_event(outbox->logger, WEIR_LOG_DEBUG, "outbox.lease_taken",
                   "queue=%s subscription=%s partition=%d epoch=%lld crashes=%u",
                   subscriber->queue, subscriber->subscription,
                   weir_pid_partition(lease->key.pid), (long long)lease->epoch,
                   lease->crashes);
    log_mark(outbox, subscriber, lease, position);
    return WEIR_OK;
}

static enum weir_status admit_all(struct weir_lease_keeper *self,
                                  struct weir_connection *connection, size_t index,
                                  size_t count, int64_t taken_ns,
                                  struct weir_error *error)
{
    struct weir_subscriber *subscriber = self->outbox->subscribers[index];
    int64_t now_us = self->quotas[index].now_us;
    enum weir_status status =
        weir_ack_read_all(connection, self->leases, count, self->positions, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = admit(self, subscriber, &self->leases[i], &self->positions[i], now_us,
                       taken_ns, error);
    return status;
}

/*
 * A take whose answer was lost, or that could not be turned into leased partitions, or
 * a release that failed, leaves leases with our name that are not served. Give them up,
 * so that they need not run out.
 */
static enum weir_status tidy_subscriber(struct weir_lease_keeper *self,
                                        struct weir_connection *connection,
                                        const struct weir_subscriber *subscriber,
                                        struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    size_t found = 0;
    size_t strange = 0;
    enum weir_status status =
        weir_lease_list(connection, outbox->owner, subscriber->subscription_id,
                        self->leases, self->lease_max, &found, error);

    for (size_t i = 0; i < found && status == WEIR_OK; i++) {
        if (!weir_partition_table_knows(outbox->partition_table, self->leases[i].key,
                                        self->leases[i].epoch))
            self->leases[strange++] = self->leases[i];
    }
    if (status != WEIR_OK || strange == 0)
        return status;
    return weir_lease_release(connection, outbox->owner, self->leases, strange, error);
}

static enum weir_status tidy(struct weir_lease_keeper *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->outbox->subscriber_count && status == WEIR_OK; i++)
        status = tidy_subscriber(self, connection, self->outbox->subscribers[i], error);
    self->untidy = status != WEIR_OK;
    return status;
}

/* Take up to `wanted` partitions of a subscriber, just after a look at its quota. */
static enum weir_status take(struct weir_lease_keeper *self,
                             struct weir_connection *connection, size_t index,
                             size_t wanted, size_t *taken, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    const struct weir_subscriber *subscriber = outbox->subscribers[index];
    int64_t occupied[OCCUPIED_MAX];
    size_t occupied_count = weir_partition_table_occupied(
        outbox->partition_table, subscriber->subscription_id, occupied, OCCUPIED_MAX);
    int64_t now_ns = weir_executor_boot_now(outbox->executor);
    enum weir_status status;

    status = weir_lease_take(connection, outbox->owner, subscriber->subscription_id,
                             subscriber->lease_ns / 1000, occupied, occupied_count,
                             self->leases, wanted, taken, error);
    if (status == WEIR_OK && WEIR_POINT(outbox->points, "lease_keeper.unanswered"))
        status = weir_error_set(error, WEIR_IN_DOUBT, "lost by order of a test");
    self->untidy |= status != WEIR_OK;
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(outbox->points, "lease_keeper.taken");
    status = admit_all(self, connection, index, *taken, now_ns, error);
    self->untidy |= status != WEIR_OK;
    weir_outbox_notify(outbox, WEIR_NOTIFY_MAIN);
    weir_outbox_notify(outbox, WEIR_NOTIFY_FOLLOWER);
    return status;
}

/* Just after something ends in `left_us` (-1: nothing does), or at `look_ns` if that is
 * sooner. */
static int64_t look_after(int64_t left_us, int64_t look_ns)
{
    if (left_us < 0 || left_us >= look_ns / 1000)
        return look_ns;
    return left_us * 1000 + WEIR_MILLISECONDS(1);
}

/* When to look again. Live processes renew long before their time is over, so we are
 * woken only by one that is late, or has a far shorter lease than ours: of that not all
 * the time. */
static int64_t next_look(const struct weir_quota *quota, uint32_t held,
                         int64_t heartbeat_ns)
{
    int64_t look_ns = look_after(quota->next_dead_us, heartbeat_ns);

    if (look_ns < HEARTBEAT_SOON_NS && HEARTBEAT_SOON_NS < heartbeat_ns)
        look_ns = HEARTBEAT_SOON_NS;
    if (held >= quota->quota)
        return look_ns;
    if (quota->free > 0 || quota->surplus > 0)
        return HEARTBEAT_SOON_NS;
    return look_after(quota->next_free_us, look_ns);
}

/* Has a partition been free for so long that those below their share cannot want it? */
static bool is_orphaned(struct weir_lease_keeper *self, size_t index, uint32_t held)
{
    const struct weir_quota *quota = &self->quotas[index];
    int64_t *since_ns = &self->orphaned_ns[index];
    int64_t now_ns = weir_executor_now(self->outbox->executor);
    bool free = held == quota->quota && quota->free > 0;
    bool long_enough = free && *since_ns != 0 &&
                       now_ns - *since_ns > 2 * heartbeat_interval(self->outbox);

    if (!free || long_enough)
        *since_ns = 0;
    else if (*since_ns == 0)
        *since_ns = now_ns;
    return long_enough;
}

/* A subscription that is gone is not made again: where it stood is gone with it. */
static void note_state(struct weir_lease_keeper *self, struct weir_subscriber *subscriber,
                       const struct weir_quota *quota)
{
    struct weir_outbox *outbox = self->outbox;
    bool was_removed = weir_partition_table_set_subscriber(
        outbox->partition_table, subscriber,
        (struct weir_subscriber_state){quota->queue_paused, quota->paused,
                                       quota->removed});

    if (quota->removed && !was_removed)
        weir_log_event(outbox->logger, WEIR_LOG_ERROR, "outbox.subscription_gone",
                       "queue=%s subscription=%s text=\"the subscription was removed: "
                       "nothing is delivered to it any more\"",
                       subscriber->queue, subscriber->subscription);
}

static enum weir_status balance(struct weir_lease_keeper *self,
                                struct weir_connection *connection, size_t index,
                                int64_t *look_ns, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_subscriber *subscriber = outbox->subscribers[index];
    const struct weir_quota *quota = &self->quotas[index];
    uint32_t held =
        weir_partition_table_count_leased(outbox->partition_table, subscriber);
    enum weir_status status = WEIR_OK;
    size_t taken = 0;

    note_state(self, subscriber, quota);
    if (quota->held < held)
        self->renew_ns = 0; /* some were taken away from us: find out which */
    weir_partition_table_set_attempts_max(outbox->partition_table, subscriber,
                                          quota->attempts_max);
    if (quota->removed)
        weir_partition_table_give_up_excess(outbox->partition_table, subscriber, held);
    else if (held > quota->quota)
        weir_partition_table_give_up_excess(outbox->partition_table, subscriber,
                                            held - quota->quota);
    else if (held < quota->quota && quota->free > 0)
        status = take(self, connection, index, quota->quota - held, &taken, error);
    else if (is_orphaned(self, index, held))
        status = take(self, connection, index, 1, &taken, error);
    if (status == WEIR_OK)
        *look_ns = next_look(quota, held + (uint32_t)taken, *look_ns);
    return status;
}

/* Between the database's clock and ours; our wall clock was `before_us` when it was
 * asked. */
static void set_clock(struct weir_lease_keeper *self, int64_t before_us)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t ours_us = weir_executor_now(outbox->executor) / 1000;

    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        int64_t now_us = self->quotas[i].now_us;

        if (now_us != 0) {
            weir_partition_table_set_clock(outbox->partition_table, now_us - ours_us);
            weir_failure_detector_note_clock(&self->failure_detector, before_us,
                                             weir_clock_wall_us(), now_us);
            return;
        }
    }
}

/* What each handler has got done, for observers of this process. */
static void publish(struct weir_lease_keeper *self)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t now_ns = weir_executor_now(outbox->executor);

    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        struct weir_subscriber *subscriber = outbox->subscribers[i];
        struct weir_quota *quota = &self->quotas[i];

        quota->delivered = weir_meter_read(&subscriber->meter, WEIR_METER_ACKED);
        quota->rate = weir_rate_look(&subscriber->rate, quota->delivered, now_ns);
    }
}

static enum weir_status heartbeat(struct weir_lease_keeper *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t lease_ns = shortest_lease(outbox);
    int64_t look_ns = heartbeat_interval(outbox);
    int64_t soonest_ns = look_ns;
    struct weir_process process = {.duration_us = lease_ns / 1000};
    int64_t before_us = weir_clock_wall_us();
    bool alone = true;
    enum weir_status status;

    publish(self);
    weir_failure_detector_describe(&self->failure_detector, &process);
    status = weir_process_heartbeat(connection, &process, self->quotas,
                                    outbox->subscriber_count, error);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(outbox->points, "lease_keeper.heartbeat_sent");
    set_clock(self, before_us);
    for (size_t i = 0; i < outbox->subscriber_count && status == WEIR_OK; i++) {
        int64_t subscriber_look_ns = look_ns;

        status = balance(self, connection, i, &subscriber_look_ns, error);
        alone = alone && self->quotas[i].processes <= 1;
        if (subscriber_look_ns < soonest_ns)
            soonest_ns = subscriber_look_ns;
    }
    atomic_store(&outbox->alone, alone);
    weir_failure_detector_note_others(&self->failure_detector, alone);
    weir_partition_table_store_drained(outbox->partition_table);
    if (status == WEIR_OK)
        self->heartbeat_ns =
            weir_sat_add_i64(weir_executor_now(outbox->executor), soonest_ns);
    return status;
}

/* ---- life and death ---------------------------------------------------------------- */

/* All leases of a number, and then its membership. */
static enum weir_status clear(struct weir_lease_keeper *self,
                              struct weir_connection *connection, int64_t number,
                              bool dead, struct weir_error *error)
{
    size_t found = 0;
    enum weir_status status;

    do {
        status = weir_lease_list_all(connection, number, self->leases, self->lease_max,
                                     &found, error);
        if (status == WEIR_OK)
            status = (dead ? weir_lease_end : weir_lease_release)(
                connection, number, self->leases, found, error);
    } while (status == WEIR_OK && found == self->lease_max);
    if (status == WEIR_OK)
        status = weir_process_leave(connection, number, error);
    return status;
}

static enum weir_status evict(struct weir_lease_keeper *self,
                              struct weir_connection *connection,
                              const struct weir_peer_changes *peer_changes,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < peer_changes->dead_count && status == WEIR_OK; i++) {
        (void)WEIR_POINT(self->outbox->points, "lease_keeper.evicting");
        status = clear(self, connection, peer_changes->dead[i], true, error);
        (void)WEIR_POINT(self->outbox->points, "lease_keeper.evicted");
    }
    return status;
}

/* Before anything is said to the database: it may be away, and others may be faster. */
static void fence_if_lost(struct weir_lease_keeper *self)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t number;
    size_t leased_partitions;

    if (!weir_failure_detector_is_lost(&self->failure_detector))
        return;
    leased_partitions = weir_partition_table_lose_all(outbox->partition_table);
    number = weir_failure_detector_abandon_session(&self->failure_detector);
    if (self->former == 0) /* else nothing was done under this one */
        self->former = number;
    self->heartbeat_ns = 0;
    weir_log_event(
        outbox->logger, WEIR_LOG_WARNING, "outbox.liveness_lost",
        "partitions=%zu text=\"the session of the liveness lock was lost or left "
        "behind: all partitions are given up and taken again\"",
        leased_partitions);
}

/* A process must not say that it is alive by its lock where the lock is not visible. */
static enum weir_status appear(struct weir_lease_keeper *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    enum weir_status status;

    weir_failure_detector_open_session(&self->failure_detector);
    status = weir_failure_detector_confirm(&self->failure_detector, connection, error);
    fence_if_lost(self);
    return status;
}

/* The database cannot be reached. It may be soon, so the answer is not waited for for
 * long. */
static void doubt(struct weir_lease_keeper *self)
{
    weir_failure_detector_probe(&self->failure_detector,
                                heartbeat_interval(self->outbox));
    fence_if_lost(self);
}

static enum weir_status come_back(struct weir_lease_keeper *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status;

    if (self->former == 0)
        return WEIR_OK;
    status = clear(self, connection, self->former, false, error);
    if (status == WEIR_OK)
        self->former = 0;
    return status;
}

static enum weir_status look(struct weir_lease_keeper *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    struct weir_peer_changes peer_changes;
    enum weir_status status = weir_failure_detector_poll(
        &self->failure_detector, connection, &peer_changes, error);

    if (status != WEIR_OK) {
        weir_log_event(self->outbox->logger, WEIR_LOG_DEBUG, "outbox.not_looked",
                       "text=\"%s\"", error->text);
        fence_if_lost(self);
        return weir_connection_link(connection)->lost
                   ? status
                   : come_back(self, connection, error);
    }
    status = evict(self, connection, &peer_changes, error);
    if (peer_changes.changed || peer_changes.dead_count > 0)
        self->heartbeat_ns = 0;
    return status;
}

/* ---- the worker -------------------------------------------------------------------- */

static enum weir_status round_once(struct weir_lease_keeper *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_executor *executor = self->outbox->executor;
    enum weir_status status = come_back(self, connection, error);

    if (status == WEIR_OK)
        status = release_leaving(self, connection, false, error);
    if (status == WEIR_OK && self->untidy)
        status = tidy(self, connection, error);
    if (status == WEIR_OK)
        status = forgive(self, connection, error);
    if (status == WEIR_OK && weir_executor_boot_now(executor) >= self->renew_ns)
        status = renew(self, connection, error);
    if (status == WEIR_OK)
        status = look(self, connection, error);
    if (status == WEIR_OK && (weir_executor_now(executor) >= self->heartbeat_ns ||
                              WEIR_POINT(self->outbox->points, "lease_keeper.eager")))
        status = heartbeat(self, connection, error);
    return status;
}

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static enum weir_status keep(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct weir_lease_keeper *self = state;
    struct weir_outbox *outbox = self->outbox;
    struct weir_connection *connection = NULL;
    enum weir_status status;
    int64_t next_ns;

    fence_if_lost(self);
    status = weir_outbox_connect(outbox, &connection, error);
    if (status == WEIR_LOST)
        doubt(self);
    if (status == WEIR_OK)
        status = appear(self, connection, error);
    if (status == WEIR_OK)
        status = round_once(self, connection, error);
    weir_db_release(outbox->db, connection);
    (void)weir_partition_table_leases(outbox->partition_table, NULL, NULL,
                                      0); /* returns which ones are over time */
    next_ns = sooner(self->heartbeat_ns,
                     sooner(weir_failure_detector_next(&self->failure_detector),
                            weir_partition_table_next_deadline(outbox->partition_table)));
    *out = weir_sleep_for(sooner(
        weir_sat_sub_i64(next_ns, weir_context_now(context)),
        weir_sat_sub_i64(self->renew_ns, weir_executor_boot_now(outbox->executor))));
    if (status != WEIR_OK)
        weir_error_prefix(error, "keep the leases");
    return status;
}

static size_t most_leased_partitions(const struct weir_outbox *outbox)
{
    size_t most = 0;

    for (size_t i = 0; i < outbox->subscriber_count; i++)
        most += (size_t)outbox->subscribers[i]->partitions;
    return most;
}

enum weir_status weir_lease_keeper_arrive(struct weir_outbox *outbox,
                                          struct weir_error *error)
{
    struct weir_lease_keeper *self = weir_heap_zalloc(outbox->heap, sizeof *self);
    struct weir_connection *connection = NULL;
    enum weir_status status;

    if (self == NULL)
        return weir_no_memory(error, "take partitions");
    outbox->lease_keeper = self;
    self->outbox = outbox;
    weir_failure_detector_init(&self->failure_detector, outbox);
    self->lease_max = most_leased_partitions(outbox) + 1;
    self->quotas = weir_heap_zalloc_array(outbox->heap, outbox->subscriber_count + 1,
                                          sizeof *self->quotas);
    self->orphaned_ns = weir_heap_zalloc_array(outbox->heap, outbox->subscriber_count + 1,
                                               sizeof *self->orphaned_ns);
    self->leases =
        weir_heap_zalloc_array(outbox->heap, self->lease_max, sizeof *self->leases);
    self->acks =
        weir_heap_zalloc_array(outbox->heap, self->lease_max, sizeof *self->acks);
    self->positions =
        weir_heap_zalloc_array(outbox->heap, self->lease_max, sizeof *self->positions);
    if (self->quotas == NULL || self->orphaned_ns == NULL || self->leases == NULL ||
        self->acks == NULL || self->positions == NULL)
        return weir_no_memory(error, "take partitions");
    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        self->quotas[i].subscription = outbox->subscribers[i]->subscription_id;
        self->quotas[i].partitions = outbox->subscribers[i]->partitions;
    }
    if (outbox->subscriber_count == 0)
        return WEIR_OK;
    status = weir_outbox_connect(outbox, &connection, error);
    if (status == WEIR_OK)
        status = appear(self, connection, error);
    if (status == WEIR_OK)
        status = heartbeat(self, connection, error);
    self->renew_ns = weir_sat_add_i64(weir_executor_boot_now(outbox->executor),
                                      shortest_lease(outbox) / 3);
    weir_db_release(outbox->db, connection);
    if (status == WEIR_OK)
        status = weir_outbox_check_subscriptions(outbox, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "take partitions");
    return status;
}

enum weir_status weir_lease_keeper_spawn(struct weir_outbox *outbox,
                                         struct weir_error *error)
{
    struct weir_outbox_worker_options options = {.category = "lease_keeper"};

    if (outbox->subscriber_count == 0)
        return WEIR_OK;
    weir_worker_options_init(&options.worker);
    options.worker.name = "lease_keeper";
    options.worker.action = keep;
    options.worker.state = outbox->lease_keeper;
    options.worker.notifiers = &outbox->notifiers[WEIR_NOTIFY_LEASE_KEEPER];
    options.worker.notifier_count = 1;
    options.worker.pace = weir_pace_none();
    options.worker.worker_class = WEIR_WORKER_RESERVED;
    options.worker.backoff.initial_ns = WEIR_MILLISECONDS(50);
    options.worker.backoff.max_ns = WEIR_SECONDS(1);
    return weir_outbox_spawn(outbox, &options, error);
}

/* Give up all leases that nothing runs under, those that we may hold unknowingly too. */
static enum weir_status leave(struct weir_lease_keeper *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = come_back(self, connection, error);

    if (status == WEIR_OK)
        status = release_leaving(self, connection, true, error);
    if (status == WEIR_OK && self->untidy)
        status = tidy(self, connection, error);
    if (status == WEIR_OK)
        status = weir_process_leave(connection, self->outbox->owner, error);
    return status;
}

/* A connection that was lost, perhaps long ago, must not cost the others a whole lease:
 * once more on another one. But a process that cannot connect does not wait for it
 * again. */
static enum weir_status leave_patiently(struct weir_lease_keeper *self,
                                        struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    enum weir_status status = WEIR_LOST;

    for (int i = 0; i < LEAVE_ATTEMPTS && status != WEIR_OK; i++) {
        struct weir_connection *connection = NULL;

        status = weir_outbox_connect(outbox, &connection, error);
        if (status != WEIR_OK)
            return status;
        status = leave(self, connection, error);
        weir_db_release(outbox->db, connection);
    }
    return status;
}

void weir_lease_keeper_depart(struct weir_outbox *outbox, enum weir_depart how)
{
    struct weir_lease_keeper *self = outbox->lease_keeper;
    struct weir_error error;
    enum weir_status status = WEIR_OK;

    if (self == NULL)
        return;
    weir_error_clear(&error);
    if (how == WEIR_DEPART_RELEASING && outbox->subscriber_count > 0 &&
        self->leases != NULL && self->acks != NULL)
        status = leave_patiently(self, &error);
    if (status != WEIR_OK)
        weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.not_released",
                       "text=\"%s\"", error.text);
    weir_failure_detector_fini(&self->failure_detector);
    weir_heap_free(outbox->heap, self->quotas);
    weir_heap_free(outbox->heap, self->orphaned_ns);
    weir_heap_free(outbox->heap, self->leases);
    weir_heap_free(outbox->heap, self->acks);
    weir_heap_free(outbox->heap, self->positions);
    weir_heap_free(outbox->heap, self);
    outbox->lease_keeper = NULL;
}
