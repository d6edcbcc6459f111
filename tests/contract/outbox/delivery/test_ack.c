/*
 * Positions: moved by whoever holds the lease and knows the newest one, else not at all.
 */
#include <pthread.h>
#include <string.h>

#include "contract/outbox/lease/lease_fixture.h"
#include "kit/server/tcp_proxy.h"

static const uint8_t UID[16] = "0123456789abcdef";

/* A message that nobody wants. */
static const struct weir_rejection LETTER = {
    .seq = 1,
    .id = 101,
    .uid = UID,
    .created_us = 55,
    .key = {"k", 1},
    .type = {"order", 5},
    .headers = {"{}", 2},
    .payload = {"a\0b", 3},
    .attempts = 4,
    .reason = {"no address", 10},
};

/* The first move of a partition: one message on. */
static struct weir_ack ack_of(const struct weir_lease *lease)
{
    return (struct weir_ack){
        .key = lease->key,
        .epoch = lease->epoch,
        .next = {.log_position = {5, 101}, .seq = 1, .version = 1},
    };
}

static void take_all(struct fixture *fixture, int64_t owner, struct weir_lease *out,
                     size_t count)
{
    size_t taken = lease_fixture_take(fixture, owner, out, count);

    check_int(taken, count);
}

static enum weir_status move(struct fixture *fixture, int64_t owner,
                             struct weir_ack *acks, size_t count)
{
    struct weir_connection *connection = fixture_take(fixture);
    enum weir_status status =
        weir_ack_move(connection, owner, acks, count, &fixture->error);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
    return status;
}

static struct weir_stored_position read_position(struct fixture *fixture,
                                                 struct weir_lease_key key)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_stored_position position;

    check_db(weir_ack_read(connection, key, &position, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return position;
}

static int64_t letters(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter");
}

/* ---- reading ----------------------------------------------------------------------- */

OUTBOX_TEST(ack, begins_with_version_0_at_the_place_given)
{
    struct weir_stored_position position;

    lease_fixture_open(fixture, 2);

    position = read_position(fixture, KEY(1));

    check_int(position.log_position.cut, 4);
    check_int(position.log_position.id, 100);
    check_int(position.seq, 0);
    check_int(position.version, 0);
    check_int(position.attempts, 0);
    check_int(position.retry_us, 0);
}

OUTBOX_TEST(ack, that_is_missing_is_no_start_at_0)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_stored_position position;

    lease_fixture_open(fixture, 1);

    check_db(weir_ack_read(connection, KEY(1), &position, &fixture->error), WEIR_SCHEMA);

    check_str(fixture->error.text, "subscription 3 has no position in partition 129");
    fixture_give(fixture, connection);
}

OUTBOX_TEST(ack, reads_many_positions_in_the_order_of_their_leases)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease leases[3] = {{.key = KEY(2)}, {.key = KEY(0)}, {.key = KEY(1)}};
    struct weir_stored_position positions[3];
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 3);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    ack.next.seq = 7;
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check_db(weir_ack_read_all(connection, leases, 3, positions, &fixture->error),
             WEIR_OK);

    check_int(lease.key.pid, KEY(0).pid);
    check_int(positions[0].version, 0);
    check_int(positions[1].version, 1);
    check_int(positions[1].seq, 7);
    check_int(positions[2].version, 0);
    check_int(positions[2].log_position.id, 100);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(ack, that_is_missing_among_many_is_no_start_at_0)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease leases[2] = {{.key = KEY(0)}, {.key = KEY(1)}};
    struct weir_stored_position positions[2];

    lease_fixture_open(fixture, 1);

    check_db(weir_ack_read_all(connection, leases, 2, positions, &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text, "subscription 3 has no position in partition 129");
    fixture_give(fixture, connection);
}

/* ---- moving ------------------------------------------------------------------------ */

OUTBOX_TEST(ack, keeps_all_values_of_a_position)
{
    struct weir_lease lease;
    struct weir_ack ack;
    struct weir_stored_position position;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    ack.next = (struct weir_stored_position){
        .log_position = {INT64_C(1) << 40, INT64_C(3) << 41},
        .seq = INT64_C(1) << 42,
        .version = 1,
        .attempts = 17,
        .retry_us = INT64_C(1) << 50};
    ack.error = weir_str("mail server is down");

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    position = read_position(fixture, lease.key);
    check_int(position.log_position.cut, INT64_C(1) << 40);
    check_int(position.log_position.id, INT64_C(3) << 41);
    check_int(position.seq, INT64_C(1) << 42);
    check_int(position.version, 1);
    check_int(position.attempts, 17);
    check_int(position.retry_us, INT64_C(1) << 50);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"
                                   " WHERE error = 'mail server is down'"),
              1);
}

