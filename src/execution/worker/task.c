/*
 * task.c - what handlers may do with what they were given.
 *
 * An answer is kept in the task until the handler returns; only then does another thread
 * read it. Whatever a handler says becomes something that the database takes: one
 * answer that is refused would keep those that are sent with it waiting.
 */
#include <stdarg.h>
#include <string.h>

#include "base/heap.h"
#include "base/noun.h"
#include "base/text.h"
#include "base/utf8.h"
#include "execution/worker/tasks.h"
#include "execution/worker/worker_private.h"

const struct weir_claimed *weir_task_claimed(const struct weir_task *self)
{
    return self->claimed;
}

enum weir_status weir_task_progress(struct weir_task *self, int32_t percent,
                                    const char *text, struct weir_error *error)
{
    struct weir_executions *executions = weir_execution_worker_borrow(self->worker);
    enum weir_status status;

    if (executions == NULL)
        return weir_error_set(error, WEIR_CLOSED, "the worker was destroyed");
    status = weir_execution_progress(executions, &self->claimed->claim, percent, text,
                                     NULL, error);
    weir_execution_worker_give_back(self->worker);
    return status;
}

/* ---- answers ----------------------------------------------------------------------- */

/* Forget what was said before. */
static struct weir_settlement *begin_answer(struct weir_task *self, enum weir_settle verb)
{
    weir_heap_free(self->claim_batch->heap, self->result);
    self->result = NULL;
    self->reason[0] = '\0';
    self->returned = false;
    self->answered = true;
    self->answer = (struct weir_settlement){
        .claim = self->claimed->claim,
        .verb = verb,
        .reason = self->reason,
    };
    return &self->answer;
}

static void replace_what_is_no_text(char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t size = weir_utf8_sequence(text, left);

        if (size == 0) {
            *text = '?';
            size = 1;
        }
        text += size;
        left -= size;
    }
}

static void write_reason(struct weir_task *self, const char *format, va_list arguments)
    WEIR_PRINTF(2, 0);
static void write_reason(struct weir_task *self, const char *format, va_list arguments)
{
    (void)weir_text_format_list(self->reason, sizeof self->reason, format, arguments);
    replace_what_is_no_text(self->reason);
}

enum weir_answer weir_task_complete(struct weir_task *self, const void *result,
                                    size_t size)
{
    struct weir_settlement *answer;
    void *copy = NULL;

    if (size > WEIR_RESULT_SIZE_MAX)
        return weir_task_fail_for_good(
            self, "result_too_large: it has %zu bytes, must have at most %d", size,
            WEIR_RESULT_SIZE_MAX);
    if (size > 0) {
        copy = weir_heap_copy(self->claim_batch->heap, result, size);
        if (copy == NULL)
            return weir_task_fail(self, "no_memory: for a result of %zu %s", size,
                                  WEIR_NOUN(size, "byte", "bytes"));
    }
    answer = begin_answer(self, WEIR_SETTLE_COMPLETE);
    self->result = copy;
    answer->result = copy;
    answer->result_size = size;
    return WEIR_ANSWERED;
}

enum weir_answer weir_task_fail(struct weir_task *self, const char *format, ...)
{
    va_list arguments;

    (void)begin_answer(self, WEIR_SETTLE_FAIL);
    va_start(arguments, format);
    write_reason(self, format, arguments);
    va_end(arguments);
    return WEIR_ANSWERED;
}

enum weir_answer weir_task_fail_for_good(struct weir_task *self, const char *format, ...)
{
    va_list arguments;

    begin_answer(self, WEIR_SETTLE_FAIL)->permanent = true;
    va_start(arguments, format);
    write_reason(self, format, arguments);
    va_end(arguments);
    return WEIR_ANSWERED;
}

enum weir_answer weir_task_delay(struct weir_task *self, int64_t delay_ms)
{
    struct weir_settlement *answer = begin_answer(self, WEIR_SETTLE_DELAY);

    if (delay_ms > WEIR_EXECUTION_DURATION_MS_MAX)
        delay_ms = WEIR_EXECUTION_DURATION_MS_MAX;
    answer->delay_ms = delay_ms > 0 ? delay_ms : 0;
    return WEIR_ANSWERED;
}

enum weir_answer weir_task_cancel(struct weir_task *self, const char *reason)
{
    (void)begin_answer(self, WEIR_SETTLE_ABANDON);
    (void)weir_text_format(self->reason, sizeof self->reason, "%s",
                           reason != NULL ? reason : "");
    replace_what_is_no_text(self->reason);
    return WEIR_ANSWERED;
}

/* A delay of nothing: the same attempt goes on, and neither retries nor reclaims have
 * grown. */
void weir_task_give_back(struct weir_task *self, int64_t delay_ms)
{
    (void)weir_task_delay(self, delay_ms);
    self->returned = true;
}
