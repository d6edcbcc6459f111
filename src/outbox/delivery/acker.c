/*
 * acker.c - moves positions in the database, for many leased partitions at once.
 *
 * While one group commits the next one gathers, so that under load a commit carries the
 * acks of all leased partitions that finished meanwhile. When the reply of a commit is
 * lost, its outcome is unknown: each leased partition of the group forgets what it has
 * and begins at the position that is stored. One whose ack was deferred goes on, and
 * stores its newest position with the next group.
 *
 * With one writer at a time a commit of acks keeps the producers waiting. There, acks
 * that no partition waits for are deferred (partition_table.h): one group every
 * `ack_pace_ns`, or with the next one that a partition waits for.
 */
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/outbox.h"

enum { GROUP_MAX = 256 };

static int64_t lease_of(const struct weir_outbox *outbox, int64_t subscription)
{
    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        if (outbox->subscribers[i]->subscription_id == subscription)
            return outbox->subscribers[i]->lease_ns;
    }
    return 0; /* no subscriber: it ends now */
}

/* Where does this leased partition stand? If the lease is still ours, what is stored is
 * what we stored. */
static enum weir_status find_out(struct weir_outbox *outbox,
                                 struct weir_connection *connection,
                                 const struct weir_ack *ack, struct weir_error *error)
{
    struct weir_lease lease = {.key = ack->key, .epoch = ack->epoch};
    struct weir_stored_position position;
    enum weir_status status;

    status = weir_lease_renew(connection, outbox->owner,
                              lease_of(outbox, ack->key.subscription) / 1000, &lease, 1,
                              error);
    if (status != WEIR_OK)
        return status;
    if (!lease.kept) {
        weir_partition_table_lose(outbox->partition_table, ack->key, ack->epoch);
        return WEIR_OK;
    }
    status = weir_ack_read(connection, ack->key, &position, error);
    if (status == WEIR_OK && ack->is_deferred)
        weir_partition_table_correct(outbox->partition_table, ack->key, ack->epoch,
                                     position.version);
    else if (status == WEIR_OK)
        weir_partition_table_restart(outbox->partition_table, ack->key, ack->epoch,
                                     &position);
    return status;
}

/* The connection is gone; ask on another one. What cannot be asked now is sent again,
 * and then refused if it was stored. */
static enum weir_status find_out_all(struct weir_outbox *outbox,
                                     const struct weir_ack *acks, size_t count,
                                     struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    if (WEIR_POINT(outbox->points, "acker.cannot_ask"))
        status = weir_error_set(error, WEIR_LOST, "lost by order of a test");
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = find_out(outbox, connection, &acks[i], error);
    weir_db_release(outbox->db, connection);
    return status;
}

/*
 * A leased partition whose ack was refused is gone. If its lease is still ours (the ack
 * had been stored, and its reply was lost), it must not lie idle until it runs out.
 */
static enum weir_status release_refused(struct weir_outbox *outbox,
                                        struct weir_connection *connection,
                                        const struct weir_ack *acks, size_t count,
                                        struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_lease lease = {.key = acks[i].key, .epoch = acks[i].epoch};

        if (!acks[i].accepted &&
            !weir_partition_table_knows(outbox->partition_table, lease.key, lease.epoch))
            status = weir_lease_release(connection, outbox->owner, &lease, 1, error);
    }
    return status;
}

/*
 * A deferred ack is refused while its lease is ours when an earlier one was stored and
 * its reply was lost. Its partition may be in a call, so it cannot be released: the ack
 * is sent again, behind the version that is stored. What cannot be asked now is refused
 * and asked about again.
 */
static enum weir_status ask_about_refused(struct weir_outbox *outbox,
                                          struct weir_connection *connection,
                                          struct weir_ack *acks, size_t count,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++) {
        acks[i].is_ours = acks[i].is_deferred && !acks[i].accepted;
        if (acks[i].is_ours && status == WEIR_OK)
            status = find_out(outbox, connection, &acks[i], error);
    }
    return status;
}

