/*
 * watch.c - noticing commits to a database file.
 *
 * Whether something was committed is read from the wal-index: its header, in memory
 * that SQLite shares between all processes, is another one after each commit
 * (walformat.html, section 2.1; PRAGMA data_version compares the same bytes). So
 * looking costs no statement, no lock and no system call, and a poll that finds the
 * header as it was knows that nothing has happened.
 *
 * inotify on the write-ahead log says when to look. But that is written to
 * *before* the commit can be seen:
 *
 *   other process   write log ---- flush it (0 to many ms) ---- header
 *   inotify             ^ event                                    . none: it is memory
 *   here                look, nothing  .. look .... look ....... look: a commit
 *
 * So each event begins a series of looks with growing pauses, each half as long again
 * as the one before: a commit is seen after at most one and a half times the time that
 * its flush took. The series ends with a change that came without new events, for then
 * the writer has committed (there is one writer at a time), or when the
 * polls are as frequent.
 *
 * A process with the library also says that it has committed, by the side file
 * (side_file.h). Then one look is enough, and it comes at once. Commits of other programs
 * are found by the series.
 *
 * The files themselves are never opened here: closing any descriptor of a database file
 * drops all locks that this process holds on it. inotify needs none.
 *
 * The path is SQLite's: it has followed symbolic links, beside which there is no log,
 * and it does not depend on the working folder.
 */
#include <errno.h>
#include <poll.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/no_memory.h"
#include "db/sqlite/side_file.h"
#include "db/watch.h"
#include "weir/time.h"

/* A file that another process has locked as a whole is tried again later, not waited
 * for. */
#define WAIT_FOR_LOCK_NS WEIR_MILLISECONDS(10)
#define WAIT_TO_OPEN_NS WEIR_MILLISECONDS(50)

#define PAUSE_FIRST_NS WEIR_MICROSECONDS(200)
#define PAUSE_MAX_NS WEIR_SECONDS(1)

/* Of the side file: signals, and its end. */
#define SIDE_EVENTS (IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

enum {
    INDEX_REGION_SIZE = 32768, /* in which SQLite maps the wal-index */
    HEADER_WORDS = 12,         /* 48 bytes */
};

struct sqlite_watch {
    struct weir_watch watch;
    struct weir_link_config config; /* of the database, with short waits */
    struct weir_link *link;
    void *prepared; /* PRAGMA data_version, for when there is no index to see */
    int64_t version;
    const volatile uint32_t *index; /* SQLite's memory; NULL: cannot be seen */
    uint32_t header[HEADER_WORDS];  /* of the index, when last looked at */
    const char *log_path;           /* the connection's */
    ino_t log_inode;
    char *side_path; /* owned; NULL: no signals arrive */
    ino_t side_inode;
    int64_t pause_ns; /* before the next look */
};

static void sqlite_close(struct weir_watch *watch)
{
    struct sqlite_watch *self = WEIR_CONTAINER_OF(watch, struct sqlite_watch, watch);

    if (self->watch.fd >= 0)
        (void)close(self->watch.fd);
    if (self->prepared != NULL)
        self->link->driver->unprepare(self->link, self->prepared);
    if (self->link != NULL)
        self->link->driver->close(self->link);
    weir_heap_free(self->config.heap, self->side_path);
    weir_heap_free(self->config.heap, self);
}

/* ---- has something been committed? ------------------------------------------------- */

static enum weir_status read_version(struct sqlite_watch *self, int64_t *out,
                                     struct weir_error *error)
{
    const struct weir_driver *driver = self->link->driver;
    struct weir_cursor cursor = {0};
    struct weir_value value = weir_null();
    bool fits = false;
    enum weir_status status =
        driver->run(self->link, self->prepared, NULL, &cursor, error);

    if (status != WEIR_OK)
        return status;
    status = driver->next(self->link, &cursor, error);
    if (status == WEIR_OK)
        driver->read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
    driver->finish(self->link, &cursor);
    if (status == WEIR_OK && fits)
        *out = value.as.integer;
    return status;
}

