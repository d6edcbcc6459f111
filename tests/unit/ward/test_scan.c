/*
 * test_scan.c - when a scan ticks, what it makes of errors, and what its figures say, in
 * virtual time. Starting and stopping is in test_scanner.c.
 */
#include <inttypes.h>
#include <string.h>

#include "unit/ward/probe.h"

static void check_times(const struct probe *probe, const int64_t *want_ns, size_t count)
{
    check_int(probe->count, count);
    for (size_t i = 0; i < count; i++)
        check_int(probe->ticks[i].at_ns, want_ns[i]);
}

/* ---- time -------------------------------------------------------------------------- */

/* S1. However long the interval. */
WEIR_TEST(scan, begins_its_first_cycle_at_once)
{
    struct scan_fixture scan_fixture;
    struct probe quick = {.name = "quick", .interval_ns = WEIR_MILLISECONDS(100)};
    struct probe slow = {.name = "slow", .interval_ns = WEIR_DURATION_MAX};
    struct probe parts = {.name = "parts", .partition_count = 4};

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &quick);
    scan_fixture_add(&scan_fixture, &slow);
    scan_fixture_add(&scan_fixture, &parts);
    scan_fixture_run_until(&scan_fixture, WEIR_SECONDS(5));
    check_int(quick.count + slow.count + parts.count, 0);

    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, WEIR_SECONDS(5));

    check_times(&quick, (int64_t[]){WEIR_SECONDS(5)}, 1);
    check_times(&slow, (int64_t[]){WEIR_SECONDS(5)}, 1);
    check_int(parts.count, 4);
    check_int(parts.ticks[3].at_ns, WEIR_SECONDS(5));
    scan_fixture_close(&scan_fixture);
}

/* From beginning to beginning: how long the tick takes does not matter. */
WEIR_TEST(scan, begins_a_cycle_every_interval)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_MILLISECONDS(700)};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(3), &probe);

    check_times(&probe, (int64_t[]){0, WEIR_SECONDS(1), WEIR_SECONDS(2), WEIR_SECONDS(3)},
                4);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, keeps_its_interval_for_a_day)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};

    scan_fixture_run(&scan_fixture, WEIR_HOURS(24), &probe);

    check_int(probe.count, 24 * 3600 + 1);
    scan_fixture_close(&scan_fixture);
}

/* The second cycle takes three and a half intervals. */
static PROBE_BEHAVIOUR(overrun_once)
{
    if (tick->cycle == 2)
        weir_sleep_through(context, WEIR_MILLISECONDS(3500));
    return WEIR_OK;
}

/* S2. One tick at once, and the schedule goes on from there. */
WEIR_TEST(scan, does_not_make_up_for_missed_cycles)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = overrun_once};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(7), &probe);

    check_times(&probe,
                (int64_t[]){0, WEIR_SECONDS(1), WEIR_MILLISECONDS(4500),
                            WEIR_MILLISECONDS(5500), WEIR_MILLISECONDS(6500)},
                5);
    scan_fixture_close(&scan_fixture);
}

/* S2. Always too slow: one after the other, without a pause and without a backlog. */
WEIR_TEST(scan, that_is_always_late_runs_back_to_back)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_MILLISECONDS(1500)};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(4), &probe);

    check_times(&probe, (int64_t[]){0, WEIR_MILLISECONDS(1500), WEIR_SECONDS(3)}, 3);
    check_int(probe.done, 2); /* never two at once */
    scan_fixture_close(&scan_fixture);
}

/* The cycle, not the tick, has the interval: 5 partitions of 300 ms are too much for 1
 * s. */
WEIR_TEST(scan, counts_the_interval_from_its_first_partition)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a",
                          .partition_count = 5,
                          .behave = probe_takes_time,
                          .duration_ns = WEIR_MILLISECONDS(300)};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(3), &probe);

    check_int(probe.count, 11);
    for (uint32_t i = 0; i < 11; i++) {
        check_int(probe.ticks[i].at_ns, WEIR_MILLISECONDS(300) * i);
        check_int(probe.ticks[i].partition, i % 5);
        check_int(probe.ticks[i].cycle, i / 5 + 1);
    }
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, does_not_wait_for_another_scan)
{
    struct scan_fixture scan_fixture;
    struct probe stuck = {
        .name = "stuck", .behave = probe_takes_time, .duration_ns = WEIR_HOURS(1)};
    struct probe other = {.name = "other"};

    scan_fixture_run(&scan_fixture, WEIR_MINUTES(1), &stuck, &other);

    check_int(stuck.count, 1);
    check_int(other.count, 61);
    scan_fixture_close(&scan_fixture);
}

