/*
 * Members: who is alive, and what each may hold.
 */
#include "contract/outbox/lease/lease_fixture.h"
#include "outbox/lease/process.h"

#define CARL INT64_C(7003)

/* A queue with a subscription and its leases, as the catalog makes them. */
static void open_queue(struct fixture *fixture, int32_t partitions)
{
    lease_fixture_open(fixture, partitions);
    (void)lease_fixture_ask(fixture,
                            "INSERT INTO weir_queue (id, name, partitions, created_us)"
                            " VALUES (%d, 'orders', %d, 1)",
                            (int)QUEUE, (int)partitions);
    (void)lease_fixture_ask(
        fixture,
        "INSERT INTO weir_subscription (id, queue, name, serving, created_us)"
        " VALUES (%d, %d, 'default', 0, 1)",
        (int)SUBSCRIPTION, (int)QUEUE);
}

static struct weir_process person(int64_t owner)
{
    return (struct weir_process){.owner = owner,
                                 .name = "a process",
                                 .library = "1.2.3",
                                 .duration_us = MINUTE_US,
                                 .alive_by = WEIR_ALIVE_BY_LOCK,
                                 .clock_off_us = -7};
}

static struct weir_quota heartbeat(struct fixture *fixture, int64_t owner,
                                   int32_t partitions)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_quota quota = {.subscription = SUBSCRIPTION, .partitions = partitions};
    struct weir_process member = person(owner);

    check_db(weir_process_heartbeat(connection, &member, &quota, 1, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return quota;
}

static void kill_member(struct fixture *fixture, int64_t owner, int64_t until_us)
{
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_member SET until_us = %lld WHERE process = %lld",
                            (long long)until_us, (long long)owner);
}

static int64_t clock_us(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t now_us;

    check_db(weir_connection_clock(connection, &now_us, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return now_us;
}

/* ---- alive ------------------------------------------------------------------------- */

OUTBOX_TEST(member, alone_may_hold_everything)
{
    struct weir_quota quota;

    open_queue(fixture, 8);

    quota = heartbeat(fixture, ANNA, 8);

    check_int(quota.processes, 1);
    check_int(quota.quota, 8);
    check_int(quota.free, 8);
    check_int(quota.surplus, 0);
    check_int(quota.next_free_us, -1);
    check_int(quota.next_dead_us, -1);
    check(!quota.paused);
    check(!quota.removed);
}

/* 8 over 3: all of them, and nobody has more than one more. */
OUTBOX_TEST(member, shares_everything_with_others_to_within_one)
{
    static const int64_t MEMBERS[] = {ANNA, BERT, CARL};
    uint32_t sum = 0;

    open_queue(fixture, 8);
    for (int i = 0; i < 3; i++)
        (void)heartbeat(fixture, MEMBERS[i], 8);

    for (int i = 0; i < 3; i++) {
        struct weir_quota quota = heartbeat(fixture, MEMBERS[i], 8);

        check_int(quota.processes, 3);
        check_in_range(quota.quota, 2, 3);
        sum += quota.quota;
    }
    check_int(sum, 8);
}

/* One of them cannot have it, perhaps: then another one can at once. */
OUTBOX_TEST(member, may_hold_one_though_there_are_more_members_than_partitions)
{
    static const int64_t MEMBERS[] = {ANNA, BERT, CARL};

    open_queue(fixture, 2);
    for (int i = 0; i < 3; i++)
        (void)heartbeat(fixture, MEMBERS[i], 2);

    for (int i = 0; i < 3; i++)
        check_int(heartbeat(fixture, MEMBERS[i], 2).quota, 1);
}

/* Who has more in one subscription has not in another. */
OUTBOX_TEST(member, has_more_than_others_in_some_subscriptions_only)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_process anna = person(ANNA);
    struct weir_process bert = person(BERT);
    struct weir_quota quotas[2] = {
        {.subscription = SUBSCRIPTION, .partitions = 3},
        {.subscription = SUBSCRIPTION + 1, .partitions = 3},
    };

    open_queue(fixture, 3);
    (void)lease_fixture_ask(
        fixture,
        "INSERT INTO weir_subscription (id, queue, name, serving, created_us)"
        " VALUES (%d, %d, 'audit', 1, 1)",
        (int)SUBSCRIPTION + 1, (int)QUEUE);
    check_db(weir_process_heartbeat(connection, &bert, quotas, 2, &fixture->error),
             WEIR_OK);

    check_db(weir_process_heartbeat(connection, &anna, quotas, 2, &fixture->error),
             WEIR_OK);

    check_int(quotas[0].quota + quotas[1].quota, 3);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(member, says_by_what_it_is_known)
{
    open_queue(fixture, 1);
    (void)heartbeat(fixture, ANNA, 1);
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_member SET alive_by = 0, clock_off_us = 0,"
                            " library = '0', beat_us = 0");

    (void)heartbeat(fixture, ANNA, 1);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member WHERE alive_by = 1"
                                   " AND library = '1.2.3' AND clock_off_us = -7"
                                   " AND beat_us >= started_us"),
              1);
}

