/*
 * systemd.c - see systemd.h, and sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3).
 *
 * Variables with another process id were meant for a parent of this process, and are as
 * if they were not there.
 */
#include "server/systemd/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/literal/number.h"
#include "base/text.h"

enum { FIRST_SOCKET = 3, TEXT_SIZE = 512, SEND_TIMEOUT_S = 1 };

/* NULL: not set, or empty. */
static const char *variable(const struct weir_systemd_options *options, const char *name)
{
    size_t size = strlen(name);

    for (const char *const *at = options->environment; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return (*at)[size + 1] != '\0' ? *at + size + 1 : NULL;
    }
    return NULL;
}

static enum weir_status refuse(struct weir_error *error, const char *name)
{
    return weir_error_set(error, WEIR_INVALID, "%s is not what systemd writes there",
                          name);
}

/* Is the process id in `name` that of this process? `absent` is the answer without it. */
static bool is_ours(const struct weir_systemd_options *options, const char *name,
                    bool absent)
{
    const char *text = variable(options, name);
    int64_t pid = 0;

    if (text == NULL)
        return absent;
    return weir_number_parse(text, &pid) && pid == options->pid;
}

/* ---- opening ----------------------------------------------------------------------- */

/* The address of NOTIFY_SOCKET: a path, or with @ a name without a file. */
static bool read_address(struct weir_systemd *self, const char *text)
{
    size_t size = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || size < 2 ||
        size >= sizeof self->address.sun_path)
        return false;
    self->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(self->address.sun_path, text, size);
    if (text[0] == '@')
        self->address.sun_path[0] = '\0';
    self->address_size = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + size +
                                    (text[0] == '/')); /* a path ends in a zero */
    return true;
}

static enum weir_status open_notify(struct weir_systemd *self,
                                    const struct weir_systemd_options *options,
                                    struct weir_error *error)
{
    const char *text = variable(options, "NOTIFY_SOCKET");
    const struct timeval timeout = {.tv_sec = SEND_TIMEOUT_S};

    if (text == NULL)
        return WEIR_OK;
    if (!read_address(self, text))
        return refuse(error, "NOTIFY_SOCKET");
    self->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (self->notify < 0 ||
        setsockopt(self->notify, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0)
        return weir_error_set(error, WEIR_SYSTEM, "socket of systemd: %s",
                              strerror(errno));
    return WEIR_OK;
}

static enum weir_status read_watchdog(struct weir_systemd *self,
                                      const struct weir_systemd_options *options,
                                      struct weir_error *error)
{
    const char *text = variable(options, "WATCHDOG_USEC");

    if (text == NULL || !is_ours(options, "WATCHDOG_PID", true))
        return WEIR_OK;
    if (!weir_number_parse(text, &self->watchdog_us) || self->watchdog_us == 0)
        return refuse(error, "WATCHDOG_USEC");
    return WEIR_OK;
}

/* One of the names with colons between them; *text moves on. "": there is none. */
static bool cut_name(const char **text, char *out)
{
    size_t size = strcspn(*text, ":");

    if (size >= WEIR_SYSTEMD_NAME_SIZE)
        return false;
    memcpy(out, *text, size);
    out[size] = '\0';
    *text += size + ((*text)[size] == ':');
    return true;
}

static enum weir_status adopt_socket(struct weir_systemd *self, int descriptor,
                                     const char **names, struct weir_error *error)
{
    struct weir_systemd_socket *adopted = &self->sockets[self->socket_count];
    int flags = fcntl(descriptor, F_GETFD);

    if (flags < 0 || fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) != 0)
        return weir_error_set(error, WEIR_INVALID,
                              "LISTEN_FDS: descriptor %d is not open", descriptor);
    if (!cut_name(names, adopted->name))
        return refuse(error, "LISTEN_FDNAMES");
    adopted->descriptor = descriptor;
    self->socket_count++;
    return WEIR_OK;
}

static enum weir_status adopt_sockets(struct weir_systemd *self,
                                      const struct weir_systemd_options *options,
                                      struct weir_error *error)
{
    const char *text = variable(options, "LISTEN_FDS");
    const char *names = variable(options, "LISTEN_FDNAMES");
    int first = options->first_socket > 0 ? options->first_socket : FIRST_SOCKET;
    enum weir_status status = WEIR_OK;
    int64_t count = 0;

    if (text == NULL || !is_ours(options, "LISTEN_PID", false))
        return WEIR_OK;
    if (!weir_number_parse(text, &count))
        return refuse(error, "LISTEN_FDS");
    if (count > WEIR_SYSTEMD_SOCKETS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "LISTEN_FDS is %" PRId64 ", must be at most %d", count,
                              WEIR_SYSTEMD_SOCKETS_MAX);
    names = names != NULL ? names : "";
    for (int i = 0; i < (int)count && status == WEIR_OK; i++)
        status = adopt_socket(self, first + i, &names, error);
    return status;
}

enum weir_status weir_systemd_open(struct weir_systemd *self,
                                   const struct weir_systemd_options *options,
                                   struct weir_error *error)
{
    enum weir_status status;

