/*
 * outbox_fixture.c - see outbox_fixture.h.
 *
 * Recorders are static: a test that fails leaves its handlers behind, and those must
 * not write into the stack of the next one.
 */
#include "kit/outbox/outbox_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "db/clock.h"
#include "weir/context.h"
#include "weir/stats.h"

enum { RECORDERS = 12, TEXT_SIZE = 24 };

struct line {
    int64_t seq;
    uint32_t left; /* ALWAYS: for ever */
    enum answer answer;
    bool used_up;
};

struct recorder {
    pthread_mutex_t lock;
    pthread_cond_t released_too; /* `released` was set */
    bool released;
    struct line lines[LINES_MAX];
    size_t line_count;
    size_t count;
    size_t calls;
    size_t ended;
    size_t inside;
    size_t most;
    struct delivery deliveries[DELIVERIES_MAX];
};

static struct recorder recorders[RECORDERS];
static size_t recorders_used;

struct recorder *recorder_new(void)
{
    struct recorder *self = &recorders[recorders_used++ % RECORDERS];

    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->released_too, NULL);
    return self;
}

void recorder_answer(struct recorder *self, int64_t seq, uint32_t times,
                     enum answer answer)
{
    pthread_mutex_lock(&self->lock);
    if (self->line_count < LINES_MAX)
        self->lines[self->line_count++] = (struct line){seq, times, answer, false};
    pthread_mutex_unlock(&self->lock);
}

void recorder_release(struct recorder *self)
{
    pthread_mutex_lock(&self->lock);
    self->released = true;
    pthread_cond_broadcast(&self->released_too);
    pthread_mutex_unlock(&self->lock);
}

static size_t read_number(struct recorder *self, const size_t *number)
{
    size_t value;

    pthread_mutex_lock(&self->lock);
    value = *number;
    pthread_mutex_unlock(&self->lock);
    return value;
}

size_t recorder_count(struct recorder *self)
{
    return read_number(self, &self->count);
}

size_t recorder_calls(struct recorder *self)
{
    return read_number(self, &self->calls);
}

size_t recorder_ended(struct recorder *self)
{
    return read_number(self, &self->ended);
}

size_t recorder_most(struct recorder *self)
{
    return read_number(self, &self->most);
}

struct delivery recorder_delivery(struct recorder *self, size_t index)
{
    struct delivery delivery = {.partition = -1};

    pthread_mutex_lock(&self->lock);
    if (index < self->count && index < DELIVERIES_MAX)
        delivery = self->deliveries[index];
    pthread_mutex_unlock(&self->lock);
    return delivery;
}

static size_t count_those(struct recorder *self, int32_t partition, int64_t seq)
{
    size_t count = 0;

    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->count && i < DELIVERIES_MAX; i++) {
        const struct delivery *delivery = &self->deliveries[i];

        count += delivery->partition == partition && (seq == 0 || delivery->seq == seq);
    }
    pthread_mutex_unlock(&self->lock);
    return count;
}

size_t recorder_count_of(struct recorder *self, int32_t partition)
{
    return count_those(self, partition, 0);
}

size_t recorder_times(struct recorder *self, int32_t partition, int64_t seq)
{
    return count_those(self, partition, seq);
}

bool recorder_in_order(struct recorder *self, int32_t partition, int64_t count)
{
    int64_t highest = 0;
    bool in_order = true;

    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->count && i < DELIVERIES_MAX; i++) {
        const struct delivery *delivery = &self->deliveries[i];

        if (delivery->partition != partition)
            continue;
        in_order = in_order && delivery->seq >= 1 && delivery->seq <= highest + 1;
        if (delivery->seq > highest)
            highest = delivery->seq;
    }
    pthread_mutex_unlock(&self->lock);
    return in_order && highest == count;
}

/* ---- handlers ---------------------------------------------------------------------- */

