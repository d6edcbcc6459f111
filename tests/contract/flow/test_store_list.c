/*
 * Reading executions: one, pages of many, and what a page may cost.
 */
#include <stdlib.h>

#include "contract/flow/shop.h"

static int64_t list(struct shop *shop, const struct weir_execution_filter *filter)
{
    struct fixture *fixture = shop->fixture;
    int64_t next = -1;

    check_db(weir_store_list(&shop->store, shop->connection, filter, &shop->records,
                             &next, &fixture->error),
             WEIR_OK);
    return next;
}

FLOW_TEST(get, finds_one_by_its_id)
{
    struct weir_new_execution item;
    struct shop shop;

    shop_open(&shop, fixture);
    item = shop_item(&shop, 5);
    shop_insert(&shop, &item, 1);

    check_db(weir_store_get(&shop.store, shop.connection, &item.id, &shop.records,
                            &fixture->error),
             WEIR_OK);
    check_int(shop.records.count, 1);
    check_int(shop.records.rows[0].row.no, item.no);
    shop_is(shop.records.rows[0].lane_name, "orders");

    item.id.partition++;
    check_db(weir_store_get(&shop.store, shop.connection, &item.id, &shop.records,
                            &fixture->error),
             WEIR_NOT_FOUND);
    shop_close(&shop);
}

FLOW_TEST(list, goes_from_the_newest_page_by_page)
{
    struct weir_execution_filter filter = {.count = 3};
    struct weir_new_execution items[7];
    struct shop shop;
    size_t at = 7;

    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < 7; i++)
        items[i] = shop_item(&shop, i);
    shop_insert(&shop, items, 7);

    for (int page = 0; page < 3; page++) {
        filter.before = list(&shop, &filter);
        for (size_t i = 0; i < shop.records.count; i++)
            check_int(shop.records.rows[i].row.no, items[--at].no);
    }

    check_int(at, 0);
    check_int(filter.before, 0);
    shop_close(&shop);
}

FLOW_TEST(list, has_what_all_of_the_filter_allows)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_filter filter = {.count = 10, .name_space = "a"};
    struct weir_new_execution items[5];
    struct shop shop;

    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < 5; i++) {
        items[i] = shop_item(&shop, i);
        items[i].name_space = weir_str(i != 0 ? "a" : "b");
        items[i].kind = weir_str(i != 1 ? "mail" : "call");
        items[i].tags = &TAG;
        items[i].tag_count = i != 2;
    }
    items[3].lane = shop_term(&shop, WEIR_TERM_LANE, "letters");
    shop_insert(&shop, items, 5);

    check_int(list(&shop, &filter), 0);
    check_int(shop.records.count, 4);
    filter.kind = "mail";
    (void)list(&shop, &filter);
    check_int(shop.records.count, 3);
    filter.tag_key = "app.zone";
    filter.tag_value = "west";
    (void)list(&shop, &filter);
    check_int(shop.records.count, 2);
    filter.lane = "letters";
    check_int(list(&shop, &filter), 0);
    check_int(shop.records.count, 1);
    check_int(shop.records.rows[0].row.no, items[3].no);
    shop_is(shop.records.rows[0].lane_name, "letters");
    filter.tag_value = "east";
    (void)list(&shop, &filter);
    check_int(shop.records.count, 0);
    filter.lane = "nobody's";
    check_int(list(&shop, &filter), 0);
    check_int(shop.records.count, 0);
    shop_close(&shop);
}

struct standing {
    enum weir_exec_state state;
    enum weir_hold hold;
    enum weir_pending pending;
    enum weir_public_state shown;
};

static const struct standing STANDINGS[] = {
    {WEIR_EXEC_READY, 0, WEIR_PENDING_RETRY, WEIR_STATE_WAITING},
    {WEIR_EXEC_READY, 0, WEIR_PENDING_RESUME, WEIR_STATE_RESUMABLE},
    {WEIR_EXEC_DELAYED, WEIR_HOLD_RETRY, 0, WEIR_STATE_DELAYED},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_DEPENDENCIES, 0, WEIR_STATE_WAITING_CHILDREN},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_BUDGET, 0, WEIR_STATE_RATE_LIMITED},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_OPERATOR, 0, WEIR_STATE_WAITING},
    {WEIR_EXEC_ACTIVE, 0, 0, WEIR_STATE_ACTIVE},
    {WEIR_EXEC_SUSPENDED, WEIR_HOLD_SIGNAL, 0, WEIR_STATE_SUSPENDED},
    {WEIR_EXEC_SUCCEEDED, 0, 0, WEIR_STATE_COMPLETED},
    {WEIR_EXEC_FAILED, 0, 0, WEIR_STATE_FAILED},
    {WEIR_EXEC_CANCELLED, 0, 0, WEIR_STATE_CANCELLED},
    {WEIR_EXEC_EXPIRED, 0, 0, WEIR_STATE_EXPIRED},
    {WEIR_EXEC_SKIPPED, 0, 0, WEIR_STATE_SKIPPED},
};
enum { STANDING_COUNT = sizeof STANDINGS / sizeof STANDINGS[0] };

