/*
 * worker_options.c - what a worker may be asked to be; see weir/worker.h.
 *
 * Everything is looked at before anything is made, and the text names the field, its
 * value and the limit.
 */
#include "ward/worker_options.h"

#include "ward/bulkhead.h"
#include "ward/executor.h"
#include "ward/gate.h"
#include "ward/name.h"
#include "ward/notifier.h"
#include "ward/pace.h"

void weir_worker_options_init(struct weir_worker_options *self)
{
    *self = (struct weir_worker_options){
        .pace = {.min_ns = WEIR_MILLISECONDS(10),
                 .active_ns = WEIR_MILLISECONDS(100),
                 .ramp_ns = WEIR_MILLISECONDS(10)},
        .backoff = {.initial_ns = WEIR_MILLISECONDS(100),
                    .max_ns = WEIR_SECONDS(30),
                    .multiplier = 2.0,
                    .jitter = 0.3},
    };
}

static enum weir_status check_lists(const struct weir_worker_options *options,
                                    const struct weir_executor *executor,
                                    struct weir_error *error)
{
    if (options->notifier_count > WEIR_WORKER_NOTIFIERS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "notifier_count is %zu, must be at most %d",
                              options->notifier_count, WEIR_WORKER_NOTIFIERS_MAX);
    if (options->listener_count > WEIR_WORKER_LISTENERS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "listener_count is %zu, must be at most %d",
                              options->listener_count, WEIR_WORKER_LISTENERS_MAX);
    if (options->notifiers == NULL && options->notifier_count > 0)
        return weir_error_set(error, WEIR_INVALID,
                              "notifiers is NULL, must be a list of %zu",
                              options->notifier_count);
    if (options->listeners == NULL && options->listener_count > 0)
        return weir_error_set(error, WEIR_INVALID,
                              "listeners is NULL, must be a list of %zu",
                              options->listener_count);
    for (size_t i = 0; i < options->notifier_count; i++) {
        if (options->notifiers[i] == NULL || options->notifiers[i]->executor != executor)
            return weir_error_set(error, WEIR_INVALID,
                                  "notifiers[%zu] is not of this ward's executor", i);
    }
    for (size_t i = 0; i < options->listener_count; i++) {
        if (options->listeners[i] == NULL)
            return weir_error_set(error, WEIR_INVALID, "listeners[%zu] is NULL", i);
    }
    return WEIR_OK;
}

static enum weir_status check_gates(const struct weir_worker_options *options,
                                    const struct weir_executor *executor,
                                    struct weir_error *error)
{
    if (options->shared != NULL && options->shared->executor != executor)
        return weir_error_set(error, WEIR_INVALID,
                              "shared is not of this ward's executor");
    if (options->guaranteed != NULL && options->guaranteed->executor != executor)
        return weir_error_set(error, WEIR_INVALID,
                              "guaranteed is not of this ward's executor");
    if (options->shared != NULL && options->shared == options->guaranteed)
        return weir_error_set(error, WEIR_INVALID,
                              "shared and guaranteed are the same gate, must be two");
    return WEIR_OK;
}

enum weir_status weir_worker_options_check(const struct weir_worker_options *options,
                                           const struct weir_executor *executor,
                                           struct weir_error *error)
{
    enum weir_status status = weir_name_check("name", options->name, error);

    if (status == WEIR_OK && options->action == NULL)
        status =
            weir_error_set(error, WEIR_INVALID, "action is NULL, must be a function");
    if (status == WEIR_OK)
        status = check_lists(options, executor, error);
    if (status == WEIR_OK)
        status = check_gates(options, executor, error);
    if (status == WEIR_OK)
        status = weir_pace_check(&options->pace, error);
    if (status == WEIR_OK)
        status = weir_backoff_check(&options->backoff, error);
    if (status == WEIR_OK && options->on_error == WEIR_ON_ERROR_RETRY &&
        options->backoff.initial_ns == 0)
        status =
            weir_error_set(error, WEIR_INVALID,
                           "backoff.initial_ns is 0, must be at least 1 when on_error is "
                           "retry (it would spin)");
    if (status == WEIR_OK && (unsigned)options->on_error > WEIR_ON_ERROR_WAIT_FOR_SIGNAL)
        status = weir_error_set(error, WEIR_INVALID, "on_error is %d, must be 0 to %d",
                                (int)options->on_error, WEIR_ON_ERROR_WAIT_FOR_SIGNAL);
    if (status == WEIR_OK && (unsigned)options->on_panic > WEIR_ON_PANIC_RETRY)
        status = weir_error_set(error, WEIR_INVALID, "on_panic is %d, must be 0 to %d",
                                (int)options->on_panic, WEIR_ON_PANIC_RETRY);
    if (status == WEIR_OK && (unsigned)options->worker_class >= WEIR_TRACK_COUNT)
        status =
            weir_error_set(error, WEIR_INVALID, "worker_class is %d, must be 0 to %d",
                           (int)options->worker_class, WEIR_TRACK_COUNT - 1);
    if (status == WEIR_OK && !executor->serves[options->worker_class])
        status =
            weir_error_set(error, WEIR_INVALID,
                           "worker_class is reserved, but the executor has no reserve "
                           "threads to run it");
    return status;
}
