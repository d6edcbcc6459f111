/*
 * batch.h - the inside of weir/batch.h: how a call's progress is kept.
 *
 *     0          processed        taken          count
 *     |  acked   |  in the hands  |  not taken   |
 *
 *   I1  processed <= taken <= count
 *   I2  rejections are in ascending order of index, each below processed
 *
 * In a transactional call the answers have *effects*: what was written since the last
 * one is kept or undone in the database, and only then does the answer count.
 *
 * Memory   The batch and its messages belong to the code that made it, for one call.
 *          Reasons are copied from `heap` and freed by fini().
 */
#ifndef WEIR_OUTBOX_DELIVERY_BATCH_H
#define WEIR_OUTBOX_DELIVERY_BATCH_H

#include <stdatomic.h>

#include "weir/batch.h"
#include "weir/heap.h"

struct weir_executor;

/* What an answer does to what was written since the one before. Both may fail as the
 * database does; then nothing was answered. All NULL: nothing to do. */
struct weir_batch_effects {
    enum weir_status (*keep)(void *state, struct weir_error *error);
    enum weir_status (*undo)(void *state, struct weir_error *error);
    void *state;
};

struct weir_batch_rejection {
    size_t index;
    char *reason; /* owned */
};

struct weir_batch {
    const struct weir_heap *heap;        /* borrowed */
    struct weir_executor *executor;      /* borrowed: the clock; NULL in unit tests */
    struct weir_batch_effects effects;   /* set after init() */
    const struct weir_message *messages; /* borrowed, side by side */
    size_t count;
    size_t taken;
    size_t processed;
    struct weir_batch_rejection *rejections; /* owned */
    size_t rejection_count;
    bool given_up; /* the rejection is ours: its message has failed too often */
    size_t rejection_capacity;
    int64_t deadline_ns;  /* of the budget, on the executor's clock */
    _Atomic bool stopped; /* set from outside: lease lost, or the outbox stops */
    _Atomic bool expired; /* set from outside or by ack(): the budget is over; for good */
    bool cut_short;       /* by each(): it stopped early, so "done" is not for the rest */
};

void weir_batch_init(struct weir_batch *self, const struct weir_heap *heap,
                     struct weir_executor *executor, const struct weir_message *messages,
                     size_t count, int64_t deadline_ns);
void weir_batch_fini(struct weir_batch *self);

/*
 * A handler may write anything into a reason; a database takes only UTF-8. Afterwards
 * it ends in a zero, bytes that are no UTF-8 are question marks, and an empty one says
 * that the handler gave none (unless the outcome is WEIR_DONE). After every call of a
 * handler, before it is stored.
 */
void weir_reason_mend(struct weir_reason *self, enum weir_outcome outcome);

/* All that the handler did not ack and not reject is done, unless each() has stopped
 * early. WEIR_FENCED when the budget is over, or as its effect; then nothing changed,
 * and it comes again. */
WEIR_CHECKED enum weir_status weir_batch_ack_rest(struct weir_batch *self,
                                                  struct weir_error *error);

/* The same, as rejected with one reason. Also WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_batch_reject_rest(struct weir_batch *self,
                                                     const char *reason,
                                                     struct weir_error *error);

/* Nothing was answered: the transaction in which it was is gone. */
void weir_batch_forget(struct weir_batch *self);

/*
 * Run a handler for single messages over a batch of which nothing is taken yet: done
 * acks, retry stops, reject rejects and goes on. When the budget is over, the lease was
 * lost or the outbox stops, it answers done after the message it is at, and what is
 * left comes again: `processed` tells how far it came. The reason is mended.
 */
enum weir_outcome weir_batch_each(struct weir_batch *self, struct weir_context *context,
                                  weir_message_fn handler, void *state,
                                  struct weir_reason *reason);

#endif
