/*
 * test_demo_ledger.c - the verdict of the demo: good when all is well, and bad for each
 * way in which it can be broken.
 */
#include "cli/demo/demo_ledger.h"

#include <string.h>

#include "kit/test.h"
#include "weir/time.h"

enum { ADA = 0, BEN = 1, PARTITION = 3 };

/* A ledger, and what it said last. */
struct setup {
    struct weir_ledger *ledger;
    struct weir_ledger_stats stats;
};

static void setup_open(struct setup *self)
{
    check_status(weir_ledger_create(&self->ledger), WEIR_OK);
}

static void setup_close(struct setup *self)
{
    weir_ledger_destroy(self->ledger);
}

static int64_t placed(struct setup *self, int32_t customer, enum weir_ledger_fate fate)
{
    int64_t order = weir_ledger_begin(self->ledger, customer, PARTITION);

    weir_ledger_stamp(self->ledger, order, WEIR_SECONDS(1));
    weir_ledger_end(self->ledger, order, fate);
    return order;
}

static void answer(struct setup *self, struct weir_ledger_arrival arrival,
                   enum weir_outcome outcome)
{
    weir_ledger_arrive(self->ledger, &arrival, WEIR_SECONDS(2));
    weir_ledger_settle(self->ledger, &arrival, outcome);
}

/* An order of ADA's comes under this number, and is answered so. */
static void comes(struct setup *self, int64_t order, int64_t seq,
                  enum weir_outcome outcome)
{
    answer(self, (struct weir_ledger_arrival){order, ADA, PARTITION, seq, 0}, outcome);
}

/* The verdict, with a database that has kept so much. */
static bool is_good(struct setup *self, int64_t orders, int64_t dead_letters)
{
    bool good = weir_ledger_judge(self->ledger, orders, dead_letters);

    weir_ledger_read(self->ledger, &self->stats);
    return good;
}

/* It is bad, for this one reason and no other, and the reason is told. */
static void check_broken(struct setup *self, int64_t orders,
                         enum weir_ledger_breach breach)
{
    check(!is_good(self, orders, 0));
    for (int i = 0; i < WEIR_BREACH_COUNT; i++)
        check_int(self->stats.breaches[i], i == (int)breach ? 1 : 0);
    check(strlen(self->stats.first_breach) > 0);
}

WEIR_TEST(demo_ledger, is_good_when_every_committed_order_arrived_in_order)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);
    placed(&setup, ADA, WEIR_LEDGER_ROLLED_BACK);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 2, WEIR_DONE);

    check(is_good(&setup, 2, 0));

    check_int(setup.stats.committed, 2);
    check_int(setup.stats.rolled_back, 1);
    check_int(setup.stats.delivered, 2);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_is_tried_again)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    comes(&setup, order, 1, WEIR_RETRY);
    weir_ledger_read(setup.ledger, &setup.stats);
    check_int(setup.stats.partitions[PARTITION].failing_order, order);
    comes(&setup, order, 1, WEIR_DONE);

    check(is_good(&setup, 1, 0));

    check_int(setup.stats.retries, 1);
    check_int(setup.stats.partitions[PARTITION].failing_order, 0);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_is_among_the_dead_letters)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_REJECT);

    check(is_good(&setup, 1, 1));

    check_int(setup.stats.rejected, 1);
    setup_close(&setup);
}

/* An acknowledgement was lost: the same order comes under the same number. */
WEIR_TEST(demo_ledger, is_good_when_an_order_comes_again_under_its_number)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    comes(&setup, order, 1, WEIR_DONE);
    comes(&setup, order, 1, WEIR_DONE);

    check(is_good(&setup, 1, 0));

    check_int(setup.stats.again, 1);
    check_int(setup.stats.delivered, 1);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_good_when_an_order_arrives_before_its_commit_has_returned)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = weir_ledger_begin(setup.ledger, ADA, PARTITION);
    weir_ledger_stamp(setup.ledger, order, WEIR_SECONDS(1));
    comes(&setup, order, 1, WEIR_DONE);
    weir_ledger_read(setup.ledger, &setup.stats);
    check_int(setup.stats.partitions[PARTITION].waiting, 0);
    weir_ledger_end(setup.ledger, order, WEIR_LEDGER_COMMITTED);

    check(is_good(&setup, 1, 0));
    setup_close(&setup);
}

