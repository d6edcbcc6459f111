/*
 * probe.h - a scan that writes down its ticks, and a scanner in virtual time to put it
 * in.
 *
 *   struct scan_fixture world;
 *   struct probe leases = {.name = "leases"};
 *
 *   scan_fixture_open(&world);
 *   scan_fixture_add(&world, &leases);
 *   scan_fixture_start(&world);
 *   scan_fixture_run_until(&world, WEIR_SECONDS(10));
 *   check_int(leases.count, 11);
 *   scan_fixture_close(&world);
 *
 * What a tick does besides is up to `behave`. Checks belong into the test itself: a tick
 * runs on a stack of its own, where a failing check would end the whole program.
 */
#ifndef WEIR_TEST_PROBE_H
#define WEIR_TEST_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/executor.h>
#include <weir/scanner.h>
#include <weir/sim.h>

#include "base/heap.h"
#include "kit/test.h"
#include "unit/ward/captured_log.h"

enum { PROBE_TICKS_MAX = 1024 };

struct probe_tick {
    int64_t at_ns;
    uint32_t partition;
    uint64_t cycle;
    const void *filter;
};

struct probe {
    const char *name;
    int64_t interval_ns;      /* 0: a second */
    uint32_t partition_count; /* 0: global */
    bool filtered;
    weir_scan_tick_fn behave; /* gets the probe as state; NULL: one item processed */

    /* For `behave`: */
    int64_t duration_ns;
    uint32_t bad_partition;
    void *extra;

    size_t count; /* ticks so far, remembered or not */
    size_t done;  /* of those, returned */
    struct probe_tick ticks[PROBE_TICKS_MAX];
};

struct scan_fixture {
    struct weir_faulty_heap heap;
    struct captured_log captured_log;
    struct weir_sim *sim;
    struct weir_scanner *scanner;
};

/* The head of what a probe does in a tick; it need not use all parameters. */
#define PROBE_UNUSED __attribute__((unused))
#define PROBE_BEHAVIOUR(name)                                                            \
    enum weir_status name(PROBE_UNUSED struct weir_context *context,                     \
                          PROBE_UNUSED void *state,                                      \
                          PROBE_UNUSED const struct weir_scan_tick *tick,                \
                          PROBE_UNUSED struct weir_scan_report *out,                     \
                          PROBE_UNUSED struct weir_error *error)

static inline enum weir_status probe_run(struct weir_context *context, void *state,
                                         const struct weir_scan_tick *tick,
                                         struct weir_scan_report *out,
                                         struct weir_error *error)
{
    struct probe *self = state;
    enum weir_status status = WEIR_OK;

    if (self->count < PROBE_TICKS_MAX)
        self->ticks[self->count] = (struct probe_tick){
            .at_ns = weir_context_now(context),
            .partition = tick->partition,
            .cycle = tick->cycle,
            .filter = tick->filter,
        };
    self->count++;
    if (self->behave != NULL)
        status = self->behave(context, self, tick, out, error);
    else
        out->processed = 1;
    self->done++;
    return status;
}

/* Takes `duration_ns` and cannot be talked out of it. */
static inline PROBE_BEHAVIOUR(probe_takes_time)
{
    struct probe *self = state;

    weir_sleep_through(context, self->duration_ns);
    return WEIR_OK;
}

/* Takes `duration_ns` but gives up when it is cancelled. */
static inline PROBE_BEHAVIOUR(probe_listens)
{
    struct probe *self = state;

    return weir_sleep(context, self->duration_ns);
}

static inline PROBE_BEHAVIOUR(probe_fails)
{
    return weir_error_set(error, WEIR_FAILED, "no such table");
}

static inline struct weir_scan_options probe_options(struct probe *self)
{
    struct weir_scan_options options;

    weir_scan_options_init(&options);
    options.name = self->name;
    options.interval_ns = self->interval_ns != 0 ? self->interval_ns : WEIR_SECONDS(1);
    if (self->partition_count > 0)
        options.scope = WEIR_SCAN_PARTITIONED;
    options.partition_count = self->partition_count;
    options.filtered = self->filtered;
    options.tick = probe_run;
    options.state = self;
    return options;
}

static inline void scan_fixture_open_filtered(struct scan_fixture *self,
                                              const void *filter)
{
    struct weir_scanner_options options;
    struct weir_sim_options sim = {.heap = &self->heap.heap, .seed = 1};

    weir_faulty_heap_init(&self->heap);
    check_status(weir_sim_create(&sim, &self->sim, NULL), WEIR_OK);
    weir_scanner_options_init(&options);
    options.name = "engine";
    options.filter = filter;
    options.heap = &self->heap.heap;
    options.log = captured_log_open(&self->captured_log);
    check_status(
        weir_scanner_create(weir_sim_executor(self->sim), &options, &self->scanner, NULL),
        WEIR_OK);
}

static inline void scan_fixture_open(struct scan_fixture *self)
{
    scan_fixture_open_filtered(self, NULL);
}

static inline void scan_fixture_add(struct scan_fixture *self, struct probe *probe)
{
    struct weir_scan_options options = probe_options(probe);

    check_status(weir_scanner_add(self->scanner, &options, NULL), WEIR_OK);
}

static inline void scan_fixture_start(struct scan_fixture *self)
{
    check_status(weir_scanner_start(self->scanner, NULL), WEIR_OK);
}

static inline void scan_fixture_run_until(struct scan_fixture *self, int64_t time_ns)
{
    weir_sim_run_until(self->sim, time_ns);
}

/* Open it, add these probes and start; then run until `time_ns`. */
static inline void scan_fixture_run_probes(struct scan_fixture *self, int64_t time_ns,
                                           struct probe *const *probes, size_t count)
{
    scan_fixture_open(self);
    for (size_t i = 0; i < count; i++)
        scan_fixture_add(self, probes[i]);
    scan_fixture_start(self);
    scan_fixture_run_until(self, time_ns);
}

#define scan_fixture_run(self, time_ns, ...)                                             \
    scan_fixture_run_probes(self, time_ns, (struct probe *[]){__VA_ARGS__},              \
                            sizeof((struct probe *[]){__VA_ARGS__}) /                    \
                                sizeof(struct probe *))

/* The figures of the scan that was added first. */
static inline struct weir_scan_info scan_fixture_read(struct scan_fixture *self)
{
    struct weir_scan_info info;

    check(weir_scanner_read(self->scanner, &info, 1) >= 1);
    return info;
}

/* Ticks that are unfinished come back before the simulation goes: dropped in the
 * middle, as by a power cut, they would never let go of the scanner. */
static inline void scan_fixture_close(struct scan_fixture *self)
{
    weir_scanner_destroy(self->scanner);
    check(weir_sim_run_until_quiet(self->sim, WEIR_FOREVER));
    weir_sim_destroy(self->sim);
    check_int(self->heap.outstanding, 0);
}

#endif
