/*
 * demo_book.h - what the database says of the orders of `weir demo --flow`, live and at
 * the end.
 *
 * Live, only orders that have not ended are read again: those before them are added up
 * once. At the end all of it is audited, by statements that look for what must not be.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_DEMO_DEMO_BOOK_H
#define WEIR_CLI_DEMO_DEMO_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/demo/demo_orders.h"
#include "cli/histogram.h"

/* Executions of one step, by where they stand. */
struct weir_book_step {
    int64_t waiting; /* for a worker, or for a retry */
    int64_t held;    /* by the budget */
    int64_t running;
    int64_t suspended;
    int64_t done;
    int64_t failed;
    int64_t cancelled;
    int64_t skipped;
};

struct weir_book_stats {
    struct weir_book_step steps[WEIR_STEP_COUNT];
    int64_t on_the_way; /* orders, as the next two */
    int64_t shipped;
    int64_t refused;
    int64_t retries;               /* attempts that failed and were followed by another */
    int64_t reclaims;              /* that were lost with their worker, likewise */
    struct weir_histogram latency; /* from the order to the shipment */
    int64_t calls;                 /* to the bank since the budget was reset */
    int64_t calls_max;
    int64_t resets;
    int64_t races; /* whose loser is still to be cancelled */
};

struct weir_book {
    struct weir_db *db; /* borrowed */
    int64_t first;      /* execution.no: all before it are in `ended` */
    struct weir_book_stats ended;
    struct weir_book_stats stats; /* as of the last look */
};

void weir_book_init(struct weir_book *self, struct weir_db *db);

/* Read again what may have changed. */
WEIR_CHECKED enum weir_status weir_book_look(struct weir_book *self,
                                             struct weir_error *error);

/* Ways in which the engine can have broken its promise. */
enum weir_book_breach {
    WEIR_BOOK_LOST,       /* orders that were placed and are not there */
    WEIR_BOOK_UNFINISHED, /* executions that have not ended */
    WEIR_BOOK_OPEN,       /* flows that have not */
    WEIR_BOOK_ENDS,       /* orders neither shipped once, nor refused and then skipped */
    WEIR_BOOK_TWICE,      /* executions that succeeded twice */
    WEIR_BOOK_UNDECIDED,  /* joins that were not decided, or against their edges */
    WEIR_BOOK_FIRED,      /* joins after which something began twice */
    WEIR_BOOK_SIBLINGS,   /* carriers that are still to be cancelled */
    WEIR_BOOK_SUSPENDED,  /* suspensions and waitpoints that are open */
    WEIR_BOOK_LEDGER,     /* by how much ledger and counter of the budget differ */
    WEIR_BOOK_BREACH_COUNT
};

/* Count all of them, when nothing moves any more; `placed`: so many orders there should
 * be. */
WEIR_CHECKED enum weir_status weir_book_audit(struct weir_book *self, int64_t placed,
                                              int64_t out[WEIR_BOOK_BREACH_COUNT],
                                              struct weir_error *error);

/* "orders that were lost", and so on. Lives for ever. */
const char *weir_book_breach_text(enum weir_book_breach breach);

#endif