    *self = (struct weir_systemd){.notify = -1};
    status = open_notify(self, options, error);
    if (status == WEIR_OK)
        status = read_watchdog(self, options, error);
    if (status == WEIR_OK)
        status = adopt_sockets(self, options, error);
    return status;
}

void weir_systemd_close(struct weir_systemd *self)
{
    for (size_t i = 0; i < self->socket_count; i++) {
        if (self->sockets[i].descriptor >= 0)
            close(self->sockets[i].descriptor);
    }
    self->socket_count = 0;
    if (self->notify >= 0)
        close(self->notify);
    self->notify = -1;
}

/* ---- sockets ----------------------------------------------------------------------- */

static bool has_option(int descriptor, int option, int wanted)
{
    int value = 0;
    socklen_t size = sizeof value;

    return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 &&
           value == wanted;
}

enum weir_status weir_systemd_take_socket(struct weir_systemd *self, const char *name,
                                          int *out, struct weir_error *error)
{
    *out = -1;
    for (size_t i = 0; i < self->socket_count; i++) {
        struct weir_systemd_socket *taken = &self->sockets[i];

        if (taken->descriptor < 0 || strcmp(taken->name, name) != 0)
            continue;
        if (!has_option(taken->descriptor, SO_TYPE, SOCK_STREAM) ||
            !has_option(taken->descriptor, SO_ACCEPTCONN, 1))
            return weir_error_set(error, WEIR_INVALID,
                                  "systemd:%s is no stream socket that listens; see "
                                  "ListenStream= and Accept=no",
                                  name);
        *out = taken->descriptor;
        taken->descriptor = -1;
        return WEIR_OK;
    }
    return weir_error_set(error, WEIR_NOT_FOUND,
                          "systemd:%s: systemd has passed no socket of this name", name);
}

const char *weir_systemd_unused(const struct weir_systemd *self)
{
    for (size_t i = 0; i < self->socket_count; i++) {
        if (self->sockets[i].descriptor >= 0)
            return self->sockets[i].name;
    }
    return NULL;
}

static bool is_loopback_v6(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

bool weir_systemd_is_public(int descriptor)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } address;
    socklen_t size = sizeof address;

    if (getsockname(descriptor, &address.any, &size) != 0)
        return true;
    switch (address.any.sa_family) {
    case AF_UNIX:
        return false;
    case AF_INET:
        return ntohl(address.v4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
    case AF_INET6:
        return !is_loopback_v6(&address.v6.sin6_addr);
    default:
        return true;
    }
}

/* ---- notifications ----------------------------------------------------------------- */

static enum weir_status send_text(const struct weir_systemd *self, const char *text,
                                  struct weir_error *error)
{
    const struct sockaddr *address = (const struct sockaddr *)&self->address;
    ssize_t sent;

    if (self->notify < 0)
        return WEIR_OK;
    do
        sent = sendto(self->notify, text, strlen(text), MSG_NOSIGNAL, address,
                      self->address_size);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? WEIR_OK
                     : weir_error_set(error, WEIR_SYSTEM, "notify systemd: %s",
                                      strerror(errno));
}

/* A state, and a text in one line. */
static enum weir_status send_state(const struct weir_systemd *self, const char *state,
                                   const char *text, struct weir_error *error)
{
    char message[TEXT_SIZE];

    weir_text_format(message, sizeof message, "%s%s%s", state,
                     text != NULL ? "\nSTATUS=" : "", text != NULL ? text : "");
    for (char *at = message + strlen(state) + 1; text != NULL && *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    return send_text(self, message, error);
}

enum weir_status weir_systemd_notify_ready(const struct weir_systemd *self,
                                           const char *text, struct weir_error *error)
{
    return send_state(self, "READY=1", text, error);
}

enum weir_status weir_systemd_notify_reloading(const struct weir_systemd *self,
                                               int64_t monotonic_us,
                                               struct weir_error *error)
{
    char message[TEXT_SIZE];

    weir_text_format(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                     monotonic_us);
    return send_text(self, message, error);
}

enum weir_status weir_systemd_notify_stopping(const struct weir_systemd *self,
                                              const char *text, struct weir_error *error)
{
    return send_state(self, "STOPPING=1", text, error);
}

enum weir_status weir_systemd_notify_extend(const struct weir_systemd *self,
                                            int64_t longer_us, struct weir_error *error)
{
    char message[TEXT_SIZE];

    weir_text_format(message, sizeof message, "EXTEND_TIMEOUT_USEC=%" PRId64, longer_us);
    return send_text(self, message, error);
}

enum weir_status weir_systemd_notify_watchdog(const struct weir_systemd *self,
                                              struct weir_error *error)
{
    return send_text(self, "WATCHDOG=1", error);
}

int64_t weir_systemd_watchdog_ns(const struct weir_systemd *self)
{
    return self->watchdog_us > INT64_MAX / 1000 ? INT64_MAX / 2
                                                : self->watchdog_us * 1000 / 2;
}
