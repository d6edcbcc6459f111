/*
 * How much is told of what waits: exactly up to a number of messages, however many others have
 * been delivered behind the oldest of them; and about, beyond that.
 */
#include "log_scene.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum { QUEUE = 1, SUBSCRIPTION = 5, OTHER_SUBSCRIPTION = 6, STUCK = 0 };

static const struct weir_log_position BEGINNING = {0, 0};

static struct scene open_queue(struct fixture *fixture)
{
    struct scene scene = scene_open(fixture);

    scene_add_queue(&scene, QUEUE, 0);
    scene_add_subscription(&scene, SUBSCRIPTION, QUEUE);
    return scene;
}

static void append(struct scene *scene, int32_t partitions, int count)
{
    scene_append_many(scene, scene->connection, QUEUE, partitions, count);
}

/* The end of the log, on every engine: everything there is passed. */
static struct weir_log_position head(struct scene *scene)
{
    struct weir_log_position log_position = scene_advance(scene);

    if (scene->fixture->engine == WEIR_SQLITE)
        log_position = (struct weir_log_position){
            .id = fixture_ask(scene->fixture, "SELECT max(id) FROM weir_log")};
    return log_position;
}

/* The first partition stands still, the others are done with everything. */
static void stand_still(struct scene *scene, int32_t partitions)
{
    scene_set_positions(scene, SUBSCRIPTION, QUEUE, partitions, head(scene));
    scene_set_position(scene, SUBSCRIPTION, weir_pid(QUEUE, STUCK), BEGINNING);
}

static struct weir_lag lag_of(const struct seen_lags *lags, int32_t partition)
{
    return scene_lag_of(lags, SUBSCRIPTION, weir_pid(QUEUE, partition));
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
    struct scene scene = open_queue(fixture);
    struct weir_queue_info info;
    struct seen_lags lags;

    append(&scene, partitions, waiting * partitions);
    stand_still(&scene, partitions);
    lags = scene_lag(&scene, QUEUE);
    info = inspect(fixture);

    check_int(lags.count, 1);
    check_int(lag_of(&lags, STUCK).waiting, waiting);
    check_int(lag_of(&lags, STUCK).oldest_us, SCENE_CREATED_US);
    check(!lag_of(&lags, STUCK).estimate);
    check_int(info.waiting, waiting);
    check(!info.waiting_is_estimate);
    scene_close(&scene);
}

/* ---- exact -------------------------------------------------------------------------------- */

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
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;
    struct weir_log_position log_position;

    append(&scene, 1, 60000);
    log_position = head(&scene);
    log_position.cut = fixture->engine == WEIR_POSTGRESQL ? log_position.cut - 1 : 0;
    log_position.id = 20000;
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 0), log_position);
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 40000);
    check_int(lag_of(&lags, 0).oldest_us, SCENE_CREATED_US + 20000);
    check(!lag_of(&lags, 0).estimate);
    scene_close(&scene);
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
    struct scene scene = open_queue(fixture);
    struct weir_log_position end;
    struct seen_lags lags;

    scene_add_subscription(&scene, OTHER_SUBSCRIPTION, QUEUE);
    append(&scene, PARTITIONS, ROWS);
    end = head(&scene);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, i),
                           (struct weir_log_position){.id = 1 + i * (ROWS / PARTITIONS)});
        scene_set_position(&scene, OTHER_SUBSCRIPTION, weir_pid(QUEUE, i),
                           (struct weir_log_position){.id = end.id - 1000 * i - 20});
    }
    lags = scene_lag(&scene, QUEUE);

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
    scene_close(&scene);
}

/* It is done, and somebody else is not. */
OUTBOX_PLAIN_TEST(lag, is_exact_behind_the_backlog_of_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append(&scene, 2, 1000);
    scene_append_many(&scene, scene.connection, OTHER_QUEUE, 3, 150000);
    append(&scene, 2, 500);
    (void)head(&scene);
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 750);
    check_int(lag_of(&lags, 1).waiting, 750);
    check(!lag_of(&lags, 0).estimate);
    scene_close(&scene);
}

