/*
 * What a queue keeps although every subscription has passed it.
 *
 * Ages are made by changing when rows were created: nothing here waits.
 */
#include <time.h>

#include "log_fixture.h"

static const struct weir_log_position BEGINNING = {0, 0};

enum { QUEUE = 1, OTHER_QUEUE = 2, SUBSCRIPTION = 1 };
enum { HOUR_S = 3600, PARTITIONS = 4 };

/* A queue that retains an hour, and a subscription of it. */
static struct log_fixture open_retaining(struct fixture *fixture, int unread)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, QUEUE, unread);
    log_fixture_execute(&log_fixture,
                        "UPDATE {p}_queue SET retain_us = %lld WHERE id = %d",
                        (long long)HOUR_S * 1000000, QUEUE);
    return log_fixture;
}

static void subscribe(struct log_fixture *log_fixture)
{
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
}

static long long ago_us(int seconds)
{
    return ((long long)time(NULL) - seconds) * 1000000;
}

/* Append messages that are so many seconds old, in a leaf of their own; all are
 * readable. */
static struct weir_log_position append_aged(struct log_fixture *log_fixture, size_t count,
                                            int64_t queue, int seconds)
{
    struct weir_log_position head;

    log_fixture_append(log_fixture, count, queue, PARTITIONS);
    head = log_fixture_advance(log_fixture);
    log_fixture_execute(log_fixture,
                        "UPDATE {p}_log SET created_us = %lld WHERE created_us > %lld"
                        " OR created_us < 2000000",
                        ago_us(seconds), ago_us(60));
    log_fixture_turn_leaf(log_fixture);
    return head;
}

static void pass(struct log_fixture *log_fixture, struct weir_log_position log_position)
{
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, log_position);
}

/* What a subscription that begins now, at the beginning, would get. */
static struct seen *read_from_oldest(struct log_fixture *log_fixture)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_log_position oldest = {0, 0};

    check_db(weir_log_oldest(&log_fixture->log, log_fixture->connection, QUEUE, &oldest,
                             &fixture->error),
             WEIR_OK);
    return log_fixture_read(log_fixture, oldest, NULL);
}

static int64_t whole_from(struct log_fixture *log_fixture)
{
    return fixture_ask(log_fixture->fixture,
                       "SELECT whole_us FROM weir_queue WHERE id = 1");
}

/* Its first and its last. */
static void check_left(struct log_fixture *log_fixture, int64_t first, int64_t last)
{
    struct seen *seen = read_from_oldest(log_fixture);

    check_int(seen->count, last - first + 1);
    if (seen->count > 0) {
        check_int(seen->rows[0].number, first);
        check_int(seen->rows[seen->count - 1].number, last);
    }
    free(seen);
}

OUTBOX_TEST(retain, keeps_what_is_passed_for_a_new_subscription)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    pass(&log_fixture, append_aged(&log_fixture, 200, QUEUE, 120));
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 200);
    check_left(&log_fixture, 1, 200);
    check_int(whole_from(&log_fixture), 0);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(retain, ends_with_the_age_of_a_message)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    (void)append_aged(&log_fixture, 200, QUEUE, 2 * HOUR_S);
    pass(&log_fixture, append_aged(&log_fixture, 100, QUEUE, 120));
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 100);
    check_left(&log_fixture, 201, 300);
    check_in_range(whole_from(&log_fixture), ago_us(2 * HOUR_S + 60),
                   ago_us(2 * HOUR_S - 60));
    log_fixture_close(&log_fixture);
}

/* On PostgreSQL positions are raised by leaf, and those of other leaves are not given
 * up. */
OUTBOX_TEST(retain, says_nothing_of_what_is_passed_and_younger)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    (void)append_aged(&log_fixture, 100, QUEUE, 3 * HOUR_S);
    (void)append_aged(&log_fixture, 100, QUEUE, 2 * HOUR_S);
    pass(&log_fixture, append_aged(&log_fixture, 100, QUEUE, 120));
    log_fixture_sweep(&log_fixture);
    log_fixture_append(&log_fixture, 1, QUEUE, PARTITIONS);
    pass(&log_fixture, log_fixture_advance(&log_fixture));

    check_left(&log_fixture, 201, 301);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(retain, keeps_nothing_of_other_queues_back)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    log_fixture_add_queue(&log_fixture, OTHER_QUEUE, 1);
    (void)append_aged(&log_fixture, 100, OTHER_QUEUE, 120);
    pass(&log_fixture, append_aged(&log_fixture, 100, QUEUE, 120));
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 100);
    check_left(&log_fixture, 101, 200);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(retain, keeps_what_nobody_has_subscribed_to_of_a_queue_that_drops)
{
    struct log_fixture log_fixture = open_retaining(fixture, 1);

    (void)append_aged(&log_fixture, 100, QUEUE, 2 * HOUR_S);
    (void)append_aged(&log_fixture, 100, QUEUE, 120);
    log_fixture_sweep(&log_fixture);

    check_left(&log_fixture, 101, 200);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(retain, is_not_needed_by_a_subscription_that_is_far_behind)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    (void)append_aged(&log_fixture, 200, QUEUE, 2 * HOUR_S);
    (void)append_aged(&log_fixture, 100, QUEUE, 120);
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 300);
    check_left(&log_fixture, 1, 300);
    log_fixture_close(&log_fixture);
}

