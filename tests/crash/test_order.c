/*
 * The order of messages under load, on each engine: nothing is lost, nothing comes that
 * was rolled back, nothing comes before what it must follow, and numbers have no gap.
 * And the check itself is checked: with a wrong table it must see something, and with
 * bugs of tests/mutants.
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

/* Segments that a few seconds fill and the sweep can empty meanwhile. What is wrong is
 * seen in most runs, and looked for again where it is not. */
enum { SEGMENT_BITS = 12, TRIES_MAX = 12, PLANTED_TRIES_MAX = 40 };

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

static uint64_t seed_of_run;
static bool swept;

/* The sweep removed messages, kept what a slow partition had not read, and emptied leaves
 * where the engine has them. */
static bool has_swept(const struct fixture *fixture, const struct order_result *result)
{
    return result->removed > 0 && result->aside > 0 &&
           (result->emptied > 0 || fixture->engine != WEIR_POSTGRESQL);
}

static void run_everything_at_once(struct fixture *fixture)
{
    struct order_options options;
    struct order_result result;

    outbox_small_segments(fixture, SEGMENT_BITS);
    order_options_init(&options, seed_of_run, choose_messages());
    printf("# WEIR_SEED=%" PRIu64 "\n", options.seed);

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check_int(result.verdict.violations, 0);
    swept = has_swept(fixture, &result);
}

/* What the sweep meets depends on the speed of the machine. A run in which it had nothing
 * to keep does not show the order beside a sweep, so another run follows. */
static void check_everything_at_once(enum weir_engine engine)
{
    swept = false;
    for (int i = 0; i < TRIES_MAX && !swept; i++) {
        seed_of_run = choice_seed() + (uint64_t)i;
        outbox_fixture_run(engine, run_everything_at_once);
    }
    check(swept);
}

WEIR_TEST(order, holds_while_everything_happens_at_once_on_sqlite)
{
    check_everything_at_once(WEIR_SQLITE);
}

WEIR_TEST(order, holds_while_everything_happens_at_once_on_postgresql)
{
    check_everything_at_once(WEIR_POSTGRESQL);
}

WEIR_TEST(order, holds_while_everything_happens_at_once_on_mariadb)
{
    check_everything_at_once(WEIR_MARIADB);
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
    const char *linger; /* NULL: none */
    void (*prepare)(struct fixture *fixture);
    int64_t messages;
    bool lulls;
    uint32_t cutters;
    uint32_t sweepers;
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
    options.linger = planted->linger;
    options.large = 1000;
    options.calm = true;
    options.lulls = planted->lulls;
    options.cutters = planted->cutters;
    options.sweepers = planted->sweepers;
    if (!planted->sound)
        options.wait_limit_ns = WEIR_SECONDS(2);
    order_run(fixture, &options, &found);
    order_print(fixture, &options, &found);
}

/* The run tells that something is wrong. Chance may hide it for a while, not for ever. */
static void check_caught(const struct plant *plant)
{
    planted = plant;
    for (int i = 0; i < PLANTED_TRIES_MAX; i++) {
        planted_seed = choice_seed() + (uint64_t)i;
        outbox_fixture_run(plant->engine, run_planted);
        if (found.verdict.violations > 0)
            return;
    }
    weir_test_fail(__FILE__, __LINE__, "%d runs found nothing wrong", PLANTED_TRIES_MAX);
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
static void check_sound(enum weir_engine engine)
{
    planted = &(struct plant){.messages = 20000,
                              .prepare = commit_slowly,
                              .linger = "move.pick",
                              .cutters = 4,
                              .sweepers = 2,
                              .sound = true};
    for (unsigned i = 0; i < weir_test_tries(); i++) {
        planted_seed = choice_seed() + i;
        outbox_fixture_run(engine, run_planted);
        check_int(found.verdict.violations, 0);
    }
}

WEIR_TEST(order, check_sees_nothing_where_nothing_is_wrong_on_postgresql)
{
    check_sound(WEIR_POSTGRESQL);
}

WEIR_TEST(order, check_sees_nothing_where_nothing_is_wrong_on_mariadb)
{
    check_sound(WEIR_MARIADB);
}

/* What a cut says that takes the sequence's first value for its last. It is that high
 * that no span (postgres/page_span.h) reads this cut together with those after it, which
 * would find the row all the same. */
static void cut_too_high(struct fixture *fixture)
{
    fixture_prepare(fixture, "SELECT setval('{p}_log_id', 5000, false)");
    fixture_prepare(fixture, "INSERT INTO {p}_cut SELECT 1, last_value,"
                             " pg_current_xact_id(), pg_current_snapshot(), last_value, 0"
                             " FROM {p}_log_id");
}

WEIR_TEST(order, check_sees_a_first_cut_that_is_too_high)
{
    check_caught(&(struct plant){
        .engine = WEIR_POSTGRESQL, .prepare = cut_too_high, .messages = 2000});
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
