/*
 * Somebody has a transaction open on MariaDB since long ago: nothing that it might
 * still read is purged, and every row that was deleted since stays in the indexes.
 * Delivery goes on, and does not walk over more and more of them.
 *
 * The server is the test's own, so what it has counted is ours. WEIR_LONG=1: rounds
 * long enough to compare their times.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "contract/outbox/log/log_fixture.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/outbox/outbox_application.h"
#include "weir/outbox.h"
#include "weir/time.h"

/* ---- the one with the old view ----------------------------------------------------- */

static struct application open_view(struct fixture *fixture)
{
    struct application application = application_start(fixture);

    application_run(&application,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&application, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    return application;
}

static void close_view(struct application *application)
{
    application_run(application, "COMMIT");
    application_stop(application);
}

/* ---- what a move reads ------------------------------------------------------------- */

enum { QUEUE = 1, ROWS = 20, ROUNDS = 40, MANY_ROUNDS = 200, PAYLOAD_SIZE = 1000 };

static int64_t pages_asked_for(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       "SELECT variable_value FROM information_schema.global_status"
                       " WHERE variable_name = 'Innodb_buffer_pool_read_requests'");
}

/* Messages so large that few of them have room on a page. */
static void append_large(struct log_fixture *log_fixture)
{
    static const char LARGE[PAYLOAD_SIZE];
    struct fixture *fixture = log_fixture->fixture;
    struct weir_log_entry entries[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        entries[i] = (struct weir_log_entry){.pid = weir_pid(QUEUE, 0),
                                             .type = weir_str("t"),
                                             .payload = {LARGE, sizeof LARGE}};
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, ROWS),
             WEIR_OK);
}

/* Pages that the moves of so many rounds ask for. */
static int64_t move_rounds(struct log_fixture *log_fixture, int rounds)
{
    int64_t sum = 0;

    for (int i = 0; i < rounds; i++) {
        int64_t before;

        append_large(log_fixture);
        before = pages_asked_for(log_fixture->fixture);
        log_fixture_advance(log_fixture);
        sum += pages_asked_for(log_fixture->fixture) - before;
    }
    return sum;
}

static void compare_moves(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct application application;
    struct weir_fault_points points;
    int64_t before, after;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "move.small_era", 1);
    log_fixture.log.points = &points;
    (void)move_rounds(&log_fixture, ROUNDS);
    before = move_rounds(&log_fixture, ROUNDS);
    application = open_view(fixture);
    (void)move_rounds(&log_fixture, MANY_ROUNDS);
    after = move_rounds(&log_fixture, ROUNDS);
    printf("# pages of a move: %" PRId64 ", behind an old view %" PRId64 "\n",
           before / ROUNDS, after / ROUNDS);

    check_in_range(after, 1, before + before / 2);
    close_view(&application);
    log_fixture_close(&log_fixture);
}

WEIR_TEST(move, reads_no_more_behind_an_old_view_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, compare_moves);
}

/* Pages that a move asks for which takes a run of an era that is long over, behind so
 * many rounds of newer ones. */
static int64_t move_of_an_older_era(struct log_fixture *log_fixture, int rounds)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_connection *slow = fixture_take(fixture);
    struct weir_log_entry entries[ROWS];
    int64_t before;

    for (size_t i = 0; i < ROWS; i++)
        entries[i] = (struct weir_log_entry){
            .pid = weir_pid(QUEUE, 0), .type = weir_str("t"), .payload = {"x", 1}};
    check_db(weir_connection_begin(slow, &fixture->error), WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, slow, entries, ROWS), WEIR_OK);
    (void)move_rounds(log_fixture, rounds);
    check_db(weir_connection_commit(slow, &fixture->error), WEIR_OK);
    fixture_give(fixture, slow);
    before = pages_asked_for(fixture);
    log_fixture_advance(log_fixture);
    return pages_asked_for(fixture) - before;
}

