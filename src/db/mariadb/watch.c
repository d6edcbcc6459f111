/*
 * watch.c - hearing the signals of touch_file.h: inotify on one file.
 *
 * Not every commit can be detected: one of another host cannot, nor an application that
 * writes its messages without the library. So polling stays adaptive beside it.
 *
 * A signal is passed on at once. Then there is a pause without listening; what
 * comes meanwhile waits in the kernel, where equal events are one, and is passed on
 * when it is over. So a thousand signals are a few looks, and none is lost.
 *
 * The file or its folder may be removed, moved or replaced at any time, and inotify
 * tells of some of that only. So it is compared now and then with what has the name
 * now.
 */
#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/no_memory.h"
#include "db/touch_file.h"
#include "db/watch.h"
#include "ward/system.h"
#include "weir/time.h"

#define REST_NS WEIR_MILLISECONDS(2)
#define COMPARE_NS WEIR_SECONDS(2)

struct touch_file_watch {
    struct weir_watch watch; /* its fd is ours, or -1 while it rests */
    const struct weir_heap *heap;
    struct weir_fault_points *points;
    int fd;
    struct stat file; /* that is watched */
    int64_t compare_ns;
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
};

static void signal_close(struct weir_watch *watch)
{
    struct touch_file_watch *self =
        WEIR_CONTAINER_OF(watch, struct touch_file_watch, watch);

    if (self->fd >= 0)
        (void)close(self->fd);
    weir_heap_free(self->heap, self);
}

static enum weir_status compare(struct touch_file_watch *self, int64_t now_ns,
                                struct weir_error *error)
{
    struct stat now;

    self->compare_ns = weir_sat_add_i64(now_ns, COMPARE_NS);
    if (lstat(self->path, &now) != 0 || now.st_ino != self->file.st_ino ||
        now.st_dev != self->file.st_dev)
        return weir_error_set(error, WEIR_LOST,
                              "watch: \"%.200s\" was removed or replaced", self->path);
    return WEIR_OK;
}

static enum weir_status set_up(struct touch_file_watch *self, struct weir_error *error)
{
    enum weir_status status = weir_touch_file_touch(self->path, &self->file, error);

    if (status != WEIR_OK)
        return status;
    self->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (self->fd < 0 || inotify_add_watch(self->fd, self->path,
                                          IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF |
                                              IN_MOVE_SELF | IN_DONT_FOLLOW) < 0)
        return weir_error_set(error, WEIR_SYSTEM, "watch: inotify failed (errno %d)",
                              errno);
    return compare(self, weir_system_now_ns(), error);
}

static enum weir_status signal_open(struct weir_db *db, const char *channel,
                                    struct weir_watch **out, struct weir_error *error)
{
    const struct weir_link_config *config = weir_db_config(db);
    struct touch_file_watch *self = weir_heap_zalloc(config->heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "watch");
    self->heap = config->heap;
    self->points = config->points;
    self->fd = -1;
    weir_touch_file_path(config->url.signal, config->url.database, channel, self->path);
    status = set_up(self, error);
    if (status != WEIR_OK) {
        signal_close(&self->watch);
        return status;
    }
    self->watch = (struct weir_watch){
        .ops = &weir_watch_signal,
        .fd = self->fd,
        .events = POLLIN,
        .look_ns = self->compare_ns,
        .ready = true,
    };
    *out = &self->watch;
    return WEIR_OK;
}

/* Empty the queue of events. *moved: perhaps the file is another one now. */
static void take_events(struct touch_file_watch *self, bool *signalled, bool *moved)
{
    const uint32_t signals = IN_CLOSE_WRITE | IN_Q_OVERFLOW;
    char events[1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t size;

    *signalled = *moved = false;
    while ((size = read(self->fd, events, sizeof events)) > 0) {
        for (char *at = events; at < events + size;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;

            *signalled = *signalled || (event->mask & signals) != 0;
            *moved = *moved || (event->mask & ~signals) != 0;
            at += sizeof *event + event->len;
        }
    }
}

static enum weir_status signal_look(struct weir_watch *watch, int64_t now_ns,
                                    bool *hinted, struct weir_error *error)
{
    struct touch_file_watch *self =
        WEIR_CONTAINER_OF(watch, struct touch_file_watch, watch);
    bool signalled;
    bool moved;

    take_events(self, &signalled, &moved);
    if ((moved || now_ns >= self->compare_ns) && compare(self, now_ns, error) != WEIR_OK)
        return WEIR_LOST;
    self->watch.fd = signalled ? -1 : self->fd;
    self->watch.look_ns =
        signalled ? weir_sat_add_i64(now_ns, REST_NS) : self->compare_ns;
    *hinted = signalled && !WEIR_POINT(self->points, "watch.deaf");
    return WEIR_OK;
}

static bool signal_worth_polling(struct weir_watch *watch)
{
    (void)watch;
    return true;
}

const struct weir_watch_ops weir_watch_signal = {
    .open = signal_open,
    .look = signal_look,
    .worth_polling = signal_worth_polling,
    .close = signal_close,
};