/* Without subscriptions; what was removed with its queue lies in front. */
OUTBOX_TEST(lag, of_what_is_kept_is_exact_behind_the_backlog_of_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct scene scene = scene_open(fixture);
    struct weir_queue_info info;

    scene_add_queue(&scene, QUEUE, 0);
    scene_append_many(&scene, scene.connection, OTHER_QUEUE, 3, 110000);
    append(&scene, 2, 60);
    info = inspect(fixture);

    check_int(info.waiting, 60);
    check(!info.waiting_is_estimate);
    scene_close(&scene);
}

OUTBOX_TEST(lag, has_nothing_of_a_large_transaction_that_runs)
{
    struct scene scene = open_queue(fixture);
    struct weir_connection *producer = fixture_take(fixture);
    struct seen_lags lags;

    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append(&scene, 2, 10);
    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    scene_append_many(&scene, producer, QUEUE, 2, 110000);
    lags = scene_lag(&scene, QUEUE);

    check_int(lags.count, 2);
    check_int(lag_of(&lags, 0).waiting, 5);
    check_int(lag_of(&lags, 1).waiting, 5);
    check(!lag_of(&lags, 0).estimate);
    weir_connection_rollback(producer);
    fixture_give(fixture, producer);
    scene_close(&scene);
}

/* ---- in time ------------------------------------------------------------------------------ */

