/*
 * create.c - see sqlite/create.h.
 *
 * A symbolic link that leads nowhere is followed, as SQLite does, or the file behind it
 * would be made by the umask.
 */
#include "db/sqlite/create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { LINKS_MAX = 8 };

#define NEW_SUFFIX "-new-XXXXXX"

static bool is_missing(const char *path)
{
    struct stat about;

    return stat(path, &about) != 0 && errno == ENOENT;
}

/* Replace the name of a symbolic link by what it leads to; false: it is none, or too
 * long. */
static bool follow(char path[PATH_MAX])
{
    char target[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    ssize_t size = readlink(path, target, sizeof target - 1);

    if (size <= 0)
        return false;
    target[size] = '\0';
    if (target[0] == '/')
        folder = 0;
    if (folder + (size_t)size >= PATH_MAX)
        return false;
    memcpy(path + folder, target, (size_t)size + 1);
    return true;
}

/* Whatever the umask is. */
static bool settle(int file, uint32_t permissions)
{
    bool done = fchmod(file, (mode_t)permissions) == 0;

    (void)close(file);
    return done;
}

/* Where there are no hard links, or the other name would be too long. */
static bool make_in_place(const char *path, uint32_t permissions)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)permissions);

    return file >= 0 && settle(file, permissions);
}

/* It is closed before any process can open it under its name. */
static bool make(const char *path, uint32_t permissions)
{
    char name[PATH_MAX + sizeof NEW_SUFFIX];
    bool made;
    int file;

    (void)weir_text_format(name, sizeof name, "%s" NEW_SUFFIX, path);
    file = mkostemp(name, O_CLOEXEC);
    if (file < 0)
        return make_in_place(path, permissions);
    made = settle(file, permissions) && link(name, path) == 0;
    (void)unlink(name);
    return made || make_in_place(path, permissions);
}

bool weir_sqlite_create(const char *path, uint32_t permissions)
{
    char real[PATH_MAX];

    if (strlen(path) >= sizeof real || !is_missing(path))
        return false;
    (void)weir_text_format(real, sizeof real, "%s", path);
    for (int i = 0; i < LINKS_MAX && follow(real); i++)
        continue;
    return make(real, permissions);
}