/* With the lock. */
static void note(struct recorder *self, const struct weir_message *message)
{
    size_t given = weir_batch_count(message->batch) - weir_batch_left(message->batch);
    struct delivery *delivery;

    if (given == 1)
        self->calls++;
    if (self->count < DELIVERIES_MAX) {
        delivery = &self->deliveries[self->count];
        *delivery = (struct delivery){
            .partition = message->partition,
            .seq = message->seq,
            .attempts = message->attempts,
            .epoch = message->epoch,
            .budget_ns = weir_batch_remaining_ns(message->batch),
            .call = (uint32_t)self->calls,
            .batch = weir_batch_count(message->batch),
            .at_ns = weir_clock_now_ns(),
        };
        memcpy(delivery->uid, message->uid, WEIR_UID_SIZE);
        (void)snprintf(delivery->payload, sizeof delivery->payload, "%.*s",
                       (int)message->payload_size, (const char *)message->payload);
    }
    self->count++;
}

void recorder_note(struct recorder *self, const struct weir_message *message)
{
    pthread_mutex_lock(&self->lock);
    note(self, message);
    pthread_mutex_unlock(&self->lock);
}

static enum answer choose(struct recorder *self, int64_t seq)
{
    for (size_t i = 0; i < self->line_count; i++) {
        struct line *line = &self->lines[i];

        if ((line->seq != 0 && line->seq != seq) || line->used_up)
            continue;
        if (line->left == 1)
            line->used_up = true;
        if (line->left > 1)
            line->left--;
        return line->answer;
    }
    return ANSWER_DONE;
}

static void wait_for_stop(const struct weir_message *message)
{
    while (!weir_batch_stopped(message->batch))
        weir_clock_sleep(WEIR_MILLISECONDS(1));
}

static enum weir_outcome answer_to(struct recorder *self, struct weir_context *context,
                                   const struct weir_message *message,
                                   struct weir_reason *reason)
{
    enum answer answer;

    pthread_mutex_lock(&self->lock);
    note(self, message);
    answer = choose(self, message->seq);
    self->inside++;
    if (self->inside > self->most)
        self->most = self->inside;
    while (answer == ANSWER_BLOCK && !self->released)
        pthread_cond_wait(&self->released_too, &self->lock);
    pthread_mutex_unlock(&self->lock);
    if (answer == ANSWER_HEED)
        wait_for_stop(message);
    pthread_mutex_lock(&self->lock);
    self->inside--;
    self->ended++;
    pthread_mutex_unlock(&self->lock);

    if (answer == ANSWER_PANIC)
        weir_panic(context, "message %lld is too much", (long long)message->seq);
    if (answer == ANSWER_REJECT)
        return weir_reject(reason, "message %lld is no good", (long long)message->seq);
    if (answer == ANSWER_RETRY || answer == ANSWER_HEED)
        return weir_retry(reason, "message %lld must wait", (long long)message->seq);
    return WEIR_DONE;
}

enum weir_outcome recorder_on_message(struct weir_context *context, void *state,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    return answer_to(state, context, message, reason);
}

enum weir_outcome recorder_on_batch(struct weir_context *context, void *state,
                                    struct weir_batch *batch, struct weir_reason *reason)
{
    const struct weir_message *message;

    while ((message = weir_batch_next(batch)) != NULL) {
        enum weir_outcome outcome = answer_to(state, context, message, reason);
        enum weir_status status = WEIR_OK;

        if (outcome == WEIR_RETRY)
            return outcome;
        if (outcome == WEIR_REJECT)
            status = weir_batch_reject(batch, reason->text, NULL);
        else
            status = weir_batch_ack(batch, NULL);
        if (status != WEIR_OK)
            return weir_retry(reason, "too late");
    }
    return WEIR_DONE;
}

/* ---- outboxes ---------------------------------------------------------------------- */

struct weir_tuning outbox_fixture_tuning(void)
{
    struct weir_tuning tuning = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE);

    tuning.retry_base_ns = WEIR_MILLISECONDS(5);
    tuning.retry_max_ns = WEIR_MILLISECONDS(20);
    return tuning;
}

struct weir_outbox_options outbox_fixture_options(struct fixture *fixture,
                                                  const char *name)
{
    static struct weir_tuning lanes;
    struct weir_outbox_options options;

    lanes = outbox_fixture_tuning();
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    options.process_name = name;
    options.profile = WEIR_PROFILE_LOW_LATENCY;
    options.tuning[WEIR_KIND_LANE] = &lanes;
    return options;
}

