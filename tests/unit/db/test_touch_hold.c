/*
 * Tests of db/touch_hold.c: a touch file that is there while processes watch it.
 */
#include "db/touch_hold.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/test.h"

/* A folder of the test's own, and the path of a file in it. */
struct place {
    char folder[64];
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct weir_error error;
};

static void place_make(struct place *self)
{
    strcpy(self->folder, "/tmp/weir-hold-XXXXXX");
    check(mkdtemp(self->folder) != NULL);
    weir_touch_file_path(self->folder, "app", "weir_wake", "server", self->path);
}

static void place_remove(struct place *self)
{
    (void)unlink(self->path);
    check_int(rmdir(self->folder), 0);
}

static void hold(struct place *self, struct weir_touch_hold *out)
{
    struct stat about;

    check_status(weir_touch_hold_take(out, self->path, &about, &self->error), WEIR_OK);
    check_int(about.st_mode & 07777, 0666);
}

static bool is_there(const struct place *self)
{
    return access(self->path, F_OK) == 0;
}

/* A process that holds the file, and does nothing until it is killed. */
static pid_t start_holder(struct place *self)
{
    int ready[2];
    char byte;
    pid_t pid;

    check_int(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct weir_touch_hold mine;

        hold(self, &mine);
        if (write(ready[1], "!", 1) == 1)
            for (;;)
                (void)pause();
        _exit(1);
    }
    check_int(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void kill_holder(pid_t pid)
{
    int status;

    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, &status, 0), pid);
}

WEIR_TEST(touch_hold, removes_the_file_with_its_last_holder)
{
    struct weir_touch_hold one;
    struct weir_touch_hold other;
    struct place place;

    place_make(&place);
    hold(&place, &one);
    hold(&place, &other);

    weir_touch_hold_drop(&one);
    check(is_there(&place));
    weir_touch_hold_drop(&other);

    check(!is_there(&place));
    weir_touch_hold_drop(&other); /* nothing is left to do */
    place_remove(&place);
}

WEIR_TEST(touch_hold, keeps_the_file_of_another_process)
{
    struct weir_touch_hold one;
    struct place place;
    pid_t pid;

    place_make(&place);
    pid = start_holder(&place);
    hold(&place, &one);

    weir_touch_hold_drop(&one);
    weir_touch_hold_tidy(place.folder);

    check(is_there(&place));
    kill_holder(pid);
    place_remove(&place);
}

WEIR_TEST(touch_hold, tidies_up_behind_a_process_that_was_killed)
{
    struct place place;

    place_make(&place);
    kill_holder(start_holder(&place));
    check(is_there(&place));

    weir_touch_hold_tidy(place.folder);

    check(!is_there(&place));
    place_remove(&place);
}

/* Neither of other programs, nor what an operator has made, nor one with content. */
WEIR_TEST(touch_hold, tidies_up_no_other_files)
{
    static const char *const NAMES[] = {
        "weir-4d04fbb2d7051ac80929970086a79c6d",
        "weir-wake-4d04fbb2d7051ac80929970086a79c6",
        "weir-wake-4d04fbb2d7051ac80929970086a79c6d0",
        "weir-wake-4D04fbb2d7051ac80929970086a79c6d",
        "sem.weir-wake-4d04fbb2d7051ac80929970086a79c6d",
        "weir-wake-4d04fbb2d7051ac80929970086a79c6d", /* the one with content */
    };
    enum { COUNT = sizeof NAMES / sizeof NAMES[0] };
    struct place place;
    char path[256];

    place_make(&place);
    for (size_t i = 0; i < COUNT; i++) {
        int file;

        snprintf(path, sizeof path, "%s/%s", place.folder, NAMES[i]);
        file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        check(file >= 0);
        check(i < COUNT - 1 || write(file, "x", 1) == 1);
        (void)close(file);
    }

    weir_touch_hold_tidy(place.folder);

    for (size_t i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s", place.folder, NAMES[i]);
        check_int(unlink(path), 0);
    }
    place_remove(&place);
}

/* Another file has the name meanwhile: that is not ours to remove. */
WEIR_TEST(touch_hold, leaves_a_file_that_took_the_place)
{
    struct weir_touch_hold one;
    struct place place;

    place_make(&place);
    hold(&place, &one);
    check_int(unlink(place.path), 0);
    check_status(weir_touch_file_touch(place.path, NULL, &place.error), WEIR_OK);

    weir_touch_hold_drop(&one);

    check(is_there(&place));
    place_remove(&place);
}

/* A process is about to remove it, and has been stopped in between. */
WEIR_TEST(touch_hold, does_not_wait_for_a_process_that_has_the_file_locked)
{
    struct weir_touch_hold one;
    struct stat about;
    struct place place;
    int file;

    place_make(&place);
    file = open(place.path, O_CREAT | O_RDONLY | O_CLOEXEC, 0666);
    check_int(flock(file, LOCK_EX), 0);

    check_status(weir_touch_hold_take(&one, place.path, &about, &place.error),
                 WEIR_LOCKED);
    check_int(one.file, -1);
    (void)close(file);

    check_status(weir_touch_hold_take(&one, place.path, &about, &place.error), WEIR_OK);
    weir_touch_hold_drop(&one);
    place_remove(&place);
}

/* Processes come and go at the same time: whichever holds the file has the one of that
 * name. */
WEIR_TEST(touch_hold, has_the_file_of_that_name_whatever_others_remove)
{
    enum { PROCESSES = 4, ROUNDS = 500 };
    struct place place;
    pid_t pids[PROCESSES];

    place_make(&place);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        check(pids[i] >= 0);
        if (pids[i] != 0)
            continue;
        for (int n = 0; n < ROUNDS; n++) {
            struct weir_touch_hold mine;
            struct stat held;
            struct stat named;

            if (weir_touch_hold_take(&mine, place.path, &held, NULL) != WEIR_OK)
                continue; /* too many removed it in between */
            if (stat(place.path, &named) != 0 || named.st_ino != held.st_ino)
                _exit(1);
            weir_touch_hold_drop(&mine);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        check_int(waitpid(pids[i], &status, 0), pids[i]);
        check_int(status, 0);
    }
    place_remove(&place);
}

WEIR_TEST(touch_hold, follows_no_symbolic_link)
{
    struct weir_touch_hold one;
    struct stat about;
    struct place place;
    char target[80];

    place_make(&place);
    snprintf(target, sizeof target, "%s/target", place.folder);
    check_int(symlink(target, place.path), 0);

    check_status(weir_touch_hold_take(&one, place.path, &about, &place.error),
                 WEIR_SYSTEM);

    check_int(one.file, -1);
    check_int(access(target, F_OK), -1);
    place_remove(&place);
}
