/*
 * Leases: taken by one at a time, for a time of the database's clock.
 */
#include <pthread.h>
#include <string.h>

#include "contract/outbox/lease/lease_fixture.h"

/* ---- take -------------------------------------------------------------------------- */

OUTBOX_TEST(lease, is_taken_with_the_next_epoch)
{
    struct weir_lease leases[2];

    lease_fixture_open(fixture, 2);

    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 2);

    check_int(leases[0].key.subscription, SUBSCRIPTION);
    check_int(leases[0].key.pid + leases[1].key.pid, PID(0) + PID(1));
    check_int(leases[0].epoch, 1);
    check_int(leases[0].crashes, 0);
    check_int(lease_fixture_lease(fixture, "owner", 0), ANNA);
    check_int(lease_fixture_lease(fixture, "epoch", 1), 1);
}

/* From the clock of the database, not from zero and not for ever. */
OUTBOX_TEST(lease, lasts_for_its_duration)
{
    struct weir_connection *connection;
    struct weir_lease lease;
    int64_t before_us, after_us;

    lease_fixture_open(fixture, 1);
    connection = fixture_take(fixture);
    check_db(weir_connection_clock(connection, &before_us, &fixture->error), WEIR_OK);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    check_db(weir_connection_clock(connection, &after_us, &fixture->error), WEIR_OK);

    check_in_range(lease_fixture_lease(fixture, "until_us", 0), before_us + MINUTE_US,
                   after_us + MINUTE_US);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(lease, that_is_held_is_not_taken)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 0);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 0);

    check_int(lease_fixture_lease(fixture, "epoch", 0), 1);
    check_int(lease_fixture_lease(fixture, "owner", 0), ANNA);
}

OUTBOX_TEST(lease, is_taken_up_to_the_number_asked_for)
{
    struct weir_lease leases[5];

    lease_fixture_open(fixture, 5);

    check_int(lease_fixture_take(fixture, ANNA, leases, 3), 3);
    check_int(lease_fixture_take(fixture, BERT, leases, 5), 2);
    check_int(lease_fixture_take(fixture, BERT, leases, 0), 0);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE owner = 7001"),
              3);
}

OUTBOX_TEST(lease, of_another_subscription_is_not_taken)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease leases[2];
    struct weir_lease_key other = {SUBSCRIPTION + 1, PID(0)};

    lease_fixture_open(fixture, 1);
    check_db(weir_lease_begin(connection, &other, 1, &fixture->error), WEIR_OK);

    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 1);

    check_int(leases[0].key.subscription, SUBSCRIPTION);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE owner IS NULL"),
              1);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(lease, is_not_taken_when_it_is_excepted)
{
    const int64_t except[] = {PID(2), PID(0)};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease leases[4];
    size_t taken;

    lease_fixture_open(fixture, 4);

    check_db(weir_lease_take(connection, ANNA, SUBSCRIPTION, MINUTE_US, except, 2, leases,
                             4, &taken, &fixture->error),
             WEIR_OK);

    check_int(taken, 2);
    check_int(lease_fixture_lease(fixture, "coalesce(owner, 0)", 0), 0);
    check_int(lease_fixture_lease(fixture, "coalesce(owner, 0)", 2), 0);
    check_int(lease_fixture_lease(fixture, "owner", 1), ANNA);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(lease, that_ran_out_is_taken_with_one_more_crash)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_expire(fixture, 0);

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);

    check_int(lease.epoch, 2);
    check_int(lease.crashes, 1);
    check_int(lease_fixture_lease(fixture, "owner", 0), BERT);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 1);
}

/* Whoever let it run out did not release it, also when it comes back itself. */
OUTBOX_TEST(lease, that_ran_out_counts_as_a_crash_of_its_own_owner_too)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    for (uint32_t i = 0; i < 3; i++) {
        check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
        check_int(lease.crashes, i);
        check_int(lease.epoch, i + 1);
        lease_fixture_expire(fixture, 0);
    }
}

OUTBOX_TEST(lease, of_another_incarnation_is_void)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_promote(fixture, 0);

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);

    check_int(lease.epoch, 2);
    check_int(lease.crashes, 1);
}

