/*
 * batch.c - the progress of one call; see src/outbox/delivery/batch.h for the picture.
 *
 * Whatever a handler does wrong, no message is lost: only what was given out can be
 * acked, and an ack that comes too late is refused, because another process may be
 * at work on the message.
 */
#include "outbox/delivery/batch.h"

#include <stdarg.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "weir/audit.h"
#include "weir/executor.h"
#include "weir/time.h"

static const char NO_RETRY_REASON[] = "handler asked for a retry";
static const char NO_REJECT_REASON[] = "handler rejected the message";

static enum weir_status pass(struct weir_batch *self, size_t count,
                             struct weir_error *error);
static enum weir_status refuse_too_late(struct weir_batch *self,
                                        struct weir_error *error);
static enum weir_status reserve(struct weir_batch *self, size_t count);
static char *copy_reason(struct weir_batch *self, const char *reason);
static enum weir_status keep(struct weir_batch *self, struct weir_error *error);
static enum weir_status undo(struct weir_batch *self, struct weir_error *error);
static void check_invariants(const struct weir_batch *self);

/* ---- reasons ----------------------------------------------------------------------- */

enum weir_outcome weir_retry(struct weir_reason *reason, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return WEIR_RETRY;
}

enum weir_outcome weir_reject(struct weir_reason *reason, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return WEIR_REJECT;
}

void weir_reason_mend(struct weir_reason *self, enum weir_outcome outcome)
{
    size_t size;

    self->text[sizeof self->text - 1] = '\0';
    size = strlen(self->text);
    for (size_t i = 0; i < size;) {
        size_t step = weir_utf8_sequence(self->text + i, size - i);

        if (step == 0) {
            self->text[i] = '?';
            step = 1;
        }
        i += step;
    }
    if (size == 0 && outcome != WEIR_DONE)
        weir_text_format(self->text, sizeof self->text, "%s",
                         outcome == WEIR_RETRY ? NO_RETRY_REASON : NO_REJECT_REASON);
}

/* ---- life cycle -------------------------------------------------------------------- */

void weir_batch_init(struct weir_batch *self, const struct weir_heap *heap,
                     struct weir_executor *executor, const struct weir_message *messages,
                     size_t count, int64_t deadline_ns)
{
    *self = (struct weir_batch){
        .heap = heap,
        .executor = executor,
        .messages = messages,
        .count = count,
        .deadline_ns = deadline_ns,
    };
}

void weir_batch_fini(struct weir_batch *self)
{
    for (size_t i = 0; i < self->rejection_count; i++)
        weir_heap_free(self->heap, self->rejections[i].reason);
    weir_heap_free(self->heap, self->rejections);
    self->rejections = NULL;
    self->rejection_count = 0;
    self->rejection_capacity = 0;
}

void weir_batch_forget(struct weir_batch *self)
{
    weir_batch_fini(self);
    self->processed = 0;
    check_invariants(self);
}

/* ---- taking ------------------------------------------------------------------------ */

const struct weir_message *weir_batch_next(struct weir_batch *self)
{
    const struct weir_message *message = NULL;

    return weir_batch_next_chunk(self, 1, &message) == 1 ? message : NULL;
}

size_t weir_batch_next_chunk(struct weir_batch *self, size_t count,
                             const struct weir_message **out)
{
    size_t left = self->count - self->taken;
    size_t given = count < left ? count : left;

    *out = given > 0 ? self->messages + self->taken : NULL;
    self->taken += given;
    check_invariants(self);
    return given;
}

/* ---- answering --------------------------------------------------------------------- */

enum weir_status weir_batch_ack(struct weir_batch *self, struct weir_error *error)
{
    return weir_batch_ack_chunk(self, 1, error);
}

enum weir_status weir_batch_ack_chunk(struct weir_batch *self, size_t count,
                                      struct weir_error *error)
{
    enum weir_status status = pass(self, count, error);

    if (status == WEIR_OK)
        status = keep(self, error);
    if (status == WEIR_OK)
        self->processed += count;
    check_invariants(self);
    return status;
}

