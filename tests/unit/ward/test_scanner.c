/*
 * test_scanner.c - registering, starting, stopping and destroying scans in virtual time, and
 * some of it again on threads. What a scan does in between is in test_scan.c.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/sweep.h"
#include "unit/ward/probe.h"

/* Returns once the cancelled ticks have come back. */
static const int64_t LONG_GRACE = WEIR_HOURS(1);

/* ---- registering ------------------------------------------------------------------------- */

WEIR_TEST(scanner, starts_without_scans)
{
    struct world world;

    world_open(&world);
    world_start(&world);

    check_int(weir_scanner_read(world.scanner, NULL, 0), 0);
    check_int(weir_scanner_stop(world.scanner, LONG_GRACE), 0);
    world_close(&world);
}

/* Rule 1: one line, with the number of scans and the number of partitions. */
WEIR_TEST(scanner, logs_how_much_it_starts)
{
    struct world world;
    struct probe flows = {.name = "flows", .partition_count = 256};
    struct probe budgets = {.name = "budgets", .partition_count = 32};
    struct probe global = {.name = "global"};

    world_open(&world);
    world_add(&world, &flows);
    world_add(&world, &budgets);
    world_add(&world, &global);
    world_start(&world);

    check_int(journal_count(&world.journal, WEIR_LOG_INFO,
                            "scanner.started scanner=engine scans=3 partitions=288"),
              1);
    world_close(&world);
}

/* Add a scan that is refused; the text has to contain all three phrases. */
static void check_refused(struct world *world, const struct weir_scan_options *options,
                          const char *phrase)
{
    struct weir_error error;
    size_t count = weir_scanner_read(world->scanner, NULL, 0);
    int64_t outstanding = world->heap.outstanding;

    check_status(weir_scanner_add(world->scanner, options, &error), WEIR_INVALID);

    check_status(error.status, WEIR_INVALID);
    if (strstr(error.text, phrase) == NULL)
        check_str(error.text, phrase);
    check_int(weir_scanner_read(world->scanner, NULL, 0), count);
    check_int(world->heap.outstanding, outstanding);
}

WEIR_TEST(scanner, refuses_intervals_out_of_range)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);
    static const char LIMITS[] = ", must be 100000000 to 31622400000000000";
    char phrase[128];

    world_open(&world);
    for (size_t i = 0; i < 4; i++) {
        options.interval_ns =
            (int64_t[]){0, -1, WEIR_SCAN_INTERVAL_MIN - 1, WEIR_DURATION_MAX + 1}[i];
        snprintf(phrase, sizeof phrase, "interval_ns is %lld%s",
                 (long long)options.interval_ns, LIMITS);
        check_refused(&world, &options, phrase);
    }

    options.interval_ns = WEIR_SCAN_INTERVAL_MIN;
    check_status(weir_scanner_add(world.scanner, &options, NULL), WEIR_OK);
    options.name = "b";
    options.interval_ns = WEIR_DURATION_MAX;
    check_status(weir_scanner_add(world.scanner, &options, NULL), WEIR_OK);
    world_close(&world);
}

WEIR_TEST(scanner, refuses_partition_counts_out_of_range)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);

    world_open(&world);
    options.scope = WEIR_SCAN_PARTITIONED;
    options.partition_count = 0;
    check_refused(&world, &options, "partition_count is 0, must be 1 to 65536");
    options.partition_count = 65537;
    check_refused(&world, &options, "partition_count is 65537, must be 1 to 65536");
    options.scope = WEIR_SCAN_GLOBAL;
    options.partition_count = 7;
    check_refused(&world, &options, "partition_count is 7, must be 0 in a global scan");
    options.scope = (enum weir_scan_scope)9;
    check_refused(&world, &options, "scope is 9, must be 0 or 1");

    options.scope = WEIR_SCAN_PARTITIONED;
    options.partition_count = 65536;
    check_status(weir_scanner_add(world.scanner, &options, NULL), WEIR_OK);
    world_close(&world);
}