OUTBOX_TEST(member, is_alive_for_its_duration)
{
    int64_t before_us, after_us;

    open_queue(fixture, 1);
    before_us = clock_us(fixture);
    (void)heartbeat(fixture, ANNA, 1);
    after_us = clock_us(fixture);

    check_in_range(fixture_ask(fixture, "SELECT until_us FROM weir_member"),
                   before_us + MINUTE_US, after_us + MINUTE_US);
    check_in_range(fixture_ask(fixture, "SELECT started_us FROM weir_member"), before_us,
                   after_us);
}

/* One row, whose beginning stays. */
OUTBOX_TEST(member, lives_longer_with_every_beat)
{
    int64_t started_us;

    open_queue(fixture, 1);
    (void)heartbeat(fixture, ANNA, 1);
    started_us = fixture_ask(fixture, "SELECT started_us FROM weir_member");
    kill_member(fixture, ANNA, 5);

    (void)heartbeat(fixture, ANNA, 1);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 1);
    check(fixture_ask(fixture, "SELECT until_us FROM weir_member") > started_us);
    check_int(fixture_ask(fixture, "SELECT started_us FROM weir_member"), started_us);
}

OUTBOX_TEST(member, that_is_dead_has_no_share)
{
    open_queue(fixture, 8);
    (void)heartbeat(fixture, BERT, 8);
    kill_member(fixture, BERT, clock_us(fixture) - 1000);

    check_int(heartbeat(fixture, ANNA, 8).processes, 1);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 2);
}

OUTBOX_TEST(member, that_is_long_dead_is_removed)
{
    open_queue(fixture, 8);
    (void)heartbeat(fixture, BERT, 8);
    kill_member(fixture, BERT, clock_us(fixture) - 11 * MINUTE_US);

    (void)heartbeat(fixture, ANNA, 8);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 1);
    check_int(fixture_ask(fixture, "SELECT process FROM weir_member"), ANNA);
}

