/*
 * outbox.c - the life of an outbox: options, handlers, start and stop.
 *
 * Stopping has an order. First no call begins any more; then the callers get the grace,
 * while all other threads go on, so that leases are renewed and acks stored; then the
 * others end; at last, on the stopping thread, acks that are left are stored and all
 * leases given up. A handler that does not come back keeps its leased partition, and
 * nothing else; its lease runs out.
 */
#include "weir/outbox.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "db/clock.h"
#include "db/db.h"
#include "outbox/audit/audit.h"
#include "outbox/lease/liveness.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/producer.h"
#include "outbox/queue/backlog.h"
#include "outbox/queue/queue_removal.h"
#include "outbox/schema.h"
#include "outbox/tuning.h"
#include "ward/executor.h"
#include "weir/gate.h"
#include "weir/reporter.h"

/* What the workers that are no handlers get to end, beyond the grace: they end after
 * the statement that they are at, and those have a time limit. */
#define INTERNAL_WORKERS_GRACE_NS WEIR_SECONDS(40)
#define INTERNAL_WORKERS_SLICE_NS WEIR_MILLISECONDS(20)
#define HANDLER_RUNNER_GRACE_NS                                                          \
    WEIR_MILLISECONDS(100) /* for one that is between two calls */

const struct weir_report_type weir_outbox_report_type = {"outbox"};

/* ---- making ------------------------------------------------------------------------ */

enum weir_status weir_outbox_migrate(struct weir_db *db, struct weir_error *error)
{
    char why[WEIR_PRODUCER_WHY_SIZE];
    uint32_t from;
    uint32_t to;
    enum weir_status status =
        weir_schema_migrate(&weir_outbox_schema, db, &from, &to, error);

    if (status == WEIR_OK)
        status = weir_producer_make(db, why, error);
    if (status == WEIR_OK && why[0] != '\0')
        weir_log_event(weir_db_log(db), WEIR_LOG_WARNING, "outbox.no_sql_producers",
                       "text=\"%s\"", why);
    return status;
}

static void name_process(struct weir_outbox *self, const char *name)
{
    static _Atomic unsigned outboxes; /* of this process, that were given no name */
    char host[64] = "host";
    unsigned number;

    if (name != NULL) {
        (void)weir_text_format(self->name, sizeof self->name, "%s", name);
        return;
    }
    (void)gethostname(host, sizeof host - 1);
    number = atomic_fetch_add(&outboxes, 1) + 1;
    if (number == 1)
        (void)weir_text_format(self->name, sizeof self->name, "%s:%ld", host,
                               (long)getpid());
    else
        (void)weir_text_format(self->name, sizeof self->name, "%s:%ld#%u", host,
                               (long)getpid(), number);
}

/* Channels know no capitals; that two prefixes share one costs a look now and then. */
static void name_channel(struct weir_outbox *self)
{
    size_t size = weir_text_format(self->channel, sizeof self->channel, "%s_wake",
                                   weir_db_prefix(self->db));

    for (size_t i = 0; i < size; i++)
        self->channel[i] = (char)tolower((unsigned char)self->channel[i]);
}

static enum weir_status open_log(struct weir_outbox *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_schema_check(&weir_outbox_schema, connection, error);
    if (status == WEIR_OK)
        status = weir_outbox_log_open(&self->log, connection, error);
    self->log.cut_pace = &self->cut_pace;
    self->engine = weir_outbox_engine_for(self->db);
    weir_db_release(self->db, connection);
    return status;
}

static void copy_options(struct weir_outbox *self,
                         const struct weir_outbox_options *options)
{
    self->options = *options;
    for (int kind = 0; kind < WEIR_KIND_COUNT; kind++) {
        self->tuning[kind] =
            options->tuning[kind] != NULL
                ? *options->tuning[kind]
                : weir_tuning_of(options->profile, (enum weir_worker_kind)kind);
        self->options.tuning[kind] = &self->tuning[kind];
    }
    name_process(self, options->process_name);
    self->options.process_name = self->name;
}