/* In doubt it has: a signal too many does no harm. */
static bool version_has_changed(struct sqlite_watch *self)
{
    struct weir_error ignored;
    int64_t version = self->version;
    bool changed =
        read_version(self, &version, &ignored) != WEIR_OK || version != self->version;

    self->version = version;
    return changed;
}

/*
 * The header may be written while it is copied here. Then the copy is unlike the one
 * before and also unlike the next: a signal too many.
 */
static bool header_has_changed(struct sqlite_watch *self)
{
    bool changed = false;

    for (size_t i = 0; i < HEADER_WORDS; i++) {
        uint32_t word = self->index[i];

        changed = changed || word != self->header[i];
        self->header[i] = word;
    }
    return changed;
}

static bool has_changed(struct sqlite_watch *self)
{
    return self->index != NULL ? header_has_changed(self) : version_has_changed(self);
}

/* ---- opening ----------------------------------------------------------------------- */

/* The mapping stays as long as the connection has the log open, which it does until its
 * end. */
static const volatile uint32_t *find_index(sqlite3 *db)
{
    volatile void *index = NULL;
    sqlite3_file *file = NULL;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap == NULL)
        return NULL;
    if (file->pMethods->xShmMap(file, 0, INDEX_REGION_SIZE, 0, &index) != SQLITE_OK)
        return NULL;
    return index;
}

/* The log is there: our own connection has opened it, and keeps it from being removed. */
static enum weir_status watch_log(struct sqlite_watch *self, sqlite3 *db,
                                  struct weir_error *error)
{
    struct stat log;

    self->log_path = sqlite3_filename_wal(sqlite3_db_filename(db, "main"));
    self->watch.events = POLLIN;
    self->watch.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (self->watch.fd < 0 || inotify_add_watch(self->watch.fd, self->log_path,
                                                IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF) < 0)
        return weir_error_set(error, WEIR_SYSTEM, "watch: inotify failed (errno %d)",
                              errno);
    if (stat(self->log_path, &log) == 0)
        self->log_inode = log.st_ino;
    return WEIR_OK;
}

/* Signals are a help and no more: where the file cannot be watched there are none. */
static enum weir_status watch_side_file(struct sqlite_watch *self, sqlite3 *db,
                                        struct weir_error *error)
{
    char *path = weir_side_file_path(self->config.heap, sqlite3_db_filename(db, "main"));
    struct stat about;
    int file;

    if (path == NULL)
        return weir_no_memory(error, "watch");
    file = weir_side_file_open(path);
    if (file >= 0 && fstat(file, &about) == 0 &&
        inotify_add_watch(self->watch.fd, path, SIDE_EVENTS | IN_DONT_FOLLOW) >= 0) {
        self->side_inode = about.st_ino;
        self->side_path = path;
        path = NULL;
    }
    if (file >= 0)
        (void)close(file);
    weir_heap_free(self->config.heap, path);
    return WEIR_OK;
}

static bool is_another(const char *path, ino_t inode)
{
    struct stat about;

    return stat(path, &about) != 0 || about.st_ino != inode;
}

/* Other files were put in the place of those that we watch. */
static bool files_are_others(const struct sqlite_watch *self)
{
    return is_another(self->log_path, self->log_inode) ||
           (self->side_path != NULL && is_another(self->side_path, self->side_inode));
}

static enum weir_status set_up(struct sqlite_watch *self, struct weir_error *error)
{
    enum weir_status status = weir_driver_sqlite.open(&self->config, &self->link, error);
    sqlite3 *db;

    if (status == WEIR_OK)
        status = weir_driver_sqlite.prepare(self->link, "PRAGMA data_version", "",
                                            &self->prepared, error);
    if (status == WEIR_OK) /* opens log and index */
        status = read_version(self, &self->version, error);
    if (status != WEIR_OK)
        return status;
    db = weir_driver_sqlite.native(self->link);
    status = watch_log(self, db, error);
    if (status == WEIR_OK)
        status = watch_side_file(self, db, error);
    self->index = find_index(db);
    (void)has_changed(self);
    return status;
}

static enum weir_status sqlite_open(struct weir_db *db, const char *channel,
                                    struct weir_watch **out, struct weir_error *error)
{
    struct sqlite_watch *self = weir_heap_zalloc(weir_db_heap(db), sizeof *self);
    enum weir_status status;