/* With no time at all but for the first `sure` rows; 30,000 wait among 60,000. */
static struct weir_lag lag_without_time(struct fixture *fixture, int64_t sure)
{
    const struct weir_lag_question question = {.queue_id = QUEUE,
                                               .look_max = WEIR_LAG_LOOK_MAX,
                                               .look_sure = sure,
                                               .look_us = 1};
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    append(&scene, 2, 60000);
    stand_still(&scene, 2);
    lags = scene_ask_lag(&scene, &question);
    scene_close(&scene);
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

/* ---- about -------------------------------------------------------------------------------- */

/* The other partition is close to the end, and counted; so is the other subscription. */
OUTBOX_TEST(lag, of_more_than_is_counted_is_an_estimate_and_no_other_is)
{
    enum { WAITING = 125000 };
    struct scene scene = open_queue(fixture);
    struct weir_queue_info info;
    struct seen_lags lags;

    scene_add_subscription(&scene, OTHER_SUBSCRIPTION, QUEUE);
    append(&scene, 2, 2 * WAITING);
    stand_still(&scene, 2);
    scene_set_positions(&scene, OTHER_SUBSCRIPTION, QUEUE, 2, head(&scene));
    append(&scene, 2, 6);
    lags = scene_lag(&scene, QUEUE);
    info = inspect(fixture);

    check_int(lags.count, 4);
    check(lag_of(&lags, STUCK).estimate);
    check_in_range(lag_of(&lags, STUCK).waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    check_int(lag_of(&lags, STUCK).oldest_us, SCENE_CREATED_US);
    check_int(lag_of(&lags, 1).waiting, 3);
    check(!lag_of(&lags, 1).estimate);
    for (int32_t i = 0; i < 2; i++) {
        struct weir_lag other =
            scene_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, i));

        check_int(other.waiting, 3);
        check(!other.estimate);
    }
    check(info.waiting_is_estimate);
    check_in_range(info.waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    scene_close(&scene);
}

/* One partition has the first half and another the rest, so the two ends say little. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_an_uneven_backlog_is_right_within_a_third)
{
    enum { HALF = 99999 };
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 4, BEGINNING);
    append(&scene, 1, HALF);
    append(&scene, 3, HALF);
    lags = scene_lag(&scene, QUEUE);

    check(lag_of(&lags, 0).estimate && lag_of(&lags, 1).estimate);
    check_in_range(lag_of(&lags, 0).waiting, HALF * 4 / 3 * 2 / 3, HALF * 4 / 3 * 4 / 3);
    check_in_range(lag_of(&lags, 1).waiting, HALF / 3 * 2 / 3, HALF / 3 * 4 / 3);
    check_in_range(lag_of(&lags, 2).waiting, HALF / 3 * 2 / 3, HALF / 3 * 4 / 3);
    scene_close(&scene);
}

/* Rows of the log that a look at the lag of the queue has fetched. */
static int64_t fetched_for_lag(struct scene *scene, struct seen_lags *lags)
{
    static const struct weir_sql SQL_FETCHED = {
        .name = "rows fetched",
        .text = "SELECT sum(seq_tup_read + idx_tup_fetch)::bigint"
                " FROM pg_stat_xact_user_tables WHERE relname ~ '^{n}_log_[0-9]$'",
        .parameters = "",
    };
    struct fixture *fixture = scene->fixture;
    int64_t fetched = -1;

    check_db(weir_connection_begin(scene->connection, &fixture->error), WEIR_OK);
    *lags = scene_lag(scene, QUEUE);
    check_db(weir_connection_query_integer(scene->connection, &SQL_FETCHED, NO_VALUES,
                                           &fetched, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(scene->connection);
    return fetched;
}

OUTBOX_POSTGRESQL_TEST(lag_pg, of_half_of_much_is_told_by_a_sample)
{
    enum { WAITING = 200000 };
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    append(&scene, 2, 2 * WAITING);
    stand_still(&scene, 2);

    check_in_range(fetched_for_lag(&scene, &lags), 1000, 40000);
    check(lag_of(&lags, STUCK).estimate);
    check_in_range(lag_of(&lags, STUCK).waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    scene_close(&scene);
}

/* What is set aside waits too. */
OUTBOX_TEST(lag, has_what_is_set_aside_also_when_it_is_an_estimate)
{
    enum { PARTITIONS = 16 };
    struct scene scene = open_queue(fixture);
    const int32_t alone = PARTITIONS - 1;
    struct seen_lags lags;

    append(&scene, PARTITIONS, 4800);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, head(&scene));
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, alone), BEGINNING);
    check(scene_sweep(&scene).aside > 0);
    append(&scene, 1, 130000);
    lags = scene_lag(&scene, QUEUE);

    check(lag_of(&lags, 0).estimate);
    check_in_range(lag_of(&lags, 0).waiting, 117000, 143000);
    check_in_range(lag_of(&lags, alone).waiting, 300,
                   400); /* SQLite keeps some in the log */
    check_int(lag_of(&lags, alone).oldest_us, SCENE_CREATED_US + alone);
    scene_close(&scene);
}

/* ---- what is not moved yet: MariaDB ------------------------------------------------------- */

/* Committed, and not moved. */
static void append_incoming(struct scene *scene, int64_t queue, int32_t partitions,
                            int count)
{
    struct fixture *fixture = scene->fixture;

    check_db(weir_connection_begin(scene->connection, &fixture->error), WEIR_OK);
    scene_append_many(scene, scene->connection, queue, partitions, count);
    check_db(weir_connection_commit(scene->connection, &fixture->error), WEIR_OK);
}

OUTBOX_MARIADB_TEST(lag_maria, of_what_is_not_moved_yet_counts_for_every_subscription)
{
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    scene_add_subscription(&scene, OTHER_SUBSCRIPTION, QUEUE);
    append(&scene, 2, 20);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 2, head(&scene));
    scene_set_positions(&scene, OTHER_SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&scene, QUEUE, 2, 6);
    lags = scene_lag(&scene, QUEUE);

    check_int(lags.count, 4);
    check_int(lag_of(&lags, 1).waiting, 3);
    check_int(lag_of(&lags, 1).oldest_us, SCENE_CREATED_US + 1);
    check_int(scene_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 1)).waiting, 13);
    check(!lag_of(&lags, 1).estimate);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(lag_maria, of_what_is_not_moved_yet_is_exact_behind_another_queue)
{
    enum { OTHER_QUEUE = 2 };
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&scene, OTHER_QUEUE, 3, 110000);
    append_incoming(&scene, QUEUE, 2, 50);
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 25);
    check_int(lag_of(&lags, 1).waiting, 25);
    check(!lag_of(&lags, 0).estimate);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(lag_maria, of_much_that_is_not_moved_yet_is_an_estimate)
{
    enum { WAITING = 130000 };
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, 2, BEGINNING);
    append_incoming(&scene, QUEUE, 2, WAITING);
    lags = scene_lag(&scene, QUEUE);

    check(lag_of(&lags, 0).estimate && lag_of(&lags, 1).estimate);
    check_in_range(lag_of(&lags, 0).waiting, WAITING / 2 * 9 / 10, WAITING / 2 * 11 / 10);
    check_int(lag_of(&lags, 0).oldest_us, SCENE_CREATED_US);
    scene_close(&scene);
}