/* Marks are found from the first owner on that did not release. */
OUTBOX_TEST(lease, finds_marks_of_all_owners_in_a_row_that_did_not_release)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    for (int i = 0; i < 3; i++) {
        check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
        check_int(lease.marks_from, 1);
        lease_fixture_expire(fixture, 0);
    }
    check_int(lease.epoch, 3);
}

OUTBOX_TEST(lease, that_was_released_finds_no_mark_of_before)
{
    struct weir_connection *connection;
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    connection = fixture_take(fixture);
    check_db(weir_lease_release(connection, ANNA, &lease, 1, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);
    check_int(lease.marks_from, lease.epoch);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    check_int(lease.marks_from, lease.epoch - 1);
}

OUTBOX_TEST(lease, of_before_a_promotion_brings_no_mark)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_promote(fixture, 0);

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);
    check_int(lease.marks_from, lease.epoch);
}

OUTBOX_TEST(lease, counts_crashes_within_its_column)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_lease SET until_us = 1, crashes = 2147483647");

    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);

    check_int(lease.crashes, INT32_MAX);
}

/* ---- many at once ------------------------------------------------------------------ */

struct taker {
    struct fixture *fixture;
    struct weir_db *db;
    int64_t owner;
    pthread_barrier_t *start;
    struct weir_lease leases[LEASE_FIXTURE_PARTITIONS_MAX];
    size_t taken;
    enum weir_status status;
};

/* One by one, so that the takers are in each other's way as often as can be. */
static void *take_all(void *argument)
{
    struct taker *self = argument;
    struct weir_connection *connection = NULL;
    size_t taken = 1;

    self->status = weir_db_acquire(self->db, &connection, NULL);
    pthread_barrier_wait(self->start);
    while (self->status == WEIR_OK && self->taken < LEASE_FIXTURE_PARTITIONS_MAX) {
        self->status =
            weir_lease_take(connection, self->owner, SUBSCRIPTION, MINUTE_US, NULL, 0,
                            self->leases + self->taken, 1, &taken, NULL);
        if (taken == 0)
            break;
        self->taken += taken;
    }
    weir_db_release(self->db, connection);
    return NULL;
}

OUTBOX_TEST(lease, goes_to_one_of_two_processes)
{
    struct weir_db_options options = fixture_options(fixture);
    struct taker takers[2];
    pthread_barrier_t start;
    pthread_t threads[2];
    bool seen[LEASE_FIXTURE_PARTITIONS_MAX] = {false};
    struct weir_lease rest[LEASE_FIXTURE_PARTITIONS_MAX];

    lease_fixture_open(fixture, LEASE_FIXTURE_PARTITIONS_MAX);
    pthread_barrier_init(&start, NULL, 2);
    for (size_t i = 0; i < 2; i++) {
        takers[i] = (struct taker){.db = fixture_open(fixture, &options),
                                   .owner = i == 0 ? ANNA : BERT,
                                   .start = &start};
        check_int(pthread_create(&threads[i], NULL, take_all, &takers[i]), 0);
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    (void)lease_fixture_take(fixture, ANNA, rest,
                             LEASE_FIXTURE_PARTITIONS_MAX); /* what both skipped */

    for (size_t i = 0; i < 2; i++) {
        check_status(takers[i].status, WEIR_OK);
        for (size_t j = 0; j < takers[i].taken; j++) {
            int32_t n = weir_pid_partition(takers[i].leases[j].key.pid);

            check(!seen[n]);
            seen[n] = true;
            check_int(lease_fixture_lease(fixture, "owner", n), takers[i].owner);
        }
        weir_db_destroy(takers[i].db);
    }
    check_int(fixture_ask(fixture, "SELECT sum(epoch) FROM weir_lease"),
              LEASE_FIXTURE_PARTITIONS_MAX);
    pthread_barrier_destroy(&start);
}

/* Somebody is taking it, or acks for the last time: the next one is as good. */
OUTBOX_SERVER_TEST(lease, that_is_locked_is_skipped)
{
    struct weir_connection *other = fixture_take(fixture);
    struct weir_lease leases[2];

    lease_fixture_open(fixture, 2);
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(
        fixture, other,
        "SELECT 1 FROM {p}_lease WHERE subscription = 3 AND pid = 128 FOR UPDATE");

    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 1);

    check_int(leases[0].key.pid, PID(1));
    weir_connection_rollback(other);
    fixture_give(fixture, other);
}

