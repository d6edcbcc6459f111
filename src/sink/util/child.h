/*
 * child.h - a process that works for us: what goes in, what comes out, and its end.
 *
 *   opened --- wrote, read, waited ---> ended (by itself, or killed) ---> closed
 *
 * Whatever happens to it, close() leaves nothing behind: the process is reaped by its
 * own id, what else is in its process group is killed, the descriptors are closed. And
 * when we are killed, its group is (guard.h).
 *
 * The process may be a shell that waits for the real one. When both are asked to end,
 * the shell does so at once; the end counts when no process holds our pipes any more, or
 * when it is killed.
 *
 * Its standard error is read all the time, so that it never waits for us, and its last
 * line is kept: most programs say there what went wrong.
 *
 * Threads  One at a time.
 * Memory   The caller's, and it must not move.
 */
#ifndef WEIR_SINK_UTIL_CHILD_H
#define WEIR_SINK_UTIL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"
#include "sink/util/guard.h"

enum {
    WEIR_CHILD_WORDS_SIZE = 200,
    WEIR_CHILD_ANSWER_SIZE = 1024,
    WEIR_CHILD_ANSWER_MAX = WEIR_CHILD_ANSWER_SIZE - 1, /* without the newline */
};

struct weir_child {
    pid_t pid;               /* 0: none */
    struct weir_guard guard; /* of its group */
    int pid_fd; /* readable when it has ended; -1 where the kernel has no such thing */
    int in;     /* its standard input; -1: closed */
    int out;    /* its standard output; -1: not ours, or closed by it */
    int err;    /* its standard error; -1: closed by it */
    bool asked; /* to end */
    bool gone;  /* it has ended, others of its group have not: they were asked, too */
    bool ended; /* reaped; `code` is known */
    int code;   /* as of waitpid(); -1: another thread has reaped it */

    char words[WEIR_CHILD_WORDS_SIZE]; /* last line of standard error that is not empty */
    char line[WEIR_CHILD_WORDS_SIZE];  /* the one that is being read */
    size_t line_size;

    char answer[WEIR_CHILD_ANSWER_SIZE]; /* read of standard output, and not taken */
    size_t answer_size;
};

struct weir_child_options {
    const char *command;
    char *const *environment;
    bool answers; /* its standard output is ours to read; otherwise it is the host's */
};

/* What to wait for. */
struct weir_child_wait {
    struct weir_str input; /* to be written; moves along */
    bool end_input;        /* close its standard input when all is written */
    int for_ms;            /* at most; it may be less */
};

/* Returns 0 or an errno; then there is nothing to close. */
int weir_child_open(struct weir_child *self, const struct weir_child_options *options);

/* Write, read and look once, or wait until one of it is possible. Never longer than
 * asked. */
void weir_child_step(struct weir_child *self, struct weir_child_wait *wait);

/* The next line of its standard output, without the newline, into `out` of
 * WEIR_CHILD_ANSWER_SIZE bytes; there is no zero behind it, and there may be some in
 * it. False: none that is whole. */
bool weir_child_take_answer(struct weir_child *self, char *out, size_t *size);

/* It has begun a line that is longer than WEIR_CHILD_ANSWER_MAX, and will never be
 * taken. */
bool weir_child_says_too_much(const struct weir_child *self);

/* Nothing of its standard output is there to be taken. */
bool weir_child_is_silent(const struct weir_child *self);

/* All that is there of its standard output, to the end of `out`, in whatever lines.
 * After its end that is the rest. */
void weir_child_drain(struct weir_child *self, struct weir_buf *out);

/* Ask it and its group to end (SIGTERM). Nothing when it has ended. */
void weir_child_ask(struct weir_child *self);

/* Kill it with all its group, and reap it. Nothing when it has ended. */
void weir_child_kill(struct weir_child *self);

/* Kill it if need be, and give everything back. */
void weir_child_close(struct weir_child *self);

/* How it ended, for people: "exit code 3", "killed by signal 9 (Killed)", with its last
 * words. */
void weir_child_tell(const struct weir_child *self, char *out, size_t size);

#endif