/* ---- what is due, and who wakes ---------------------------------------------------- */

/* Partition 2 of a cycle knows of something 250 ms away, the others of what is later. */
static PROBE_BEHAVIOUR(know_what_is_due)
{
    if (tick->cycle == 1)
        out->next_ns = tick->partition == 2 ? WEIR_MILLISECONDS(250) : WEIR_SECONDS(40);
    return WEIR_OK;
}

WEIR_TEST(scan, begins_its_next_cycle_when_the_first_thing_is_due)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = know_what_is_due, .partition_count = 4};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(249), &probe);
    check_int(probe.count, 4);
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(250));
    check_int(probe.count, 8);
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(1249));

    check_int(probe.count, 8); /* nothing is known any more: an interval later */
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(1250));
    check_int(probe.count, 12);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(know_of_something_far_away)
{
    out->next_ns = WEIR_FOREVER;
    return WEIR_OK;
}

WEIR_TEST(scan, looks_every_interval_though_nothing_is_due_for_long)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = know_of_something_far_away};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &probe);

    check_times(&probe, (int64_t[]){0, WEIR_SECONDS(1), WEIR_SECONDS(2)}, 3);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(say_that_it_is_late)
{
    out->next_ns = -WEIR_SECONDS(1);
    return WEIR_OK;
}

WEIR_TEST(scan, that_believes_to_be_late_does_not_spin)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = say_that_it_is_late};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(100), &probe);

    check_int(probe.count, 101);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, begins_a_cycle_when_it_is_woken_and_counts_from_there)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct probe other = {.name = "b"};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(300), &probe, &other);
    weir_scanner_wake(scan_fixture.scanner, "a");
    weir_scanner_wake(scan_fixture.scanner, "a");
    weir_scanner_wake(scan_fixture.scanner, "nobody");
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(1300));

    check_times(&probe, (int64_t[]){0, WEIR_MILLISECONDS(300), WEIR_MILLISECONDS(1300)},
                3);
    check_times(&other, (int64_t[]){0, WEIR_SECONDS(1)}, 2);
    scan_fixture_close(&scan_fixture);
}

/* What was brought may have come too late for the tick that runs. */
WEIR_TEST(scan, that_is_woken_while_it_ticks_begins_another_cycle)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "a", .behave = probe_takes_time, .duration_ns = WEIR_MILLISECONDS(400)};

    scan_fixture_run(&scan_fixture, WEIR_MILLISECONDS(100), &probe);
    weir_scanner_wake(scan_fixture.scanner, "a");
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(1399));

    check_times(&probe, (int64_t[]){0, WEIR_MILLISECONDS(400)}, 2);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, is_not_woken_before_the_start_nor_after_the_stop)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);
    weir_scanner_wake(scan_fixture.scanner, "a");
    scan_fixture_run_until(&scan_fixture, WEIR_SECONDS(1));
    check_int(probe.count, 0);
    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, WEIR_MILLISECONDS(1500));
    check_int(weir_scanner_stop(scan_fixture.scanner, 0), 0);
    weir_scanner_wake(scan_fixture.scanner, "a");
    scan_fixture_run_until(&scan_fixture, WEIR_SECONDS(5));

    check_int(probe.count, 1);
    scan_fixture_close(&scan_fixture);
}

/* ---- partitions and filter --------------------------------------------------------- */

