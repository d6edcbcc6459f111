/*
 * exec_stream.c - processes that live on: a line in, an answer out.
 *
 *   we       {"queue":"orders",...}\n
 *   it       ok\n    or    retry REASON\n    or    reject REASON\n      (answer.h)
 *
 * One message at a time: the next line is sent when the last one is answered for.
 * Sending ahead would be faster, but then a message could be done while an earlier one
 * of its partition is to be tried again, and the order would be broken.
 *
 * There are as many processes as deliveries at once; one is started when none is free.
 * A process is free again after a batch. One that has ended, said something else,
 * something unasked for or something for another message is replaced; what it had not
 * answered is tried again. At the end each gets the end of its input, a grace, and then
 * is killed. When we are killed, so are they (guard.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/quote.h"
#include "base/stringize.h"
#include "outbox/delivery/batch.h"
#include "sink/answer.h"
#include "sink/line.h"
#include "sink/sink.h"
#include "sink/util/child.h"
#include "sink/util/delivery_deadline.h"

#define ANSWER_MAX 1023
_Static_assert(ANSWER_MAX == WEIR_CHILD_ANSWER_MAX, "a text cannot name an enum");

enum { LINE_SIZE_MAX = 1 << 30, LAST_STEPS = 20, LAST_STEP_MS = 10 };

struct stream {
    struct weir_list link; /* in `idle` while it is not used */
    struct weir_child child;
};

struct stream_sink {
    struct weir_sink sink;
    char *command; /* owned */

    struct weir_lock lock; /* guards all that follows */
    struct weir_list idle; /* of struct stream, the latest used first */
};

/* A delivery with the process that works for it, once there is one. */
struct session {
    struct stream_sink *sink;
    struct stream *stream;
};

static struct stream *stream_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct stream, link);
}

/* ---- opening and closing ----------------------------------------------------------- */

static enum weir_status open_stream_sink(const struct weir_sink_options *options,
                                         const char *target, struct weir_sink **out,
                                         struct weir_error *error)
{
    struct stream_sink *self;
    enum weir_status status = WEIR_NO_MEMORY;

    if (target[strspn(target, " \t\r\n")] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "sink \"exec-stream:\": a command must follow the colon");
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self != NULL) {
        weir_list_init(&self->idle);
        self->command = weir_heap_copy(options->heap, target, strlen(target));
        if (self->command != NULL)
            status = weir_lock_init(&self->lock);
    }
    if (status != WEIR_OK) {
        if (self != NULL)
            weir_heap_free(options->heap, self->command);
        weir_heap_free(options->heap, self);
        return weir_error_set(error, status, "sink \"exec-stream:\": out of memory");
    }
    *out = &self->sink;
    return WEIR_OK;
}

static void discard(struct stream_sink *self, struct stream *stream)
{
    weir_child_close(&stream->child);
    weir_heap_free(self->sink.options.heap, stream);
}

/* All of them hear at once that it is over; then one after the other is waited for. */
static void close_stream_sink(struct weir_sink *sink)
{
    struct stream_sink *self = (struct stream_sink *)(void *)sink;
    struct weir_child_wait wait = {.end_input = true};
    struct weir_delivery_deadline delivery_deadline;
    struct weir_list *link;

    weir_delivery_deadline_init(&delivery_deadline, sink, NULL);
    WEIR_LIST_EACH(each, &self->idle)
    weir_child_step(&stream_of(each)->child, &wait);
    while ((link = weir_list_take_first(&self->idle)) != NULL) {
        struct stream *stream = stream_of(link);

        while (!stream->child.ended &&
               weir_delivery_deadline_over(&delivery_deadline) == NULL) {
            wait.for_ms = weir_delivery_deadline_wait_ms(&delivery_deadline);
            stream->child.answer_size = 0; /* not asked for */
            weir_child_step(&stream->child, &wait);
        }
        discard(self, stream);
    }
    weir_lock_fini(&self->lock);
    weir_heap_free(sink->options.heap, self->command);
    weir_heap_free(sink->options.heap, self);
}