enum weir_status weir_outbox_create(const struct weir_outbox_options *options,
                                    struct weir_outbox **out, struct weir_error *error)
{
    struct weir_outbox *self;
    enum weir_status status = weir_outbox_options_check(options, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = weir_heap_zalloc(weir_db_heap(options->db), sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "create outbox");
    self->db = options->db;
    self->heap = weir_db_heap(options->db);
    self->own_logger = *weir_db_log(options->db);
    self->logger = &self->own_logger;
    atomic_init(&self->owner, weir_liveness_number());
    atomic_init(&self->alone, false);
    copy_options(self, options);
    name_channel(self);
    status = weir_ack_health_init(&self->acking);
    if (status == WEIR_OK) {
        status = weir_registry_init(&self->registry, self->heap);
        if (status != WEIR_OK)
            weir_ack_health_fini(&self->acking);
    }
    if (status != WEIR_OK) {
        weir_heap_free(self->heap, self);
        return weir_error_set(error, status, "create outbox: no lock");
    }
    status = open_log(self, error);
    if (status == WEIR_OK) {
        *out = self;
        self = NULL;
    } else {
        weir_error_prefix(error, "create outbox");
    }
    weir_outbox_destroy(self);
    return status;
}

static void free_subscriber(const struct weir_outbox *self,
                            struct weir_subscriber *subscriber)
{
    if (subscriber == NULL)
        return;
    weir_heap_free(self->heap, (void *)(uintptr_t)subscriber->queue);
    weir_heap_free(self->heap, (void *)(uintptr_t)subscriber->subscription);
    weir_heap_free(self->heap, subscriber);
}

void weir_outbox_destroy(struct weir_outbox *self)
{
    if (self == NULL)
        return;
    if (self->started)
        self->unfinished += weir_outbox_stop(self, 0);
    weir_registry_fini(&self->registry);
    if (self->unfinished > 0) {
        /* A handler still runs and may look at its subscriber and at us when it
         * returns. */
        weir_log_event(self->logger, WEIR_LOG_WARNING, "outbox.abandoned",
                       "unfinished=%zu", self->unfinished);
        return;
    }
    for (size_t i = 0; i < self->subscriber_count; i++)
        free_subscriber(self, self->subscribers[i]);
    weir_ack_health_fini(&self->acking);
    weir_heap_free(self->heap, self->subscribers);
    weir_heap_free(self->heap, self);
}

void weir_outbox_set_fault_points(struct weir_outbox *self,
                                  struct weir_fault_points *points)
{
    self->points = points;
    self->log.points = points;
}

enum weir_status weir_outbox_connect(struct weir_outbox *self,
                                     struct weir_connection **out,
                                     struct weir_error *error)
{
    enum weir_status status = weir_db_acquire(self->db, out, error);

    if (status != WEIR_OK)
        return status;
    status = weir_outbox_log_check(&self->log, *out, error);
    if (status != WEIR_OK) {
        weir_db_release(self->db, *out);
        *out = NULL;
    }
    return status;
}

/* ---- queues and handlers ----------------------------------------------------------- */

static enum weir_status put_queue(struct weir_outbox *self, enum weir_catalog_put put,
                                  const struct weir_queue_options *options,
                                  struct weir_queue_change *change,
                                  struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    int64_t asked_ns = weir_clock_now_ns();
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    if (status == WEIR_OK)
        status = weir_catalog_put_queue(connection, put, options, &row, change, error);
    if (status == WEIR_OK && row.backlog_max > 0)
        (void)!weir_backlog_prepare(connection, row.id,
                                    NULL); /* the counting process does it too */
    weir_db_release(self->db, connection);
    if (status == WEIR_OK)
        weir_registry_put(&self->registry, options->name, &row, asked_ns);
    return status;
}

static enum weir_status declare_and_add(struct weir_outbox *self,
                                        const struct weir_queue_options *options,
                                        struct weir_queue_change *change,
                                        struct weir_error *error)
{
    enum weir_status status = weir_queue_options_check(options, error);

    if (status == WEIR_OK)
        status = weir_registry_declare(&self->registry, options->name,
                                       options->partitions, error);
    if (status != WEIR_OK)
        return status;
    status = put_queue(self, WEIR_CATALOG_ADD, options, change, error);
    if (status != WEIR_OK)
        weir_registry_undeclare(&self->registry, options->name);
    return status;
}

enum weir_status weir_outbox_add_queue_telling(struct weir_outbox *self,
                                               const struct weir_queue_options *options,
                                               struct weir_queue_change *change,
                                               struct weir_error *error)
{
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->db, NULL, "queue.add", options->name);
    return weir_audit_end(&audit, declare_and_add(self, options, change, error), error);
}

