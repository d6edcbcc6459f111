/*
 * What is ready and what is due: in which order it is picked, by whom, and how often.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "contract/flow/store/store_fixture.h"

/* ---- ready ------------------------------------------------------------------------- */

/* Ready ones with these priorities, in this order. */
static void fill_lane(struct store_fixture *store_fixture, int64_t lane,
                      int64_t capability_set, uint32_t first, const int32_t *priorities,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_new_execution item =
            store_fixture_item(store_fixture, first + (uint32_t)i);

        item.lane = lane;
        item.capability_set = capability_set;
        item.priority = priorities[i];
        store_fixture_insert(store_fixture, &item, 1);
    }
}

/* The picked ones by the number they were made with, as "3 1 2". */
static const char *picked(const struct store_fixture *store_fixture, char *out,
                          size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < store_fixture->records.count; i++) {
        uint32_t number;

        memcpy(&number, store_fixture->records.rows[i].row.id.uuid, sizeof number);
        used +=
            (size_t)snprintf(out + used, size - used, "%s%u", i > 0 ? " " : "", number);
    }
    return out;
}

FLOW_TEST(ready, comes_by_priority_and_then_by_age)
{
    static const int32_t PRIORITIES[] = {0, 5, 9000, 5};
    struct store_fixture store_fixture;
    char text[64];

    store_fixture_open(&store_fixture, fixture);
    fill_lane(&store_fixture, store_fixture.lane, 0, 0, PRIORITIES, 4);

    check_int(store_fixture_pick(&store_fixture, 3), 3);

    check_str(picked(&store_fixture, text, sizeof text), "2 1 3");
    store_fixture_close(&store_fixture);
}

FLOW_TEST(ready, comes_from_several_lanes_and_sets_in_one_order)
{
    static const int32_t FEW[] = {1, 7, 3};
    static const int32_t MANY[] = {7, 2, 9};
    struct weir_ready_query query = {
        .lane_count = 2, .capability_set_count = 2, .limit = 5};
    int64_t lanes[2];
    int64_t capability_sets[2];
    struct store_fixture store_fixture;
    char text[64];

    store_fixture_open(&store_fixture, fixture);
    lanes[0] = store_fixture.lane;
    lanes[1] = store_fixture_term(&store_fixture, WEIR_TERM_LANE, "letters");
    capability_sets[0] = 0;
    capability_sets[1] =
        store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",gpu,");
    fill_lane(&store_fixture, lanes[1], capability_sets[1], 10, MANY, 3);
    fill_lane(&store_fixture, lanes[0], 0, 20, FEW, 3);
    fill_lane(&store_fixture, lanes[0], 99, 30, MANY,
              3); /* a set that was not asked for */
    query.lanes = lanes;
    query.capability_sets = capability_sets;

    check_db(weir_store_pick_ready(&store_fixture.store, store_fixture.connection, &query,
                                   &store_fixture.records, &fixture->error),
             WEIR_OK);

    check_str(picked(&store_fixture, text, sizeof text), "12 10 21 22 11");
    store_fixture_close(&store_fixture);
}

FLOW_TEST(ready, is_nothing_that_waits_or_is_over)
{
    static const enum weir_exec_state STATES[] = {WEIR_EXEC_DELAYED, WEIR_EXEC_BLOCKED,
                                                  WEIR_EXEC_ACTIVE, WEIR_EXEC_SUSPENDED,
                                                  WEIR_EXEC_FAILED};
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 5; i++)
        (void)store_fixture_put(&store_fixture, i,
                                (struct weir_execution_row){.state = STATES[i]});

    check_int(store_fixture_pick(&store_fixture, 10), 0);

    store_fixture_close(&store_fixture);
}

FLOW_POSTGRESQL_TEST(ready, passes_over_what_another_session_has_locked)
{
    static const int32_t PRIORITIES[] = {0, 0, 0, 0};
    struct store_fixture here;
    struct store_fixture there;
    char text[64];

    store_fixture_open(&here, fixture);
    fill_lane(&here, here.lane, 0, 0, PRIORITIES, 4);
    store_fixture_commit(&here);
    store_fixture_begin(&here);
    store_fixture_open(&there, fixture);

    check_int(store_fixture_pick(&here, 2), 2);
    check_int(store_fixture_pick(&there, 3), 2);

    check_str(picked(&there, text, sizeof text), "2 3");
    store_fixture_close(&there);
    store_fixture_close(&here);
}

