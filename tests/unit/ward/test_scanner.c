/*
 * test_scanner.c - stopping and destroying a scanner, in virtual time. Registering is in
 * test_scanner_add.c, what a scan does in between in test_scan.c.
 */
#include <string.h>

#include "kit/alloc_failures.h"
#include "unit/ward/probe.h"

/* Longer than any tick here that is to be waited for. */
#define LONG_GRACE WEIR_HOURS(1)

/* ---- stopping ---------------------------------------------------------------------- */

/* S5. */
WEIR_TEST(scanner, stops_at_once_when_idle)
{
    struct scan_fixture scan_fixture;
    struct probe a = {.name = "a"};
    struct probe b = {.name = "b", .partition_count = 16};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(2500), &a, &b);

    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_MILLISECONDS(2500));
    check_int(scan_fixture_read(&scan_fixture).state, WEIR_SCAN_ENDED);
    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(1));
    check_int(a.count, 3);
    check_int(b.count, 48);
    scan_fixture_close(&scan_fixture);
}

/* S6. It returns as soon as the last tick does, not when the grace is over. */
WEIR_TEST(scanner, waits_for_running_ticks_within_the_grace)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(1), &probe);

    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(4));
    check_int(probe.done, 1);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_INFO,
                                 "scanner.stopped scanner=engine unfinished=0"),
              1);
    scan_fixture_close(&scan_fixture);
}

/* S6. Three of five do not come back: three is the number. */
WEIR_TEST(scanner, counts_exactly_the_scans_that_outlast_the_grace)
{
    struct scan_fixture scan_fixture;
    struct probe probes[5] = {
        {.name = "a", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(1)},
        {.name = "b", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(9)},
        {.name = "c", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(2)},
        {.name = "d"},
        {.name = "e", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(3)},
    };
    struct weir_scan_info infos[5];

    scan_fixture_open(&scan_fixture);
    for (size_t i = 0; i < 5; i++)
        scan_fixture_add(&scan_fixture, &probes[i]);
    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, 0);

    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(15)), 3);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(15));
    check_int(weir_scanner_read(scan_fixture.scanner, infos, 5), 5);
    for (size_t i = 0; i < 5; i++)
        check_int(infos[i].state, i % 2 == 0 ? WEIR_SCAN_TICKING : WEIR_SCAN_ENDED);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING,
                                 "scanner.stopped scanner=engine unfinished=3"),
              1);
    scan_fixture_close(&scan_fixture);
}

/* S6. What the reference does by force is done here by asking. */
WEIR_TEST(scanner, ends_a_tick_that_listens_at_once)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a",
                          .partition_count = 2,
                          .behave = probe_listens,
                          .duration_ns = WEIR_HOURS(1)};
    struct weir_scan_info info;

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);
    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(90)); /* in the second partition */

    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(15)), 0);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_MINUTES(90));
    check_int(probe.done, 2);
    info = scan_fixture_read(&scan_fixture);
    check_int(info.ticks, 2);
    check_int(info.ticks_failed, 0); /* to give up when asked is no failure ... */
    check_int(info.cycles, 0);       /* ... but no complete cycle either */
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING, ""), 0);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(pretend_to_be_cancelled)
{
    return WEIR_CANCELLED;
}

/* Nobody cancelled it: then it is an error like any other, and the scan goes on. */
WEIR_TEST(scanner, does_not_take_a_tick_s_word_that_it_is_cancelled)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = pretend_to_be_cancelled};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(1), &probe);

    check_int(probe.count, 2);
    check_int(scan_fixture_read(&scan_fixture).ticks_failed, 2);
    scan_fixture_close(&scan_fixture);
}

/* S7. */
WEIR_TEST(scanner, stops_twice_without_harm)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};

    scan_fixture_run(&scan_fixture, 0, &probe);
    check_int(weir_scanner_stop(scan_fixture.scanner, LONG_GRACE), 0);

    check_int(weir_scanner_stop(scan_fixture.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(4));
    scan_fixture_close(&scan_fixture);
}

/* S7. The second stop waits for what the first one left behind. */
WEIR_TEST(scanner, stops_again_for_what_is_unfinished)
{
    struct scan_fixture scan_fixture;
    struct probe a = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(10)};
    struct probe b = {
        .name = "b", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(20)};

    scan_fixture_run(&scan_fixture, 0, &a, &b);

    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(5)), 2);
    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(10)), 1);
    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(10)), 0);
    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(20));
    scan_fixture_close(&scan_fixture);
}

/* S8. Nothing is waited for, and no time passes. */
WEIR_TEST(scanner, counts_at_once_without_a_grace)
{
    struct scan_fixture scan_fixture;
    struct probe busy = {
        .name = "busy", .behave = probe_takes_time, .duration_ns = WEIR_SECONDS(4)};
    struct probe idle = {.name = "idle"};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &busy, &idle);

    check_int(weir_scanner_stop(scan_fixture.scanner, 0), 1);
    check_int(weir_scanner_stop(scan_fixture.scanner, -WEIR_SECONDS(1)), 1);
    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(2));

    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(1));
    check_int(busy.count, 1);
    check_int(weir_scanner_stop(scan_fixture.scanner, 0), 0);
    scan_fixture_close(&scan_fixture);
}

