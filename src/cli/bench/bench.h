/*
 * bench.h - the options of `weir bench`, what it measures, and its parts.
 *
 *   bench.c            options; a queue of its own, the measurements one after the other
 *   bench_load.c       producers: threads that enqueue as fast as they can
 *   bench_tally.c      the handler: does nothing but count and look at the order
 *   bench_settings.c   the database's settings that decide what a commit costs
 *   bench_report.c     prints it all
 *
 * Each producer numbers its messages per partition and writes the number, and its own,
 * into the payload (struct weir_bench_mark). So the handler knows for each message
 * which one must be next.
 */
#ifndef WEIR_CLI_BENCH_BENCH_H
#define WEIR_CLI_BENCH_BENCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/session.h"
#include "weir/outbox.h"

#define WEIR_BENCH_PROFILE WEIR_PROFILE_HIGH_THROUGHPUT
#define WEIR_BENCH_PROFILE_NAME "high_throughput"

enum {
    WEIR_BENCH_PARTITIONS = 64,
    WEIR_BENCH_PRODUCERS_MAX = 64,
    WEIR_BENCH_LATENCIES_MAX = 200,
    WEIR_BENCH_SETTINGS_SIZE = 160
};

struct weir_bench_plan {
    int64_t messages;
    size_t batch; /* messages per transaction */
    size_t size;  /* of a payload; at least that of a mark */
    uint32_t producers;
    uint32_t handlers;
    int64_t seconds; /* limit of each measurement */
};

/* The first bytes of each payload. */
struct weir_bench_mark {
    uint64_t count;    /* of this producer's in its partition, from 1 */
    uint64_t producer; /* from 0 to WEIR_BENCH_PRODUCERS_MAX */
};

/* ---- the producers ----------------------------------------------------------------- */

struct weir_bench_producer;

struct weir_bench_load {
    struct weir_outbox *outbox; /* borrowed; so the others */
    const char *queue;
    const struct weir_bench_plan *plan;
    struct weir_bench_producer *producers; /* owned; one more than there are threads */
    int64_t begun_ns;
    _Atomic int64_t sent;     /* messages, committed */
    _Atomic int64_t ended_ns; /* when the last producer was through */
    _Atomic uint32_t running; /* producers */
    _Atomic bool stopped;
    _Atomic bool failed;
    struct weir_error error; /* of the first that failed; to be read after stop() */
};

/* Prepare letters for all producers. Fails with WEIR_NO_MEMORY; close() is owed either
 * way. */
WEIR_CHECKED enum weir_status weir_bench_load_open(struct weir_bench_load *self,
                                                   struct weir_outbox *outbox,
                                                   const char *queue,
                                                   const struct weir_bench_plan *plan,
                                                   struct weir_error *error);
void weir_bench_load_close(struct weir_bench_load *self);

/* Begin to send all messages of the plan. stop() is owed if that worked. */
WEIR_CHECKED enum weir_status weir_bench_load_start(struct weir_bench_load *self,
                                                    struct weir_error *error);

/* Let transactions that run end, and wait for that. Fails as the first producer did. */
WEIR_CHECKED enum weir_status weir_bench_load_stop(struct weir_bench_load *self,
                                                   struct weir_error *error);

/* One message from this thread, while no producer runs. */
WEIR_CHECKED enum weir_status weir_bench_load_send_one(struct weir_bench_load *self,
                                                       struct weir_error *error);

/* ---- the handler ------------------------------------------------------------------- */

struct weir_bench_partition {
    int64_t seq;                                   /* of the last message */
    uint64_t counts[WEIR_BENCH_PRODUCERS_MAX + 1]; /* per producer */
};

/* Partitions are called one at a time, each by one thread: they need no lock. */
struct weir_bench_tally {
    struct weir_bench_partition partitions[WEIR_BENCH_PARTITIONS];
    _Atomic int64_t delivered;
    _Atomic int64_t disorder; /* messages that were not the next of their partition */
    _Atomic int64_t repeated; /* came again, as they may; not in `delivered` */
    _Atomic int64_t last_ns;  /* when it was last called */
};

/* A handler of messages; `state` is the tally. */
enum weir_outcome weir_bench_tally_take(struct weir_context *context, void *state,
                                        const struct weir_message *message,
                                        struct weir_reason *reason);

/* ---- the database ------------------------------------------------------------------ */

struct weir_bench_settings {
    bool durable;                        /* a commit survives a crash */
    char text[WEIR_BENCH_SETTINGS_SIZE]; /* "synchronous_commit on, fsync on" */
};

WEIR_CHECKED enum weir_status weir_bench_settings_read(struct weir_bench_settings *self,
                                                       struct weir_db *db,
                                                       struct weir_error *error);

/* ---- the figures ------------------------------------------------------------------- */

struct weir_bench_rate {
    int64_t count;
    int64_t elapsed_ns;
};

struct weir_bench_stats {
    struct weir_bench_rate enqueue; /* while nothing delivers */
    struct weir_bench_rate through; /* from the first enqueue to the last call */
    int64_t latencies_ns[WEIR_BENCH_LATENCIES_MAX]; /* commit to handler, sorted */
    size_t latency_count;
    int64_t undelivered; /* when the time was over */
    int64_t disorder;
    int64_t repeated;
    struct weir_bench_settings settings;
};

/* WEIR_EXIT_FAILED if anything was out of order. */
WEIR_CHECKED int weir_bench_report(const struct weir_session *session,
                                   const struct weir_bench_plan *plan,
                                   const struct weir_bench_stats *stats);

#endif
