/*
 * How much is told of what waits: exactly up to a number of messages, however many
 * others have been delivered behind the oldest of them; and about, beyond that.
 */
#include "log_fixture.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum { QUEUE = 1, SUBSCRIPTION = 5, OTHER_SUBSCRIPTION = 6, STUCK = 0 };

static const struct weir_log_position BEGINNING = {0, 0};

static struct log_fixture open_queue(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    return log_fixture;
}

static void append(struct log_fixture *log_fixture, int32_t partitions, int count)
{
    log_fixture_append_many(log_fixture, log_fixture->connection, QUEUE, partitions,
                            count);
}

/* The end of the log, on every engine: everything there is passed. */
static struct weir_log_position head(struct log_fixture *log_fixture)
{
    struct weir_log_position log_position = log_fixture_advance(log_fixture);

    if (log_fixture->fixture->engine == WEIR_SQLITE)
        log_position = (struct weir_log_position){
            .id = fixture_ask(log_fixture->fixture, "SELECT max(id) FROM weir_log")};
    return log_position;
}

/* The first partition stands still, the others are done with everything. */
static void stand_still(struct log_fixture *log_fixture, int32_t partitions)
{
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, partitions,
                              head(log_fixture));
    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(QUEUE, STUCK),
                             BEGINNING);
}

static struct weir_lag lag_of(const struct seen_lags *lags, int32_t partition)
{
    return log_fixture_lag_of(lags, SUBSCRIPTION, weir_pid(QUEUE, partition));
}

static void note_queue(void *state, const struct weir_queue_info *info)
{
    *(struct weir_queue_info *)state = *info;
}

static struct weir_queue_info inspect(struct fixture *fixture)
{
    struct weir_queue_info info = {.waiting = -1};
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    check_db(weir_outbox_read_queue(outbox, "q1", note_queue, &info, &fixture->error),
             WEIR_OK);
    weir_outbox_destroy(outbox);
    return info;
}

static void check_exact_behind_others(struct fixture *fixture, int32_t partitions,
                                      int waiting)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_queue_info info;
    struct seen_lags lags;

    append(&log_fixture, partitions, waiting * partitions);
    stand_still(&log_fixture, partitions);
    lags = log_fixture_lag(&log_fixture, QUEUE);
    info = inspect(fixture);

    check_int(lags.count, 1);
    check_int(lag_of(&lags, STUCK).waiting, waiting);
    check_int(lag_of(&lags, STUCK).oldest_us, LOG_FIXTURE_CREATED_US);
    check(!lag_of(&lags, STUCK).estimate);
    check_int(info.waiting, waiting);
    check(!info.waiting_is_estimate);
    log_fixture_close(&log_fixture);
}

/* ---- exact ------------------------------------------------------------------------- */

OUTBOX_TEST(lag, of_60000_among_180000_is_exact_when_the_others_are_delivered)
{
    check_exact_behind_others(fixture, 3, 60000);
}

OUTBOX_TEST(lag, of_99999_among_199998_is_exact_when_the_others_are_delivered)
{
    check_exact_behind_others(fixture, 2, 99999);
}

OUTBOX_TEST(lag, of_a_position_in_the_middle_of_much_is_exact)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;
    struct weir_log_position log_position;

    append(&log_fixture, 1, 60000);
    log_position = head(&log_fixture);
    log_position.cut = fixture->engine == WEIR_POSTGRESQL ? log_position.cut - 1 : 0;
    log_position.id = 20000;
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0),
                             log_position);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 40000);
    check_int(lag_of(&lags, 0).oldest_us, LOG_FIXTURE_CREATED_US + 20000);
    check(!lag_of(&lags, 0).estimate);
    log_fixture_close(&log_fixture);
}

static int64_t rows_behind(struct fixture *fixture, int32_t partition, int64_t id)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_log WHERE pid = %lld AND id > %lld",
                   (long long)weir_pid(QUEUE, partition), (long long)id);
    return fixture_ask(fixture, sql);
}

