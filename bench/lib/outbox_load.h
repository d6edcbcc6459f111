/*
 * outbox_load.h - an outbox at work, for measuring: a producer, a handler that does
 * nothing but look at the order, and the wait until it has seen everything.
 *
 *   letters ---> bench_outbox_load_send() ---> log ---> handler --->
 *   bench_outbox_load_await()
 *
 * Each partition counts its letters in their payloads. A message whose `seq` or count
 * is not the next one of its partition is counted as out of order; so is one that comes
 * twice. What was requeued has an old count and a new `seq`, and only the latter is
 * looked at.
 *
 * Threads  One producer at a time.
 * Failure  Ends the bench, also when messages do not arrive within ten minutes.
 */
#ifndef WEIR_BENCH_OUTBOX_LOAD_H
#define WEIR_BENCH_OUTBOX_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/outbox.h>

#include "lib/bare_log.h"
#include "lib/lap.h"

#define BENCH_QUEUE "orders"
#define BENCH_PROFILE WEIR_PROFILE_HIGH_THROUGHPUT
#define BENCH_PROFILE_NAME "high_throughput"

enum { BENCH_NOBODY = -1 };

/* What the producer makes letters from. */
struct bench_writer {
    uint64_t sent[BENCH_PARTITIONS]; /* counters in the payloads */
    uint64_t next;                   /* letter's number: decides its partition */
    struct bench_letter letters[BENCH_BATCH_MAX];
    struct weir_draft drafts[BENCH_BATCH_MAX]; /* views of the letters */
};

/* One partition, as the handler sees it. */
struct bench_reader {
    BENCH_OWN_LINE int64_t seq;
    uint64_t count;
};

struct bench_outbox_load {
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct bench_writer writer;
    struct bench_reader readers[BENCH_PARTITIONS];

    pthread_mutex_t lock;
    pthread_cond_t change;
    _Atomic uint64_t taken;
    _Atomic uint64_t awaited;
    _Atomic uint64_t disorder;
    int64_t *entered_ns; /* when the handler was called, of each message that the
                                   writer has numbered from `timed_from` on; or NULL */
    uint64_t timed_from;
    uint64_t timed_count;
    _Atomic int32_t stuck;  /* a partition whose handler does not return; or nobody */
    _Atomic bool rejecting; /* the handler's answer */
};

struct bench_outbox_load_options {
    const char *url;
    const struct weir_heap *heap; /* NULL: the C library's */
    bool deliver;                 /* false: only producers */
    weir_batch_tx_fn
        on_batch_tx;   /* instead of the handler; calls bench_outbox_load_take() */
    void *state;       /* its own */
    uint32_t handlers; /* calls at once; 0: the default */
};

/* Tables, queue and handler; a line that delivers is idle when this returns. */
void bench_outbox_load_open(struct bench_outbox_load *self,
                            const struct bench_outbox_load_options *options);
void bench_outbox_load_close(struct bench_outbox_load *self);

/* The next letters of a producer, one partition after the other. */
void bench_writer_fill(struct bench_writer *self, size_t count);

/* The next `count` messages in batches, each a transaction of its own. */
void bench_outbox_load_send(struct bench_outbox_load *self, uint64_t count, size_t batch);

/* Note from now on when the handler is called for each of the next `count` messages of
 * this writer, or of one that shares its counts. `entered_ns` is borrowed until it is
 * NULL. */
void bench_outbox_load_time(struct bench_outbox_load *self, int64_t *entered_ns,
                            uint64_t count);

/* All in one transaction. */
void bench_outbox_load_send_at_once(struct bench_outbox_load *self, uint64_t count);

/* Wait until the handler has been called for `count` messages since the last await. */
void bench_outbox_load_await(struct bench_outbox_load *self, uint64_t count);

/* Everybody waits for letters of this partition until it is let go: 0 to 63, or
 * BENCH_NOBODY. What its handler was called for does not count until then. */
void bench_outbox_load_hold(struct bench_outbox_load *self, int32_t partition);

/* Deliver nothing, so that what is sent gathers; and go on. Idle when paused. */
void bench_outbox_load_pause(struct bench_outbox_load *self);
void bench_outbox_load_resume(struct bench_outbox_load *self);

/* From now on the handler rejects everything, or nothing. */
void bench_outbox_load_reject(struct bench_outbox_load *self, bool rejecting);

/* For a handler of one's own: it was called for this message. */
void bench_outbox_load_take(struct bench_outbox_load *self,
                            const struct weir_message *message);

/* Wait until all that the handler has answered for is acknowledged. */
void bench_outbox_load_settle(struct bench_outbox_load *self);

/* The same, and the sweep of it is over. */
void bench_outbox_load_rest(struct bench_outbox_load *self);

/* Nothing was out of order up to now, or the end. */
void bench_outbox_load_check_order(struct bench_outbox_load *self);

#endif