    (void)channel; /* a file is one channel */
    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "watch");
    self->config = *weir_db_config(db);
    self->config.connect_timeout_ns = WAIT_TO_OPEN_NS;
    self->config.lock_timeout_ns = WAIT_FOR_LOCK_NS;
    self->watch.ops = &weir_watch_sqlite;
    self->watch.fd = -1;
    self->watch.look_ns = WEIR_FOREVER;
    status = set_up(self, error);
    if (status != WEIR_OK) {
        sqlite_close(&self->watch);
        return status;
    }
    self->watch.ready = true;
    *out = &self->watch;
    return WEIR_OK;
}

/* ---- looking ----------------------------------------------------------------------- */

/* What the queue of events says. */
struct news {
    bool written;   /* the log was written to */
    bool signalled; /* a process has committed, and says so */
    bool moved;     /* perhaps a file was removed: that is reported as a change of its
                     * attributes, the number of links, while it is open somewhere */
};

static struct news take_events(struct sqlite_watch *self)
{
    char events[1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct news news = {.written = false};
    ssize_t size;

    while ((size = read(self->watch.fd, events, sizeof events)) > 0) {
        for (char *at = events; at < events + size;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;

            /* After an overflow it is unknown what was lost. */
            if ((event->mask & (IN_MODIFY | IN_Q_OVERFLOW)) != 0)
                news.written = true;
            if ((event->mask & IN_CLOSE_WRITE) != 0)
                news.signalled = true;
            if ((event->mask & ~(uint32_t)(IN_MODIFY | IN_CLOSE_WRITE)) != 0)
                news.moved = true;
            at += sizeof *event + event->len;
        }
    }
    return news;
}

/* Begin the series of looks, go on with it, or end it. */
static void plan_next_look(struct sqlite_watch *self, int64_t now_ns, struct news news,
                           bool changed)
{
    bool committed = changed && !news.written;

    if (news.written)
        self->pause_ns = PAUSE_FIRST_NS;
    else if (now_ns < self->watch.look_ns && !(news.signalled && committed))
        return; /* there is none, or it is not its time */
    else
        self->pause_ns += self->pause_ns / 2;
    if (committed || self->pause_ns > PAUSE_MAX_NS)
        self->watch.look_ns = WEIR_FOREVER;
    else
        self->watch.look_ns = weir_sat_add_i64(now_ns, self->pause_ns);
}

static enum weir_status sqlite_look(struct weir_watch *watch, int64_t now_ns,
                                    bool *hinted, struct weir_error *error)
{
    struct sqlite_watch *self = WEIR_CONTAINER_OF(watch, struct sqlite_watch, watch);
    struct news news = take_events(self);

    if (news.moved && files_are_others(self))
        return weir_error_set(error, WEIR_LOST, "watch: a file was replaced");
    if (WEIR_POINT(self->config.points, "watch.deaf"))
        return WEIR_OK;
    *hinted = has_changed(self);
    plan_next_look(self, now_ns, news, *hinted);
    return WEIR_OK;
}

/* By the name in the URL. If that is a symbolic link no process watches what is beside
 * it, and the commit is found by looks. */
static enum weir_status sqlite_signal(struct weir_db *db, const char *channel,
                                      struct weir_error *error)
{
    const struct weir_link_config *config = weir_db_config(db);
    char *path = weir_side_file_path(config->heap, config->url.path);

    (void)channel; /* a file is one channel */
    if (path == NULL)
        return weir_no_memory(error, "signal");
    weir_side_file_touch(path);
    weir_heap_free(config->heap, path);
    return WEIR_NO_ROW;
}

static bool sqlite_worth_polling(struct weir_watch *watch)
{
    return has_changed(WEIR_CONTAINER_OF(watch, struct sqlite_watch, watch));
}

const struct weir_watch_ops weir_watch_sqlite = {
    .hears_all = true,
    .sees = true,
    .open = sqlite_open,
    .look = sqlite_look,
    .worth_polling = sqlite_worth_polling,
    .close = sqlite_close,
    .signal = sqlite_signal,
};