enum weir_status weir_batch_reject(struct weir_batch *self, const char *reason,
                                   struct weir_error *error)
{
    enum weir_status status = pass(self, 1, error);
    char *copy;

    if (status != WEIR_OK)
        return status;
    if (reserve(self, 1) != WEIR_OK || (copy = copy_reason(self, reason)) == NULL)
        return weir_no_memory(error, "reject");
    status = undo(self, error);
    if (status != WEIR_OK) {
        weir_heap_free(self->heap, copy);
        return status;
    }
    self->rejections[self->rejection_count++] =
        (struct weir_batch_rejection){.index = self->processed, .reason = copy};
    self->processed++;
    check_invariants(self);
    return WEIR_OK;
}

enum weir_status weir_batch_ack_rest(struct weir_batch *self, struct weir_error *error)
{
    enum weir_status status = refuse_too_late(self, error);

    if (status == WEIR_OK)
        status = keep(self, error);
    if (status != WEIR_OK || self->cut_short)
        return status;
    self->taken = self->count;
    self->processed = self->count;
    check_invariants(self);
    return WEIR_OK;
}

/* Behind those that are booked; not counted yet. */
static enum weir_status write_rejections(struct weir_batch *self, size_t count,
                                         const char *reason, size_t *made)
{
    enum weir_status status = reserve(self, count);

    for (*made = 0; status == WEIR_OK && *made < count; ++*made) {
        struct weir_batch_rejection *next =
            &self->rejections[self->rejection_count + *made];

        next->index = self->processed + *made;
        next->reason = copy_reason(self, reason);
        if (next->reason == NULL)
            return WEIR_NO_MEMORY;
    }
    return status;
}

enum weir_status weir_batch_reject_rest(struct weir_batch *self, const char *reason,
                                        struct weir_error *error)
{
    size_t rest = self->count - self->processed;
    enum weir_status status = refuse_too_late(self, error);
    size_t made = 0;

    if (status != WEIR_OK)
        return status;
    status = write_rejections(self, rest, reason, &made);
    if (status != WEIR_OK)
        (void)weir_error_set(error, status, "reject: %s", weir_status_text(status));
    else
        status = undo(self, error);
    if (status != WEIR_OK) {
        while (made > 0)
            weir_heap_free(self->heap,
                           self->rejections[self->rejection_count + --made].reason);
        return status;
    }

    self->rejection_count += rest;
    self->taken = self->count;
    self->processed = self->count;
    check_invariants(self);
    return WEIR_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

size_t weir_batch_left(const struct weir_batch *self)
{
    return self->count - self->taken;
}

size_t weir_batch_count(const struct weir_batch *self)
{
    return self->count;
}

size_t weir_batch_processed(const struct weir_batch *self)
{
    return self->processed;
}

int64_t weir_batch_remaining_ns(const struct weir_batch *self)
{
    int64_t remaining_ns;

    if (self->expired)
        return 0;
    if (self->executor == NULL || self->deadline_ns == WEIR_FOREVER)
        return WEIR_FOREVER;
    remaining_ns = weir_sat_sub_i64(self->deadline_ns, weir_executor_now(self->executor));
    return remaining_ns > 0 ? remaining_ns : 0;
}

bool weir_batch_stopped(const struct weir_batch *self)
{
    return self->stopped || weir_batch_remaining_ns(self) == 0;
}

/* ---- handlers for single messages -------------------------------------------------- */

/* Book the answer for one message. Returns the answer for the batch; *ends says whether
 * it is the last word. An answer that is none of the three is taken for the harmless
 * one. */
static enum weir_outcome book(struct weir_batch *self, enum weir_outcome outcome,
                              struct weir_reason *reason, bool *ends)
{
    enum weir_status status;
    struct weir_error error;

    weir_reason_mend(reason, outcome);
    *ends = true;
    if (outcome == WEIR_DONE)
        status = weir_batch_ack(self, &error);
    else if (outcome == WEIR_REJECT)
        status = weir_batch_reject(self, reason->text, &error);
    else if (outcome == WEIR_RETRY)
        return WEIR_RETRY;
    else
        return weir_retry(reason, "handler answered %d, which is no outcome",
                          (int)outcome);
    if (status != WEIR_OK && status != WEIR_FENCED)
        return weir_retry(reason, "%s", error.text);

