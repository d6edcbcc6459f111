/*
 * demo_shop.h - the order service of the demo: customers, orders, and a carrier.
 *
 * This is how an application uses weir. Producers place orders, each in a transaction
 * of its own: a row in the shop's table, and a message about it. Some customers change
 * their mind in the middle, and the transaction is rolled back. A handler gives each
 * order to the carrier, which is sometimes busy (the handler answers retry) and never
 * goes to Atlantis (reject: a dead letter).
 *
 *   producer 1..4                          carrier
 *   -------------                          -------
 *   BEGIN
 *   INSERT INTO weir_demo_order ...
 *   weir_enqueue(...)                      ship(message): done, retry or reject
 *   COMMIT, or ROLLBACK                       ^
 *      +---------------- weir ----------------+
 *
 * Everything that is done and seen is entered in the ledger, which compares the two.
 *
 * Threads  The main thread owns it; producers and handlers have their own.
 */
#ifndef WEIR_CLI_DEMO_DEMO_SHOP_H
#define WEIR_CLI_DEMO_DEMO_SHOP_H

#include <stddef.h>
#include <stdint.h>

#include "cli/demo/demo_ledger.h"
#include "weir/outbox.h"

struct weir_shop;

enum { WEIR_SHOP_PRODUCERS = 4, WEIR_SHOP_RATE_MAX = 10000 };

#define WEIR_SHOP_QUEUE "weir-demo"
#define WEIR_SHOP_SUBSCRIPTION "carrier"
#define WEIR_SHOP_TABLE "{p}_demo_order"

struct weir_shop_options {
    struct weir_outbox *outbox; /* borrowed; not started, and without the queue */
    struct weir_ledger *ledger; /* borrowed */
    int64_t rate;               /* orders per second, rolled back ones included */
};

/* Make the queue and begin to deliver; no order is placed yet. Fails as the database
 * does, or with WEIR_NO_MEMORY; *out is then NULL. */
WEIR_CHECKED enum weir_status weir_shop_create(const struct weir_shop_options *options,
                                               struct weir_shop **out,
                                               struct weir_error *error);

/* Close it if need be, and free. NULL is fine. The outbox must be stopped. */
void weir_shop_destroy(struct weir_shop *self);

/* Start the producers. Fails with WEIR_SYSTEM: no thread could be started. */
WEIR_CHECKED enum weir_status weir_shop_open(struct weir_shop *self,
                                             struct weir_error *error);

/* Place no more orders; returns when the last transaction has ended. Twice is
 * harmless. */
void weir_shop_close(struct weir_shop *self);

/* What keeps the producers from placing orders, for now or (WEIR_CLASS_STOP and
 * _REJECT: they have ended) for good. WEIR_OK: nothing. */
enum weir_status weir_shop_trouble(struct weir_shop *self, struct weir_error *out);

/* When it is `trouble`, does it end the shop? */
bool weir_shop_trouble_is_final(enum weir_status trouble);

#endif
