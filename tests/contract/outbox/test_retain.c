/*
 * What a queue keeps although every subscription has passed it.
 *
 * Ages are made by changing when rows were created: nothing here waits.
 */
#include <time.h>

#include "log_scene.h"

static const struct weir_log_position BEGINNING = {0, 0};

enum { QUEUE = 1, OTHER_QUEUE = 2, SUBSCRIPTION = 1 };
enum { HOUR_S = 3600, PARTITIONS = 4 };

/* A queue that retains an hour, and a subscription of it. */
static struct scene open_retaining(struct fixture *fixture, int unread)
{
    struct scene scene = scene_open(fixture);

    scene_add_queue(&scene, QUEUE, unread);
    scene_execute(&scene, "UPDATE {p}_queue SET retain_us = %lld WHERE id = %d",
                  (long long)HOUR_S * 1000000, QUEUE);
    return scene;
}

static void subscribe(struct scene *scene)
{
    scene_add_subscription(scene, SUBSCRIPTION, QUEUE);
    scene_set_positions(scene, SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
}

static long long ago_us(int seconds)
{
    return ((long long)time(NULL) - seconds) * 1000000;
}

/* Append messages that are so many seconds old, in a leaf of their own; all are readable. */
static struct weir_log_position append_aged(struct scene *scene, size_t count,
                                            int64_t queue, int seconds)
{
    struct weir_log_position head;

    scene_append(scene, count, queue, PARTITIONS);
    head = scene_advance(scene);
    scene_execute(scene,
                  "UPDATE {p}_log SET created_us = %lld WHERE created_us > %lld"
                  " OR created_us < 2000000",
                  ago_us(seconds), ago_us(60));
    scene_turn_leaf(scene);
    return head;
}

static void pass(struct scene *scene, struct weir_log_position log_position)
{
    scene_set_positions(scene, SUBSCRIPTION, QUEUE, PARTITIONS, log_position);
}

/* What a subscription that begins now, at the beginning, would get. */
static struct seen *read_from_oldest(struct scene *scene)
{
    struct fixture *fixture = scene->fixture;
    struct weir_log_position oldest = {0, 0};

    check_db(
        weir_log_oldest(&scene->log, scene->connection, QUEUE, &oldest, &fixture->error),
        WEIR_OK);
    return scene_read(scene, oldest, NULL);
}

static int64_t whole_from(struct scene *scene)
{
    return fixture_ask(scene->fixture, "SELECT whole_us FROM weir_queue WHERE id = 1");
}

/* Its first and its last. */
static void check_left(struct scene *scene, int64_t first, int64_t last)
{
    struct seen *seen = read_from_oldest(scene);

    check_int(seen->count, last - first + 1);
    if (seen->count > 0) {
        check_int(seen->rows[0].number, first);
        check_int(seen->rows[seen->count - 1].number, last);
    }
    free(seen);
}

OUTBOX_TEST(retain, keeps_what_is_passed_for_a_new_subscription)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    pass(&scene, append_aged(&scene, 200, QUEUE, 120));
    scene_sweep(&scene);

    check_int(scene_stored(&scene), 200);
    check_left(&scene, 1, 200);
    check_int(whole_from(&scene), 0);
    scene_close(&scene);
}

OUTBOX_TEST(retain, ends_with_the_age_of_a_message)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    (void)append_aged(&scene, 200, QUEUE, 2 * HOUR_S);
    pass(&scene, append_aged(&scene, 100, QUEUE, 120));
    scene_sweep(&scene);

    check_int(scene_stored(&scene), 100);
    check_left(&scene, 201, 300);
    check_in_range(whole_from(&scene), ago_us(2 * HOUR_S + 60), ago_us(2 * HOUR_S - 60));
    scene_close(&scene);
}

/* On PostgreSQL positions are raised by leaf, and those of other leaves are not given up. */
OUTBOX_TEST(retain, says_nothing_of_what_is_passed_and_younger)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    (void)append_aged(&scene, 100, QUEUE, 3 * HOUR_S);
    (void)append_aged(&scene, 100, QUEUE, 2 * HOUR_S);
    pass(&scene, append_aged(&scene, 100, QUEUE, 120));
    scene_sweep(&scene);
    scene_append(&scene, 1, QUEUE, PARTITIONS);
    pass(&scene, scene_advance(&scene));

    check_left(&scene, 201, 301);
    scene_close(&scene);
}

OUTBOX_TEST(retain, keeps_nothing_of_other_queues_back)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    scene_add_queue(&scene, OTHER_QUEUE, 1);
    (void)append_aged(&scene, 100, OTHER_QUEUE, 120);
    pass(&scene, append_aged(&scene, 100, QUEUE, 120));
    scene_sweep(&scene);

    check_int(scene_stored(&scene), 100);
    check_left(&scene, 101, 200);
    scene_close(&scene);
}

OUTBOX_TEST(retain, keeps_what_nobody_has_subscribed_to_of_a_queue_that_drops)
{
    struct scene scene = open_retaining(fixture, 1);

    (void)append_aged(&scene, 100, QUEUE, 2 * HOUR_S);
    (void)append_aged(&scene, 100, QUEUE, 120);
    scene_sweep(&scene);

    check_left(&scene, 101, 200);
    scene_close(&scene);
}

