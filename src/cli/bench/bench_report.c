/*
 * bench_report.c - what `weir bench` prints; see bench.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/noun.h"
#include "cli/bench/bench.h"
#include "cli/output.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 10 };

static double seconds_of(const struct weir_bench_rate *rate)
{
    return (double)rate->elapsed_ns / 1e9;
}

static double per_second(const struct weir_bench_rate *rate)
{
    return rate->elapsed_ns > 0 ? (double)rate->count / seconds_of(rate) : 0;
}

/* The one that `percent` of them do not exceed; 0 without any. */
static int64_t percentile_ns(const struct weir_bench_stats *stats, size_t percent)
{
    size_t count = stats->latency_count;

    return count > 0 ? stats->latencies_ns[(count * percent + 99) / 100 - 1] : 0;
}

static bool in_order(const struct weir_bench_stats *stats)
{
    return stats->disorder == 0;
}

/* ---- text -------------------------------------------------------------------------- */

static void print_rate(const char *name, const struct weir_bench_rate *rate)
{
    printf("%-12s %.0f/s, %" PRId64 " %s in %.2f s\n", name, per_second(rate),
           rate->count, WEIR_NOUN(rate->count, "message", "messages"), seconds_of(rate));
}

static void print_latency(const struct weir_bench_stats *stats)
{
    if (stats->latency_count == 0)
        puts("latency      not measured: messages were still waiting when the time was "
             "over");
    else
        printf("latency      p50 %.2f ms, p99 %.2f ms from commit to handler when idle, "
               "%zu %s\n",
               (double)percentile_ns(stats, 50) / 1e6,
               (double)percentile_ns(stats, 99) / 1e6, stats->latency_count,
               WEIR_NOUN(stats->latency_count, "message", "messages"));
}

static void print_order(const struct weir_bench_stats *stats)
{
    if (in_order(stats))
        printf("order        verified in all %d partitions", WEIR_BENCH_PARTITIONS);
    else
        printf("order        BROKEN: %" PRId64 " %s not in their place", stats->disorder,
               WEIR_NOUN(stats->disorder, "message", "messages"));
    if (stats->repeated > 0)
        printf("; %" PRId64 " came again", stats->repeated);
    if (stats->undelivered > 0)
        printf("; %" PRId64 " not delivered in time", stats->undelivered);
    putchar('\n');
}

static void print_text(const struct weir_session *session,
                       const struct weir_bench_plan *plan,
                       const struct weir_bench_stats *stats)
{
    printf("database     %s: %s, %s\n", session->name,
           stats->settings.durable ? "commits survive a crash"
                                   : "A CRASH CAN LOSE COMMITS",
           stats->settings.text);
    printf("load         %" PRId64 " %s of %zu %s, %zu per transaction, "
           "%" PRIu32 " %s\n",
           plan->messages, WEIR_NOUN(plan->messages, "message", "messages"), plan->size,
           WEIR_NOUN(plan->size, "byte", "bytes"), plan->batch, plan->producers,
           WEIR_NOUN(plan->producers, "producer", "producers"));
    printf("delivery     profile %s, %d %s, %" PRIu32 " leased %s nothing\n\n",
           WEIR_BENCH_PROFILE_NAME, WEIR_BENCH_PARTITIONS,
           WEIR_NOUN(WEIR_BENCH_PARTITIONS, "partition", "partitions"), plan->handlers,
           WEIR_NOUN(plan->handlers, "handler that does", "handlers that do"));
    print_rate("enqueue", &stats->enqueue);
    print_rate("end to end", &stats->through);
    print_latency(stats);
    print_order(stats);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void add_rate(struct weir_buf *json, const char *name,
                     const struct weir_bench_rate *rate)
{
    weir_output_open(json, name, "{");
    weir_output_add_number(json, "count", rate->count);
    weir_output_add_seconds(json, "seconds", rate->elapsed_ns / 1000);
    weir_output_add_number(json, "per_second", (int64_t)per_second(rate));
    weir_buf_append_text(json, "}");
}

static void add_plan(struct weir_buf *json, const struct weir_bench_plan *plan)
{
    weir_output_add_text(json, "profile", WEIR_BENCH_PROFILE_NAME);
    weir_output_add_number(json, "partitions", WEIR_BENCH_PARTITIONS);
    weir_output_add_number(json, "messages", plan->messages);
    weir_output_add_number(json, "batch", (int64_t)plan->batch);
    weir_output_add_number(json, "size", (int64_t)plan->size);
    weir_output_add_number(json, "producers", plan->producers);
    weir_output_add_number(json, "handlers", plan->handlers);
}

static void add_stats(struct weir_buf *json, const struct weir_bench_stats *stats)
{
    add_rate(json, "enqueue", &stats->enqueue);
    add_rate(json, "end_to_end", &stats->through);
    weir_output_open(json, "latency", stats->latency_count > 0 ? "{" : "null");
    if (stats->latency_count > 0) {
        weir_output_add_number(json, "count", (int64_t)stats->latency_count);
        weir_output_add_seconds(json, "p50", percentile_ns(stats, 50) / 1000);
        weir_output_add_seconds(json, "p99", percentile_ns(stats, 99) / 1000);
        weir_buf_append_text(json, "}");
    }
    weir_output_add_flag(json, "in_order", in_order(stats));
    weir_output_add_number(json, "out_of_order", stats->disorder);
    weir_output_add_number(json, "repeated", stats->repeated);
    weir_output_add_number(json, "undelivered", stats->undelivered);
}

static int print_json(const struct weir_session *session,
                      const struct weir_bench_plan *plan,
                      const struct weir_bench_stats *stats)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "database", session->name);
    weir_output_add_flag(&json, "durable", stats->settings.durable);
    weir_output_add_text(&json, "settings", stats->settings.text);
    add_plan(&json, plan);
    add_stats(&json, stats);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

int weir_bench_report(const struct weir_session *session,
                      const struct weir_bench_plan *plan,
                      const struct weir_bench_stats *stats)
{
    int code = WEIR_EXIT_DONE;

    if (session->shared.json)
        code = print_json(session, plan, stats);
    else
        print_text(session, plan, stats);
    if (code == WEIR_EXIT_DONE && !in_order(stats))
        code = weir_command_fail(
            session->command, "messages were delivered out of order; please report it");
    return code;
}