WEIR_TEST(scanner, refuses_scan_names_out_of_range)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);
    char name[WEIR_WORKER_NAME_SIZE_MAX + 2];

    world_open(&world);
    options.name = NULL;
    check_refused(&world, &options, "name");
    options.name = "";
    check_refused(&world, &options, "name");
    options.name = "with space";
    check_refused(&world, &options, "name has byte 0x20 at 4");
    options.name = "n\xc3\xa4me";
    check_refused(&world, &options, "name has byte 0xc3 at 1");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    options.name = name;
    check_refused(&world, &options, "255");

    name[sizeof name - 2] = '\0'; /* the longest there may be */
    check_status(weir_scanner_add(world.scanner, &options, NULL), WEIR_OK);
    check_str(world_read(&world).name, name);
    world_close(&world);
}

WEIR_TEST(scanner, refuses_a_scan_without_a_tick)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);

    world_open(&world);
    options.tick = NULL;

    check_refused(&world, &options, "tick is NULL, must be a function");
    world_close(&world);
}

WEIR_TEST(scanner, refuses_a_name_that_is_taken)
{
    struct world world;
    struct probe probe = {.name = "leases"};
    struct weir_scan_options options = probe_options(&probe);
    struct weir_error error;

    world_open(&world);
    world_add(&world, &probe);

    check_status(weir_scanner_add(world.scanner, &options, &error), WEIR_EXISTS);
    check_str(error.text, "add scan to scanner \"engine\": name \"leases\" is taken");
    check_int(weir_scanner_read(world.scanner, NULL, 0), 1);
    world_close(&world);
}

WEIR_TEST(scanner, holds_256_scans_and_no_more)
{
    struct world world;
    static struct probe probes[WEIR_SCANNER_SCANS_MAX]; /* too large for the stack */
    static char names[WEIR_SCANNER_SCANS_MAX][16];
    struct probe surplus = {.name = "surplus"};
    struct weir_scan_options options = probe_options(&surplus);

    world_open(&world);
    for (int i = 0; i < WEIR_SCANNER_SCANS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        probes[i].name = names[i];
        world_add(&world, &probes[i]);
    }
    check_refused(&world, &options, "it has 256 scans, may have up to 256");

    world_start(&world);
    world_run_until(&world, 0);
    for (int i = 0; i < WEIR_SCANNER_SCANS_MAX; i++)
        check_int(probes[i].count, 1);
    world_close(&world);
}

static void check_name_refused(struct world *world, const char *name)
{
    struct weir_scanner_options options;
    struct weir_scanner *scanner = world->scanner; /* anything but NULL */
    struct weir_error error;

    weir_scanner_options_init(&options);
    options.name = name;
    check_status(
        weir_scanner_create(weir_sim_executor(world->sim), &options, &scanner, &error),
        WEIR_INVALID);
    check(strstr(error.text, "name") != NULL);
    check(scanner == NULL);
}

WEIR_TEST(scanner, refuses_a_name_of_its_own_out_of_range)
{
    struct world world;
    char name[WEIR_WORKER_NAME_SIZE_MAX + 2];

    world_open(&world);
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';

    check_name_refused(&world, NULL);
    check_name_refused(&world, "");
    check_name_refused(&world, "with space");
    check_name_refused(&world, name);
    world_close(&world);
}

WEIR_TEST(scanner, takes_no_scans_once_it_was_started)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);
    struct weir_error error;

    world_open(&world);
    world_start(&world);

    check_status(weir_scanner_add(world.scanner, &options, &error), WEIR_CLOSED);
    check_str(error.text,
              "add scan to scanner \"engine\": it was started or stopped before");
    check_int(weir_scanner_read(world.scanner, NULL, 0), 0);
    world_close(&world);
}

WEIR_TEST(scanner, starts_only_once)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct weir_error error;

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);

    check_status(weir_scanner_start(world.scanner, &error), WEIR_CLOSED);
    check_str(error.text, "start scanner \"engine\": it was started or stopped before");
    world_run_until(&world, 0);
    check_int(probe.count, 1);
    world_close(&world);
}

