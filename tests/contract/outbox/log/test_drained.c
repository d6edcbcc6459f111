/*
 * Whether nothing is left for a subscription, wherever it may lie.
 */
#include "log_fixture.h"
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
static struct log_fixture open_queue(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
    return log_fixture;
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
    struct log_fixture log_fixture = open_queue(fixture);

    check(is_drained(fixture));
    log_fixture_append(&log_fixture, 40, QUEUE, PARTITIONS);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS,
                              log_fixture_advance(&log_fixture));

    check(is_drained(fixture));
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(drained, is_no_subscription_that_has_not_passed_the_last_message)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_log_position head;

    log_fixture_append(&log_fixture, PARTITIONS, QUEUE, PARTITIONS);
    head = log_fixture_advance(&log_fixture);
    log_fixture_append(&log_fixture, PARTITIONS, QUEUE, PARTITIONS);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS,
                              log_fixture_advance(&log_fixture));
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, PARTITIONS - 1),
                             head);

    check(!is_drained(fixture));
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(drained, is_no_subscription_for_which_something_is_not_readable_yet)
{
    struct log_fixture log_fixture = open_queue(fixture);

    log_fixture_append(&log_fixture, 40, QUEUE, PARTITIONS);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS,
                              log_fixture_advance(&log_fixture));
    log_fixture_append(&log_fixture, 1, QUEUE, 1);

    check(!is_drained(fixture));
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(drained, is_no_subscription_for_which_something_is_set_aside)
{
    struct log_fixture log_fixture = open_queue(fixture);
    struct weir_log_position head;

    log_fixture_append(&log_fixture, 4800, QUEUE, PARTITIONS);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, head);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 3), BEGINNING);
    check(log_fixture_sweep(&log_fixture).aside > 0);
    log_fixture_execute(&log_fixture, "DELETE FROM {p}_log");

    check(!is_drained(fixture));
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 3), head);
    check(is_drained(fixture));
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(drained, is_a_subscription_beside_others_that_are_not)
{
    struct log_fixture log_fixture = open_queue(fixture);

    log_fixture_add_subscription(&log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, PARTITIONS,
                              BEGINNING);
    log_fixture_append(&log_fixture, 40, QUEUE, PARTITIONS);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS,
                              log_fixture_advance(&log_fixture));
    log_fixture_append(&log_fixture, 40, OTHER_QUEUE, PARTITIONS);

    check(is_drained(fixture));
    log_fixture_close(&log_fixture);
}