static enum weir_status move_group(struct weir_outbox *outbox, struct weir_ack *acks,
                                   size_t count, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    (void)WEIR_POINT(outbox->points, "acker.collected");
    if (status == WEIR_OK && WEIR_POINT(outbox->points, "acker.disk_full"))
        status = weir_error_set(error, WEIR_DISK_FULL, "no room by order of a test");
    if (status == WEIR_OK)
        status = weir_ack_move(connection, outbox->owner, acks, count, error);
    (void)WEIR_POINT(outbox->points, "acker.moved");
    if (status == WEIR_OK && WEIR_POINT(outbox->points, "acker.unanswered"))
        status = weir_error_set(error, WEIR_IN_DOUBT, "lost by order of a test");
    if (status == WEIR_OK) {
        status = ask_about_refused(outbox, connection, acks, count, error);
        weir_partition_table_settle(outbox->partition_table, acks, count);
        if (status == WEIR_OK)
            status = release_refused(outbox, connection, acks, count, error);
        weir_db_release(outbox->db, connection);
        return status;
    }
    weir_db_release(outbox->db, connection);
    weir_partition_table_uncollect(outbox->partition_table, acks, count);
    if (status == WEIR_IN_DOUBT)
        status = find_out_all(outbox, acks, count, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "acknowledge");
    return status;
}

static size_t count_accepted(const struct weir_ack *acks, size_t count)
{
    size_t accepted = 0;

    for (size_t i = 0; i < count; i++)
        accepted += acks[i].accepted;
    return accepted;
}

/* One group; *moved: positions that are stored now. */
static enum weir_status flush(struct weir_outbox *outbox, size_t *count, size_t *moved,
                              struct weir_error *error)
{
    struct weir_ack *acks = weir_heap_alloc(outbox->heap, GROUP_MAX * sizeof *acks);
    enum weir_status status = WEIR_OK;

    *count = 0;
    *moved = 0;
    if (acks == NULL)
        return weir_no_memory(error, "acknowledge");
    *count = weir_partition_table_collect(outbox->partition_table, acks, GROUP_MAX);
    if (*count > 0) {
        status = move_group(outbox, acks, *count, error);
        weir_ack_health_note(&outbox->acking, status, error);
    }
    if (status == WEIR_OK)
        *moved = count_accepted(acks, *count);
    weir_heap_free(outbox->heap, acks);
    return status;
}

enum weir_status weir_acker_flush(struct weir_outbox *outbox, size_t *count,
                                  struct weir_error *error)
{
    size_t moved;

    return flush(outbox, count, &moved, error);
}

/* Until deferred acks have waited long enough for others. */
static struct weir_directive rest(struct weir_outbox *outbox)
{
    int64_t wait_ns = weir_partition_table_ack_wait(outbox->partition_table);

    if (wait_ns == WEIR_FOREVER)
        return weir_idle();
    return wait_ns > 0 ? weir_sleep_for(wait_ns) : weir_proceed();
}

static enum weir_status acknowledge(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct weir_outbox *outbox = state;
    size_t count = 0;
    size_t moved = 0;
    enum weir_status status = flush(outbox, &count, &moved, error);

    (void)context;
    if (count > 0)
        weir_sweeper_note(outbox);
    outbox->moved.messages = moved;
    *out = weir_directive_with(count > 0 ? weir_proceed() : rest(outbox),
                               &weir_outbox_report_type, &outbox->moved);
    return status;
}

enum weir_status weir_acker_spawn(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_outbox_worker_options options = {.category = "acker"};

    weir_worker_options_init(&options.worker);
    options.worker.name = "acker";
    options.worker.action = acknowledge;
    options.worker.state = outbox;
    options.worker.notifiers = &outbox->notifiers[WEIR_NOTIFY_ACKS];
    options.worker.notifier_count = 1;
    options.worker.pace = weir_pace_none();
    options.worker.backoff.initial_ns = WEIR_MILLISECONDS(10);
    options.worker.backoff.max_ns = WEIR_SECONDS(2);
    return weir_outbox_spawn(outbox, &options, error);
}
