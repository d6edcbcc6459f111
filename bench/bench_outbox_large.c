/*
 * bench_outbox_large.c - one transaction with two million messages, and one partition
 * that is stuck.
 *
 *   bench_outbox_large [--quick] [ENGINE...] [COUNT]
 *
 * The backlog is delivered as it is, and with a handler that does not return for one of
 * the 64 partitions. What is compared is the rate of the other 63. Before each delivery
 * everything comes to rest: what is still to be acknowledged or swept of the one before
 * would be work beside the next. One such pair is as large as asked for; more of them
 * are smaller, for a median.
 *
 * Somebody looks at the status all the time: with that many waiting it is estimated and
 * says so; when only the stuck partition is left it is counted. `--quick` is 200,000.
 * docs/internals/bench.md explains how to read it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/inspect.h>

#include "lib/clock.h"
#include "lib/database.h"
#include "lib/meter.h"
#include "lib/must.h"
#include "lib/outbox_load.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum {
    COUNT_FULL = 2000000,
    COUNT_QUICK = 200000,
    ROUNDS = 3,
    COUNT_ROUND = 200000, /* of messages, at most, in each of the rounds */
    STUCK = 7,
    ASKED_MAX = 4000
};

static struct bench_outbox_load line;

/* ---- status ------------------------------------------------------------------------ */

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

/* ---- deliveries -------------------------------------------------------------------- */

struct delivery {
    uint64_t count; /* of messages that were waited for */
    int64_t sent_ns;
    int64_t taken_ns;     /* from the commit on */
    int64_t processor_ns; /* of this process, in that time */
    size_t memory;
};

static double rate_of(const struct delivery *self)
{
    return bench_per_second(self->count, self->taken_ns);
}

static double cost_of(const struct delivery *self)
{
    return (double)self->processor_ns / (double)self->count;
}

/* Send `count`, wait for `awaited` of them. Somebody looks at the status meanwhile. */
static void deliver(struct delivery *self, struct observer *observer, uint64_t count,
                    uint64_t awaited)
{
    struct bench_meter meter;
    int64_t begun_ns;

    bench_outbox_load_rest(&line);
    begun_ns = bench_now_ns();
    self->count = awaited;
    bench_meter_begin(&meter);
    bench_outbox_load_send_at_once(&line, count);
    self->sent_ns = bench_now_ns() - begun_ns;
    self->processor_ns = -bench_processor_ns();
    begin_looking(observer);
    bench_outbox_load_await(&line, awaited);
    self->taken_ns = bench_now_ns() - begun_ns - self->sent_ns;
    self->processor_ns += bench_processor_ns();
    self->memory = bench_meter_end(&meter);
    end_looking(observer);
}

/* The same with a partition that stands still, and does so until let_go(). */
static void deliver_stuck(struct delivery *self, struct observer *observer,
                          uint64_t count)
{
    bench_outbox_load_hold(&line, STUCK);
    deliver(self, observer, count, count - count / BENCH_PARTITIONS);
}

static void let_go(uint64_t count)
{
    bench_outbox_load_hold(&line, BENCH_NOBODY);
    bench_outbox_load_await(&line, count / BENCH_PARTITIONS);
}

/* What the others did with one partition stuck, against all of them with none. */
struct contest {
    struct bench_pair rates;
    struct bench_pair costs;
};

static void contest_add(struct contest *self, const struct delivery *stuck,
                        const struct delivery *unhindered)
{
    bench_pair_add(&self->rates, rate_of(stuck), rate_of(unhindered));
    bench_pair_add(&self->costs, cost_of(stuck), cost_of(unhindered));
}

static void print_contest(const struct contest *self)
{
    bench_row_pair("the others, in order", BENCH_PER_SECOND, &self->rates,
                   BENCH_AT_LEAST(0.67));
    bench_row_pair("processor time of this process, per message", BENCH_NANOSECONDS,
                   &self->costs, BENCH_UNJUDGED);
}

static void hold_rounds(struct observer *observer, uint64_t count)
{
    struct contest contest = {.rates.ours.count = 0};
    struct delivery unhindered;
    struct delivery stuck;
    char title[64];

    for (int i = 0; i < ROUNDS; i++) {
        deliver(&unhindered, observer, count, count);
        deliver_stuck(&stuck, observer, count);
        let_go(count);
        contest_add(&contest, &stuck, &unhindered);
    }
    (void)snprintf(title, sizeof title, "   %llu at once, median of %d rounds",
                   (unsigned long long)count, ROUNDS);
    bench_section(title, "one stuck", "none stuck");
    print_contest(&contest);
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

static void print_unhindered(const struct delivery *self)
{
    bench_row_value("enqueued in one transaction", BENCH_PER_SECOND,
                    bench_per_second(self->count, self->sent_ns), BENCH_UNJUDGED);
    bench_row_value("delivered in order", BENCH_PER_SECOND, rate_of(self),
                    BENCH_UNJUDGED);
    bench_row_value("memory above idle", BENCH_BYTES, (double)self->memory,
                    BENCH_BELOW(64e6));
}

static void bench_large(struct observer *observer, uint64_t count)
{
    struct contest contest = {.rates.ours.count = 0};
    struct delivery unhindered;
    struct delivery stuck;
    struct look last;

    deliver(&unhindered, observer, count, count);
    print_unhindered(&unhindered);
    deliver_stuck(&stuck, observer, count);
    bench_outbox_load_rest(&line); /* only the stuck partition is left */
    take_look(observer, &last);
    let_go(count);
    contest_add(&contest, &stuck, &unhindered);
    bench_section("   one partition stuck", "one stuck", "none stuck");
    print_contest(&contest);
    bench_row_value("memory above idle", BENCH_BYTES, (double)stuck.memory,
                    BENCH_BELOW(64e6));
    print_status(observer, &last, count / BENCH_PARTITIONS);
}

static void bench_engine(enum weir_engine engine, uint64_t count)
{
    static struct observer observer;
    struct bench_database *database = bench_database_open(engine);
    struct bench_outbox_load_options options = {
        .url = bench_database_add(database, "large", false), .deliver = true};
    char title[128];

    bench_outbox_load_open(&line, &options);
    (void)snprintf(title, sizeof title, "%s, profile %s: %llu messages at once",
                   weir_engine_name(engine), BENCH_PROFILE_NAME,
                   (unsigned long long)count);
    bench_section(title, "weir", "");
    bench_large(&observer, count);
    hold_rounds(&observer, count < COUNT_ROUND ? count : COUNT_ROUND);
    bench_outbox_load_check_order(&line);
    bench_outbox_load_close(&line);
    bench_database_close(database);
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
