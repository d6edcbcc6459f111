/*
 * test_scanner_add.c - registering scans, what is refused, and starting, in virtual time.
 */
#include <string.h>

#include "unit/ward/probe.h"

WEIR_TEST(scanner, starts_without_scans)
{
    struct world world;

    world_open(&world);
    world_start(&world);

    check_int(weir_scanner_read(world.scanner, NULL, 0), 0);
    check_int(weir_scanner_stop(world.scanner, WEIR_HOURS(1)), 0);
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

/* The scan is refused, the text names field, value and limit, and nothing is left of it. */
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

    world_open(&world);
    options.interval_ns = 0;
    check_refused(&world, &options, "interval_ns is 0, must be from 100 ms to 366 d");
    options.interval_ns = -WEIR_SECONDS(1);
    check_refused(&world, &options, "interval_ns is -1 s, must be from 100 ms to 366 d");
    options.interval_ns = WEIR_SCAN_INTERVAL_MIN - WEIR_MILLISECONDS(1);
    check_refused(&world, &options, "interval_ns is 99 ms, must be from 100 ms to 366 d");
    options.interval_ns = WEIR_DURATION_MAX + WEIR_HOURS(24);
    check_refused(&world, &options, "interval_ns is 367 d, must be from 100 ms to 366 d");

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
