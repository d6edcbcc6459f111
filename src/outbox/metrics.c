/*
 * metrics.c - see weir/metrics.h.
 *
 * Each table below is a list of names with what they count; a new figure is a new line.
 * The subscribers are looked at once, before the first visit, so that all figures of a
 * subscription belong together as far as the partition table's lock can make them.
 */
#include "weir/metrics.h"

#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/outbox.h"

struct family {
    const char *name;
    const char *help;
};

/* ---- what there is ----------------------------------------------------------------- */

static const struct family OF_SUBSCRIBERS[WEIR_METER_ITEMS] = {
    [WEIR_METER_CALLS] = {"weir_outbox_calls_total", "Calls of the handler."},
    [WEIR_METER_DELIVERED] = {"weir_outbox_delivered_messages_total",
                              "Messages given to the handler, each time anew."},
    [WEIR_METER_ACKED] = {"weir_outbox_acked_messages_total",
                          "Messages acknowledged, the rejected ones included."},
    [WEIR_METER_REJECTED] = {"weir_outbox_rejected_messages_total",
                             "Messages rejected and kept as dead letters."},
    [WEIR_METER_GIVEN_UP] = {"weir_outbox_given_up_messages_total",
                             "Messages rejected because they have failed too often."},
    [WEIR_METER_RETRIES] = {"weir_outbox_retries_total",
                            "Calls that left a message to be tried again."},
    [WEIR_METER_REFUSED] =
        {"weir_outbox_refused_acks_total",
         "Acknowledgements refused because another process had the partition."},
    [WEIR_METER_TAKEN] = {"weir_outbox_taken_leases_total", "Partitions taken."},
    [WEIR_METER_LOST] = {"weir_outbox_lost_leases_total",
                         "Partitions lost before they were given up."},
};

static const struct gauge {
    struct family family;
    size_t offset; /* of a size_t in struct weir_partition_table_info */
} OF_LEASED_PARTITIONS[] = {
    {{"weir_outbox_partitions", "Partitions held."},
     offsetof(struct weir_partition_table_info, leased_partitions)},
    {{"weir_outbox_ready_partitions", "Partitions that wait for a handler to be free."},
     offsetof(struct weir_partition_table_info, ready)},
    {{"weir_outbox_running_partitions", "Partitions whose handler runs."},
     offsetof(struct weir_partition_table_info, running)},
    {{"weir_outbox_acking_partitions", "Partitions whose outcome is being stored."},
     offsetof(struct weir_partition_table_info, acking)},
    {{"weir_outbox_retrying_partitions", "Partitions that wait for a retry."},
     offsetof(struct weir_partition_table_info, retrying)},
    {{"weir_outbox_behind_partitions", "Partitions that are read for separately."},
     offsetof(struct weir_partition_table_info, behind)},
    {{"weir_outbox_memory_messages", "Messages in memory."},
     offsetof(struct weir_partition_table_info, messages)},
    {{"weir_outbox_memory_bytes", "Bytes of messages in memory."},
     offsetof(struct weir_partition_table_info, bytes)},
};

static const struct family MEMORY_LIMIT = {"weir_outbox_memory_limit_bytes",
                                           "Bytes of messages that memory may hold."};
static const struct family ENQUEUED = {
    "weir_outbox_enqueued_messages_total",
    "Messages enqueued by this process, whether they were committed or not."};
static const struct family PAGES = {"weir_outbox_read_pages_total",
                                    "Pages of the log read."};
static const struct family ROWS = {"weir_outbox_read_rows_total",
                                   "Rows of the log read."};
static const struct family SWEPT = {"weir_outbox_swept_rows_total",
                                    "Rows removed because all subscriptions have them."};

static const struct family WORKERS = {"weir_worker_count", "Workers."};

static const struct work {
    struct family family;
    enum weir_metric_kind kind;
    size_t offset; /* of a uint64_t in struct weir_stats_row */
    double unit;   /* of that, in the unit of the metric */
} OF_WORKERS[] = {
    {{"weir_worker_runs_total", "Runs that succeeded."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, executions),
     1},
    {{"weir_worker_noops_total", "Runs that succeeded and had nothing to do."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, noops),
     1},
    {{"weir_worker_failures_total", "Runs that failed."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, failures),
     1},
    {{"weir_worker_messages_total",
      "Messages, rows or positions handled, depending on the category."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, messages),
     1},
    {{"weir_worker_run_seconds_total", "Time spent in runs."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, execution_us_total),
     1e-6},
    {{"weir_worker_idle_seconds_total", "Time spent between runs."},
     WEIR_METRIC_COUNTER,
     offsetof(struct weir_stats_row, idle_us_total),
     1e-6},
    {{"weir_worker_longest_run_seconds", "The longest run so far."},
     WEIR_METRIC_GAUGE,
     offsetof(struct weir_stats_row, execution_us_max),
     1e-6},
};

/* ---- visiting ---------------------------------------------------------------------- */

/* A subscriber as it was when reading began. */
struct snapshot {
    const struct weir_subscriber *subscriber;
    uint64_t counts[WEIR_METER_ITEMS];
    struct weir_partition_table_info leased_partitions;
};

struct visit {
    struct weir_outbox *outbox;
    weir_metric_fn visit;
    void *state;
    const char *name_before;      /* of the last visit */
    struct snapshot *subscribers; /* owned */
    size_t subscriber_count;
};

static void tell(struct visit *self, const struct family *family,
                 enum weir_metric_kind kind, const struct weir_metric_label *labels,
                 size_t label_count, double value)
{
    struct weir_metric metric = {
        .name = family->name,
        .help = family->help,
        .kind = kind,
        .begins = self->name_before != family->name,
        .labels = labels,
        .label_count = label_count,
        .value = value,
    };

    self->name_before = family->name;
    self->visit(self->state, &metric);
}

