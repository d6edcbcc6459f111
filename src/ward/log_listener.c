/*
 * log_listener.c - the life of a worker as lines in a log.
 *
 * Nothing is said at the start of an execution: its end tells how long ago that was.
 */
#include "weir/listener.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/log.h"
#include "weir/error.h"

/* So many errors in a row are everyday life; one more is worth a warning. */
enum { FAILURES_QUIET_MAX = 3 };

static void log_start(void *state, const char *worker);
static void log_stop(void *state, const char *worker);
static void log_complete(void *state, const char *worker, int64_t elapsed_ns,
                         const struct weir_directive *directive);
static void log_error(void *state, const char *worker, int64_t elapsed_ns,
                      const char *text, uint32_t failures, int64_t backoff_ns);
static void log_idle(void *state, const char *worker);
static void log_sleep(void *state, const char *worker, int64_t duration_ns);
static const char *kind_name(enum weir_directive_kind kind);
static void copy_for_quotes(char *out, size_t size, const char *text);

struct weir_listener weir_log_listener(const struct weir_log *log)
{
    return (struct weir_listener){
        /* A listener's state may be anything and so is not const; the callbacks below
         * turn it back at once. */
        .state = (void *)(uintptr_t)log, .on_start = log_start, .on_stop = log_stop,
        .on_complete = log_complete,     .on_error = log_error, .on_idle = log_idle,
        .on_sleep = log_sleep,
    };
}

static void log_start(void *state, const char *worker)
{
    const struct weir_log *log = state;

    weir_log_event(log, WEIR_LOG_DEBUG, "worker.started", "worker=%s", worker);
}

static void log_stop(void *state, const char *worker)
{
    const struct weir_log *log = state;

    weir_log_event(log, WEIR_LOG_DEBUG, "worker.stopped", "worker=%s", worker);
}

static void log_complete(void *state, const char *worker, int64_t elapsed_ns,
                         const struct weir_directive *directive)
{
    const struct weir_log *log = state;
    const struct weir_report_type *type = directive->report.type;

    weir_log_event(log, WEIR_LOG_TRACE, "worker.completed",
                   "worker=%s elapsed_us=%" PRId64 " directive=%s%s%s", worker,
                   elapsed_ns / 1000, kind_name(directive->kind),
                   type != NULL ? " report=" : "", type != NULL ? type->name : "");
}

/* The text comes last: if the line is too long, no number is lost. */
static void log_error(void *state, const char *worker, int64_t elapsed_ns,
                      const char *text, uint32_t failures, int64_t backoff_ns)
{
    const struct weir_log *log = state;
    enum weir_log_level level =
        failures > FAILURES_QUIET_MAX ? WEIR_LOG_WARNING : WEIR_LOG_DEBUG;
    char quoted[WEIR_ERROR_TEXT_SIZE];

    if (!weir_log_wants(log, level))
        return;
    copy_for_quotes(quoted, sizeof quoted, text);
    weir_log_event(log, level, "worker.failed",
                   "worker=%s failures=%" PRIu32 " backoff_ms=%" PRId64
                   " elapsed_us=%" PRId64 " text=\"%s\"",
                   worker, failures, backoff_ns / 1000000, elapsed_ns / 1000, quoted);
}

static void log_idle(void *state, const char *worker)
{
    const struct weir_log *log = state;

    weir_log_event(log, WEIR_LOG_TRACE, "worker.idle", "worker=%s", worker);
}

static void log_sleep(void *state, const char *worker, int64_t duration_ns)
{
    const struct weir_log *log = state;

    weir_log_event(log, WEIR_LOG_TRACE, "worker.sleeping",
                   "worker=%s duration_ms=%" PRId64, worker, duration_ns / 1000000);
}

static const char *kind_name(enum weir_directive_kind kind)
{
    switch (kind) {
    case WEIR_PROCEED:
        return "proceed";
    case WEIR_IDLE:
        return "idle";
    case WEIR_SLEEP:
        return "sleep";
    }
    return "unknown";
}

/* Error texts quote their subjects; inside our quotes those become single ones. */
static void copy_for_quotes(char *out, size_t size, const char *text)
{
    size_t length = 0;

    for (; text[length] != '\0' && length + 1 < size; length++)
        out[length] = text[length] == '"' ? '\'' : text[length];
    out[length] = '\0';
}