/* In a transaction that did something else too: both, or neither. */
OUTBOX_TEST(ack, inside_a_transaction_is_part_of_it)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    fixture_prepare(fixture, "CREATE TABLE item (id $integer)");
    for (int i = 0; i < 2; i++) {
        ack = ack_of(&lease);
        ack.rejections = &LETTER;
        ack.rejection_count = 1;
        check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
        fixture_execute(fixture, connection, "INSERT INTO item VALUES (1)");
        check_db(weir_ack_move_inside(connection, ANNA, &ack, 1, &fixture->error),
                 WEIR_OK);
        check(ack.accepted);
        if (i == 0)
            weir_connection_rollback(connection);
        else
            check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

        check_int(read_position(fixture, lease.key).version, i);
        check_int(letters(fixture), i);
        check_int(fixture_ask(fixture, "SELECT count(*) FROM item"), i);
    }
    fixture_give(fixture, connection);
}

OUTBOX_TEST(ack, inside_a_transaction_of_an_owner_that_lost_the_lease_is_refused)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);

    check_db(weir_ack_move_inside(connection, BERT, &ack, 1, &fixture->error), WEIR_OK);

    check(!ack.accepted);
    fixture_give(fixture, connection);
    check_int(read_position(fixture, lease.key).version, 0);
}

OUTBOX_TEST(ack, moves_again_and_again)
{
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    for (int i = 0; i < 20; i++) {
        check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
        check(ack.accepted);
        ack.next.version++;
        ack.next.seq++;
    }

    check_int(read_position(fixture, lease.key).seq, 20);
    check_int(read_position(fixture, lease.key).version, 20);
}

OUTBOX_TEST(ack, saturates_attempts_within_its_column)
{
    struct weir_rejection letter = LETTER;
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    letter.attempts = UINT32_MAX;
    ack = ack_of(&lease);
    ack.next.attempts = UINT32_MAX - 1;
    ack.rejections = &letter;
    ack.rejection_count = 1;

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    check_int(read_position(fixture, lease.key).attempts, INT32_MAX);
    check_int(fixture_ask(fixture, "SELECT attempts FROM weir_dead_letter"), INT32_MAX);
}

/* More than fit in one statement, given in the worst order. */
OUTBOX_TEST(ack, moves_a_large_group)
{
    enum { QUEUES = 20, COUNT = QUEUES * 64 };
    static struct weir_lease_key keys[COUNT];
    static struct weir_ack acks[COUNT];
    struct weir_connection *connection = fixture_take(fixture);

    for (size_t i = 0; i < COUNT; i++)
        keys[i] = (struct weir_lease_key){1 + (int64_t)i % 3, (int64_t)i};
    check_db(weir_lease_begin(connection, keys, COUNT, &fixture->error), WEIR_OK);
    check_db(weir_ack_begin(connection, keys, COUNT, (struct weir_log_position){0, 0},
                            &fixture->error),
             WEIR_OK);
    for (int64_t s = 1; s <= 3; s++) {
        static struct weir_lease leases[COUNT];
        size_t taken;

        check_db(weir_lease_take(connection, ANNA, s, MINUTE_US, NULL, 0, leases, COUNT,
                                 &taken, &fixture->error),
                 WEIR_OK);
    }
    for (size_t i = 0; i < COUNT; i++) {
        struct weir_lease lease = {.key = keys[COUNT - 1 - i], .epoch = 1};

        acks[i] = ack_of(&lease);
        acks[i].next.seq = (int64_t)i;
    }
    acks[700].epoch = 2;

    check_db(move(fixture, ANNA, acks, COUNT), WEIR_OK);

    for (size_t i = 0; i < COUNT; i++) {
        struct weir_stored_position position;

        check_int(acks[i].accepted, i != 700);
        check_db(weir_ack_read(connection, acks[i].key, &position, &fixture->error),
                 WEIR_OK);
        check_int(position.seq, i != 700 ? i : 0);
    }
    fixture_give(fixture, connection);
}

OUTBOX_TEST(ack, of_nothing_is_done)
{
    check_db(move(fixture, ANNA, NULL, 0), WEIR_OK);
}

OUTBOX_TEST(ack, twice_in_one_group_is_misuse)
{
    struct weir_lease leases[2];
    struct weir_ack acks[3];

    lease_fixture_open(fixture, 2);
    take_all(fixture, ANNA, leases, 2);
    acks[0] = ack_of(&leases[0]);
    acks[1] = ack_of(&leases[1]);
    acks[2] = ack_of(&leases[0]);

    check_db(move(fixture, ANNA, acks, 3), WEIR_INVALID);

    check(!acks[0].accepted && !acks[1].accepted && !acks[2].accepted);
    check_int(read_position(fixture, KEY(0)).version, 0);
}

/* ---- refusing ---------------------------------------------------------------------- */

/* Two acks of Anna's with a dead letter each; the second is all right. */
struct pair {
    struct weir_lease leases[2];
    struct weir_ack acks[2];
    struct weir_rejection letters[2];
};

