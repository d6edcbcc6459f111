/*
 * demo_ledger.c - a window over the newest orders, and counters.
 *
 *   I1  the place of an order is its number modulo the size of the window
 *   I2  a place is given to the next order only when its last one can no longer be
 *       waited for: settled, rolled back, or in doubt
 *   I3  every order below `oldest` is such a one, or has left the window
 *
 * What has left the window is forgotten. A message of it that arrived all the same
 * would count as a stranger: broken either way.
 */
#include "cli/demo/demo_ledger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/noun.h"
#include "base/text.h"
#include "ward/lock.h"

/* One order. */
struct entry {
    int64_t order; /* 0: of no customer yet */
    int64_t commit_ns;
    int64_t seq; /* under which it arrived; 0: not yet */
    int32_t customer;
    int32_t partition;
    enum weir_ledger_fate fate;
    bool settled;
};

struct weir_ledger {
    struct weir_lock lock; /* guards all that follows */
    int64_t next;          /* the number of the next order */
    int64_t oldest;
    int64_t customers[WEIR_LEDGER_CUSTOMERS]; /* the newest order that was settled */
    struct weir_ledger_stats stats;
    struct entry entries[WEIR_LEDGER_WINDOW];
};

static const char *const BREACH_TEXTS[WEIR_BREACH_COUNT] = {
    [WEIR_BREACH_LOST] = "committed orders that never arrived",
    [WEIR_BREACH_GHOST] = "orders that were rolled back and arrived",
    [WEIR_BREACH_STRANGER] = "messages that no order stands behind",
    [WEIR_BREACH_TWICE] = "orders that came under two numbers",
    [WEIR_BREACH_GAP] = "numbers left out",
    [WEIR_BREACH_OVERTAKEN] = "orders that came after a later one of their customer",
    [WEIR_BREACH_ASTRAY] = "orders in the wrong partition",
    [WEIR_BREACH_MISCOUNTED] = "counts of the database that differ from ours",
};

static void note_breach(struct weir_ledger *self, enum weir_ledger_breach breach,
                        const char *format, ...) WEIR_REQUIRES(self->lock)
    WEIR_PRINTF(3, 4);
static struct entry *find(struct weir_ledger *self, int64_t order)
    WEIR_REQUIRES(self->lock);
static void check_seq(struct weir_ledger *self, const struct weir_ledger_arrival *arrival)
    WEIR_REQUIRES(self->lock);
static void check_order(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival)
    WEIR_REQUIRES(self->lock);
static void settle_order(struct weir_ledger *self,
                         const struct weir_ledger_arrival *arrival, bool rejected)
    WEIR_REQUIRES(self->lock);
static void count_committed(struct weir_ledger *self, const struct entry *entry)
    WEIR_REQUIRES(self->lock);

enum weir_status weir_ledger_create(struct weir_ledger **out)
{
    struct weir_ledger *self = calloc(1, sizeof *self);

    *out = NULL;
    if (self == NULL)
        return WEIR_NO_MEMORY;
    if (weir_lock_init(&self->lock) != WEIR_OK) {
        free(self);
        return WEIR_SYSTEM;
    }
    self->next = 1;
    self->oldest = 1;
    *out = self;
    return WEIR_OK;
}

void weir_ledger_destroy(struct weir_ledger *self)
{
    if (self == NULL)
        return;
    weir_lock_fini(&self->lock);
    free(self);
}

const char *weir_ledger_breach_text(enum weir_ledger_breach breach)
{
    return BREACH_TEXTS[breach];
}

/* ---- the shop's side --------------------------------------------------------------- */

/* Nothing more is expected of it. */
static bool is_closed(const struct entry *entry)
{
    switch (entry->fate) {
    case WEIR_LEDGER_OPEN:
        return entry->order == 0;
    case WEIR_LEDGER_COMMITTED:
        return entry->settled;
    case WEIR_LEDGER_ROLLED_BACK:
    case WEIR_LEDGER_IN_DOUBT:
        break;
    }
    return true;
}

int64_t weir_ledger_begin(struct weir_ledger *self, int32_t customer, int32_t partition)
{
    struct entry *entry;
    int64_t order = 0;

    WEIR_ASSERT(customer >= 0 && customer < WEIR_LEDGER_CUSTOMERS);
    WEIR_ASSERT(partition >= 0 && partition < WEIR_LEDGER_PARTITIONS);
    weir_lock_acquire(&self->lock);
    entry = &self->entries[self->next % WEIR_LEDGER_WINDOW];
    if (is_closed(entry)) {
        order = self->next++;
        *entry =
            (struct entry){.order = order, .customer = customer, .partition = partition};
    }
    weir_lock_release(&self->lock);
    return order;
}