/* One subscription is spread over all of it, the other is close to the end. */
OUTBOX_PLAIN_TEST(lag, of_positions_all_over_the_log_is_exact)
{
    enum { PARTITIONS = 16, ROWS = 90000 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_log_position end;
    struct seen_lags lags;

    log_fixture_add_subscription(&log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    append(&log_fixture, PARTITIONS, ROWS);
    end = head(&log_fixture);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        log_fixture_set_position(
            &log_fixture, SUBSCRIPTION, weir_pid(QUEUE, i),
            (struct weir_log_position){.id = 1 + i * (ROWS / PARTITIONS)});
        log_fixture_set_position(
            &log_fixture, OTHER_SUBSCRIPTION, weir_pid(QUEUE, i),
            (struct weir_log_position){.id = end.id - 1000 * i - 20});
    }
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lags.count, 2 * PARTITIONS);
    for (size_t i = 0; i < lags.count; i++) {
        const struct weir_lag *lag = &lags.lags[i];
        int32_t partition = weir_pid_partition(lag->pid);
        int64_t id = lag->subscription == SUBSCRIPTION
                         ? 1 + partition * (ROWS / PARTITIONS)
                         : end.id - 1000 * partition - 20;

        check_int(lag->waiting, rows_behind(fixture, partition, id));
        check(!lag->estimate);
    }
    log_fixture_close(&log_fixture);
}

/* It is done, and somebody else is not. */
OUTBOX_PLAIN_TEST(lag, is_exact_behind_the_backlog_of_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append(&log_fixture, 2, 1000);
    log_fixture_append_many(&log_fixture, log_fixture.connection, OTHER_QUEUE, 3, 150000);
    append(&log_fixture, 2, 500);
    (void)head(&log_fixture);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 750);
    check_int(lag_of(&lags, 1).waiting, 750);
    check(!lag_of(&lags, 0).estimate);
    log_fixture_close(&log_fixture);
}

/* Without subscriptions; what was removed with its queue lies in front. */
OUTBOX_TEST(lag, of_what_is_kept_is_exact_behind_the_backlog_of_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct weir_queue_info info;

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_append_many(&log_fixture, log_fixture.connection, OTHER_QUEUE, 3, 110000);
    append(&log_fixture, 2, 60);
    info = inspect(fixture);

    check_int(info.waiting, 60);
    check(!info.waiting_is_estimate);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(lag, has_nothing_of_a_large_transaction_that_runs)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_connection *producer = fixture_take(fixture);
    struct seen_lags lags;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append(&log_fixture, 2, 10);
    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    log_fixture_append_many(&log_fixture, producer, QUEUE, 2, 110000);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lags.count, 2);
    check_int(lag_of(&lags, 0).waiting, 5);
    check_int(lag_of(&lags, 1).waiting, 5);
    check(!lag_of(&lags, 0).estimate);
    weir_connection_rollback(producer);
    fixture_give(fixture, producer);
    log_fixture_close(&log_fixture);
}

/* ---- in time ----------------------------------------------------------------------- */

/* With no time at all but for the first `sure` rows; 30,000 wait among 60,000. */
static struct weir_lag lag_without_time(struct fixture *fixture, int64_t sure)
{
    const struct weir_lag_question question = {.queue_id = QUEUE,
                                               .look_max = WEIR_LAG_LOOK_MAX,
                                               .look_sure = sure,
                                               .look_us = 1};
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    append(&log_fixture, 2, 60000);
    stand_still(&log_fixture, 2);
    lags = log_fixture_ask_lag(&log_fixture, &question);
    log_fixture_close(&log_fixture);
    return lag_of(&lags, STUCK);
}

OUTBOX_TEST(lag, that_would_take_too_long_to_count_is_an_estimate)
{
    struct weir_lag lag = lag_without_time(fixture, 0);

    check(lag.estimate);
    check_in_range(lag.waiting, 27000, 33000);
}

OUTBOX_TEST(lag, of_few_rows_is_exact_however_long_it_takes)
{
    struct weir_lag lag = lag_without_time(fixture, 100000);

    check(!lag.estimate);
    check_int(lag.waiting, 30000);
}

/* ---- about ------------------------------------------------------------------------- */