static void pair_open(struct pair *self, struct fixture *fixture)
{
    lease_fixture_open(fixture, 2);
    take_all(fixture, ANNA, self->leases, 2);
    for (size_t i = 0; i < 2; i++) {
        self->letters[i] = LETTER;
        self->acks[i] = ack_of(&self->leases[i]);
        self->acks[i].clear_crashes = true;
        self->acks[i].rejections = &self->letters[i];
        self->acks[i].rejection_count = 1;
    }
    (void)fixture_ask(fixture, "UPDATE weir_lease SET crashes = 5");
}

static int32_t pair_partition(const struct pair *self, size_t i)
{
    return weir_pid_partition(self->leases[i].key.pid);
}

/* The first is refused without a trace, the second is as if it had come alone. */
static void check_only_second(struct pair *self, struct fixture *fixture)
{
    check_db(move(fixture, ANNA, self->acks, 2), WEIR_OK);

    check(!self->acks[0].accepted);
    check(self->acks[1].accepted);
    check_int(read_position(fixture, self->leases[0].key).version, 0);
    check_int(read_position(fixture, self->leases[0].key).seq, 0);
    check_int(read_position(fixture, self->leases[1].key).version, 1);
    check_int(letters(fixture), 1);
    check_int(fixture_ask(fixture, "SELECT pid FROM weir_dead_letter"),
              self->leases[1].key.pid);
    check_int(lease_fixture_lease(fixture, "crashes", pair_partition(self, 1)), 0);
}

OUTBOX_TEST(ack, of_an_older_epoch_is_refused)
{
    struct pair pair;
    struct weir_lease taken;

    pair_open(&pair, fixture);
    lease_fixture_expire(fixture, pair_partition(&pair, 0));
    take_all(fixture, ANNA, &taken, 1);

    check_only_second(&pair, fixture);
    check_int(lease_fixture_lease(fixture, "crashes", pair_partition(&pair, 0)), 6);
}

OUTBOX_TEST(ack, of_an_owner_that_lost_the_lease_is_refused)
{
    struct pair pair;
    struct weir_lease taken;

    pair_open(&pair, fixture);
    lease_fixture_expire(fixture, pair_partition(&pair, 0));
    take_all(fixture, BERT, &taken, 1);
    pair.acks[0].epoch = taken.epoch;

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, after_the_lease_was_released_is_refused)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct pair pair;

    pair_open(&pair, fixture);
    check_db(weir_lease_release(connection, ANNA, pair.leases, 1, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, of_an_older_version_is_refused)
{
    struct pair pair;

    pair_open(&pair, fixture);
    pair.acks[0].next.version = 0;

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, of_a_version_that_skips_one_is_refused)
{
    struct pair pair;

    pair_open(&pair, fixture);
    pair.acks[0].next.version = 2;

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, of_a_lease_that_ran_out_is_refused)
{
    struct pair pair;

    pair_open(&pair, fixture);
    lease_fixture_expire(fixture, pair_partition(&pair, 0));

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, of_another_incarnation_is_refused)
{
    struct pair pair;

    pair_open(&pair, fixture);
    lease_fixture_promote(fixture, pair_partition(&pair, 0));

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, of_a_subscription_that_is_gone_is_refused)
{
    struct pair pair;

    pair_open(&pair, fixture);
    (void)lease_fixture_ask(fixture, "DELETE FROM weir_lease WHERE pid = %d",
                            (int)pair.leases[0].key.pid);

    check_only_second(&pair, fixture);
}

OUTBOX_TEST(ack, that_comes_twice_is_refused_the_second_time)
{
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
    check(ack.accepted);

    ack.next.seq = 2;
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(!ack.accepted);
    check_int(read_position(fixture, lease.key).seq, 1);
}

OUTBOX_TEST(ack, leaves_crashes_alone_unless_the_head_moved)
{
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    (void)fixture_ask(fixture, "UPDATE weir_lease SET crashes = 5");
    ack = ack_of(&lease);

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 5);
    ack.next.version = 2;
    ack.clear_crashes = true;
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
    check_int(lease_fixture_lease(fixture, "crashes", 0), 0);
}

/* ---- marks ------------------------------------------------------------------------- */

/* A position that has failed twice, and the mark of the next call. */
static struct weir_ack fail_and_mark(struct fixture *fixture, struct weir_lease *lease)
{
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, lease, 1);
    ack = ack_of(lease);
    ack.next.attempts = 2;
    ack.next.alone = 1;
    ack.next.retry_us = 77;
    ack.error = weir_str("no");
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
    return (struct weir_ack){
        .key = lease->key,
        .epoch = lease->epoch,
        .next = {.version = 2, .attempts = 2, .alone = 1, .trying = -2},
        .is_mark = true,
    };
}

static int64_t errors(struct fixture *fixture, const char *text)
{
    return lease_fixture_ask(
        fixture,
        "SELECT count(*) FROM weir_ack WHERE error = '%s' AND version ="
        " (SELECT max(version) FROM weir_ack)",
        text);
}