struct weir_outbox *outbox_fixture_create(struct fixture *fixture,
                                          const struct weir_outbox_options *options)
{
    struct weir_outbox *outbox = NULL;

    check_db(weir_outbox_create(options, &outbox, &fixture->error), WEIR_OK);
    return outbox;
}

struct weir_outbox *outbox_fixture_outbox(struct fixture *fixture, const char *name)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, name);

    return outbox_fixture_create(fixture, &options);
}

struct weir_outbox *outbox_fixture_sweeping(struct fixture *fixture, const char *name)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, name);
    struct weir_tuning sweep = weir_tuning_of(WEIR_PROFILE_DEFAULT, WEIR_KIND_SWEEP);

    sweep.idle_ns = WEIR_MILLISECONDS(20);
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    return outbox_fixture_create(fixture, &options);
}

void outbox_fixture_queue(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *name, int32_t partitions)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = name;
    options.partitions = partitions;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
}

struct weir_handler_options outbox_fixture_handler(const char *queue,
                                                   struct recorder *recorder)
{
    struct weir_handler_options options;

    weir_handler_options_init(&options);
    options.queue = queue;
    options.on_message = recorder_on_message;
    options.state = recorder;
    return options;
}

struct weir_handler_options outbox_fixture_batch_handler(const char *queue,
                                                         struct recorder *recorder)
{
    struct weir_handler_options options = outbox_fixture_handler(queue, recorder);

    options.on_message = NULL;
    options.on_batch = recorder_on_batch;
    return options;
}

void outbox_fixture_short_lease(struct weir_handler_options *options)
{
    options->lease.duration_ns = WEIR_MILLISECONDS(300);
    options->lease.headroom_ns = WEIR_MILLISECONDS(200);
}

void outbox_fixture_add(struct fixture *fixture, struct weir_outbox *outbox,
                        const struct weir_handler_options *options)
{
    check_db(weir_outbox_add_handler(outbox, options, &fixture->error), WEIR_OK);
}

void outbox_fixture_serve(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *queue, struct recorder *recorder)
{
    struct weir_handler_options options = outbox_fixture_handler(queue, recorder);

    outbox_fixture_add(fixture, outbox, &options);
}

void outbox_fixture_serve_one_by_one(struct fixture *fixture, struct weir_outbox *outbox,
                                     const char *queue, struct recorder *recorder)
{
    struct weir_handler_options handler = outbox_fixture_handler(queue, recorder);
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.batch = 1;
    handler.tuning = &tuning;
    outbox_fixture_add(fixture, outbox, &handler);
}

void outbox_fixture_start(struct fixture *fixture, struct weir_outbox *outbox)
{
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
}

void outbox_fixture_stop(struct weir_outbox *outbox)
{
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(20)), 0);
}

void outbox_fixture_close(struct weir_outbox *outbox)
{
    outbox_fixture_stop(outbox);
    weir_outbox_destroy(outbox);
}

struct weir_outbox *outbox_fixture_open(struct fixture *fixture, const char *name,
                                        const char *queue, int32_t partitions,
                                        struct recorder *recorder)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, name);

    outbox_fixture_queue(fixture, outbox, queue, partitions);
    outbox_fixture_serve(fixture, outbox, queue, recorder);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

struct weir_draft outbox_fixture_draft(int32_t partition, const char *payload)
{
    bool any = partition == WEIR_ANY_PARTITION;

    return (struct weir_draft){
        .route = {.partition = any ? 0 : partition, .pinned = !any},
        .type = "text",
        .payload = payload,
        .payload_size = strlen(payload)};
}

void outbox_fixture_deliver(struct fixture *fixture, int32_t partitions, delivery_fn body)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", partitions, recorder);

    body(fixture, outbox, recorder);
    outbox_fixture_close(outbox);
}

void outbox_fixture_send(struct fixture *fixture, struct weir_outbox *outbox,
                         const char *queue, int32_t partition, size_t count)
{
    static char texts[DELIVERIES_MAX][TEXT_SIZE];
    static struct weir_draft drafts[DELIVERIES_MAX];

    check(count <= DELIVERIES_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], TEXT_SIZE, "%zu", i + 1);
        drafts[i] = outbox_fixture_draft(partition, texts[i]);
    }
    check_db(
        weir_enqueue_batch(outbox, NULL, queue, drafts, count, NULL, &fixture->error),
        WEIR_OK);
}

