/*
 * execution_load.c - see execution_load.h.
 */
#include "lib/execution_load.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/must.h"
#include "weir/scanner.h"

/* Nobody's lease is to run out on a busy machine. */
#define LEASE_MS 600000

static const char GRAIN[BENCH_GRAIN_SIZE] = "grain";
static const char FLOUR[BENCH_FLOUR_SIZE] = "flour";

/* ---- life -------------------------------------------------------------------------- */

static void open_outbox(struct bench_execution_load *self)
{
    struct weir_outbox_options options;
    struct weir_error error;

    weir_outbox_options_init(&options);
    options.db = self->db;
    bench_must_ok(weir_outbox_create(&options, &self->outbox, &error), &error,
                  "create the outbox");
}

static void open_flow(struct bench_execution_load *self)
{
    struct weir_executions_options options;
    struct weir_error error;

    weir_executions_options_init(&options);
    options.db = self->db;
    options.outbox = self->outbox;
    bench_must_ok(weir_executions_create(&options, &self->executions, &error), &error,
                  "create the engine");
}

static void open_supervisor(struct bench_execution_load *self)
{
    struct weir_execution_supervisor_options options;
    struct weir_error error;

    weir_execution_supervisor_options_init(&options);
    options.executions = self->executions;
    bench_must_ok(weir_execution_supervisor_create(&options, &self->supervisor, &error),
                  &error, "create the supervisor");
    bench_must_ok(weir_execution_supervisor_start(self->supervisor, &error), &error,
                  "start the supervisor");
}

void bench_execution_load_open(struct bench_execution_load *self,
                               const struct bench_execution_load_options *options)
{
    struct weir_db_options db;
    struct weir_error error;

    memset(self, 0, sizeof *self);
    weir_db_options_init(&db);
    db.url = options->url;
    bench_must_ok(weir_db_create(&db, &self->db, &error), &error, "open the database");
    bench_must_ok(weir_outbox_migrate(self->db, &error), &error, "migrate the outbox");
    bench_must_ok(weir_executions_migrate(self->db, &error), &error,
                  "migrate the engine");
    if (options->events)
        open_outbox(self);
    open_flow(self);
    if (options->supervised)
        open_supervisor(self);
}

void bench_execution_load_close(struct bench_execution_load *self)
{
    weir_execution_supervisor_destroy(self->supervisor);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

/* ---- single calls ------------------------------------------------------------------ */

static void submit(struct bench_execution_load *self,
                   const struct weir_execution_draft *drafts, size_t count,
                   struct weir_submission *out)
{
    struct weir_error error;

    bench_must_ok(
        weir_execution_submit(self->executions, NULL, drafts, count, out, &error), &error,
        "submit");
}

struct weir_execution_draft bench_execution_load_draft(const char *lane)
{
    return (struct weir_execution_draft){
        .lane = lane, .kind = "grind", .input = GRAIN, .input_size = sizeof GRAIN};
}

static struct weir_execution_draft *make_drafts(size_t count)
{
    struct weir_execution_draft *drafts = bench_must_alloc(count, sizeof *drafts);

    for (size_t i = 0; i < count; i++)
        drafts[i] = bench_execution_load_draft(BENCH_LANE);
    return drafts;
}

void bench_execution_load_submit(struct bench_execution_load *self, size_t count,
                                 const int64_t *delays_ms, struct weir_submission *out)
{
    struct weir_execution_draft *drafts = make_drafts(count);

    for (size_t i = 0; i < count && delays_ms != NULL; i++)
        drafts[i].delay_ms = delays_ms[i];
    submit(self, drafts, count, out);
    free(drafts);
}

static size_t claim(struct bench_execution_load *self, const char *lane,
                    struct weir_claim_options *options, size_t count,
                    struct weir_claimed **out)
{
    struct weir_error error;
    size_t claimed = 0;

    options->lanes = &lane;
    options->lane_count = 1;
    options->worker = "bench";
    options->instance = "miller";
    bench_must_ok(
        weir_execution_claim(self->executions, options, count, out, &claimed, &error),
        &error, "claim");
    return claimed;
}

size_t bench_execution_load_claim(struct bench_execution_load *self, size_t count,
                                  int64_t lease_ms, int64_t wait_ms,
                                  struct weir_claimed **out)
{
    struct weir_claim_options options;

    weir_claim_options_init(&options);
    options.lease_ms = lease_ms;
    options.wait_ms = wait_ms;
    return claim(self, BENCH_LANE, &options, count, out);
}

size_t bench_execution_load_claim_in(struct bench_execution_load *self, const char *lane,
                                     size_t count, int64_t wait_ms,
                                     struct weir_claimed **out)
{
    struct weir_claim_options options;

    weir_claim_options_init(&options);
    options.lease_ms = LEASE_MS;
    options.wait_ms = wait_ms;
    return claim(self, lane, &options, count, out);
}

void bench_execution_load_complete(struct bench_execution_load *self,
                                   const struct weir_claimed *claimed, size_t count)
{
    struct weir_settlement *items = bench_must_alloc(count, sizeof *items);
    struct weir_error error;

    for (size_t i = 0; i < count; i++)
        items[i] = (struct weir_settlement){.claim = claimed[i].claim,
                                            .verb = WEIR_SETTLE_COMPLETE,
                                            .result = FLOUR,
                                            .result_size = sizeof FLOUR};
    bench_must_ok(weir_execution_settle(self->executions, items, count, &error), &error,
                  "settle");
    for (size_t i = 0; i < count; i++)
        bench_must(items[i].status == WEIR_OK, "a completion was refused");
    free(items);
}

uint64_t bench_execution_load_handled(struct bench_execution_load *self,
                                      enum weir_reconciler which)
{
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    size_t count =
        weir_execution_supervisor_read(self->supervisor, infos, WEIR_RECONCILER_COUNT);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name, weir_reconciler_name(which)) == 0)
            return infos[i].processed;
    }
    bench_must(false, "the reconciler does not run");
    return 0;
}