OUTBOX_TEST(mark, moves_nothing_but_the_version)
{
    struct weir_lease lease;
    struct weir_ack mark = fail_and_mark(fixture, &lease);
    struct weir_stored_position position;

    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);

    check(mark.accepted);
    position = read_position(fixture, lease.key);
    check_int(position.trying, -2);
    check_int(position.epoch, lease.epoch);
    check_int(position.version, 2);
    check_int(position.log_position.id, 101);
    check_int(position.seq, 1);
    check_int(position.attempts, 2);
    check_int(position.alone, 1);
    check_int(position.retry_us, 77);
    check_int(errors(fixture, "no"), 1);
}

OUTBOX_TEST(mark, that_tells_of_a_death_says_so)
{
    struct weir_lease lease;
    struct weir_ack mark = fail_and_mark(fixture, &lease);

    mark.error = weir_str("gone");
    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);

    check_int(errors(fixture, "gone"), 1);
}

OUTBOX_TEST(mark, is_ended_by_the_ack_behind_it)
{
    struct weir_lease lease;
    struct weir_ack mark = fail_and_mark(fixture, &lease);
    struct weir_ack ack = ack_of(&lease);

    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);
    ack.next.version = 3;
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    check_int(read_position(fixture, lease.key).trying, 0);
}

OUTBOX_TEST(mark, of_who_has_lost_the_lease_is_refused)
{
    struct weir_lease lease;
    struct weir_lease other;
    struct weir_ack mark = fail_and_mark(fixture, &lease);

    lease_fixture_expire(fixture, 0);
    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);
    check(!mark.accepted);
    take_all(fixture, BERT, &other, 1);
    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);
    check(!mark.accepted);

    check_int(read_position(fixture, lease.key).trying, 0);
}

OUTBOX_TEST(mark, of_an_old_position_is_refused)
{
    struct weir_lease lease;
    struct weir_ack mark = fail_and_mark(fixture, &lease);

    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);
    mark.next.trying = 2;
    check_db(move(fixture, ANNA, &mark, 1), WEIR_OK);

    check(!mark.accepted);
    check_int(read_position(fixture, lease.key).trying, -2);
}

OUTBOX_TEST(mark, among_acks_is_refused)
{
    struct weir_lease leases[2];
    struct weir_ack acks[2];

    lease_fixture_open(fixture, 2);
    take_all(fixture, ANNA, leases, 2);
    acks[0] = ack_of(&leases[0]);
    acks[1] = ack_of(&leases[1]);
    acks[1].is_mark = true;

    check_db(move(fixture, ANNA, acks, 2), WEIR_INVALID);

    check_int(read_position(fixture, leases[0].key).version, 0);
}

/* ---- dead letters ------------------------------------------------------------------ */

OUTBOX_TEST(ack, stores_what_was_rejected)
{
    struct weir_rejection bare = LETTER;
    struct weir_rejection rejections[2];
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    bare.seq = 2;
    bare.key = bare.headers = bare.payload = (struct weir_str){NULL, 0};
    rejections[0] = LETTER;
    rejections[1] = bare;
    ack = ack_of(&lease);
    ack.rejections = rejections;
    ack.rejection_count = 2;

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check_int(letters(fixture), 2);
    check_int(fixture_ask(fixture,
                          "SELECT count(*) FROM weir_dead_letter WHERE seq = 1"
                          " AND subscription = 3 AND pid = 128 AND log_id = 101"
                          " AND created_us = 55 AND message_key = 'k' AND type = 'order'"
                          " AND headers = '{}' AND length(payload) = 3"
                          " AND length(uid) = 16 AND attempts = 4"
                          " AND error = 'no address' AND failed_us > 1000000000000000"
                          " AND status = 'pending' AND token = 0"),
              1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter WHERE seq = 2"
                                   " AND message_key IS NULL AND headers IS NULL"
                                   " AND length(payload) = 0"),
              1);
}

/* The same message of the same subscription, perhaps after a restore: the first one
 * stays. */
OUTBOX_TEST(ack, stores_a_dead_letter_once)
{
    struct weir_rejection rejections[2] = {LETTER, LETTER};
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    rejections[1].reason = weir_str("again");
    ack = ack_of(&lease);
    ack.rejections = rejections;
    ack.rejection_count = 2;

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);
    ack.next.version = 2;
    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    check_int(letters(fixture), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter"
                                   " WHERE error = 'no address'"),
              1);
}

OUTBOX_TEST(ack, stores_many_and_large_dead_letters)
{
    enum { COUNT = 600, SIZE = 100 * 1024 };
    static struct weir_rejection rejections[COUNT];
    static char payload[SIZE];
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    for (int i = 0; i < COUNT; i++) {
        rejections[i] = LETTER;
        rejections[i].seq = i + 1;
        rejections[i].payload = (struct weir_str){payload, i < 300 ? SIZE : 1};
    }
    ack = ack_of(&lease);
    ack.rejections = rejections;
    ack.rejection_count = COUNT;

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check_int(letters(fixture), COUNT);
    check_int(fixture_ask(fixture, "SELECT sum(length(payload)) FROM weir_dead_letter"),
              300 * SIZE + 300);
}

