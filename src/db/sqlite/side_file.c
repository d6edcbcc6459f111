/*
 * side_file.c - see sqlite/side_file.h.
 */
#include "db/sqlite/side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/permissions.h"
#include "base/text.h"

#define SUFFIX "-weir"

/* A link is not followed, and a fifo in its place not waited for. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

char *weir_side_file_path(const struct weir_heap *heap, const char *database)
{
    size_t size = strlen(database) + sizeof SUFFIX;
    char *path = weir_heap_alloc(heap, size);

    if (path != NULL)
        (void)weir_text_format(path, size, "%s" SUFFIX, database);
    return path;
}

/* Users of the database may use it, as with SQLite's own files. */
static mode_t permissions_beside(const char *path)
{
    struct stat database;
    char name[4096];
    size_t size = strlen(path) - strlen(SUFFIX);

    if (size >= sizeof name)
        return WEIR_PERMISSIONS_OWNER;
    memcpy(name, path, size);
    name[size] = '\0';
    if (stat(name, &database) != 0)
        return WEIR_PERMISSIONS_OWNER;
    return database.st_mode & 0666;
}

int weir_side_file_open(const char *path)
{
    int file = open(path, OPEN_FLAGS | O_RDWR);
    mode_t mode;

    if (file >= 0 || errno != ENOENT)
        return file;
    mode = permissions_beside(path);
    file = open(path, OPEN_FLAGS | O_RDWR | O_CREAT | O_EXCL, mode);
    if (file >= 0)
        (void)fchmod(file, mode); /* whatever the umask */
    else if (errno == EEXIST)     /* another process was faster */
        file = open(path, OPEN_FLAGS | O_RDWR);
    return file;
}

void weir_side_file_touch(const char *path)
{
    int file = open(path, OPEN_FLAGS | O_WRONLY);

    if (file >= 0)
        (void)close(file);
}
