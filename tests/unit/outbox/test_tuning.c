/*
 * Tests of outbox/tuning.c: the numbers of every profile, the defaults, and every rule,
 * with the words of its refusal.
 */
#include "outbox/tuning.h"

#include <string.h>

#include "kit/outbox/accept.h"
#include "kit/test.h"
#include "weir/worker.h"

#define MS(n) WEIR_MILLISECONDS(n)
#define S(n) WEIR_SECONDS(n)
#define MINUTES(n) WEIR_MINUTES(n)

/* One row of the table of profiles, in its order of columns. */
static void has(enum weir_profile profile, enum weir_worker_kind kind, uint32_t batch,
                int64_t min_ns, int64_t active_ns, int64_t idle_ns, int64_t ramp_ns,
                int64_t retry_base_ns, int64_t retry_max_ns, uint32_t threshold)
{
    struct weir_tuning tuning = weir_tuning_of(profile, kind);

    check_int(tuning.batch, batch);
    check_int(tuning.min_ns, min_ns);
    check_int(tuning.active_ns, active_ns);
    check_int(tuning.idle_ns, idle_ns);
    check_int(tuning.ramp_ns, ramp_ns);
    check_int(tuning.retry_base_ns, retry_base_ns);
    check_int(tuning.retry_max_ns, retry_max_ns);
    check_int(tuning.degradation_threshold, threshold);
    check_status(weir_tuning_check(&tuning, "profile", NULL), WEIR_OK);
}

/* ---- profiles ---------------------------------------------------------------------- */

WEIR_TEST(tuning, of_lanes)
{
    has(WEIR_PROFILE_DEFAULT, WEIR_KIND_LANE, 10, MS(100), MS(500), MINUTES(10), MS(50),
        S(1), S(60), 2);
    has(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE, 10, MS(1), MS(2), MINUTES(1), MS(1),
        MS(100), S(10), 3);
    has(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_LANE, 100, MS(1), MS(20), MINUTES(10),
        MS(2), S(1), S(60), 2);
    has(WEIR_PROFILE_RELAXED, WEIR_KIND_LANE, 10, MS(100), MS(500), MINUTES(10), MS(50),
        S(5), MINUTES(5), 1);
}

WEIR_TEST(tuning, of_dispatchers)
{
    has(WEIR_PROFILE_DEFAULT, WEIR_KIND_DISPATCHER, 1000, MS(100), MS(500), MINUTES(10),
        MS(50), MS(100), S(30), 1);
    has(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_DISPATCHER, 500, 0, MS(1), MINUTES(1), 0,
        MS(100), S(30), 1);
    has(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_DISPATCHER, 2000, MS(10), MS(100),
        MINUTES(10), MS(10), MS(100), S(30), 1);
    has(WEIR_PROFILE_RELAXED, WEIR_KIND_DISPATCHER, 1000, MS(100), MS(500), MINUTES(10),
        MS(100), MS(100), S(30), 1);
}

WEIR_TEST(tuning, of_sweeps_is_the_same_in_all_profiles)
{
    for (int profile = WEIR_PROFILE_DEFAULT; profile <= WEIR_PROFILE_RELAXED; profile++)
        has((enum weir_profile)profile, WEIR_KIND_SWEEP, 10000, S(1), S(1), WEIR_HOURS(1),
            0, S(1), S(60), 1);
}

WEIR_TEST(tuning, of_checks)
{
    has(WEIR_PROFILE_DEFAULT, WEIR_KIND_CHECK, 1, S(1), S(1), MINUTES(1), 0, S(1), S(60),
        1);
    has(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_CHECK, 1, S(1), S(1), S(30), 0, S(1), S(60),
        1);
    has(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_CHECK, 1, S(1), S(1), MINUTES(1), 0, S(1),
        S(60), 1);
    has(WEIR_PROFILE_RELAXED, WEIR_KIND_CHECK, 1, S(1), S(1), MINUTES(2), 0, S(1), S(60),
        1);
}

