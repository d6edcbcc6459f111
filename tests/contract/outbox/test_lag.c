/*
 * How much is told of what waits: exactly up to a number of messages, however many others have
 * been delivered behind the oldest of them; and about, beyond that.
 */
#include "log_scene.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum { QUEUE = 1, SUBSCRIPTION = 5, OTHER_SUBSCRIPTION = 6, STUCK = 0 };

static const struct weir_place BEGINNING = {0, 0};

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

/* The end of the log, on both engines: everything there is passed. */
static struct weir_place head(struct scene *scene)
{
    struct weir_place place = scene_advance(scene);

    if (scene->fixture->engine == WEIR_SQLITE)
        place = (struct weir_place){
            .id = fixture_ask(scene->fixture, "SELECT max(id) FROM weir_log")};
    return place;
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
    struct weir_place place;

    append(&scene, 1, 60000);
    place = head(&scene);
    place.cut = fixture->engine == WEIR_POSTGRESQL ? place.cut - 1 : 0;
    place.id = 20000;
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 0), place);
    lags = scene_lag(&scene, QUEUE);

    check_int(lag_of(&lags, 0).waiting, 40000);
    check_int(lag_of(&lags, 0).oldest_us, SCENE_CREATED_US + 20000);
    check(!lag_of(&lags, 0).estimate);
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

/* ---- about -------------------------------------------------------------------------------- */

/* The other partition is close to the end, and counted; so is the other subscription. */
OUTBOX_TEST(lag, of_more_than_is_counted_is_an_estimate_and_no_other_is)
{
    enum { WAITING = 115000 };
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

/* ---- late: PostgreSQL --------------------------------------------------------------------- */

/* A transaction that writes while a cut is made, whose ids are therefore behind those of the cut. */
static struct scene open_late(struct fixture *fixture, int32_t partitions, int count,
                              struct weir_place *cut)
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

static struct weir_lag lag_at(struct scene *scene, struct weir_place place)
{
    struct seen_lags lags;

    scene_set_position(scene, SUBSCRIPTION, weir_pid(QUEUE, 0), place);
    lags = scene_lag(scene, QUEUE);
    return lag_of(&lags, 0);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_many_late_rows)
{
    struct weir_place cut;
    struct scene scene = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag = lag_at(&scene, cut);

    check_int(lag.waiting, 30000);
    check(!lag.estimate);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_the_late_rows_that_are_left_in_their_cut)
{
    struct weir_place cut;
    struct scene scene = open_late(fixture, 1, 30000, &cut);
    struct weir_lag lag;

    (void)head(&scene);
    lag = lag_at(&scene, (struct weir_place){.cut = cut.cut, .id = 20000});

    check_int(lag.waiting, 10000);
    check(!lag.estimate);
    scene_close(&scene);
}

/* The position is in the first cut, behind the ids that are late in the second. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_before_a_position_within_the_cut_before)
{
    struct weir_place cut;
    struct scene scene = open_late(fixture, 1, 500, &cut);
    struct weir_lag lag =
        lag_at(&scene, (struct weir_place){.cut = cut.cut - 1, .id = 1200});

    check_int(lag.waiting, 300 + 500);
    check(!lag.estimate);
    scene_close(&scene);
}

/* Its late rows lie where only those of the other are looked at by their ids. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_late_rows_beside_a_partition_that_stands_still)
{
    struct weir_place cut;
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
    struct weir_place cut;
    struct scene scene = open_late(fixture, 1, WAITING, &cut);
    struct weir_lag lag = lag_at(&scene, cut);

    check(lag.estimate);
    check_in_range(lag.waiting, WAITING * 9 / 10, WAITING * 11 / 10);
    scene_close(&scene);
}
