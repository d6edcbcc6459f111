/*
 * executions.c - the life cycle of an execution engine, and which commit wakes which
 * call.
 *
 * Nothing runs in here until a call waits: then one thread listens for commits of
 * other processes (db/wake.h). In a simulation there is no such thread, and waiting
 * calls look once a second.
 */
#include "execution/executions.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "base/utf8.h"
#include "db/db.h"
#include "execution/events.h"
#include "execution/schema.h"
#include "ward/context.h"

enum { PARTITIONS_MAX = 65535 };

void weir_executions_options_init(struct weir_executions_options *self)
{
    *self =
        (struct weir_executions_options){.partitions = WEIR_EXECUTION_PARTITIONS_DEFAULT};
}

static enum weir_status check_options(const struct weir_executions_options *options,
                                      struct weir_error *error)
{
    if (options->db == NULL)
        return weir_error_set(error, WEIR_INVALID, "db is NULL, must be a database");
    if (options->partitions < 1 || options->partitions > PARTITIONS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "partitions is %" PRIu32 ", must be from 1 to %d",
                              options->partitions, PARTITIONS_MAX);
    return WEIR_OK;
}

static enum weir_status check_schema(struct weir_executions *self,
                                     struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_schema_check(&weir_executions_schema, connection, error);
    weir_db_release(self->db, connection);
    return status;
}

static enum weir_status init_locks(struct weir_executions *self, struct weir_error *error)
{
    enum weir_status status = weir_claim_waiters_init(&self->claim_waiters);

    if (status == WEIR_OK) {
        status = weir_floors_init(&self->floors);
        if (status != WEIR_OK)
            weir_claim_waiters_fini(&self->claim_waiters);
    }
    if (status == WEIR_OK) {
        status = weir_lock_init(&self->lock);
        if (status != WEIR_OK) {
            weir_floors_fini(&self->floors);
            weir_claim_waiters_fini(&self->claim_waiters);
        }
    }
    if (status != WEIR_OK)
        (void)weir_error_set(error, status, "no lock");
    return status;
}

static enum weir_status open_flow(struct weir_executions *self,
                                  const struct weir_executions_options *options,
                                  struct weir_error *error)
{
    enum weir_status status =
        weir_dictionary_create(self->heap, WEIR_TERMS_MAX, &self->dictionary, error);

    if (status == WEIR_OK)
        status = weir_store_init(&self->store, self->heap, weir_db_engine(self->db),
                                 self->dictionary, error);
    if (status == WEIR_OK)
        status = check_schema(self, error);
    if (status == WEIR_OK && options->outbox != NULL)
        status = weir_events_open(options->outbox, &self->event_size_max, error);
    return status;
}

enum weir_status weir_executions_create(const struct weir_executions_options *options,
                                        struct weir_executions **out,
                                        struct weir_error *error)
{
    struct weir_executions *self;
    enum weir_status status =
        weir_execution_check_given("options", options != NULL, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = check_options(options, error);
    if (status != WEIR_OK)
        return status;
    self = weir_heap_zalloc(weir_db_heap(options->db), sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "create executions");
    self->db = options->db;
    self->heap = weir_db_heap(options->db);
    self->outbox = options->outbox;
    self->partitions = options->partitions;
    self->no_savepoint = options->no_savepoint;
    weir_notify_throttle_init(&self->notify_throttle, weir_db_prefix(options->db),
                              options->no_notify);
    atomic_init(&self->watching, false);
    weir_list_init(&self->listeners);
    status = init_locks(self, error);
    if (status != WEIR_OK) {
        weir_heap_free(self->heap, self);
        return status;
    }
    status = open_flow(self, options, error);
    if (status == WEIR_OK) {
        *out = self;
        return WEIR_OK;
    }
    weir_error_prefix(error, "create executions");
    weir_executions_destroy(self);
    return status;
}

void weir_executions_destroy(struct weir_executions *self)
{
    if (self == NULL)
        return;
    weir_wake_stop(self->wake);
    weir_claim_waiters_fini(&self->claim_waiters);
    weir_floors_fini(&self->floors);
    weir_lock_fini(&self->lock);
    weir_dictionary_destroy(self->dictionary);
    weir_heap_free(self->heap, self);
}

/* ---- waking ------------------------------------------------------------------------ */

/* Something was committed; what it was is not known. */
static const struct weir_pending_wakeups ANYTHING = {.ready = true,
                                                     .over = true,
                                                     .nameless = WEIR_DUE_TIMERS};

void weir_executions_flush(struct weir_executions *self)
{
    weir_pending_wakeups_send(self, &ANYTHING);
}

/* What is true after notifications that nothing listened to: more may come in
 * silence. */
static void hear_of_anything(struct weir_executions *self)
{
    struct weir_pending_wakeups pending_wakeups = ANYTHING;

    if (weir_db_traits(self->db)->has_notify)
        pending_wakeups.silence_ns = WEIR_ATTENTION_NS;
    weir_pending_wakeups_send(self, &pending_wakeups);
}

/* Reconcilers have intervals, and no use for a time that is only one to look. */
static void hear(void *state, const struct weir_wake_news *news)
{
    struct weir_executions *self = state;
    struct weir_pending_wakeups pending_wakeups = {.ready = true, .over = true};
    struct weir_announcement heard;

    if (news->blind) {
        weir_pending_wakeups_send(self, &pending_wakeups);
    } else if (news->text == NULL || !weir_announcement_read(news->text, &heard)) {
        hear_of_anything(self);
    } else if (heard.teller != self->notify_throttle.teller) {
        pending_wakeups.ready = heard.ready;
        pending_wakeups.nameless = heard.kinds & WEIR_DUE_TIMERS;
        pending_wakeups.silence_ns = WEIR_ATTENTION_NS;
        weir_pending_wakeups_send(self, &pending_wakeups);
    }
}

void weir_executions_listen(struct weir_executions *self,
                            struct weir_executions_listener *listener)
{
    weir_lock_acquire(&self->lock);
    weir_list_append(&self->listeners, &listener->link);
    weir_lock_release(&self->lock);
}

void weir_executions_unlisten(struct weir_executions *self,
                              struct weir_executions_listener *listener)
{
    weir_lock_acquire(&self->lock);
    weir_list_remove(&listener->link);
    weir_lock_release(&self->lock);
}

/* When no thread is available, waiting calls look once a second, and try again. */
void weir_executions_watch(struct weir_executions *self)
{
    struct weir_wake_options options;
    struct weir_wake *wake = NULL;
    struct weir_error error;

    if (atomic_exchange(&self->watching, true))
        return;
    weir_error_clear(&error);
    weir_wake_options_init(&options);
    options.db = self->db;
    options.heard = hear;
    options.heard_state = self;
    options.channel = self->notify_throttle.channel;
    options.poll_ns = WEIR_EXECUTION_POLL_NS;
    if (weir_wake_start(&options, &wake, &error) != WEIR_OK) {
        weir_log_event(weir_db_log(self->db), WEIR_LOG_WARNING, "execution.not_watching",
                       "text=\"%s\"", error.text);
        atomic_store(&self->watching, false);
        return;
    }
    weir_lock_acquire(&self->lock);
    self->wake = wake;
    weir_lock_release(&self->lock);
}

enum weir_status weir_executions_await(struct weir_executions *self,
                                       struct weir_connection *connection, bool *again,
                                       struct weir_error *error)
{
    return weir_notify_throttle_say_waiting(&self->notify_throttle, connection, again,
                                            error);
}

enum weir_status weir_executions_make_executor(struct weir_executions *self,
                                               uint32_t threads, uint32_t reserve_threads,
                                               struct weir_executor **out,
                                               struct weir_error *error)
{
    struct weir_executor_options options;