enum weir_status weir_outbox_add_queue(struct weir_outbox *self,
                                       const struct weir_queue_options *options,
                                       struct weir_error *error)
{
    return weir_outbox_add_queue_telling(self, options, NULL, error);
}

enum weir_status weir_outbox_set_queue(struct weir_outbox *self,
                                       const struct weir_queue_options *options,
                                       struct weir_queue_change *change,
                                       struct weir_error *error)
{
    struct weir_queue_options checked = *options;
    struct weir_audit_call audit;
    enum weir_status status;

    weir_audit_begin(&audit, self->db, NULL, "queue.set", options->name);
    if (checked.partitions == 0)
        checked.partitions = 1; /* whatever it has */
    status = weir_queue_options_check(&checked, error);
    if (status == WEIR_OK)
        status = put_queue(self, WEIR_CATALOG_SET, options, change, error);
    return weir_audit_end(&audit, status, error);
}

const struct weir_subscriber *weir_outbox_find_subscriber(const struct weir_outbox *self,
                                                          const char *queue,
                                                          const char *subscription)
{
    for (size_t i = 0; i < self->subscriber_count; i++) {
        if (strcmp(self->subscribers[i]->queue, queue) == 0 &&
            strcmp(self->subscribers[i]->subscription, subscription) == 0)
            return self->subscribers[i];
    }
    return NULL;
}

/* With one writer a second call could only wait for the first, and would keep a thread
 * busy with it. */
static void limit_transactional(const struct weir_outbox *self,
                                struct weir_subscriber *subscriber)
{
    if (subscriber->tuning.batch > WEIR_TRANSACTIONAL_BATCH_MAX)
        subscriber->tuning.batch = WEIR_TRANSACTIONAL_BATCH_MAX;
    if (weir_db_traits(self->db)->one_writer)
        subscriber->permits = 1;
}

static enum weir_status make_subscriber(const struct weir_outbox *self,
                                        const struct weir_handler_options *options,
                                        const char *subscription,
                                        struct weir_subscriber **out)
{
    struct weir_subscriber *subscriber = weir_heap_zalloc(self->heap, sizeof *subscriber);

    *out = subscriber;
    if (subscriber == NULL)
        return WEIR_NO_MEMORY;
    subscriber->queue =
        weir_heap_copy(self->heap, options->queue, strlen(options->queue));
    subscriber->subscription =
        weir_heap_copy(self->heap, subscription, strlen(subscription));
    if (subscriber->queue == NULL || subscriber->subscription == NULL)
        return WEIR_NO_MEMORY;
    subscriber->on_message = options->on_message;
    subscriber->on_batch = options->on_batch;
    subscriber->on_message_tx = options->on_message_tx;
    subscriber->on_batch_tx = options->on_batch_tx;
    subscriber->state = options->state;
    subscriber->permits = options->permits;
    subscriber->tuning =
        options->tuning != NULL ? *options->tuning : self->tuning[WEIR_KIND_LANE];
    subscriber->lease_ns = options->lease.duration_ns;
    subscriber->budget_ns = options->budget_ns != 0
                                ? options->budget_ns
                                : options->lease.duration_ns - options->lease.headroom_ns;
    if (weir_subscriber_is_transactional(subscriber))
        limit_transactional(self, subscriber);
    return WEIR_OK;
}

/* Make the subscription, or find it. */
static enum weir_status subscribe(struct weir_outbox *self,
                                  const struct weir_handler_options *options,
                                  struct weir_subscriber *subscriber,
                                  struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, subscriber->queue, &row, error);
    if (status == WEIR_OK)
        status = weir_catalog_subscribe(
            &self->log, connection, &row, subscriber->subscription, options->serving,
            options->start, &subscriber->subscription_id, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK) {
        subscriber->queue_id = row.id;
        subscriber->partitions = row.partitions;
        subscriber->decided.queue_paused = row.paused;
        subscriber->attempts_max = row.attempts_max;
    }
    return status;
}

