/*
 * file.c - see file.h.
 *
 * The file is opened once and asked by its descriptor: what is checked is what is read.
 * A pipe would block a reload, so only regular files are read.
 */
#include "server/config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "server/config/layer.h"
#include "server/config/state.h"

enum { PATH_SIZE = 4096, OTHERS = 0006 };

static enum weir_status refuse(struct weir_error *error, int number)
{
    enum weir_status status = number == ENOENT   ? WEIR_NOT_FOUND
                              : number == EACCES ? WEIR_DENIED
                                                 : WEIR_SYSTEM;

    return weir_error_set(error, status, "cannot be read: %s", strerror(number));
}

static enum weir_status check(int file, const struct weir_config_file_rules *rules,
                              struct weir_error *error)
{
    struct stat found;

    if (fstat(file, &found) != 0)
        return refuse(error, errno);
    if (!S_ISREG(found.st_mode))
        return weir_error_set(error, WEIR_INVALID, "is no regular file");
    if (rules->guarded && (found.st_mode & OTHERS) != 0)
        return weir_error_set(error, WEIR_INVALID,
                              "has permissions %#o: other users may read or write it; "
                              "chmod o-rw",
                              (unsigned)(found.st_mode & 07777));
    return WEIR_OK;
}

/* Up to `size` bytes; -1: errno. */
static ssize_t read_all(int file, char *out, size_t size)
{
    size_t used = 0;

    while (used < size) {
        ssize_t got = read(file, out + used, size - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

static size_t room_for(int file, size_t size_max)
{
    struct stat found;

    /* One more than allowed, to see that it is too large; and the zero. */
    if (fstat(file, &found) != 0 || found.st_size < 0 ||
        (uint64_t)found.st_size > size_max)
        return size_max + 2;
    return (size_t)found.st_size + 2;
}

static enum weir_status read_open(struct weir_config_state *state, int file,
                                  const struct weir_config_file_rules *rules,
                                  struct weir_bytes *out, struct weir_error *error)
{
    size_t room = room_for(file, rules->size_max);
    char *bytes = weir_arena_alloc(&state->arena, room);
    ssize_t size;

    if (bytes == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    if (rules->secret && !weir_config_state_guard(state, bytes, room))
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    size = read_all(file, bytes, room - 1);
    if (size < 0)
        return refuse(error, errno);
    if ((size_t)size > rules->size_max)
        return weir_error_set(error, WEIR_INVALID, "has more than %zu bytes",
                              rules->size_max);
    if ((size_t)size == room - 1)
        return weir_error_set(error, WEIR_INVALID, "has changed while it was read");
    bytes[size] = '\0';
    *out = (struct weir_bytes){bytes, (size_t)size};
    return WEIR_OK;
}

enum weir_status weir_config_file_read(struct weir_config_state *state, const char *path,
                                       const struct weir_config_file_rules *rules,
                                       struct weir_bytes *out, struct weir_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum weir_status status;

    *out = (struct weir_bytes){NULL, 0};
    if (file < 0)
        return refuse(error, errno);
    status = check(file, rules, error);
    if (status == WEIR_OK)
        status = read_open(state, file, rules, out, error);
    close(file);
    return status;
}

static bool is_credential(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

enum weir_status weir_config_file_path(struct weir_config_loading *loading,
                                       const char *text, const char **out,
                                       struct weir_error *error)
{
    static const char SCHEME[] = "credential:";
    const char *folder = weir_config_variable(loading, "CREDENTIALS_DIRECTORY");
    const char *name = text + strlen(SCHEME);
    char path[PATH_SIZE];

    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0) {
        *out = text;
        return WEIR_OK;
    }
    if (!is_credential(name))
        return weir_error_set(error, WEIR_INVALID, "names no credential");
    if (folder == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "cannot be found: CREDENTIALS_DIRECTORY is not set; see "
                              "LoadCredential= of systemd");
    weir_text_format(path, sizeof path, "%s/%s", folder, name);
    *out = weir_arena_copy_text(&loading->state->arena, path);
    return *out != NULL ? WEIR_OK
                        : weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
}
