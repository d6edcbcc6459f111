/*
 * relay.c - see weir/relay.h.
 *
 * The relay belongs to its opener and to each delivery that runs.
 * weir_outbox_stop() may have to leave a delivery behind (a disk that does not answer);
 * then close() does not wait for it, and the last one out frees everything.
 */
#include "weir/relay.h"

#include <stdatomic.h>
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/permissions.h"
#include "outbox/delivery/batch.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "sink/sink.h"
#include "weir/inspect.h"

static const char DEFAULT_NAME[] = "default";

struct weir_relay {
    const struct weir_heap *heap; /* borrowed: the outbox's */
    struct weir_outbox *outbox;   /* borrowed */
    struct weir_sink *sink;       /* owned */
    char *queue;                  /* owned */
    char *as;                     /* owned */
    const struct weir_subscriber
        *subscriber;        /* borrowed: the outbox's, which counts what is stored */
    _Atomic uint32_t holds; /* the owner, and deliveries that run */
};

static void drop_hold(struct weir_relay *self)
{
    const struct weir_heap *heap = self->heap;

    if (atomic_fetch_sub(&self->holds, 1) != 1)
        return;
    weir_sink_close(self->sink);
    weir_heap_free(heap, self->queue);
    weir_heap_free(heap, self->as);
    weir_heap_free(heap, self);
}

/* What a sink has not acked was not delivered, whatever it answers: `cut_short` keeps
 * the outbox from taking "done" for all of it. */
static enum weir_outcome deliver(struct weir_context *context, void *state,
                                 struct weir_batch *batch, struct weir_reason *reason)
{
    struct weir_relay *self = state;
    enum weir_outcome outcome;

    (void)context;
    atomic_fetch_add(&self->holds, 1);
    outcome = weir_sink_deliver(self->sink, batch, reason);
    batch->cut_short = batch->processed < batch->count;
    drop_hold(self);
    return outcome;
}

void weir_relay_options_init(struct weir_relay_options *self)
{
    struct weir_handler_options handler;
    struct weir_sink_options sink;

    weir_handler_options_init(&handler);
    weir_sink_options_init(&sink);
    *self = (struct weir_relay_options){.start = handler.start,
                                        .lease = handler.lease,
                                        .stop_grace_ns = sink.stop_grace_ns,
                                        .permissions = sink.permissions};
}

/* What add_handler() would refuse, before the sink has made a file. */
static enum weir_status check_subscription(const struct weir_relay *self,
                                           struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    enum weir_status status = weir_queue_name_check("queue name", self->queue, error);

    if (status == WEIR_OK)
        status = weir_queue_name_check("subscription name", self->as, error);
    if (status == WEIR_OK)
        status = weir_outbox_connect(outbox, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, self->queue, &row, error);
    if (status == WEIR_OK)
        status = weir_catalog_check_serving(connection, &row, self->as,
                                            WEIR_SERVED_BY_SINK, error);
    weir_db_release(outbox->db, connection);
    return status;
}

static enum weir_status open_sink(struct weir_relay *self,
                                  const struct weir_relay_options *options,
                                  struct weir_error *error)
{
    struct weir_sink_options sink;

    weir_sink_options_init(&sink);
    sink.heap = self->heap;
    sink.log = self->outbox->logger;
    sink.points = self->outbox->points;
    sink.stop_grace_ns = options->stop_grace_ns;
    if (options->permissions != 0)
        sink.permissions = options->permissions;
    if (!weir_permissions_are_valid(sink.permissions))
        return weir_error_set(error, WEIR_INVALID,
                              "permissions are %#o, " WEIR_PERMISSIONS_RULE,
                              (unsigned)sink.permissions);
    return weir_sink_open(options->sink, &sink, &self->sink, error);
}

static enum weir_status add_handler(struct weir_relay *self,
                                    const struct weir_relay_options *options,
                                    struct weir_error *error)
{
    struct weir_tuning tuning = self->outbox->tuning[WEIR_KIND_LANE];
    uint32_t batch = options->batch != 0 ? options->batch : weir_sink_batch(self->sink);
    struct weir_handler_options handler;
    enum weir_status status;

