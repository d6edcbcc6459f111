/*
 * address.c - see address.h.
 */
#include "server/config/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/literal/number.h"
#include "base/quote.h"
#include "base/text.h"

enum { HOST_SIZE = 256, PORT_MAX = 65535 };

static const char LETTERS[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

static enum weir_status refuse(struct weir_error *error, const char *text,
                               const char *sentence)
{
    struct weir_quote shown;

    return weir_error_set(error, WEIR_INVALID, "\"%s\" %s", weir_quote(&shown, text),
                          sentence);
}

/* ---- hosts ------------------------------------------------------------------------- */

static bool is_v4(const char *host, struct in_addr *out)
{
    return inet_pton(AF_INET, host, out) == 1;
}

static bool is_v6(const char *host, struct in6_addr *out)
{
    return inet_pton(AF_INET6, host, out) == 1;
}

/* A name of the DNS, or an address of four numbers. */
static bool is_host(const char *host)
{
    struct in_addr unused;

    if (host[0] == '\0' || host[strspn(host, LETTERS)] != '\0' || host[0] == '-' ||
        host[0] == '.')
        return false;
    return host[strspn(host, "0123456789.")] != '\0' || is_v4(host, &unused);
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (is_v4(host, &v4))
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    if (!is_v6(host, &v6))
        return strcmp(host, "localhost") == 0;
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
}

static bool read_port(const char *text, uint16_t *out)
{
    int64_t port = 0;

    if (!weir_number_parse(text, &port) || port > PORT_MAX)
        return false;
    *out = (uint16_t)port;
    return true;
}

/* ---- listeners --------------------------------------------------------------------- */

static enum weir_status read_unix(const char *text, const char *path,
                                  struct weir_config_listener *out,
                                  struct weir_error *error)
{
    if (path[0] != '/')
        return refuse(error, text, "has no path that begins with /");
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return refuse(error, text, "is too long for the path of a socket");
    out->kind = WEIR_LISTENER_UNIX;
    out->address = path;
    return WEIR_OK;
}

static enum weir_status read_systemd(const char *text, const char *name,
                                     struct weir_config_listener *out,
                                     struct weir_error *error)
{
    if (name[0] == '\0' || strchr(name, ':') != NULL)
        return refuse(error, text, "has no name of a socket; see FileDescriptorName=");
    out->kind = WEIR_LISTENER_SYSTEMD;
    out->address = name;
    return WEIR_OK;
}

/* The host without its brackets; false: the brackets do not fit. */
static bool cut_host(char *host)
{
    size_t size = strlen(host);
    struct in6_addr unused;

    if (host[0] != '[')
        return is_host(host);
    if (size < 2 || host[size - 1] != ']')
        return false;
    memmove(host, host + 1, size - 2);
    host[size - 2] = '\0';
    return is_v6(host, &unused);
}

static enum weir_status refuse_portless(const char *text, struct weir_error *error)
{
    struct weir_quote shown;

    weir_quote(&shown, text);
    return weir_error_set(error, WEIR_INVALID, "\"%s\" has no port; write %s:9347",
                          shown.text, shown.text);
}

static enum weir_status read_tcp(struct weir_arena *arena, const char *text,
                                 struct weir_config_listener *out,
                                 struct weir_error *error)
{
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    char host[HOST_SIZE];

    if (colon == NULL || colon < bracket)
        return refuse_portless(text, error);
    if (!read_port(colon + 1, &out->port))
        return refuse(error, text, "has no port from 0 to 65535 at its end");
    if ((size_t)(colon - text) >= sizeof host)
        return refuse(error, text, "is too long");
    weir_text_format(host, sizeof host, "%.*s", (int)(colon - text), text);
    if (!cut_host(host))
        return refuse(error, text,
                      "has no address; write HOST:PORT, [V6]:PORT, unix:PATH or "
                      "systemd:NAME");
    out->kind = WEIR_LISTENER_TCP;
    out->is_public = !is_loopback(host);
    out->address = weir_arena_copy_text(arena, host);
    return out->address != NULL ? WEIR_OK
                                : weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
}

enum weir_status weir_address_read_listener(struct weir_arena *arena, const char *text,
                                            struct weir_config_listener *out,
                                            struct weir_error *error)
{
    static const char UNIX[] = "unix:";
    static const char SYSTEMD[] = "systemd:";

    *out = (struct weir_config_listener){.text = text};
    if (strncmp(text, UNIX, strlen(UNIX)) == 0)
        return read_unix(text, text + strlen(UNIX), out, error);
    if (strncmp(text, SYSTEMD, strlen(SYSTEMD)) == 0)
        return read_systemd(text, text + strlen(SYSTEMD), out, error);
    return read_tcp(arena, text, out, error);
}
