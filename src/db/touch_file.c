/*
 * touch_file.c - see touch_file.h.
 */
#include "db/touch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/codec/hex.h"
#include "base/md5.h"
#include "base/noun.h"

/* A link is not followed, and a fifo or a terminal in its place not waited
 * for. */
#define OPEN_FLAGS (O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

enum { FILE_MODE = 0666 };

enum weir_status weir_touch_file_check(const char *folder, struct weir_error *error)
{
    struct stat found;

    if (strlen(folder) > WEIR_TOUCH_FILE_FOLDER_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "database URL: option signal has %zu %s, must have up "
                              "to %d",
                              strlen(folder), WEIR_NOUN(strlen(folder), "byte", "bytes"),
                              WEIR_TOUCH_FILE_FOLDER_MAX);
    if (stat(folder, &found) != 0)
        return weir_error_set(error, WEIR_INVALID,
                              "database URL: option signal: folder \"%.200s\" cannot be "
                              "found (errno %d)",
                              folder, errno);
    if (!S_ISDIR(found.st_mode))
        return weir_error_set(error, WEIR_INVALID,
                              "database URL: option signal: \"%.200s\" is not a folder",
                              folder);
    return WEIR_OK;
}

/* It is the same in all containers that share it, and gone when the host starts anew. */
#define DEFAULT_FOLDER "/dev/shm"

const char *weir_touch_file_default_folder(void)
{
    struct stat found;

    if (stat(DEFAULT_FOLDER, &found) != 0 || !S_ISDIR(found.st_mode) ||
        access(DEFAULT_FOLDER, W_OK | X_OK) != 0)
        return NULL;
    return DEFAULT_FOLDER;
}

void weir_touch_file_path(const char *folder, const char *database, const char *channel,
                          const char *server, char out[WEIR_TOUCH_FILE_PATH_SIZE])
{
    uint8_t digest[WEIR_MD5_SIZE];
    char name[512];
    int size = snprintf(name, sizeof name, "%s%s%s/%s", server != NULL ? server : "",
                        server != NULL ? "@" : "", database, channel);

    /* A name that is longer than any that a server accepts: what is cut does not
     * matter. */
    WEIR_ASSERT(size > 0);
    weir_md5(name, strlen(name), digest);
    size = snprintf(out, WEIR_TOUCH_FILE_PATH_SIZE, "%.*s/%s", WEIR_TOUCH_FILE_FOLDER_MAX,
                    folder, server != NULL ? WEIR_TOUCH_FILE_HELD : "weir-");
    *weir_hex_write(digest, sizeof digest, out + size) = '\0';
}

/*
 * Two attempts: O_CREAT would be refused for the file of another user in a folder that
 * is open to all users (fs.protected_regular). The mode does not depend on the umask,
 * which is the application's.
 */
static int open_or_make(const char *path)
{
    int file = open(path, OPEN_FLAGS);

    if (file >= 0 || errno != ENOENT)
        return file;
    file = open(path, OPEN_FLAGS | O_CREAT | O_EXCL, FILE_MODE);
    if (file >= 0)
        (void)fchmod(file, FILE_MODE);
    else if (errno == EEXIST) /* another process was faster */
        file = open(path, OPEN_FLAGS);
    return file;
}

enum weir_status weir_touch_file_touch(const char *path, struct stat *out,
                                       struct weir_error *error)
{
    int file = open_or_make(path);
    int code = errno;
    bool known = file >= 0 && (out == NULL || fstat(file, out) == 0);

    if (file >= 0)
        (void)close(file);
    if (!known)
        return weir_error_set(error, WEIR_SYSTEM,
                              "signal: \"%.200s\" cannot be opened (errno %d)", path,
                              code);
    return WEIR_OK;
}

void weir_touch_file_touch_held(const char *path)
{
    int file = open(path, OPEN_FLAGS);

    if (file >= 0)
        (void)close(file);
}
