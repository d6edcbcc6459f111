/*
 * Reading executions: one, pages of many, and what a page may cost.
 */
#include <stdlib.h>

#include "contract/flow/store/store_fixture.h"

static int64_t list(struct store_fixture *store_fixture,
                    const struct weir_execution_filter *filter)
{
    struct fixture *fixture = store_fixture->fixture;
    int64_t next = -1;

    check_db(weir_store_list(&store_fixture->store, store_fixture->connection, filter,
                             &store_fixture->records, &next, &fixture->error),
             WEIR_OK);
    return next;
}

FLOW_TEST(get, finds_one_by_its_id)
{
    struct weir_new_execution item;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    item = store_fixture_item(&store_fixture, 5);
    store_fixture_insert(&store_fixture, &item, 1);

    check_db(weir_store_get(&store_fixture.store, store_fixture.connection, &item.id,
                            &store_fixture.records, &fixture->error),
             WEIR_OK);
    check_int(store_fixture.records.count, 1);
    check_int(store_fixture.records.rows[0].row.no, item.no);
    store_fixture_is(store_fixture.records.rows[0].lane_name, "orders");

    item.id.partition++;
    check_db(weir_store_get(&store_fixture.store, store_fixture.connection, &item.id,
                            &store_fixture.records, &fixture->error),
             WEIR_NOT_FOUND);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(list, goes_from_the_newest_page_by_page)
{
    struct weir_execution_filter filter = {.count = 3};
    struct weir_new_execution items[7];
    struct store_fixture store_fixture;
    size_t at = 7;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 7; i++)
        items[i] = store_fixture_item(&store_fixture, i);
    store_fixture_insert(&store_fixture, items, 7);

    for (int page = 0; page < 3; page++) {
        filter.before = list(&store_fixture, &filter);
        for (size_t i = 0; i < store_fixture.records.count; i++)
            check_int(store_fixture.records.rows[i].row.no, items[--at].no);
    }

    check_int(at, 0);
    check_int(filter.before, 0);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(list, has_what_all_of_the_filter_allows)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_filter filter = {.count = 10, .name_space = "a"};
    struct weir_new_execution items[5];
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 5; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].name_space = weir_str(i != 0 ? "a" : "b");
        items[i].kind = weir_str(i != 1 ? "mail" : "call");
        items[i].tags = &TAG;
        items[i].tag_count = i != 2;
    }
    items[3].lane = store_fixture_term(&store_fixture, WEIR_TERM_LANE, "letters");
    store_fixture_insert(&store_fixture, items, 5);

    check_int(list(&store_fixture, &filter), 0);
    check_int(store_fixture.records.count, 4);
    filter.kind = "mail";
    (void)list(&store_fixture, &filter);
    check_int(store_fixture.records.count, 3);
    filter.tag_key = "app.zone";
    filter.tag_value = "west";
    (void)list(&store_fixture, &filter);
    check_int(store_fixture.records.count, 2);
    filter.lane = "letters";
    check_int(list(&store_fixture, &filter), 0);
    check_int(store_fixture.records.count, 1);
    check_int(store_fixture.records.rows[0].row.no, items[3].no);
    store_fixture_is(store_fixture.records.rows[0].lane_name, "letters");
    filter.tag_value = "east";
    (void)list(&store_fixture, &filter);
    check_int(store_fixture.records.count, 0);
    filter.lane = "nobody's";
    check_int(list(&store_fixture, &filter), 0);
    check_int(store_fixture.records.count, 0);
    store_fixture_close(&store_fixture);
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
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < STANDING_COUNT; i++)
        (void)store_fixture_put(
            &store_fixture, i,
            (struct weir_execution_row){.state = STANDINGS[i].state,
                                        .hold = STANDINGS[i].hold,
                                        .pending = STANDINGS[i].pending});

    for (unsigned shown = 0; shown < WEIR_STATE_COUNT; shown++) {
        filter.states = 1U << shown;
        (void)list(&store_fixture, &filter);
        check_int(store_fixture.records.count, shown == WEIR_STATE_WAITING ? 2 : 1);
        for (size_t i = 0; i < store_fixture.records.count; i++) {
            uint32_t number;

            memcpy(&number, store_fixture.records.rows[i].row.id.uuid, sizeof number);
            check_int(STANDINGS[number].shown, shown);
        }
    }
    filter.states = 1U << WEIR_STATE_FAILED | 1U << WEIR_STATE_ACTIVE;
    (void)list(&store_fixture, &filter);
    check_int(store_fixture.records.count, 2);
    store_fixture_close(&store_fixture);
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
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        struct standing standing = standing_of(i);

        if (!weir_hold_is_known(standing.hold) ||
            !weir_pending_is_known(standing.pending))
            continue;
        (void)store_fixture_put(&store_fixture, i,
                                (struct weir_execution_row){.state = standing.state,
                                                            .hold = standing.hold,
                                                            .pending = standing.pending});
        want[standing.shown]++;
    }

    for (unsigned shown = 0; shown < WEIR_STATE_COUNT; shown++) {
        filter.states = 1U << shown;
        (void)list(&store_fixture, &filter);
        check_int(store_fixture.records.count, want[shown]);
        check(want[shown] > 0);
        for (size_t i = 0; i < store_fixture.records.count; i++) {
            uint32_t number;

            memcpy(&number, store_fixture.records.rows[i].row.id.uuid, sizeof number);
            check_int(standing_of(number).shown, shown);
        }
    }
    store_fixture_close(&store_fixture);
}

/* Rare ones among many: a page looks at so many and no more, and says where to go on. */
static void find_the_rare_one(struct fixture *fixture, const char *tag)
{
    enum { COUNT = WEIR_LIST_LOOK_MAX + 100 };
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_filter filter = {
        .count = 10, .kind = "rare", .tag_key = tag, .tag_value = "west"};
    struct weir_new_execution *items = calloc(COUNT, sizeof *items);
    struct store_fixture store_fixture;

    check(items != NULL);
    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < COUNT; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].tags = &TAG;
        items[i].tag_count = 1;
    }
    items[50].kind = weir_str("rare");
    store_fixture_insert(&store_fixture, items, COUNT);

    filter.before = list(&store_fixture, &filter);
    check_int(store_fixture.records.count, 0);
    check_int(filter.before, items[100].no);
    check_int(list(&store_fixture, &filter), 0);
    check_int(store_fixture.records.count, 1);
    check_int(store_fixture.records.rows[0].row.no, items[50].no);
    store_fixture_close(&store_fixture);
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
    struct store_fixture store_fixture;
    int64_t next;

    weir_execution_records_init(&records, &fixture->heap.heap, 1);
    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 2; i++)
        items[i] = store_fixture_item(&store_fixture, i);
    store_fixture_insert(&store_fixture, items, 2);

    check_db(weir_store_list(&store_fixture.store, store_fixture.connection, &filter,
                             &records, &next, &fixture->error),
             WEIR_TOO_LARGE);

    store_fixture_close(&store_fixture);
    weir_execution_records_fini(&records);
}
