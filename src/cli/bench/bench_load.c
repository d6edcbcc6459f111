/*
 * bench_load.c - the producers of `weir bench`; see bench.h.
 *
 * Letters are made once; before each transaction only their numbers are written anew.
 * The last producer has no thread: it is the caller of send_one().
 */
#include <string.h>

#include "base/heap.h"
#include "base/noun.h"
#include "cli/bench/bench.h"
#include "cli/interrupt.h"
#include "db/clock.h"
#include "weir/heap.h"

struct weir_bench_producer {
    struct weir_bench_load *load;
    pthread_t thread;
    uint64_t number;
    uint64_t next; /* message's number: decides its partition */
    uint64_t counts[WEIR_BENCH_PARTITIONS];
    int64_t left;              /* messages to send */
    char *payloads;            /* owned: a batch */
    struct weir_draft *drafts; /* owned: views of the payloads */
};

/* ---- letters ----------------------------------------------------------------------- */

static enum weir_status make_letters(struct weir_bench_producer *self,
                                     const struct weir_bench_plan *plan, size_t count)
{
    const struct weir_heap *heap = weir_heap_system();

    self->payloads = weir_heap_alloc(heap, count * plan->size);
    self->drafts = weir_heap_zalloc_array(heap, count, sizeof *self->drafts);
    if (self->payloads == NULL || self->drafts == NULL)
        return WEIR_NO_MEMORY;
    memset(self->payloads, 'w', count * plan->size);
    for (size_t i = 0; i < count; i++)
        self->drafts[i] = (struct weir_draft){
            .type = "bench",
            .payload = self->payloads + i * plan->size,
            .payload_size = plan->size,
        };
    return WEIR_OK;
}

/* The next `count` letters, one partition after the other. */
static void number_letters(struct weir_bench_producer *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t partition = self->next++ % WEIR_BENCH_PARTITIONS;
        struct weir_bench_mark mark = {
            .count = ++self->counts[partition],
            .producer = self->number,
        };

        self->drafts[i].route = weir_route_to_partition((int32_t)partition);
        memcpy(self->payloads + i * self->load->plan->size, &mark, sizeof mark);
    }
}

static enum weir_status send_letters(struct weir_bench_producer *self, size_t count,
                                     struct weir_error *error)
{
    struct weir_bench_load *load = self->load;
    enum weir_status status;

    number_letters(self, count);
    status = weir_enqueue_batch(load->outbox, NULL, load->queue, self->drafts, count,
                                NULL, error);
    if (status == WEIR_OK)
        atomic_fetch_add(&load->sent, (int64_t)count);
    return status;
}

/* ---- threads ----------------------------------------------------------------------- */

static void *produce(void *argument)
{
    struct weir_bench_producer *self = argument;
    struct weir_bench_load *load = self->load;
    struct weir_error error = {0};
    enum weir_status status = WEIR_OK;

    while (self->left > 0 && status == WEIR_OK && !atomic_load(&load->stopped)) {
        size_t count = self->left < (int64_t)load->plan->batch ? (size_t)self->left
                                                               : load->plan->batch;

        status = send_letters(self, count, &error);
        self->left -= (int64_t)count;
    }
    if (status != WEIR_OK) {
        if (!atomic_exchange(&load->failed, true))
            load->error = error;
        atomic_store(&load->stopped, true);
    }
    atomic_store(&load->ended_ns, weir_clock_now_ns());
    atomic_fetch_sub(&load->running, 1);
    return NULL;
}

static void join(struct weir_bench_load *self, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pthread_join(self->producers[i].thread, NULL);
}

/* ---- life -------------------------------------------------------------------------- */

/* Whole batches each, and the rest to the first. */
static int64_t share_of(const struct weir_bench_plan *plan, uint32_t producer)
{
    int64_t batch = (int64_t)plan->batch;
    int64_t each = plan->messages / plan->producers / batch * batch;

    return producer > 0 ? each : plan->messages - each * (plan->producers - 1);
}

enum weir_status weir_bench_load_open(struct weir_bench_load *self,
                                      struct weir_outbox *outbox, const char *queue,
                                      const struct weir_bench_plan *plan,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *self = (struct weir_bench_load){.outbox = outbox, .queue = queue, .plan = plan};
    self->producers = weir_heap_zalloc_array(weir_heap_system(), plan->producers + 1,
                                             sizeof *self->producers);
    if (self->producers == NULL)
        status = WEIR_NO_MEMORY;
    for (uint32_t i = 0; i <= plan->producers && status == WEIR_OK; i++) {
        struct weir_bench_producer *producer = &self->producers[i];
        bool threaded = i < plan->producers;

        producer->load = self;
        producer->number = i;
        producer->left = threaded ? share_of(plan, i) : 0;
        status = make_letters(producer, plan, threaded ? plan->batch : 1);
    }
    return status == WEIR_OK ? status : weir_error_set(error, status, "make messages");
}

void weir_bench_load_close(struct weir_bench_load *self)
{
    const struct weir_heap *heap = weir_heap_system();

    for (uint32_t i = 0; self->producers != NULL && i <= self->plan->producers; i++) {
        weir_heap_free(heap, self->producers[i].payloads);
        weir_heap_free(heap, self->producers[i].drafts);
    }
    weir_heap_free(heap, self->producers);
    self->producers = NULL;
}

static enum weir_status start_threads(struct weir_bench_load *self,
                                      struct weir_error *error)
{
    self->begun_ns = weir_clock_now_ns();
    atomic_store(&self->running, self->plan->producers);
    for (uint32_t i = 0; i < self->plan->producers; i++) {
        struct weir_bench_producer *producer = &self->producers[i];

        if (pthread_create(&producer->thread, NULL, produce, producer) == 0)
            continue;
        atomic_store(&self->stopped, true);
        join(self, i);
        return weir_error_set(error, WEIR_SYSTEM, "cannot start %u %s",
                              (unsigned)self->plan->producers,
                              WEIR_NOUN(self->plan->producers, "producer", "producers"));
    }
    return WEIR_OK;
}

enum weir_status weir_bench_load_start(struct weir_bench_load *self,
                                       struct weir_error *error)
{
    enum weir_status status;

    weir_interrupt_withhold();
    status = start_threads(self, error);
    weir_interrupt_admit();
    return status;
}

enum weir_status weir_bench_load_stop(struct weir_bench_load *self,
                                      struct weir_error *error)
{
    atomic_store(&self->stopped, true);
    join(self, self->plan->producers);
    if (!atomic_load(&self->failed))
        return WEIR_OK;
    *error = self->error;
    return error->status;
}

enum weir_status weir_bench_load_send_one(struct weir_bench_load *self,
                                          struct weir_error *error)
{
    return send_letters(&self->producers[self->plan->producers], 1, error);
}
