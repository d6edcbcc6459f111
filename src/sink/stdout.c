/*
 * stdout.c - lines on standard output.
 *
 * A line is acknowledged when the operating system has taken it. Nothing is held back
 * in a buffer of ours, and nothing is promised beyond the pipe: for lines on disk there
 * is file:.
 *
 * The reader of a pipe may be slow, or stand still. So a pipe is written to in small
 * steps, each of which fits when poll() says so, and between two of them stop is looked
 * at. Stopping may come in the middle of a line. The other half is kept, and goes out
 * before anything else does: lines on standard output are whole, whatever happens. (The
 * message then comes again, as it was not acknowledged.)
 *
 *   I1  at most one thread of the process is between the first byte of a chunk and its
 *       last
 *   I2  `rest` is what is missing of the last line that went out
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "sink/chunk.h"
#include "sink/sink.h"
#include "sink/util/quiet.h"

enum {
    CHUNK_SIZE = 64 * 1024, /* what others wait for */
    LINES_SIZE_MAX = 1 << 30,
    LOOK_MS = 50 /* how often stop is checked while the reader does not read */
};

struct stdout_sink {
    struct weir_sink sink;
    size_t step; /* bytes per write */
};

/* There is one standard output in a process, however many sinks write to it. */
static struct weir_lock turn = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct weir_buf rest; /* guarded by `turn` */

/*
 * A process that was started without standard output may have put another file in its
 * place.
 */
static bool is_for_writing(int fd)
{
    return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

static enum weir_status open_stdout(const struct weir_sink_options *options,
                                    const char *target, struct weir_sink **out,
                                    struct weir_error *error)
{
    struct stdout_sink *self;
    struct stat about;

    if (target[0] != '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "sink \"stdout:%.80s\": nothing may follow the colon",
                              target);
    if (fstat(STDOUT_FILENO, &about) != 0 || !is_for_writing(STDOUT_FILENO))
        return weir_sink_system_error(error, EBADF, "sink \"stdout:\": standard output");
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "sink \"stdout:\"");
    self->step = S_ISREG(about.st_mode) ? CHUNK_SIZE : PIPE_BUF;
    *out = &self->sink;
    return WEIR_OK;
}

static void close_stdout(struct weir_sink *sink)
{
    weir_heap_free(sink->options.heap, sink);
}

/* Write until all is out, WEIR_CANCELLED when stopped, WEIR_SYSTEM with errno. *done
 * counts. */
static enum weir_status push(struct stdout_sink *self, const struct weir_batch *batch,
                             const char *bytes, size_t size, size_t *done)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};

    while (*done < size) {
        size_t step = size - *done < self->step ? size - *done : self->step;
        ssize_t written = -1;

        if (weir_sink_stopped(&self->sink, batch))
            return WEIR_CANCELLED;
        errno = EAGAIN;
        if (poll(&ready, 1, LOOK_MS) > 0)
            written = weir_quiet_write(STDOUT_FILENO, bytes + *done, step);
        if (written < 0 && errno != EAGAIN && errno != EINTR)
            return WEIR_SYSTEM;
        if (written > 0)
            *done += (size_t)written;
    }
    return WEIR_OK;
}

/* What is missing of the line at `done`; without memory it stays half. */
static void keep_rest(const struct weir_heap *heap, const struct weir_str lines,
                      size_t done)
{
    const char *end;

    if (done == 0 || lines.data[done - 1] == '\n')
        return;
    end = memchr(lines.data + done, '\n', lines.size - done);
    weir_buf_init(&rest, heap, LINES_SIZE_MAX);
    weir_buf_append(&rest, lines.data + done, (size_t)(end + 1 - (lines.data + done)));
}

static enum weir_status push_rest(struct stdout_sink *self,
                                  const struct weir_batch *batch) WEIR_REQUIRES(turn)
{
    struct weir_str left = weir_buf_get(&rest);
    enum weir_status status;
    size_t done = 0;

    if (left.size == 0)
        return WEIR_OK;
    status = push(self, batch, left.data, left.size, &done);
    memmove(rest.data, rest.data + done, left.size - done);
    rest.size -= done;
    if (rest.size == 0)
        weir_buf_fini(&rest);
    return status;
}

static enum weir_status write_lines(struct stdout_sink *self,
                                    const struct weir_batch *batch, struct weir_str lines)
{
    size_t done = 0;
    enum weir_status status;
    int number;

    weir_lock_acquire(&turn);
    status = push_rest(self, batch);
    if (status == WEIR_OK)
        status = push(self, batch, lines.data, lines.size, &done);
    number = errno;
    if (status != WEIR_OK)
        keep_rest(weir_heap_system(), lines, done);
    weir_lock_release(&turn);
    errno = number;
    return status;
}

static enum weir_outcome answer(struct stdout_sink *self, const struct weir_batch *batch,
                                enum weir_status status, int number,
                                struct weir_reason *reason)
{
    char why[64];

    if (status == WEIR_CANCELLED && weir_batch_remaining_ns(batch) > 0)
        return WEIR_DONE;
    if (status == WEIR_CANCELLED)
        return weir_retry(reason, "standard output: its reader is too slow");
    if (status == WEIR_NO_MEMORY)
        return weir_retry(reason, "standard output: out of memory");
    if (number == EPIPE) {
        (void)weir_retry(reason, "standard output is closed: its reader has gone");
        weir_sink_note(&self->sink, WEIR_CLOSED, reason->text);
        return WEIR_RETRY;
    }
    return weir_retry(reason, "standard output: %s", strerror_r(number, why, sizeof why));
}

static enum weir_outcome deliver(struct weir_sink *sink, struct weir_batch *batch,
                                 struct weir_reason *reason)
{
    struct stdout_sink *self = (struct stdout_sink *)(void *)sink;
    enum weir_status filled = WEIR_OK;
    enum weir_status status = WEIR_OK;
    struct weir_buf lines;
    size_t count;
    int number = 0;

    weir_buf_init(&lines, sink->options.heap, LINES_SIZE_MAX);
    while (status == WEIR_OK && filled == WEIR_OK && weir_batch_left(batch) > 0) {
        filled = weir_chunk_fill(batch, &lines, CHUNK_SIZE, &count);
        status = write_lines(self, batch, weir_buf_get(&lines));
        number = errno;
        if (status == WEIR_OK)
            status = weir_batch_ack_chunk(batch, count, NULL);
    }
    weir_buf_fini(&lines);
    if (status == WEIR_OK)
        status = filled;
    if (status == WEIR_FENCED)
        status = WEIR_CANCELLED;
    return status == WEIR_OK ? WEIR_DONE : answer(self, batch, status, number, reason);
}

const struct weir_sink_ops weir_stdout_sink = {
    .scheme = "stdout",
    .usage = "stdout:",
    .about = "lines on standard output",
    .open = open_stdout,
    .deliver = deliver,
    .close = close_stdout,
};
