/*
 * file.c - lines at the end of a file, on disk before they are acknowledged.
 *
 *   deliver     a batch as lines (a large one in several steps)
 *               mend the tail, write, under the file's lock (tail.h)
 *               one sync for it and for all other writers (group_commit.h)
 *               ack
 *
 * A write that fails in the middle is taken back: the file is cut to the size it had,
 * which no other process can have changed because of the lock. A crash leaves a piece of
 * a line behind, which the next writer cuts off, in this process or in another, when it
 * opens the file or when it writes.
 *
 * The file may be moved away (by a rotation of logs) or removed. A line in a file that
 * cannot be found is a lost line, so before each write the path is looked at; when it
 * leads elsewhere the file is opened anew.
 *
 *   I1  `fd` changes only under `turn`, when no writer waits for a sync of it
 *   I2  the holder of the file's lock holds `turn`
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "sink/chunk.h"
#include "sink/sink.h"
#include "sink/util/group_commit.h"
#include "sink/util/quiet.h"
#include "sink/util/tail.h"
#include "weir/time.h"

enum {
    CHUNK_SIZE = 1024 * 1024, /* what is written and synced at once */
    LINES_SIZE_MAX = 1 << 30,
    IRREGULAR = -1 /* in place of an errno */
};

/* How often the lock of another process is tried; and how long at open. */
#define LOCK_LOOK_NS WEIR_MILLISECONDS(1)
#define LOCK_OPEN_NS WEIR_SECONDS(10)

struct file_sink {
    struct weir_sink sink;
    char *path;
    struct weir_fault_points *points;
    struct weir_group_commit group; /* of writers that wait for the disk */
    int fd;

    struct weir_lock turn; /* of writing: held while doing so */
};

/* ---- opening ----------------------------------------------------------------------- */

/* Make the name of a file durable: a sync of its folder. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash != NULL ? (size_t)(slash - path) : 0;
    int number = 0;
    int fd;

    if (size >= sizeof folder)
        return ENAMETOOLONG;
    memcpy(folder, path, size);
    folder[size] = '\0';
    if (size == 0)
        memcpy(folder, slash != NULL ? "/" : ".", 2);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno; /* may be used, not looked at */
    if (fsync(fd) != 0 && errno != EINVAL)  /* not all file systems can */
        number = errno;
    (void)close(fd);
    return number;
}

/* A file that is not there is made, with these permissions whatever the umask; those of
 * one that is there stay as they are. */
static int open_or_make(const char *path, mode_t permissions)
{
    struct stat about;
    bool is_new = stat(path, &about) != 0 && errno == ENOENT;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  permissions);

    if (fd >= 0 && is_new)
        (void)fchmod(fd, permissions);
    return fd;
}

/* Open or make it; *what says what was tried when it fails. Returns 0 or an errno. */
static int open_path(const char *path, uint32_t permissions, int *out, const char **what)
{
    struct stat about;
    int number = 0;
    int fd;

    *what = "open";
    fd = open_or_make(path, (mode_t)permissions);
    if (fd < 0)
        return errno;
    if (fstat(fd, &about) != 0) {
        number = errno;
    } else if (!S_ISREG(about.st_mode)) {
        *what = "not a regular file";
        number = IRREGULAR;
    } else {
        *what = "sync its folder";
        number = sync_folder(path);
    }
    if (number != 0) {
        (void)close(fd);
        return number;
    }
    *out = fd;
    return 0;
}

/* Wait for the file's lock until `deadline_ns`, or until the batch (may be NULL) is
 * stopped. */
static int lock_file(struct file_sink *self, int fd, const struct weir_batch *batch,
                     int64_t deadline_ns)
{
    int number = weir_tail_try_lock(fd);

    while (number == EWOULDBLOCK && weir_clock_now_ns() < deadline_ns) {
        (void)WEIR_POINT(self->points, "file.lock_is_taken");
        if (batch != NULL && weir_sink_stopped(&self->sink, batch))
            return ECANCELED;
        if (!weir_clock_sleep(LOCK_LOOK_NS))
            return ECANCELED;
        number = weir_tail_try_lock(fd);
    }
    return number;
}

