/*
 * test_scanner_add.c - registering scans, what is refused, and starting, in virtual time.
 */
#include <string.h>

#include "unit/ward/probe.h"

WEIR_TEST(scanner, starts_without_scans)
{
    struct scan_fixture scan_fixture;

    scan_fixture_open(&scan_fixture);
    scan_fixture_start(&scan_fixture);

    check_int(weir_scanner_read(scan_fixture.scanner, NULL, 0), 0);
    check_int(weir_scanner_stop(scan_fixture.scanner, WEIR_HOURS(1)), 0);
    scan_fixture_close(&scan_fixture);
}

/* Rule 1: one line, with the number of scans and the number of partitions. */
WEIR_TEST(scanner, logs_how_much_it_starts)
{
    struct scan_fixture scan_fixture;
    struct probe flows = {.name = "flows", .partition_count = 256};
    struct probe budgets = {.name = "budgets", .partition_count = 32};
    struct probe global = {.name = "global"};

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &flows);
    scan_fixture_add(&scan_fixture, &budgets);
    scan_fixture_add(&scan_fixture, &global);
    scan_fixture_start(&scan_fixture);

    check_int(captured_log_count(&scan_fixture.captured_log, WEIR_LOG_INFO,
                                 "scanner.started scanner=engine scans=3 partitions=288"),
              1);
    scan_fixture_close(&scan_fixture);
}

/* The scan is refused, the text names field, value and limit, and nothing is left of
 * it. */
static void check_refused(struct scan_fixture *scan_fixture,
                          const struct weir_scan_options *options, const char *phrase)
{
    struct weir_error error;
    size_t count = weir_scanner_read(scan_fixture->scanner, NULL, 0);
    int64_t outstanding = scan_fixture->heap.outstanding;

    check_status(weir_scanner_add(scan_fixture->scanner, options, &error), WEIR_INVALID);

    check_status(error.status, WEIR_INVALID);
    if (strstr(error.text, phrase) == NULL)
        check_str(error.text, phrase);
    check_int(weir_scanner_read(scan_fixture->scanner, NULL, 0), count);
    check_int(scan_fixture->heap.outstanding, outstanding);
}

WEIR_TEST(scanner, refuses_intervals_out_of_range)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);

    scan_fixture_open(&scan_fixture);
    options.interval_ns = 0;
    check_refused(&scan_fixture, &options,
                  "interval_ns is 0, must be from 100 ms to 366 d");
    options.interval_ns = -WEIR_SECONDS(1);
    check_refused(&scan_fixture, &options,
                  "interval_ns is -1 s, must be from 100 ms to 366 d");
    options.interval_ns = WEIR_SCAN_INTERVAL_MIN - WEIR_MILLISECONDS(1);
    check_refused(&scan_fixture, &options,
                  "interval_ns is 99 ms, must be from 100 ms to 366 d");
    options.interval_ns = WEIR_DURATION_MAX + WEIR_HOURS(24);
    check_refused(&scan_fixture, &options,
                  "interval_ns is 367 d, must be from 100 ms to 366 d");

    options.interval_ns = WEIR_SCAN_INTERVAL_MIN;
    check_status(weir_scanner_add(scan_fixture.scanner, &options, NULL), WEIR_OK);
    options.name = "b";
    options.interval_ns = WEIR_DURATION_MAX;
    check_status(weir_scanner_add(scan_fixture.scanner, &options, NULL), WEIR_OK);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, refuses_partition_counts_out_of_range)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);

    scan_fixture_open(&scan_fixture);
    options.scope = WEIR_SCAN_PARTITIONED;
    options.partition_count = 0;
    check_refused(&scan_fixture, &options, "partition_count is 0, must be 1 to 65536");
    options.partition_count = 65537;
    check_refused(&scan_fixture, &options,
                  "partition_count is 65537, must be 1 to 65536");
    options.scope = WEIR_SCAN_GLOBAL;
    options.partition_count = 7;
    check_refused(&scan_fixture, &options,
                  "partition_count is 7, must be 0 in a global scan");
    options.scope = (enum weir_scan_scope)9;
    check_refused(&scan_fixture, &options, "scope is 9, must be 0 or 1");

    options.scope = WEIR_SCAN_PARTITIONED;
    options.partition_count = 65536;
    check_status(weir_scanner_add(scan_fixture.scanner, &options, NULL), WEIR_OK);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, refuses_scan_names_out_of_range)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);
    char name[WEIR_WORKER_NAME_SIZE_MAX + 2];

    scan_fixture_open(&scan_fixture);
    options.name = NULL;
    check_refused(&scan_fixture, &options, "name");
    options.name = "";
    check_refused(&scan_fixture, &options, "name");
    options.name = "with space";
    check_refused(&scan_fixture, &options, "name has byte 0x20 at 4");
    options.name = "n\xc3\xa4me";
    check_refused(&scan_fixture, &options, "name has byte 0xc3 at 1");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    options.name = name;
    check_refused(&scan_fixture, &options, "255");

    name[sizeof name - 2] = '\0'; /* the longest there may be */
    check_status(weir_scanner_add(scan_fixture.scanner, &options, NULL), WEIR_OK);
    check_str(scan_fixture_read(&scan_fixture).name, name);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, refuses_a_scan_without_a_tick)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);

    scan_fixture_open(&scan_fixture);
    options.tick = NULL;

    check_refused(&scan_fixture, &options, "tick is NULL, must be a function");
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, refuses_a_name_that_is_taken)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "leases"};
    struct weir_scan_options options = probe_options(&probe);
    struct weir_error error;

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);

    check_status(weir_scanner_add(scan_fixture.scanner, &options, &error), WEIR_EXISTS);
    check_str(error.text, "add scan to scanner \"engine\": name \"leases\" is taken");
    check_int(weir_scanner_read(scan_fixture.scanner, NULL, 0), 1);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, holds_256_scans_and_no_more)
{
    struct scan_fixture scan_fixture;
    static struct probe probes[WEIR_SCANNER_SCANS_MAX]; /* too large for the stack */
    static char names[WEIR_SCANNER_SCANS_MAX][16];
    struct probe surplus = {.name = "surplus"};
    struct weir_scan_options options = probe_options(&surplus);

    scan_fixture_open(&scan_fixture);
    for (int i = 0; i < WEIR_SCANNER_SCANS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        probes[i].name = names[i];
        scan_fixture_add(&scan_fixture, &probes[i]);
    }
    check_refused(&scan_fixture, &options, "it has 256 scans, may have up to 256");

    scan_fixture_start(&scan_fixture);
    scan_fixture_run_until(&scan_fixture, 0);
    for (int i = 0; i < WEIR_SCANNER_SCANS_MAX; i++)
        check_int(probes[i].count, 1);
    scan_fixture_close(&scan_fixture);
}