    weir_executor_options_init(&options);
    options.heap = self->heap;
    options.log = *weir_db_log(self->db);
    options.threads = threads;
    options.reserve_threads = reserve_threads;
    return weir_executor_create(&options, out, error);
}

bool weir_executions_is_simulated(void)
{
    const struct weir_context *context = weir_context_current();

    return context != NULL && context->executor->simulated;
}

/* ---- what the calls have in common ------------------------------------------------- */

struct weir_execution_status
weir_execution_status_of(const struct weir_execution_row *row)
{
    return (struct weir_execution_status){
        .state = weir_state_public(row->state, row->hold, row->pending),
        .epoch = row->epoch,
        .lease_us = row->lease_us,
    };
}

void weir_execution_prefix_id(struct weir_error *error,
                              const struct weir_execution_id *id)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_error_prefix(error, "execution %s", weir_execution_id_format(id, text));
}

enum weir_status weir_execution_check_given(const char *what, bool given,
                                            struct weir_error *error)
{
    return given ? WEIR_OK
                 : weir_error_set(error, WEIR_INVALID, "%s is NULL, must be given", what);
}

enum weir_status weir_execution_check_list(const char *what, const void *list,
                                           size_t count, struct weir_error *error)
{
    if (count > WEIR_BATCH_MAX)
        return weir_error_set(error, WEIR_INVALID, "%s are %zu, must be at most %d", what,
                              count, WEIR_BATCH_MAX);
    if (list == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID, "%s is NULL, must be a list of %zu",
                              what, count);
    return WEIR_OK;
}

/* The lease length of a claim or a renewal. That of a subscription is checked by
 * weir_lease_options_check() in outbox/tuning.c. */
enum weir_status weir_execution_check_lease(int64_t lease_ms, struct weir_error *error)
{
    if (lease_ms >= WEIR_EXECUTION_LEASE_MS_MIN &&
        lease_ms <= WEIR_EXECUTION_LEASE_MS_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "lease_ms is %" PRId64 ", must be from %d to %d", lease_ms,
                          WEIR_EXECUTION_LEASE_MS_MIN, WEIR_EXECUTION_LEASE_MS_MAX);
}

enum weir_status weir_execution_reason(const char *reason, struct weir_str *out,
                                       struct weir_error *error)
{
    size_t size = reason != NULL ? strlen(reason) : 0;

    *out = (struct weir_str){reason != NULL ? reason : "", size};
    if (!weir_utf8_valid(*out))
        return weir_error_set(error, WEIR_INVALID, "reason must be UTF-8");
    if (size > WEIR_FAILURE_SIZE_MAX) {
        size = WEIR_FAILURE_SIZE_MAX;
        while (((unsigned char)reason[size] & 0xc0) == 0x80)
            size--;
        out->size = size;
    }
    return WEIR_OK;
}

void weir_executions_free(struct weir_executions *self, void *memory)
{
    weir_heap_free(self->heap, memory);
}