void weir_ledger_stamp(struct weir_ledger *self, int64_t order, int64_t now_ns)
{
    struct entry *entry;

    weir_lock_acquire(&self->lock);
    entry = find(self, order);
    WEIR_ASSERT(entry != NULL);
    entry->commit_ns = now_ns;
    weir_lock_release(&self->lock);
}

void weir_ledger_end(struct weir_ledger *self, int64_t order, enum weir_ledger_fate fate)
{
    struct entry *entry;

    WEIR_ASSERT(fate != WEIR_LEDGER_OPEN);
    weir_lock_acquire(&self->lock);
    entry = find(self, order);
    WEIR_ASSERT(entry != NULL && entry->fate == WEIR_LEDGER_OPEN);
    entry->fate = fate;
    self->stats.rolled_back += fate == WEIR_LEDGER_ROLLED_BACK;
    self->stats.in_doubt += fate == WEIR_LEDGER_IN_DOUBT;
    if (fate == WEIR_LEDGER_COMMITTED || (fate == WEIR_LEDGER_IN_DOUBT && entry->settled))
        count_committed(self, entry);
    if (fate == WEIR_LEDGER_ROLLED_BACK && entry->seq > 0)
        note_breach(self, WEIR_BREACH_GHOST,
                    "order %" PRId64 " arrived and was then rolled back", order);
    weir_lock_release(&self->lock);
}

static void count_committed(struct weir_ledger *self, const struct entry *entry)
{
    self->stats.committed++;
    self->stats.partitions[entry->partition].waiting++;
}

/* ---- the handler's side ------------------------------------------------------------ */

void weir_ledger_arrive(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival, int64_t now_ns)
{
    struct entry *entry;

    WEIR_ASSERT(arrival->partition >= 0 && arrival->partition < WEIR_LEDGER_PARTITIONS);
    weir_lock_acquire(&self->lock);
    check_seq(self, arrival);
    check_order(self, arrival);
    entry = find(self, arrival->order);
    if (entry != NULL && entry->seq == 0) {
        entry->seq = arrival->seq;
        if (entry->commit_ns > 0)
            weir_histogram_add(&self->stats.latency, now_ns - entry->commit_ns);
    }
    weir_lock_release(&self->lock);
}

/* The message behind the newest that was settled; or one of those before, once more. */
static void check_seq(struct weir_ledger *self, const struct weir_ledger_arrival *arrival)
{
    int64_t newest = self->stats.partitions[arrival->partition].seq;

    if (arrival->seq < 1 || arrival->seq > newest + 1)
        note_breach(self, WEIR_BREACH_GAP,
                    "partition %" PRId32 ": %" PRId64 " came behind %" PRId64,
                    arrival->partition, arrival->seq, newest);
}

static void check_order(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival)
{
    const struct entry *entry = find(self, arrival->order);
    int64_t order = arrival->order;

    if (entry == NULL) {
        note_breach(self, WEIR_BREACH_STRANGER,
                    "partition %" PRId32 ", %" PRId64 ": there is no order %" PRId64,
                    arrival->partition, arrival->seq, order);
        return;
    }
    if (entry->fate == WEIR_LEDGER_ROLLED_BACK)
        note_breach(self, WEIR_BREACH_GHOST,
                    "order %" PRId64 " was rolled back and arrived", order);
    if (entry->partition != arrival->partition || entry->customer != arrival->customer)
        note_breach(self, WEIR_BREACH_ASTRAY,
                    "order %" PRId64 " belongs to partition %" PRId32
                    " and came in %" PRId32,
                    order, entry->partition, arrival->partition);
    if (entry->seq > 0 && entry->seq != arrival->seq)
        note_breach(self, WEIR_BREACH_TWICE,
                    "order %" PRId64 " came under %" PRId64 " and under %" PRId64, order,
                    entry->seq, arrival->seq);
    if (!entry->settled && self->customers[entry->customer] > order)
        note_breach(self, WEIR_BREACH_OVERTAKEN,
                    "order %" PRId64 " came after order %" PRId64 " of the same customer",
                    order, self->customers[entry->customer]);
}

void weir_ledger_settle(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival,
                        enum weir_outcome outcome)
{
    struct weir_ledger_partition *partition;