/* ---- processes --------------------------------------------------------------------- */

static struct stream *take_idle(struct stream_sink *self)
{
    struct weir_list *link;

    weir_lock_acquire(&self->lock);
    link = weir_list_take_first(&self->idle);
    weir_lock_release(&self->lock);
    return link != NULL ? stream_of(link) : NULL;
}

/* The latest used one goes first: the others may be swapped out. */
static void put_idle(struct stream_sink *self, struct stream *stream)
{
    weir_lock_acquire(&self->lock);
    weir_list_prepend(&self->idle, &stream->link);
    weir_lock_release(&self->lock);
}

/* It lives, and waits for a line. */
static bool is_fit(struct stream *stream)
{
    struct weir_child_wait at_once = {.for_ms = 0};

    weir_child_step(&stream->child, &at_once);
    return !stream->child.ended && stream->child.out >= 0 &&
           weir_child_is_silent(&stream->child);
}

static struct stream *start(struct stream_sink *self, struct weir_reason *reason)
{
    const struct weir_child_options options = {
        .command = self->command, .environment = environ, .answers = true};
    struct stream *stream = weir_heap_zalloc(self->sink.options.heap, sizeof *stream);
    char why[64];
    int number;

    if (stream == NULL) {
        (void)weir_retry(reason, "start a process: out of memory");
        return NULL;
    }
    weir_list_init(&stream->link);
    number = weir_child_open(&stream->child, &options);
    if (number != 0) {
        weir_heap_free(self->sink.options.heap, stream);
        (void)weir_retry(reason, "start a process: %s",
                         strerror_r(number, why, sizeof why));
        return NULL;
    }
    return stream;
}

/* One that is fit, or a new one. NULL with a reason. */
static struct stream *hire(struct stream_sink *self, struct weir_reason *reason)
{
    struct stream *stream;

    while ((stream = take_idle(self)) != NULL) {
        if (is_fit(stream))
            return stream;
        discard(self, stream);
    }
    return start(self, reason);
}

/* ---- messages ---------------------------------------------------------------------- */

/* It says nothing more: most likely it is ending, and how it ended is worth a moment. */
static const char *see_off(struct weir_child *child)
{
    struct weir_child_wait wait = {.for_ms = LAST_STEP_MS};

    for (int i = 0; i < LAST_STEPS && !child->ended; i++)
        weir_child_step(child, &wait);
    return child->ended ? "ended without an answer" : "closed its standard output";
}

/* What it has said about a message. */
struct said {
    char bytes[WEIR_CHILD_ANSWER_SIZE];
    size_t size;
};

static const char TOO_LONG[] = "answered with more than " STRINGIZE(
    ANSWER_MAX) " bytes, must be one line of ok, retry or reject";

/* Send a line and wait for its answer. NULL, or why there is none. */
static const char *ask(struct session *session, struct weir_str line,
                       const struct weir_batch *batch, struct said *said)
{
    struct weir_child *child = &session->stream->child;
    struct weir_child_wait wait = {.input = line};
    struct weir_delivery_deadline delivery_deadline;
    const char *over;

    weir_delivery_deadline_init(&delivery_deadline, &session->sink->sink, batch);
    while (!weir_child_take_answer(child, said->bytes, &said->size)) {
        if (weir_child_says_too_much(child))
            return TOO_LONG;
        if (child->ended || child->out < 0)
            return see_off(child);
        over = weir_delivery_deadline_over(&delivery_deadline);
        if (over != NULL)
            return over;
        wait.for_ms = weir_delivery_deadline_wait_ms(&delivery_deadline);
        weir_child_step(child, &wait);
    }
    if (wait.input.size > 0)
        return "answered before it had read the line";
    return NULL;
}

static enum weir_outcome pass_on(const struct weir_answer_line *answer,
                                 struct weir_reason *reason)
{
    int size = (int)answer->why.size; /* no longer than a line */

