/*
 * Whether nothing is left for a subscription, wherever it may lie.
 */
#include "log_scene.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum {
    QUEUE = 1,
    OTHER_QUEUE = 2,
    SUBSCRIPTION = 5,
    OTHER_SUBSCRIPTION = 6,
    PARTITIONS = 16
};

static const struct weir_log_position BEGINNING = {0, 0};

/* A queue and a subscription that has passed nothing. */
static struct scene open_queue(struct fixture *fixture)
{
    struct scene scene = scene_open(fixture);

    scene_add_queue(&scene, QUEUE, 0);
    scene_add_subscription(&scene, SUBSCRIPTION, QUEUE);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
    return scene;
}

static bool is_drained(struct fixture *fixture)
{
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;
    bool drained = false;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    check_db(weir_outbox_read_drained(outbox, "q1", "s5", &drained, &fixture->error),
             WEIR_OK);
    weir_outbox_destroy(outbox);
    return drained;
}

OUTBOX_TEST(drained, is_a_subscription_that_has_passed_everything)
{
    struct scene scene = open_queue(fixture);

    check(is_drained(fixture));
    scene_append(&scene, 40, QUEUE, PARTITIONS);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, scene_advance(&scene));

    check(is_drained(fixture));
    scene_close(&scene);
}

OUTBOX_TEST(drained, is_no_subscription_that_has_not_passed_the_last_message)
{
    struct scene scene = open_queue(fixture);
    struct weir_log_position head;

    scene_append(&scene, PARTITIONS, QUEUE, PARTITIONS);
    head = scene_advance(&scene);
    scene_append(&scene, PARTITIONS, QUEUE, PARTITIONS);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, scene_advance(&scene));
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, PARTITIONS - 1), head);

    check(!is_drained(fixture));
    scene_close(&scene);
}

OUTBOX_TEST(drained, is_no_subscription_for_which_something_is_not_readable_yet)
{
    struct scene scene = open_queue(fixture);

    scene_append(&scene, 40, QUEUE, PARTITIONS);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, scene_advance(&scene));
    scene_append(&scene, 1, QUEUE, 1);

    check(!is_drained(fixture));
    scene_close(&scene);
}

OUTBOX_TEST(drained, is_no_subscription_for_which_something_is_set_aside)
{
    struct scene scene = open_queue(fixture);
    struct weir_log_position head;

    scene_append(&scene, 4800, QUEUE, PARTITIONS);
    head = scene_advance(&scene);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, head);
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 3), BEGINNING);
    check(scene_sweep(&scene).aside > 0);
    scene_execute(&scene, "DELETE FROM {p}_log");

    check(!is_drained(fixture));
    scene_set_position(&scene, SUBSCRIPTION, weir_pid(QUEUE, 3), head);
    check(is_drained(fixture));
    scene_close(&scene);
}

OUTBOX_TEST(drained, is_a_subscription_beside_others_that_are_not)
{
    struct scene scene = open_queue(fixture);

    scene_add_subscription(&scene, OTHER_SUBSCRIPTION, QUEUE);
    scene_set_positions(&scene, OTHER_SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
    scene_append(&scene, 40, QUEUE, PARTITIONS);
    scene_set_positions(&scene, SUBSCRIPTION, QUEUE, PARTITIONS, scene_advance(&scene));
    scene_append(&scene, 40, OTHER_QUEUE, PARTITIONS);

    check(is_drained(fixture));
    scene_close(&scene);
}