    reason->text[0] = '\0';
    *ends = status != WEIR_OK; /* too late: it comes again */
    return WEIR_DONE;
}

enum weir_outcome weir_batch_each(struct weir_batch *self, struct weir_context *context,
                                  weir_message_fn handler, void *state,
                                  struct weir_reason *reason)
{
    const struct weir_audit_actor *actor = weir_audit_actor();
    const struct weir_message *message;
    enum weir_outcome outcome = WEIR_DONE;
    bool ends = false;

    reason->text[0] = '\0';
    while (!ends && (message = weir_batch_next(self)) != NULL) {
        outcome = handler(context, state, message, reason);
        (void)weir_audit_act_as(actor); /* not the one of this message */
        outcome = book(self, outcome, reason, &ends);
        if (!ends && weir_batch_left(self) > 0)
            ends = weir_batch_stopped(self);
    }
    self->cut_short = self->processed < self->count;
    return outcome;
}

/* ---- the rules --------------------------------------------------------------------- */

/* May `count` messages be answered for now? */
static enum weir_status pass(struct weir_batch *self, size_t count,
                             struct weir_error *error)
{
    size_t in_hands = self->taken - self->processed;
    enum weir_status status = refuse_too_late(self, error);

    if (status != WEIR_OK)
        return status;
    if (count > in_hands)
        return weir_error_set(error, WEIR_INVALID,
                              "ack of %zu messages, must be at most %zu: the others were "
                              "not taken or are answered for",
                              count, in_hands);
    return WEIR_OK;
}

/* Once it was too late it stays so, whatever the clock says. */
static enum weir_status refuse_too_late(struct weir_batch *self, struct weir_error *error)
{
    if (weir_batch_remaining_ns(self) > 0)
        return WEIR_OK;
    self->expired = true;
    return weir_error_set(error, WEIR_FENCED, "the time for this batch is over");
}

static enum weir_status keep(struct weir_batch *self, struct weir_error *error)
{
    if (self->effects.keep == NULL)
        return WEIR_OK;
    return self->effects.keep(self->effects.state, error);
}

static enum weir_status undo(struct weir_batch *self, struct weir_error *error)
{
    if (self->effects.undo == NULL)
        return WEIR_OK;
    return self->effects.undo(self->effects.state, error);
}

/* Room for `count` more rejections. There are never more than messages. */
static enum weir_status reserve(struct weir_batch *self, size_t count)
{
    size_t needed = self->rejection_count + count;
    size_t capacity = self->rejection_capacity * 2;
    struct weir_batch_rejection *larger;
    size_t size;

    if (needed <= self->rejection_capacity)
        return WEIR_OK;
    if (capacity < needed)
        capacity = needed;
    if (capacity > self->count)
        capacity = self->count;
    if (!weir_checked_mul_size(capacity, sizeof *larger, &size))
        return WEIR_NO_MEMORY;
    larger = weir_heap_resize(self->heap, self->rejections, size);
    if (larger == NULL)
        return WEIR_NO_MEMORY;
    self->rejections = larger;
    self->rejection_capacity = capacity;
    return WEIR_OK;
}

/* Mended and cut to the size of a reason; NULL without memory. */
static char *copy_reason(struct weir_batch *self, const char *reason)
{
    struct weir_reason mended;

    weir_text_format(mended.text, sizeof mended.text, "%s", reason != NULL ? reason : "");
    weir_reason_mend(&mended, WEIR_REJECT);
    return weir_heap_copy(self->heap, mended.text, strlen(mended.text));
}

static void check_invariants(const struct weir_batch *self)
{
    WEIR_ASSERT(self->processed <= self->taken);
    WEIR_ASSERT(self->taken <= self->count);
    WEIR_ASSERT(self->rejection_count <= self->processed);
}
