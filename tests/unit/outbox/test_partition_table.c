/*
 * Leased partitions in memory, without a database: when a lease ends, and which leased
 * partitions are asked about.
 */
#include "outbox/delivery/partition_table.h"

#include <string.h>

#include "base/heap.h"
#include "kit/test.h"
#include "outbox/log/log.h"
#include "ward/executor.h"
#include "ward/sim.h"

enum { QUEUE = 3, SUBSCRIPTION = 5, PARTITIONS = 2 };

#define LEASE_NS WEIR_SECONDS(10)

/* One handler with two partitions, whose leases were taken just now. */
struct setup {
    struct weir_sim *sim;
    struct weir_executor *executor;
    struct weir_subscriber subscriber;
    struct weir_partition_table *partition_table;
};

static struct weir_lease lease_of(int32_t partition)
{
    return (struct weir_lease){.key = {SUBSCRIPTION, weir_pid(QUEUE, partition)},
                               .epoch = 1};
}

static void admit(struct setup *self, int32_t partition, int64_t read)
{
    struct weir_lease lease = lease_of(partition);
    struct weir_stored_position position = {.log_position = {0, read}};

    check_status(weir_partition_table_admit(self->partition_table, &self->subscriber,
                                            &lease, &position, 0,
                                            weir_executor_boot_now(self->executor)),
                 WEIR_OK);
}

static void open_setup(struct setup *self)
{
    *self = (struct setup){.subscriber = {.queue_id = QUEUE,
                                          .subscription_id = SUBSCRIPTION,
                                          .partitions = PARTITIONS,
                                          .tuning = {.batch = 10},
                                          .lease_ns = LEASE_NS,
                                          .budget_ns = LEASE_NS}};
    check_status(weir_sim_create(&(struct weir_sim_options){.seed = 1}, &self->sim, NULL),
                 WEIR_OK);
    self->executor = weir_sim_executor(self->sim);
    check_status(weir_partition_table_create(
                     &(struct weir_partition_table_options){.heap = weir_heap_system(),
                                                            .executor = self->executor,
                                                            .memory_max = 1 << 20,
                                                            .page_rows = 100},
                     &self->partition_table),
                 WEIR_OK);
}

static void close_setup(struct setup *self)
{
    weir_partition_table_destroy(self->partition_table);
    weir_sim_destroy(self->sim);
}

