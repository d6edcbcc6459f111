/*
 * bench_outbox_large.c - one transaction with two million messages, and one partition that is
 * stuck.
 *
 *   bench_outbox_large [--quick] [ENGINE...] [COUNT]
 *
 * The backlog is delivered three times: as it is, with a handler that does not return for one of
 * the 64 partitions, and once more as it is. What is compared is the rate of the other 63 with the
 * third: both have the sweep of the delivery before beside them, which the first has not. While the second one is
 * delivered the outbox is asked for its status again and again: with that many waiting it
 * estimates and says so; when only the stuck partition is left it counts. `--quick` is 200,000.
 * docs/internals/bench.md explains how to read it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/inspect.h>

#include "lib/clock.h"
#include "lib/ground.h"
#include "lib/line.h"
#include "lib/meter.h"
#include "lib/must.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { COUNT_FULL = 2000000, COUNT_QUICK = 200000, STUCK = 7, ASKED_MAX = 4000 };

static struct bench_line line;

/* ---- status ------------------------------------------------------------------------------- */

/* What one look at the status told. */
struct look {
    int64_t waiting;
    bool estimate;
    bool partition_estimate;
    int64_t partitions_waiting; /* sum over the partitions */
};

static void note_queue(void *state, const struct weir_queue_info *info)
{
    struct look *look = state;

    look->waiting = info->waiting;
    look->estimate = info->waiting_is_estimate;
}

static void note_partition(void *state, const struct weir_partition_info *info)
{
    struct look *look = state;

    look->partitions_waiting += info->waiting;
    look->partition_estimate = look->partition_estimate || info->waiting_is_estimate;
}

/* Someone who looks at the status all the time, with a pause of a quarter of a second. */
struct observer {
    pthread_t thread;
    _Atomic int ended;
    int64_t queues_ns[ASKED_MAX];
    int64_t partitions_ns[ASKED_MAX];
    size_t asked;
    size_t estimates;
};

static void take_look(struct observer *self, struct look *look)
{
    struct weir_error error;
    int64_t begun_ns = bench_now_ns();
    int64_t between_ns;

    memset(look, 0, sizeof *look);
    bench_must_ok(weir_outbox_read_queues(line.outbox, note_queue, look, &error), &error,
                  "read the queues");
    between_ns = bench_now_ns();
    bench_must_ok(weir_outbox_read_partitions(line.outbox, BENCH_QUEUE, note_partition,
                                              look, &error),
                  &error, "read the partitions");
    if (self->asked == ASKED_MAX)
        return;
    self->queues_ns[self->asked] = between_ns - begun_ns;
    self->partitions_ns[self->asked++] = bench_now_ns() - between_ns;
    self->estimates += look->estimate;
}

static void *look_often(void *state)
{
    struct observer *self = state;
    struct look look;

    while (!atomic_load(&self->ended)) {
        take_look(self, &look);
        bench_sleep_ns(WEIR_MILLISECONDS(250));
    }
    return NULL;
}

static void begin_looking(struct observer *self)
{
    memset(self, 0, sizeof *self);
    bench_must(pthread_create(&self->thread, NULL, look_often, self) == 0,
               "start a thread");
}

static void end_looking(struct observer *self)
{
    atomic_store(&self->ended, 1);
    (void)pthread_join(self->thread, NULL);
}

/* ---- deliveries --------------------------------------------------------------------------- */

struct delivery {
    uint64_t count; /* of messages that were waited for */
    int64_t sent_ns;
    int64_t taken_ns; /* from the commit on */
    size_t memory;
};

static double rate_of(const struct delivery *self)
{
    return bench_per_second(self->count, self->taken_ns);
}

/* Somebody looks at the status meanwhile, in both deliveries. */
static void deliver(struct delivery *self, struct observer *observer, uint64_t count,
                    uint64_t awaited)
{
    struct bench_meter meter;
    int64_t begun_ns = bench_now_ns();

    self->count = awaited;
    bench_meter_begin(&meter);
    bench_line_send_at_once(&line, count);
    self->sent_ns = bench_now_ns() - begun_ns;
    begin_looking(observer);
    bench_line_await(&line, awaited);
    self->taken_ns = bench_now_ns() - begun_ns - self->sent_ns;
    self->memory = bench_meter_end(&meter);
    end_looking(observer);
}

