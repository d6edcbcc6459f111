/*
 * budget_store.h - budgets in their tables.
 *
 *   budget  one row: when it is reset, and how often it was exceeded
 *   usage   its dimensions: what is used of each, and the limits
 *   spent   the ledger: what each execution has used, by the era in which it did. A row
 *           with an empty dimension says that the execution is charged to the budget;
 *           its amount is 1 while it waits for it
 *
 * A transaction that writes any of them has the budget's row locked, after executions if
 * there are any.
 *
 * Threads  The holder of the connection.
 * Memory   What is read lives in the caller's arena; texts end in a zero.
 */
#ifndef WEIR_EXECUTION_BUDGET_BUDGET_STORE_H
#define WEIR_EXECUTION_BUDGET_BUDGET_STORE_H

#include "base/arena.h"
#include "base/md5.h"
#include "db/connection.h"
#include "weir/budget.h"

struct weir_budget_row {
    int64_t no;
    struct weir_str name;
    struct weir_str scope_type;
    struct weir_str scope;
    int64_t period_us;
    int64_t next_reset_us; /* 0: none */
    int64_t era;           /* grows with each reset */
    int64_t hard_breaches;
    int64_t soft_breaches;
    int64_t breached_us;
    int64_t created_us;
    struct weir_str breached; /* the dimension */
    uint16_t hash;            /* of its name, for walks by partition */
};

struct weir_usage_row {
    struct weir_str dimension;
    int64_t used;
    int64_t hard;
    int64_t soft;
};

struct weir_usage_rows {
    struct weir_usage_row *rows; /* by dimension */
    size_t count;
};

struct weir_budget_rows {
    struct weir_budget_row *rows;
    size_t count;
};

/* ---- budgets ----------------------------------------------------------------------- */

/* *added: false when there is one of that name. */
WEIR_CHECKED enum weir_status weir_budget_insert(struct weir_connection *connection,
                                                 const struct weir_budget_row *row,
                                                 bool *added, struct weir_error *error);

enum weir_budget_lock { WEIR_BUDGET_UNLOCKED, WEIR_BUDGET_LOCKED };

/* WEIR_NO_ROW: there is none. */
WEIR_CHECKED enum weir_status
weir_budget_find(struct weir_connection *connection, struct weir_str name,
                 enum weir_budget_lock lock, struct weir_arena *arena,
                 struct weir_budget_row *out, struct weir_error *error);

/* All but name, scope and time of creation. */
WEIR_CHECKED enum weir_status weir_budget_write(struct weir_connection *connection,
                                                const struct weir_budget_row *row,
                                                struct weir_error *error);

/* By name, behind `after`. */
WEIR_CHECKED enum weir_status weir_budget_page(struct weir_connection *connection,
                                               struct weir_str after, size_t limit,
                                               struct weir_arena *arena,
                                               struct weir_budget_rows *out,
                                               struct weir_error *error);

/* Those to be reset until then, by number; not locked. */
WEIR_CHECKED enum weir_status weir_budget_due(struct weir_connection *connection,
                                              int64_t now_us, size_t limit,
                                              struct weir_arena *arena,
                                              struct weir_budget_rows *out,
                                              struct weir_error *error);

/* The first reset after `after_us`; INT64_MAX: none. With the database's clock. */
WEIR_CHECKED enum weir_status weir_budget_next_due(struct weir_connection *connection,
                                                   int64_t after_us, int64_t *due_us,
                                                   int64_t *now_us,
                                                   struct weir_error *error);

/* Nothing is used of it from now on, and what was spent before does not count any more.
 * Locked. */
WEIR_CHECKED enum weir_status weir_budget_clear(struct weir_connection *connection,
                                                struct weir_budget_row *row,
                                                struct weir_error *error);

/* Reports that came before. *before: this key was used, and for the same: else
 * WEIR_MISMATCH. */
WEIR_CHECKED enum weir_status weir_budget_find_key(struct weir_connection *connection,
                                                   int64_t budget, struct weir_str key,
                                                   int64_t now_us,
                                                   const uint8_t digest[WEIR_MD5_SIZE],
                                                   bool *before,
                                                   struct weir_error *error);