/* With several lanes only as many are locked as are taken, and however many others have
 * locked, the rest is found. */
FLOW_POSTGRESQL_TEST(ready, of_many_lanes_locks_what_it_takes_and_finds_what_is_left)
{
    enum { COUNT = 900 };
    struct weir_new_execution *items = calloc(COUNT, sizeof *items);
    struct weir_ready_query query = {.lane_count = 2, .capability_set_count = 1};
    const int64_t capability_set = 0;
    int64_t lanes[2];
    struct store_fixture here;
    struct store_fixture there;

    check(items != NULL);
    store_fixture_open(&here, fixture);
    for (uint32_t i = 0; i < COUNT; i++)
        items[i] = store_fixture_item(&here, i);
    store_fixture_insert(&here, items, COUNT);
    lanes[0] = here.lane;
    lanes[1] = store_fixture_term(&here, WEIR_TERM_LANE, "letters");
    query.lanes = lanes;
    query.capability_sets = &capability_set;
    store_fixture_commit(&here);
    store_fixture_begin(&here);
    store_fixture_open(&there, fixture);

    query.limit = COUNT - 5;
    check_db(weir_store_pick_ready(&here.store, here.connection, &query, &here.records,
                                   &fixture->error),
             WEIR_OK);
    check_int(here.records.count, COUNT - 5);
    query.limit = 10;
    check_db(weir_store_pick_ready(&there.store, there.connection, &query, &there.records,
                                   &fixture->error),
             WEIR_OK);

    check_int(there.records.count, 5);
    check_int(there.records.rows[0].row.no, items[COUNT - 5].no);
    store_fixture_close(&there);
    store_fixture_close(&here);
    free(items);
}

/* ---- a crowd ----------------------------------------------------------------------- */

enum { PEERS = 8, PEERS_WORK = 400 };

struct peers {
    struct fixture *fixture;
    struct weir_db *db;
    size_t lane_count;
    int64_t lanes[2];
    _Atomic int taken;
};

static enum weir_status take_some(struct peers *peers, struct weir_store *store,
                                  struct weir_connection *connection,
                                  struct weir_execution_records *records,
                                  struct weir_error *error)
{
    const int64_t capability_set = 0;
    const struct weir_ready_query query = {
        peers->lanes, peers->lane_count, &capability_set, 1, 7, false, NULL};
    enum weir_status status = weir_connection_begin(connection, error);

    if (status != WEIR_OK)
        return status;
    status = weir_store_pick_ready(store, connection, &query, records, error);
    for (size_t i = 0; i < records->count && status == WEIR_OK; i++) {
        records->rows[i].row.state = WEIR_EXEC_ACTIVE;
        records->rows[i].row.epoch++;
    }
    if (status == WEIR_OK)
        status = store_rewrite(
            store, connection,
            (struct weir_rewrite){.rows = records->rows, .row_count = records->count},
            error);
    if (status == WEIR_OK)
        return weir_connection_commit(connection, error);
    weir_connection_rollback(connection);
    return status;
}

static void *take_all(void *argument)
{
    struct peers *peers = argument;
    struct fixture *fixture = peers->fixture;
    struct weir_dictionary *dictionary = NULL;
    struct weir_connection *connection = NULL;
    struct weir_error error;
    struct weir_store store;
    struct weir_execution_records records;

    weir_execution_records_init(&records, weir_heap_system(), 100);
    check_db(
        weir_dictionary_create(weir_heap_system(), WEIR_TERMS_MAX, &dictionary, &error),
        WEIR_OK);
    check_db(
        weir_store_init(&store, weir_heap_system(), fixture->engine, dictionary, &error),
        WEIR_OK);
    check_db(weir_db_acquire(peers->db, &connection, &error), WEIR_OK);
    while (peers->taken < PEERS_WORK) {
        enum weir_status status = take_some(peers, &store, connection, &records, &error);

        if (status == WEIR_OK)
            peers->taken += (int)records.count;
        else
            check(status == WEIR_LOCKED || status == WEIR_CONFLICT);
    }
    weir_db_release(peers->db, connection);
    weir_dictionary_destroy(dictionary);
    weir_execution_records_fini(&records);
    return NULL;
}

