/* Tests of db/sqlite/side_file.c: the file beside a database. */
#include "db/sqlite/side_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "kit/test.h"

struct place {
    char folder[64];
    char database[80];
    char *path;
};

static void place_make(struct place *self, mode_t mode)
{
    int file;

    strcpy(self->folder, "/tmp/weir-side-XXXXXX");
    check(mkdtemp(self->folder) != NULL);
    snprintf(self->database, sizeof self->database, "%s/shop.db", self->folder);
    file = open(self->database, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    check(file >= 0);
    check_int(fchmod(file, mode), 0);
    (void)close(file);
    self->path = weir_side_file_path(weir_heap_system(), self->database);
    check(self->path != NULL);
}

static void place_remove(struct place *self)
{
    (void)unlink(self->path);
    check_int(unlink(self->database), 0);
    check_int(rmdir(self->folder), 0);
    weir_heap_free(weir_heap_system(), self->path);
}

static void make(struct place *self)
{
    int file = weir_side_file_open(self->path);

    check(file >= 0);
    (void)close(file);
}

WEIR_TEST(side_file, stands_beside_the_database_with_its_permissions)
{
    mode_t before = umask(077);
    struct place place;
    struct stat about;
    char expected[96];

    place_make(&place, 0660);
    snprintf(expected, sizeof expected, "%s-weir", place.database);

    make(&place);

    check_str(place.path, expected);
    check_int(stat(place.path, &about), 0);
    check_int(about.st_mode & 07777, 0660);
    check_int(about.st_size, 0);
    (void)umask(before);
    place_remove(&place);
}

WEIR_TEST(side_file, that_is_touched_is_an_event_for_inotify)
{
    struct inotify_event event;
    struct place place;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    place_make(&place, 0600);
    make(&place);
    check(inotify_add_watch(fd, place.path, IN_CLOSE_WRITE) >= 0);

    weir_side_file_touch(place.path);

    check_int(read(fd, &event, sizeof event), sizeof event);
    check_int(event.mask, IN_CLOSE_WRITE);
    (void)close(fd);
    place_remove(&place);
}

/* Where no process watches, a signal leaves nothing behind. */
WEIR_TEST(side_file, is_not_made_by_a_signal)
{
    struct place place;

    place_make(&place, 0600);

    weir_side_file_touch(place.path);

    check_int(access(place.path, F_OK), -1);
    place_remove(&place);
}

/* A link is not followed, and a fifo not waited for. */
WEIR_TEST(side_file, is_refused_where_another_thing_has_its_place)
{
    struct place place;

    place_make(&place, 0600);
    check_int(symlink(place.database, place.path), 0);
    check_int(weir_side_file_open(place.path), -1);
    check_int(unlink(place.path), 0);
    check_int(mkfifo(place.path, 0600), 0);

    weir_side_file_touch(place.path);

    place_remove(&place);
}
