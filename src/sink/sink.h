/*
 * sink.h - delivers messages without a handler in C: to a file, a program, a broker.
 *
 * A sink is opened from a URL and is given batches, each of one partition. It is an
 * operation table, so to add a sink is one more file, its declaration at the end of this
 * header and one more line in sink.c; docs/internals/sink.md lists the pages and tests.
 *
 *   stdout:                 lines on standard output
 *   file:PATH               lines at the end of a file, on disk before they are
 *                           acknowledged
 *   exec:COMMAND            a process for each message
 *   exec-stream:COMMAND     processes that live on, a line in, an answer out
 *
 * Order    The caller gives one batch of a partition at a time, and the next one when
 *          that one has returned. A sink takes the messages in order, and acks the
 *          prefix of the batch that has arrived for good. It never acks what it has not
 *          delivered, and never works on a message while an earlier one of the batch is
 *          undecided unless the other end takes all or nothing.
 * Threads  deliver() from several threads at once, for different partitions; health() any
 *          thread; open() and close() alone.
 * Failure  What cannot work (a path that cannot be written, an empty command) fails in
 *          open(), with a text about the URL for its user. What may work later is
 *          a retry with a reason. A sink looks at weir_batch_remaining_ns() and
 *          weir_batch_stopped() and returns soon when they say so: no sink may keep a
 *          thread for good.
 */
#ifndef WEIR_SINK_SINK_H
#define WEIR_SINK_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ward/lock.h"
#include "weir/batch.h"
#include "weir/error.h"
#include "weir/heap.h"
#include "weir/log.h"

struct weir_fault_points;
struct weir_sink;

struct weir_sink_options {
    const struct weir_heap *heap;     /* borrowed until close(); NULL: the C library's */
    const struct weir_log *log;       /* borrowed until close(); NULL: silence */
    int64_t stop_grace_ns;            /* what a process may still take when stop comes */
    uint32_t permissions;             /* of a file that is made */
    struct weir_fault_points *points; /* for tests; NULL: none */
};

/* How the last delivery went. Class STOP: no delivery will ever work again. */
struct weir_sink_health {
    enum weir_status status;
    char text[WEIR_ERROR_TEXT_SIZE]; /* for people; "" when all is well */
};

struct weir_sink_ops {
    const char *scheme; /* "file" */
    const char *usage;  /* "file:PATH" */
    const char *about;  /* what it does, one line without a full stop */
    uint32_t batch;     /* messages per delivery that suit it; 0: any number does */

    /*
     * Open `target`, which is what follows the colon and lives for the call; may block
     * for I/O. Allocates a struct that begins with a struct weir_sink and stores it in
     * *out; the rest of the common part is filled in by the caller. On failure nothing
     * is left behind.
     */
    enum weir_status (*open)(const struct weir_sink_options *options, const char *target,
                             struct weir_sink **out, struct weir_error *error);

    /*
     * Deliver a batch of which nothing is taken yet, and say with
     * weir_batch_ack_chunk() and weir_batch_reject() how far it came. WEIR_DONE: what
     * is neither acked nor rejected was not tried (the batch was stopped). WEIR_RETRY,
     * with a reason: the first such message failed. Never WEIR_REJECT. Blocks until
     * then.
     */
    enum weir_outcome (*deliver)(struct weir_sink *self, struct weir_batch *batch,
                                 struct weir_reason *reason);

    /* Give everything back, the struct too. No delivery is running. Blocks for a few
     * seconds at most. */
    void (*close)(struct weir_sink *self);
};

/* The common part, at the beginning of each sink. */
struct weir_sink {
    const struct weir_sink_ops *ops;
    struct weir_sink_options options; /* heap never NULL */
    char *url;                        /* owned */
    _Atomic bool halted;              /* deliveries return as if the batch was stopped */

    struct weir_lock lock; /* guards all that follows */
    struct weir_sink_health health;
};

void weir_sink_options_init(struct weir_sink_options *self);

/*
 * Open the sink that `url` names. WEIR_INVALID: no such scheme (the text names the
 * nearest), or a target that makes no sense; WEIR_DENIED, WEIR_NOT_FOUND, WEIR_SYSTEM:
 * as the operating system says; WEIR_NO_MEMORY. *out is then NULL. Copies `url` and
 * `options`.
 */
WEIR_CHECKED enum weir_status weir_sink_open(const char *url,
                                             const struct weir_sink_options *options,
                                             struct weir_sink **out,
                                             struct weir_error *error);

/* No delivery may be running. NULL is fine. */
void weir_sink_close(struct weir_sink *self);

/* As the operation, and remembers how it went. WEIR_RETRY always comes with a reason. */
enum weir_outcome weir_sink_deliver(struct weir_sink *self, struct weir_batch *batch,
                                    struct weir_reason *reason);

/* Make running deliveries, and all that follow, return soon. Any thread. */
void weir_sink_halt(struct weir_sink *self);

/* For a delivery: should it return now? */
bool weir_sink_stopped(const struct weir_sink *self, const struct weir_batch *batch);

/* Messages per delivery that suit it; 0: any number does. */
uint32_t weir_sink_batch(const struct weir_sink *self);

/* The URL it was opened with. */
const char *weir_sink_name(const struct weir_sink *self);

void weir_sink_read_health(struct weir_sink *self, struct weir_sink_health *out);

/* For a sink: this failure is for good, or at least has a status; without it a retry
 * counts as WEIR_FAILED. Stays until the next delivery that works. */
void weir_sink_note(struct weir_sink *self, enum weir_status status, const char *text);

/* For open(): the status of an errno, with the text of it behind `format`. */
WEIR_CHECKED enum weir_status weir_sink_system_error(struct weir_error *error, int number,
                                                     const char *format, ...)
    WEIR_PRINTF(3, 4);

/* All kinds of sinks in their order; NULL at and after the end. */
const struct weir_sink_ops *weir_sink_kind(size_t index);

extern const struct weir_sink_ops weir_stdout_sink;
extern const struct weir_sink_ops weir_file_sink;
extern const struct weir_sink_ops weir_exec_sink;
extern const struct weir_sink_ops weir_exec_stream_sink;

#endif