WEIR_TEST(scanner, does_nothing_more_once_it_was_stopped)
{
    struct world world;
    struct probe probe = {.name = "a"};
    struct probe late = {.name = "late"};
    struct weir_scan_options options = probe_options(&late);

    world_open(&world);
    world_add(&world, &probe);
    check_int(weir_scanner_stop(world.scanner, 0), 0);

    check_status(weir_scanner_add(world.scanner, &options, NULL), WEIR_CLOSED);
    check_status(weir_scanner_start(world.scanner, NULL), WEIR_CLOSED);
    world_run_until(&world, WEIR_MINUTES(1));
    check_int(probe.count, 0);
    check_int(world_read(&world).state, WEIR_SCAN_ENDED);
    world_close(&world);
}

/* ---- stopping ---------------------------------------------------------------------------- */

/* S5. */
WEIR_TEST(scanner, stops_at_once_when_idle)
{
    struct world world;
    struct probe a = {.name = "a"};
    struct probe b = {.name = "b", .partition_count = 16};

    world_open(&world);
    world_add(&world, &a);
    world_add(&world, &b);
    world_start(&world);
    world_run_until(&world, WEIR_MILLISECONDS(2500));

    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(world.sim), WEIR_MILLISECONDS(2500));
    check_int(world_read(&world).state, WEIR_SCAN_ENDED);
    world_run_until(&world, WEIR_MINUTES(1));
    check_int(a.count, 3);
    check_int(b.count, 48);
    world_close(&world);
}

/* S6. It returns as soon as the last tick does, not when the grace is over. */
WEIR_TEST(scanner, waits_for_running_ticks_within_the_grace)
{
    struct world world;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, WEIR_SECONDS(1));

    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(world.sim), WEIR_SECONDS(4));
    check_int(probe.done, 1);
    check_int(journal_count(&world.journal, WEIR_LOG_INFO,
                            "scanner.stopped scanner=engine unfinished=0"),
              1);
    world_close(&world);
}

/* S6. Three of five do not come back: three is the number. */
WEIR_TEST(scanner, counts_exactly_the_scans_that_outlast_the_grace)
{
    struct world world;
    struct probe probes[5] = {
        {.name = "a", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(1)},
        {.name = "b", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(9)},
        {.name = "c", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(2)},
        {.name = "d"},
        {.name = "e", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(3)},
    };
    struct weir_scan_info infos[5];

    world_open(&world);
    for (size_t i = 0; i < 5; i++)
        world_add(&world, &probes[i]);
    world_start(&world);
    world_run_until(&world, 0);

    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(15)), 3);

    check_int(weir_sim_now(world.sim), WEIR_SECONDS(15));
    check_int(weir_scanner_read(world.scanner, infos, 5), 5);
    for (size_t i = 0; i < 5; i++)
        check_int(infos[i].state, i % 2 == 0 ? WEIR_SCAN_TICKING : WEIR_SCAN_ENDED);
    check_int(journal_count(&world.journal, WEIR_LOG_WARNING,
                            "scanner.stopped scanner=engine unfinished=3"),
              1);
    world_close(&world);
}

/* S6. What the reference does by force is done here by asking. */
WEIR_TEST(scanner, ends_a_tick_that_listens_at_once)
{
    struct world world;
    struct probe probe = {.name = "a",
                          .partition_count = 2,
                          .behave = probe_listens,
                          .duration_ns = WEIR_HOURS(1)};
    struct weir_scan_info info;

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, WEIR_MINUTES(90)); /* in the second partition */

    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(world.sim), WEIR_MINUTES(90));
    check_int(probe.done, 2);
    info = world_read(&world);
    check_int(info.ticks, 2);
    check_int(info.ticks_failed, 0); /* to give up when asked is no failure ... */
    check_int(info.cycles, 0);       /* ... but no complete cycle either */
    check_int(journal_count(&world.journal, WEIR_LOG_WARNING, ""), 0);
    world_close(&world);
}

static enum weir_status pretend_to_be_cancelled(struct weir_context *context, void *state,
                                                const struct weir_scan_tick *tick,
                                                struct weir_scan_report *out,
                                                struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)tick;
    (void)out;
    (void)error;
    return WEIR_CANCELLED;
}

/* Nobody cancelled it: then it is an error like any other, and the scan goes on. */
WEIR_TEST(scanner, does_not_take_a_tick_s_word_that_it_is_cancelled)
{
    struct world world;
    struct probe probe = {.name = "a", .behave = pretend_to_be_cancelled};

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, WEIR_SECONDS(1));

    check_int(probe.count, 2);
    check_int(world_read(&world).ticks_failed, 2);
    world_close(&world);
}

