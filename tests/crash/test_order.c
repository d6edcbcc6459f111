/*
 * The order of messages under load, on each engine: nothing is lost, nothing comes that
 * was rolled back, nothing comes before what it must follow, and numbers have no gap.
 * And the check itself is checked: with a bug planted it must see something.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/outbox/lease/lease_fixture.h"
#include "crash/order/order_run.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/outbox/outbox_engines.h"

/* Segments that a few seconds fill and the sweep can empty meanwhile. A bug is seen in
 * most runs of PLANTED messages, and looked for again where it is not. */
enum { SEGMENT_BITS = 12, PLANTED = 8000, TRIES_MAX = 12 };

/* An outage after each so many messages. */
enum { OUTAGES = 3, OUTAGES_LONG = 10, BETWEEN_OUTAGES = 3000 };

enum { MESSAGES_LONG = 2000000 };

/* A sanitizer makes everything many times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MESSAGES = 30000 };
#else
enum { MESSAGES = 60000 };
#endif

static int64_t choose_messages(void)
{
    return choice_is_long() ? MESSAGES_LONG : MESSAGES;
}

OUTBOX_TEST(order, holds_while_everything_happens_at_once)
{
    struct order_options options;
    struct order_result result;

    outbox_small_segments(fixture, SEGMENT_BITS);
    order_options_init(&options, choice_seed(), choose_messages());
    printf("# WEIR_SEED=%" PRIu64 "\n", options.seed);

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check_int(result.verdict.violations, 0);
    check(result.removed > 0);
    check(result.aside > 0);
    check(result.emptied > 0 || fixture->engine != WEIR_POSTGRESQL);
}

/* ---- a server that is killed ------------------------------------------------------- */

static void outlive_the_server(struct fixture *fixture)
{
    uint32_t outages = choice_is_long() ? OUTAGES_LONG : OUTAGES;
    struct order_options options;
    struct order_result result;

    outbox_small_segments(fixture, SEGMENT_BITS);
    order_options_init(&options, choice_seed(), BETWEEN_OUTAGES * (outages + 1));
    options.outages = outages;
    options.large = 500;
    options.calm = true;
    options.lulls = false;

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check_int(result.verdict.violations, 0);
}

WEIR_TEST(order, outlives_kills_of_the_server_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, outlive_the_server);
}

WEIR_TEST(order, outlives_kills_of_the_server_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, outlive_the_server);
}

/* ---- planted bugs ------------------------------------------------------------------ */

struct plant {
    enum weir_engine engine;
    const char *point;  /* NULL: none */
    const char *linger; /* likewise */
    void (*prepare)(struct fixture *fixture);
    int64_t messages;
    bool lulls;
    uint32_t cutters;
    uint32_t sweepers;
    bool behind_ack;
    bool sound; /* no bug: what is missing will come */
};

static const struct plant *planted;
static uint64_t planted_seed;
static struct order_result found;

static void run_planted(struct fixture *fixture)
{
    struct order_options options;

    outbox_small_segments(fixture, SEGMENT_BITS - 2);
    if (planted->prepare != NULL)
        planted->prepare(fixture);
    order_options_init(&options, planted_seed, planted->messages);
    options.plant = planted->point;
    options.linger = planted->linger;
    options.large = 1000;
    options.calm = true;
    options.lulls = planted->lulls;
    options.cutters = planted->cutters;
    options.sweepers = planted->sweepers;
    options.behind_ack = planted->behind_ack;
    if (!planted->sound)
        options.wait_limit_ns = WEIR_SECONDS(2);
    order_run(fixture, &options, &found);
    order_print(fixture, &options, &found);
}

/* The run tells that something is wrong. Chance may hide it for a while, not for ever. */
static void check_caught(const struct plant *plant)
{
    planted = plant;
    for (int i = 0; i < TRIES_MAX; i++) {
        planted_seed = choice_seed() + (uint64_t)i;
        outbox_fixture_run(plant->engine, run_planted);
        if (found.verdict.violations > 0)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "%d runs found nothing wrong", TRIES_MAX);
}

/* A commit takes a while, and others cut meanwhile. */
static void commit_slowly(struct fixture *fixture)
{
    char text[SERVER_PATH_SIZE + 64];

    for (int i = 0; i < 2 && fixture->engine == WEIR_POSTGRESQL; i++) {
        (void)snprintf(text, sizeof text, "ALTER DATABASE %s SET %s", fixture->database,
                       i == 0 ? "commit_delay = 8000" : "commit_siblings = 1");
        fixture_prepare(fixture, text);
    }
}

/* Without a plant the same run is as it should be. */
OUTBOX_SERVER_TEST(order, check_sees_nothing_where_nothing_is_wrong)
{
    planted = &(struct plant){.messages = 20000,
                              .prepare = commit_slowly,
                              .linger = "move.pick",
                              .cutters = 4,
                              .sound = true};
    planted_seed = choice_seed();
    run_planted(fixture);

    check_int(found.verdict.violations, 0);
}

/* Rows of transactions that the list of a snapshot does not name are never read. */
WEIR_TEST(order, check_sees_a_cut_without_unlisted_transactions)
{
    check_caught(&(struct plant){
        .engine = WEIR_POSTGRESQL, .point = "cut.skip_unfinished", .messages = PLANTED});
}