/* The counter is made to lie: what is before it is not looked at. */
OUTBOX_MARIADB_TEST(lag_maria, does_not_look_before_the_beginning_of_the_log)
{
    struct scene scene = open_queue(fixture);
    struct seen_lags lags;

    append(&scene, 1, 100);
    (void)head(&scene);
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    scene_execute(&scene, "UPDATE {p}_counter SET value = 60 WHERE name = 'swept'");
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 40);
    scene_close(&scene);
}

/* ---- late: PostgreSQL --------------------------------------------------------------------- */

/* A transaction that writes while a cut is made, whose ids are therefore behind those of the cut. */
static struct scene open_late(struct fixture *fixture, int32_t partitions, int count,
                              struct weir_log_position *cut)
{
    struct scene scene = open_queue(fixture);
    struct weir_connection *producer = fixture_take(fixture);

    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    scene_append_many(&scene, producer, QUEUE, partitions, count);
    append(&scene, partitions, 1000);
    *cut = head(&scene);
    check_db(weir_connection_commit(producer, &fixture->error), WEIR_OK);
    fixture_give(fixture, producer);
    return scene;
}

static struct weir_lag lag_at(struct scene *scene, struct weir_log_position log_position)
{
    struct seen_lags lags;

    scene_set_position(scene, SUBSCRIPTION, weir_pid(QUEUE, 0), log_position);
    lags = scene_lag(scene, QUEUE);
    return lag_of(&lags, 0);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_many_late_rows)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag = lag_at(&scene, cut);

    check_int(lag.waiting, 30000);
    check(!lag.estimate);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_the_late_rows_that_are_left_in_their_cut)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag;

    (void)head(&scene);
    lag = lag_at(&scene, (struct weir_log_position){.cut = cut.cut, .id = 20000});

    check_int(lag.waiting, 10000);
    check(!lag.estimate);
    scene_close(&scene);
}

/* The position is in the first cut, behind the ids that are late in the second. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_before_a_position_within_the_cut_before)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 1, 500, &cut);
    struct weir_lag lag =
        lag_at(&scene, (struct weir_log_position){.cut = cut.cut - 1, .id = 1200});

    check_int(lag.waiting, 300 + 500);
    check(!lag.estimate);
    scene_close(&scene);
}

/* Its late rows lie where only those of the other are looked at by their ids. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_beside_a_partition_that_stands_still)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 2, 600, &cut);
    struct seen_lags lags;

    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, STUCK), BEGINNING);
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 1), cut);
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, STUCK).waiting, 300 + 500);
    check_int(lag_of(&lags, 1).waiting, 300);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, estimates_late_rows_that_are_too_many)
{
    enum { WAITING = 130000 };
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 1, WAITING, &cut);
    struct weir_lag lag = lag_at(&scene, cut);

    check(lag.estimate);
    check_in_range(lag.waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    scene_close(&scene);
}

/* The mark of the position is close to the end, but what waits is not. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_late_rows_that_are_too_many_is_told_by_a_sample)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 1, 150000, &cut);
    struct seen_lags lags;

    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 0), cut);

    check_in_range(fetched_for_lag(&scene, &lags), 1000, 30000);
    check(lag_of(&lags, 0).estimate);
    scene_close(&scene);
}

/* The one that is in the middle of many late rows is told about. */
OUTBOX_POSTGRESQL_TEST(lag_pg, of_a_position_at_the_end_is_exact_beside_many_late_rows)
{
    struct weir_log_position cut;
    struct scene scene = open_late(fixture, 2, 300000, &cut);
    struct seen_lags lags;

    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 0), cut);
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 1), head(&scene));
    append(&scene, 2, 6);
    lags = scene_lag(&scene, QUEUE);

    check(lag_of(&lags, 0).estimate);
    check_int(lag_of(&lags, 1).waiting, 3);
    check(!lag_of(&lags, 1).estimate);
    scene_close(&scene);
}
