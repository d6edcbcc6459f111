/*
 * failures.h - the scanner's side of the failure tracker (see weir/failures.h): it makes
 * one per scan, tells it when a cycle begins, and shows its figures.
 *
 * Threads  The scan's owner.
 */
#ifndef WEIR_WARD_FAILURES_H
#define WEIR_WARD_FAILURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "weir/failures.h"

struct weir_heap;
struct weir_log;

struct weir_failures {
    const struct weir_heap *heap; /* borrowed */
    const struct weir_log *log;   /* borrowed */
    const char *scanner;          /* borrowed; for the log */
    const char *scan;             /* borrowed; for the log */
    struct weir_map items;        /* key to struct item, owned */
    uint64_t cycle;               /* 0 before the first */
    uint64_t untracked_total;     /* failures that were not remembered */
};

/* Borrows everything until fini(). Allocates nothing yet. */
void weir_failures_init(struct weir_failures *self, const struct weir_heap *heap,
                        const struct weir_log *log, const char *scanner,
                        const char *scan);

/* Forgets everything. */
void weir_failures_fini(struct weir_failures *self);

/* A new cycle begins; now and then, forget the items that have long been silent. */
void weir_failures_advance(struct weir_failures *self);

/* Items that are counted or skipped. */
size_t weir_failures_count(const struct weir_failures *self);

#endif
