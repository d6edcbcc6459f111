/*
 * test_demo_ledger.c - the verdict of the demo: good when all is well, and bad for each way in
 * which it can be broken.
 */
#include "cli/demo/demo_ledger.h"

#include <string.h>

#include "lib/test.h"
#include "weir/time.h"

enum { ADA = 0, BEN = 1, PARTITION = 3 };

/* A ledger, and what it said last. */
struct scene {
    struct weir_ledger *ledger;
    struct weir_ledger_stats stats;
};

static void scene_open(struct scene *self)
{
    check_status(weir_ledger_create(&self->ledger), WEIR_OK);
}

static void scene_close(struct scene *self)
{
    weir_ledger_destroy(self->ledger);
}

static int64_t placed(struct scene *self, int32_t customer, enum weir_ledger_fate fate)
{
    int64_t order = weir_ledger_begin(self->ledger, customer, PARTITION);

    weir_ledger_stamp(self->ledger, order, WEIR_SECONDS(1));
    weir_ledger_end(self->ledger, order, fate);
    return order;
}

static void answer(struct scene *self, struct weir_ledger_arrival arrival,
                   enum weir_outcome outcome)
{
    weir_ledger_arrive(self->ledger, &arrival, WEIR_SECONDS(2));
    weir_ledger_settle(self->ledger, &arrival, outcome);
}

/* An order of ADA's comes under this number, and is answered so. */
static void comes(struct scene *self, int64_t order, int64_t seq,
                  enum weir_outcome outcome)
{
    answer(self, (struct weir_ledger_arrival){order, ADA, PARTITION, seq, 0}, outcome);
}

/* The verdict, with a database that has kept so much. */
static bool is_good(struct scene *self, int64_t orders, int64_t dead_letters)
{
    bool good = weir_ledger_judge(self->ledger, orders, dead_letters);

    weir_ledger_read(self->ledger, &self->stats);
    return good;
}

/* It is bad, for this one reason and no other, and the reason is told. */
static void check_broken(struct scene *self, int64_t orders,
                         enum weir_ledger_breach breach)
{
    check(!is_good(self, orders, 0));
    for (int i = 0; i < WEIR_BREACH_COUNT; i++)
        check_int(self->stats.breaches[i], i == (int)breach ? 1 : 0);
    check(strlen(self->stats.first_breach) > 0);
}

WEIR_TEST(demo_ledger, is_good_when_every_committed_order_arrived_in_order)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);
    placed(&scene, ADA, WEIR_LEDGER_ROLLED_BACK);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 2, WEIR_DONE);

    check(is_good(&scene, 2, 0));

    check_int(scene.stats.committed, 2);
    check_int(scene.stats.rolled_back, 1);
    check_int(scene.stats.delivered, 2);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_is_tried_again)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    comes(&scene, order, 1, WEIR_RETRY);
    weir_ledger_read(scene.ledger, &scene.stats);
    check_int(scene.stats.partitions[PARTITION].failing_order, order);
    comes(&scene, order, 1, WEIR_DONE);

    check(is_good(&scene, 1, 0));

    check_int(scene.stats.retries, 1);
    check_int(scene.stats.partitions[PARTITION].failing_order, 0);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_is_among_the_dead_letters)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_REJECT);

    check(is_good(&scene, 1, 1));

    check_int(scene.stats.rejected, 1);
    scene_close(&scene);
}

/* An acknowledgement was lost: the same order comes under the same number. */
WEIR_TEST(demo_ledger, is_good_when_an_order_comes_again_under_its_number)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    comes(&scene, order, 1, WEIR_DONE);
    comes(&scene, order, 1, WEIR_DONE);

    check(is_good(&scene, 1, 0));

    check_int(scene.stats.again, 1);
    check_int(scene.stats.delivered, 1);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_arrives_before_its_commit_has_returned)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = weir_ledger_begin(scene.ledger, ADA, PARTITION);
    weir_ledger_stamp(scene.ledger, order, WEIR_SECONDS(1));
    comes(&scene, order, 1, WEIR_DONE);
    weir_ledger_read(scene.ledger, &scene.stats);
    check_int(scene.stats.partitions[PARTITION].waiting, 0);
    weir_ledger_end(scene.ledger, order, WEIR_LEDGER_COMMITTED);

    check(is_good(&scene, 1, 0));
    scene_close(&scene);
}

