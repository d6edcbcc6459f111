/*
 * order_deliver.c - a process that delivers, stops when it is asked to, and begins anew.
 */
#include "crash/order/order_shared.h"
#include "outbox/outbox.h"
#include "weir/outbox.h"

const char *const ORDER_SUBSCRIPTIONS[DELIVERY_AUDIT_STREAMS] = {"default", "audit"};

struct reader {
    struct order_run *run;
    int stream;
};

/* Slow for a while, and once in a while it fails, before or after it has done its
 * work. */
static bool handle(const struct reader *self, const struct weir_message *message)
{
    struct order_run *run = self->run;
    uint64_t luck = rig_mix(run->options->seed ^ (uint64_t)message->seq << 16 ^
                            (uint64_t)message->partition << 8 ^
                            (uint64_t)message->attempts << 4 ^ (uint64_t)self->stream) %
                    3000;

    if (atomic_load(&run->shared->slow[self->stream]) == message->partition)
        rig_rest_us(30000);
    if (luck == 0)
        return false;
    delivery_audit_deliver(run->delivery_audit, self->stream, message->partition,
                           message->seq, message->payload, message->payload_size);
    return luck != 1;
}

static enum weir_outcome handle_batch(struct weir_context *context, void *state,
                                      struct weir_batch *batch,
                                      struct weir_reason *reason)
{
    const struct weir_message *message;
    struct weir_error error;

    (void)context;
    while (!weir_batch_stopped(batch) && (message = weir_batch_next(batch)) != NULL) {
        if (!handle(state, message) || weir_batch_ack(batch, &error) != WEIR_OK)
            return weir_retry(reason, "not now");
    }
    return weir_batch_processed(batch) < weir_batch_count(batch)
               ? weir_retry(reason, "stopped")
               : WEIR_DONE;
}

static enum weir_outcome handle_message(struct weir_context *context, void *state,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    (void)context;
    return handle(state, message) ? WEIR_DONE : weir_retry(reason, "not now");
}

static void add_handler(struct order_run *run, struct weir_outbox *outbox,
                        struct reader *reader)
{
    struct weir_tuning tuning =
        weir_tuning_of(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_LANE);
    struct weir_handler_options options;
    struct weir_error error;

    weir_error_clear(&error);
    tuning.retry_base_ns = WEIR_MILLISECONDS(5);
    tuning.retry_max_ns = WEIR_MILLISECONDS(50);
    weir_handler_options_init(&options);
    options.queue = ORDER_QUEUE;
    options.subscription = ORDER_SUBSCRIPTIONS[reader->stream];
    if (reader->stream == ORDER_DEFAULT)
        options.on_batch = handle_batch;
    else
        options.on_message = handle_message;
    options.state = reader;
    options.tuning = &tuning;
    options.lease.duration_ns = WEIR_SECONDS(2); /* waited for after a kill */
    options.lease.headroom_ns = WEIR_MILLISECONDS(500);
    order_must(run, "add handler", weir_outbox_add_handler(outbox, &options, &error),
               &error);
}

/* From create to destroy, until asked to stop. */
static void deliver_for_a_while(struct order_run *run, uint32_t number,
                                struct weir_db *db)
{
    struct order_shared *shared = run->shared;
    struct weir_tuning sweep =
        weir_tuning_of(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_SWEEP);
    struct reader readers[DELIVERY_AUDIT_STREAMS] = {{run, ORDER_DEFAULT},
                                                     {run, ORDER_AUDIT}};
    uint32_t stop = atomic_load(&shared->stop[number]);
    struct weir_outbox *outbox = NULL;
    struct weir_outbox_options options;
    struct weir_error error;

    weir_error_clear(&error);
    sweep.idle_ns = WEIR_MILLISECONDS(100);
    weir_outbox_options_init(&options);
    options.db = db;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.memory_max = 2 * 1024 * 1024;
    options.stats_interval_ns = 0;
    order_must(run, "create", weir_outbox_create(&options, &outbox, &error), &error);
    weir_outbox_set_fault_points(outbox, &shared->rig.points);
    add_handler(run, outbox, &readers[ORDER_DEFAULT]);
    if (number == 0)
        add_handler(run, outbox, &readers[ORDER_AUDIT]);
    order_must(run, "start", weir_outbox_start(outbox, &error), &error);
    while (!rig_must_leave(&run->rig) && atomic_load(&shared->stop[number]) == stop)
        rig_rest_us(5000);
    if (weir_outbox_stop(outbox, WEIR_SECONDS(20)) != 0)
        rig_give_up(&run->rig, "a deliverer did not stop");
    weir_outbox_destroy(outbox);
}

void order_deliver(struct order_run *run, uint32_t number)
{
    struct weir_db *db = rig_open_db(&run->rig);

    while (!rig_must_leave(&run->rig)) {
        deliver_for_a_while(run, number, db);
        atomic_store(&run->shared->stopped[number],
                     atomic_load(&run->shared->stop[number]));
    }
    weir_db_destroy(db);
}