/* A handler writes what it likes; that must not stop a whole group. */
OUTBOX_TEST(ack, takes_any_text_of_a_failure)
{
    struct weir_rejection letter = LETTER;
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    letter.reason = (struct weir_str){"a\0b", 3};
    ack = ack_of(&lease);
    ack.error = weir_str("caf\xe9 is half a character");
    ack.rejections = &letter;
    ack.rejection_count = 1;

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"
                                   " WHERE error = 'caf? is half a character'"),
              1);
    check_int(
        fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter WHERE error = 'a?b'"),
        1);
}

/* ---- many at once ------------------------------------------------------------------ */

enum { MOVERS = 8, GROUP = 64, ROUNDS = 32 };

struct mover {
    struct weir_db *db;
    bool backwards;
    struct weir_lease *leases;
    pthread_barrier_t *start;
    enum weir_status status;
    size_t accepted;
};

/* All of them want to be the ones who make version 1, 2, 3, ... of every partition. */
static void *move_group(void *argument)
{
    struct mover *self = argument;
    struct weir_connection *connection = NULL;
    struct weir_ack acks[GROUP];

    self->status = weir_db_acquire(self->db, &connection, NULL);
    pthread_barrier_wait(self->start);
    for (int64_t round = 1; round <= ROUNDS && self->status == WEIR_OK; round++) {
        for (size_t i = 0; i < GROUP; i++) {
            acks[i] = ack_of(&self->leases[self->backwards ? GROUP - 1 - i : i]);
            acks[i].next.version = round;
        }
        self->status = weir_ack_move(connection, ANNA, acks, GROUP, NULL);
        for (size_t i = 0; i < GROUP; i++)
            self->accepted += acks[i].accepted;
    }
    weir_db_release(self->db, connection);
    return NULL;
}

/* 256 group acks, half of them in the opposite order: no deadlock, and each version
 * once. */
OUTBOX_TEST(ack, of_groups_in_opposite_orders_is_accepted_once)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_lease leases[GROUP];
    struct mover movers[MOVERS];
    pthread_t threads[MOVERS];
    pthread_barrier_t start;
    size_t accepted = 0;

    lease_fixture_open(fixture, GROUP);
    take_all(fixture, ANNA, leases, GROUP);
    pthread_barrier_init(&start, NULL, MOVERS);
    for (size_t i = 0; i < MOVERS; i++) {
        movers[i] = (struct mover){.db = fixture_open(fixture, &options),
                                   .backwards = i % 2 == 1,
                                   .leases = leases,
                                   .start = &start};
        check_int(pthread_create(&threads[i], NULL, move_group, &movers[i]), 0);
    }
    for (size_t i = 0; i < MOVERS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < MOVERS; i++) {
        check_status(movers[i].status, WEIR_OK);
        accepted += movers[i].accepted;
        weir_db_destroy(movers[i].db);
    }
    pthread_barrier_destroy(&start);

    check_int(accepted, GROUP * ROUNDS);
    for (int32_t i = 0; i < GROUP; i++)
        check_int(read_position(fixture, KEY(i)).version, ROUNDS);
    if (fixture->engine == WEIR_POSTGRESQL) /* one row for each version, and no second */
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"),
                  GROUP * (ROUNDS + 1));
}

/* Renewals of the same process, listed backwards, until the movers are done. */
struct renewer {
    struct weir_db *db;
    struct weir_lease leases[GROUP];
    _Atomic bool *done;
    enum weir_status status;
};

static void *renew_all(void *argument)
{
    struct renewer *self = argument;
    struct weir_connection *connection = NULL;

    self->status = weir_db_acquire(self->db, &connection, NULL);
    while (self->status == WEIR_OK && !*self->done)
        self->status =
            weir_lease_renew(connection, ANNA, 10 * MINUTE_US, self->leases, GROUP, NULL);
    weir_db_release(self->db, connection);
    return NULL;
}

OUTBOX_TEST(ack, does_not_deadlock_with_renewals)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_lease leases[GROUP];
    _Atomic bool done = false;
    struct renewer renewer = {.db = fixture_open(fixture, &options), .done = &done};
    struct mover mover = {.db = fixture_open(fixture, &options), .leases = leases};
    pthread_barrier_t start;
    pthread_t thread;

    lease_fixture_open(fixture, GROUP);
    take_all(fixture, ANNA, leases, GROUP);
    for (size_t i = 0; i < GROUP; i++)
        renewer.leases[i] = leases[GROUP - 1 - i];
    pthread_barrier_init(&start, NULL, 1);
    mover.start = &start;
    check_int(pthread_create(&thread, NULL, renew_all, &renewer), 0);
    (void)move_group(&mover);
    done = true;
    pthread_join(thread, NULL);
    weir_db_destroy(renewer.db);
    weir_db_destroy(mover.db);
    pthread_barrier_destroy(&start);

    check_status(renewer.status, WEIR_OK);
    check_status(mover.status, WEIR_OK);
    check_int(mover.accepted, GROUP * ROUNDS);
    check(renewer.leases[0].kept);
}

