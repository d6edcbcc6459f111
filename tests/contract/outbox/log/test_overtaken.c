/*
 * An owner that has lost its partition and does not know it: its own clocks stood still
 * while the database's went on, another process took over, and the log was swept.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/clock.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/delivery/ack.h"
#include "outbox/lease/lease.h"
#include "outbox/log/log.h"
#include "outbox/outbox.h"

enum { SEGMENT_BITS = 3, OTHER = 4711 };

/* A process that can be suspended: neither its readers nor its keeper get past a
 * point. */
struct suspension {
    struct weir_fault_points points;
    _Atomic bool suspended;
    _Atomic int standing; /* readers that are held */
    _Atomic int pages;    /* read so far */
    _Atomic bool forgets; /* what it has read ahead */
};

static bool stand_still(void *argument, const char *name)
{
    struct suspension *self = argument;
    bool reader = strncmp(name, "dispatcher.", 11) == 0;

    if (strcmp(name, "partition_table.forget") == 0)
        return atomic_load(&self->forgets);
    if (!reader && strncmp(name, "lease_keeper.", 13) != 0)
        return false; /* perhaps inside a transaction, or with a lock */
    atomic_fetch_add(&self->pages, strcmp(name, "dispatcher.read") == 0);
    atomic_fetch_add(&self->standing, reader);
    while (atomic_load(&self->suspended))
        weir_clock_sleep(WEIR_MILLISECONDS(1));
    atomic_fetch_sub(&self->standing, reader);
    return strcmp(name, "lease_keeper.eager") == 0;
}

static struct weir_outbox *make_anna(struct fixture *fixture, struct suspension *self,
                                     int32_t partitions, struct recorder *recorder)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);

    weir_fault_points_init(&self->points);
    weir_fault_points_set_oracle(&self->points, stand_still, self);
    weir_outbox_set_fault_points(outbox, &self->points);
    handler.lease.duration_ns = WEIR_SECONDS(300); /* it does not renew meanwhile */
    outbox_fixture_queue(fixture, outbox, "orders", partitions);
    outbox_fixture_add(fixture, outbox, &handler);
    return outbox;
}

/* Whose payloads are the numbers that the messages must have. */
static void send(struct fixture *fixture, struct weir_outbox *producer, int32_t partition,
                 int first, int last)
{
    char text[16];

    for (int n = first; n <= last; n++) {
        (void)snprintf(text, sizeof text, "%d", n);
        outbox_fixture_send_text(fixture, producer, "orders", partition, text);
    }
}

static struct weir_lease_key key_of(struct fixture *fixture, int32_t partition)
{
    return (struct weir_lease_key){
        .subscription = fixture_ask(fixture, "SELECT id FROM weir_subscription"),
        .pid = weir_pid(fixture_ask(fixture, "SELECT id FROM weir_queue"), partition)};
}

/* The lease of a partition runs out by the database's clock; another process takes it. */
static struct weir_lease take_over(struct fixture *fixture,
                                   struct weir_connection *connection, int32_t partition)
{
    struct weir_lease_key key = key_of(fixture, partition);
    int64_t other = key_of(fixture, 1 - partition).pid; /* may be free for the moment */
    struct weir_lease lease = {.epoch = 0};
    size_t taken = 0;
    char sql[128];

    (void)snprintf(sql, sizeof sql, "UPDATE weir_lease SET until_us = 1 WHERE pid = %d",
                   (int)key.pid);
    (void)fixture_ask(fixture, sql);
    check_db(weir_lease_take(connection, OTHER, key.subscription, 60000000, &other, 1,
                             &lease, 1, &taken, &fixture->error),
             WEIR_OK);
    check_int(taken, 1);
    check_int(lease.key.pid, key.pid);
    return lease;
}

static void sweep_all(struct fixture *fixture, const struct weir_outbox_log *log)
{
    struct weir_sweep_state state = {0};

    for (int i = 0; i < 100; i++) {
        struct weir_sweep_report report;

        check_db(log->ops->sweep(log, fixture->db, &state, &report, &fixture->error),
                 WEIR_OK);
    }
}

/* Another process takes the partition, passes all that waits, up to `seq`, and gives it
 * back. What all have passed is removed. */