/* ---- what a tuning may be ---------------------------------------------------------- */

static struct weir_tuning good_tuning(void)
{
    return weir_tuning_of(WEIR_PROFILE_DEFAULT, WEIR_KIND_LANE);
}

static void refuses_tuning(const struct weir_tuning *tuning, const char *want)
{
    struct weir_error error;

    check_status(weir_tuning_check(tuning, "lane", &error), WEIR_INVALID);
    check_status(error.status, WEIR_INVALID);
    check_str(error.text, want);
    check_status(weir_tuning_check(tuning, "lane", NULL), WEIR_INVALID);
}

/* A tuning that is good but for one field. */
#define REFUSES(field, value, want)                                                      \
    do {                                                                                 \
        struct weir_tuning tuning = good_tuning();                                       \
        tuning.field = (value);                                                          \
        refuses_tuning(&tuning, (want));                                                 \
    } while (0)
#define ACCEPTS(field, value)                                                            \
    do {                                                                                 \
        struct weir_tuning tuning = good_tuning();                                       \
        tuning.field = (value);                                                          \
        check_status(weir_tuning_check(&tuning, "lane", NULL), WEIR_OK);                 \
    } while (0)

WEIR_TEST(tuning, has_batches_from_1_to_10000)
{
    ACCEPTS(batch, 1);
    ACCEPTS(batch, 10000);
    REFUSES(batch, 0, "lane: batch is 0, must be from 1 to 10000");
    REFUSES(batch, 10001, "lane: batch is 10001, must be from 1 to 10000");
}

WEIR_TEST(tuning, has_min_at_most_active)
{
    ACCEPTS(min_ns, 0);
    ACCEPTS(min_ns, MS(500));
    REFUSES(min_ns, MS(501),
            "lane: min_ns is 501 ms, must be at most active_ns, which is 500 ms");
    REFUSES(min_ns, -1, "lane: min_ns is -1 ns, must be from 0 to 366 d");
    REFUSES(active_ns, -1, "lane: active_ns is -1 ns, must be from 0 to 366 d");
    REFUSES(active_ns, WEIR_FOREVER,
            "lane: active_ns is for ever, must be from 0 to 366 d");
}

WEIR_TEST(tuning, has_a_ramp_that_is_not_negative)
{
    ACCEPTS(ramp_ns, 0);
    ACCEPTS(ramp_ns, WEIR_DURATION_MAX);
    REFUSES(ramp_ns, -1, "lane: ramp_ns is -1 ns, must be from 0 to 366 d");
}

WEIR_TEST(tuning, idles_for_at_least_a_millisecond)
{
    ACCEPTS(idle_ns, MS(1));
    ACCEPTS(idle_ns, WEIR_DURATION_MAX);
    REFUSES(idle_ns, MS(1) - 1, "lane: idle_ns is 999999 ns, must be from 1 ms to 366 d");
    REFUSES(idle_ns, WEIR_FOREVER,
            "lane: idle_ns is for ever, must be from 1 ms to 366 d");
}

WEIR_TEST(tuning, retries_after_more_than_nothing_and_at_most_its_limit)
{
    ACCEPTS(retry_base_ns, 1);
    ACCEPTS(retry_base_ns, S(60));
    REFUSES(retry_base_ns, 0, "lane: retry_base_ns is 0, must be from 1 ns to 366 d");
    REFUSES(retry_base_ns, S(61),
            "lane: retry_base_ns is 61 s, must be at most retry_max_ns, which is 1 min");
    REFUSES(retry_max_ns, WEIR_FOREVER,
            "lane: retry_max_ns is for ever, must be from 1 ns to 366 d");
}

WEIR_TEST(tuning, degrades_after_at_least_one_failure)
{
    ACCEPTS(degradation_threshold, 1);
    ACCEPTS(degradation_threshold, UINT32_MAX);
    REFUSES(degradation_threshold, 0,
            "lane: degradation_threshold is 0, must be at least 1");
}

