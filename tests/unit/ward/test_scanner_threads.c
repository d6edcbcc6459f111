/*
 * test_scanner_threads.c - what can be said of a scanner on real threads without
 * measuring time: counts, lower bounds, and that nothing is touched once it is gone.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/executor.h>
#include <weir/scanner.h>

#include "base/heap.h"
#include "kit/test.h"

#define LONG_GRACE WEIR_HOURS(1)

enum { THREADS = 4, PEERS = 6 };

/* A tick that another thread can watch, and hold. */
struct peers_scan {
    char name[24];
    _Atomic int inside;
    _Atomic int overlaps; /* ticks that found another one of the same scan running */
    _Atomic int ticks;
    _Atomic bool *held; /* while it is true, ticks do not return */
    int64_t started_ns; /* just before start() */
    _Atomic int early;  /* cycles that came before their time */
};

static enum weir_status peers_tick(struct weir_context *context, void *state,
                                   const struct weir_scan_tick *tick,
                                   struct weir_scan_report *out, struct weir_error *error)
{
    struct peers_scan *self = state;
    int64_t now_ns = weir_context_now(context);

    (void)error;
    if (atomic_fetch_add(&self->inside, 1) != 0)
        atomic_fetch_add(&self->overlaps, 1);
    if (now_ns < self->started_ns + (int64_t)(tick->cycle - 1) * WEIR_SCAN_INTERVAL_MIN)
        atomic_fetch_add(&self->early, 1);
    atomic_fetch_add(&self->ticks, 1);
    while (self->held != NULL && atomic_load(self->held))
        sched_yield();
    out->processed = 1;
    atomic_fetch_sub(&self->inside, 1);
    return WEIR_OK;
}

struct peers {
    struct weir_faulty_heap heap;
    struct weir_executor *executor;
    struct weir_scanner *scanner;
    struct peers_scan scans[PEERS]; /* even ones are global, odd ones have 8 partitions */
};

static void peers_open(struct peers *self, _Atomic bool *held)
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
    for (int i = 0; i < PEERS; i++) {
        snprintf(self->scans[i].name, sizeof self->scans[i].name, "scan-%d", i);
        self->scans[i].held = held;
        weir_scan_options_init(&scan);
        scan.name = self->scans[i].name;
        scan.interval_ns = WEIR_SCAN_INTERVAL_MIN;
        scan.scope = i % 2 == 0 ? WEIR_SCAN_GLOBAL : WEIR_SCAN_PARTITIONED;
        scan.partition_count = i % 2 == 0 ? 0 : 8;
        scan.tick = peers_tick;
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
static void wait_for_ticks(struct peers *self, int ticks)
{
    for (int i = 0; i < PEERS; i++) {
        for (int nap = 0; atomic_load(&self->scans[i].ticks) < ticks; nap++) {
            check(nap < 60000);
            short_nap();
        }
    }
}

static int peers_total(struct peers *self)
{
    int total = 0;

    for (int i = 0; i < PEERS; i++)
        total += atomic_load(&self->scans[i].ticks);
    return total;
}

static void wait_for_total(struct peers *self, int ticks)
{
    for (int nap = 0; peers_total(self) < ticks; nap++) {
        check(nap < 60000);
        short_nap();
    }
}

/* The threads give their memory back a moment after they were let go. */
static void peers_close(struct peers *self)
{
    weir_scanner_destroy(self->scanner);
    weir_executor_destroy(self->executor);
    for (int nap = 0; self->heap.outstanding != 0; nap++) {
        check(nap < 60000);
        short_nap();
    }
}

/* S1, S2: all begin, none runs twice at once, none begins a cycle early. */
WEIR_TEST(scanner_threads, runs_all_scans_each_at_its_interval)
{
    static struct peers peers;
    struct weir_scan_info infos[PEERS];

    peers_open(&peers, NULL);
    for (int i = 0; i < PEERS; i++)
        peers.scans[i].started_ns = weir_executor_now(peers.executor);
    check_status(weir_scanner_start(peers.scanner, NULL), WEIR_OK);
    wait_for_ticks(&peers, 4);
    check_int(weir_scanner_stop(peers.scanner, LONG_GRACE), 0);

    check_int(weir_scanner_read(peers.scanner, infos, PEERS), PEERS);
    for (int i = 0; i < PEERS; i++) {
        check_int(peers.scans[i].overlaps, 0);
        check_int(peers.scans[i].early, 0);
        check_int(infos[i].state, WEIR_SCAN_ENDED);
        check_int(infos[i].ticks, peers.scans[i].ticks);
        check_int(infos[i].processed, peers.scans[i].ticks);
    }
    peers_close(&peers);
}

/* S14: whatever began has ended, and nothing begins after stop() returned. */
WEIR_TEST(scanner_threads, leaves_nothing_running_when_stopped_right_after_start)
{
    static struct peers peers;

    for (int round = 0; round < 200; round++) {
        int ticks;

        peers_open(&peers, NULL);
        check_status(weir_scanner_start(peers.scanner, NULL), WEIR_OK);
        check_int(weir_scanner_stop(peers.scanner, LONG_GRACE), 0);
        ticks = peers_total(&peers);
        for (int i = 0; i < PEERS; i++)
            check_int(peers.scans[i].inside, 0);
        peers_close(&peers);
        check_int(peers_total(&peers), ticks);
    }
}

/* S6, S7: as many as there are threads hang, the others never got one and end at once. */
WEIR_TEST(scanner_threads, counts_exactly_the_ticks_that_hang)
{
    static struct peers peers;
    _Atomic bool held = true;

    peers_open(&peers, &held);
    check_status(weir_scanner_start(peers.scanner, NULL), WEIR_OK);
    wait_for_total(&peers, THREADS);

    check_int(weir_scanner_stop(peers.scanner, WEIR_MILLISECONDS(20)), THREADS);
    atomic_store(&held, false);
    check_int(weir_scanner_stop(peers.scanner, LONG_GRACE), 0);
    check_int(peers_total(&peers), THREADS);
    peers_close(&peers);
}

/* S13: even the executor is gone before the ticks come back. */
WEIR_TEST(scanner_threads, outlives_its_destruction)
{
    static struct peers peers;
    _Atomic bool held = true;

    peers_open(&peers, &held);
    check_status(weir_scanner_start(peers.scanner, NULL), WEIR_OK);
    wait_for_total(&peers, THREADS);

    weir_scanner_destroy(peers.scanner);
    weir_executor_destroy(peers.executor);
    check(peers.heap.outstanding > 0);
    atomic_store(&held, false);

    peers.scanner = NULL;
    peers.executor = NULL;
    peers_close(&peers); /* waits until all memory is back */
    check_int(peers_total(&peers), THREADS);
}

/* Figures can be read at any time: processed never goes back and never exceeds the
 * ticks. */
WEIR_TEST(scanner_threads, shows_its_figures_while_it_runs)
{
    static struct peers peers;
    struct weir_scan_info infos[PEERS];
    uint64_t processed[PEERS] = {0};

    peers_open(&peers, NULL);
    check_status(weir_scanner_start(peers.scanner, NULL), WEIR_OK);
    while (peers_total(&peers) < 2 * PEERS * 8) {
        check_int(weir_scanner_read(peers.scanner, infos, PEERS), PEERS);
        for (int i = 0; i < PEERS; i++) {
            check(infos[i].processed >= processed[i]);
            check_int(infos[i].processed, infos[i].ticks);
            processed[i] = infos[i].processed;
        }
    }
    peers_close(&peers);
}
