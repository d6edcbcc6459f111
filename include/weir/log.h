/*
 * log.h - the library's words to its host.
 *
 * The library never prints. Each event is one line: a stable name, then facts.
 *
 *   ward.worker_panicked ward=orders worker=mailer text="no such template"
 *
 * Threads  `write` is called from any thread, never while the library holds a lock.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/api.h>

enum weir_log_level {
    WEIR_LOG_TRACE,
    WEIR_LOG_DEBUG,
    WEIR_LOG_INFO,
    WEIR_LOG_WARNING,
    WEIR_LOG_ERROR,
    WEIR_LOG_NOTHING /* as a minimum: say nothing at all */
};

/* `line` has no newline and lives for the call. It must not call back into weir. */
typedef void (*weir_log_fn)(void *state, enum weir_log_level level, const char *line);

struct weir_log {
    weir_log_fn write; /* NULL: silence */
    void *state;
    enum weir_log_level minimum;
};

WEIR_BEGIN_DECLS

/* "trace", "debug", "info", "warning", "error"; any other number gives "nothing". Lives
 * for ever. */
WEIR_API const char *weir_log_level_name(enum weir_log_level level);

WEIR_END_DECLS

#endif
