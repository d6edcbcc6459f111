/*
 * tail.c - see tail.h.
 *
 * The last byte tells whether there is anything to do; only then is the end read
 * backwards, block by block. A crash while cutting leaves a shorter or the same piece,
 * which the next one cuts.
 */
#include "sink/util/tail.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_SIZE = 4096 };

int weir_tail_try_lock(int fd)
{
    int result;

    do
        result = flock(fd, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

void weir_tail_unlock(int fd)
{
    (void)flock(fd, LOCK_UN);
}

/* Read all of it; a file that ends early has become shorter under our hands. */
static int read_at(int fd, char *out, size_t size, int64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, out + done, size - done, offset + (int64_t)done);

        if (got == 0)
            return EIO;
        if (got < 0 && errno != EINTR)
            return errno;
        if (got > 0)
            done += (size_t)got;
    }
    return 0;
}

/* Where the last whole line ends. */
static int find_end(int fd, int64_t size, int64_t *end)
{
    char block[BLOCK_SIZE];
    int64_t from = size;

    *end = 0;
    while (from > 0) {
        size_t count = from < BLOCK_SIZE ? (size_t)from : BLOCK_SIZE;
        const char *newline;
        int number;

        from -= (int64_t)count;
        number = read_at(fd, block, count, from);
        if (number != 0)
            return number;
        newline = memrchr(block, '\n', count);
        if (newline != NULL) {
            *end = from + (newline - block) + 1;
            return 0;
        }
    }
    return 0;
}

int weir_tail_mend(int fd, int64_t *size, int64_t *cut)
{
    struct stat about;
    int64_t end = 0;
    char last = '\n';
    int number = fstat(fd, &about) == 0 ? 0 : errno;

    *cut = 0;
    if (number == 0 && about.st_size > 0)
        number = read_at(fd, &last, 1, about.st_size - 1);
    if (number != 0)
        return number;
    *size = about.st_size;
    if (last == '\n')
        return 0;
    number = find_end(fd, about.st_size, &end);
    if (number == 0 && ftruncate(fd, end) != 0)
        number = errno;
    if (number != 0)
        return number;
    *size = end;
    *cut = about.st_size - end;
    return 0;
}