struct waiter {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_ack ack;
    enum weir_status status;
};

static void *move_one(void *argument)
{
    struct waiter *self = argument;
    struct weir_connection *connection = NULL;

    self->status = weir_db_acquire(self->db, &connection, NULL);
    if (self->status == WEIR_OK)
        self->status = weir_ack_move(connection, ANNA, &self->ack, 1, NULL);
    weir_db_release(self->db, connection);
    return NULL;
}

/*
 * The step at which one statement would be too few on PostgreSQL: the ack waits for the
 * lease row while another one moves to the very version. It must see that one.
 */
OUTBOX_SERVER_TEST(ack, that_waited_for_the_lock_sees_what_happened_meanwhile)
{
    struct weir_connection *other = fixture_take(fixture);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_lease lease;
    struct waiter waiter = {.db = fixture_open(fixture, &options)};
    pthread_t thread;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    waiter.ack = ack_of(&lease);
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(fixture, other, "SELECT 1 FROM {p}_lease FOR UPDATE");
    check_int(pthread_create(&thread, NULL, move_one, &waiter), 0);
    wait_until(lease_fixture_somebody_waits(fixture));
    fixture_execute(
        fixture, other,
        fixture_choose(fixture, "",
                       "INSERT INTO {p}_ack (subscription, pid, version, epoch,"
                       " incarnation, cut, last_id, seq)"
                       " VALUES (3, 128, 1, 1, '', 9, 9, 9)",
                       "UPDATE {p}_ack SET version = 1, seq = 9"));
    check_db(weir_connection_commit(other, &fixture->error), WEIR_OK);
    pthread_join(thread, NULL);

    check_status(waiter.status, WEIR_OK);
    check(!waiter.ack.accepted);
    check_int(read_position(fixture, lease.key).seq, 9);
    weir_db_destroy(waiter.db);
    fixture_give(fixture, other);
}

/* And one that waited while its lease was taken. */
OUTBOX_SERVER_TEST(ack, that_waited_for_a_takeover_is_refused)
{
    struct weir_connection *other = fixture_take(fixture);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_lease lease;
    struct waiter waiter = {.db = fixture_open(fixture, &options)};
    pthread_t thread;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    waiter.ack = ack_of(&lease);
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(fixture, other, "UPDATE {p}_lease SET owner = 5, epoch = 2");
    check_int(pthread_create(&thread, NULL, move_one, &waiter), 0);
    wait_until(lease_fixture_somebody_waits(fixture));
    check_db(weir_connection_commit(other, &fixture->error), WEIR_OK);
    pthread_join(thread, NULL);

    check_status(waiter.status, WEIR_OK);
    check(!waiter.ack.accepted);
    check_int(read_position(fixture, lease.key).version, 0);
    weir_db_destroy(waiter.db);
    fixture_give(fixture, other);
}

/* Who has been stopped for long goes on for a moment, and is stopped again. */
OUTBOX_SERVER_TEST(ack, of_an_owner_that_lost_the_lease_keeps_nobody_waiting)
{
    struct weir_connection *stale = fixture_take(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_lease lost, taken;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lost, 1);
    lease_fixture_expire(fixture, 0);
    take_all(fixture, BERT, &taken, 1);
    ack = ack_of(&lost);
    check_db(weir_connection_begin(stale, &fixture->error), WEIR_OK);
    check_db(weir_ack_move_inside(stale, ANNA, &ack, 1, &fixture->error), WEIR_OK);
    check(!ack.accepted);

    fixture_execute(fixture, connection, "SELECT 1 FROM {p}_lease FOR UPDATE NOWAIT");

    fixture_give(fixture, connection);
    fixture_give(fixture, stale);
}

static bool is_free(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    static const struct weir_sql SQL = {
        .name = "try leases",
        .text = "SELECT 1 FROM {p}_lease FOR UPDATE NOWAIT",
    };
    enum weir_status status =
        weir_connection_execute(connection, &SQL, NULL, 0, NULL, NULL);

    fixture_give(fixture, connection);
    return status == WEIR_OK;
}

static void check_free(void *argument)
{
    check(is_free(argument));
}