/* Few rows among many that go, in one window of the sweep or in one leaf: if they were
 * needed, they would be set aside. */
OUTBOX_TEST(retain, sets_nothing_aside)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);
    bool by_leaf = fixture->engine == WEIR_POSTGRESQL;
    int64_t aside = 0;

    subscribe(&log_fixture);
    log_fixture_add_queue(&log_fixture, OTHER_QUEUE, 1);
    log_fixture_append(&log_fixture, by_leaf ? 200 : 1000, OTHER_QUEUE, PARTITIONS);
    log_fixture_append(&log_fixture, 20, QUEUE, PARTITIONS);
    pass(&log_fixture, append_aged(&log_fixture, by_leaf ? 200 : 2000, OTHER_QUEUE, 120));
    aside = log_fixture_sweep(&log_fixture).aside;

    check_int(aside, 0);
    check_int(log_fixture_stored(&log_fixture), by_leaf ? 420 : 20);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(retain, that_is_turned_off_removes_what_is_passed)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);

    subscribe(&log_fixture);
    pass(&log_fixture, append_aged(&log_fixture, 200, QUEUE, 120));
    log_fixture_sweep(&log_fixture);
    check_int(log_fixture_stored(&log_fixture), 200);
    log_fixture_execute(&log_fixture, "UPDATE {p}_queue SET retain_us = 0");
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 0);
    check_in_range(whole_from(&log_fixture), ago_us(60), ago_us(-60));
    log_fixture_close(&log_fixture);
}

/* A sweep that remembers where what is retained ends still finds what becomes old in
 * front. */
OUTBOX_PLAIN_TEST(retain, that_is_skipped_in_later_rounds_ends_with_the_age_of_a_message)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    int64_t removed = 0;

    subscribe(&log_fixture);
    (void)append_aged(&log_fixture, 2500, QUEUE, 120);
    pass(&log_fixture, append_aged(&log_fixture, 2500, QUEUE, 120));
    for (int round = 0; round < 2; round++) {
        do {
            check_db(log_fixture.log.ops->sweep(&log_fixture.log, fixture->db, &state,
                                                &report, &fixture->error),
                     WEIR_OK);
            removed += report.removed;
        } while (report.more);
        check(state.retained[0].last_id >= 4000);
        if (round == 0) {
            check_int(removed, 0);
            log_fixture_execute(&log_fixture,
                                "UPDATE {p}_log SET created_us = %lld WHERE id <= 100",
                                ago_us(2 * HOUR_S));
        }
    }

    check_int(removed, 100);
    check_left(&log_fixture, 101, 5000);
    log_fixture_close(&log_fixture);
}

/* ---- the ring of PostgreSQL ---- */

/* Ids go on in the leaf before the one of the first messages. */
OUTBOX_POSTGRESQL_TEST(retain, is_given_up_when_ids_come_round)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);
    struct weir_sweep_report sum = {0};

    subscribe(&log_fixture);
    (void)append_aged(&log_fixture, 200, QUEUE, 120);
    pass(&log_fixture, append_aged(&log_fixture, 200, QUEUE, 110));
    log_fixture_execute(&log_fixture, "SELECT setval('{p}_log_id', 7 << %d)",
                        LOG_FIXTURE_SEGMENT_BITS);
    log_fixture_sweep_once(&log_fixture, &sum);

    check_int(sum.aside, 0);
    check_int(log_fixture_stored(&log_fixture), 200);
    check_left(&log_fixture, 201, 400);
    check_in_range(whole_from(&log_fixture), ago_us(180), ago_us(111));
    log_fixture_close(&log_fixture);
}

/* ---- after a restore --------------------------------------------------------------- */

static int64_t count_aside(struct log_fixture *log_fixture)
{
    return fixture_ask(log_fixture->fixture, "SELECT count(*) FROM weir_aside");
}

/* A restore sets the whole log aside, also what all have passed. */
OUTBOX_POSTGRESQL_TEST(retain_pg, keeps_what_a_restore_has_set_aside)
{
    struct log_fixture log_fixture = open_retaining(fixture, 0);
    struct weir_log_position head;

    subscribe(&log_fixture);
    head = append_aged(&log_fixture, 20, QUEUE, 120);
    log_fixture_execute(
        &log_fixture,
        "INSERT INTO {p}_aside (pid, cut, id, created_us, uid, message_key,"
        " type, headers, payload) SELECT pid, %lld, id, created_us, uid,"
        " message_key, type, headers, payload FROM {p}_log",
        (long long)head.cut);
    pass(&log_fixture, head);
    log_fixture_sweep(&log_fixture);
    check_int(count_aside(&log_fixture), 20);

    log_fixture_execute(&log_fixture, "UPDATE {p}_aside SET created_us = %lld",
                        ago_us(2 * HOUR_S));
    log_fixture_sweep(&log_fixture);
    check_int(count_aside(&log_fixture), 0);
    log_fixture_close(&log_fixture);
}