/* ---- renew ------------------------------------------------------------------------- */

static void renew(struct fixture *fixture, int64_t owner, struct weir_lease *leases,
                  size_t count)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_lease_renew(connection, owner, 10 * MINUTE_US, leases, count,
                              &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(lease, is_extended_by_renewing)
{
    struct weir_lease leases[3];
    int64_t until_us;

    lease_fixture_open(fixture, 3);
    check_int(lease_fixture_take(fixture, ANNA, leases, 3), 3);
    until_us = lease_fixture_lease(fixture, "until_us", 2);

    renew(fixture, ANNA, leases, 3);

    check(leases[0].kept && leases[1].kept && leases[2].kept);
    check(lease_fixture_lease(fixture, "until_us", 2) >= until_us + 8 * MINUTE_US);
    check_int(lease_fixture_lease(fixture, "epoch", 2), 1);
}

OUTBOX_TEST(lease, is_not_revived_by_renewing)
{
    struct weir_lease leases[2];

    lease_fixture_open(fixture, 2);
    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 2);
    lease_fixture_expire(fixture, weir_pid_partition(leases[0].key.pid));

    renew(fixture, ANNA, leases, 2);

    check(!leases[0].kept);
    check(leases[1].kept);
    check_int(
        lease_fixture_lease(fixture, "until_us", weir_pid_partition(leases[0].key.pid)),
        1);
}

OUTBOX_TEST(lease, of_somebody_else_is_not_renewed)
{
    struct weir_lease mine, theirs;
    int64_t until_us;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &mine, 1), 1);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, BERT, &theirs, 1), 1);
    until_us = lease_fixture_lease(fixture, "until_us", 0);

    renew(fixture, ANNA, &mine, 1);

    check(!mine.kept);
    check_int(lease_fixture_lease(fixture, "until_us", 0), until_us);
}

/* The same process took it twice; who knows only the first time is behind. */
OUTBOX_TEST(lease, that_is_checked_is_ours_by_owner_epoch_time_and_incarnation)
{
    struct weir_connection *connection;
    struct weir_lease leases[5];
    int64_t until_us;

    lease_fixture_open(fixture, 5);
    check_int(lease_fixture_take(fixture, ANNA, leases, 5), 5);
    until_us = lease_fixture_lease(fixture, "until_us", 0);
    lease_fixture_expire(fixture, 1);
    lease_fixture_promote(fixture, 2);
    leases[3].epoch--;
    (void)lease_fixture_ask(fixture, "UPDATE weir_lease SET owner = 1 WHERE pid = %d",
                            (int)PID(4));

    connection = fixture_take(fixture);
    check_db(weir_lease_check(connection, ANNA, leases, 5, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);

    check(leases[0].kept);
    for (size_t i = 1; i < 5; i++)
        check(!leases[i].kept);
    check_int(lease_fixture_lease(fixture, "until_us", 0), until_us);
}

OUTBOX_TEST(lease, of_an_older_epoch_is_not_renewed)
{
    struct weir_lease first, second;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &first, 1), 1);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, ANNA, &second, 1), 1);

    renew(fixture, ANNA, &first, 1);
    renew(fixture, ANNA, &second, 1);

    check(!first.kept);
    check(second.kept);
}

OUTBOX_TEST(lease, of_another_incarnation_is_not_renewed)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_promote(fixture, 0);

    renew(fixture, ANNA, &lease, 1);

    check(!lease.kept);
}