/* Cut off a piece of a line, durably. With the lock. */
static int mend(struct file_sink *self, int fd, int64_t *size)
{
    int64_t cut;
    int number = weir_tail_mend(fd, size, &cut);

    if (number == 0 && cut > 0) {
        weir_log_event(self->sink.options.log, WEIR_LOG_WARNING, "sink.torn_line_cut",
                       "path=\"%s\" bytes=%lld", self->path, (long long)cut);
        if (fdatasync(fd) != 0)
            number = errno;
    }
    return number;
}

static int sync_file(void *state)
{
    struct file_sink *self = state;

    if (WEIR_POINT(self->points, "file.sync_fails"))
        return EIO;
    (void)WEIR_POINT(self->points, "file.before_sync");
    return fdatasync(self->fd) == 0 ? 0 : errno;
}

static enum weir_status open_first(struct file_sink *self, uint32_t permissions,
                                   struct weir_error *error)
{
    const char *what;
    int64_t size;
    int number = open_path(self->path, permissions, &self->fd, &what);

    if (number == IRREGULAR)
        return weir_error_set(error, WEIR_INVALID, "sink \"file:%.100s\": %s", self->path,
                              what);
    if (number == 0) {
        what = "lock";
        number = lock_file(self, self->fd, NULL, weir_clock_now_ns() + LOCK_OPEN_NS);
        if (number == 0) {
            what = "mend the last line";
            number = mend(self, self->fd, &size);
            weir_tail_unlock(self->fd);
        }
    }
    return number == 0 ? WEIR_OK
                       : weir_sink_system_error(error, number, "sink \"file:%.100s\": %s",
                                                self->path, what);
}

static void dispose(const struct weir_heap *heap, struct file_sink *self)
{
    if (self->fd >= 0)
        (void)close(self->fd);
    weir_heap_free(heap, self->path);
    weir_heap_free(heap, self);
}

static enum weir_status open_file(const struct weir_sink_options *options,
                                  const char *target, struct weir_sink **out,
                                  struct weir_error *error)
{
    struct file_sink *self;
    enum weir_status status;

    if (target[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "sink \"file:\": a path must follow the colon");
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "sink \"file:\"");
    self->fd = -1;
    self->points = options->points;
    self->sink.options = *options;
    self->path = weir_heap_copy(options->heap, target, strlen(target));
    status = self->path != NULL ? open_first(self, options->permissions, error)
                                : weir_no_memory(error, "sink \"file:\"");
    if (status == WEIR_OK) {
        status = weir_lock_init(&self->turn);
        if (status == WEIR_OK) {
            status = weir_group_commit_init(&self->group, sync_file, self);
            if (status != WEIR_OK)
                weir_lock_fini(&self->turn);
        }
        if (status != WEIR_OK)
            (void)weir_error_set(error, status, "sink \"file:\": no lock");
    }
    if (status == WEIR_OK)
        *out = &self->sink;
    else
        dispose(options->heap, self);
    return status;
}

static void close_file(struct weir_sink *sink)
{
    struct file_sink *self = (struct file_sink *)(void *)sink;

    weir_group_commit_fini(&self->group);
    weir_lock_fini(&self->turn);
    dispose(sink->options.heap, self);
}

/* ---- writing ----------------------------------------------------------------------- */

/* The path still leads to the file that is open. */
static bool is_in_place(const struct file_sink *self)
{
    struct stat at_path;
    struct stat here;

    return stat(self->path, &at_path) == 0 && fstat(self->fd, &here) == 0 &&
           at_path.st_dev == here.st_dev && at_path.st_ino == here.st_ino;
}

/* Open the file that the path leads to now. Writers of the old file that wait for
 * the disk are waited for. */