    weir_handler_options_init(&handler);
    handler.queue = self->queue;
    handler.subscription = self->as;
    handler.start = options->start;
    handler.serving = WEIR_SERVED_BY_SINK;
    handler.on_batch = deliver;
    handler.state = self;
    handler.permits = options->permits;
    handler.lease = options->lease;
    if (batch != 0) {
        tuning.batch = batch;
        handler.tuning = &tuning;
    }
    status = weir_outbox_add_handler(self->outbox, &handler, error);
    if (status == WEIR_OK)
        self->subscriber =
            weir_outbox_find_subscriber(self->outbox, self->queue, self->as);
    return status;
}

enum weir_status weir_relay_open(struct weir_outbox *outbox,
                                 const struct weir_relay_options *options,
                                 struct weir_relay **out, struct weir_error *error)
{
    const char *as = options->as != NULL ? options->as : DEFAULT_NAME;
    struct weir_relay *self;
    enum weir_status status;

    *out = NULL;
    if (options->queue == NULL || options->sink == NULL)
        return weir_error_set(error, WEIR_INVALID, "relay: %s must be given",
                              options->queue == NULL ? "queue" : "sink");
    self = weir_heap_zalloc(outbox->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "relay");
    self->heap = outbox->heap;
    self->outbox = outbox;
    atomic_init(&self->holds, 1);
    self->queue = weir_heap_copy(self->heap, options->queue, strlen(options->queue));
    self->as = weir_heap_copy(self->heap, as, strlen(as));
    status = self->queue != NULL && self->as != NULL ? check_subscription(self, error)
                                                     : weir_no_memory(error, "relay");
    if (status == WEIR_OK)
        status = open_sink(self, options, error);
    if (status == WEIR_OK)
        status = add_handler(self, options, error);
    if (status == WEIR_OK)
        *out = self;
    else
        drop_hold(self);
    return status;
}

void weir_relay_close(struct weir_relay *self)
{
    if (self == NULL)
        return;
    weir_sink_halt(self->sink);
    drop_hold(self);
}

/* ---- reading ----------------------------------------------------------------------- */

struct remainder {
    const char *subscription;
    int64_t waiting;
    bool exact;
};

static void add_up(void *state, const struct weir_partition_info *info)
{
    struct remainder *remainder = state;

    if (strcmp(info->subscription, remainder->subscription) != 0)
        return;
    remainder->waiting += info->waiting;
    if (info->waiting_is_estimate)
        remainder->exact = false;
}

enum weir_status weir_relay_read_waiting(struct weir_relay *self, int64_t *waiting,
                                         bool *exact, struct weir_error *error)
{
    struct remainder remainder = {.subscription = self->as, .exact = true};
    enum weir_status status =
        weir_outbox_read_partitions(self->outbox, self->queue, add_up, &remainder, error);

    *waiting = remainder.waiting;
    *exact = remainder.exact;
    return status;
}

enum weir_status weir_relay_read_drained(struct weir_relay *self, bool *drained,
                                         struct weir_error *error)
{
    return weir_outbox_read_drained(self->outbox, self->queue, self->as, drained, error);
}

uint64_t weir_relay_delivered(const struct weir_relay *self)
{
    return weir_meter_read(&self->subscriber->meter, WEIR_METER_ACKED);
}

uint64_t weir_relay_rejected(const struct weir_relay *self)
{
    return weir_meter_read(&self->subscriber->meter, WEIR_METER_REJECTED);
}

uint64_t weir_relay_given_up(const struct weir_relay *self)
{
    return weir_meter_read(&self->subscriber->meter, WEIR_METER_GIVEN_UP);
}

void weir_relay_read_health(struct weir_relay *self, struct weir_relay_health *out)
{
    struct weir_sink_health health;

    weir_sink_read_health(self->sink, &health);
    out->status = health.status;
    memcpy(out->text, health.text, sizeof out->text);
    if (out->status == WEIR_OK)
        out->status = weir_ack_health_read(&self->outbox->acking, out->text);
}

const char *weir_relay_name(const struct weir_relay *self)
{
    return weir_sink_name(self->sink);
}