/* The table of orders knows what became of it. */
WEIR_TEST(demo_ledger, is_good_when_what_was_in_doubt_arrived_or_did_not)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_IN_DOUBT), 1, WEIR_DONE);
    placed(&scene, ADA, WEIR_LEDGER_IN_DOUBT);

    check(is_good(&scene, 1, 0));

    check_int(scene.stats.committed, 1);
    check_int(scene.stats.in_doubt, 2);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_a_committed_order_never_arrived)
{
    struct scene scene;

    scene_open(&scene);
    placed(&scene, ADA, WEIR_LEDGER_COMMITTED);

    check_broken(&scene, 1, WEIR_BREACH_LOST);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_failed_and_was_not_tried_again)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_RETRY);

    check_broken(&scene, 1, WEIR_BREACH_LOST);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_that_was_rolled_back_is_seen)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_ROLLED_BACK), 1, WEIR_DONE);

    check_broken(&scene, 0, WEIR_BREACH_GHOST);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_is_seen_before_it_is_rolled_back)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = weir_ledger_begin(scene.ledger, ADA, PARTITION);
    comes(&scene, order, 1, WEIR_RETRY);
    weir_ledger_end(scene.ledger, order, WEIR_LEDGER_ROLLED_BACK);

    check_broken(&scene, 0, WEIR_BREACH_GHOST);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_a_message_names_no_order_of_ours)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, 77, 1, WEIR_DONE);

    check_broken(&scene, 0, WEIR_BREACH_STRANGER);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_under_two_numbers)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    comes(&scene, order, 1, WEIR_DONE);
    comes(&scene, order, 2, WEIR_DONE);

    check_broken(&scene, 1, WEIR_BREACH_TWICE);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_a_number_is_left_out)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 3, WEIR_DONE);

    check_broken(&scene, 2, WEIR_BREACH_GAP);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_overtakes_one_of_the_same_customer)
{
    struct scene scene;
    int64_t first, second;

    scene_open(&scene);
    first = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    second = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    comes(&scene, second, 1, WEIR_DONE);
    comes(&scene, first, 2, WEIR_DONE);

    check_broken(&scene, 2, WEIR_BREACH_OVERTAKEN);
    scene_close(&scene);
}

/* Ben's order and Ada's are placed by two producers, and either may be the first. */
WEIR_TEST(demo_ledger, is_good_when_an_order_overtakes_one_of_another_customer)
{
    struct scene scene;
    int64_t first, second;

    scene_open(&scene);
    first = placed(&scene, BEN, WEIR_LEDGER_COMMITTED);
    second = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    comes(&scene, second, 1, WEIR_DONE);
    answer(&scene, (struct weir_ledger_arrival){first, BEN, PARTITION, 2, 0}, WEIR_DONE);

    check(is_good(&scene, 2, 0));
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_in_another_partition)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    answer(&scene, (struct weir_ledger_arrival){order, ADA, PARTITION + 1, 1, 0},
           WEIR_DONE);

    check_broken(&scene, 1, WEIR_BREACH_ASTRAY);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_under_another_name)
{
    struct scene scene;
    int64_t order;

    scene_open(&scene);
    order = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    answer(&scene, (struct weir_ledger_arrival){order, BEN, PARTITION, 1, 0}, WEIR_DONE);

    check_broken(&scene, 1, WEIR_BREACH_ASTRAY);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_the_table_has_more_orders_or_fewer)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);

    check_broken(&scene, 2, WEIR_BREACH_MISCOUNTED);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, is_bad_when_a_dead_letter_is_missing)
{
    struct scene scene;

    scene_open(&scene);
    comes(&scene, placed(&scene, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_REJECT);

    check_broken(&scene, 1, WEIR_BREACH_MISCOUNTED);
    scene_close(&scene);
}

WEIR_TEST(demo_ledger, tells_since_when_the_oldest_order_is_on_the_way)
{
    struct scene scene;
    int64_t first, second;

    scene_open(&scene);
    first = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    second = weir_ledger_begin(scene.ledger, ADA, PARTITION);
    weir_ledger_stamp(scene.ledger, second, WEIR_SECONDS(5));
    weir_ledger_end(scene.ledger, second, WEIR_LEDGER_COMMITTED);

    weir_ledger_read(scene.ledger, &scene.stats);
    check_int(scene.stats.oldest_ns, WEIR_SECONDS(1));
    comes(&scene, first, 1, WEIR_DONE);
    weir_ledger_read(scene.ledger, &scene.stats);
    check_int(scene.stats.oldest_ns, WEIR_SECONDS(5));
    comes(&scene, second, 2, WEIR_DONE);
    weir_ledger_read(scene.ledger, &scene.stats);
    check_int(scene.stats.oldest_ns, 0);
    scene_close(&scene);
}

/* So many orders are on the way, and the first of them has not arrived: the shop must wait. */
WEIR_TEST(demo_ledger, has_no_room_while_the_oldest_of_a_window_is_on_the_way)
{
    struct scene scene;
    int64_t first;

    scene_open(&scene);
    first = placed(&scene, ADA, WEIR_LEDGER_COMMITTED);
    for (int i = 1; i < WEIR_LEDGER_WINDOW; i++)
        placed(&scene, ADA, WEIR_LEDGER_ROLLED_BACK);
    check_int(weir_ledger_begin(scene.ledger, ADA, PARTITION), 0);

    comes(&scene, first, 1, WEIR_DONE);

    check_int(weir_ledger_begin(scene.ledger, ADA, PARTITION), WEIR_LEDGER_WINDOW + 1);
    scene_close(&scene);
}