/* S9. Stopped in partition 3 of 8: that one is finished, 4 to 7 are not visited. */
WEIR_TEST(scanner, visits_no_partition_after_a_stop)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a",
                          .interval_ns = WEIR_MINUTES(1),
                          .partition_count = 8,
                          .behave = probe_takes_time,
                          .duration_ns = WEIR_SECONDS(1)};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(3500), &probe);

    check_int(weir_scanner_stop(scan_fixture.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(scan_fixture.sim), WEIR_SECONDS(4));
    check_int(probe.count, 4);
    check_int(probe.done, 4);
    check_int(probe.ticks[3].partition, 3);
    check_int(scan_fixture_read(&scan_fixture).cycles, 0);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(stop_from_inside)
{
    struct probe *self = state;

    out->processed = weir_scanner_stop(self->extra, WEIR_SECONDS(15));
    return WEIR_OK;
}

WEIR_TEST(scanner, counts_the_tick_that_stops_it)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .partition_count = 4, .behave = stop_from_inside};
    struct probe other = {.name = "b"};

    scan_fixture_open(&scan_fixture);
    probe.extra = scan_fixture.scanner;
    scan_fixture_add(&scan_fixture, &probe);
    scan_fixture_add(&scan_fixture, &other);
    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(1));

    check_int(probe.count, 1);
    check(other.count <= 1);
    check_int(scan_fixture_read(&scan_fixture).processed, 1);
    check_int(weir_scanner_stop(scan_fixture.scanner, 0), 0);
    scan_fixture_close(&scan_fixture);
}

/* S14. All are registered before start() returns, so none of them comes later. */
WEIR_TEST(scanner, leaves_nothing_running_when_stopped_right_after_start)
{
    struct scan_fixture scan_fixture;
    struct probe a = {.name = "a"};
    struct probe b = {.name = "b", .partition_count = 16};

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &a);
    scan_fixture_add(&scan_fixture, &b);
    scan_fixture_start(&scan_fixture);

    check_int(weir_scanner_stop(scan_fixture.scanner, LONG_GRACE), 0);

    check_int(weir_sim_now(scan_fixture.sim), 0);
    scan_fixture_run_until(&scan_fixture, WEIR_HOURS(1));
    check_int(a.count + b.count, 0);
    scan_fixture_close(&scan_fixture);
}

/* ---- destroying -------------------------------------------------------------------- */

WEIR_TEST(scanner, destroys_null)
{
    weir_scanner_destroy(NULL);
}

WEIR_TEST(scanner, is_destroyed_without_having_been_started)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);

    scan_fixture_close(&scan_fixture);
}

/* S13. As stop(0): nothing ticks any more. */
WEIR_TEST(scanner, is_destroyed_without_a_stop)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &probe);

    weir_scanner_destroy(scan_fixture.scanner);
    scan_fixture.scanner = NULL;

    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(1));
    check_int(probe.count, 3);
    scan_fixture_close(&scan_fixture);
}

/* Uses all that a tick may use, long after the scanner was destroyed. */
static PROBE_BEHAVIOUR(outlive_the_scanner)
{
    struct probe *self = state;

    weir_sleep_through(context, self->duration_ns);
    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++)
        weir_failures_note_failure(tick->failures, tick->scan, strlen(tick->scan));
    out->processed = 1;
    return weir_error_set(error, WEIR_FAILED, "too late");
}

/* S13. Memory that the unfinished scans still use stays until the last of them has
 * ended. */
WEIR_TEST(scanner, outlives_its_destruction_until_the_last_tick_returns)
{
    struct scan_fixture scan_fixture;
    struct probe a = {
        .name = "a", .behave = outlive_the_scanner, .duration_ns = WEIR_HOURS(1)};
    struct probe b = {.name = "b",
                      .partition_count = 4,
                      .behave = outlive_the_scanner,
                      .duration_ns = WEIR_HOURS(2)};
    struct probe idle = {.name = "idle"};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(1), &a, &b, &idle);
    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_SECONDS(1)), 2);

    weir_scanner_destroy(scan_fixture.scanner);
    scan_fixture.scanner = NULL;

    scan_fixture_run_until(&scan_fixture, WEIR_HOURS(3));
    check_int(a.done, 1);
    check_int(b.done, 1);
    check_int(b.count, 1);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING,
                                 "text=\"too late\""),
              2);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_ERROR,
                                 "scanner.item_skipped"),
              2);
    scan_fixture_close(&scan_fixture); /* nothing is left */
}

static PROBE_BEHAVIOUR(fail_an_item)
{
    weir_failures_note_failure(tick->failures, "item", 4);
    out->errors = 1;
    return WEIR_OK;
}

/* Only create() and add() may fail; whatever is missing later is done without. */
static enum weir_status live_a_whole_life(const struct weir_heap *heap)
{
    struct weir_scanner_options options;
    struct weir_sim_options sim_options = {.heap = heap, .seed = 1};
    struct weir_sim *sim = NULL;
    struct weir_scanner *scanner = NULL;
    struct probe probes[2] = {
        {.name = "a"}, {.name = "b", .partition_count = 3, .behave = fail_an_item}};
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
    weir_sim_run_until(sim, WEIR_SECONDS(2));

out:
    weir_scanner_destroy(scanner);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(scanner, survives_any_failing_allocation)
{
    check_alloc_failures(live_a_whole_life);
}