WEIR_TEST(order, check_sees_cuts_at_the_same_time)
{
    check_caught(&(struct plant){.engine = WEIR_POSTGRESQL,
                                 .point = "cut.no_lock",
                                 .prepare = commit_slowly,
                                 .messages = PLANTED,
                                 .cutters = 4});
}

/* In a transaction that had its number before, `own` is older than `hi`. */
WEIR_TEST(order, check_sees_a_cut_behind_an_ack)
{
    check_caught(&(struct plant){.engine = WEIR_POSTGRESQL,
                                 .point = "cut.behind_ack",
                                 .messages = PLANTED,
                                 .cutters = 2,
                                 .behind_ack = true});
}

/* What a cut says that takes the sequence's first value for its last. */
static void cut_too_high(struct fixture *fixture)
{
    fixture_prepare(fixture, "INSERT INTO {p}_cut SELECT 1, last_value,"
                             " pg_current_xact_id(), pg_current_snapshot(), last_value, 0"
                             " FROM {p}_log_id");
}

WEIR_TEST(order, check_sees_a_first_cut_that_is_too_high)
{
    check_caught(&(struct plant){
        .engine = WEIR_POSTGRESQL, .prepare = cut_too_high, .messages = 2000});
}

WEIR_TEST(order, check_sees_a_leaf_emptied_without_a_second_look)
{
    check_caught(&(struct plant){.engine = WEIR_POSTGRESQL,
                                 .point = "sweep.no_pass_two",
                                 .messages = PLANTED,
                                 .sweepers = 2});
}

/* Two moves at the same time: the later one's places are read, then the earlier one
 * commits. */
WEIR_TEST(order, check_sees_moves_at_the_same_time)
{
    check_caught(&(struct plant){.engine = WEIR_MARIADB,
                                 .point = "move.no_lock",
                                 .linger = "move.pick",
                                 .messages = PLANTED,
                                 .cutters = 1});
}

/* Among the ids up to the largest that was picked are some that were not committed
 * then. */
WEIR_TEST(order, check_sees_a_delete_of_what_was_not_moved)
{
    check_caught(&(struct plant){
        .engine = WEIR_MARIADB, .point = "move.delete_range", .messages = PLANTED});
}

/* Transactions that commit while the scan is under way. */
WEIR_TEST(order, check_sees_a_pick_that_skips_what_is_locked)
{
    check_caught(&(struct plant){
        .engine = WEIR_MARIADB, .point = "move.skip_locked", .messages = PLANTED});
}

/* Ids begin anew when the newest rows are removed, behind those who read. The head,
 * which an AUTOINCREMENT would tell, is that of the rows. */
static void use_plain_rowids(struct fixture *fixture)
{
    fixture_prepare(fixture, "DROP TABLE {p}_log");
    fixture_prepare(fixture, "CREATE TABLE {p}_log (id INTEGER PRIMARY KEY,"
                             " pid INTEGER NOT NULL, created_us INTEGER NOT NULL,"
                             " uid BLOB NOT NULL, message_key TEXT, type TEXT NOT NULL,"
                             " headers TEXT, payload BLOB NOT NULL)");
    fixture_prepare(fixture, "INSERT INTO sqlite_sequence VALUES ('{p}_log', 0)");
    fixture_prepare(fixture, "CREATE TRIGGER {p}_head AFTER INSERT ON {p}_log BEGIN"
                             " UPDATE sqlite_sequence SET seq = NEW.id"
                             " WHERE name = '{p}_log'; END");
}

WEIR_TEST(order, check_sees_ids_that_are_used_again)
{
    check_caught(&(struct plant){.engine = WEIR_SQLITE,
                                 .prepare = use_plain_rowids,
                                 .messages = 4000,
                                 .lulls = true});
}

/*
 * Two acks of one version: step by step, since it takes a takeover at the right moment.
 * The first is not committed when the second compares; locked, the second would wait
 * for it.
 */
OUTBOX_POSTGRESQL_TEST(order, needs_acks_that_compare_behind_the_lock)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct weir_connection *first = fixture_take(fixture);
    struct weir_connection *second;
    struct weir_fault_points points;
    struct weir_lease lease;
    struct weir_ack ack;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &lease, 1), 1);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "ack.one_statement", 1);
    weir_db_set_fault_points(db, &points);
    check_db(weir_db_acquire(db, &second, &fixture->error), WEIR_OK);
    ack = (struct weir_ack){.key = lease.key,
                            .epoch = lease.epoch,
                            .next = {.log_position = {5, 7}, .seq = 2, .version = 1}};

    check_db(weir_connection_begin(first, &fixture->error), WEIR_OK);
    fixture_execute(fixture, first, "SELECT FROM {p}_lease FOR NO KEY UPDATE");
    fixture_execute(fixture, first,
                    "INSERT INTO {p}_ack (subscription, pid, version, epoch,"
                    " incarnation, cut, last_id, seq)"
                    " SELECT subscription, pid, 1, epoch, incarnation, 9, 9, 9"
                    " FROM {p}_lease");
    check_db(weir_ack_move(second, ANNA, &ack, 1, &fixture->error), WEIR_OK);
    check_db(weir_connection_commit(first, &fixture->error), WEIR_OK);

    check(ack.accepted);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack WHERE version = 1"), 2);
    weir_db_release(db, second);
    weir_db_destroy(db);
    fixture_give(fixture, first);
}
