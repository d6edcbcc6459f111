/*
 * Acks that wait for others, without a database: the next call begins before them, and
 * no more is unstored than one batch.
 */
#include "outbox/delivery/partition_table.h"

#include <string.h>

#include "base/heap.h"
#include "kit/test.h"
#include "outbox/log/log.h"
#include "ward/executor.h"
#include "ward/sim.h"

enum { QUEUE = 3, SUBSCRIPTION = 5, BATCH = 4, GROUP = 8 };

#define LEASE_NS WEIR_SECONDS(10)
#define PACE_NS WEIR_MILLISECONDS(20)

/* One handler with one partition, whose calls have one message as long as one waits. */
struct setup {
    struct weir_sim *sim;
    struct weir_subscriber subscriber;
    struct weir_partition_table *partition_table;
    struct weir_ack acks[GROUP];
    int64_t last_id;
};

static void open_setup(struct setup *self)
{
    struct weir_lease lease = {.key = {SUBSCRIPTION, weir_pid(QUEUE, 0)}, .epoch = 1};
    struct weir_stored_position position = {.version = 7};
    struct weir_executor *executor;

    *self = (struct setup){.subscriber = {.queue_id = QUEUE,
                                          .subscription_id = SUBSCRIPTION,
                                          .partitions = 1,
                                          .tuning = {.batch = BATCH},
                                          .lease_ns = LEASE_NS,
                                          .budget_ns = LEASE_NS}};
    check_status(weir_sim_create(&(struct weir_sim_options){.seed = 1}, &self->sim, NULL),
                 WEIR_OK);
    executor = weir_sim_executor(self->sim);
    check_status(weir_partition_table_create(
                     &(struct weir_partition_table_options){.heap = weir_heap_system(),
                                                            .executor = executor,
                                                            .memory_max = 1 << 20,
                                                            .page_rows = 100,
                                                            .ack_pace_ns = PACE_NS},
                     &self->partition_table),
                 WEIR_OK);
    check_status(weir_partition_table_admit(self->partition_table, &self->subscriber,
                                            &lease, &position, 0,
                                            weir_executor_boot_now(executor)),
                 WEIR_OK);
}

static void close_setup(struct setup *self)
{
    weir_partition_table_destroy(self->partition_table);
    weir_sim_destroy(self->sim);
}

/* One message more. */
static void deliver(struct setup *self)
{
    struct weir_log_row row = {
        .log_position = {0, ++self->last_id},
        .id = self->last_id,
        .pid = weir_pid(QUEUE, 0),
        .uid = {"0123456789abcdef", WEIR_UID_SIZE},
        .type = {"t", 1},
        .payload = {"x", 1},
    };
    struct weir_buffered_message *buffered_message =
        weir_buffered_message_create(weir_heap_system(), &row);
    struct weir_list buffered_messages;
    struct weir_page page;

    check(buffered_message != NULL);
    weir_list_init(&buffered_messages);
    weir_list_append(&buffered_messages, &buffered_message->link);
    check(weir_partition_table_next_page(self->partition_table, WEIR_READER_MAIN, &page));
    page.end = row.log_position;
    weir_partition_table_route(self->partition_table, WEIR_READER_MAIN, &page,
                               &buffered_messages);
}

static bool take(struct setup *self, struct weir_call *call)
{
    int64_t wait_ns;

    return weir_partition_table_take(self->partition_table, call, &wait_ns);
}

static void answer(struct setup *self, struct weir_call *call, enum weir_outcome outcome)
{
    struct weir_batch batch = {.heap = weir_heap_system(),
                               .count = call->count,
                               .processed = outcome == WEIR_DONE ? call->count : 0};

    weir_partition_table_finish(self->partition_table, call, &batch, outcome, "reason");
    weir_batch_fini(&batch);
}

/* A message comes and is done; false: it could not be called. */
static bool pass_one(struct setup *self)
{
    struct weir_call call;

    deliver(self);
    if (!take(self, &call))
        return false;
    check_int(call.count, 1);
    answer(self, &call, WEIR_DONE);
    return true;
}

static size_t collect(struct setup *self)
{
    return weir_partition_table_collect(self->partition_table, self->acks, GROUP);
}

static void settle(struct setup *self, size_t count, bool accepted)
{
    for (size_t i = 0; i < count; i++)
        self->acks[i].accepted = accepted;
    weir_partition_table_settle(self->partition_table, self->acks, count);
}

static size_t count_leased(struct setup *self)
{
    struct weir_partition_table_info info;

    weir_partition_table_read(self->partition_table, &info);
    return info.leased_partitions;
}

static uint64_t count_acked(struct setup *self)
{
    return weir_meter_read(&self->subscriber.meter, WEIR_METER_ACKED);
}

