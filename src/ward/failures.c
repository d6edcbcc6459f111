/*
 * failures.c - a map from item to how often it failed in a row, and when last.
 *
 * An item is in the map from its first failure to its next success. Whether it is
 * skipped is computed from the two numbers when it is asked for, so nothing has to be
 * changed when a cycle begins: a tracker of ten thousand items costs an idle scan
 * nothing.
 *
 * Invariants:
 *
 *   I1  an item in the map has failed at least once, in this cycle or an earlier one
 *   I2  at most WEIR_FAILURES_COUNT_MAX items
 *
 * Forgetting an item too early is harmless, it is counted from one again. Therefore
 * a full map refuses new items and evicts none: the items that are skipped now are
 * the ones that have proven to be poison.
 */
#include "ward/failures.h"

#include <stdio.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/log.h"

/* An item's key in the log: up to so many of its bytes, each as one or four
 * characters. */
enum { SHOWN_BYTES_MAX = 64, SHOWN_SIZE = SHOWN_BYTES_MAX * 4 + sizeof "..." };

struct item {
    uint32_t in_row;       /* failures; saturates */
    uint64_t failed_cycle; /* of the latest one */
};

static bool is_trackable(size_t key_size);
static struct weir_str as_str(const void *key, size_t key_size);
static struct item *track(struct weir_failures *self, struct weir_str key);
static bool has_long_been_silent(void *arg, struct weir_str key, void *value);
static bool is_any(void *arg, struct weir_str key, void *value);
static void show(char out[SHOWN_SIZE], struct weir_str key);
static void check_invariants(const struct weir_failures *self, const struct item *item);

void weir_failures_init(struct weir_failures *self, const struct weir_heap *heap,
                        const struct weir_log *log, const char *scanner, const char *scan)
{
    *self = (struct weir_failures){
        .heap = heap, .log = log, .scanner = scanner, .scan = scan};
    weir_map_init(&self->items, heap, WEIR_FAILURES_COUNT_MAX);
}

void weir_failures_fini(struct weir_failures *self)
{
    weir_map_remove_if(&self->items, is_any, self);
    weir_map_fini(&self->items);
}

void weir_failures_advance(struct weir_failures *self)
{
    self->cycle++;
    if (self->cycle % WEIR_FAILURES_COLLECT_CYCLES != 0)
        return;
    if (weir_map_count(&self->items) <= WEIR_FAILURES_COLLECT_ABOVE)
        return;
    weir_map_remove_if(&self->items, has_long_been_silent, self);
}

size_t weir_failures_count(const struct weir_failures *self)
{
    return weir_map_count(&self->items);
}

bool weir_failures_skips(const struct weir_failures *self, const void *key,
                         size_t key_size)
{
    const struct item *item;

    if (!is_trackable(key_size))
        return false;
    item = weir_map_find(&self->items, as_str(key, key_size));
    if (item == NULL || item->in_row < WEIR_FAILURES_IN_ROW_MAX)
        return false;
    return self->cycle - item->failed_cycle <= WEIR_FAILURES_SKIP_CYCLES;
}

void weir_failures_note_failure(struct weir_failures *self, const void *key,
                                size_t key_size)
{
    struct weir_str str = as_str(key, key_size);
    struct item *item = NULL;
    char shown[SHOWN_SIZE];

    if (is_trackable(key_size))
        item = track(self, str);
    if (item == NULL) {
        self->untracked_total++;
        return;
    }
    item->in_row = weir_sat_inc_u32(item->in_row);
    item->failed_cycle = self->cycle;
    check_invariants(self, item);

    if (item->in_row != WEIR_FAILURES_IN_ROW_MAX)
        return;
    show(shown, str);
    weir_log_event(self->log, WEIR_LOG_ERROR, "scanner.item_skipped",
                   "scanner=%s scan=%s item=\"%s\" failures=%d cycles=%d", self->scanner,
                   self->scan, shown, WEIR_FAILURES_IN_ROW_MAX,
                   WEIR_FAILURES_SKIP_CYCLES);
}

void weir_failures_note_success(struct weir_failures *self, const void *key,
                                size_t key_size)
{
    if (is_trackable(key_size))
        weir_heap_free(self->heap, weir_map_remove(&self->items, as_str(key, key_size)));
}

static bool is_trackable(size_t key_size)
{
    return key_size >= 1 && key_size <= WEIR_FAILURES_KEY_SIZE_MAX;
}

static struct weir_str as_str(const void *key, size_t key_size)
{
    return (struct weir_str){.data = key, .size = key_size};
}

/* The item under `key`, a new one if need be; NULL when it cannot be remembered. */
static struct item *track(struct weir_failures *self, struct weir_str key)
{
    struct item *item = weir_map_find(&self->items, key);

    if (item != NULL)
        return item;
    item = weir_heap_zalloc(self->heap, sizeof *item);
    if (item == NULL)
        return NULL;
    if (weir_map_put(&self->items, key, item) != WEIR_OK) {
        weir_heap_free(self->heap, item);
        return NULL;
    }
    return item;
}

/*
 * No failure since the collection before this one. Poison that is tried again fails at
 * least every WEIR_FAILURES_SKIP_CYCLES + 1 cycles and so is never taken for silent.
 */
static bool has_long_been_silent(void *arg, struct weir_str key, void *value)
{
    struct weir_failures *self = arg;
    struct item *item = value;

    (void)key;
    if (self->cycle - item->failed_cycle <= WEIR_FAILURES_COLLECT_CYCLES)
        return false;
    weir_heap_free(self->heap, item);
    return true;
}

static bool is_any(void *arg, struct weir_str key, void *value)
{
    struct weir_failures *self = arg;

    (void)key;
    weir_heap_free(self->heap, value);
    return true;
}

/* Bytes that would break the line or its quotes become \xNN. */
static void show(char out[SHOWN_SIZE], struct weir_str key)
{
    size_t used = 0;

    for (size_t i = 0; i < key.size && i < SHOWN_BYTES_MAX; i++) {
        unsigned char byte = (unsigned char)key.data[i];

        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\')
            used += (size_t)snprintf(out + used, SHOWN_SIZE - used, "\\x%02x", byte);
        else
            out[used++] = (char)byte;
    }
    snprintf(out + used, SHOWN_SIZE - used, "%s",
             key.size > SHOWN_BYTES_MAX ? "..." : "");
}

static void check_invariants(const struct weir_failures *self, const struct item *item)
{
    WEIR_ASSERT(item->in_row >= 1);                                       /* I1 */
    WEIR_ASSERT(item->failed_cycle <= self->cycle);                       /* I1 */
    WEIR_ASSERT(weir_map_count(&self->items) <= WEIR_FAILURES_COUNT_MAX); /* I2 */
}
