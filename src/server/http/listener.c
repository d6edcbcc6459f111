/*
 * listener.c - see listener.h.
 *
 * The file of a unix socket never has more permissions than asked for, not even for a
 * moment: Linux makes it with those that the socket itself has. A file that a dead
 * process has left is replaced; one that a process listens at is not.
 */
#include "server/http/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/http/address.h"

enum { BACKLOG = 4096, HOST_SIZE = 128 };

static enum weir_status refuse(struct weir_error *error, const char *address,
                               const char *what, int code)
{
    return weir_error_set(error, code == EADDRINUSE ? WEIR_EXISTS : WEIR_SYSTEM,
                          "listen on %s: %s: %s", address, what, strerror(code));
}

static enum weir_status refuse_text(struct weir_error *error, const char *address,
                                    const char *what)
{
    return weir_error_set(error, WEIR_INVALID, "listen on \"%s\": %s", address, what);
}

/* --- unix ---------------------------------------------------------------------- */

/* Does a process listen there? */
static bool is_alive(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool alive =
        fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                    errno == EAGAIN);

    if (fd >= 0)
        close(fd);
    return alive;
}

/* Only a socket is removed, and only one without a process. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat entry;

    if (lstat(address->sun_path, &entry) == 0 && S_ISSOCK(entry.st_mode) &&
        !is_alive(address))
        unlink(address->sun_path);
}

static int bind_unix(struct weir_http_listener *self, const struct sockaddr_un *address,
                     mode_t mode)
{
    struct stat entry;

    remove_stale(address);
    if (fchmod(self->fd, mode) != 0 ||
        bind(self->fd, (const struct sockaddr *)address, sizeof *address) != 0)
        return errno;
    if (chmod(address->sun_path, mode) != 0 || lstat(address->sun_path, &entry) != 0)
        return errno;
    self->made_file = true;
    self->device = entry.st_dev;
    self->inode = entry.st_ino;
    return listen(self->fd, BACKLOG) == 0 ? 0 : errno;
}

static enum weir_status open_unix(struct weir_http_listener *self, const char *path,
                                  uint32_t mode, struct weir_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int code;

    if (path[0] != '/' || strlen(path) >= sizeof address.sun_path)
        return refuse_text(error, path,
                           "a path that begins with / and has at most 107 "
                           "bytes is needed");
    if (mode > 0777)
        return refuse_text(error, path, "the permissions are no octal number up to 0777");
    memcpy(address.sun_path, path, strlen(path) + 1);
    self->unix_socket = true;
    self->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0)
        return refuse(error, self->address, "socket", errno);
    code = bind_unix(self, &address, mode);
    return code == 0 ? WEIR_OK : refuse(error, self->address, "bind", code);
}

/* --- tcp ----------------------------------------------------------------------- */

/* The address that the system has given, with its port. */
static void read_own_address(struct weir_http_listener *self)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct weir_http_peer peer = {0};

    if (getsockname(self->fd, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_UNIX) {
        self->unix_socket = true;
        return;
    }
    weir_http_address_read(&address, &peer);
    snprintf(self->address, sizeof self->address,
             strchr(peer.address, ':') ? "[%s]:%u" : "%s:%u", peer.address, peer.port);
}

static int bind_tcp(int fd, const struct addrinfo *info)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return errno;
    return 0;
}

static enum weir_status open_resolved(struct weir_http_listener *self,
                                      const struct addrinfo *info,
                                      struct weir_error *error)
{
    int code;

    self->fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0)
        return refuse(error, self->address, "socket", errno);
    code = bind_tcp(self->fd, info);
    if (code != 0)
        return refuse(error, self->address, "bind", code);
    read_own_address(self);
    return WEIR_OK;
}

/* "HOST:PORT" or "[ADDRESS]:PORT". */
static bool split(const char *address, char host[HOST_SIZE], const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t size = colon != NULL ? (size_t)(colon - address) : 0;

    if (size > 1 && address[0] == '[' && address[size - 1] == ']') {
        address++;
        size -= 2;
    } else if (memchr(address, ':', size) != NULL) {
        return false;
    }
    if (size == 0 || size >= HOST_SIZE)
        return false;
    memcpy(host, address, size);
    host[size] = '\0';
    *port = colon + 1;
    return (*port)[0] != '\0' && strspn(*port, "0123456789") == strlen(*port) &&
           strlen(*port) <= 5;
}

static enum weir_status open_tcp(struct weir_http_listener *self, const char *address,
                                 struct weir_error *error)
{
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *info = NULL;
    char host[HOST_SIZE];
    const char *port;
    enum weir_status status;
    int code;

    if (!split(address, host, &port))
        return refuse_text(error, address,
                           "HOST:PORT, [ADDRESS]:PORT or unix:PATH is needed");
    code = getaddrinfo(host, port, &hints, &info);
    if (code != 0)
        return refuse_text(error, address, gai_strerror(code));
    status = open_resolved(self, info, error);
    freeaddrinfo(info);
    return status;
}

/* --- both ---------------------------------------------------------------------- */

static enum weir_status take(struct weir_http_listener *self, struct weir_error *error)
{
    int listens = 0;
    socklen_t size = sizeof listens;

    if (getsockopt(self->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
        return refuse_text(error, self->address, "the descriptor is no listening socket");
    if (fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK) != 0 ||
        fcntl(self->fd, F_SETFD, FD_CLOEXEC) != 0)
        return refuse(error, self->address, "fcntl", errno);
    read_own_address(self);
    return WEIR_OK;
}

enum weir_status weir_http_listener_open(struct weir_http_listener *self,
                                         const struct weir_http_listener_options *options,
                                         struct weir_error *error)
{
    enum weir_status status;

    *self = (struct weir_http_listener){.fd = options->fd, .tls = options->tls};
    snprintf(self->address, sizeof self->address, "%s", options->address);
    if (options->fd >= 0)
        status = take(self, error);
    else if (strncmp(options->address, "unix:", 5) == 0)
        status = open_unix(self, options->address + 5, options->unix_mode, error);
    else
        status = open_tcp(self, options->address, error);
    if (status != WEIR_OK)
        weir_http_listener_close(self);
    return status;
}

void weir_http_listener_close(struct weir_http_listener *self)
{
    const char *path = self->address + 5; /* behind "unix:" */
    struct stat entry;

    if (self->made_file && lstat(path, &entry) == 0 && entry.st_dev == self->device &&
        entry.st_ino == self->inode)
        unlink(path);
    self->made_file = false;
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}