    switch (answer->outcome) {
    case WEIR_DONE:
        return WEIR_DONE;
    case WEIR_RETRY:
        return weir_retry(reason, "%.*s", size, answer->why.data);
    case WEIR_REJECT:
        break;
    }
    return weir_reject(reason, "%.*s", size, answer->why.data);
}

/* It is of no use any more. Tell why. */
static enum weir_outcome dismiss(struct session *session, const char *why,
                                 struct weir_reason *reason)
{
    struct weir_child *child = &session->stream->child;
    bool by_itself = child->ended;
    char told[sizeof reason->text];

    weir_child_kill(child);
    weir_child_tell(child, told, sizeof told);
    if (by_itself)
        (void)weir_retry(reason, "%s, %s", why, told);
    else
        (void)weir_retry(reason, "%s%s%s", why, child->words[0] != '\0' ? ": " : "",
                         child->words);
    discard(session->sink, session->stream);
    session->stream = NULL;
    return WEIR_RETRY;
}

static enum weir_outcome converse(struct session *session, struct weir_str line,
                                  const struct weir_message *message,
                                  struct weir_reason *reason)
{
    char id[WEIR_UID_TEXT_SIZE];
    struct weir_quote shown;
    struct weir_answer_line answer;
    struct weir_reason why;
    struct said said;
    const char *failure = ask(session, line, message->batch, &said);

    if (failure != NULL)
        return dismiss(session, failure, reason);
    answer = weir_answer_read((struct weir_str){said.bytes, said.size},
                              weir_uid_format(message->uid, id));
    switch (answer.kind) {
    case WEIR_ANSWER_GIVEN:
        return pass_on(&answer, reason);
    case WEIR_ANSWER_FOREIGN:
        (void)weir_retry(&why, "answered for message %s, not for this one",
                         weir_quote_str(&shown, answer.id));
        break;
    case WEIR_ANSWER_NONSENSE:
        (void)weir_retry(
            &why, "answered \"%s\", must be ok, retry or reject",
            weir_quote_str(&shown, (struct weir_str){said.bytes, said.size}));
        break;
    }
    return dismiss(session, why.text, reason);
}

static enum weir_outcome deliver_one(struct weir_context *context, void *state,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    struct session *session = state;
    struct weir_buf line;
    enum weir_outcome outcome = WEIR_RETRY;

    (void)context;
    if (session->stream != NULL && !is_fit(session->stream))
        return dismiss(session, "said something unasked for, or ended", reason);
    if (session->stream == NULL)
        session->stream = hire(session->sink, reason);
    if (session->stream == NULL)
        return WEIR_RETRY;
    weir_buf_init(&line, session->sink->sink.options.heap, LINE_SIZE_MAX);
    weir_line_append(&line, message);
    if (weir_buf_status(&line) == WEIR_OK)
        outcome = converse(session, weir_buf_get(&line), message, reason);
    else
        outcome = weir_retry(reason, "out of memory");
    weir_buf_fini(&line);
    return outcome;
}

static enum weir_outcome deliver(struct weir_sink *sink, struct weir_batch *batch,
                                 struct weir_reason *reason)
{
    struct session session = {.sink = (struct stream_sink *)(void *)sink};
    enum weir_outcome outcome;

    if (weir_sink_stopped(sink, batch))
        return WEIR_DONE; /* nothing was tried */
    outcome = weir_batch_each(batch, NULL, deliver_one, &session, reason);
    if (session.stream != NULL)
        put_idle(session.sink, session.stream);
    return outcome;
}

const struct weir_sink_ops weir_exec_stream_sink = {
    .scheme = "exec-stream",
    .usage = "exec-stream:COMMAND",
    .about = "processes that live on: a line in, ok, retry or reject out",
    .batch = 1, /* as for exec: */
    .open = open_stream_sink,
    .deliver = deliver,
    .close = close_stream_sink,
};
