/*
 * demo_ledger.h - what the demo's shop has promised, what has arrived, and whether the
 * two agree.
 *
 * Every order is entered before its transaction begins, and again when it has committed
 * or was rolled back. The handler enters what arrives, and how it answered. So the
 * ledger knows, from outside of weir, what weir should have done:
 *
 *   - every order that was committed arrives, and is settled: delivered, or a dead letter
 *   - an order that was rolled back is never seen, nor one that was never placed
 *   - each partition is numbered 1, 2, 3, ... without a gap
 *   - the orders of a customer, placed one after the other, arrive in that order
 *   - an order comes again only under the number it had before: weir may deliver it
 *     again when an acknowledgement was lost, and receivers know it by that
 *
 *   shop      begin ---> stamp ---> end(COMMITTED, ROLLED_BACK or IN_DOUBT)
 *                          |
 *   handler                +---> arrive ---> settle(RETRY) ---> arrive ---> settle(DONE)
 *                                                                       or (REJECT)
 *
 * A message may arrive before its transaction's COMMIT has returned to the shop.
 *
 * Threads  Any thread, but for create, destroy and judge.
 * Memory   The newest WEIR_LEDGER_WINDOW orders. An order keeps its place until it is
 *          settled, and begin() refuses when the next place is still taken: so the shop
 *          cannot run away from a handler that stands still.
 */
#ifndef WEIR_CLI_DEMO_DEMO_LEDGER_H
#define WEIR_CLI_DEMO_DEMO_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/histogram.h"
#include "weir/batch.h"
#include "weir/status.h"

struct weir_ledger;

enum {
    WEIR_LEDGER_WINDOW = 1 << 16,
    WEIR_LEDGER_PARTITIONS = 8,
    WEIR_LEDGER_CUSTOMERS = 32,
    WEIR_LEDGER_TEXT_SIZE = 160
};

/* How a transaction ended. IN_DOUBT: the connection was lost while it committed. */
enum weir_ledger_fate {
    WEIR_LEDGER_OPEN,
    WEIR_LEDGER_COMMITTED,
    WEIR_LEDGER_ROLLED_BACK,
    WEIR_LEDGER_IN_DOUBT
};

/* What the handler knows of a message. */
struct weir_ledger_arrival {
    int64_t order;    /* 0: it names none */
    int32_t customer; /* -1: unknown */
    int32_t partition;
    int64_t seq;
    uint32_t attempts;
};

/* Ways in which the promise can be broken. */
enum weir_ledger_breach {
    WEIR_BREACH_LOST,       /* committed, and never arrived */
    WEIR_BREACH_GHOST,      /* rolled back, and arrived */
    WEIR_BREACH_STRANGER,   /* arrived, and was never placed */
    WEIR_BREACH_TWICE,      /* arrived again under another number */
    WEIR_BREACH_GAP,        /* a number was left out */
    WEIR_BREACH_OVERTAKEN,  /* arrived after a later order of the same customer */
    WEIR_BREACH_ASTRAY,     /* in the wrong partition, or under another customer's name */
    WEIR_BREACH_MISCOUNTED, /* table of orders, or dead letters: more or fewer than we
                               know of */
    WEIR_BREACH_COUNT
};

struct weir_ledger_partition {
    int64_t seq;     /* of the newest message that was settled */
    int64_t waiting; /* committed, and not settled */
    uint64_t retries;
    uint64_t rejected;
    int64_t failing_order; /* the order that is tried again; 0: none */
    uint32_t failing_attempts;
};

/* Everything at one instant. */
struct weir_ledger_stats {
    uint64_t committed;
    uint64_t rolled_back;
    uint64_t in_doubt;
    uint64_t delivered;
    uint64_t rejected;
    uint64_t retries;
    uint64_t again;    /* deliveries of an order that was settled already, as allowed */
    int64_t oldest_ns; /* since when the oldest order has been on the way; 0: none is */
    struct weir_histogram latency; /* from the beginning of the commit to the handler */
    struct weir_ledger_partition partitions[WEIR_LEDGER_PARTITIONS];
    uint64_t breaches[WEIR_BREACH_COUNT];
    char first_breach[WEIR_LEDGER_TEXT_SIZE]; /* for people; "": none */
};

/* Fails with WEIR_NO_MEMORY or WEIR_SYSTEM; *out is then NULL. */
WEIR_CHECKED enum weir_status weir_ledger_create(struct weir_ledger **out);

/* NULL is fine. */
void weir_ledger_destroy(struct weir_ledger *self);

/* Enter an order that is about to be placed. Returns its number, from 1; 0 when there
 * is no room: too many are on the way. */
int64_t weir_ledger_begin(struct weir_ledger *self, int32_t customer, int32_t partition);

/* It is about to be committed, now. May be called again when a transaction is tried
 * again. */
void weir_ledger_stamp(struct weir_ledger *self, int64_t order, int64_t now_ns);

/* So its transaction ended; not WEIR_LEDGER_OPEN. */
void weir_ledger_end(struct weir_ledger *self, int64_t order, enum weir_ledger_fate fate);

/* A message is at the handler, now; and so it was answered. */
void weir_ledger_arrive(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival, int64_t now_ns);
void weir_ledger_settle(struct weir_ledger *self,
                        const struct weir_ledger_arrival *arrival,
                        enum weir_outcome outcome);

void weir_ledger_read(struct weir_ledger *self, struct weir_ledger_stats *out);

/*
 * At the end, when nothing moves any more: what is still open is lost, and the figures
 * of the database must be ours: `orders` rows of orders, `dead_letters` dead letters.
 * Returns whether nothing was broken from beginning to end; how many of what is in the
 * figures.
 */
bool weir_ledger_judge(struct weir_ledger *self, int64_t orders, int64_t dead_letters);

/* "committed orders that never arrived", and so on. Lives for ever. */
const char *weir_ledger_breach_text(enum weir_ledger_breach breach);

#endif
