/*
 * scan.h - one scan of a scanner: when it ticks, what came of it.
 *
 * It is the action of a worker. Each execution is one tick; between two partitions the
 * worker says proceed, after the last one it sleeps until the next cycle is due. So
 * memory of the execution and the flag of cancellation are the runtime's affair, once
 * per tick, and a scan of many partitions does not keep a thread from the others.
 *
 * Threads  run() is the worker's; read() any thread.
 */
#ifndef WEIR_WARD_SCAN_H
#define WEIR_WARD_SCAN_H

#include "weir/scanner.h"

struct weir_scan;

/* What all scans of a scanner have in common; borrowed until the scan is destroyed. */
struct weir_scan_home {
    char name[WEIR_WORKER_NAME_SIZE_MAX + 1];
    const void *filter;
    const struct weir_heap *heap;
    struct weir_log log;
};

/* Copies `options`. Fails with WEIR_INVALID, WEIR_NO_MEMORY or WEIR_SYSTEM; *out is then
 * NULL. */
WEIR_CHECKED enum weir_status weir_scan_create(const struct weir_scan_home *home,
                                               const struct weir_scan_options *options,
                                               struct weir_scan **out,
                                               struct weir_error *error);

/* Its worker has ended, or never was. NULL is fine. */
void weir_scan_destroy(struct weir_scan *self);

/* The worker's action, with the scan as its state: one tick. Never fails. */
enum weir_status weir_scan_run(struct weir_context *context, void *scan,
                               struct weir_directive *out, struct weir_error *error);

/* The scanner was started. */
void weir_scan_note_started(struct weir_scan *self);

/* It is to be woken. False: it will be already, because of an earlier call. */
bool weir_scan_note_wake(struct weir_scan *self);

/* All figures at one instant. That its worker has ended is not known here. */
void weir_scan_read(struct weir_scan *self, struct weir_scan_info *out);

/* Borrowed, and lives as long as the scan. The number is 0 for a global one. */
const char *weir_scan_name(const struct weir_scan *self);
uint32_t weir_scan_partition_count(const struct weir_scan *self);

#endif