OUTBOX_TEST(retain, is_not_needed_by_a_subscription_that_is_far_behind)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    (void)append_aged(&scene, 200, QUEUE, 2 * HOUR_S);
    (void)append_aged(&scene, 100, QUEUE, 120);
    scene_sweep(&scene);

    check_int(scene_stored(&scene), 300);
    check_left(&scene, 1, 300);
    scene_close(&scene);
}

/* Few rows among many that go, in one window of the sweep or in one leaf: if they were needed, they
 * would be set aside. */
OUTBOX_TEST(retain, sets_nothing_aside)
{
    struct scene scene = open_retaining(fixture, 0);
    bool by_leaf = fixture->engine == WEIR_POSTGRESQL;
    int64_t aside = 0;

    subscribe(&scene);
    scene_add_queue(&scene, OTHER_QUEUE, 1);
    scene_append(&scene, by_leaf ? 200 : 1000, OTHER_QUEUE, PARTITIONS);
    scene_append(&scene, 20, QUEUE, PARTITIONS);
    pass(&scene, append_aged(&scene, by_leaf ? 200 : 2000, OTHER_QUEUE, 120));
    aside = scene_sweep(&scene).aside;

    check_int(aside, 0);
    check_int(scene_stored(&scene), by_leaf ? 420 : 20);
    scene_close(&scene);
}

OUTBOX_TEST(retain, that_is_turned_off_removes_what_is_passed)
{
    struct scene scene = open_retaining(fixture, 0);

    subscribe(&scene);
    pass(&scene, append_aged(&scene, 200, QUEUE, 120));
    scene_sweep(&scene);
    check_int(scene_stored(&scene), 200);
    scene_execute(&scene, "UPDATE {p}_queue SET retain_us = 0");
    scene_sweep(&scene);

    check_int(scene_stored(&scene), 0);
    check_in_range(whole_from(&scene), ago_us(60), ago_us(-60));
    scene_close(&scene);
}

/* A sweep that remembers where what is retained ends still finds what becomes old in front. */
OUTBOX_PLAIN_TEST(retain, that_is_skipped_in_later_rounds_ends_with_the_age_of_a_message)
{
    struct scene scene = open_retaining(fixture, 0);
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    int64_t removed = 0;

    subscribe(&scene);
    (void)append_aged(&scene, 2500, QUEUE, 120);
    pass(&scene, append_aged(&scene, 2500, QUEUE, 120));
    for (int round = 0; round < 2; round++) {
        do {
            check_db(scene.log.ops->sweep(&scene.log, fixture->db, &state, &report,
                                          &fixture->error),
                     WEIR_OK);
            removed += report.removed;
        } while (report.more);
        check(state.retained[0].last_id >= 4000);
        if (round == 0) {
            check_int(removed, 0);
            scene_execute(&scene, "UPDATE {p}_log SET created_us = %lld WHERE id <= 100",
                          ago_us(2 * HOUR_S));
        }
    }

    check_int(removed, 100);
    check_left(&scene, 101, 5000);
    scene_close(&scene);
}

/* ---- the ring of PostgreSQL ---- */

/* Ids go on in the leaf before the one of the first messages. */
OUTBOX_POSTGRESQL_TEST(retain, is_given_up_when_ids_come_round)
{
    struct scene scene = open_retaining(fixture, 0);
    struct weir_sweep_report sum = {0};

    subscribe(&scene);
    (void)append_aged(&scene, 200, QUEUE, 120);
    pass(&scene, append_aged(&scene, 200, QUEUE, 110));
    scene_execute(&scene, "SELECT setval('{p}_log_id', 7 << %d)", SCENE_SEGMENT_BITS);
    scene_sweep_once(&scene, &sum);

    check_int(sum.aside, 0);
    check_int(scene_stored(&scene), 200);
    check_left(&scene, 201, 400);
    check_in_range(whole_from(&scene), ago_us(180), ago_us(111));
    scene_close(&scene);
}

/* ---- after a restore -------------------------------------------------------------------------- */

static int64_t count_aside(struct scene *scene)
{
    return fixture_ask(scene->fixture, "SELECT count(*) FROM weir_aside");
}

/* A restore sets the whole log aside, also what all have passed. */
OUTBOX_POSTGRESQL_TEST(retain_pg, keeps_what_a_restore_has_set_aside)
{
    struct scene scene = open_retaining(fixture, 0);
    struct weir_log_position head;

    subscribe(&scene);
    head = append_aged(&scene, 20, QUEUE, 120);
    scene_execute(&scene,
                  "INSERT INTO {p}_aside (pid, cut, id, created_us, uid, message_key,"
                  " type, headers, payload) SELECT pid, %lld, id, created_us, uid,"
                  " message_key, type, headers, payload FROM {p}_log",
                  (long long)head.cut);
    pass(&scene, head);
    scene_sweep(&scene);
    check_int(count_aside(&scene), 20);

    scene_execute(&scene, "UPDATE {p}_aside SET created_us = %lld", ago_us(2 * HOUR_S));
    scene_sweep(&scene);
    check_int(count_aside(&scene), 0);
    scene_close(&scene);
}