OUTBOX_TEST(member, leaves_all_subscriptions)
{
    struct weir_connection *connection = fixture_take(fixture);

    open_queue(fixture, 8);
    (void)heartbeat(fixture, ANNA, 8);
    (void)heartbeat(fixture, BERT, 8);

    check_db(weir_process_leave(connection, ANNA, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 1);
    check_int(heartbeat(fixture, BERT, 8).processes, 1);
    fixture_give(fixture, connection);
}

/* ---- leases ------------------------------------------------------------------------ */

OUTBOX_TEST(member, sees_what_is_free)
{
    struct weir_lease leases[5];

    open_queue(fixture, 8);
    check_int(lease_fixture_take(fixture, BERT, leases, 5), 5);
    lease_fixture_expire(fixture, weir_pid_partition(leases[0].key.pid));
    lease_fixture_promote(fixture, weir_pid_partition(leases[1].key.pid));

    check_int(heartbeat(fixture, ANNA, 8).free, 5);
}

OUTBOX_TEST(member, sees_what_others_hold_beyond_their_share)
{
    struct weir_lease leases[8];
    struct weir_quota quota;

    open_queue(fixture, 8);
    (void)heartbeat(fixture, BERT, 8);
    check_int(lease_fixture_take(fixture, BERT, leases, 7), 7);

    quota = heartbeat(fixture, ANNA, 8);

    check_int(quota.quota, 4);
    check_int(quota.surplus, 3);
    check_int(quota.free, 1);
}

OUTBOX_TEST(member, does_not_count_what_it_holds_itself)
{
    struct weir_lease leases[8];
    struct weir_quota quota;

    open_queue(fixture, 8);
    (void)heartbeat(fixture, BERT, 8);
    check_int(lease_fixture_take(fixture, ANNA, leases, 8), 8);

    quota = heartbeat(fixture, ANNA, 8);

    check_int(quota.surplus, 0);
    check_int(quota.free, 0);
    check_int(quota.next_free_us, -1);
}

/* One has more than its share, another one less: that does not make up for it. */
OUTBOX_TEST(member, adds_up_the_surplus_of_each)
{
    struct weir_lease leases[9];

    open_queue(fixture, 9);
    (void)heartbeat(fixture, BERT, 9);
    (void)heartbeat(fixture, CARL, 9);
    check_int(lease_fixture_take(fixture, BERT, leases, 6), 6);
    check_int(lease_fixture_take(fixture, CARL, leases, 1), 1);

    check_int(heartbeat(fixture, ANNA, 9).surplus, 3);
}

/* 3 over 2: two are one too many for one of them, and for the other they are not. */
OUTBOX_TEST(member, measures_each_by_its_own_share)
{
    struct weir_lease leases[2];
    struct weir_quota anna;

    open_queue(fixture, 3);
    (void)heartbeat(fixture, BERT, 3);
    check_int(lease_fixture_take(fixture, BERT, leases, 2), 2);

    anna = heartbeat(fixture, ANNA, 3);

    check_int(anna.surplus, anna.quota - 1);
}

OUTBOX_TEST(member, knows_when_the_next_lease_of_others_runs_out)
{
    struct weir_lease leases[2];
    int64_t left_us;

    open_queue(fixture, 2);
    check_int(lease_fixture_take(fixture, BERT, leases, 2), 2);
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_lease SET until_us = until_us + 999000000"
                            " WHERE pid = 128");

    left_us = heartbeat(fixture, ANNA, 2).next_free_us;

    check_in_range(left_us, 1, MINUTE_US);
}

/* Of those who are alive, without itself. */
OUTBOX_TEST(member, knows_when_the_next_one_of_others_is_dead)
{
    int64_t now_us;
    int64_t left_us;

    open_queue(fixture, 2);
    (void)heartbeat(fixture, ANNA, 2);
    (void)heartbeat(fixture, BERT, 2);
    (void)heartbeat(fixture, CARL, 2);
    now_us = clock_us(fixture);
    kill_member(fixture, ANNA, now_us + MINUTE_US);
    kill_member(fixture, BERT, now_us + 9 * MINUTE_US);
    kill_member(fixture, CARL, now_us - MINUTE_US);

    left_us = heartbeat(fixture, ANNA, 2).next_dead_us;

    check_in_range(left_us, 8 * MINUTE_US, 9 * MINUTE_US);
    kill_member(fixture, CARL, now_us + 5 * MINUTE_US);
    check_in_range(heartbeat(fixture, ANNA, 2).next_dead_us, 4 * MINUTE_US,
                   5 * MINUTE_US);
}