/* The same of the lease keeper, which renews all that it believes to have. */
OUTBOX_SERVER_TEST(renewal, of_leases_that_were_lost_keeps_nobody_waiting)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct weir_connection *connection = NULL;
    struct weir_lease lost[2], taken[2];
    struct weir_fault_points points;

    lease_fixture_open(fixture, 2);
    take_all(fixture, ANNA, lost, 2);
    lease_fixture_expire(fixture, 0);
    lease_fixture_expire(fixture, 1);
    take_all(fixture, BERT, taken, 2);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "db.commit", 1, check_free, fixture);
    weir_db_set_fault_points(db, &points);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);

    check_db(weir_lease_renew(connection, ANNA, 1000000, lost, 2, &fixture->error),
             WEIR_OK);

    check(!lost[0].kept && !lost[1].kept);
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

static void stand_still(void *argument)
{
    struct fixture *fixture = argument;

    check(!is_free(fixture));
    wait_until(is_free(fixture));
}

/* It would keep its partitions from everybody for as long as it is stopped. */
OUTBOX_SERVER_TEST(ack, that_stands_still_lets_go_of_its_leases)
{
    struct weir_db_options options = fixture_options(fixture);
    struct waiter waiter = {.db = fixture_open(fixture, &options)};
    struct weir_fault_points points;
    struct weir_lease lease;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    waiter.ack = ack_of(&lease);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(
        &points, fixture_choose(fixture, "", "append acks", "move positions"), 1,
        stand_still, fixture);
    weir_db_set_fault_points(waiter.db, &points);

    (void)move_one(&waiter);

    check_status(waiter.status, WEIR_LOST);
    check(!waiter.ack.accepted);
    check_int(read_position(fixture, lease.key).version, 0);
    weir_db_destroy(waiter.db);
}

/* However small the tables are. */
OUTBOX_SERVER_TEST(ack, waits_for_no_lease_but_its_own)
{
    struct weir_connection *other = fixture_take(fixture);
    struct weir_lease leases[2];
    struct weir_ack ack;

    lease_fixture_open(fixture, 2);
    take_all(fixture, ANNA, leases, 2);
    ack = ack_of(&leases[1]);
    check_db(weir_connection_begin(other, &fixture->error), WEIR_OK);
    fixture_execute(fixture, other,
                    leases[0].key.pid == PID(0)
                        ? "UPDATE {p}_lease SET crashes = 1 WHERE pid = 128"
                        : "UPDATE {p}_lease SET crashes = 1 WHERE pid = 129");

    check_db(move(fixture, ANNA, &ack, 1), WEIR_OK);

    check(ack.accepted);
    fixture_give(fixture, other);
}

/* ---- a lost answer ----------------------------------------------------------------- */

OUTBOX_SQLITE_TEST(ack, whose_answer_is_lost_is_in_doubt_and_reading_tells)
{
    struct weir_fault_points points;
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "db.lose_after_commit", 1);
    weir_db_set_fault_points(fixture->db, &points);

    check_db(move(fixture, ANNA, &ack, 1), WEIR_IN_DOUBT);

    check(!ack.accepted);
    check_int(read_position(fixture, lease.key).version, 1);
}

static void lose_answer(void *argument)
{
    tcp_proxy_set_mode(argument, TCP_PROXY_LOSES_NEXT_ANSWER);
}

/* The commit is the last call of a move: its answer is lost on the wire. */
OUTBOX_SERVER_TEST(ack, whose_answer_the_wire_lost_is_in_doubt_and_reading_tells)
{
    struct tcp_proxy *tcp_proxy = tcp_proxy_open(server_entry(fixture->server));
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_fault_points points;
    struct weir_lease lease;
    struct weir_ack ack;
    struct weir_db *db;
    char url[SERVER_URL_SIZE];
    uint64_t calls;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    snprintf(url, sizeof url,
             "%s://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s%s",
             fixture_choose(fixture, "", "postgresql", "mariadb"),
             tcp_proxy_port(tcp_proxy), fixture->database,
             server_is_pooled(fixture->server) ? "?pooler=transaction" : "");
    options.url = url;
    db = fixture_open(fixture, &options);
    weir_fault_points_init(&points);
    weir_db_set_fault_points(db, &points);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    ack = ack_of(&lease);
    check_db(weir_ack_move(connection, ANNA, &ack, 1, &fixture->error), WEIR_OK);
    weir_fault_points_arm(&points, "db.fail", UINT64_MAX); /* only counts */
    ack.next.version = 2;
    check_db(weir_ack_move(connection, ANNA, &ack, 1, &fixture->error), WEIR_OK);
    calls = points.armed[0].passed;
    weir_fault_points_arm_call(&points, "db.fail", calls, lose_answer, tcp_proxy);

    ack.next.version = 3;
    check_db(weir_ack_move(connection, ANNA, &ack, 1, &fixture->error), WEIR_IN_DOUBT);

    check(!ack.accepted);
    check_int(read_position(fixture, lease.key).version, 3);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    tcp_proxy_close(tcp_proxy);
}

/* ---- rights and poolers ------------------------------------------------------------ */