/* S10. Each its own number, strictly in order. */
WEIR_TEST(scan, walks_its_own_partitions_in_order)
{
    struct scan_fixture scan_fixture;
    struct probe flows = {.name = "flows", .partition_count = 256};
    struct probe budgets = {.name = "budgets", .partition_count = 32};
    struct probe global = {.name = "global"};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &flows, &budgets, &global);

    check_int(flows.count, 3 * 256);
    check_int(budgets.count, 3 * 32);
    check_int(global.count, 3);
    for (uint32_t i = 0; i < 3 * 256; i++)
        check_int(flows.ticks[i].partition, i % 256);
    for (uint32_t i = 0; i < 3 * 32; i++)
        check_int(budgets.ticks[i].partition, i % 32);
    check_int(global.ticks[2].partition, 0);
    scan_fixture_close(&scan_fixture);
}

/* S11. */
WEIR_TEST(scan, gets_the_filter_only_if_it_is_filtered)
{
    static const char FILTER[] = "namespace=tests";
    struct scan_fixture scan_fixture;
    struct probe filtered = {.name = "filtered", .filtered = true, .partition_count = 2};
    struct probe plain = {.name = "plain", .partition_count = 2};

    scan_fixture_open_filtered(&scan_fixture, FILTER);
    scan_fixture_add(&scan_fixture, &filtered);
    scan_fixture_add(&scan_fixture, &plain);
    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, WEIR_SECONDS(1));

    check_int(filtered.count, 4);
    check_int(plain.count, 4);
    for (size_t i = 0; i < 4; i++) {
        check(filtered.ticks[i].filter == FILTER);
        check(plain.ticks[i].filter == NULL);
    }
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(know_your_name)
{
    out->processed = strcmp(tick->scanner, "engine") == 0 && strcmp(tick->scan, "a") == 0;
    return WEIR_OK;
}

WEIR_TEST(scan, tells_its_ticks_who_they_are)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = know_your_name};

    scan_fixture_run(&scan_fixture, 0, &probe);

    check_int(scan_fixture_read(&scan_fixture).processed, 1);
    scan_fixture_close(&scan_fixture);
}

/* ---- errors ------------------------------------------------------------------------ */

static PROBE_BEHAVIOUR(fail_in_one_partition)
{
    struct probe *self = state;

    out->processed = 2;
    if (tick->partition != self->bad_partition)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FAILED, "relation is missing");
}

/* S3. Neither the partitions after it nor the next cycle notice. */
WEIR_TEST(scan, goes_on_after_a_bad_partition)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "leases",
                          .partition_count = 4,
                          .behave = fail_in_one_partition,
                          .bad_partition = 1};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(1), &probe);

    check_int(probe.count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        check_int(probe.ticks[i].partition, i % 4);
        check_int(probe.ticks[i].at_ns, WEIR_SECONDS(i / 4));
    }
    check_int(
        captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING,
                           "scanner.tick_failed scanner=engine scan=leases partition=1 "
                           "text=\"relation is missing\""),
        2);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING, ""), 2);
    info = scan_fixture_read(&scan_fixture);
    check_int(info.ticks_failed, 2);
    check_int(info.processed, 16); /* what a failed tick has done counts as well */
    scan_fixture_close(&scan_fixture);
}

/* S4. */
WEIR_TEST(scan, logs_the_error_of_a_global_tick_and_lives)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "groups", .behave = probe_fails};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &probe);

    check_times(&probe, (int64_t[]){0, WEIR_SECONDS(1), WEIR_SECONDS(2)}, 3);
    check_int(
        captured_log_count(
            &scan_fixture.captured_log, WEIR_LOG_WARNING,
            "scanner.tick_failed scanner=engine scan=groups text=\"no such table\""),
        3);
    scan_fixture_close(&scan_fixture);
}

/* S4. No backoff either: after a hundred thousand failures it still keeps its
 * interval. */
WEIR_TEST(scan, never_backs_off)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = probe_fails};

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(100000), &probe);

    check_int(probe.count, 100001);
    check_int(scan_fixture_read(&scan_fixture).ticks_failed, 100001);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(fail_without_words)
{
    return WEIR_TIMEOUT;
}

WEIR_TEST(scan, finds_words_for_an_error_without_text)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = fail_without_words};

    scan_fixture_run(&scan_fixture, 0, &probe);

    check_str(scan_fixture_read(&scan_fixture).last_error, "timed out");
    scan_fixture_close(&scan_fixture);
}

static void note_cleanup(void *argument, bool panicked)
{
    int *cleanups = argument;

    if (panicked)
        (*cleanups)++;
}