/* S7. */
WEIR_TEST(scanner, stops_twice_without_harm)
{
    struct world world;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, 0);
    check_int(weir_scanner_stop(world.scanner, LONG_GRACE), 0);

    check_int(weir_scanner_stop(world.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(world.sim), WEIR_SECONDS(4));
    world_close(&world);
}

/* S7. The second stop waits for what the first one left behind. */
WEIR_TEST(scanner, stops_again_for_what_is_unfinished)
{
    struct world world;
    struct probe a = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(10)};
    struct probe b = {
        .name = "b", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(20)};

    world_open(&world);
    world_add(&world, &a);
    world_add(&world, &b);
    world_start(&world);
    world_run_until(&world, 0);

    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(5)), 2);
    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(10)), 1);
    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(10)), 0);
    check_int(weir_sim_now(world.sim), WEIR_SECONDS(20));
    world_close(&world);
}

/* S8. Nothing is waited for, and no time passes. */
WEIR_TEST(scanner, counts_at_once_without_a_grace)
{
    struct world world;
    struct probe busy = {
        .name = "busy", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};
    struct probe idle = {.name = "idle"};

    world_open(&world);
    world_add(&world, &busy);
    world_add(&world, &idle);
    world_start(&world);
    world_run_until(&world, WEIR_SECONDS(2));

    check_int(weir_scanner_stop(world.scanner, 0), 1);
    check_int(weir_scanner_stop(world.scanner, -WEIR_SECONDS(1)), 1);
    check_int(weir_sim_now(world.sim), WEIR_SECONDS(2));

    world_run_until(&world, WEIR_MINUTES(1));
    check_int(busy.count, 1);
    check_int(weir_scanner_stop(world.scanner, 0), 0);
    world_close(&world);
}

/* S9. Stopped in partition 3 of 8: that one is finished, 4 to 7 are not visited. */
WEIR_TEST(scanner, visits_no_partition_after_a_stop)
{
    struct world world;
    struct probe probe = {.name = "a",
                          .interval_ns = WEIR_MINUTES(1),
                          .partition_count = 8,
                          .behave = probe_takes_time,
                          .duration_ns = WEIR_SECONDS(1)};

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, WEIR_MILLISECONDS(3500));

    check_int(weir_scanner_stop(world.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(world.sim), WEIR_SECONDS(4));
    check_int(probe.count, 4);
    check_int(probe.done, 4);
    check_int(probe.ticks[3].partition, 3);
    check_int(world_read(&world).cycles, 0);
    world_close(&world);
}

static enum weir_status stop_from_inside(struct weir_context *context, void *state,
                                         const struct weir_scan_tick *tick,
                                         struct weir_scan_report *out,
                                         struct weir_error *error)
{
    struct probe *self = state;

    (void)context;
    (void)tick;
    (void)error;
    out->processed = weir_scanner_stop(self->extra, WEIR_SECONDS(15));
    return WEIR_OK;
}

WEIR_TEST(scanner, counts_the_tick_that_stops_it)
{
    struct world world;
    struct probe probe = {.name = "a", .partition_count = 4, .behave = stop_from_inside};
    struct probe other = {.name = "b"};

    world_open(&world);
    probe.extra = world.scanner;
    world_add(&world, &probe);
    world_add(&world, &other);
    world_start(&world);
    world_run_until(&world, WEIR_MINUTES(1));

    check_int(probe.count, 1);
    check(other.count <= 1);
    check_int(world_read(&world).processed, 1);
    check_int(weir_scanner_stop(world.scanner, 0), 0);
    world_close(&world);
}