static int reopen(struct file_sink *self) WEIR_REQUIRES(self->turn)
{
    struct weir_group_commit_ticket ticket;
    const char *what;
    int fd = -1;
    int number = open_path(self->path, self->sink.options.permissions, &fd, &what);

    if (number != 0)
        return number == IRREGULAR ? EINVAL : number;
    weir_group_commit_enter(&self->group, &ticket);
    (void)weir_group_commit_wait(&self->group,
                                 &ticket); /* those concerned hear of a failure */
    (void)close(self->fd);
    self->fd = fd;
    weir_log_event(self->sink.options.log, WEIR_LOG_INFO, "sink.file_reopened",
                   "path=\"%s\"", self->path);
    return 0;
}

/* All of it, or nothing: what a failed write has left is taken back. */
static int append(struct file_sink *self, struct weir_str lines, int64_t size_before)
{
    size_t done = 0;
    int number = 0;

    while (done < lines.size && number == 0) {
        ssize_t written =
            weir_quiet_write(self->fd, lines.data + done, lines.size - done);

        if (written > 0)
            done += (size_t)written;
        else if (written == 0)
            number = EIO;
        else if (errno != EINTR)
            number = errno;
    }
    if (number != 0 && done > 0)
        (void)!ftruncate(self->fd, size_before); /* or the next one mends it */
    return number;
}

static int write_lines(struct file_sink *self, const struct weir_batch *batch,
                       struct weir_str lines) WEIR_REQUIRES(self->turn)
{
    int64_t size = 0;
    int number = 0;

    if (!is_in_place(self))
        number = reopen(self);
    if (number == 0)
        number = lock_file(self, self->fd, batch, WEIR_FOREVER);
    if (number != 0)
        return number;
    number = mend(self, self->fd, &size);
    if (number == 0)
        number = append(self, lines, size);
    weir_tail_unlock(self->fd);
    return number;
}

/* ---- delivering -------------------------------------------------------------------- */

/* Write lines and wait until they are on disk. Returns 0 or an errno. */
static int store(struct file_sink *self, const struct weir_batch *batch,
                 struct weir_str lines)
{
    struct weir_group_commit_ticket ticket;
    int number;

    weir_lock_acquire(&self->turn);
    number = weir_sink_stopped(&self->sink, batch) ? ECANCELED
                                                   : write_lines(self, batch, lines);
    if (number == 0)
        weir_group_commit_enter(&self->group, &ticket); /* before the file can change */
    weir_lock_release(&self->turn);
    if (number == 0)
        number = weir_group_commit_wait(&self->group, &ticket);
    (void)WEIR_POINT(self->points, "file.before_ack");
    return number;
}

static enum weir_outcome answer(struct file_sink *self, const struct weir_batch *batch,
                                int number, struct weir_reason *reason)
{
    char why[64];

    if (number == ECANCELED && weir_batch_remaining_ns(batch) > 0)
        return WEIR_DONE; /* what is left was not tried */
    if (number == ECANCELED)
        return weir_retry(reason, "file \"%.100s\": the time was over", self->path);
    return weir_retry(reason, "file \"%.100s\": %s", self->path,
                      strerror_r(number, why, sizeof why));
}

static enum weir_outcome deliver(struct weir_sink *sink, struct weir_batch *batch,
                                 struct weir_reason *reason)
{
    struct file_sink *self = (struct file_sink *)(void *)sink;
    enum weir_status filled = WEIR_OK;
    struct weir_buf lines;
    size_t count;
    int number = 0;

    weir_buf_init(&lines, sink->options.heap, LINES_SIZE_MAX);
    while (number == 0 && filled == WEIR_OK && weir_batch_left(batch) > 0) {
        filled = weir_chunk_fill(batch, &lines, CHUNK_SIZE, &count);
        number = store(self, batch, weir_buf_get(&lines));
        if (number == 0 && weir_batch_ack_chunk(batch, count, NULL) != WEIR_OK)
            number = ECANCELED;
    }
    weir_buf_fini(&lines);
    if (number == 0 && filled != WEIR_OK)
        number = ENOMEM;
    return number == 0 ? WEIR_DONE : answer(self, batch, number, reason);
}

const struct weir_sink_ops weir_file_sink = {
    .scheme = "file",
    .usage = "file:PATH",
    .about = "lines at the end of a file, on disk before they are acknowledged",
    .open = open_file,
    .deliver = deliver,
    .close = close_file,
};