static void compare_older_eras(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct application application;
    struct weir_fault_points points;
    int64_t few, many;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "move.small_era", 1);
    log_fixture.log.points = &points;
    (void)move_rounds(&log_fixture, ROUNDS);
    application = open_view(fixture);
    few = move_of_an_older_era(&log_fixture, 2);
    many = move_of_an_older_era(&log_fixture, 5 * MANY_ROUNDS);
    printf("# pages of a run: %" PRId64 " with few dead rows behind it, %" PRId64
           " with many\n",
           few, many);

    check_in_range(many, 1, few + few / 2);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_incoming"), 0);
    close_view(&application);
    log_fixture_close(&log_fixture);
}

WEIR_TEST(move, of_an_older_era_steps_over_no_newer_ones_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, compare_older_eras);
}

/* ---- delivery ---------------------------------------------------------------------- */

enum {
    PARTITIONS = 8,
    BATCH = 50,
    MESSAGES = 4000,
    MESSAGES_LONG = 60000,
    PAIRS_LONG = 5
};

static enum weir_outcome count(struct weir_context *context, void *state,
                               struct weir_batch *batch, struct weir_reason *reason)
{
    (void)context;
    (void)reason;
    atomic_fetch_add((_Atomic int64_t *)state, (int64_t)weir_batch_count(batch));
    return WEIR_DONE;
}

static struct weir_outbox *start(struct fixture *fixture, _Atomic int64_t *delivered)
{
    struct weir_tuning sweep =
        weir_tuning_of(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_SWEEP);
    struct weir_handler_options handler;
    struct weir_outbox_options options;
    struct weir_queue_options queue;
    struct weir_outbox *outbox;

    sweep.idle_ns = WEIR_MILLISECONDS(50);
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.stats_interval_ns = 0;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = PARTITIONS;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    weir_handler_options_init(&handler);
    handler.queue = "orders";
    handler.on_batch = count;
    handler.state = delivered;
    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_OK);
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
    return outbox;
}

/* Enqueue so many and wait for them; nanoseconds. */
static int64_t deliver(struct fixture *fixture, struct weir_outbox *outbox,
                       _Atomic int64_t *delivered, int64_t messages)
{
    static const char TEXT[] = "one of very many messages, none of them larger than this";
    int64_t begin_ns = weir_clock_now_ns();
    int64_t end = atomic_load(delivered) + messages;
    struct weir_draft drafts[BATCH];

    for (int i = 0; i < BATCH; i++)
        drafts[i] = (struct weir_draft){.route = weir_route_to_partition(i % PARTITIONS),
                                        .type = "t",
                                        .payload = TEXT,
                                        .payload_size = sizeof TEXT};
    for (int64_t i = 0; i < messages; i += BATCH)
        check_db(weir_enqueue_batch(outbox, NULL, "orders", drafts, BATCH, NULL,
                                    &fixture->error),
                 WEIR_OK);
    wait_until(atomic_load(delivered) >= end);
    return weir_clock_now_ns() - begin_ns;
}

static void compare_deliveries(struct fixture *fixture)
{
    static _Atomic int64_t delivered; /* outlives a failed test */
    int64_t messages = choice_is_long() ? MESSAGES_LONG : MESSAGES;
    int pairs = choice_is_long() ? PAIRS_LONG : 1;
    struct weir_outbox *outbox = start(fixture, &delivered);
    int64_t sums_ns[2] = {0, 0}; /* without a view, with one */

    (void)deliver(fixture, outbox, &delivered, messages);
    for (int i = 0; i < pairs * 2; i++) {
        struct application application;

        if (i % 2 == 1)
            application = open_view(fixture);
        sums_ns[i % 2] += deliver(fixture, outbox, &delivered, messages);
        if (i % 2 == 1)
            close_view(&application);
    }
    printf("# %d rounds of %" PRId64 " messages: %" PRId64
           " ms, behind an old view %" PRId64 " ms: %.2f times as long\n",
           pairs, messages, sums_ns[0] / 1000000, sums_ns[1] / 1000000,
           (double)sums_ns[1] / (double)sums_ns[0]);
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(20)), 0);
    weir_outbox_destroy(outbox);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_incoming"), 0);
}

WEIR_TEST(delivery, goes_on_behind_an_old_view_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, compare_deliveries);
}
