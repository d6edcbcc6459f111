/*
 * lines.h - standard input, line by line, in batches.
 *
 *   read --> fill, fill, fill ... --> send --> read ...
 *
 * A batch is sent when it is full, and when a pipe pauses: what it brought is not held
 * back. A line that cannot be taken ends it all: what came before is sent, and the
 * line's number reported. So after a failure the user knows with which line to go on.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_LINES_H
#define WEIR_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/noun.h"
#include "base/str.h"
#include "cli/command.h"
#include "weir/error.h"

struct weir_lines_options {
    const struct weir_command *command;
    struct weir_noun things; /* what lines become: {"message", "messages"} */
    const char *done;        /* ... and what has happened to them then: "enqueued" */
    size_t line_size_max;    /* without the newline */
    size_t batch;
    bool quiet; /* no progress on the terminal */
    void *state;

    /* Line to thing number `index` of the batch, below `batch`. The line, which is not
     * empty, stays where it is until the batch is sent. A failure's text goes on "line
     * 7 ...". */
    enum weir_status (*fill)(void *state, size_t index, struct weir_str line,
                             struct weir_error *error);
    /* The first `count` of the batch. */
    enum weir_status (*send)(void *state, size_t count, struct weir_error *error);
};

struct weir_lines_result {
    int64_t count; /* sent */
    int64_t elapsed_ns;
    int64_t failed_line; /* 0: none */
};

/*
 * Until the end of standard input, SIGINT or SIGTERM. What went wrong is reported;
 * *result is filled either way. Returns an exit code.
 */
WEIR_CHECKED int weir_lines_run(const struct weir_lines_options *options,
                                struct weir_lines_result *result);

#endif
