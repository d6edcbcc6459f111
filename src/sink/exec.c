/*
 * exec.c - a process for each message.
 *
 *   the message as a line (line.h) on standard input, then its end; facts about it in the
 *   environment (environment.h); standard output is the host's
 *
 *   exit 0    done
 *   exit 75   retry          (EX_TEMPFAIL of sysexits.h)
 *   exit 65   reject         (EX_DATAERR)
 *   else      retry, with the code or the signal in the reason
 *
 * The last line of standard error is the reason. What is not over in time is killed,
 * with all of its process group, and retried. A message whose key or type is too large
 * for the environment is rejected: only programs that write to the tables themselves
 * can make one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "outbox/delivery/batch.h"
#include "sink/line.h"
#include "sink/sink.h"
#include "sink/util/child.h"
#include "sink/util/delivery_deadline.h"
#include "sink/util/environment.h"

enum { LINE_SIZE_MAX = 1 << 30 };

struct exec_sink {
    struct weir_sink sink;
    char *command; /* owned */
};

static enum weir_status open_exec(const struct weir_sink_options *options,
                                  const char *target, struct weir_sink **out,
                                  struct weir_error *error)
{
    struct exec_sink *self;

    if (target[strspn(target, " \t\r\n")] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "sink \"exec:\": a command must follow the colon");
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self != NULL)
        self->command = weir_heap_copy(options->heap, target, strlen(target));
    if (self == NULL || self->command == NULL) {
        weir_heap_free(options->heap, self);
        return weir_no_memory(error, "sink \"exec:\"");
    }
    *out = &self->sink;
    return WEIR_OK;
}

static void close_exec(struct weir_sink *sink)
{
    struct exec_sink *self = (struct exec_sink *)(void *)sink;

    weir_heap_free(sink->options.heap, self->command);
    weir_heap_free(sink->options.heap, self);
}

/* Until it has ended, by itself or not. NULL, or why it was killed. */
static const char *attend(struct exec_sink *self, struct weir_child *child,
                          struct weir_str line, const struct weir_batch *batch)
{
    struct weir_child_wait wait = {.input = line, .end_input = true};
    struct weir_delivery_deadline delivery_deadline;
    const char *over = NULL;

    weir_delivery_deadline_init(&delivery_deadline, &self->sink, batch);
    while (!child->ended &&
           (over = weir_delivery_deadline_over(&delivery_deadline)) == NULL) {
        wait.for_ms = weir_delivery_deadline_wait_ms(&delivery_deadline);
        weir_child_step(child, &wait);
    }
    if (!child->ended)
        weir_child_kill(child);
    else
        over = NULL;
    return over;
}

/* What it has said, or else how it ended. */
static enum weir_outcome judge(const struct weir_child *child, struct weir_reason *reason)
{
    char told[sizeof reason->text];

    weir_child_tell(child, told, sizeof told);
    if (child->code == -1 || !WIFEXITED(child->code))
        return weir_retry(reason, "%s", told);
    switch (WEXITSTATUS(child->code)) {
    case EXIT_SUCCESS:
        return WEIR_DONE;
    case EX_DATAERR:
        return weir_reject(reason, "%s", child->words[0] != '\0' ? child->words : told);
    case EX_TEMPFAIL:
        return weir_retry(reason, "%s", child->words[0] != '\0' ? child->words : told);
    default:
        return weir_retry(reason, "%s", told);
    }
}

static enum weir_outcome run(struct exec_sink *self, const struct weir_message *message,
                             struct weir_str line, char *const *environment,
                             struct weir_reason *reason)
{
    const struct weir_child_options options = {.command = self->command,
                                               .environment = environment};
    struct weir_child child;
    enum weir_outcome outcome;
    const char *over;
    char why[64];
    int number = weir_child_open(&child, &options);

    if (number != 0)
        return weir_retry(reason, "start a process: %s",
                          strerror_r(number, why, sizeof why));
    over = attend(self, &child, line, message->batch);
    if (over == NULL)
        outcome = judge(&child, reason);
    else
        outcome = weir_retry(reason, "%s%s%s", over, child.words[0] != '\0' ? ": " : "",
                             child.words);
    weir_child_close(&child);
    return outcome;
}

/* No process can ever be started for it. */
static enum weir_outcome refuse(const struct weir_message *message,
                                struct weir_reason *reason)
{
    return weir_reject(
        reason,
        "key has %zu and type %zu %s, the environment of a process "
        "takes at most %d each",
        message->key != NULL ? strlen(message->key) : 0, strlen(message->type),
        WEIR_NOUN(strlen(message->type), "byte", "bytes"), WEIR_ENVIRONMENT_VALUE_MAX);
}

static enum weir_outcome deliver_one(struct weir_context *context, void *state,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    struct exec_sink *self = state;
    const struct weir_heap *heap = self->sink.options.heap;
    struct weir_environment environment;
    struct weir_buf line;
    enum weir_status status = weir_environment_init_message(&environment, heap, message);
    enum weir_outcome outcome;

    (void)context;
    weir_buf_init(&line, heap, LINE_SIZE_MAX);
    if (status == WEIR_OK) {
        weir_line_append(&line, message);
        status = weir_buf_status(&line);
    }
    if (status == WEIR_OK)
        outcome = run(self, message, weir_buf_get(&line), environment.list, reason);
    else if (status == WEIR_TOO_LARGE)
        outcome = refuse(message, reason);
    else
        outcome = weir_retry(reason, "start a process: out of memory");
    weir_buf_fini(&line);
    weir_environment_fini(&environment);
    return outcome;
}

static enum weir_outcome deliver(struct weir_sink *sink, struct weir_batch *batch,
                                 struct weir_reason *reason)
{
    if (weir_sink_stopped(sink, batch))
        return WEIR_DONE; /* nothing was tried */
    return weir_batch_each(batch, NULL, deliver_one, sink, reason);
}

const struct weir_sink_ops weir_exec_sink = {
    .scheme = "exec",
    .usage = "exec:COMMAND",
    .about = "a process for each message, which gets it as a line",
    .batch = 1, /* the time of a delivery is then that of the process */
    .open = open_exec,
    .deliver = deliver,
    .close = close_exec,
};
