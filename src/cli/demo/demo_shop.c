/*
 * demo_shop.c - see demo_shop.h; place_order() and ship() are what an application would
 * write.
 *
 * A customer belongs to one producer and is the key of the message. So the orders of a
 * customer are placed one after the other, go to one partition, and must arrive in that
 * order, which the ledger checks.
 */
#include "cli/demo/demo_shop.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/fields.h"
#include "db/connection.h"
#include "ward/lock.h"
#include "ward/system.h"
#include "weir/heap.h"
#include "weir/time.h"

/* Every so many orders something happens. Primes, so that these seldom meet. */
enum { CHANGES_MIND_EVERY = 17, BUSY_EVERY = 401, ATLANTIS_EVERY = 311, BUSY_MAX = 2 };
enum { PAYLOAD_SIZE = 160, PARSED_SIZE_MAX = 64 << 10 };

#define AFTER_TROUBLE WEIR_MILLISECONDS(200)
#define CATCH_UP_MAX WEIR_MILLISECONDS(500) /* of orders that a slow database delayed */
#define LEASE WEIR_SECONDS(5) /* a demo that was killed is forgotten as soon */
#define HEADROOM WEIR_SECONDS(1)
#define RETRY_BASE WEIR_MILLISECONDS(100)
#define RETRY_MAX WEIR_SECONDS(1)

static const char *const CUSTOMERS[WEIR_LEDGER_CUSTOMERS] = {
    "Ada",    "Ben",   "Clara", "David", "Edith", "Felix", "Greta", "Hugo",
    "Ida",    "Jakob", "Klara", "Leo",   "Mia",   "Noah",  "Olga",  "Paul",
    "Quinn",  "Rosa",  "Simon", "Tilda", "Ugo",   "Vera",  "Willi", "Xenia",
    "Yannis", "Zoe",   "Anton", "Berta", "Carl",  "Dora",  "Emil",  "Frida",
};
enum { CITY_COUNT = 5 };
static const char *const CITIES[CITY_COUNT] = {"Bern", "Ghent", "Lund", "Porto", "Turin"};

struct producer {
    struct weir_shop *shop;
    pthread_t thread;
    int32_t customer; /* whose turn it is */
    int64_t due_ns;   /* of the next order */
};

struct weir_shop {
    struct weir_outbox *outbox; /* borrowed */
    struct weir_ledger *ledger; /* borrowed */
    int64_t period_ns;          /* between two orders of one producer */
    struct producer producers[WEIR_SHOP_PRODUCERS];
    size_t started;

    struct weir_lock lock; /* guards all that follows */
    struct weir_cond closing;
    bool closed;
    struct weir_error trouble; /* status WEIR_OK: none */
};

/* One order, and what its transaction needs. */
struct order {
    struct weir_shop *shop;
    int64_t number;
    const char *customer;
    const char *city;
    int64_t total;
    bool changed_mind; /* it was rolled back on purpose */
};

static enum weir_outcome ship(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason);
static void *produce(void *state);

/* By primary key; in the transaction that also enqueues. */
static const struct weir_sql SQL_INSERT_ORDER = {
    .name = "insert order",
    .text = "INSERT INTO " WEIR_SHOP_TABLE
            " (number, customer, total) VALUES ({1}, {2}, {3})",
    .parameters = "iti",
};

/* ---- placing orders ---------------------------------------------------------------- */

/* The whole transaction: a row of the shop's own, and the message about it. Both, or
 * neither. */
static enum weir_status place_order(struct weir_outbox *outbox,
                                    struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct order *order = argument;
    char payload[PAYLOAD_SIZE];
    struct weir_draft message = {
        .key = order->customer,
        .type = "order placed",
        .payload = payload,
    };
    enum weir_status status;

    message.payload_size =
        weir_text_format(payload, sizeof payload,
                         "{\"order\":%" PRId64 ",\"city\":\"%s\",\"total\":%" PRId64 "}",
                         order->number, order->city, order->total);
    status = weir_connection_execute(connection, &SQL_INSERT_ORDER,
                                     VALUES(weir_integer(order->number),
                                            weir_text(weir_str(order->customer)),
                                            weir_integer(order->total)),
                                     NULL, error);
    if (status == WEIR_OK)
        status = weir_enqueue(outbox, connection, WEIR_SHOP_QUEUE, &message, NULL, error);
    if (status != WEIR_OK)
        return status;
    if (order->number % CHANGES_MIND_EVERY == 0) {
        order->changed_mind = true;
        return weir_error_set(error, WEIR_FAILED, "%s does not want it any more",
                              order->customer);
    }
    weir_ledger_stamp(order->shop->ledger, order->number, weir_system_now_ns());
    return WEIR_OK;
}