static enum weir_status append_subscriber(struct weir_outbox *self,
                                          struct weir_subscriber *subscriber)
{
    struct weir_subscriber **subscribers =
        weir_heap_resize(self->heap, self->subscribers,
                         (self->subscriber_count + 1) * sizeof *subscribers);

    if (subscribers == NULL)
        return WEIR_NO_MEMORY;
    self->subscribers = subscribers;
    self->subscribers[self->subscriber_count++] = subscriber;
    return WEIR_OK;
}

enum weir_status weir_outbox_add_handler(struct weir_outbox *self,
                                         const struct weir_handler_options *options,
                                         struct weir_error *error)
{
    const char *subscription =
        options->subscription != NULL ? options->subscription : "default";
    struct weir_subscriber *subscriber = NULL;
    enum weir_status status = weir_handler_options_check(options, error);

    if (status != WEIR_OK)
        return status;
    if (self->started)
        return weir_error_set(error, WEIR_CLOSED,
                              "handlers are added before the outbox is started");
    if (weir_outbox_find_subscriber(self, options->queue, subscription) != NULL)
        return weir_error_set(error, WEIR_EXISTS,
                              "queue \"%.80s\" has a handler for subscription \"%.80s\" "
                              "already",
                              options->queue, subscription);
    status = make_subscriber(self, options, subscription, &subscriber);
    if (status != WEIR_OK)
        (void)weir_error_set(error, status, "add handler: out of memory");
    if (status == WEIR_OK)
        status = subscribe(self, options, subscriber, error);
    if (status == WEIR_OK) {
        status = append_subscriber(self, subscriber);
        if (status == WEIR_OK)
            subscriber = NULL;
    }
    free_subscriber(self, subscriber);
    return status;
}

/* ---- starting ---------------------------------------------------------------------- */

static uint64_t count_messages(void *state, const struct weir_directive *directive)
{
    const struct weir_outbox_report *report =
        weir_directive_report(directive, &weir_outbox_report_type);

    (void)state;
    return report != NULL ? report->messages : 0;
}

enum weir_status weir_outbox_spawn(struct weir_outbox *self,
                                   const struct weir_outbox_worker_options *options,
                                   struct weir_error *error)
{
    struct weir_worker_options worker = options->worker;
    const struct weir_listener *listeners[2] = {&self->listener, NULL};
    enum weir_status status = WEIR_OK;

    worker.listeners = listeners;
    worker.listener_count = 1;
    worker.on_panic = WEIR_ON_PANIC_RETRY;
    if (self->stats != NULL) {
        status = weir_stats_add(self->stats, options->category, count_messages, NULL,
                                &listeners[1], error);
        worker.listener_count = 2;
    }
    if (status == WEIR_OK)
        status = weir_ward_spawn(options->handler_runner ? self->handler_runners
                                                         : self->internal_workers,
                                 &worker, NULL, error);
    return status;
}

enum weir_status weir_outbox_spawn_maintenance(struct weir_outbox *self, const char *name,
                                               weir_action_fn action, void *state,
                                               enum weir_outbox_notifier_id notifier,
                                               struct weir_error *error)
{
    struct weir_outbox_worker_options options = {.category = name};

    weir_worker_options_init(&options.worker);
    options.worker.name = name;
    options.worker.action = action;
    options.worker.state = state;
    options.worker.notifiers = &self->notifiers[notifier];
    options.worker.notifier_count = 1;
    options.worker.shared = self->shared;
    options.worker.pace = weir_pace_none();
    options.worker.backoff.initial_ns = WEIR_MILLISECONDS(500);
    options.worker.backoff.max_ns = WEIR_SECONDS(60);
    return weir_outbox_spawn(self, &options, error);
}

static enum weir_status make_executor(struct weir_outbox *self, struct weir_error *error)
{
    struct weir_executor_options options;

