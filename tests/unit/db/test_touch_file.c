/*
 * Tests of db/touch_file.c: the file by which processes of one host wake each other.
 */
#include "db/touch_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "kit/test.h"

/* A folder of the test's own, and the file in it. */
struct place {
    char folder[64];
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct weir_error error;
};

static void place_make(struct place *self);
static void place_remove(struct place *self);
static int file_count(const char *folder);

/* ---- the name ---------------------------------------------------------------------- */

/* printf app/weir_wake | md5sum: so a program without the library can signal too. */
WEIR_TEST(signal, file_has_a_name_that_can_be_computed)
{
    char path[WEIR_TOUCH_FILE_PATH_SIZE];

    weir_touch_file_path("/run/weir", "app", "weir_wake", NULL, path);

    check_str(path, "/run/weir/weir-4d04fbb2d7051ac80929970086a79c6d");
}

WEIR_TEST(signal, file_belongs_to_one_database_and_channel)
{
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    char other[WEIR_TOUCH_FILE_PATH_SIZE];

    weir_touch_file_path("/run", "app", "weir_wake", NULL, path);
    weir_touch_file_path("/run", "app", "shop_wake", NULL, other);
    check(strcmp(path, other) != 0);
    weir_touch_file_path("/run", "shop", "weir_wake", NULL, other);
    check(strcmp(path, other) != 0);
}

/* Databases of one name on two servers, in the folder that all of them share. */
WEIR_TEST(signal, file_that_is_held_belongs_to_one_server)
{
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    char other[WEIR_TOUCH_FILE_PATH_SIZE];

    weir_touch_file_path("/dev/shm", "app", "weir_wake", "anna", path);
    weir_touch_file_path("/dev/shm", "app", "weir_wake", "bert", other);

    check_int(strncmp(path, "/dev/shm/weir-wake-", 19), 0);
    check_int(strspn(path + 19, "0123456789abcdef"), 32);
    check_int(strlen(path), 51);
    check(strcmp(path, other) != 0);
}

/* Whatever a database is called: its name cannot lead out of the folder. */
WEIR_TEST(signal, file_is_in_the_folder_whatever_the_database_is_called)
{
    char path[WEIR_TOUCH_FILE_PATH_SIZE];

    weir_touch_file_path("/run/weir", "../../etc/x", "weir_wake", NULL, path);

    check_int(strncmp(path, "/run/weir/weir-", 15), 0);
    check_int(strspn(path + 15, "0123456789abcdef"), 32);
    check_int(strlen(path), 47);
}

WEIR_TEST(signal, file_fits_behind_the_longest_folder)
{
    char folder[WEIR_TOUCH_FILE_FOLDER_MAX + 1];
    char path[WEIR_TOUCH_FILE_PATH_SIZE];

    memset(folder, 'x', sizeof folder - 1);
    folder[0] = '/';
    folder[sizeof folder - 1] = '\0';

    weir_touch_file_path(folder, "app", "weir_wake", NULL, path);

    check_int(strlen(path), WEIR_TOUCH_FILE_FOLDER_MAX + 38);
}

/* ---- the folder -------------------------------------------------------------------- */

WEIR_TEST(signal, is_refused_without_a_folder)
{
    char folder[WEIR_TOUCH_FILE_FOLDER_MAX + 2];
    struct place place;

    place_make(&place);
    check_status(weir_touch_file_check(place.folder, &place.error), WEIR_OK);
    check_status(weir_touch_file_check(place.path, &place.error), WEIR_INVALID);
    check(strstr(place.error.text, "option signal") != NULL);
    check(strstr(place.error.text, place.path) != NULL);
    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_OK);
    check_status(weir_touch_file_check(place.path, &place.error), WEIR_INVALID);
    check(strstr(place.error.text, "is not a folder") != NULL);
    place_remove(&place);

    memset(folder, '/', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    check_status(weir_touch_file_check(folder, &place.error), WEIR_INVALID);
    check(strstr(place.error.text, "1001 bytes") != NULL);
}

/* ---- the file ---------------------------------------------------------------------- */