static PROBE_BEHAVIOUR(panic_in_one_partition)
{
    struct probe *self = state;

    out->processed = 1;
    if (tick->partition == self->bad_partition) {
        enum weir_status status = weir_defer(context, note_cleanup, self->extra);

        if (status != WEIR_OK)
            return status;
        weir_panic(context, "row %d is odd", 7);
    }
    return WEIR_OK;
}

/* A panic is an error of its partition, and its clean-ups have run. */
WEIR_TEST(scan, goes_on_after_a_panicking_partition)
{
    int cleanups = 0;
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "leases",
                          .partition_count = 3,
                          .behave = panic_in_one_partition,
                          .bad_partition = 1,
                          .extra = &cleanups};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(1), &probe);

    check_int(probe.count, 6);
    check_int(probe.ticks[5].partition, 2);
    check_int(probe.ticks[5].at_ns, WEIR_SECONDS(1));
    check_int(cleanups, 2);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_WARNING,
                                 "scan=leases partition=1 text=\"panic: row 7 is odd\""),
              2);
    info = scan_fixture_read(&scan_fixture);
    check_int(info.cycles, 2);
    check_int(info.panics, 2);
    check_int(info.ticks_failed, 2);
    check_int(info.processed, 6);
    check_str(info.last_error, "panic: row 7 is odd");
    scan_fixture_close(&scan_fixture);
}

/* One execution may have 64 MiB; here each of the hundred partitions takes one. */
static PROBE_BEHAVIOUR(take_a_mebibyte)
{
    if (weir_context_alloc(context, (size_t)1024 * 1024) == NULL)
        return WEIR_NO_MEMORY;
    out->processed = 1;
    return WEIR_OK;
}

WEIR_TEST(scan, has_fresh_memory_for_each_partition)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .partition_count = 100, .behave = take_a_mebibyte};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, 0, &probe);

    info = scan_fixture_read(&scan_fixture);
    check_int(info.processed, 100);
    check_int(info.ticks_failed, 0);
    scan_fixture_close(&scan_fixture);
}

/* ---- the failure tracker inside a scan --------------------------------------------- */

/* Two items, of which one is poison. */
static PROBE_BEHAVIOUR(work_on_two_items)
{
    if (weir_failures_skips(tick->failures, "good", 4))
        out->skipped++;
    else
        out->processed++;
    weir_failures_note_success(tick->failures, "good", 4);

    if (weir_failures_skips(tick->failures, "poison", 6)) {
        out->skipped++;
        return WEIR_OK;
    }
    weir_failures_note_failure(tick->failures, "poison", 6);
    out->errors++;
    return WEIR_OK;
}

/* Tried in the cycles 1, 2, 3, then in 14, 25, 36, ...: the scanner counts the cycles. */
WEIR_TEST(scan, leaves_a_poison_item_alone_for_ten_cycles)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "leases", .behave = work_on_two_items};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(35), &probe);

    info = scan_fixture_read(&scan_fixture);
    check_int(info.cycles, 36);
    check_int(info.processed, 36);
    check_int(info.errors, 6);
    check_int(info.skipped, 30);
    check_int(info.failing_items, 1);
    check_int(info.failures_untracked, 0);
    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_ERROR,
                                 "scanner.item_skipped scanner=engine scan=leases "
                                 "item=\"poison\""),
              1);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, does_not_share_its_failures_with_another)
{
    struct scan_fixture scan_fixture;
    struct probe a = {.name = "a", .behave = work_on_two_items};
    struct probe b = {.name = "b", .behave = work_on_two_items};
    struct weir_scan_info infos[2];

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(2), &a, &b);

    check_int(weir_scanner_read(scan_fixture.scanner, infos, 2), 2);
    check_int(infos[0].errors, 3);
    check_int(infos[1].errors, 3);
    scan_fixture_close(&scan_fixture);
}

/* ---- figures ----------------------------------------------------------------------- */