/* S14. All are registered before start() returns, so none of them comes later. */
WEIR_TEST(scanner, leaves_nothing_running_when_stopped_right_after_start)
{
    struct world world;
    struct probe a = {.name = "a"};
    struct probe b = {.name = "b", .partition_count = 16};

    world_open(&world);
    world_add(&world, &a);
    world_add(&world, &b);
    world_start(&world);

    check_int(weir_scanner_stop(world.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(world.sim), 0);
    world_run_until(&world, WEIR_HOURS(1));
    check_int(a.count + b.count, 0);
    world_close(&world);
}

/* ---- destroying -------------------------------------------------------------------------- */

WEIR_TEST(scanner, destroys_null)
{
    weir_scanner_destroy(NULL);
}

WEIR_TEST(scanner, is_destroyed_without_having_been_started)
{
    struct world world;
    struct probe probe = {.name = "a"};

    world_open(&world);
    world_add(&world, &probe);

    world_close(&world);
}

/* S13. As stop(0): nothing ticks any more. */
WEIR_TEST(scanner, is_destroyed_without_a_stop)
{
    struct world world;
    struct probe probe = {.name = "a"};

    world_open(&world);
    world_add(&world, &probe);
    world_start(&world);
    world_run_until(&world, WEIR_SECONDS(2));

    weir_scanner_destroy(world.scanner);
    world.scanner = NULL;

    world_run_until(&world, WEIR_MINUTES(1));
    check_int(probe.count, 3);
    world_close(&world);
}

/* Uses all that a tick may use, long after the scanner was destroyed. */
static enum weir_status outlive_the_scanner(struct weir_context *context, void *state,
                                            const struct weir_scan_tick *tick,
                                            struct weir_scan_report *out,
                                            struct weir_error *error)
{
    struct probe *self = state;

    weir_sleep_through(context, self->duration_ns);
    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++)
        weir_failures_note_failure(tick->failures, tick->scan, strlen(tick->scan));
    out->processed = 1;
    return weir_error_set(error, WEIR_FAILED, "too late");
}

/* S13. Memory that the unfinished scans still use stays until the last of them has ended. */
WEIR_TEST(scanner, outlives_its_destruction_until_the_last_tick_returns)
{
    struct world world;
    struct probe a = {
        .name = "a", .behave = outlive_the_scanner, .duration_ns = WEIR_HOURS(1)};
    struct probe b = {.name = "b",
                      .partition_count = 4,
                      .behave = outlive_the_scanner,
                      .duration_ns = WEIR_HOURS(2)};
    struct probe idle = {.name = "idle"};

    world_open(&world);
    world_add(&world, &a);
    world_add(&world, &b);
    world_add(&world, &idle);
    world_start(&world);
    world_run_until(&world, WEIR_SECONDS(1));
    check_int(weir_scanner_stop(world.scanner, WEIR_SECONDS(1)), 2);

    weir_scanner_destroy(world.scanner);
    world.scanner = NULL;

    world_run_until(&world, WEIR_HOURS(3));
    check_int(a.done, 1);
    check_int(b.done, 1);
    check_int(b.count, 1);
    check_int(journal_count(&world.journal, WEIR_LOG_WARNING, "text=\"too late\""), 2);
    check_int(journal_count(&world.journal, WEIR_LOG_ERROR, "scanner.item_skipped"), 2);
    world_close(&world); /* nothing is left */
}

static enum weir_status live_a_whole_life(const struct weir_heap *heap)
{
    struct weir_scanner_options options;
    struct weir_sim_options sim_options = {.heap = heap, .seed = 1};
    struct weir_sim *sim = NULL;
    struct weir_scanner *scanner = NULL;
    struct probe probes[2] = {{.name = "a"}, {.name = "b", .partition_count = 3}};
    struct weir_scan_options scan;
    struct weir_error error;
    enum weir_status status;