static void check_name_refused(struct scan_fixture *scan_fixture, const char *name)
{
    struct weir_scanner_options options;
    struct weir_scanner *scanner = scan_fixture->scanner; /* anything but NULL */
    struct weir_error error;

    weir_scanner_options_init(&options);
    options.name = name;
    check_status(weir_scanner_create(weir_sim_executor(scan_fixture->sim), &options,
                                     &scanner, &error),
                 WEIR_INVALID);
    check(strstr(error.text, "name") != NULL);
    check(scanner == NULL);
}

WEIR_TEST(scanner, refuses_a_name_of_its_own_out_of_range)
{
    struct scan_fixture scan_fixture;
    char name[WEIR_WORKER_NAME_SIZE_MAX + 2];

    scan_fixture_open(&scan_fixture);
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';

    check_name_refused(&scan_fixture, NULL);
    check_name_refused(&scan_fixture, "");
    check_name_refused(&scan_fixture, "with space");
    check_name_refused(&scan_fixture, name);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, takes_no_scans_once_it_was_started)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_scan_options options = probe_options(&probe);
    struct weir_error error;

    scan_fixture_open(&scan_fixture);
    scan_fixture_start(&scan_fixture);

    check_status(weir_scanner_add(scan_fixture.scanner, &options, &error), WEIR_CLOSED);
    check_str(error.text,
              "add scan to scanner \"engine\": it was started or stopped before");
    check_int(weir_scanner_read(scan_fixture.scanner, NULL, 0), 0);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, starts_only_once)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct weir_error error;

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);
    scan_fixture_start(&scan_fixture);

    check_status(weir_scanner_start(scan_fixture.scanner, &error), WEIR_CLOSED);
    check_str(error.text, "start scanner \"engine\": it was started or stopped before");
    scan_fixture_run_until(&scan_fixture, 0);
    check_int(probe.count, 1);
    scan_fixture_close(&scan_fixture);
}

WEIR_TEST(scanner, does_nothing_more_once_it_was_stopped)
{
    struct scan_fixture scan_fixture;
    struct probe probe = {.name = "a"};
    struct probe late = {.name = "late"};
    struct weir_scan_options options = probe_options(&late);

    scan_fixture_open(&scan_fixture);
    scan_fixture_add(&scan_fixture, &probe);
    check_int(weir_scanner_stop(scan_fixture.scanner, 0), 0);

    check_status(weir_scanner_add(scan_fixture.scanner, &options, NULL), WEIR_CLOSED);
    check_status(weir_scanner_start(scan_fixture.scanner, NULL), WEIR_CLOSED);
    scan_fixture_run_until(&scan_fixture, WEIR_MINUTES(1));
    check_int(probe.count, 0);
    check_int(scan_fixture_read(&scan_fixture).state, WEIR_SCAN_ENDED);
    scan_fixture_close(&scan_fixture);
}