WEIR_TEST(scan, shows_what_it_is_before_it_starts)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {
        .name = "leases", .interval_ns = WEIR_MILLISECONDS(1500), .partition_count = 8};
    struct weir_scan_info info;

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);

    info = scan_fixture_read(&scan_fixture);
    check_str(info.name, "leases");
    check_int(info.interval_ns, WEIR_MILLISECONDS(1500));
    check_int(info.scope, WEIR_SCAN_PARTITIONED);
    check_int(info.partition_count, 8);
    check_int(info.state, WEIR_SCAN_ADDED);
    check_int(info.ticks, 0);
    check_int(info.tick_started_ns, WEIR_SCAN_NEVER);
    check_int(info.due_ns, WEIR_SCAN_NEVER);
    check_int(info.completed_ns, WEIR_SCAN_NEVER);
    check_int(info.clean_ns, WEIR_SCAN_NEVER);
    check_str(info.last_error, "");
    scan_fixture_close(&scan_fixture);
}

/* Cycles of 1.2, 0.4 and 0.8 seconds. */
static PROBE_BEHAVIOUR(take_various_times)
{
    static const int64_t MILLISECONDS[] = {0, 600, 200, 400};

    weir_sleep_through(context, WEIR_MILLISECONDS(MILLISECONDS[tick->cycle]));
    out->processed = 3;
    out->errors = tick->cycle == 3;
    out->skipped = 2;
    return WEIR_OK;
}

WEIR_TEST(scan, counts_cycles_ticks_items_and_time)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a",
                          .interval_ns = WEIR_SECONDS(10),
                          .partition_count = 2,
                          .behave = take_various_times};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(25), &probe);

    info = scan_fixture_read(&scan_fixture);
    check_int(info.state, WEIR_SCAN_WAITING);
    check_int(info.cycles, 3);
    check_int(info.ticks, 6);
    check_int(info.ticks_failed, 0);
    check_int(info.panics, 0);
    check_int(info.processed, 18);
    check_int(info.errors, 2);
    check_int(info.skipped, 12);
    check_int(info.cycle_last_ns, WEIR_MILLISECONDS(800));
    check_int(info.cycle_max_ns, WEIR_MILLISECONDS(1200));
    check_int(info.cycle_total_ns, WEIR_MILLISECONDS(2400));
    check_int(info.completed_ns, WEIR_MILLISECONDS(20800));
    check_int(info.clean_ns, WEIR_MILLISECONDS(10400)); /* the third had errors */
    check_int(info.due_ns, WEIR_SECONDS(30));
    check_int(info.partition, 1);
    scan_fixture_close(&scan_fixture);
}

static PROBE_BEHAVIOUR(fail_in_even_cycles)
{
    if (tick->cycle % 2 == 1)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FAILED, "cycle %" PRIu64, tick->cycle);
}

WEIR_TEST(scan, tells_clean_cycles_from_complete_ones)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a", .behave = fail_in_even_cycles};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_SECONDS(3), &probe);

    info = scan_fixture_read(&scan_fixture);
    check_int(info.cycles, 4);
    check_int(info.completed_ns, WEIR_SECONDS(3));
    check_int(info.clean_ns, WEIR_SECONDS(2));
    check_str(info.last_error, "cycle 4");
    scan_fixture_close(&scan_fixture);
}

/* A tick that does not come back is seen by where and since when it ticks. */
WEIR_TEST(scan, shows_that_it_hangs)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a",
                          .partition_count = 4,
                          .behave = probe_takes_time,
                          .duration_ns = WEIR_HOURS(1)};
    struct weir_scan_info info;

    scan_fixture_run(&scan_fixture, WEIR_MINUTES(90), &probe);

    info = scan_fixture_read(&scan_fixture);
    check_int(info.state, WEIR_SCAN_TICKING);
    check_int(info.partition, 1);
    check_int(info.tick_started_ns, WEIR_HOURS(1));
    check_int(info.due_ns, WEIR_SECONDS(1));
    check_int(info.cycles, 0);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scan, has_a_name_for_each_state)
{
    check_str(weir_scan_state_name(WEIR_SCAN_ADDED), "added");
    check_str(weir_scan_state_name(WEIR_SCAN_WAITING), "waiting");
    check_str(weir_scan_state_name(WEIR_SCAN_TICKING), "ticking");
    check_str(weir_scan_state_name(WEIR_SCAN_ENDED), "ended");
    check_str(weir_scan_state_name((enum weir_scan_state)17), "unknown");
}