OUTBOX_SERVER_TEST(ack, is_made_by_a_role_without_special_rights)
{
    struct weir_connection *connection;
    struct weir_db *guest = lease_fixture_guest(fixture);
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    fixture_prepare(fixture, "GRANT SELECT, UPDATE ON {p}_lease TO " SERVER_GUEST);
    fixture_prepare(
        fixture,
        fixture_choose(fixture, "", "GRANT SELECT, INSERT ON {p}_ack TO " SERVER_GUEST,
                       "GRANT SELECT, INSERT, UPDATE ON {p}_ack TO " SERVER_GUEST));
    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(fixture, "GRANT USAGE ON SEQUENCE {p}_ack_id TO " SERVER_GUEST);
    check_db(weir_db_acquire(guest, &connection, &fixture->error), WEIR_OK);

    check_db(weir_ack_move(connection, ANNA, &ack, 1, &fixture->error), WEIR_OK);

    check(ack.accepted);
    weir_db_release(guest, connection);
    weir_db_destroy(guest);
}

/* Nothing of the session may be relied upon there. */
OUTBOX_POSTGRESQL_TEST(ack, works_behind_a_transaction_pooler)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_lease lease;
    struct weir_ack ack;
    struct weir_db *db;
    char url[SERVER_URL_SIZE + 32];

    lease_fixture_open(fixture, 1);
    take_all(fixture, ANNA, &lease, 1);
    ack = ack_of(&lease);
    snprintf(url, sizeof url, "%s%spooler=transaction", fixture->url,
             strchr(fixture->url, '?') != NULL ? "&" : "?");
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);

    check_db(weir_ack_move(connection, ANNA, &ack, 1, &fixture->error), WEIR_OK);

    check(ack.accepted);
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

/* ---- faults ------------------------------------------------------------------------ */

static struct weir_ack group[3];

/* Three acks, two dead letters, one of the three refused. */
static enum weir_status move_three(struct weir_connection *connection,
                                   struct weir_error *error)
{
    for (int32_t i = 0; i < 3; i++) {
        struct weir_lease lease = {.key = KEY(i), .epoch = i == 1 ? 9 : 1};

        group[i] = ack_of(&lease);
        group[i].clear_crashes = true;
        group[i].error = weir_str("\xff");
        group[i].rejections = &LETTER;
        group[i].rejection_count = 1;
    }
    return weir_ack_move(connection, ANNA, group, 3, error);
}

static void judge_move(struct fixture *fixture, enum weir_status status)
{
    int64_t moved =
        fixture_ask(fixture, "SELECT count(*) FROM weir_ack WHERE version = 1");
    int64_t cleared =
        fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE crashes = 0");

    check(!group[1].accepted);
    check_int(group[0].accepted, status == WEIR_OK);
    check_int(group[2].accepted, status == WEIR_OK);
    check(moved == 0 || moved == 2);
    check_int(letters(fixture), moved);
    check_int(cleared, moved);
    if (status != WEIR_IN_DOUBT)
        check_int(moved, status == WEIR_OK ? 2 : 0);

    (void)fixture_ask(fixture, "DELETE FROM weir_dead_letter");
    (void)fixture_ask(fixture, "UPDATE weir_lease SET crashes = 5");
    if (fixture->engine == WEIR_POSTGRESQL)
        (void)fixture_ask(fixture, "DELETE FROM weir_ack WHERE version = 1");
    else
        (void)fixture_ask(fixture, "UPDATE weir_ack SET version = 0");
    memset(group, 0, sizeof group);
}

static void open_three(struct fixture *fixture)
{
    struct weir_lease leases[3];

    lease_fixture_open(fixture, 3);
    take_all(fixture, ANNA, leases, 3);
    (void)fixture_ask(fixture, "UPDATE weir_lease SET crashes = 5");
}

OUTBOX_TEST(ack, moves_all_or_nothing_whatever_call_fails)
{
    open_three(fixture);
    check(lease_fixture_sweep_calls(fixture, "db.fail", move_three, judge_move) >= 5);
}

OUTBOX_TEST(ack, moves_all_or_nothing_whenever_the_connection_is_lost)
{
    open_three(fixture);
    check(lease_fixture_sweep_calls(fixture, "db.lose", move_three, judge_move) >= 5);
}

static struct fixture *swept;

static enum weir_status move_with(const struct weir_heap *heap)
{
    struct weir_db_options options = fixture_options(swept);
    struct weir_db *db = NULL;
    enum weir_status status;

    options.heap = heap;
    status = weir_db_create(&options, &db, &swept->error);
    if (status == WEIR_OK)
        status = lease_fixture_work_on(db, move_three, &swept->error);
    weir_db_destroy(db);
    judge_move(swept, status);
    return status;
}

OUTBOX_TEST(ack, moves_all_or_nothing_without_memory)
{
    open_three(fixture);
    swept = fixture;
    check_alloc_failures(move_with);
}
