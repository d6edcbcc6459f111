/*
 * tail.h - a file of lines that several processes append to.
 *
 * A writer holds the advisory lock of the file (flock, exclusive) from before the
 * first byte to after the last. So a process that gets the lock and finds a last line
 * without its newline knows that the writer of it is dead or has failed. It cuts the
 * piece off, and never a line that is still being written. That is the rule for all
 * writers of weir, in all processes: mend, then write, then let go. Programs that append
 * to the same file without the lock are not protected, and a piece of a line that they
 * leave behind is cut like any other.
 *
 * Threads  The lock belongs to the open file: threads that share the descriptor agree
 *          among themselves first.
 */
#ifndef WEIR_SINK_UTIL_TAIL_H
#define WEIR_SINK_UTIL_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/status.h"

/* Try to get the lock: 0, EWOULDBLOCK when another process has it, or another errno. */
int weir_tail_try_lock(int fd);
void weir_tail_unlock(int fd);

/*
 * With the lock: cut off what stands behind the last newline. *size gets the size of
 * the file afterwards, *cut how much it was. Returns 0 or an errno. What was cut is not
 * on disk yet.
 */
int weir_tail_mend(int fd, int64_t *size, int64_t *cut);

#endif
