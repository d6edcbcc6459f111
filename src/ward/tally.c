/*
 * tally.c - a listener that counts.
 *
 * One thread writes, any thread reads, and no figure says anything about another:
 * relaxed atomics will do. The fresh maximum alone has two writers, because a reader
 * takes it away. Raising it is therefore a compare-exchange: a plain store could put
 * back a maximum that was taken in between.
 *
 * Sums are kept in nanoseconds and given out in microseconds. Each of them, cut to whole
 * microseconds, still only grows, so differences over time lose nothing.
 */
#include "ward/tally.h"

#include <stddef.h>

#include "weir/executor.h"

static void count_start(void *state, const char *worker);
static void count_complete(void *state, const char *worker, int64_t elapsed_ns,
                           const struct weir_directive *directive);
static void count_error(void *state, const char *worker, int64_t elapsed_ns,
                        const char *text, uint32_t failures, int64_t backoff_ns);
static void note_end(struct weir_tally *self);
static void add(_Atomic uint64_t *counter, uint64_t amount);
static uint64_t value_of(const _Atomic uint64_t *counter);
static void raise_to(_Atomic uint64_t *maximum, uint64_t value);
static uint64_t not_negative(int64_t duration_ns);

void weir_tally_init(struct weir_tally *self, struct weir_executor *executor,
                     weir_stats_messages_fn messages_of, void *messages_state)
{
    *self = (struct weir_tally){
        .listener =
            {
                .state = self,
                .on_execute_start = count_start,
                .on_complete = count_complete,
                .on_error = count_error,
            },
        .executor = executor,
        .messages_of = messages_of,
        .messages_state = messages_state,
    };
}

void weir_tally_add_to(const struct weir_tally *self, struct weir_stats_row *row)
{
    uint64_t max_us = value_of(&self->execution_ns_max) / 1000;

    row->executions += value_of(&self->executions);
    row->noops += value_of(&self->noops);
    row->failures += value_of(&self->failures);
    row->messages += value_of(&self->messages);
    row->execution_us_total += value_of(&self->execution_ns_total) / 1000;
    row->idle_us_total += value_of(&self->idle_ns_total) / 1000;
    if (max_us > row->execution_us_max)
        row->execution_us_max = max_us;
}

uint64_t weir_tally_take_fresh_max_us(struct weir_tally *self)
{
    return atomic_exchange_explicit(&self->fresh_ns_max, 0, memory_order_relaxed) / 1000;
}

static void count_start(void *state, const char *worker)
{
    struct weir_tally *self = state;

    (void)worker;
    if (self->has_executed)
        add(&self->idle_ns_total,
            not_negative(weir_executor_now(self->executor) - self->ended_ns));
}

static void count_complete(void *state, const char *worker, int64_t elapsed_ns,
                           const struct weir_directive *directive)
{
    struct weir_tally *self = state;
    uint64_t elapsed = not_negative(elapsed_ns);
    uint64_t messages = 0;

    (void)worker;
    if (self->messages_of != NULL)
        messages = self->messages_of(self->messages_state, directive);

    add(&self->executions, 1);
    add(&self->noops, messages == 0 ? 1 : 0);
    add(&self->messages, messages);
    add(&self->execution_ns_total, elapsed);
    raise_to(&self->execution_ns_max, elapsed);
    raise_to(&self->fresh_ns_max, elapsed);
    note_end(self);
}

/*
 * The time of a failed execution is not counted: with it, the average would be of
 * something else than what the executions did.
 */
static void count_error(void *state, const char *worker, int64_t elapsed_ns,
                        const char *text, uint32_t failures, int64_t backoff_ns)
{
    struct weir_tally *self = state;

    (void)worker;
    (void)elapsed_ns;
    (void)text;
    (void)failures;
    (void)backoff_ns;
    add(&self->failures, 1);
    note_end(self);
}

static void note_end(struct weir_tally *self)
{
    self->has_executed = true;
    self->ended_ns = weir_executor_now(self->executor);
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static uint64_t value_of(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void raise_to(_Atomic uint64_t *maximum, uint64_t value)
{
    uint64_t seen = value_of(maximum);

    while (value > seen && !atomic_compare_exchange_weak_explicit(maximum, &seen, value,
                                                                  memory_order_relaxed,
                                                                  memory_order_relaxed))
        continue;
}

static uint64_t not_negative(int64_t duration_ns)
{
    return duration_ns > 0 ? (uint64_t)duration_ns : 0;
}
