/*
 * demo_orders.h - the order workflow of `weir demo --flow`: this is how an application
 * uses flows.
 *
 *                                            +-> north -+
 *   reserve --> charge --> approve ----------+          +--> ship
 *                  |          |              +-> south -+
 *            a budget of   suspended until     the first carrier that is there takes it,
 *            calls to the  a signal has        the other one is cancelled
 *            bank          said yes or no
 *
 * A clerk in the main process places orders, each a flow of six executions, and answers
 * the letters in which the workers ask for approval. The steps are done in processes of
 * their own (demo_steps.c, demo_worker_pool.h). Some orders are refused: what follows
 * is skipped. The bank is sometimes busy: the step is tried again.
 *
 * Threads  The main thread owns it; the clerk has one of its own.
 */
#ifndef WEIR_CLI_DEMO_DEMO_ORDERS_H
#define WEIR_CLI_DEMO_DEMO_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/demo/demo_worker_pool.h"
#include "weir/executions.h"

struct weir_orders;

enum weir_demo_step {
    WEIR_STEP_RESERVE,
    WEIR_STEP_CHARGE,
    WEIR_STEP_APPROVE,
    WEIR_STEP_NORTH,
    WEIR_STEP_SOUTH,
    WEIR_STEP_SHIP,
    WEIR_STEP_COUNT
};

/* Their kinds, by step. */
extern const char *const WEIR_STEP_NAMES[WEIR_STEP_COUNT];

#define WEIR_ORDERS_LANE "orders"
#define WEIR_ORDERS_FLOW "order"
#define WEIR_ORDERS_BUDGET "bank"
#define WEIR_ORDERS_CALLS "calls" /* what the budget counts */
#define WEIR_ORDERS_WAITPOINT "boss"
#define WEIR_ORDERS_LETTERS "{p}_demo_letter"

enum {
    WEIR_ORDERS_RATE_DEFAULT = 10,
    WEIR_ORDERS_RATE_MAX = 50,
    WEIR_ORDERS_REFUSED_EVERY = 11,
    WEIR_ORDERS_BUSY_EVERY = 7
};

struct weir_orders_options {
    struct weir_db *db;                 /* borrowed; has the tables of the engine */
    struct weir_executions *executions; /* borrowed */
    int64_t rate; /* orders per second, as long as not too many are on the way */
};

/* The bank takes so many calls a second: fewer than orders are placed. */
int64_t weir_orders_calls(int64_t rate);

/* Make the table of letters and the budget. Fails as the database does; *out is then
 * NULL. */
WEIR_CHECKED enum weir_status
weir_orders_create(const struct weir_orders_options *options, struct weir_orders **out,
                   struct weir_error *error);

/* The clerk goes home; then free. NULL is fine. */
void weir_orders_destroy(struct weir_orders *self);

/* The clerk begins. Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_orders_open(struct weir_orders *self,
                                               struct weir_error *error);

/* No more orders are placed; returns when the last one is. Letters are answered all the
 * same. */
void weir_orders_close(struct weir_orders *self);

/* How many were placed; and takes how many have ended, so that not too many are on
 * the way. */
int64_t weir_orders_placed(struct weir_orders *self);
void weir_orders_note_ended(struct weir_orders *self, int64_t ended);

/* What keeps the clerk, as long as it does. WEIR_OK: nothing. */
enum weir_status weir_orders_trouble(struct weir_orders *self, struct weir_error *out);

/* A worker: a weir_worker_pool_fn. */
enum weir_worker_pool_end weir_steps_work(const char *url, uint32_t number, int life);

#endif