/* ---- leases ------------------------------------------------------------------------ */

static void accepts_lease(int64_t duration_ns, int64_t headroom_ns)
{
    const struct weir_lease_options lease = {duration_ns, headroom_ns};

    check_status(weir_lease_options_check(&lease, NULL), WEIR_OK);
}

static void refuses_lease(int64_t duration_ns, int64_t headroom_ns, const char *want)
{
    const struct weir_lease_options lease = {duration_ns, headroom_ns};
    struct weir_error error;

    check_status(weir_lease_options_check(&lease, &error), WEIR_INVALID);
    check_str(error.text, want);
}

WEIR_TEST(lease, is_30_s_with_a_headroom_of_2_s_by_default)
{
    struct weir_handler_options options;

    weir_handler_options_init(&options);

    check_int(options.lease.duration_ns, S(30));
    check_int(options.lease.headroom_ns, S(2));
    check_int(options.lease.duration_ns - options.lease.headroom_ns, S(28));
    check_status(weir_lease_options_check(&options.lease, NULL), WEIR_OK);
}

WEIR_TEST(lease, lasts_from_100_ms_to_an_hour)
{
    accepts_lease(MS(100), 0);
    accepts_lease(WEIR_HOURS(1), S(2));
    refuses_lease(MS(99), 0, "lease.duration_ns is 99 ms, must be from 100 ms to 1 h");
    refuses_lease(WEIR_HOURS(1) + 1, 0,
                  "lease.duration_ns is 3600000000001 ns, must be from 100 ms to 1 h");
    refuses_lease(0, 0, "lease.duration_ns is 0, must be from 100 ms to 1 h");
}

WEIR_TEST(lease, has_headroom_below_its_duration)
{
    accepts_lease(S(30), S(30) - 1);
    refuses_lease(S(30), S(30),
                  "lease.headroom_ns is 30 s, must be from 0 to below "
                  "lease.duration_ns, which is 30 s");
    refuses_lease(S(30), S(31),
                  "lease.headroom_ns is 31 s, must be from 0 to below "
                  "lease.duration_ns, which is 30 s");
    refuses_lease(S(30), -1,
                  "lease.headroom_ns is -1 ns, must be from 0 to below "
                  "lease.duration_ns, which is 30 s");
}

/* ---- options of an outbox ---------------------------------------------------------- */

/* Nobody looks into it here. */
static struct weir_db *some_db(void)
{
    static char byte;

    return (struct weir_db *)(void *)&byte;
}

static struct weir_outbox_options good_options(void)
{
    struct weir_outbox_options options;

    weir_outbox_options_init(&options);
    options.db = some_db();
    return options;
}

