/*
 * tcp_proxy.c - see tcp_proxy.h. One thread polls all sockets and copies from one to
 * the other.
 */
#include "kit/server/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/test.h"

enum { CALLS_MAX = 64, BUFFER_SIZE = 64 * 1024 };

enum end { CLIENT, SERVER };

struct call {
    int sockets[2]; /* by enum end; -1: there is no call */
};

struct tcp_proxy {
    _Atomic uint16_t server_port;
    uint16_t port;
    int listener;
    int stop[2]; /* a pipe: closing the second ends the thread */
    pthread_t thread;
    _Atomic int mode;
    struct call calls[CALLS_MAX]; /* the thread's */
};

static void *carry(void *argument);
static void take_call(struct tcp_proxy *self);
static void hang_up(struct call *call);
static void hand_on(struct tcp_proxy *self, struct call *call, enum end from);

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

struct tcp_proxy *tcp_proxy_open(uint16_t server_port)
{
    struct tcp_proxy *self = calloc(1, sizeof *self);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;

    check(self != NULL);
    self->server_port = server_port;
    for (int i = 0; i < CALLS_MAX; i++)
        self->calls[i] = (struct call){{-1, -1}};
    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(self->listener >= 0);
    check_int(bind(self->listener, (struct sockaddr *)&address, size), 0);
    check_int(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    self->port = ntohs(address.sin_port);
    check_int(listen(self->listener, CALLS_MAX), 0);
    check_int(pipe(self->stop), 0);
    check_int(pthread_create(&self->thread, NULL, carry, self), 0);
    return self;
}

void tcp_proxy_close(struct tcp_proxy *self)
{
    close(self->stop[1]);
    pthread_join(self->thread, NULL);
    close(self->stop[0]);
    close(self->listener);
    for (int i = 0; i < CALLS_MAX; i++)
        hang_up(&self->calls[i]);
    free(self);
}

uint16_t tcp_proxy_port(const struct tcp_proxy *self)
{
    return self->port;
}

void tcp_proxy_set_mode(struct tcp_proxy *self, enum tcp_proxy_mode mode)
{
    self->mode = mode;
}

void tcp_proxy_lead_to(struct tcp_proxy *self, uint16_t server_port)
{
    self->server_port = server_port;
}

static void *carry(void *argument)
{
    struct tcp_proxy *self = argument;

    for (;;) {
        struct pollfd polled[2 + CALLS_MAX * 2] = {
            {.fd = self->stop[0], .events = POLLIN},
            {.fd = self->listener, .events = POLLIN},
        };

        for (int i = 0; i < CALLS_MAX * 2; i++)
            polled[2 + i] = (struct pollfd){.fd = self->mode == TCP_PROXY_SWALLOWS
                                                      ? -1
                                                      : self->calls[i / 2].sockets[i % 2],
                                            .events = POLLIN};
        if (poll(polled, 2 + CALLS_MAX * 2, -1) < 0)
            continue;
        if (polled[0].revents != 0)
            return NULL;
        for (int i = 0; i < CALLS_MAX * 2; i++)
            if (polled[2 + i].revents != 0 && self->mode != TCP_PROXY_SWALLOWS &&
                self->calls[i / 2].sockets[i % 2] >= 0)
                hand_on(self, &self->calls[i / 2], (enum end)(i % 2));
        if (polled[1].revents != 0)
            take_call(self);
    }
}

static void take_call(struct tcp_proxy *self)
{
    struct sockaddr_in address = loopback(self->server_port);
    struct call call = {{accept(self->listener, NULL, NULL),
                         socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}};
    int one = 1;

    if (call.sockets[CLIENT] >= 0 && call.sockets[SERVER] >= 0 &&
        connect(call.sockets[SERVER], (struct sockaddr *)&address, sizeof address) == 0) {
        for (int i = 0; i < 2; i++)
            setsockopt(call.sockets[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        for (int i = 0; i < CALLS_MAX; i++)
            if (self->calls[i].sockets[CLIENT] < 0) {
                self->calls[i] = call;
                return;
            }
    }
    hang_up(&call);
}

static void hang_up(struct call *call)
{
    for (int i = 0; i < 2; i++)
        if (call->sockets[i] >= 0)
            close(call->sockets[i]);
    *call = (struct call){{-1, -1}};
}

static bool send_all(int out, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(out, bytes, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void hand_on(struct tcp_proxy *self, struct call *call, enum end from)
{
    enum tcp_proxy_mode lost =
        from == CLIENT ? TCP_PROXY_LOSES_NEXT_REQUEST : TCP_PROXY_LOSES_NEXT_ANSWER;
    char buffer[BUFFER_SIZE];
    ssize_t size = recv(call->sockets[from], buffer, sizeof buffer, 0);
    int expected = (int)lost;

    if (size <= 0 ||
        atomic_compare_exchange_strong(&self->mode, &expected, TCP_PROXY_CARRIES) ||
        !send_all(call->sockets[from == CLIENT ? SERVER : CLIENT], buffer, (size_t)size))
        hang_up(call);
}