    if (self->options.executor != NULL) {
        self->executor = self->options.executor;
        return WEIR_OK;
    }
    weir_executor_options_init(&options);
    options.heap = self->heap;
    options.log = *self->logger;
    options.threads = self->options.handlers + self->options.maintenance_guaranteed +
                      self->options.maintenance_shared + 2; /* acker and reporter */
    options.reserve_threads = 3; /* the lease keeper, and the readers (dispatcher.c) */
    if (weir_tx_watchdog_is_needed(self))
        options.reserve_threads++;
    self->own_executor = true;
    return weir_executor_create(&options, &self->executor, error);
}

static enum weir_status make_notifiers(struct weir_outbox *self, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < WEIR_OUTBOX_NOTIFIERS && status == WEIR_OK; i++)
        status = weir_notifier_create(self->executor, &self->notifiers[i]);
    if (status == WEIR_OK)
        status = weir_gate_create(self->executor, self->options.maintenance_guaranteed,
                                  &self->guaranteed, error);
    if (status == WEIR_OK)
        status = weir_gate_create(self->executor, self->options.maintenance_shared,
                                  &self->shared, error);
    return status;
}

static enum weir_status make_wards(struct weir_outbox *self, struct weir_error *error)
{
    enum weir_status status = weir_ward_create(
        self->executor, &(struct weir_ward_options){.name = "outbox.handlers"},
        &self->handler_runners, error);

    if (status == WEIR_OK)
        status = weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "outbox.internal"},
                                  &self->internal_workers, error);
    return status;
}

static enum weir_status make_stats(struct weir_outbox *self, struct weir_error *error)
{
    struct weir_reporter_options options;
    enum weir_status status;

    self->listener = weir_log_listener(self->logger);
    if (self->options.stats_interval_ns == 0)
        return WEIR_OK;
    status = weir_stats_create(self->executor, &self->stats);
    if (status != WEIR_OK)
        return weir_error_set(error, status, "statistics");
    weir_reporter_options_init(&options);
    options.name = "stats-reporter";
    options.ward = self->internal_workers;
    options.stats = self->stats;
    options.log = *self->logger;
    options.interval_ns = self->options.stats_interval_ns;
    options.noops_are_nothing =
        true; /* readers look and the lease keeper beats for ever */
    return weir_reporter_create(&options, &self->reporter, error);
}

static enum weir_status make_partition_table(struct weir_outbox *self,
                                             struct weir_error *error)
{
    struct weir_partition_table_options options = {
        .heap = self->heap,
        .executor = self->executor,
        .memory_max = self->options.memory_max,
        .page_rows = self->tuning[WEIR_KIND_DISPATCHER].batch,
        .ack_pace_ns = weir_db_traits(self->db)->one_writer ? WEIR_OUTBOX_ACK_PACE_NS : 0,
        .work = self->notifiers[WEIR_NOTIFY_WORK],
        .acks = self->notifiers[WEIR_NOTIFY_ACKS],
        .room = {self->notifiers[WEIR_NOTIFY_MAIN],
                 self->notifiers[WEIR_NOTIFY_FOLLOWER]},
        .lease_keeper = self->notifiers[WEIR_NOTIFY_LEASE_KEEPER],
        .points = self->points,
    };
    enum weir_status status =
        weir_partition_table_create(&options, &self->partition_table);

    return status == WEIR_OK ? status : weir_error_set(error, status, "partition table");
}

/* In a simulation there is no thread to listen: the main reader looks by itself
 * instead. */
static enum weir_status make_wake(struct weir_outbox *self, struct weir_error *error)
{
    struct weir_wake_options options;

    if (self->executor->simulated)
        return WEIR_OK;
    weir_wake_options_init(&options);
    options.db = self->db;
    options.notifier = self->notifiers[WEIR_NOTIFY_MAIN];
    options.channel = self->channel;
    options.poll_ns = WEIR_OUTBOX_POLL_NS;
    return weir_wake_start(&options, &self->wake, error);
}

/* The main reader first: there is one connection already, and the first delivery waits
 * for it. The callers last: they use the others. */
static enum weir_status hire(struct weir_outbox *self, struct weir_error *error)
{
    enum weir_status status = weir_dispatcher_spawn(self, WEIR_READER_MAIN, error);

    if (status == WEIR_OK)
        status = weir_tx_watchdog_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_sweeper_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_acker_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_lease_keeper_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_dispatcher_spawn(self, WEIR_READER_FOLLOWER, error);
    if (status == WEIR_OK)
        status = weir_retention_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_publisher_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_handler_runners_spawn(self, error);
    return status;
}