static void overtake(struct fixture *fixture, int32_t partition, int64_t seq)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lease = take_over(fixture, connection, partition);
    struct weir_ack ack = {.key = lease.key, .epoch = lease.epoch};
    struct weir_outbox_log log = {.points = NULL};

    check_db(weir_outbox_log_open(&log, connection, &fixture->error), WEIR_OK);
    check_db(weir_ack_read(connection, lease.key, &ack.next, &fixture->error), WEIR_OK);
    check_db(weir_log_catch_up(&log, connection, &ack.next.log_position, &fixture->error),
             WEIR_OK);
    ack.next.seq = seq;
    ack.next.version++;
    check_db(weir_ack_move(connection, OTHER, &ack, 1, &fixture->error), WEIR_OK);
    check(ack.accepted);
    check_db(weir_lease_release(connection, OTHER, &lease, 1, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    sweep_all(fixture, &log);
}

static void check_numbers(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder_count(recorder); i++) {
        struct delivery delivery = recorder_delivery(recorder, i);

        check_int(delivery.seq, atoll(delivery.payload));
    }
}

/* The lease keeper looks at once, not with its next heartbeat. */
static bool is_at(struct fixture *fixture, struct weir_outbox *outbox, int32_t partition,
                  int64_t seq)
{
    weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER);
    return outbox_fixture_seq(fixture, outbox, "orders", partition) == seq;
}

/* All that waits is in memory. */
static bool has_caught_up(struct weir_outbox *outbox)
{
    struct weir_partition_table_info info;

    weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER);
    weir_partition_table_read(outbox->partition_table, &info);
    return info.leased_partitions == 2 && info.behind == 0;
}

OUTBOX_TEST(overtaken_owner, delivers_no_message_under_a_wrong_number)
{
    struct recorder *recorder = recorder_new();
    struct suspension suspension = {.suspended = false};
    struct weir_outbox *anna, *producer;

    outbox_small_segments(fixture, SEGMENT_BITS);
    anna = make_anna(fixture, &suspension, 1, recorder);
    outbox_fixture_start(fixture, anna);
    producer = outbox_fixture_outbox(fixture, "producer");
    send(fixture, producer, 0, 1, 5);
    wait_until(is_at(fixture, anna, 0, 5));

    atomic_store(&suspension.suspended, true);
    send(fixture, producer, 0, 6, 40);
    wait_until(atomic_load(&suspension.standing) > 0);
    overtake(fixture, 0, 40);
    send(fixture, producer, 0, 41, 41);
    atomic_store(&suspension.suspended, false);

    wait_until(is_at(fixture, anna, 0, 41));
    check_numbers(recorder);
    weir_outbox_destroy(producer);
    outbox_fixture_close(anna);
}

/* What was removed of a slow partition is not behind what was removed of a fast one
 * before. */
OUTBOX_TEST(overtaken_owner, of_a_slow_partition_delivers_no_wrong_number)
{
    struct recorder *recorder = recorder_new();
    struct suspension suspension = {.forgets = true};
    struct weir_outbox *anna, *producer;
    int pages;

    outbox_small_segments(fixture, SEGMENT_BITS);
    anna = make_anna(fixture, &suspension, 2, recorder);
    check_db(weir_outbox_pause_queue(anna, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_start(fixture, anna);
    producer = outbox_fixture_outbox(fixture, "producer");
    send(fixture, producer, 1, 1, 30);
    send(fixture, producer, 0, 1, 30);
    overtake(fixture, 0, 30);
    pages = atomic_load(&suspension.pages);
    wait_until(atomic_load(&suspension.pages) > pages + 4); /* it asks, and may go on */

    atomic_store(&suspension.suspended, true);
    wait_until(atomic_load(&suspension.standing) > 0);
    overtake(fixture, 1, 30);
    send(fixture, producer, 1, 31, 31);
    atomic_store(&suspension.suspended, false);
    pages = atomic_load(&suspension.pages);
    wait_until(atomic_load(&suspension.pages) > pages + 2 || has_caught_up(anna));
    atomic_store(&suspension.forgets, false);
    wait_until(has_caught_up(anna));
    check_db(weir_outbox_resume_queue(anna, "orders", &fixture->error), WEIR_OK);

    wait_until(is_at(fixture, anna, 1, 31));
    check_numbers(recorder);
    weir_outbox_destroy(producer);
    outbox_fixture_close(anna);
}