WEIR_CHECKED enum weir_status weir_budget_keep_key(struct weir_connection *connection,
                                                   int64_t budget, struct weir_str key,
                                                   int64_t until_us,
                                                   const uint8_t digest[WEIR_MD5_SIZE],
                                                   struct weir_error *error);

/* ---- usage ------------------------------------------------------------------------- */

WEIR_CHECKED enum weir_status weir_usage_read(struct weir_connection *connection,
                                              int64_t budget, struct weir_arena *arena,
                                              struct weir_usage_rows *out,
                                              struct weir_error *error);

/* Limits of a dimension, which is made if need be. */
WEIR_CHECKED enum weir_status weir_usage_limit(struct weir_connection *connection,
                                               int64_t budget, struct weir_str dimension,
                                               int64_t hard, int64_t soft,
                                               struct weir_error *error);

/* What is used of a dimension, which is made if need be. */
WEIR_CHECKED enum weir_status weir_usage_set(struct weir_connection *connection,
                                             int64_t budget, struct weir_str dimension,
                                             int64_t used, struct weir_error *error);
WEIR_CHECKED enum weir_status weir_usage_clear(struct weir_connection *connection,
                                               int64_t budget, struct weir_error *error);

/* ---- ledger ------------------------------------------------------------------------ */

/* `no` 0: of no execution. What is there from an earlier era is gone. */
WEIR_CHECKED enum weir_status weir_spent_add(struct weir_connection *connection,
                                             int64_t no, int64_t budget,
                                             struct weir_str dimension, int64_t amount,
                                             int64_t era, struct weir_error *error);

/* As usage rows, of which `used` counts. */
WEIR_CHECKED enum weir_status weir_spent_read(struct weir_connection *connection,
                                              int64_t no, int64_t budget, int64_t era,
                                              struct weir_arena *arena,
                                              struct weir_usage_rows *out,
                                              struct weir_error *error);
WEIR_CHECKED enum weir_status weir_spent_remove(struct weir_connection *connection,
                                                int64_t no, int64_t budget,
                                                struct weir_error *error);

/* ---- executions that are charged --------------------------------------------------- */

WEIR_CHECKED enum weir_status weir_budget_charge(struct weir_connection *connection,
                                                 int64_t no, int64_t budget,
                                                 struct weir_error *error);

/* Those of this execution, by name. */
WEIR_CHECKED enum weir_status weir_budget_read_charged(struct weir_connection *connection,
                                                       int64_t no,
                                                       struct weir_arena *arena,
                                                       struct weir_budget_rows *out,
                                                       struct weir_error *error);

/* A budget of this execution that has a limit which is reached: 0: none has. */
WEIR_CHECKED enum weir_status weir_budget_exceeded(struct weir_connection *connection,
                                                   int64_t no, int64_t *budget,
                                                   struct weir_error *error);

/* Lock all such budgets of these executions, in the order of their numbers: a transaction
 * that locks several one by one would meet others that lock in another order. */
WEIR_CHECKED enum weir_status
weir_budgets_lock_exceeded(struct weir_connection *connection,
                           const struct weir_heap *heap, const int64_t *nos, size_t count,
                           struct weir_error *error);

/* The same for this one budget, whose row is then locked. */
WEIR_CHECKED enum weir_status
weir_budget_lock_exceeded(struct weir_connection *connection, int64_t budget,
                          bool *exceeded, struct weir_error *error);
WEIR_CHECKED enum weir_status weir_budget_wait(struct weir_connection *connection,
                                               int64_t no, int64_t budget, bool waits,
                                               struct weir_error *error);

/* Executions that wait for a budget of which no limit is reached, each with its
 * budget. */
struct weir_budget_waiter {
    int64_t no;
    struct weir_execution_id id; /* 0: it is gone */
    int64_t budget;
};
struct weir_budget_waiters {
    struct weir_budget_waiter *rows;
    size_t count;
};
WEIR_CHECKED enum weir_status weir_budget_waiters(struct weir_connection *connection,
                                                  size_t limit, struct weir_arena *arena,
                                                  struct weir_budget_waiters *out,
                                                  struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_budget_count_waiters(struct weir_connection *connection, int64_t budget,
                          int64_t limit, int64_t *out, struct weir_error *error);

#endif