static void print_status(struct observer *observer, const struct look *last,
                         uint64_t stuck_count)
{
    size_t count = observer->asked;

    bench_sort_ns(observer->queues_ns, count);
    bench_sort_ns(observer->partitions_ns, count);
    bench_row_value("status: looks at it", BENCH_COUNT, (double)count, BENCH_UNJUDGED);
    bench_row_value("status: answers with the mark", BENCH_COUNT,
                    (double)observer->estimates, BENCH_AT_LEAST(1));
    bench_row_value("status: queues, p50", BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(observer->queues_ns, count, 50),
                    BENCH_UNJUDGED);
    bench_row_value("status: queues, slowest", BENCH_NANOSECONDS,
                    (double)observer->queues_ns[count - 1], BENCH_UNJUDGED);
    bench_row_value("status: partitions, p50", BENCH_NANOSECONDS,
                    (double)bench_percentile_ns(observer->partitions_ns, count, 50),
                    BENCH_UNJUDGED);
    bench_row_value("status: partitions, slowest", BENCH_NANOSECONDS,
                    (double)observer->partitions_ns[count - 1], BENCH_UNJUDGED);
    if (stuck_count < WEIR_LAG_EXACT_MAX) {
        bench_row_value("status: wrong by, only the stuck ones left", BENCH_COUNT,
                        (double)llabs(last->waiting - (long long)stuck_count),
                        BENCH_AT_MOST(0));
        bench_row_value("status: marked as estimate then", BENCH_COUNT,
                        (double)(last->estimate || last->partition_estimate),
                        BENCH_AT_MOST(0));
    }
}

static void bench_engine(enum weir_engine engine, uint64_t count)
{
    static struct observer observer;
    static struct observer unused;
    struct bench_ground *ground = bench_ground_open(engine);
    struct bench_line_options options = {.url = bench_ground_add(ground, "large", false),
                                         .deliver = true};
    uint64_t stuck_count = count / BENCH_PARTITIONS;
    struct delivery free_one;
    struct delivery stuck_one;
    struct delivery later_one;
    struct bench_pair pair;
    struct look last;
    char title[128];

    bench_line_open(&line, &options);
    (void)snprintf(title, sizeof title, "%s, profile %s: %llu messages at once",
                   weir_engine_name(engine), BENCH_PROFILE_NAME,
                   (unsigned long long)count);
    bench_section(title, "weir", "");
    deliver(&free_one, &observer, count, count);
    bench_row_value("enqueued in one transaction", BENCH_PER_SECOND,
                    bench_per_second(count, free_one.sent_ns), BENCH_UNJUDGED);
    bench_row_value("delivered in order", BENCH_PER_SECOND, rate_of(&free_one),
                    BENCH_UNJUDGED);
    bench_row_value("memory above idle", BENCH_BYTES, (double)free_one.memory,
                    BENCH_BELOW(64e6));

    bench_line_hold(&line, STUCK);
    deliver(&stuck_one, &observer, count, count - stuck_count);
    bench_sleep_ns(WEIR_SECONDS(1)); /* the last acks */
    take_look(&observer, &last);
    bench_line_hold(&line, BENCH_NOBODY);
    bench_line_await(&line, stuck_count);
    deliver(&later_one, &unused, count, count);
    memset(&pair, 0, sizeof pair);
    bench_pair_add(&pair, rate_of(&stuck_one), rate_of(&later_one));
    bench_section("   one partition stuck", "weir", "none stuck");
    bench_row_pair("the others, in order", BENCH_PER_SECOND, &pair, BENCH_AT_LEAST(0.67));
    bench_row_value("memory above idle", BENCH_BYTES, (double)stuck_one.memory,
                    BENCH_BELOW(64e6));
    print_status(&observer, &last, stuck_count);

    bench_line_check_order(&line);
    bench_line_close(&line);
    bench_ground_close(ground);
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL};
    bool chosen[2] = {false};
    uint64_t count = COUNT_FULL;
    int64_t begun_ns = bench_now_ns();

    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--quick") == 0;

        count = known ? COUNT_QUICK : count;
        for (size_t k = 0; k < 2; k++) {
            if (strcmp(argv[i], weir_engine_name(ENGINES[k])) == 0)
                known = chosen[k] = true;
        }
        if (!known && strtoull(argv[i], NULL, 10) >= BENCH_PARTITIONS) {
            count = strtoull(argv[i], NULL, 10);
            known = true;
        }
        if (!known) {
            (void)fprintf(stderr, "usage: bench_outbox_large [--quick] [sqlite] "
                                  "[postgresql] [COUNT]\n");
            return 2;
        }
    }
    count -= count % BENCH_PARTITIONS; /* as many for each */
    (void)printf("%zu cores, load %.2f; %d partitions, %d byte payloads, durable "
                 "commits\n",
                 bench_core_count(), bench_load(), BENCH_PARTITIONS, BENCH_PAYLOAD_SIZE);
    (void)fflush(stdout);
    for (size_t k = 0; k < 2; k++) {
        if ((!chosen[0] && !chosen[1]) || chosen[k])
            bench_engine(ENGINES[k], count);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