OUTBOX_TEST(lease, none_at_all_is_renewed_and_released)
{
    struct weir_connection *connection = fixture_take(fixture);

    renew(fixture, ANNA, NULL, 0);
    check_db(weir_lease_release(connection, ANNA, NULL, 0, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

/* ---- release and forgive ----------------------------------------------------------- */

static void release(struct fixture *fixture, int64_t owner,
                    const struct weir_lease *leases, size_t count)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_lease_release(connection, owner, leases, count, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(lease, that_is_released_is_free_and_adds_no_crash)
{
    struct weir_lease leases[2];

    lease_fixture_open(fixture, 2);
    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 2);
    lease_fixture_expire(fixture, 0);
    lease_fixture_expire(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 2);
    check_int(leases[0].crashes, 1);

    release(fixture, ANNA, leases, 2);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE owner IS NULL"),
              2);
    check_int(lease_fixture_take(fixture, BERT, leases, 2), 2);
    check_int(leases[0].crashes, 1); /* the one before; its message is still there */
    check_int(leases[0].epoch, 3);
}

OUTBOX_TEST(lease, of_somebody_else_is_not_released)
{
    struct weir_lease mine, theirs;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &mine, 1), 1);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, BERT, &theirs, 1), 1);

    release(fixture, ANNA, &mine, 1);
    release(fixture, BERT, &mine, 1); /* an older epoch */

    check_int(lease_fixture_lease(fixture, "owner", 0), BERT);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 1);
}

OUTBOX_TEST(lease, forgives_crashes_of_its_owner_only)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    lease_fixture_expire(fixture, 0);
    check_int(lease_fixture_take(fixture, BERT, &lease, 1), 1);

    check_db(weir_lease_forgive(connection, ANNA, &lease, &fixture->error), WEIR_OK);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 1);
    check_db(weir_lease_forgive(connection, BERT, &lease, &fixture->error), WEIR_OK);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 0);
    check_int(lease_fixture_lease(fixture, "owner", 0), BERT);
    fixture_give(fixture, connection);
}

/* ---- the order of locks ------------------------------------------------------------ */

typedef enum weir_status (*lease_work_fn)(struct weir_connection *connection,
                                          struct weir_lease *leases, size_t count);

struct locker {
    struct weir_db *db;
    lease_work_fn work;
    struct weir_lease leases[2];
    enum weir_status status;
};

static enum weir_status renew_them(struct weir_connection *connection,
                                   struct weir_lease *leases, size_t count)
{
    return weir_lease_renew(connection, ANNA, MINUTE_US, leases, count, NULL);
}

static enum weir_status release_them(struct weir_connection *connection,
                                     struct weir_lease *leases, size_t count)
{
    return weir_lease_release(connection, ANNA, leases, count, NULL);
}

static void *lock_leases(void *argument)
{
    struct locker *self = argument;
    struct weir_connection *connection = NULL;

    self->status = weir_db_acquire(self->db, &connection, NULL);
    if (self->status == WEIR_OK)
        self->status = self->work(connection, self->leases, 2);
    weir_db_release(self->db, connection);
    return NULL;
}

/* Whoever waits for the first lease has not locked the second, which it was told
 * first. */
static void check_order(struct fixture *fixture, lease_work_fn work)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *other = fixture_take(fixture);
    struct locker locker = {.db = fixture_open(fixture, &options), .work = work};
    struct weir_lease leases[2];
    pthread_t thread;

    lease_fixture_open(fixture, 2);
    check_int(lease_fixture_take(fixture, ANNA, leases, 2), 2);
    locker.leases[leases[0].key.pid == PID(0)] = leases[0];
    locker.leases[leases[1].key.pid == PID(0)] = leases[1];
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(
        fixture, other,
        "SELECT 1 FROM {p}_lease WHERE subscription = 3 AND pid = 128 FOR UPDATE");
    check_int(pthread_create(&thread, NULL, lock_leases, &locker), 0);
    wait_until(lease_fixture_somebody_waits(fixture));

    check(fixture_is_free(fixture, "UPDATE weir_lease SET crashes = 0"
                                   " WHERE subscription = 3 AND pid = 129"));

    weir_connection_rollback(other);
    pthread_join(thread, NULL);
    check_status(locker.status, WEIR_OK);
    weir_db_destroy(locker.db);
    fixture_give(fixture, other);
}

OUTBOX_SERVER_TEST(lease, is_locked_in_the_order_of_keys_by_a_renewal)
{
    check_order(fixture, renew_them);
}

OUTBOX_SERVER_TEST(lease, is_locked_in_the_order_of_keys_by_a_release)
{
    check_order(fixture, release_them);
}

/* ---- rights ------------------------------------------------------------------------ */