WEIR_TEST(signal, is_an_event_for_inotify)
{
    struct inotify_event event;
    struct place place;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    place_make(&place);
    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_OK);
    check(inotify_add_watch(fd, place.path, IN_CLOSE_WRITE) >= 0);

    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_OK);

    check_int(read(fd, &event, sizeof event), sizeof event);
    check(read(fd, &event, sizeof event) < 0);
    (void)close(fd);
    place_remove(&place);
}

/* Users of different groups share it, and the umask of whoever came first does not
 * count. */
WEIR_TEST(signal, file_can_be_opened_by_everybody)
{
    mode_t before = umask(077);
    struct place place;
    struct stat file;

    place_make(&place);

    check_status(weir_touch_file_touch(place.path, &file, &place.error), WEIR_OK);

    check_int(stat(place.path, &file), 0);
    check_int(file.st_mode & 07777, 0666);
    (void)umask(before);
    place_remove(&place);
}

/* Somebody else's file stays as it is: its mode, its content, its times. */
WEIR_TEST(signal, changes_nothing_of_a_file_that_is_there)
{
    struct place place;
    struct stat before;
    struct stat after;
    int file;

    place_make(&place);
    file = open(place.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    check_int(write(file, "words", 5), 5);
    (void)close(file);
    check_int(stat(place.path, &before), 0);

    check_status(weir_touch_file_touch(place.path, &after, &place.error), WEIR_OK);

    check_int(after.st_ino, before.st_ino);
    check_int(stat(place.path, &after), 0);
    check_int(after.st_size, 5);
    check_int(after.st_mode, before.st_mode);
    check_int(memcmp(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim), 0);
    check_int(memcmp(&after.st_ctim, &before.st_ctim, sizeof after.st_ctim), 0);
    place_remove(&place);
}

/* Neither to a file that is there nor to one that would be made. */
WEIR_TEST(signal, follows_no_symbolic_link)
{
    struct place place;
    char target[80];

    place_make(&place);
    snprintf(target, sizeof target, "%s/target", place.folder);
    check_int(symlink(target, place.path), 0);

    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_SYSTEM);
    check_int(file_count(place.folder), 1);
    (void)close(open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_SYSTEM);

    check(strstr(place.error.text, place.path) != NULL);
    (void)unlink(target);
    place_remove(&place);
}

/* Opening a fifo for writing waits for a reader, by default. */
WEIR_TEST(signal, waits_for_nobody)
{
    struct place place;

    place_make(&place);
    check_int(mkfifo(place.path, 0666), 0);

    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_SYSTEM);

    place_remove(&place);
}

/* A producer makes no file that no process would remove. */
WEIR_TEST(signal, makes_no_file_that_is_to_be_held)
{
    struct inotify_event event;
    struct place place;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    place_make(&place);
    weir_touch_file_touch_held(place.path);
    check_int(file_count(place.folder), 0);
    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_OK);
    check(inotify_add_watch(fd, place.path, IN_CLOSE_WRITE) >= 0);

    weir_touch_file_touch_held(place.path);

    check_int(read(fd, &event, sizeof event), sizeof event);
    (void)close(fd);
    place_remove(&place);
}

WEIR_TEST(signal, fails_without_its_folder)
{
    struct place place;

    place_make(&place);
    place_remove(&place);

    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_SYSTEM);
}

/* ---- helpers ----------------------------------------------------------------------- */

static void place_make(struct place *self)
{
    const char *temporary = getenv("TMPDIR");

    weir_error_clear(&self->error);
    snprintf(self->folder, sizeof self->folder, "%.40s/weir-signal-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    check(mkdtemp(self->folder) != NULL);
    check_int(chmod(self->folder, 0700), 0);
    weir_touch_file_path(self->folder, "app", "weir_wake", NULL, self->path);
}

static void place_remove(struct place *self)
{
    (void)unlink(self->path);
    check_int(rmdir(self->folder), 0);
}

static int file_count(const char *folder)
{
    DIR *list = opendir(folder);
    int count = -2; /* . and .. */

    check(list != NULL);
    while (readdir(list) != NULL)
        count++;
    (void)closedir(list);
    return count;
}