static void note_trouble(struct weir_shop *self, const struct weir_error *error)
{
    weir_lock_acquire(&self->lock);
    if (!weir_shop_trouble_is_final(self->trouble.status))
        self->trouble = *error;
    weir_lock_release(&self->lock);
}

/* Place one order of this customer, and enter how it ended. */
static enum weir_status serve(struct weir_shop *self, int32_t customer)
{
    const char *name = CUSTOMERS[customer];
    struct order order = {.shop = self, .customer = name};
    struct weir_error error = {0};
    enum weir_status status;

    order.number = weir_ledger_begin(
        self->ledger, customer,
        weir_partition_of_key(name, strlen(name), WEIR_LEDGER_PARTITIONS));
    if (order.number == 0)
        return WEIR_BUSY; /* too many on the way: the shop waits */
    order.city = order.number % ATLANTIS_EVERY == 0 ? "Atlantis"
                                                    : CITIES[order.number % CITY_COUNT];
    order.total = 5 + order.number % 95;

    status = weir_outbox_transact(self->outbox, place_order, &order, &error);
    if (status == WEIR_OK)
        weir_ledger_end(self->ledger, order.number, WEIR_LEDGER_COMMITTED);
    else if (status == WEIR_IN_DOUBT)
        weir_ledger_end(self->ledger, order.number, WEIR_LEDGER_IN_DOUBT);
    else
        weir_ledger_end(self->ledger, order.number, WEIR_LEDGER_ROLLED_BACK);
    if (status != WEIR_OK && order.changed_mind)
        return WEIR_OK;
    if (status == WEIR_OK)
        weir_error_clear(&error); /* of attempts before: the trouble is over */
    note_trouble(self, &error);
    return status;
}

/* Wait for the producer's next order. Returns whether the shop is still open. */
static bool wait_for_turn(struct producer *self, int64_t pause_ns)
{
    struct weir_shop *shop = self->shop;
    int64_t now_ns = weir_system_now_ns();
    bool in_time = true, open;

    self->due_ns += shop->period_ns;
    if (self->due_ns < now_ns - CATCH_UP_MAX)
        self->due_ns = now_ns - CATCH_UP_MAX;
    if (pause_ns > 0)
        self->due_ns = now_ns + pause_ns;

    weir_lock_acquire(&shop->lock);
    while (!shop->closed && in_time)
        in_time = weir_cond_wait_until(&shop->closing, &shop->lock, self->due_ns);
    open = !shop->closed;
    weir_lock_release(&shop->lock);
    return open;
}

static void *produce(void *state)
{
    struct producer *self = state;
    enum weir_status status = WEIR_OK;

    while (wait_for_turn(self, status == WEIR_OK ? 0 : AFTER_TROUBLE)) {
        status = serve(self->shop, self->customer);
        if (weir_shop_trouble_is_final(status))
            break;
        self->customer = (self->customer + WEIR_SHOP_PRODUCERS) % WEIR_LEDGER_CUSTOMERS;
    }
    return NULL;
}

/* ---- the carrier ------------------------------------------------------------------- */

static int32_t find_customer(const char *name)
{
    for (int32_t i = 0; i < WEIR_LEDGER_CUSTOMERS && name != NULL; i++)
        if (strcmp(CUSTOMERS[i], name) == 0)
            return i;
    return -1;
}

/* The number of the order, 0 when it cannot be read; and whether it goes to Atlantis. */
static int64_t read_order(const struct weir_message *message, bool *atlantis)
{
    struct weir_str payload = {message->payload, message->payload_size};
    struct weir_field fields[] = {{.name = "order"}, {.name = "city"}};
    struct weir_error error = {0};
    struct weir_arena arena;
    int64_t number = 0;

    *atlantis = false;
    weir_arena_init(&arena, weir_heap_system(), PARSED_SIZE_MAX);
    if (weir_fields_read(payload, &arena, fields, 2, &error) == WEIR_OK) {
        number = fields[0].text != NULL ? strtoll(fields[0].text, NULL, 10) : 0;
        *atlantis = fields[1].text != NULL && strcmp(fields[1].text, "Atlantis") == 0;
    }
    weir_arena_fini(&arena);
    return number;
}

/* A carrier that is busy is so once or twice for the same order. */
static bool carrier_is_busy(int64_t order, uint32_t attempts)
{
    return order > 0 && order % BUSY_EVERY == 0 &&
           attempts <= order / BUSY_EVERY % BUSY_MAX;
}

