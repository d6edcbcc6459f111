/*
 * pool.c - see pool.h.
 */
#include "lib/pool.h"

#include "lib/clock.h"
#include "lib/must.h"

void bench_pool_open(struct bench_pool *self, uint32_t threads,
                     const struct weir_heap *heap)
{
    struct weir_executor_options options;
    struct weir_error error;

    weir_executor_options_init(&options);
    options.heap = heap;
    options.threads = threads;
    bench_must_ok(weir_executor_create(&options, &self->executor, &error), &error,
                  "create executor");
    bench_must_ok(weir_ward_create(self->executor,
                                   &(struct weir_ward_options){.name = "bench"},
                                   &self->ward, &error),
                  &error, "create ward");
}

void bench_pool_close(struct bench_pool *self)
{
    bench_must(weir_ward_stop(self->ward, WEIR_SECONDS(60)) == 0,
               "workers are unfinished");
    weir_ward_destroy(self->ward);
    weir_executor_destroy(self->executor);
}

struct weir_notifier *bench_pool_notifier(struct bench_pool *self)
{
    struct weir_notifier *notifier;

    bench_must_ok(weir_notifier_create(self->executor, &notifier), NULL,
                  "create notifier");
    return notifier;
}

struct weir_worker_options bench_pool_options(weir_action_fn action, void *state,
                                              struct weir_notifier *const *notifier)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = "worker";
    options.action = action;
    options.state = state;
    options.notifiers = notifier;
    options.notifier_count = 1;
    options.pace = weir_pace_none();
    return options;
}

struct weir_worker *bench_pool_spawn(struct bench_pool *self,
                                     const struct weir_worker_options *options)
{
    struct weir_worker *worker;
    struct weir_error error;

    bench_must_ok(weir_ward_spawn(self->ward, options, &worker, &error), &error, "spawn");
    return worker;
}

void bench_pool_await(struct weir_notifier *notifier, size_t count)
{
    while (weir_notifier_waiting(notifier) < count)
        bench_sleep_ns(WEIR_MICROSECONDS(200));
    bench_sleep_ns(WEIR_MILLISECONDS(1));
}