static void take_created(void *state, const struct weir_execution_info *info)
{
    *(int64_t *)state = info->created_us;
}

int64_t bench_execution_load_created_us(struct bench_execution_load *self,
                                        const struct weir_execution_id *id)
{
    struct weir_error error;
    int64_t created_us = 0;

    bench_must_ok(
        weir_execution_get(self->executions, id, take_created, &created_us, &error),
        &error, "read an execution");
    return created_us;
}

/* ---- many threads ------------------------------------------------------------------ */

/* One thread. */
struct miller {
    struct bench_execution_load *execution_load;
    pthread_t thread;
    uint64_t share;
    size_t batch;
    uint64_t completed;
    struct bench_execution_load_times times;
};

/* False: there was nothing to be done. */
static bool grind(struct miller *self)
{
    struct weir_claimed *claimed = NULL;
    int64_t begun_ns = bench_now_ns();
    int64_t claimed_ns;
    size_t count = bench_execution_load_claim(self->execution_load, self->batch, LEASE_MS,
                                              0, &claimed);

    claimed_ns = bench_now_ns();
    self->times.claim_ns += claimed_ns - begun_ns;
    if (count == 0)
        return false;
    bench_must(claimed[0].input_size == sizeof GRAIN, "the input has come along");
    bench_execution_load_complete(self->execution_load, claimed, count);
    self->times.settle_ns += bench_now_ns() - claimed_ns;
    weir_claimed_free(self->execution_load->executions, claimed);
    self->completed += count;
    return true;
}

/* Whoever is through helps the others: what one has submitted another may have
 * claimed. */
static void *execution_load(void *state)
{
    struct miller *self = state;
    struct weir_execution_draft *drafts = make_drafts(self->batch);

    for (uint64_t sent = 0; sent < self->share; sent += self->batch) {
        int64_t begun_ns = bench_now_ns();

        submit(self->execution_load, drafts, self->batch, NULL);
        self->times.submit_ns += bench_now_ns() - begun_ns;
        self->times.calls++;
        (void)grind(self);
    }
    while (grind(self))
        ;
    free(drafts);
    return NULL;
}

static void add_times(struct bench_execution_load_times *self,
                      const struct bench_execution_load_times *other)
{
    self->submit_ns += other->submit_ns;
    self->claim_ns += other->claim_ns;
    self->settle_ns += other->settle_ns;
    self->calls += other->calls;
}

int64_t bench_execution_load_run(struct bench_execution_load *self, uint64_t count,
                                 size_t batch, struct bench_execution_load_times *times)
{
    struct miller millers[BENCH_MILLERS];
    uint64_t completed = 0;
    int64_t begun_ns = bench_now_ns();

    bench_must(count % (batch * BENCH_MILLERS) == 0, "executions that can be divided");
    for (size_t i = 0; i < BENCH_MILLERS; i++) {
        millers[i] = (struct miller){
            .execution_load = self, .share = count / BENCH_MILLERS, .batch = batch};
        bench_must(
            pthread_create(&millers[i].thread, NULL, execution_load, &millers[i]) == 0,
            "start a thread");
    }
    for (size_t i = 0; i < BENCH_MILLERS; i++) {
        (void)pthread_join(millers[i].thread, NULL);
        completed += millers[i].completed;
        if (times != NULL)
            add_times(times, &millers[i].times);
    }
    bench_must(completed == count, "each execution is completed once");
    return bench_now_ns() - begun_ns;
}