static void let_a_peers_in(struct fixture *fixture, size_t lane_count)
{
    struct weir_db_options options = fixture_options(fixture);
    struct peers peers = {.fixture = fixture, .lane_count = lane_count};
    struct weir_new_execution *items = calloc(PEERS_WORK, sizeof *items);
    pthread_t threads[PEERS];
    struct store_fixture store_fixture;

    check(items != NULL);
    store_fixture_open(&store_fixture, fixture);
    peers.lanes[0] = store_fixture.lane;
    peers.lanes[1] = store_fixture_term(&store_fixture, WEIR_TERM_LANE, "letters");
    for (uint32_t i = 0; i < PEERS_WORK; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].lane = peers.lanes[i % lane_count];
    }
    store_fixture_insert(&store_fixture, items, PEERS_WORK);
    store_fixture_commit(&store_fixture);
    store_fixture_close(&store_fixture);
    options.connections_max = PEERS;
    peers.db = fixture_open(fixture, &options);

    for (size_t i = 0; i < PEERS; i++)
        check_int(pthread_create(&threads[i], NULL, take_all, &peers), 0);
    for (size_t i = 0; i < PEERS; i++)
        check_int(pthread_join(threads[i], NULL), 0);

    check_int(peers.taken, PEERS_WORK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                   " WHERE state = 4 AND epoch = 1"),
              PEERS_WORK);
    weir_db_destroy(peers.db);
    free(items);
}

FLOW_TEST(crowd, of_eight_picks_nothing_twice)
{
    let_a_peers_in(fixture, 1);
}

FLOW_TEST(crowd, of_eight_picks_nothing_twice_from_two_lanes)
{
    let_a_peers_in(fixture, 2);
}

/* ---- due --------------------------------------------------------------------------- */

/* The others are about joins, edges and budgets. */
static const enum weir_due_kind KINDS[] = {WEIR_DUE_DELAYED,  WEIR_DUE_LEASE,
                                           WEIR_DUE_ATTEMPT,  WEIR_DUE_WAIT,
                                           WEIR_DUE_DEADLINE, WEIR_DUE_ENDED};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* One row that is due at 100 for each kind, and how to ask for it. */
static struct weir_execution_row due_row(enum weir_due_kind kind, int64_t due_us)
{
    switch (kind) {
    case WEIR_DUE_DELAYED:
        return (struct weir_execution_row){.state = WEIR_EXEC_DELAYED, .due_us = due_us};
    case WEIR_DUE_LEASE:
        return (struct weir_execution_row){.state = WEIR_EXEC_ACTIVE, .lease_us = due_us};
    case WEIR_DUE_ATTEMPT:
        return (struct weir_execution_row){.state = WEIR_EXEC_ACTIVE,
                                           .lease_us = INT64_MAX,
                                           .attempt_deadline_us = due_us};
    case WEIR_DUE_WAIT:
        return (struct weir_execution_row){.state = WEIR_EXEC_SUSPENDED,
                                           .due_us = due_us};
    case WEIR_DUE_DEADLINE:
        return (struct weir_execution_row){.state = WEIR_EXEC_BLOCKED,
                                           .deadline_us = due_us};
    default: /* has ended */
        break;
    }
    return (struct weir_execution_row){.state = WEIR_EXEC_SKIPPED, .ended_us = due_us};
}

FLOW_TEST(due, comes_in_the_order_of_its_time_and_not_before)
{
    struct store_fixture store_fixture;
    char text[64];

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        (void)store_fixture_put(&store_fixture, kind * 10 + 1, due_row(KINDS[kind], 102));
        (void)store_fixture_put(&store_fixture, kind * 10 + 2, due_row(KINDS[kind], 100));
        (void)store_fixture_put(&store_fixture, kind * 10 + 3, due_row(KINDS[kind], 101));
    }

    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        struct weir_due_query query = {.kind = KINDS[kind], .now_us = 101, .limit = 10};
        char want[64];

        (void)snprintf(want, sizeof want, "%u %u", kind * 10 + 2, kind * 10 + 3);
        check_int(store_fixture_pick_due(&store_fixture, &query), 2);
        check_str(picked(&store_fixture, text, sizeof text), want);
        check_int(store_fixture_next_due(&store_fixture, &query), 102);
        query.limit = 1;
        check_int(store_fixture_pick_due(&store_fixture, &query), 1);
        query.now_us = 99;
        check_int(store_fixture_pick_due(&store_fixture, &query), 0);
        check_int(store_fixture_first_due(&store_fixture, query), 100);
    }
    store_fixture_close(&store_fixture);
}