/* Give up everything that start() made. */
static void dismantle(struct weir_outbox *self)
{
    weir_wake_stop(self->wake);
    self->wake = NULL;
    weir_reporter_destroy(self->reporter);
    self->reporter = NULL;
    weir_ward_destroy(self->handler_runners);
    weir_ward_destroy(self->internal_workers);
    self->handler_runners = NULL;
    self->internal_workers = NULL;
    weir_partition_table_destroy(self->partition_table);
    self->partition_table = NULL;
    weir_gate_destroy(self->guaranteed);
    weir_gate_destroy(self->shared);
    self->guaranteed = NULL;
    self->shared = NULL;
    for (int i = 0; i < WEIR_OUTBOX_NOTIFIERS; i++) {
        weir_notifier_destroy(self->notifiers[i]);
        self->notifiers[i] = NULL;
    }
    if (self->unfinished == 0) {
        weir_stats_destroy(self->stats);
        weir_heap_free(self->heap, self->handler_runner_states);
        weir_tx_watchdog_dismiss(self);
        weir_heap_free(self->heap, self->readers[0]);
        weir_heap_free(self->heap, self->readers[1]);
        weir_heap_free(self->heap, self->sweeper);
        weir_heap_free(self->heap, self->retention);
    }
    self->stats = NULL;
    self->handler_runner_states = NULL;
    self->transactions = NULL;
    self->transaction_count = 0;
    self->readers[0] = NULL;
    self->readers[1] = NULL;
    self->sweeper = NULL;
    self->retention = NULL;
    if (self->own_executor)
        weir_executor_destroy(self->executor);
    self->own_executor = false;
    self->executor = NULL;
}

/* A role that only enqueues may not even see what is asked here. */
static enum weir_status vet_log(struct weir_outbox *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = WEIR_OK;

    if (self->subscriber_count == 0)
        return WEIR_OK;
    status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_outbox_log_vet(&self->log, connection, error);
    weir_db_release(self->db, connection);
    return status;
}

enum weir_status weir_outbox_start(struct weir_outbox *self, struct weir_error *error)
{
    enum weir_status status;

    if (self->started)
        return weir_error_set(error, WEIR_EXISTS, "the outbox runs already");
    status = vet_log(self, error);
    if (status == WEIR_OK)
        status = make_executor(self, error);
    if (status == WEIR_OK)
        status = make_notifiers(self, error);
    if (status == WEIR_OK)
        status = make_wards(self, error);
    if (status == WEIR_OK)
        status = make_stats(self, error);
    if (status == WEIR_OK)
        status = make_partition_table(self, error);
    if (status == WEIR_OK)
        status = weir_lease_keeper_arrive(self, error);
    if (status == WEIR_OK)
        status = make_wake(self, error);
    if (status == WEIR_OK) /* the dispatcher knows the wake */
        status = hire(self, error);
    self->started = true;
    if (status != WEIR_OK) {
        (void)weir_outbox_stop(self, 0);
        weir_error_prefix(error, "start outbox");
        return status;
    }
    for (int notifier = 0; notifier < WEIR_OUTBOX_NOTIFIERS; notifier++)
        weir_outbox_notify(self, (enum weir_outbox_notifier_id)notifier);
    return WEIR_OK;
}

/* ---- stopping ---------------------------------------------------------------------- */

/* What the acker did not get to. */
static void store_acks(struct weir_outbox *self)
{
    struct weir_error error;
    size_t count = 1;
    enum weir_status status = WEIR_OK;

    weir_error_clear(&error);
    while (count > 0 && status == WEIR_OK)
        status = weir_acker_flush(self, &count, &error);
    if (status != WEIR_OK)
        weir_log_event(self->logger, WEIR_LOG_WARNING, "outbox.not_acknowledged",
                       "text=\"%s\"", error.text);
}

/*
 * What is left after the grace hangs in a handler, or is between two calls of one and
 * ends at once, or is about to commit or roll back: that is waited for, as for the
 * internal workers. A handler's connection is left to it.
 */