/* The incarnation comes from functions of the system, which need no special role. */
OUTBOX_SERVER_TEST(lease, is_taken_by_a_role_without_special_rights)
{
    struct weir_connection *connection;
    struct weir_db *guest = lease_fixture_guest(fixture);
    struct weir_lease lease;
    size_t taken = 0;

    lease_fixture_open(fixture, 1);
    fixture_prepare(fixture, "GRANT SELECT, UPDATE ON {p}_lease TO " SERVER_GUEST);
    check_db(weir_db_acquire(guest, &connection, &fixture->error), WEIR_OK);

    check_db(weir_lease_take(connection, ANNA, SUBSCRIPTION, MINUTE_US, NULL, 0, &lease,
                             1, &taken, &fixture->error),
             WEIR_OK);

    check_int(taken, 1);
    weir_db_release(guest, connection);
    weir_db_destroy(guest);
}

/* ---- faults ------------------------------------------------------------------------ */

static struct weir_lease found[4];
static size_t found_count;

static enum weir_status take_four(struct weir_connection *connection,
                                  struct weir_error *error)
{
    return weir_lease_take(connection, ANNA, SUBSCRIPTION, MINUTE_US, NULL, 0, found, 4,
                           &found_count, error);
}

/* A statement of its own whose answer is lost has happened or not. */
static void judge_take(struct fixture *fixture, enum weir_status status)
{
    int64_t taken = fixture_ask(fixture, "SELECT count(owner) FROM weir_lease");

    check_int(found_count, status == WEIR_OK ? 4 : 0);
    if (status == WEIR_OK)
        check_int(taken, 4);
    else if (status == WEIR_IN_DOUBT || status == WEIR_LOST)
        check(taken == 0 || taken == 4);
    else
        check_int(taken, 0);
    (void)fixture_ask(fixture, "UPDATE weir_lease SET owner = NULL");
    found_count = 0;
}

OUTBOX_TEST(lease, is_taken_with_all_others_or_not_at_all)
{
    lease_fixture_open(fixture, 4);
    check(lease_fixture_sweep_calls(fixture, "db.fail", take_four, judge_take) >= 3);
    check(lease_fixture_sweep_calls(fixture, "db.lose", take_four, judge_take) >= 3);
}

static struct fixture *swept;

static enum weir_status take_with(const struct weir_heap *heap)
{
    const int64_t except[] = {1, 2, 3};
    struct weir_db_options options = fixture_options(swept);
    struct weir_connection *connection = NULL;
    struct weir_db *db = NULL;
    enum weir_status status;

    options.heap = heap;
    status = weir_db_create(&options, &db, &swept->error);
    if (status == WEIR_OK)
        status = weir_db_acquire(db, &connection, &swept->error);
    if (status == WEIR_OK)
        status = weir_lease_take(connection, ANNA, SUBSCRIPTION, MINUTE_US, except, 3,
                                 found, 4, &found_count, &swept->error);
    if (connection != NULL)
        weir_db_release(db, connection);
    weir_db_destroy(db);
    judge_take(swept, status);
    return status;
}

OUTBOX_TEST(lease, survives_any_failing_allocation)
{
    lease_fixture_open(fixture, 4);
    swept = fixture;
    check_alloc_failures(take_with);
}

/* ---- confirm ----------------------------------------------------------------------- */

static bool confirm(struct fixture *fixture, int64_t owner,
                    const struct weir_lease *lease)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool ours = false;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_lease_confirm(connection, owner, lease, MINUTE_US, &ours, &fixture->error),
        WEIR_OK);
    fixture_give(fixture, connection);
    return ours;
}

OUTBOX_TEST(lease, is_confirmed_to_its_owner_alone)
{
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);

    check(confirm(fixture, ANNA, &lease));
    check(!confirm(fixture, BERT, &lease));
    lease.epoch++;
    check(!confirm(fixture, ANNA, &lease));
}

/* Whoever begins a transaction under it keeps nobody from renewing it. */
OUTBOX_SERVER_TEST(lease, that_was_confirmed_is_not_locked)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lease;
    bool ours = false;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_lease_confirm(connection, ANNA, &lease, MINUTE_US, &ours, &fixture->error),
        WEIR_OK);
    check(ours);

    check(fixture_is_free(fixture, "UPDATE weir_lease SET until_us = until_us + 1"));
    fixture_give(fixture, connection);
}