void outbox_fixture_send_text(struct fixture *fixture, struct weir_outbox *outbox,
                              const char *queue, int32_t partition, const char *payload)
{
    struct weir_draft draft = outbox_fixture_draft(partition, payload);

    check_db(weir_enqueue(outbox, NULL, queue, &draft, NULL, &fixture->error), WEIR_OK);
}

/* ---- what an operator sees --------------------------------------------------------- */

struct search {
    const char *subscription;
    int32_t partition;
    struct partition_view found;
};

static void look_at_partition(void *state, const struct weir_partition_info *info)
{
    struct search *search = state;
    struct partition_view *view = &search->found;

    if (strcmp(info->subscription, search->subscription) != 0 ||
        info->partition != search->partition)
        return;
    *view = (struct partition_view){
        .found = true,
        .seq = info->seq,
        .waiting = info->waiting,
        .waiting_is_estimate = info->waiting_is_estimate,
        .oldest_age_us = info->oldest_age_us,
        .attempts = info->attempts,
        .retry_in_us = info->retry_in_us,
        .epoch = info->epoch,
        .lease_left_us = info->lease_left_us,
        .crashes = info->crashes,
    };
    (void)snprintf(view->last_error, sizeof view->last_error, "%s", info->last_error);
    (void)snprintf(view->owner, sizeof view->owner, "%s", info->owner);
}

struct partition_view
outbox_fixture_partition(struct fixture *fixture, struct weir_outbox *outbox,
                         const char *queue, const char *subscription, int32_t partition)
{
    struct search search = {.subscription = subscription, .partition = partition};

    check_db(weir_outbox_read_partitions(outbox, queue, look_at_partition, &search,
                                         &fixture->error),
             WEIR_OK);
    return search.found;
}

int64_t outbox_fixture_seq(struct fixture *fixture, struct weir_outbox *outbox,
                           const char *queue, int32_t partition)
{
    return outbox_fixture_partition(fixture, outbox, queue, "default", partition).seq;
}

struct queue_search {
    const char *name;
    struct queue_view found;
};

static void look_at_queue(void *state, const struct weir_queue_info *info)
{
    struct queue_search *search = state;

    if (strcmp(info->name, search->name) != 0)
        return;
    search->found = (struct queue_view){
        .found = true,
        .partitions = info->partitions,
        .paused = info->paused,
        .subscriptions = info->subscriptions,
        .backlog_max = info->backlog_max,
        .waiting = info->waiting,
        .oldest_age_us = info->oldest_age_us,
        .aside = info->aside,
        .dead_letters = info->dead_letters,
    };
}

struct queue_view outbox_fixture_queue_view(struct fixture *fixture,
                                            struct weir_outbox *outbox, const char *queue)
{
    struct queue_search search = {.name = queue};

    check_db(weir_outbox_read_queues(outbox, look_at_queue, &search, &fixture->error),
             WEIR_OK);
    return search.found;
}

int64_t outbox_fixture_kept(struct fixture *fixture, struct weir_outbox *outbox,
                            const char *queue, const char *newcomer)
{
    struct weir_outbox *visitor = outbox_fixture_outbox(fixture, "visitor");
    struct weir_handler_options options = outbox_fixture_handler(queue, recorder_new());
    struct queue_view view = outbox_fixture_queue_view(fixture, outbox, queue);
    int64_t kept = 0;

    options.subscription = newcomer;
    outbox_fixture_add(fixture, visitor, &options);
    for (int32_t i = 0; i < view.partitions; i++)
        kept += outbox_fixture_partition(fixture, visitor, queue, newcomer, i).waiting;
    weir_outbox_destroy(visitor);
    return kept;
}

uint64_t outbox_fixture_executions(struct weir_outbox *outbox, const char *category)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count =
        weir_stats_read(weir_outbox_stats(outbox), rows, WEIR_STATS_CATEGORIES_MAX);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].category, category) == 0)
            return rows[i].executions;
    }
    return 0;
}