FLOW_TEST(list, knows_public_states)
{
    struct weir_execution_filter filter = {.count = 100};
    struct shop shop;

    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < STANDING_COUNT; i++)
        (void)shop_put(&shop, i,
                       (struct weir_execution_row){.state = STANDINGS[i].state,
                                                   .hold = STANDINGS[i].hold,
                                                   .pending = STANDINGS[i].pending});

    for (unsigned shown = 0; shown < WEIR_STATE_COUNT; shown++) {
        filter.states = 1U << shown;
        (void)list(&shop, &filter);
        check_int(shop.records.count, shown == WEIR_STATE_WAITING ? 2 : 1);
        for (size_t i = 0; i < shop.records.count; i++) {
            uint32_t number;

            memcpy(&number, shop.records.rows[i].row.id.uuid, sizeof number);
            check_int(STANDINGS[number].shown, shown);
        }
    }
    filter.states = 1U << WEIR_STATE_FAILED | 1U << WEIR_STATE_ACTIVE;
    (void)list(&shop, &filter);
    check_int(shop.records.count, 2);
    shop_close(&shop);
}

/* What is stored, as one number: 16 holds and 8 pendings are more than there are. */
static struct standing standing_of(uint32_t number)
{
    static const enum weir_exec_state STATES[] = {
        WEIR_EXEC_READY,     WEIR_EXEC_DELAYED,   WEIR_EXEC_BLOCKED, WEIR_EXEC_ACTIVE,
        WEIR_EXEC_SUSPENDED, WEIR_EXEC_SUCCEEDED, WEIR_EXEC_FAILED,  WEIR_EXEC_CANCELLED,
        WEIR_EXEC_EXPIRED,   WEIR_EXEC_SKIPPED};
    struct standing standing = {.state = STATES[number / 128],
                                .hold = (enum weir_hold)(number / 8 % 16),
                                .pending = (enum weir_pending)(number % 8)};

    standing.shown = weir_state_public(standing.state, standing.hold, standing.pending);
    return standing;
}

/* Whatever may be stored: the statement says the same as weir_state_public(). */
FLOW_TEST(list, finds_by_public_state_what_reading_shows)
{
    enum { NUMBERS = 10 * 128 };
    struct weir_execution_filter filter = {.count = 1000};
    size_t want[WEIR_STATE_COUNT] = {0};
    struct shop shop;

    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        struct standing standing = standing_of(i);

        if (!weir_hold_is_known(standing.hold) ||
            !weir_pending_is_known(standing.pending))
            continue;
        (void)shop_put(&shop, i,
                       (struct weir_execution_row){.state = standing.state,
                                                   .hold = standing.hold,
                                                   .pending = standing.pending});
        want[standing.shown]++;
    }

    for (unsigned shown = 0; shown < WEIR_STATE_COUNT; shown++) {
        filter.states = 1U << shown;
        (void)list(&shop, &filter);
        check_int(shop.records.count, want[shown]);
        check(want[shown] > 0);
        for (size_t i = 0; i < shop.records.count; i++) {
            uint32_t number;

            memcpy(&number, shop.records.rows[i].row.id.uuid, sizeof number);
            check_int(standing_of(number).shown, shown);
        }
    }
    shop_close(&shop);
}

/* Rare ones among many: a page looks at so many and no more, and says where to go on. */
static void find_the_rare_one(struct fixture *fixture, const char *tag)
{
    enum { COUNT = WEIR_LIST_LOOK_MAX + 100 };
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_filter filter = {
        .count = 10, .kind = "rare", .tag_key = tag, .tag_value = "west"};
    struct weir_new_execution *items = calloc(COUNT, sizeof *items);
    struct shop shop;

    check(items != NULL);
    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < COUNT; i++) {
        items[i] = shop_item(&shop, i);
        items[i].tags = &TAG;
        items[i].tag_count = 1;
    }
    items[50].kind = weir_str("rare");
    shop_insert(&shop, items, COUNT);

    filter.before = list(&shop, &filter);
    check_int(shop.records.count, 0);
    check_int(filter.before, items[100].no);
    check_int(list(&shop, &filter), 0);
    check_int(shop.records.count, 1);
    check_int(shop.records.rows[0].row.no, items[50].no);
    shop_close(&shop);
    free(items);
}

FLOW_TEST(list, looks_at_so_many_for_a_page)
{
    find_the_rare_one(fixture, NULL);
}

FLOW_TEST(list, looks_at_so_many_with_a_tag)
{
    find_the_rare_one(fixture, "app.zone");
}

/* The caller's memory has a limit too. */
FLOW_TEST(list, that_does_not_fit_is_refused)
{
    struct weir_execution_filter filter = {.count = 2};
    struct weir_new_execution items[2];
    struct weir_execution_records records;
    struct shop shop;
    int64_t next;

    weir_execution_records_init(&records, &fixture->heap.heap, 1);
    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < 2; i++)
        items[i] = shop_item(&shop, i);
    shop_insert(&shop, items, 2);

    check_db(weir_store_list(&shop.store, shop.connection, &filter, &records, &next,
                             &fixture->error),
             WEIR_TOO_LARGE);

    shop_close(&shop);
    weir_execution_records_fini(&records);
}