/* The other partition is close to the end, and counted; so is the other subscription. */
OUTBOX_TEST(lag, of_more_than_is_counted_is_an_estimate_and_no_other_is)
{
    enum { WAITING = 125000 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_queue_info info;
    struct seen_lags lags;

    log_fixture_add_subscription(&log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    append(&log_fixture, 2, 2 * WAITING);
    stand_still(&log_fixture, 2);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 2,
                              head(&log_fixture));
    append(&log_fixture, 2, 6);
    lags = log_fixture_lag(&log_fixture, QUEUE);
    info = inspect(fixture);

    check_int(lags.count, 4);
    check(lag_of(&lags, STUCK).estimate);
    check_in_range(lag_of(&lags, STUCK).waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    check_int(lag_of(&lags, STUCK).oldest_us, LOG_FIXTURE_CREATED_US);
    check_int(lag_of(&lags, 1).waiting, 3);
    check(!lag_of(&lags, 1).estimate);
    for (int32_t i = 0; i < 2; i++) {
        struct weir_lag other =
            log_fixture_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, i));

        check_int(other.waiting, 3);
        check(!other.estimate);
    }
    check(info.waiting_is_estimate);
    check_in_range(info.waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    log_fixture_close(&log_fixture);
}

/* One partition has the first half and another the rest, so the two ends say little. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_an_uneven_backlog_is_right_within_a_third)
{
    enum { HALF = 99999 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 4, BEGINNING);
    append(&log_fixture, 1, HALF);
    append(&log_fixture, 3, HALF);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check(lag_of(&lags, 0).estimate && lag_of(&lags, 1).estimate);
    check_in_range(lag_of(&lags, 0).waiting, HALF * 4 / 3 * 2 / 3, HALF * 4 / 3 * 4 / 3);
    check_in_range(lag_of(&lags, 1).waiting, HALF / 3 * 2 / 3, HALF / 3 * 4 / 3);
    check_in_range(lag_of(&lags, 2).waiting, HALF / 3 * 2 / 3, HALF / 3 * 4 / 3);
    log_fixture_close(&log_fixture);
}

/* Rows of the log that a look at the lag of the queue has fetched. */
static int64_t fetched_for_lag(struct log_fixture *log_fixture, struct seen_lags *lags)
{
    static const struct weir_sql SQL_FETCHED = {
        .name = "rows fetched",
        .text = "SELECT sum(seq_tup_read + idx_tup_fetch)::bigint"
                " FROM pg_stat_xact_user_tables WHERE relname ~ '^{n}_log_[0-9]$'",
        .parameters = "",
    };
    struct fixture *fixture = log_fixture->fixture;
    int64_t fetched = -1;

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    *lags = log_fixture_lag(log_fixture, QUEUE);
    check_db(weir_connection_query_integer(log_fixture->connection, &SQL_FETCHED,
                                           NO_VALUES, &fetched, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(log_fixture->connection);
    return fetched;
}

OUTBOX_POSTGRESQL_TEST(lag_pg, of_half_of_much_is_told_by_a_sample)
{
    enum { WAITING = 200000 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    append(&log_fixture, 2, 2 * WAITING);
    stand_still(&log_fixture, 2);

    check_in_range(fetched_for_lag(&log_fixture, &lags), 1000, 40000);
    check(lag_of(&lags, STUCK).estimate);
    check_in_range(lag_of(&lags, STUCK).waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    log_fixture_close(&log_fixture);
}

/* What is set aside waits too. */
OUTBOX_TEST(lag, has_what_is_set_aside_also_when_it_is_an_estimate)
{
    enum { PARTITIONS = 16 };
    struct log_fixture log_fixture = open_queue(fixture);
    const int32_t alone = PARTITIONS - 1;
    struct seen_lags lags;

    append(&log_fixture, PARTITIONS, 4800);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS,
                              head(&log_fixture));
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, alone),
                             BEGINNING);
    check(log_fixture_sweep(&log_fixture).aside > 0);
    append(&log_fixture, 1, 130000);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check(lag_of(&lags, 0).estimate);
    check_in_range(lag_of(&lags, 0).waiting, 117000, 143000);
    check_in_range(lag_of(&lags, alone).waiting, 300,
                   400); /* SQLite keeps some in the log */
    check_int(lag_of(&lags, alone).oldest_us, LOG_FIXTURE_CREATED_US + alone);
    log_fixture_close(&log_fixture);
}

/* ---- what is not moved yet: MariaDB ------------------------------------------------ */

/* Committed, and not moved. */
static void append_incoming(struct log_fixture *log_fixture, int64_t queue,
                            int32_t partitions, int count)
{
    struct fixture *fixture = log_fixture->fixture;

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    log_fixture_append_many(log_fixture, log_fixture->connection, queue, partitions,
                            count);
    check_db(weir_connection_commit(log_fixture->connection, &fixture->error), WEIR_OK);
}

OUTBOX_MARIADB_TEST(lag_maria, of_what_is_not_moved_yet_counts_for_every_subscription)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    log_fixture_add_subscription(&log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    append(&log_fixture, 2, 20);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 2, head(&log_fixture));
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&log_fixture, QUEUE, 2, 6);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lags.count, 4);
    check_int(lag_of(&lags, 1).waiting, 3);
    check_int(lag_of(&lags, 1).oldest_us, LOG_FIXTURE_CREATED_US + 1);
    check_int(log_fixture_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 1)).waiting,
              13);
    check(!lag_of(&lags, 1).estimate);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(lag_maria, of_what_is_not_moved_yet_is_exact_behind_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&log_fixture, OTHER_QUEUE, 3, 110000);
    append_incoming(&log_fixture, QUEUE, 2, 50);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 25);
    check_int(lag_of(&lags, 1).waiting, 25);
    check(!lag_of(&lags, 0).estimate);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(lag_maria, of_much_that_is_not_moved_yet_is_an_estimate)
{
    enum { WAITING = 130000 };
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&log_fixture, QUEUE, 2, WAITING);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check(lag_of(&lags, 0).estimate && lag_of(&lags, 1).estimate);
    check_in_range(lag_of(&lags, 0).waiting, WAITING / 2 * 9 / 10, WAITING / 2 * 11 / 10);
    check_int(lag_of(&lags, 0).oldest_us, LOG_FIXTURE_CREATED_US);
    log_fixture_close(&log_fixture);
}