FLOW_TEST(due, is_nothing_when_nothing_waits)
{
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    (void)store_fixture_put(&store_fixture, 1,
                            (struct weir_execution_row){.state = WEIR_EXEC_READY});

    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        struct weir_due_query query = {
            .kind = KINDS[kind], .now_us = INT64_MAX, .limit = 10};

        check_int(store_fixture_pick_due(&store_fixture, &query), 0);
        check(store_fixture_first_due(&store_fixture, query) == INT64_MAX);
    }
    store_fixture_close(&store_fixture);
}

FLOW_TEST(due, leases_leave_to_the_attempt_what_is_its)
{
    struct weir_due_query leases = {.kind = WEIR_DUE_LEASE, .now_us = 100, .limit = 10};
    struct weir_due_query attempts = {
        .kind = WEIR_DUE_ATTEMPT, .now_us = 100, .limit = 10};
    struct weir_execution_row both = {
        .state = WEIR_EXEC_ACTIVE, .lease_us = 90, .attempt_deadline_us = 95};
    struct weir_execution_row lease = {
        .state = WEIR_EXEC_ACTIVE, .lease_us = 91, .attempt_deadline_us = 101};
    struct store_fixture store_fixture;
    char text[64];

    store_fixture_open(&store_fixture, fixture);
    (void)store_fixture_put(&store_fixture, 1, both);
    (void)store_fixture_put(&store_fixture, 2, lease);

    (void)store_fixture_pick_due(&store_fixture, &leases);
    check_str(picked(&store_fixture, text, sizeof text), "2");
    leases.now_us = 90;
    check_int(store_fixture_next_due(&store_fixture, &leases), 91);
    (void)store_fixture_pick_due(&store_fixture, &attempts);
    check_str(picked(&store_fixture, text, sizeof text), "1");
    store_fixture_close(&store_fixture);
}

FLOW_TEST(due, is_filtered_by_partition_namespace_and_tag)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_due_query query = {.kind = WEIR_DUE_DELAYED, .now_us = 100, .limit = 10};
    struct weir_new_execution items[4];
    struct store_fixture store_fixture;
    char text[64];

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 4; i++) {
        items[i] = store_fixture_item(&store_fixture, i); /* its partition is i */
        items[i].state = WEIR_EXEC_DELAYED;
        items[i].due_us = 50 + i;
        if (i % 2 == 1)
            items[i].name_space = weir_str("other");
        if (i >= 2) {
            items[i].tags = &TAG;
            items[i].tag_count = 1;
        }
    }
    store_fixture_insert(&store_fixture, items, 4);

    query.filter.name_space = weir_str("other");
    (void)store_fixture_pick_due(&store_fixture, &query);
    check_str(picked(&store_fixture, text, sizeof text), "1 3");
    check_int(store_fixture_first_due(&store_fixture, query), 51);

    query.filter.tag_key = weir_str("app.zone");
    query.filter.tag_value = weir_str("west");
    (void)store_fixture_pick_due(&store_fixture, &query);
    check_str(picked(&store_fixture, text, sizeof text), "3");
    check_int(store_fixture_first_due(&store_fixture, query), 53);
    query.filter.tag_value = weir_str("east");
    check_int(store_fixture_pick_due(&store_fixture, &query), 0);
    check(store_fixture_first_due(&store_fixture, query) == INT64_MAX);

    query.filter = (struct weir_store_filter){.in_partition = true, .partition = 0};
    (void)store_fixture_pick_due(&store_fixture, &query);
    check_str(picked(&store_fixture, text, sizeof text), "0");
    query.filter.partition = 2;
    check_int(store_fixture_first_due(&store_fixture, query), 52);
    store_fixture_close(&store_fixture);
}

FLOW_POSTGRESQL_TEST(due, passes_over_what_another_session_has_locked)
{
    struct weir_due_query query = {.kind = WEIR_DUE_LEASE, .now_us = 100, .limit = 2};
    struct store_fixture here;
    struct store_fixture there;
    char text[64];

    store_fixture_open(&here, fixture);
    for (uint32_t i = 0; i < 4; i++)
        (void)store_fixture_put(&here, i, due_row(WEIR_DUE_LEASE, 10 + i));
    store_fixture_commit(&here);
    store_fixture_begin(&here);
    store_fixture_open(&there, fixture);

    check_int(store_fixture_pick_due(&here, &query), 2);
    check_int(store_fixture_pick_due(&there, &query), 2);

    check_str(picked(&there, text, sizeof text), "2 3");
    store_fixture_close(&there);
    store_fixture_close(&here);
}