OUTBOX_TEST(member, is_told_the_clock_of_the_database)
{
    int64_t before_us, told_us, after_us;

    open_queue(fixture, 1);
    before_us = clock_us(fixture);
    told_us = heartbeat(fixture, ANNA, 1).now_us;
    after_us = clock_us(fixture);

    check_in_range(told_us, before_us, after_us);
}

/* Rows of others are in the way of nobody, nor are those that are to be removed. */
OUTBOX_SERVER_TEST(member, beats_while_the_rows_of_others_are_locked)
{
    struct weir_connection *other = fixture_take(fixture);

    open_queue(fixture, 1);
    (void)heartbeat(fixture, BERT, 1);
    (void)heartbeat(fixture, CARL, 1);
    kill_member(fixture, CARL, clock_us(fixture) - 11 * MINUTE_US);
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(fixture, other,
                    "SELECT 1 FROM {p}_member WHERE process = -7002"
                    " FOR UPDATE");

    check_int(heartbeat(fixture, ANNA, 1).processes, 2);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 2);
    fixture_give(fixture, other);
}

/* Who was away for so long that others may bury it. */
OUTBOX_TEST(member, that_is_long_dead_lives_when_it_beats)
{
    open_queue(fixture, 1);
    (void)heartbeat(fixture, ANNA, 1);
    kill_member(fixture, ANNA, clock_us(fixture) - 11 * MINUTE_US);

    check_int(heartbeat(fixture, ANNA, 1).processes, 1);

    check_int(heartbeat(fixture, BERT, 1).processes, 2);
}

/* ---- queues ------------------------------------------------------------------------ */

OUTBOX_TEST(member, sees_that_the_queue_is_paused)
{
    open_queue(fixture, 1);
    (void)fixture_ask(fixture, "UPDATE weir_queue SET paused = true");

    check(heartbeat(fixture, ANNA, 1).queue_paused);
    check(!heartbeat(fixture, ANNA, 1).paused);
}

OUTBOX_TEST(member, sees_that_the_subscription_is_paused)
{
    open_queue(fixture, 1);
    (void)fixture_ask(fixture, "UPDATE weir_subscription SET paused = true");

    check(heartbeat(fixture, ANNA, 1).paused);
    check(!heartbeat(fixture, ANNA, 1).queue_paused);
}

OUTBOX_TEST(member, sees_that_the_queue_is_removed)
{
    struct weir_quota quota;

    open_queue(fixture, 1);
    (void)fixture_ask(fixture, "DELETE FROM weir_subscription");
    (void)fixture_ask(fixture, "DELETE FROM weir_queue");

    quota = heartbeat(fixture, ANNA, 1);

    check(quota.removed);
    check_int(quota.quota, 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 0);
}

OUTBOX_TEST(member, beats_in_many_subscriptions_at_once)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_process anna = person(ANNA);
    struct weir_quota quotas[3] = {
        {.subscription = 99, .partitions = 4},
        {.subscription = SUBSCRIPTION, .partitions = 4},
        {.subscription = 4, .partitions = 1},
    };

    open_queue(fixture, 4);
    (void)lease_fixture_ask(
        fixture, "INSERT INTO weir_subscription (id, queue, name, serving, created_us)"
                 " VALUES (4, 2, 'audit', 1, 1)");
    check_db(weir_lease_begin(connection, &(struct weir_lease_key){4, PID(0)}, 1,
                              &fixture->error),
             WEIR_OK);

    check_db(weir_process_heartbeat(connection, &anna, quotas, 3, &fixture->error),
             WEIR_OK);

    check(quotas[0].removed);
    check(!quotas[1].removed);
    check_int(quotas[1].free, 4);
    check_int(quotas[2].free, 1);
    check_int(quotas[2].quota, 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 2);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(member, of_nothing_beats_without_harm)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_process anna = person(ANNA);

    check_db(weir_process_heartbeat(connection, &anna, NULL, 0, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
}