    status = weir_sim_create(&sim_options, &sim, &error);
    if (status != WEIR_OK)
        goto out;
    weir_scanner_options_init(&options);
    options.name = "engine";
    options.heap = heap;
    status = weir_scanner_create(weir_sim_executor(sim), &options, &scanner, &error);
    for (size_t i = 0; i < 2 && status == WEIR_OK; i++) {
        scan = probe_options(&probes[i]);
        status = weir_scanner_add(scanner, &scan, &error);
        check_int(weir_scanner_read(scanner, NULL, 0), i + (status == WEIR_OK));
    }
    if (status != WEIR_OK)
        goto out;
    status = weir_scanner_start(scanner, &error);

out:
    weir_scanner_destroy(scanner);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(scanner, survives_any_failing_allocation)
{
    check_sweep(live_a_whole_life);
}

/* ---- on threads -------------------------------------------------------------------------- */

enum { THREADS = 4, CROWD = 6 };

/* A tick that another thread can watch, and hold. */
struct crowd_scan {
    char name[24];
    _Atomic int inside;
    _Atomic int overlaps; /* ticks that found another one of the same scan running */
    _Atomic int ticks;
    _Atomic bool *held; /* while it is true, ticks do not return */
    int64_t began_ns;
    int64_t gap_min_ns; /* smallest distance of two cycles so far */
};

static enum weir_status crowd_tick(struct weir_context *context, void *state,
                                   const struct weir_scan_tick *tick,
                                   struct weir_scan_report *out, struct weir_error *error)
{
    struct crowd_scan *self = state;
    int64_t now_ns = weir_context_now(context);

