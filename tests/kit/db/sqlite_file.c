/*
 * sqlite_file.c - see sqlite_file.h.
 */
#include "kit/db/sqlite_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kit/temp_dir.h"
#include "kit/test.h"

static void copy_file(const char *from, const char *to)
{
    static char buffer[1024 * 1024];
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t size;

    check(source >= 0 && target >= 0);
    while ((size = read(source, buffer, sizeof buffer)) > 0)
        check(write(target, buffer, (size_t)size) == size);
    check(size == 0);
    (void)close(source);
    (void)close(target);
}

/* What was not moved into the file yet is part of it. */
void sqlite_file_copy(const char *from, const char *to)
{
    char from_log[TEMP_DIR_SIZE + 32];
    char to_log[TEMP_DIR_SIZE + 32];

    sqlite_file_remove(to);
    copy_file(from, to);
    (void)snprintf(from_log, sizeof from_log, "%s-wal", from);
    (void)snprintf(to_log, sizeof to_log, "%s-wal", to);
    if (access(from_log, F_OK) == 0)
        copy_file(from_log, to_log);
}

void sqlite_file_remove(const char *path)
{
    char name[TEMP_DIR_SIZE + 32];

    (void)unlink(path);
    (void)snprintf(name, sizeof name, "%s-wal", path);
    (void)unlink(name);
    (void)snprintf(name, sizeof name, "%s-shm", path);
    (void)unlink(name);
}
