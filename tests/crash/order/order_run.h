/*
 * order_run.h - a queue under load: writers, deliverers and disturbances, and the
 * verdict.
 *
 *   writers        processes with one connection each: short, long, late-inserting,
 *                  rolled-back and very large transactions
 *   deliverers     two processes that share the subscription "default"; one of them
 *                  also serves "audit", which gets everything too
 *   disturbances   handlers that are slow or fail, deliverers that stop and start again
 *                  or are killed and replaced, lulls in which everything is delivered
 *                  and swept; or the server is killed and restarted
 *
 * All choices come from the seed. What happens at the same time does not: a seed makes a
 * violation likely to come again, not sure.
 *
 * Threads  The test's main thread, without any other: it forks.
 */
#ifndef WEIR_TEST_ORDER_RUN_H
#define WEIR_TEST_ORDER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "crash/rig/delivery_audit.h"
#include "kit/db/engines.h"

struct order_options {
    uint64_t seed;
    int64_t messages; /* committed, about; the end of a transaction is waited for */
    int64_t large;    /* messages of a very large transaction */
    uint32_t writers;
    uint32_t cutters;  /* more processes that cut */
    uint32_t sweepers; /* and that sweep all the time; up to 8 of both */
    bool in_sql;       /* every second writer enqueues by weir_enqueue() of SQL */
    bool calm;         /* deliverers are neither stopped nor killed */
    uint32_t
        outages; /* so often; the server is the test's own, and deliverers are calm */
    void (*outage)(void *argument); /* makes one; NULL: kill the server, and restart it */
    void *outage_argument;
    bool lulls;         /* and the sweep has removed everything before writing goes on */
    const char *linger; /* and one where some of those who pass rest for a while */
    int64_t
        wait_limit_ns; /* without any delivery, before what is missing counts as lost */
};

struct order_result {
    struct delivery_audit_verdict verdict;
    int64_t removed;  /* rows that are gone from the log; PostgreSQL: ids without row */
    int64_t emptied;  /* segments it has truncated; PostgreSQL */
    int64_t aside;    /* rows that were set aside */
    uint32_t stopped; /* deliverers, and started again */
    uint32_t killed;
    uint32_t lulls;
    uint32_t outages;
    int64_t took_ns;
};

/* `messages` of 8 writers, with all disturbances. Some seeds have a sweeper too. */
void order_options_init(struct order_options *self, uint64_t seed, int64_t messages);

/* The fixture's database is migrated and its queue does not exist yet. Fails the test
 * only when something else than the order goes wrong. */
void order_run(struct fixture *fixture, const struct order_options *options,
               struct order_result *out);

/* One line of figures, and the first violation if there is one, as comments of the
 * test. */
void order_print(const struct fixture *fixture, const struct order_options *options,
                 const struct order_result *result);

#endif