    (void)error;
    if (atomic_fetch_add(&self->inside, 1) != 0)
        atomic_fetch_add(&self->overlaps, 1);
    if (tick->partition == 0) {
        int64_t gap_ns = now_ns - self->began_ns;

        if (tick->cycle > 1 && (self->gap_min_ns == 0 || gap_ns < self->gap_min_ns))
            self->gap_min_ns = gap_ns;
        self->began_ns = now_ns;
    }
    atomic_fetch_add(&self->ticks, 1);
    while (self->held != NULL && atomic_load(self->held))
        sched_yield();
    out->processed = 1;
    atomic_fetch_sub(&self->inside, 1);
    return WEIR_OK;
}

struct crowd {
    struct weir_faulty_heap heap;
    struct weir_executor *executor;
    struct weir_scanner *scanner;
    struct crowd_scan scans[CROWD]; /* even ones are global, odd ones have 8 partitions */
};

static void crowd_open(struct crowd *self, _Atomic bool *held)
{
    struct weir_executor_options executor;
    struct weir_scanner_options options;
    struct weir_scan_options scan;

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    weir_executor_options_init(&executor);
    executor.heap = &self->heap.heap;
    executor.threads = THREADS;
    check_status(weir_executor_create(&executor, &self->executor, NULL), WEIR_OK);
    weir_scanner_options_init(&options);
    options.name = "crowd";
    options.heap = &self->heap.heap;
    check_status(weir_scanner_create(self->executor, &options, &self->scanner, NULL),
                 WEIR_OK);
    for (int i = 0; i < CROWD; i++) {
        snprintf(self->scans[i].name, sizeof self->scans[i].name, "scan-%d", i);
        self->scans[i].held = held;
        weir_scan_options_init(&scan);
        scan.name = self->scans[i].name;
        scan.interval_ns = WEIR_SCAN_INTERVAL_MIN;
        scan.scope = i % 2 == 0 ? WEIR_SCAN_GLOBAL : WEIR_SCAN_PARTITIONED;
        scan.partition_count = i % 2 == 0 ? 0 : 8;
        scan.tick = crowd_tick;
        scan.state = &self->scans[i];
        check_status(weir_scanner_add(self->scanner, &scan, NULL), WEIR_OK);
    }
}

static void short_nap(void)
{
    struct timespec nap = {.tv_nsec = 1000000};

    nanosleep(&nap, NULL);
}

/* Wait for the state, not for a time; the limit is only there so that a failure ends. */
static void wait_for_ticks(struct crowd *self, int ticks)
{
    for (int i = 0; i < CROWD; i++) {
        for (int nap = 0; atomic_load(&self->scans[i].ticks) < ticks; nap++) {
            check(nap < 60000);
            short_nap();
        }
    }
}

static int crowd_total(struct crowd *self)
{
    int total = 0;

    for (int i = 0; i < CROWD; i++)
        total += atomic_load(&self->scans[i].ticks);
    return total;
}

/* The threads give their memory back a moment after they were let go. */
static void crowd_close(struct crowd *self)
{
    weir_scanner_destroy(self->scanner);
    weir_executor_destroy(self->executor);
    for (int nap = 0; self->heap.outstanding != 0; nap++) {
        check(nap < 60000);
        short_nap();
    }
}

/* S1, S2: all begin, none runs twice at once, none begins a cycle early. */
WEIR_TEST(scanner_on_threads, runs_all_scans_each_at_its_interval)
{
    static struct crowd crowd;
    struct weir_scan_info infos[CROWD];

    crowd_open(&crowd, NULL);
    check_status(weir_scanner_start(crowd.scanner, NULL), WEIR_OK);
    wait_for_ticks(&crowd, 4);
    check_int(weir_scanner_stop(crowd.scanner, LONG_GRACE), 0);

    check_int(weir_scanner_read(crowd.scanner, infos, CROWD), CROWD);
    for (int i = 0; i < CROWD; i++) {
        check_int(crowd.scans[i].overlaps, 0);
        if (infos[i].cycles > 1)
            check(crowd.scans[i].gap_min_ns >= WEIR_SCAN_INTERVAL_MIN);
        check_int(infos[i].state, WEIR_SCAN_ENDED);
        check_int(infos[i].ticks, crowd.scans[i].ticks);
        check_int(infos[i].processed, crowd.scans[i].ticks);
    }
    crowd_close(&crowd);
}

/* S14: whatever began has ended, and nothing begins after stop() returned. */
WEIR_TEST(scanner_on_threads, leave_nothing_running_when_stopped_right_after_start)
{
    static struct crowd crowd;

    for (int round = 0; round < 200; round++) {
        int ticks;

        crowd_open(&crowd, NULL);
        check_status(weir_scanner_start(crowd.scanner, NULL), WEIR_OK);
        check_int(weir_scanner_stop(crowd.scanner, LONG_GRACE), 0);
        ticks = crowd_total(&crowd);
        for (int i = 0; i < CROWD; i++)
            check_int(crowd.scans[i].inside, 0);
        crowd_close(&crowd);
        check_int(crowd_total(&crowd), ticks);
    }
}

/* S6, S7: as many as there are threads hang, the others never got one and end at once. */
WEIR_TEST(scanner_on_threads, counts_exactly_the_ticks_that_hang)
{
    static struct crowd crowd;
    _Atomic bool held = true;

    crowd_open(&crowd, &held);
    check_status(weir_scanner_start(crowd.scanner, NULL), WEIR_OK);
    while (crowd_total(&crowd) < THREADS)
        short_nap();

    check_int(weir_scanner_stop(crowd.scanner, WEIR_MILLISECONDS(20)), THREADS);
    atomic_store(&held, false);
    check_int(weir_scanner_stop(crowd.scanner, LONG_GRACE), 0);
    check_int(crowd_total(&crowd), THREADS);
    crowd_close(&crowd);
}

/* S13: even the executor is gone before the ticks come back. */
WEIR_TEST(scanner_on_threads, outlive_their_destruction)
{
    static struct crowd crowd;
    _Atomic bool held = true;

    crowd_open(&crowd, &held);
    check_status(weir_scanner_start(crowd.scanner, NULL), WEIR_OK);
    while (crowd_total(&crowd) < THREADS)
        short_nap();

    weir_scanner_destroy(crowd.scanner);
    weir_executor_destroy(crowd.executor);
    check(crowd.heap.outstanding > 0);
    atomic_store(&held, false);

    crowd.scanner = NULL;
    crowd.executor = NULL;
    crowd_close(&crowd); /* waits until all memory is back */
    check_int(crowd_total(&crowd), THREADS);
}

/* Figures can be read at any time: processed never goes back and never exceeds the ticks. */
WEIR_TEST(scanner_on_threads, show_their_figures_while_they_run)
{
    static struct crowd crowd;
    struct weir_scan_info infos[CROWD];
    uint64_t processed[CROWD] = {0};

    crowd_open(&crowd, NULL);
    check_status(weir_scanner_start(crowd.scanner, NULL), WEIR_OK);
    while (crowd_total(&crowd) < 2 * CROWD * 8) {
        check_int(weir_scanner_read(crowd.scanner, infos, CROWD), CROWD);
        for (int i = 0; i < CROWD; i++) {
            check(infos[i].processed >= processed[i]);
            check_int(infos[i].processed, infos[i].ticks);
            processed[i] = infos[i].processed;
        }
    }
    crowd_close(&crowd);
}