/* The table of orders knows what became of it. */
WEIR_TEST(demo_ledger, is_good_when_what_was_in_doubt_arrived_or_did_not)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_IN_DOUBT), 1, WEIR_DONE);
    placed(&setup, ADA, WEIR_LEDGER_IN_DOUBT);

    check(is_good(&setup, 1, 0));

    check_int(setup.stats.committed, 1);
    check_int(setup.stats.in_doubt, 2);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_a_committed_order_never_arrived)
{
    struct setup setup;

    setup_open(&setup);
    placed(&setup, ADA, WEIR_LEDGER_COMMITTED);

    check_broken(&setup, 1, WEIR_BREACH_LOST);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_failed_and_was_not_tried_again)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_RETRY);

    check_broken(&setup, 1, WEIR_BREACH_LOST);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_that_was_rolled_back_is_seen)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_ROLLED_BACK), 1, WEIR_DONE);

    check_broken(&setup, 0, WEIR_BREACH_GHOST);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_is_seen_before_it_is_rolled_back)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = weir_ledger_begin(setup.ledger, ADA, PARTITION);
    comes(&setup, order, 1, WEIR_RETRY);
    weir_ledger_end(setup.ledger, order, WEIR_LEDGER_ROLLED_BACK);

    check_broken(&setup, 0, WEIR_BREACH_GHOST);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_a_message_names_no_order_of_ours)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, 77, 1, WEIR_DONE);

    check_broken(&setup, 0, WEIR_BREACH_STRANGER);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_under_two_numbers)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    comes(&setup, order, 1, WEIR_DONE);
    comes(&setup, order, 2, WEIR_DONE);

    check_broken(&setup, 1, WEIR_BREACH_TWICE);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_a_number_is_left_out)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 3, WEIR_DONE);

    check_broken(&setup, 2, WEIR_BREACH_GAP);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_overtakes_one_of_the_same_customer)
{
    struct setup setup;
    int64_t first, second;

    setup_open(&setup);
    first = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    second = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    comes(&setup, second, 1, WEIR_DONE);
    comes(&setup, first, 2, WEIR_DONE);

    check_broken(&setup, 2, WEIR_BREACH_OVERTAKEN);
    setup_close(&setup);
}

/* Ben's order and Ada's are placed by two producers, and either may be the first. */
WEIR_TEST(demo_ledger, is_good_when_an_order_overtakes_one_of_another_customer)
{
    struct setup setup;
    int64_t first, second;

    setup_open(&setup);
    first = placed(&setup, BEN, WEIR_LEDGER_COMMITTED);
    second = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    comes(&setup, second, 1, WEIR_DONE);
    answer(&setup, (struct weir_ledger_arrival){first, BEN, PARTITION, 2, 0}, WEIR_DONE);

    check(is_good(&setup, 2, 0));
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_in_another_partition)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    answer(&setup, (struct weir_ledger_arrival){order, ADA, PARTITION + 1, 1, 0},
           WEIR_DONE);

    check_broken(&setup, 1, WEIR_BREACH_ASTRAY);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_an_order_comes_under_another_name)
{
    struct setup setup;
    int64_t order;

    setup_open(&setup);
    order = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    answer(&setup, (struct weir_ledger_arrival){order, BEN, PARTITION, 1, 0}, WEIR_DONE);

    check_broken(&setup, 1, WEIR_BREACH_ASTRAY);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_the_table_has_more_orders_or_fewer)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_DONE);

    check_broken(&setup, 2, WEIR_BREACH_MISCOUNTED);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, is_bad_when_a_dead_letter_is_missing)
{
    struct setup setup;

    setup_open(&setup);
    comes(&setup, placed(&setup, ADA, WEIR_LEDGER_COMMITTED), 1, WEIR_REJECT);

    check_broken(&setup, 1, WEIR_BREACH_MISCOUNTED);
    setup_close(&setup);
}

WEIR_TEST(demo_ledger, tells_since_when_the_oldest_order_is_on_the_way)
{
    struct setup setup;
    int64_t first, second;

    setup_open(&setup);
    first = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    second = weir_ledger_begin(setup.ledger, ADA, PARTITION);
    weir_ledger_stamp(setup.ledger, second, WEIR_SECONDS(5));
    weir_ledger_end(setup.ledger, second, WEIR_LEDGER_COMMITTED);

    weir_ledger_read(setup.ledger, &setup.stats);
    check_int(setup.stats.oldest_ns, WEIR_SECONDS(1));
    comes(&setup, first, 1, WEIR_DONE);
    weir_ledger_read(setup.ledger, &setup.stats);
    check_int(setup.stats.oldest_ns, WEIR_SECONDS(5));
    comes(&setup, second, 2, WEIR_DONE);
    weir_ledger_read(setup.ledger, &setup.stats);
    check_int(setup.stats.oldest_ns, 0);
    setup_close(&setup);
}

/* So many orders are on the way, and the first of them has not arrived: the shop must
 * wait. */
WEIR_TEST(demo_ledger, has_no_room_while_the_oldest_of_a_window_is_on_the_way)
{
    struct setup setup;
    int64_t first;

    setup_open(&setup);
    first = placed(&setup, ADA, WEIR_LEDGER_COMMITTED);
    for (int i = 1; i < WEIR_LEDGER_WINDOW; i++)
        placed(&setup, ADA, WEIR_LEDGER_ROLLED_BACK);
    check_int(weir_ledger_begin(setup.ledger, ADA, PARTITION), 0);

    comes(&setup, first, 1, WEIR_DONE);

    check_int(weir_ledger_begin(setup.ledger, ADA, PARTITION), WEIR_LEDGER_WINDOW + 1);
    setup_close(&setup);
}
