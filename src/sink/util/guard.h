/*
 * guard.h - a process group that ends when we do, however we end.
 *
 * A handler process must not outlive us: another process takes the partition over, and
 * the two would work on the same messages, the older one late. We may be killed at any
 * moment, so another process has to see to it: the guard, the first member of the
 * group. It waits for the end of a pipe that only we hold open, and then kills the
 * group, itself included.
 *
 *   we ---- pipe, never written to ----> guard      } one process group,
 *   we ---- standard input, output ----> handler    } killed when the pipe ends
 *                                          \-- what the handler has started
 *
 * The kernel's own way (PR_SET_PDEATHSIG) is not enough: it reaches the process that
 * asked for it and nothing that this one has started, and the signal comes when the
 * *thread* that has started the process ends.
 *
 * Not reached: processes that leave the group (setsid, daemons), processes of other
 * users that we may not signal, and all of them while a copy of the host without its
 * program replaced (fork without exec) lives on, since that holds the pipe open, too.
 * Between our end and theirs some milliseconds pass.
 *
 * Threads  One at a time.
 */
#ifndef WEIR_SINK_UTIL_GUARD_H
#define WEIR_SINK_UTIL_GUARD_H

#include <sys/types.h>

struct weir_guard {
    pid_t pid; /* also the number of the group; 0: none */
    int pipe;  /* the end that is ours; -1: closed */
};

/* Start a guard, and with it a new process group. Returns 0 or an errno; then there is
 * nothing to close. */
int weir_guard_open(struct weir_guard *self);

/* Kill the whole group and reap the guard. Nothing when that is done. The other members
 * are reaped by their parents. */
void weir_guard_close(struct weir_guard *self);

#endif