/* The handler: weir calls it for each message, in order per partition, until it is
 * done. */
static enum weir_outcome ship(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct weir_shop *self = state;
    struct weir_ledger_arrival arrival = {
        .customer = find_customer(message->key),
        .partition = message->partition,
        .seq = message->seq,
        .attempts = message->attempts,
    };
    enum weir_outcome outcome = WEIR_DONE;
    bool atlantis;

    (void)context;
    arrival.order = read_order(message, &atlantis);
    weir_ledger_arrive(self->ledger, &arrival, weir_system_now_ns());
    if (atlantis)
        outcome = weir_reject(reason, "no carrier goes to Atlantis");
    else if (carrier_is_busy(arrival.order, message->attempts))
        outcome = weir_retry(reason, "the carrier is busy");
    weir_ledger_settle(self->ledger, &arrival, outcome);
    return outcome;
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status begin_delivery(struct weir_shop *self, struct weir_error *error)
{
    struct weir_tuning tuning = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE);
    struct weir_queue_options queue;
    struct weir_handler_options carrier;
    enum weir_status status;

    tuning.retry_base_ns = RETRY_BASE;
    tuning.retry_max_ns = RETRY_MAX;
    weir_queue_options_init(&queue);
    queue.name = WEIR_SHOP_QUEUE;
    queue.partitions = WEIR_LEDGER_PARTITIONS;
    weir_handler_options_init(&carrier);
    carrier.queue = WEIR_SHOP_QUEUE;
    carrier.subscription = WEIR_SHOP_SUBSCRIPTION;
    carrier.on_message = ship;
    carrier.state = self;
    carrier.tuning = &tuning;
    carrier.lease =
        (struct weir_lease_options){.duration_ns = LEASE, .headroom_ns = HEADROOM};
    status = weir_outbox_add_queue(self->outbox, &queue, error);
    if (status == WEIR_OK)
        status = weir_outbox_add_handler(self->outbox, &carrier, error);
    if (status == WEIR_OK)
        status = weir_outbox_start(self->outbox, error);
    return status;
}

enum weir_status weir_shop_create(const struct weir_shop_options *options,
                                  struct weir_shop **out, struct weir_error *error)
{
    struct weir_shop *self = calloc(1, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, NULL);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK)
        goto no_lock;
    status = weir_cond_init(&self->closing);
    if (status != WEIR_OK)
        goto no_cond;

    self->outbox = options->outbox;
    self->ledger = options->ledger;
    self->period_ns = WEIR_SECONDS(WEIR_SHOP_PRODUCERS) / options->rate;
    status = begin_delivery(self, error);
    if (status != WEIR_OK)
        goto no_delivery;
    *out = self;
    return WEIR_OK;

no_delivery:
    weir_cond_fini(&self->closing);
no_cond:
    weir_lock_fini(&self->lock);
no_lock:
    free(self);
    return status;
}

void weir_shop_destroy(struct weir_shop *self)
{
    if (self == NULL)
        return;
    weir_shop_close(self);
    weir_cond_fini(&self->closing);
    weir_lock_fini(&self->lock);
    free(self);
}

enum weir_status weir_shop_open(struct weir_shop *self, struct weir_error *error)
{
    int64_t now_ns = weir_system_now_ns();

    for (int32_t i = 0; i < WEIR_SHOP_PRODUCERS; i++) {
        struct producer *producer = &self->producers[i];

        *producer = (struct producer){
            .shop = self,
            .customer = i,
            /* One after the other, not all at once. */
            .due_ns = now_ns +
                      (i - WEIR_SHOP_PRODUCERS) * self->period_ns / WEIR_SHOP_PRODUCERS,
        };
        if (pthread_create(&producer->thread, NULL, produce, producer) != 0)
            return weir_error_set(error, WEIR_SYSTEM, "cannot start a producer");
        self->started++;
    }
    return WEIR_OK;
}

void weir_shop_close(struct weir_shop *self)
{
    weir_lock_acquire(&self->lock);
    self->closed = true;
    weir_cond_broadcast(&self->closing);
    weir_lock_release(&self->lock);
    while (self->started > 0)
        pthread_join(self->producers[--self->started].thread, NULL);
}

enum weir_status weir_shop_trouble(struct weir_shop *self, struct weir_error *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->trouble;
    weir_lock_release(&self->lock);
    return out->status;
}

bool weir_shop_trouble_is_final(enum weir_status trouble)
{
    enum weir_status_class class = weir_status_class(trouble);

    return class == WEIR_CLASS_REJECT || class == WEIR_CLASS_STOP;
}
