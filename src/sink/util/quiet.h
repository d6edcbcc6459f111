/*
 * quiet.h - writing without dying of it.
 *
 * A write to a pipe without a reader, or beyond the limit of a file's size,
 * raises a signal that ends the process, unless the host handles it.
 * The library arranges nothing for the whole process: that is the host's. Signals of
 * this kind are sent to the very thread that writes; so it blocks them for as long as
 * it writes and takes back the one that it has caused. (MSG_NOSIGNAL would do, but for
 * sockets only.)
 *
 * Threads  Any.
 */
#ifndef WEIR_SINK_UTIL_QUIET_H
#define WEIR_SINK_UTIL_QUIET_H

#include <stddef.h>
#include <sys/types.h>

/* As write(), but SIGPIPE and SIGXFSZ are only EPIPE and EFBIG. */
ssize_t weir_quiet_write(int fd, const void *bytes, size_t size);

#endif