static void accepts_options(const struct weir_outbox_options *options)
{
    struct weir_error error = {.text = ""};

    if (weir_outbox_options_check(options, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "refused: %s", error.text);
}

static void refuses_options(const struct weir_outbox_options *options, const char *want)
{
    struct weir_error error;

    check_status(weir_outbox_options_check(options, &error), WEIR_INVALID);
    check_str(error.text, want);
}

#define OPTION_REFUSED(field, value, want)                                               \
    do {                                                                                 \
        struct weir_outbox_options options = good_options();                             \
        options.field = (value);                                                         \
        refuses_options(&options, (want));                                               \
    } while (0)
#define OPTION_ACCEPTED(field, value)                                                    \
    do {                                                                                 \
        struct weir_outbox_options options = good_options();                             \
        options.field = (value);                                                         \
        accepts_options(&options);                                                       \
    } while (0)

WEIR_TEST(outbox_options, have_the_documented_defaults)
{
    struct weir_outbox_options options;

    memset(&options, 0xff, sizeof options);
    weir_outbox_options_init(&options);

    check(options.db == NULL);
    check(options.executor == NULL);
    check(options.process_name == NULL);
    check_int(options.profile, WEIR_PROFILE_DEFAULT);
    for (size_t i = 0; i < WEIR_KIND_COUNT; i++)
        check(options.tuning[i] == NULL);
    check_int(options.handlers, 4);
    check_int(options.maintenance_guaranteed, 2);
    check_int(options.maintenance_shared, 1);
    check_int(options.pages_per_run, 8);
    check_int(options.stats_interval_ns, S(60));
    check_int(options.payload_size_max, 65536);
    check_int(options.memory_max, 8 * 1024 * 1024);
    check(!options.no_savepoint);
    options.db = some_db();
    accepts_options(&options);
}

WEIR_TEST(outbox_options, must_name_a_database)
{
    OPTION_REFUSED(db, NULL, "db is NULL, must be a database");
}

WEIR_TEST(outbox_options, may_name_the_process)
{
    char name[257];

    memset(name, 'p', 256);
    name[256] = '\0';
    OPTION_ACCEPTED(process_name, "mailer on \xc3\xa4");
    OPTION_ACCEPTED(process_name, name + 1);
    OPTION_REFUSED(process_name, name,
                   "process_name is too long, must have 1 to 255 bytes");
    OPTION_REFUSED(process_name, "", "process_name is empty, must have 1 to 255 bytes");
    OPTION_REFUSED(process_name, "\xff", "process_name must be UTF-8");
}

WEIR_TEST(outbox_options, have_one_of_the_profiles)
{
    OPTION_ACCEPTED(profile, WEIR_PROFILE_RELAXED);
    OPTION_REFUSED(profile, (enum weir_profile)(WEIR_PROFILE_RELAXED + 1),
                   "profile is 4, must be from 0 to 3");
}

WEIR_TEST(outbox_options, have_limits_for_every_count)
{
    OPTION_ACCEPTED(handlers, 1);
    OPTION_ACCEPTED(handlers, 512);
    OPTION_REFUSED(handlers, 0, "handlers is 0, must be from 1 to 512");
    OPTION_REFUSED(handlers, 513, "handlers is 513, must be from 1 to 512");
    OPTION_ACCEPTED(maintenance_guaranteed, 64);
    OPTION_REFUSED(maintenance_guaranteed, 0,
                   "maintenance_guaranteed is 0, must be from 1 to 64");
    OPTION_REFUSED(maintenance_guaranteed, 65,
                   "maintenance_guaranteed is 65, must be from 1 to 64");
    OPTION_ACCEPTED(maintenance_shared, 64);
    OPTION_REFUSED(maintenance_shared, 0,
                   "maintenance_shared is 0, must be from 1 to 64");
    OPTION_REFUSED(maintenance_shared, 65,
                   "maintenance_shared is 65, must be from 1 to 64");
    OPTION_ACCEPTED(pages_per_run, 1000);
    OPTION_REFUSED(pages_per_run, 0, "pages_per_run is 0, must be from 1 to 1000");
    OPTION_REFUSED(pages_per_run, 1001, "pages_per_run is 1001, must be from 1 to 1000");
}

WEIR_TEST(outbox_options, have_limits_for_every_size)
{
    OPTION_ACCEPTED(payload_size_max, 1);
    OPTION_ACCEPTED(payload_size_max, WEIR_PAYLOAD_SIZE_MAX);
    OPTION_REFUSED(payload_size_max, 0,
                   "payload_size_max is 0, must be from 1 to 16777216");
    OPTION_REFUSED(payload_size_max, WEIR_PAYLOAD_SIZE_MAX + 1,
                   "payload_size_max is 16777217, must be from 1 to 16777216");
    OPTION_ACCEPTED(memory_max, 1048576);
    OPTION_ACCEPTED(memory_max, SIZE_MAX);
    OPTION_REFUSED(memory_max, 1048575,
                   "memory_max is 1048575, must be at least 1048576");
}

WEIR_TEST(outbox_options, may_switch_statistics_off)
{
    OPTION_ACCEPTED(stats_interval_ns, 0);
    OPTION_ACCEPTED(stats_interval_ns, MS(1));
    OPTION_REFUSED(stats_interval_ns, 1,
                   "stats_interval_ns is 1 ns, must be from 1 ms to 366 d");
    OPTION_REFUSED(stats_interval_ns, -1,
                   "stats_interval_ns is -1 ns, must be from 1 ms to 366 d");
}

WEIR_TEST(outbox_options, check_each_tuning_by_the_name_of_its_worker)
{
    static const char *const WANT[WEIR_KIND_COUNT] = {
        [WEIR_KIND_LANE] = "lane: batch is 0, must be from 1 to 10000",
        [WEIR_KIND_DISPATCHER] = "dispatcher: batch is 0, must be from 1 to 10000",
        [WEIR_KIND_SWEEP] = "sweep: batch is 0, must be from 1 to 10000",
        [WEIR_KIND_CHECK] = "check: batch is 0, must be from 1 to 10000",
    };
    struct weir_tuning good = good_tuning(), bad = good_tuning();

    bad.batch = 0;
    for (size_t i = 0; i < WEIR_KIND_COUNT; i++) {
        struct weir_outbox_options options = good_options();

        options.tuning[i] = &good;
        accepts_options(&options);
        options.tuning[i] = &bad;
        refuses_options(&options, WANT[i]);
    }
}

/* ---- options of a queue ------------------------------------------------------------ */

WEIR_TEST(queue_options, have_defaults_that_lack_only_a_name)
{
    struct weir_queue_options options;
    struct weir_error error;

    memset(&options, 0xff, sizeof options);
    weir_queue_options_init(&options);

    check(options.name == NULL);
    check_int(options.partitions, 1);
    check_int(options.unread, WEIR_UNREAD_KEEP);
    check_int(options.backlog_max, 0);
    check_status(weir_queue_options_check(&options, &error), WEIR_INVALID);
    check_str(error.text, "queue name is NULL, must have 1 to 1024 characters");
    options.name = "orders";
    check_status(weir_queue_options_check(&options, NULL), WEIR_OK);
}

static void refuses_queue(struct weir_queue_options options, const char *want)
{
    struct weir_error error;

    check_status(weir_queue_options_check(&options, &error), WEIR_INVALID);
    check_str(error.text, want);
}

WEIR_TEST(queue_options, are_checked_one_by_one)
{
    refuses_queue((struct weir_queue_options){.name = "-", .partitions = 1},
                  "queue name \"-\" must begin and end with a letter or digit");
    refuses_queue((struct weir_queue_options){.name = "q", .partitions = 3},
                  "partitions is 3, must be a power of two from 1 to 64");
    refuses_queue((struct weir_queue_options){.name = "q",
                                              .partitions = 1,
                                              .unread = (enum weir_unread)2},
                  "unread is 2, must be from 0 to 1");
    refuses_queue(
        (struct weir_queue_options){.name = "q", .partitions = 1, .backlog_max = -1},
        "backlog_max is -1, must be at least 0");
}

/* ---- options of a handler ---------------------------------------------------------- */

static enum weir_outcome on_batch(struct weir_context *context, void *state,
                                  struct weir_batch *batch, struct weir_reason *reason)
{
    (void)context;
    (void)state;
    (void)batch;
    (void)reason;
    return WEIR_DONE;
}

static enum weir_outcome on_batch_tx(struct weir_context *context, void *state,
                                     struct weir_connection *connection,
                                     struct weir_batch *batch, struct weir_reason *reason)
{
    (void)connection;
    return on_batch(context, state, batch, reason);
}

static struct weir_handler_options good_handler(void)
{
    struct weir_handler_options options;

    weir_handler_options_init(&options);
    options.queue = "orders";
    options.on_message = accept_message;
    return options;
}

#define HANDLER_REFUSED(field, value, want)                                              \
    do {                                                                                 \
        struct weir_handler_options options = good_handler();                            \
        struct weir_error error;                                                         \
        options.field = (value);                                                         \
        check_status(weir_handler_options_check(&options, &error), WEIR_INVALID);        \
        check_str(error.text, (want));                                                   \
    } while (0)
#define HANDLER_ACCEPTED(field, value)                                                   \
    do {                                                                                 \
        struct weir_handler_options options = good_handler();                            \
        options.field = (value);                                                         \
        check_status(weir_handler_options_check(&options, NULL), WEIR_OK);               \
    } while (0)

WEIR_TEST(handler_options, have_the_documented_defaults)
{
    struct weir_handler_options options;

    memset(&options, 0xff, sizeof options);
    weir_handler_options_init(&options);

    check(options.queue == NULL);
    check(options.subscription == NULL);
    check_int(options.start, WEIR_START_BEGINNING);
    check(options.on_message == NULL);
    check(options.on_batch == NULL);
    check(options.on_message_tx == NULL);
    check(options.on_batch_tx == NULL);
    check(options.state == NULL);
    check_int(options.permits, 0);
    check_int(options.budget_ns, 0);
    check(options.tuning == NULL);
}

WEIR_TEST(handler_options, name_a_queue_and_may_name_a_subscription)
{
    HANDLER_ACCEPTED(subscription, NULL);
    HANDLER_ACCEPTED(subscription, "mailer");
    HANDLER_REFUSED(queue, NULL, "queue name is NULL, must have 1 to 1024 characters");
    HANDLER_REFUSED(subscription, "",
                    "subscription name is empty, must have 1 to 1024 characters");
}

WEIR_TEST(handler_options, have_exactly_one_handler)
{
    struct weir_handler_options other = good_handler();

    HANDLER_REFUSED(on_message, NULL,
                    "0 of on_message, on_batch, on_message_tx and on_batch_tx are given, "
                    "must be 1");
    HANDLER_REFUSED(on_batch, on_batch,
                    "2 of on_message, on_batch, on_message_tx and on_batch_tx are given, "
                    "must be 1");
    HANDLER_REFUSED(on_batch_tx, on_batch_tx,
                    "2 of on_message, on_batch, on_message_tx and on_batch_tx are given, "
                    "must be 1");
    other.on_message = NULL;
    other.on_batch = on_batch;
    check_status(weir_handler_options_check(&other, NULL), WEIR_OK);
    other.on_batch = NULL;
    other.on_batch_tx = on_batch_tx;
    check_status(weir_handler_options_check(&other, NULL), WEIR_OK);
}

WEIR_TEST(handler_options, of_a_sink_are_not_transactional)
{
    struct weir_handler_options options = good_handler();
    struct weir_error error;

    options.on_message = NULL;
    options.on_batch_tx = on_batch_tx;
    options.serving = WEIR_SERVED_BY_SINK;
    check_status(weir_handler_options_check(&options, &error), WEIR_INVALID);
    check_str(error.text,
              "a sink cannot have a transactional handler: what it delivers is "
              "not in this database");
}

WEIR_TEST(handler_options, are_checked_one_by_one)
{
    struct weir_tuning bad = good_tuning();

    bad.batch = 0;
    HANDLER_ACCEPTED(start, WEIR_START_NOW);
    HANDLER_REFUSED(start, (enum weir_start)2, "start is 2, must be from 0 to 1");
    HANDLER_ACCEPTED(permits, 512);
    HANDLER_REFUSED(permits, 513, "permits is 513, must be from 0 to 512");
    HANDLER_ACCEPTED(budget_ns, MS(1));
    HANDLER_ACCEPTED(budget_ns, WEIR_HOURS(2));
    HANDLER_REFUSED(budget_ns, -1, "budget_ns is -1 ns, must be from 1 ms to 366 d");
    HANDLER_REFUSED(lease.duration_ns, 0,
                    "lease.duration_ns is 0, must be from 100 ms to 1 h");
    HANDLER_REFUSED(tuning, &bad, "lane: batch is 0, must be from 1 to 10000");
}
