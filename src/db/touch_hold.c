/*
 * touch_hold.c - see touch_hold.h.
 *
 *   I1  a file is removed only under its exclusive lock, and only if it is the file of
 *       that name
 *   I2  a file is held only if it was the file of that name when it was locked
 *
 * So of a process that begins to watch and one that removes one comes first: either the
 * lock is taken and the file stays, or the file has gone and another one is made.
 */
#include "db/touch_hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/codec/hex.h"
#include "base/md5.h"
#include "base/text.h"

/* For reading: closing it is no signal. */
#define HOLD_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

enum {
    ATTEMPTS_MAX = 10, /* in each another process has removed the file in between */
    TIDY_MAX = 1000,   /* files */
};

static bool is_file_of(const char *path, const struct stat *file)
{
    struct stat named;

    return lstat(path, &named) == 0 && named.st_ino == file->st_ino &&
           named.st_dev == file->st_dev;
}

/* WEIR_LOCKED: it was removed meanwhile, or is being removed. */
static enum weir_status try_take(struct weir_touch_hold *self, struct stat *out,
                                 struct weir_error *error)
{
    enum weir_status status = weir_touch_file_touch(self->path, NULL, error);

    if (status != WEIR_OK)
        return status;
    self->file = open(self->path, HOLD_FLAGS);
    if (self->file >= 0 && flock(self->file, LOCK_SH | LOCK_NB) == 0 &&
        fstat(self->file, out) == 0 && is_file_of(self->path, out))
        return WEIR_OK;
    status = weir_error_set(
        error, self->file < 0 && errno != ENOENT ? WEIR_SYSTEM : WEIR_LOCKED,
        "signal: \"%.200s\" cannot be held (errno %d)", self->path, errno);
    if (self->file >= 0)
        (void)close(self->file);
    self->file = -1;
    return status;
}

enum weir_status weir_touch_hold_take(struct weir_touch_hold *self, const char *path,
                                      struct stat *out, struct weir_error *error)
{
    enum weir_status status = WEIR_LOCKED;

    self->file = -1;
    (void)weir_text_format(self->path, sizeof self->path, "%s", path);
    for (int i = 0; i < ATTEMPTS_MAX && status == WEIR_LOCKED; i++)
        status = try_take(self, out, error);
    return status;
}

/* I1. A file of another user stays in a folder with the sticky bit. */
static void remove_unless_held(int file, const char *path)
{
    struct stat about;

    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &about) == 0 &&
        is_file_of(path, &about))
        (void)unlink(path);
}

void weir_touch_hold_drop(struct weir_touch_hold *self)
{
    if (self->file < 0)
        return;
    remove_unless_held(self->file, self->path);
    (void)close(self->file);
    self->file = -1;
}

/* ---- files of processes that were killed ------------------------------------------- */

static bool is_our_name(const char *name)
{
    const size_t prefix = sizeof WEIR_TOUCH_FILE_HELD - 1;

    return strncmp(name, WEIR_TOUCH_FILE_HELD, prefix) == 0 &&
           strlen(name) == prefix + 2 * (size_t)WEIR_MD5_SIZE &&
           strspn(name + prefix, "0123456789abcdef") == 2 * (size_t)WEIR_MD5_SIZE;
}

static void tidy_one(const char *path)
{
    int file = open(path, HOLD_FLAGS);
    struct stat about;

    if (file < 0)
        return;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0 &&
        about.st_uid == geteuid())
        remove_unless_held(file, path);
    (void)close(file);
}

void weir_touch_hold_tidy(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    char path[WEIR_TOUCH_FILE_PATH_SIZE];

    if (entries == NULL)
        return;
    for (int i = 0; i < TIDY_MAX && (entry = readdir(entries)) != NULL;) {
        if (!is_our_name(entry->d_name))
            continue;
        i++;
        (void)weir_text_format(path, sizeof path, "%s/%s", folder, entry->d_name);
        tidy_one(path);
    }
    (void)closedir(entries);
}