    weir_lock_acquire(&self->lock);
    partition = &self->stats.partitions[arrival->partition];
    if (outcome == WEIR_RETRY) {
        self->stats.retries++;
        partition->retries++;
        partition->failing_order = arrival->order;
        partition->failing_attempts = arrival->attempts + 1;
    } else {
        partition->failing_order = 0;
        if (arrival->seq > partition->seq)
            partition->seq = arrival->seq;
        settle_order(self, arrival, outcome == WEIR_REJECT);
    }
    weir_lock_release(&self->lock);
}

static void settle_order(struct weir_ledger *self,
                         const struct weir_ledger_arrival *arrival, bool rejected)
{
    struct entry *entry = find(self, arrival->order);
    struct weir_ledger_partition *partition;

    if (entry == NULL)
        return;
    if (entry->settled) {
        self->stats.again += entry->seq == arrival->seq;
        return;
    }
    entry->settled = true;
    if (entry->fate == WEIR_LEDGER_ROLLED_BACK)
        return;
    partition = &self->stats.partitions[entry->partition];
    if (entry->fate == WEIR_LEDGER_IN_DOUBT)
        count_committed(self, entry);
    partition->waiting--;
    partition->rejected += rejected;
    self->stats.rejected += rejected;
    self->stats.delivered += !rejected;
    if (entry->order > self->customers[entry->customer])
        self->customers[entry->customer] = entry->order;
}

/* ---- reading ----------------------------------------------------------------------- */

/* Its waiting is below 0 for a moment when a message is settled before its COMMIT has
 * returned. */
static void hide_the_future(struct weir_ledger_stats *stats)
{
    for (int i = 0; i < WEIR_LEDGER_PARTITIONS; i++)
        if (stats->partitions[i].waiting < 0)
            stats->partitions[i].waiting = 0;
}

void weir_ledger_read(struct weir_ledger *self, struct weir_ledger_stats *out)
{
    const struct entry *entry;

    weir_lock_acquire(&self->lock);
    if (self->oldest < self->next - WEIR_LEDGER_WINDOW)
        self->oldest = self->next - WEIR_LEDGER_WINDOW; /* I2: those were closed */
    while (self->oldest < self->next &&
           is_closed(&self->entries[self->oldest % WEIR_LEDGER_WINDOW]))
        self->oldest++;
    *out = self->stats;
    entry = &self->entries[self->oldest % WEIR_LEDGER_WINDOW];
    if (self->oldest < self->next && entry->fate == WEIR_LEDGER_COMMITTED)
        out->oldest_ns = entry->commit_ns;
    weir_lock_release(&self->lock);
    hide_the_future(out);
}

bool weir_ledger_judge(struct weir_ledger *self, int64_t orders, int64_t dead_letters)
{
    const struct weir_ledger_stats *stats = &self->stats;
    uint64_t broken = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < WEIR_LEDGER_WINDOW; i++)
        if (!is_closed(&self->entries[i]))
            note_breach(self, WEIR_BREACH_LOST, "order %" PRId64 " never arrived",
                        self->entries[i].order);
    if (orders != (int64_t)stats->committed)
        note_breach(self, WEIR_BREACH_MISCOUNTED,
                    "%" PRId64 " %s in the table, %" PRIu64 " committed", orders,
                    WEIR_NOUN(orders, "order", "orders"), stats->committed);
    if (dead_letters != (int64_t)stats->rejected)
        note_breach(self, WEIR_BREACH_MISCOUNTED,
                    "%" PRId64 " %s kept, %" PRIu64 " rejected", dead_letters,
                    WEIR_NOUN(dead_letters, "dead letter", "dead letters"),
                    stats->rejected);
    for (int i = 0; i < WEIR_BREACH_COUNT; i++)
        broken += stats->breaches[i];
    weir_lock_release(&self->lock);
    return broken == 0;
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct entry *find(struct weir_ledger *self, int64_t order)
{
    struct entry *entry;

    if (order < 1)
        return NULL;
    entry = &self->entries[order % WEIR_LEDGER_WINDOW];
    return entry->order == order ? entry : NULL;
}

static void note_breach(struct weir_ledger *self, enum weir_ledger_breach breach,
                        const char *format, ...)
{
    char *first = self->stats.first_breach;
    va_list arguments;

    self->stats.breaches[breach]++;
    if (first[0] != '\0')
        return;
    va_start(arguments, format);
    weir_text_format_list(first, WEIR_LEDGER_TEXT_SIZE, format, arguments);
    va_end(arguments);
}
