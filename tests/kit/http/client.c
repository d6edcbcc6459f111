/*
 * client.c - see client.h.
 */
#include "kit/http/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit/test.h"

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(fd >= 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_tcp(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    uint16_t port = htons((uint16_t)atoi(strrchr(text, ':') + 1));
    bool six = text[0] == '[';
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1, code;

    check(fd >= 0);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4.sin_port = v6.sin6_port = port;
    if (six)
        code = connect(fd, (struct sockaddr *)&v6, sizeof v6);
    else
        code = connect(fd, (struct sockaddr *)&v4, sizeof v4);
    if (code == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    close(fd);
    return -1;
}

bool http_try_connect(struct http_client *self, const char *address)
{
    *self = (struct http_client){.fd = -1};
    if (strncmp(address, "unix:", 5) == 0)
        self->fd = connect_unix(address + 5);
    else
        self->fd = connect_tcp(address);
    return self->fd >= 0;
}

void http_connect(struct http_client *self, const char *address)
{
    check(http_try_connect(self, address));
}

void http_close(struct http_client *self)
{
    SSL_free(self->ssl);
    if (self->fd >= 0)
        close(self->fd);
    free(self->data);
    *self = (struct http_client){.fd = -1};
}

void http_reset(struct http_client *self)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(self->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    http_close(self);
}

void http_half_close(struct http_client *self)
{
    check_int(shutdown(self->fd, SHUT_WR), 0);
}

bool http_try_send(struct http_client *self, const void *bytes, size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t done = self->ssl != NULL ? SSL_write(self->ssl, from, (int)size)
                                         : send(self->fd, from, size, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        from += done;
        size -= (size_t)done;
    }
    return true;
}

void http_send(struct http_client *self, const char *text)
{
    check(http_try_send(self, text, strlen(text)));
}

static void reserve(struct http_client *self, size_t size)
{
    if (self->capacity >= size)
        return;
    self->capacity = size * 2;
    self->data = realloc(self->data, self->capacity);
    check(self->data != NULL);
}

/* More bytes, or the end. A reset is an end. */
static void receive_more(struct http_client *self)
{
    struct pollfd ready = {.fd = self->fd, .events = POLLIN};
    ssize_t got;

    reserve(self, self->size + 65536);
    if (self->ssl == NULL || SSL_pending(self->ssl) == 0)
        check(poll(&ready, 1, HTTP_WAIT_MS) == 1);
    got = self->ssl != NULL ? SSL_read(self->ssl, self->data + self->size, 65536)
                            : recv(self->fd, self->data + self->size, 65536, 0);
    if (got <= 0)
        self->ended = true;
    else
        self->size += (size_t)got;
}

void http_fill(struct http_client *self, size_t size)
{
    while (self->size < size && !self->ended)
        receive_more(self);
}

static void forget(struct http_client *self, size_t size)
{
    memmove(self->data, self->data + size, self->size - size);
    self->size -= size;
}

/* The size of the text up to and with `end`, which must come. */
static size_t fill_to(struct http_client *self, size_t from, const char *end)
{
    for (;;) {
        char *at = self->size > from
                       ? memmem(self->data + from, self->size - from, end, strlen(end))
                       : NULL;

        if (at != NULL)
            return (size_t)(at - self->data) + strlen(end);
        check(!self->ended);
        receive_more(self);
    }
}

const char *http_header(const struct http_reply *reply, const char *name)
{
    static _Thread_local char value[1024];
    const char *line = strstr(reply->head, "\r\n");
    size_t size = strlen(name);

    for (; line != NULL && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *end = strstr(line + 2, "\r\n");

        if (strncasecmp(line + 2, name, size) != 0 || line[2 + size] != ':')
            continue;
        line += 2 + size + 2;
        snprintf(value, sizeof value, "%.*s", (int)(end - line), line);
        return value;
    }
    return NULL;
}

static void add_body(struct http_reply *reply, const char *bytes, size_t size)
{
    reply->body = realloc(reply->body, reply->body_size + size + 1);
    check(reply->body != NULL);
    memcpy(reply->body + reply->body_size, bytes, size);
    reply->body_size += size;
    reply->body[reply->body_size] = '\0';
}

static void take_body(struct http_client *self, struct http_reply *reply, size_t size)
{
    http_fill(self, size);
    check(self->size >= size);
    add_body(reply, self->data, size);
    forget(self, size);
}

static void take_chunks(struct http_client *self, struct http_reply *reply)
{
    for (;;) {
        size_t line = fill_to(self, 0, "\r\n");
        size_t size = strtoul(self->data, NULL, 16);

        forget(self, line);
        if (size > 0)
            take_body(self, reply, size);
        http_fill(self, 2);
        check(self->size >= 2 && memcmp(self->data, "\r\n", 2) == 0);
        forget(self, 2);
        if (size == 0)
            return;
    }
}

static void take_rest(struct http_client *self, struct http_reply *reply)
{
    while (!self->ended)
        receive_more(self);
    add_body(reply, self->data, self->size);
    forget(self, self->size);
}

bool http_receive_to(struct http_client *self, const char *method,
                     struct http_reply *reply)
{
    const char *length;
    size_t head;

    *reply = (struct http_reply){0};
    http_fill(self, 1);
    if (self->size == 0)
        return false;
    head = fill_to(self, 0, "\r\n\r\n");
    check(strncmp(self->data, "HTTP/1.1 ", 9) == 0);
    reply->status = atoi(self->data + 9);
    reply->head = strndup(self->data, head);
    forget(self, head);
    add_body(reply, "", 0);
    length = http_header(reply, "Content-Length");
    if (strcmp(method, "HEAD") == 0 || reply->status == 204 || reply->status < 200)
        return true;
    if (length != NULL)
        take_body(self, reply, strtoul(length, NULL, 10));
    else if (http_header(reply, "Transfer-Encoding") != NULL)
        take_chunks(self, reply);
    else
        take_rest(self, reply);
    return true;
}

bool http_receive(struct http_client *self, struct http_reply *reply)
{
    return http_receive_to(self, "GET", reply);
}

void http_reply_fini(struct http_reply *self)
{
    free(self->head);
    free(self->body);
    *self = (struct http_reply){0};
}

const char *http_ask(struct http_client *self, const char *request, int status)
{
    static _Thread_local char body[65536];
    struct http_reply reply;

    http_send(self, request);
    check(http_receive(self, &reply));
    snprintf(body, sizeof body, "%s", reply.body);
    check_int(reply.status, status);
    http_reply_fini(&reply);
    return body;
}

void http_check_closed(struct http_client *self)
{
    http_fill(self, 1);
    check_int(self->size, 0);
    check(self->ended);
}