static void tell_with(struct visit *self, const struct family *family,
                      enum weir_metric_kind kind, const char *label, const char *text,
                      double value)
{
    struct weir_metric_label labels[] = {{label, text}};

    tell(self, family, kind, labels, COUNT_OF(labels), value);
}

static void tell_of_subscriber(struct visit *self, const struct family *family,
                               enum weir_metric_kind kind,
                               const struct weir_subscriber *subscriber, double value)
{
    struct weir_metric_label labels[] = {{"queue", subscriber->queue},
                                         {"subscription", subscriber->subscription}};

    tell(self, family, kind, labels, COUNT_OF(labels), value);
}

static enum weir_status look_at_subscribers(struct visit *self, struct weir_error *error)
{
    const struct weir_outbox *outbox = self->outbox;

    self->subscriber_count = outbox->subscriber_count;
    self->subscribers = weir_heap_zalloc_array(outbox->heap, self->subscriber_count + 1,
                                               sizeof *self->subscribers);
    if (self->subscribers == NULL)
        return weir_no_memory(error, "read metrics");
    for (size_t i = 0; i < self->subscriber_count; i++) {
        struct snapshot *snapshot = &self->subscribers[i];

        snapshot->subscriber = outbox->subscribers[i];
        for (int item = 0; item < WEIR_METER_ITEMS; item++)
            snapshot->counts[item] =
                weir_meter_read(&snapshot->subscriber->meter, (enum weir_meter_item)item);
        if (outbox->partition_table != NULL)
            weir_partition_table_read_subscriber(outbox->partition_table,
                                                 snapshot->subscriber,
                                                 &snapshot->leased_partitions);
    }
    return WEIR_OK;
}

static void tell_of_subscribers(struct visit *self)
{
    for (size_t item = 0; item < WEIR_METER_ITEMS; item++) {
        for (size_t i = 0; i < self->subscriber_count; i++)
            tell_of_subscriber(self, &OF_SUBSCRIBERS[item], WEIR_METRIC_COUNTER,
                               self->subscribers[i].subscriber,
                               (double)self->subscribers[i].counts[item]);
    }
    for (size_t gauge = 0; gauge < COUNT_OF(OF_LEASED_PARTITIONS); gauge++) {
        for (size_t i = 0; i < self->subscriber_count; i++) {
            const char *info = (const char *)&self->subscribers[i].leased_partitions;
            const size_t *value =
                (const void *)(info + OF_LEASED_PARTITIONS[gauge].offset);

            tell_of_subscriber(self, &OF_LEASED_PARTITIONS[gauge].family,
                               WEIR_METRIC_GAUGE, self->subscribers[i].subscriber,
                               (double)*value);
        }
    }
}

static void tell_of_queues(struct visit *self)
{
    struct weir_registry *registry = &self->outbox->registry;
    const struct weir_queue_counter *counter = NULL;

    while ((counter = weir_registry_next_counter(registry, counter)) != NULL)
        tell_with(self, &ENQUEUED, WEIR_METRIC_COUNTER, "queue", counter->name,
                  (double)atomic_load(&counter->enqueued));
}

static void tell_of_readers(struct visit *self, const struct family *family,
                            const _Atomic uint64_t *counts)
{
    static const char *const names[] = {
        [WEIR_READER_MAIN] = "main", [WEIR_READER_FOLLOWER] = "follower"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        tell_with(self, family, WEIR_METRIC_COUNTER, "reader", names[i],
                  (double)atomic_load(&counts[i]));
}

static void tell_of_workers(struct visit *self)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count;

    if (self->outbox->stats == NULL)
        return;
    count = weir_stats_read(self->outbox->stats, rows, COUNT_OF(rows));
    for (size_t i = 0; i < count; i++)
        tell_with(self, &WORKERS, WEIR_METRIC_GAUGE, "category", rows[i].category,
                  (double)rows[i].workers);
    for (size_t k = 0; k < COUNT_OF(OF_WORKERS); k++) {
        const struct work *work = &OF_WORKERS[k];

        for (size_t i = 0; i < count; i++) {
            const char *row = (const char *)&rows[i];
            const uint64_t *value = (const void *)(row + work->offset);

            tell_with(self, &work->family, work->kind, "category", rows[i].category,
                      (double)*value * work->unit);
        }
    }
}

enum weir_status weir_outbox_read_metrics(struct weir_outbox *self, weir_metric_fn visit,
                                          void *state, struct weir_error *error)
{
    struct visit all = {.outbox = self, .visit = visit, .state = state};
    enum weir_status status = look_at_subscribers(&all, error);

    if (status != WEIR_OK)
        return status;
    tell_of_subscribers(&all);
    tell(&all, &MEMORY_LIMIT, WEIR_METRIC_GAUGE, NULL, 0,
         (double)self->options.memory_max);
    tell_of_queues(&all);
    tell_of_readers(&all, &PAGES, self->pages_read);
    tell_of_readers(&all, &ROWS, self->rows_read);
    tell(&all, &SWEPT, WEIR_METRIC_COUNTER, NULL, 0,
         (double)atomic_load(&self->rows_swept));
    tell_of_workers(&all);
    weir_heap_free(self->heap, all.subscribers);
    return WEIR_OK;
}

const char *weir_metric_kind_text(enum weir_metric_kind kind)
{
    return kind == WEIR_METRIC_COUNTER ? "counter" : "gauge";
}
