/*
 * execution_supervision.h - the reconcilers, run by a command: `weir supervise` and
 * `work`.
 *
 *   init -> take options -> start -> watch, watch, ... -> stop -> report -> close
 *
 * What fails is reported when it changes and not at every tick.
 *
 * Threads  The main thread; start() between weir_interrupt_listen() and admit().
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_SUPERVISION_H
#define WEIR_CLI_EXECUTION_EXECUTION_SUPERVISION_H

#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/output.h"
#include "cli/trouble.h"
#include "weir/execution_supervisor.h"
#include "weir/scanner.h"

/* Rows for a struct T with a member `supervision`. */
#define WEIR_EXECUTION_RETENTION_OPTION(T)                                               \
    WEIR_OPTION(0, "retention", "D",                                                     \
                "how long what has ended is kept; default 1d, 0: for ever",              \
                WEIR_AS_MS(T, supervision.options.retention_ms, 0,                       \
                           WEIR_EXECUTION_DURATION_MS_MAX))
#define WEIR_EXECUTION_SUPERVISION_OPTIONS(T)                                            \
    WEIR_EXECUTION_RETENTION_OPTION(T),                                                  \
        WEIR_OPTION(0, "namespace", "NAME", "only work of this namespace",               \
                    WEIR_AS_TEXT(T, supervision.options.name_space)),                    \
        WEIR_OPTION(                                                                     \
            0, "tag", "KEY=VALUE", "only work with this tag",                            \
            WEIR_AS_TAG(T, supervision.options.tag_key, supervision.options.tag_value)), \
        WEIR_OPTION(0, "interval", "NAME=D",                                             \
                    "of a reconciler, see above; may be repeated",                       \
                    WEIR_AS_PARSED(T, supervision, struct weir_execution_supervision,    \
                                   weir_execution_supervision_parse_interval))

/* One reconciler, as it was when it was last looked at. */
struct weir_executions_supervised {
    bool failing;
    uint64_t ticks_failed;
    int64_t clean_ns;
};

struct weir_execution_supervision {
    const struct weir_command *command;
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor; /* NULL: not started */
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    size_t count;
    struct weir_executions_supervised seen[WEIR_RECONCILER_COUNT];
    struct weir_trouble trouble;
};

void weir_execution_supervision_init(struct weir_execution_supervision *self,
                                     const struct weir_command *command);

/* NAME=D of a reconciler; the word is cut in two. */
WEIR_CHECKED int
weir_execution_supervision_parse_interval(const struct weir_command *command,
                                          const struct weir_command_option *option,
                                          char *word, void *out);

WEIR_CHECKED enum weir_status
weir_execution_supervision_start(struct weir_execution_supervision *self,
                                 struct weir_executions *executions,
                                 struct weir_error *error);

/* Look, and tell what fails. Nothing before start(), as stop() and close(). */
void weir_execution_supervision_watch(struct weir_execution_supervision *self);

/* How many have not finished. What they did stays to be reported. */
size_t weir_execution_supervision_stop(struct weir_execution_supervision *self,
                                       int64_t grace_ns);
void weir_execution_supervision_close(struct weir_execution_supervision *self);

/* A table on standard output. */
WEIR_CHECKED int
weir_execution_supervision_print(const struct weir_execution_supervision *self);

#endif
