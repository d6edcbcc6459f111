/*
 * bench_tally.c - the handler of `weir bench`; see bench.h.
 *
 * A message that comes again is no disorder: that is promised to happen after a
 * failure. It is known by its number.
 */
#include <string.h>

#include "cli/bench/bench.h"
#include "db/clock.h"

/* Of a payload that is not ours: one that is never next. */
static struct weir_bench_mark read_mark(const struct weir_message *message)
{
    struct weir_bench_mark mark = {.count = 0};

    if (message->payload_size >= sizeof mark)
        memcpy(&mark, message->payload, sizeof mark);
    if (mark.producer > WEIR_BENCH_PRODUCERS_MAX)
        mark = (struct weir_bench_mark){.count = 0};
    return mark;
}

enum weir_outcome weir_bench_tally_take(struct weir_context *context, void *state,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    struct weir_bench_tally *self = state;
    struct weir_bench_partition *partition = &self->partitions[message->partition];
    struct weir_bench_mark mark;

    (void)context;
    (void)reason;
    if (message->seq <= partition->seq) {
        atomic_fetch_add(&self->repeated, 1);
        return WEIR_DONE;
    }
    mark = read_mark(message);
    if (message->seq != partition->seq + 1 ||
        mark.count != partition->counts[mark.producer] + 1)
        atomic_fetch_add(&self->disorder, 1);
    partition->seq = message->seq;
    partition->counts[mark.producer] = mark.count;
    atomic_store(&self->last_ns, weir_clock_now_ns());
    atomic_fetch_add(&self->delivered, 1);
    return WEIR_DONE;
}