/* The counter is made to lie: what is before it is not looked at. */
OUTBOX_MARIADB_TEST(lag_maria, does_not_look_before_the_beginning_of_the_log)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct seen_lags lags;

    append(&log_fixture, 1, 100);
    (void)head(&log_fixture);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    log_fixture_execute(&log_fixture,
                        "UPDATE {p}_counter SET value = 60 WHERE name = 'swept'");
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 40);
    log_fixture_close(&log_fixture);
}

/* ---- late: PostgreSQL -------------------------------------------------------------- */

/* A transaction that writes while a cut is made, whose ids are therefore behind those
 * of the cut. */
static struct log_fixture open_late(struct fixture *fixture, int32_t partitions,
                                    int count, struct weir_log_position *cut)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_connection *producer = fixture_take(fixture);

    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    log_fixture_append_many(&log_fixture, producer, QUEUE, partitions, count);
    append(&log_fixture, partitions, 1000);
    *cut = head(&log_fixture);
    check_db(weir_connection_commit(producer, &fixture->error), WEIR_OK);
    fixture_give(fixture, producer);
    return log_fixture;
}

static struct weir_lag lag_at(struct log_fixture *log_fixture,
                              struct weir_log_position log_position)
{
    struct seen_lags lags;

    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), log_position);
    lags = log_fixture_lag(log_fixture, QUEUE);
    return lag_of(&lags, 0);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_many_late_rows)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag = lag_at(&log_fixture, cut);

    check_int(lag.waiting, 30000);
    check(!lag.estimate);
    log_fixture_close(&log_fixture);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_the_late_rows_that_are_left_in_their_cut)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag;

    (void)head(&log_fixture);
    lag = lag_at(&log_fixture, (struct weir_log_position){.cut = cut.cut, .id = 20000});

    check_int(lag.waiting, 10000);
    check(!lag.estimate);
    log_fixture_close(&log_fixture);
}

/* The position is in the first cut, behind the ids that are late in the second. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_before_a_position_within_the_cut_before)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 1, 500, &cut);
    struct weir_lag lag =
        lag_at(&log_fixture, (struct weir_log_position){.cut = cut.cut - 1, .id = 1200});

    check_int(lag.waiting, 300 + 500);
    check(!lag.estimate);
    log_fixture_close(&log_fixture);
}

/* Its late rows lie where only those of the other are looked at by their ids. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_beside_a_partition_that_stands_still)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 2, 600, &cut);
    struct seen_lags lags;

    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, STUCK),
                             BEGINNING);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 1), cut);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check_int(lag_of(&lags, STUCK).waiting, 300 + 500);
    check_int(lag_of(&lags, 1).waiting, 300);
    log_fixture_close(&log_fixture);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, estimates_late_rows_that_are_too_many)
{
    enum { WAITING = 130000 };
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 1, WAITING, &cut);
    struct weir_lag lag = lag_at(&log_fixture, cut);

    check(lag.estimate);
    check_in_range(lag.waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    log_fixture_close(&log_fixture);
}

/* The mark of the position is close to the end, but what waits is not. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_late_rows_that_are_too_many_is_told_by_a_sample)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 1, 150000, &cut);
    struct seen_lags lags;

    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), cut);

    check_in_range(fetched_for_lag(&log_fixture, &lags), 1000, 30000);
    check(lag_of(&lags, 0).estimate);
    log_fixture_close(&log_fixture);
}

/* The one that is in the middle of many late rows is told about. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_a_position_at_the_end_is_exact_beside_many_late_rows)
{
    struct weir_log_position cut;
    struct log_fixture log_fixture = open_late(fixture, 2, 300000, &cut);
    struct seen_lags lags;

    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), cut);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 1),
                             head(&log_fixture));
    append(&log_fixture, 2, 6);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check(lag_of(&lags, 0).estimate);
    check_int(lag_of(&lags, 1).waiting, 3);
    check(!lag_of(&lags, 1).estimate);
    log_fixture_close(&log_fixture);
}