WEIR_TEST(deferred_ack, keeps_no_next_call_waiting)
{
    struct setup setup;

    open_setup(&setup);
    check(pass_one(&setup));
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, 2);
    check_int(setup.acks[0].next.version, 8);
    check_int(setup.acks[0].next.log_position.id, 2);
    check(pass_one(&setup)); /* while they are stored, too */
    check_int(count_acked(&setup), 0);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), 2);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, waits_for_the_pace)
{
    struct setup setup;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    settle(&setup, collect(&setup), true);
    check_int(weir_partition_table_ack_wait(setup.partition_table), WEIR_FOREVER);

    check(pass_one(&setup));
    check_int(weir_partition_table_ack_wait(setup.partition_table), PACE_NS);
    check_int(collect(&setup), 0);
    weir_partition_table_hurry(setup.partition_table);
    check_int(weir_partition_table_ack_wait(setup.partition_table), 0);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.version, 9);
    settle(&setup, 1, true);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, covers_no_more_than_a_batch)
{
    struct setup setup;
    struct weir_call call;

    open_setup(&setup);
    for (int i = 0; i < BATCH; i++)
        check(pass_one(&setup));
    check(!pass_one(&setup)); /* it waits for its ack */
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, BATCH);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), BATCH);
    check(take(&setup, &call));
    answer(&setup, &call, WEIR_DONE);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, leaves_room_for_the_rest_of_a_batch_only)
{
    struct setup setup;
    struct weir_call call;

    open_setup(&setup);
    check(pass_one(&setup));
    check(pass_one(&setup));
    for (int i = 0; i < BATCH; i++)
        deliver(&setup);
    check(take(&setup, &call));
    check_int(call.count, BATCH - 2);
    answer(&setup, &call, WEIR_DONE);
    check(!take(&setup, &call));
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, BATCH);
    settle(&setup, 1, true);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, of_a_failure_is_none)
{
    struct setup setup;
    struct weir_call call;

    open_setup(&setup);
    check(pass_one(&setup));
    deliver(&setup);
    check(take(&setup, &call));
    answer(&setup, &call, WEIR_RETRY);
    check_int(collect(&setup), 1);
    check(!setup.acks[0].is_deferred);
    check_int(setup.acks[0].next.seq, 1);
    check_int(setup.acks[0].next.attempts, 1);
    check_int(setup.acks[0].next.version, 8);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), 1);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, that_was_not_stored_is_given_again)
{
    struct setup setup;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    check(pass_one(&setup));
    weir_partition_table_uncollect(setup.partition_table, setup.acks, 1);
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, 2);
    check_int(setup.acks[0].next.version, 8);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), 2);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, that_is_in_doubt_goes_on_from_what_is_stored)
{
    struct setup setup;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    weir_partition_table_uncollect(setup.partition_table, setup.acks, 1);
    weir_partition_table_correct(setup.partition_table, setup.acks[0].key,
                                 setup.acks[0].epoch, 8);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.version, 9);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), 2);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, that_is_refused_ends_the_partition)
{
    struct setup setup;
    struct weir_call call;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    check_int(collect(&setup), 1);
    deliver(&setup);
    check(take(&setup, &call));
    settle(&setup, 1, false);
    check_int(count_leased(&setup), 0);
    check(weir_partition_table_knows(setup.partition_table, call.lease.key,
                                     call.lease.epoch)); /* a handler has it */
    answer(&setup, &call, WEIR_DONE);
    check(!weir_partition_table_knows(setup.partition_table, call.lease.key,
                                      call.lease.epoch));
    check_int(collect(&setup), 0);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, is_stored_before_the_lease_is_released)
{
    struct setup setup;
    struct weir_lease lease;
    struct weir_ack ack;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_give_up_excess(setup.partition_table, &setup.subscriber, 1);
    check_int(
        weir_partition_table_take_leaving(setup.partition_table, false, &lease, &ack, 1),
        0);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, 1);
    settle(&setup, 1, true);
    check_int(
        weir_partition_table_take_leaving(setup.partition_table, false, &lease, &ack, 1),
        1);
    close_setup(&setup);
}

/* The acker backs off after a failure. If the pace came between, each second try would do
 * nothing, succeed and end that backoff. */
WEIR_TEST(deferred_ack, that_was_not_stored_waits_for_no_pace)
{
    struct setup setup;
    size_t count;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    count = collect(&setup);
    check_int(count, 1);

    weir_partition_table_uncollect(setup.partition_table, setup.acks, count);

    check_int(weir_partition_table_ack_wait(setup.partition_table), 0);
    check_int(collect(&setup), 1);
    settle(&setup, 1, true);
    check_int(count_acked(&setup), 1);
    close_setup(&setup);
}

WEIR_TEST(deferred_ack, is_given_at_once_when_the_outbox_stops)
{
    struct setup setup;

    open_setup(&setup);
    check(pass_one(&setup));
    weir_partition_table_hurry(setup.partition_table);
    settle(&setup, collect(&setup), true);
    check(pass_one(&setup));
    check_int(collect(&setup), 0);
    weir_partition_table_close(setup.partition_table);
    check_int(collect(&setup), 1);
    check_int(setup.acks[0].next.seq, 2);
    settle(&setup, 1, true);
    close_setup(&setup);
}