static size_t stop_handler_runners(struct weir_outbox *self, int64_t grace_ns)
{
    size_t unfinished = weir_ward_stop(self->handler_runners, grace_ns);

    if (unfinished > 0)
        unfinished = weir_ward_stop(self->handler_runners, HANDLER_RUNNER_GRACE_NS);
    for (int64_t ns = 0;
         ns < INTERNAL_WORKERS_GRACE_NS && !weir_tx_watchdog_abandon(self);
         ns += INTERNAL_WORKERS_SLICE_NS)
        unfinished = weir_ward_stop(self->handler_runners, INTERNAL_WORKERS_SLICE_NS);
    return unfinished;
}

/* A transactional handler that was left behind keeps all others from writing where there
 * is one writer. */
static bool can_write(const struct weir_outbox *self)
{
    bool left_behind = false;

    for (size_t i = 0; i < self->transaction_count; i++)
        left_behind = left_behind || self->transactions[i].abandoned;
    return !left_behind || !weir_db_traits(self->db)->one_writer;
}

size_t weir_outbox_stop(struct weir_outbox *self, int64_t grace_ns)
{
    size_t unfinished = 0;

    if (!self->started)
        return 0;
    self->started = false;
    if (self->partition_table != NULL)
        weir_partition_table_close(self->partition_table);
    if (self->handler_runners != NULL)
        unfinished = stop_handler_runners(self, grace_ns);
    if (self->internal_workers != NULL)
        unfinished += weir_ward_stop(self->internal_workers, INTERNAL_WORKERS_GRACE_NS);
    if (self->partition_table != NULL && self->lease_keeper != NULL && can_write(self))
        store_acks(self);
    weir_lease_keeper_depart(self, can_write(self) ? WEIR_DEPART_RELEASING
                                                   : WEIR_DEPART_AT_ONCE);
    self->unfinished += unfinished;
    dismantle(self);
    return unfinished;
}

void weir_outbox_notify(struct weir_outbox *self, enum weir_outbox_notifier_id notifier)
{
    if (self->notifiers[notifier] != NULL)
        weir_notifier_notify_one(self->notifiers[notifier]);
}

void weir_outbox_flush(struct weir_outbox *self)
{
    if (self->wake != NULL)
        weir_wake_hint(self->wake);
    else
        weir_outbox_notify(self, WEIR_NOTIFY_MAIN);
    weir_wake_signal(self->db, self->channel);
}

struct weir_stats *weir_outbox_stats(struct weir_outbox *self)
{
    return self->stats;
}

/* ---- operators --------------------------------------------------------------------- */

static void note_paused(struct weir_outbox *self, const char *queue, bool paused)
{
    for (size_t i = 0; i < self->subscriber_count && self->partition_table != NULL; i++) {
        struct weir_subscriber *subscriber = self->subscribers[i];

        if (strcmp(subscriber->queue, queue) == 0)
            weir_partition_table_pause_queue(self->partition_table, subscriber, paused);
    }
}

static enum weir_status set_paused(struct weir_outbox *self, const char *queue,
                                   bool paused, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_audit_call audit;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    weir_audit_begin(&audit, self->db, NULL, paused ? "queue.pause" : "queue.resume",
                     queue);
    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_pause(connection, queue, paused, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK)
        note_paused(self, queue, paused);
    return weir_audit_end(&audit, status, error);
}

enum weir_status weir_outbox_pause_queue(struct weir_outbox *self, const char *queue,
                                         struct weir_error *error)
{
    return set_paused(self, queue, true, error);
}

enum weir_status weir_outbox_resume_queue(struct weir_outbox *self, const char *queue,
                                          struct weir_error *error)
{
    return set_paused(self, queue, false, error);
}

enum weir_status weir_outbox_remove_queue(struct weir_outbox *self, const char *queue,
                                          bool force, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_audit_call audit;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    weir_audit_begin(&audit, self->db, NULL, "queue.remove", queue);
    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_queue_remove(&self->log, connection, queue, force, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK) {
        weir_registry_forget(&self->registry, queue);
        weir_registry_undeclare(&self->registry, queue); /* the name is free again */
        weir_outbox_notify(self, WEIR_NOTIFY_LEASE_KEEPER);
    }
    return weir_audit_end(&audit, status, error);
}
