/*
 * failures.h - which items of a scan fail again and again, and are left alone for a
 * while.
 *
 * A scan takes a batch of items per tick, oldest first. Items that fail stay the
 * oldest, so a batch full of poison would be all that is ever tried. The tracker
 * remembers the items that failed: after WEIR_FAILURES_IN_ROW_MAX failures in a row an
 * item is skipped for WEIR_FAILURES_SKIP_CYCLES cycles, and again after each further
 * failure.
 *
 *               note_failure           the third in a row
 *   unknown --------------> counted ----------------------> skipped <------+
 *      ^                       |                               |           |
 *      |     note_success      |                    the cycles are over    | note_failure
 *      +-----------------------+                               v           |
 *      +------------------------- note_success ---------- tried again -----+
 *
 * Each scan has a tracker of its own, which its ticks get with struct weir_scan_tick:
 *
 *   if (weir_failures_skips(tick->failures, id, id_size)) {
 *       out->skipped++;
 *       continue;
 *   }
 *
 * Order    A cycle is one walk over all partitions of the scan; the scanner counts them.
 * Threads  The tick's, and only during the tick.
 * Memory   At most WEIR_FAILURES_COUNT_MAX items. Beyond that, and without memory, a new
 *          failure is simply not remembered, and the item is tried in every cycle. Every
 *          WEIR_FAILURES_COLLECT_CYCLES cycles, when there are more than
 *          WEIR_FAILURES_COLLECT_ABOVE items, those are forgotten that have not failed
 *          since the time before.
 */
#ifndef WEIR_FAILURES_H
#define WEIR_FAILURES_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/api.h>

struct weir_failures;

enum {
    WEIR_FAILURES_IN_ROW_MAX = 3,
    WEIR_FAILURES_SKIP_CYCLES = 10,
    WEIR_FAILURES_COLLECT_CYCLES = 50,
    WEIR_FAILURES_COLLECT_ABOVE = 500,
    WEIR_FAILURES_COUNT_MAX = 10000,
    WEIR_FAILURES_KEY_SIZE_MAX = 255
};

WEIR_BEGIN_DECLS

/*
 * Is this item to be left alone in this cycle? A key is any bytes, 1 to
 * WEIR_FAILURES_KEY_SIZE_MAX of them, borrowed for the call; an item whose key has
 * another size is never skipped.
 */
WEIR_CHECKED WEIR_API bool weir_failures_skips(const struct weir_failures *self,
                                               const void *key, size_t key_size);

/* The item was tried and failed. The failure that leads to the first skip is logged as an
 * error; the ones after it are not. */
WEIR_API void weir_failures_note_failure(struct weir_failures *self, const void *key,
                                         size_t key_size);

/* The item was tried and is fine, or is gone: what was known about it is forgotten. */
WEIR_API void weir_failures_note_success(struct weir_failures *self, const void *key,
                                         size_t key_size);

WEIR_END_DECLS

#endif