/* A page with one message, for all leased partitions that have not read so far. */
static void deliver(struct setup *self, int32_t partition, int64_t id)
{
    struct weir_log_row row = {
        .log_position = {0, id},
        .id = id,
        .pid = weir_pid(QUEUE, partition),
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

static bool can_take(struct setup *self)
{
    struct weir_call call;
    int64_t wait_ns;
    bool taken = weir_partition_table_take(self->partition_table, &call, &wait_ns);

    if (taken)
        weir_partition_table_put_back(self->partition_table, &call, false);
    return taken;
}

/* ---- leases ------------------------------------------------------------------------ */

WEIR_TEST(lane, of_a_suspended_host_begins_no_call_until_its_lease_is_renewed)
{
    struct weir_lease lease = lease_of(0);
    struct setup setup;

    open_setup(&setup);
    admit(&setup, 0, 0);
    deliver(&setup, 0, 1);
    check(can_take(&setup));

    weir_sim_jump_boot(setup.sim, LEASE_NS); /* the clock of the timers has not moved */
    check(!can_take(&setup));

    weir_partition_table_renewed(setup.partition_table, lease.key, lease.epoch,
                                 weir_executor_boot_now(setup.executor));
    check(can_take(&setup));
    close_setup(&setup);
}

/* ---- questions --------------------------------------------------------------------- */

/* How many leased partitions are asked about when so much of their queue was removed. */
static size_t doubted(struct setup *self, int64_t removed_id, int64_t count, bool kept)
{
    struct weir_lease leases[PARTITIONS];
    struct weir_page page;
    size_t found;

    check(weir_partition_table_next_page(self->partition_table, WEIR_READER_MAIN, &page));
    check_int(page.removal_count, 1);
    check_int(page.removals[0].queue_id, QUEUE);
    page.removals[0].log_position.id = removed_id;
    page.removals[0].count = count;
    found = weir_partition_table_doubted(self->partition_table, WEIR_READER_MAIN, &page,
                                         leases, PARTITIONS);
    for (size_t i = 0; i < found; i++)
        leases[i].kept = kept;
    weir_partition_table_answer(self->partition_table, &page, leases, found);
    weir_partition_table_abandon_page(self->partition_table, WEIR_READER_MAIN);
    return found;
}

static size_t leased_partitions(struct setup *self)
{
    struct weir_partition_table_info info;

    weir_partition_table_read(self->partition_table, &info);
    return info.leased_partitions;
}

static void open_two_leased_partitions(struct setup *self)
{
    open_setup(self);
    admit(self, 0, 100);
    admit(self, 1, 100);
}

WEIR_TEST(lane, that_reads_on_behind_what_was_removed_is_not_asked_about)
{
    struct setup setup;

    open_two_leased_partitions(&setup);
    check_int(doubted(&setup, 100, 1, true), 0);
    check_int(doubted(&setup, 40, 2, true), 0);
    close_setup(&setup);
}

WEIR_TEST(lane, that_reads_on_from_before_it_is_asked_about_once_for_each_removal)
{
    struct setup setup;

    open_two_leased_partitions(&setup);
    check_int(doubted(&setup, 150, 1, true), 2);
    check_int(doubted(&setup, 150, 1, true), 0);
    check_int(doubted(&setup, 150, 2, true), 2); /* of a partition that is further back */
    check_int(doubted(&setup, 180, 3, true), 2);
    check_int(doubted(&setup, 180, 3, true), 0);
    check_int(leased_partitions(&setup), 2);
    close_setup(&setup);
}

WEIR_TEST(lane, that_is_not_ours_any_more_is_lost)
{
    struct setup setup;

    open_two_leased_partitions(&setup);
    check_int(doubted(&setup, 150, 1, false), 2);
    check_int(leased_partitions(&setup), 0);
    close_setup(&setup);
}

/* ---- drained ----------------------------------------------------------------------- */

/* A page without messages up to the end of a cut. */
static void pass_cuts(struct setup *self, int64_t cut)
{
    struct weir_list none;
    struct weir_page page;

    weir_list_init(&none);
    check(weir_partition_table_next_page(self->partition_table, WEIR_READER_MAIN, &page));
    page.end = (struct weir_log_position){.cut = cut};
    weir_partition_table_route(self->partition_table, WEIR_READER_MAIN, &page, &none);
}

/* How many places are stored now. */
static size_t store_drained(struct setup *self)
{
    struct weir_ack acks[PARTITIONS];
    size_t count;

    weir_partition_table_store_drained(self->partition_table);
    count = weir_partition_table_collect(self->partition_table, acks, PARTITIONS);
    for (size_t i = 0; i < count; i++)
        acks[i].accepted = true;
    weir_partition_table_settle(self->partition_table, acks, count);
    return count;
}

static void let_pass(struct setup *self, int64_t ns)
{
    struct weir_lease lease = lease_of(0);

    weir_sim_run_until(self->sim, weir_executor_now(self->executor) + ns);
    weir_partition_table_renewed(self->partition_table, lease.key, lease.epoch,
                                 weir_executor_boot_now(self->executor));
}

WEIR_TEST(lane, that_is_drained_stores_its_place_once_in_20_s_however_many_cuts_are_made)
{
    struct setup setup;

    open_setup(&setup);
    admit(&setup, 0, 0);
    let_pass(&setup, WEIR_SECONDS(1));
    pass_cuts(&setup, 999);
    check_int(store_drained(&setup), 0);
    pass_cuts(&setup, 1000);
    check_int(store_drained(&setup), 1);
    pass_cuts(&setup, 50000);
    let_pass(&setup, WEIR_SECONDS(19));
    check_int(store_drained(&setup), 0);
    let_pass(&setup, WEIR_SECONDS(1));
    check_int(store_drained(&setup), 1);
    close_setup(&setup);
}
