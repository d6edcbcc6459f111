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
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "db/server_key.h"
#include "db/touch_file.h"
#include "db/touch_hold.h"
#include "db/watch.h"
#include "ward/system.h"
#include "weir/time.h"

#define REST_NS WEIR_MILLISECONDS(2)
#define COMPARE_NS WEIR_SECONDS(2)
#define TRY_AGAIN_NS WEIR_MILLISECONDS(50)

enum { CHANNEL_SIZE = 64 }; /* more than wake.h takes */

struct touch_file_watch {
    struct weir_watch watch; /* its fd is ours, or -1 while it rests */
    const struct weir_link_config *config;
    int fd;
    struct stat file; /* that is watched */
    int64_t compare_ns;
    char channel[CHANNEL_SIZE];
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct weir_touch_hold hold; /* of the same file, where we make it */
};

/* Files in a folder of the operator's stay; others are there while they are held. */
static bool is_held(const struct weir_link_config *config)
{
    return config->url.signal == NULL;
}

/* WEIR_NO_ROW: no session has said yet which server it is. */
static enum weir_status find_path(const struct weir_link_config *config,
                                  const char *channel,
                                  char out[WEIR_TOUCH_FILE_PATH_SIZE])
{
    char server[WEIR_SERVER_KEY_SIZE];

    if (is_held(config) && !weir_server_key_get(config->server, server))
        return WEIR_NO_ROW;
    weir_touch_file_path(config->signal_folder, config->url.database, channel,
                         is_held(config) ? server : NULL, out);
    return WEIR_OK;
}

static void signal_close(struct weir_watch *watch)
{
    struct touch_file_watch *self =
        WEIR_CONTAINER_OF(watch, struct touch_file_watch, watch);

    if (self->fd >= 0)
        (void)close(self->fd);
    weir_touch_hold_drop(&self->hold);
    weir_heap_free(self->config->heap, self);
}

/* Also a file that is not the one of its server any more. */
static enum weir_status compare(struct touch_file_watch *self, int64_t now_ns,
                                struct weir_error *error)
{
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct stat now;

    self->compare_ns = weir_sat_add_i64(now_ns, COMPARE_NS);
    if (find_path(self->config, self->channel, path) != WEIR_OK ||
        strcmp(path, self->path) != 0)
        return weir_error_set(error, WEIR_LOST, "watch: the server is another one");
    if (lstat(self->path, &now) != 0 || now.st_ino != self->file.st_ino ||
        now.st_dev != self->file.st_dev)
        return weir_error_set(error, WEIR_LOST,
                              "watch: \"%.200s\" was removed or replaced", self->path);
    return WEIR_OK;
}

static enum weir_status make_file(struct touch_file_watch *self, struct weir_error *error)
{
    if (!is_held(self->config))
        return weir_touch_file_touch(self->path, &self->file, error);
    return weir_touch_hold_take(&self->hold, self->path, &self->file, error);
}

static enum weir_status set_up(struct touch_file_watch *self, struct weir_error *error)
{
    enum weir_status status = make_file(self, error);

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

/* Until a session has said which server it is there is nothing to watch; nor while
 * another process is about to remove the file. */
static enum weir_status begin(struct touch_file_watch *self, int64_t now_ns,
                              struct weir_error *error)
{
    enum weir_status status = find_path(self->config, self->channel, self->path);

    if (status == WEIR_OK)
        status = set_up(self, error);
    if (status == WEIR_NO_ROW || status == WEIR_LOCKED) {
        self->watch.look_ns = weir_sat_add_i64(now_ns, TRY_AGAIN_NS);
        return WEIR_OK;
    }
    if (status != WEIR_OK)
        return status;
    self->watch.fd = self->fd;
    self->watch.look_ns = self->compare_ns;
    self->watch.ready = true;
    return WEIR_OK;
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
    self->config = config;
    self->fd = -1;
    self->hold.file = -1;
    self->watch =
        (struct weir_watch){.ops = &weir_watch_signal, .fd = -1, .events = POLLIN};
    (void)weir_text_format(self->channel, sizeof self->channel, "%s", channel);
    if (is_held(config)) /* once, not with each attempt: the folder may be large */
        weir_touch_hold_tidy(config->signal_folder);
    status = begin(self, weir_system_now_ns(), error);
    if (status != WEIR_OK) {
        signal_close(&self->watch);
        return status;
    }
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

    if (!self->watch.ready)
        return begin(self, now_ns, error);
    take_events(self, &signalled, &moved);
    if ((moved || now_ns >= self->compare_ns) && compare(self, now_ns, error) != WEIR_OK)
        return WEIR_LOST;
    self->watch.fd = signalled ? -1 : self->fd;
    self->watch.look_ns =
        signalled ? weir_sat_add_i64(now_ns, REST_NS) : self->compare_ns;
    *hinted = signalled && !WEIR_POINT(self->config->points, "watch.deaf");
    return WEIR_OK;
}

static bool signal_worth_polling(struct weir_watch *watch)
{
    (void)watch;
    return true;
}

/* Where the file is one that is held, no file means that no process of this host
 * watches. */
static enum weir_status signal_send(struct weir_db *db, const char *channel,
                                    struct weir_error *error)
{
    const struct weir_link_config *config = weir_db_config(db);
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    enum weir_status status = find_path(config, channel, path);

    if (status != WEIR_OK)
        return status;
    if (!is_held(config))
        return weir_touch_file_touch(path, NULL, error);
    weir_touch_file_touch_held(path);
    return WEIR_NO_ROW;
}

const struct weir_watch_ops weir_watch_signal = {
    .open = signal_open,
    .look = signal_look,
    .worth_polling = signal_worth_polling,
    .close = signal_close,
    .signal = signal_send,
};
