/*
 * loop.c - see loop.h.
 *
 * All loops watch all listeners, and the system wakes one of them for each connection.
 * Nothing that happens in a turn frees a connection other than the one that is handled,
 * so the events of one wait stay valid; exchanges are freed only where the loop has
 * taken them out of all its lists.
 */
#include "server/http/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/random.h"
#include "server/http/address.h"
#include "server/http/connection.h"
#include "server/http/server_parts.h"
#include "ward/system.h"
#include "weir/time.h"

enum {
    EVENTS_MAX = 128,
    ACCEPTS_MAX = 32, /* of one listener in one turn */
    REFUSED_MAX = 128 /* connections over the limit that are told so */
};
static const int64_t TURN_NS = 1000000000;          /* the longest wait */
static const int64_t ACCEPT_PAUSE_NS = 100000000;   /* without descriptors or memory */
static const int64_t WARNING_PAUSE_NS = 5000000000; /* between two of the same */

static void accept_again(struct weir_timer *timer);

enum weir_status weir_http_loop_init(struct weir_http_loop *self,
                                     struct weir_http_server *server)
{
    enum weir_status status;

    *self = (struct weir_http_loop){
        .epoll = -1,
        .signal = -1,
        .spare = -1,
        .limits = server->limits,
    };
    weir_list_init(&self->connections);
    weir_list_init(&self->again);
    weir_list_init(&self->exchanges);
    weir_list_init(&self->inbox);
    weir_timers_init(&self->timers);
    weir_timer_init(&self->accept_timer, accept_again);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK)
        return status;
    self->server = server; /* from here on there is something to undo */
    self->next_id = weir_system_random();
    self->now_ns = weir_system_now_ns();
    atomic_init(&self->last_run_ns, self->now_ns);
    self->input = weir_heap_alloc(server->heap, sizeof *self->input);
    self->parse = weir_heap_alloc(server->heap, sizeof *self->parse);
    if (self->input == NULL || self->parse == NULL)
        return WEIR_NO_MEMORY;
    self->input->start = self->input->end = 0;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return self->epoll >= 0 && self->signal >= 0 ? WEIR_OK : WEIR_SYSTEM;
}

void weir_http_loop_signal(struct weir_http_loop *self)
{
    uint64_t one = 1;

    (void)!write(self->signal, &one, sizeof one);
}

void weir_http_loop_make_id(struct weir_http_loop *self,
                            char out[WEIR_HTTP_REQUEST_ID_SIZE])
{
    uint64_t bits = weir_mix_u64(self->next_id++);

    for (int i = 15; i >= 0; i--, bits >>= 4)
        out[i] = "0123456789abcdef"[bits & 15];
    out[16] = '\0';
}

/* --- listeners ----------------------------------------------------------------- */

static void watch_listeners(struct weir_http_loop *self, bool on)
{
    struct weir_http_server *server = self->server;

    for (uint32_t i = 0; i < server->listener_count; i++) {
        struct epoll_event event = {
            .events = EPOLLIN | EPOLLEXCLUSIVE,
            .data.ptr = &server->listeners[i],
        };

        (void)epoll_ctl(self->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                        server->listeners[i].fd, &event);
    }
    self->accepts = on;
}

static void accept_again(struct weir_timer *timer)
{
    struct weir_http_loop *self =
        WEIR_CONTAINER_OF(timer, struct weir_http_loop, accept_timer);

    if (!self->accepts && !self->stops)
        watch_listeners(self, true);
}

static void warn(struct weir_http_loop *self, const char *event, int code)
{
    if (self->warned_ns != 0 && self->now_ns - self->warned_ns < WARNING_PAUSE_NS)
        return;
    self->warned_ns = self->now_ns;
    weir_log_event(self->server->log, WEIR_LOG_WARNING, event, "error=\"%s\"",
                   strerror(code));
}

/* Without a descriptor the connection would stay in the backlog, and the listener ready
 * for ever. The spare one is given up, the client is turned away, and then accepting
 * rests for a moment. */
static void turn_away(struct weir_http_loop *self, struct weir_http_listener *listener,
                      int code)
{
    int fd;

    warn(self, "http.accept_failed", code);
    if ((code == EMFILE || code == ENFILE) && self->spare >= 0) {
        close(self->spare);
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            static const char answer[] =
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                "Retry-After: 1\r\nConnection: close\r\n\r\n";
            char request[1024];

            if (!listener->tls)
                (void)!send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            shutdown(fd, SHUT_WR);
            (void)!recv(fd, request, sizeof request, MSG_DONTWAIT);
            close(fd);
            WEIR_HTTP_COUNT(self->server, turned_away_total, 1);
        }
        self->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && self->spare >= 0)
            return;
    }
    watch_listeners(self, false);
    weir_timers_disarm(&self->timers, &self->accept_timer);
    weir_timers_arm(&self->timers, &self->accept_timer, self->now_ns + ACCEPT_PAUSE_NS);
}

static void read_peer(int fd, const struct sockaddr_storage *address,
                      struct weir_http_peer *peer)
{
    struct ucred process;
    socklen_t size = sizeof process;
    int on = 1;

    weir_http_address_read(address, peer);
    if (!peer->unix_socket) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0) {
        peer->has_uid = true;
        peer->uid = process.uid;
    }
}

/* Count the connection of an address that has a limit. */
static bool count_address(struct weir_http_loop *self, const struct weir_http_peer *peer,
                          bool *counted)
{
    struct weir_http_server *server = self->server;
    bool near = peer->unix_socket || peer->loopback;

    *counted = false;
    if (near && !WEIR_POINT(server->points, "http.loopback_is_far"))
        return true;
    weir_lock_acquire(&server->lock);
    *counted = weir_http_address_counts_add(&server->addresses, peer->address,
                                            self->limits.connections_per_address);
    weir_lock_release(&server->lock);
    return *counted;
}

static void take_connection(struct weir_http_loop *self,
                            struct weir_http_listener *listener, int fd,
                            const struct sockaddr_storage *address)
{
    struct weir_http_server *server = self->server;
    const struct weir_http_refusal *refusal = NULL;
    struct weir_http_peer peer = {.listener = listener->index};
    uint64_t open_now = atomic_load(&server->counters.connections);
    bool counted = false;

    WEIR_HTTP_COUNT(server, accepted_total, 1);
    read_peer(fd, address, &peer);
    if (open_now >= self->limits.connections_max || !count_address(self, &peer, &counted))
        refusal = &weir_http_refusal_CONNECTIONS;
    if (refusal != NULL)
        WEIR_HTTP_COUNT(server, turned_away_total, 1);
    if (open_now >= (uint64_t)self->limits.connections_max + REFUSED_MAX) {
        close(fd);
        return;
    }
    weir_http_connection_create(self, listener, fd, &peer, counted, refusal);
}

static void accept_some(struct weir_http_loop *self, struct weir_http_listener *listener)
{
    for (int i = 0; i < ACCEPTS_MAX && self->accepts; i++) {
        struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
        socklen_t size = sizeof address;
        int fd = accept4(listener->fd, (struct sockaddr *)&address, &size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            take_connection(self, listener, fd, &address);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                 errno == ENOMEM)
            turn_away(self, listener, errno);
        else if (errno != ECONNABORTED && errno != EINTR && errno != EPERM &&
                 errno != EPROTO)
            return;
    }
}

/* --- a turn -------------------------------------------------------------------- */

static void handle_event(struct weir_http_loop *self, const struct epoll_event *event)
{
    struct weir_http_listener *first = self->server->listeners;
    uint64_t count;

    for (uint32_t i = 0; i < self->server->listener_count; i++)
        if (event->data.ptr == &first[i]) {
            accept_some(self, &first[i]);
            return;
        }
    if (event->data.ptr == self)
        (void)!read(self->signal, &count, sizeof count);
    else
        weir_http_connection_handle(event->data.ptr, event->events);
}

/* An exchange whose connection is lost. */
static void collect_orphan(struct weir_http_exchange *exchange)
{
    struct weir_http_news news;

    weir_http_exchange_collect(exchange, &news);
    weir_http_output_clear(&news.output);
    if (news.ended)
        weir_http_exchange_finish(exchange, false);
}

static void drain_inbox(struct weir_http_loop *self)
{
    struct weir_list posted, *link;

    weir_list_init(&posted);
    weir_lock_acquire(&self->lock);
    weir_list_move_all(&posted, &self->inbox);
    for (;;) {
        struct weir_http_exchange *exchange;

        link = weir_list_take_first(&posted);
        weir_lock_release(&self->lock);
        if (link == NULL)
            return;
        exchange = WEIR_CONTAINER_OF(link, struct weir_http_exchange, inbox);
        if (exchange->connection != NULL)
            weir_http_connection_run(exchange->connection);
        else
            collect_orphan(exchange);
        weir_lock_acquire(&self->lock);
    }
}

static void run_again(struct weir_http_loop *self)
{
    struct weir_list now, *link;

    weir_list_init(&now);
    weir_list_move_all(&now, &self->again);
    while ((link = weir_list_take_first(&now)) != NULL)
        weir_http_connection_run(weir_http_connection_of_again(link));
}

static void read_limits(struct weir_http_loop *self)
{
    struct weir_http_server *server = self->server;
    uint32_t version = atomic_load(&server->limits_version);

    if (version == self->limits_version)
        return;
    weir_lock_acquire(&server->lock);
    self->limits = server->limits;
    weir_lock_release(&server->lock);
    self->limits_version = version;
}

/* Events do not free exchanges: what a handler says is collected later. */
static void drain(struct weir_http_loop *self)
{
    self->drained = true;
    WEIR_LIST_EACH(link, &self->exchanges)
    {
        struct weir_http_exchange *exchange =
            WEIR_CONTAINER_OF(link, struct weir_http_exchange, link);

        weir_http_exchange_drain(exchange);
    }
}

static void close_connections(struct weir_http_loop *self, bool only_idle)
{
    struct weir_list *next;

    for (struct weir_list *link = self->connections.next; link != &self->connections;
         link = next) {
        struct weir_http_connection *connection = weir_http_connection_of_link(link);

        next = link->next;
        if (!only_idle || weir_http_connection_is_idle(connection))
            weir_http_connection_destroy(connection);
    }
}

/* What is in the backlog is still taken: those clients have connected. */
static void stop_accepting(struct weir_http_loop *self)
{
    struct weir_http_server *server = self->server;

    for (uint32_t i = 0; i < server->listener_count && self->accepts; i++)
        accept_some(self, &server->listeners[i]);
    if (self->accepts)
        watch_listeners(self, false);
    self->stops = true;
}

/* False: the thread ends. */
static bool obey(struct weir_http_loop *self)
{
    struct weir_http_server *server = self->server;

    read_limits(self);
    if (atomic_load(&server->draining) && !self->drained)
        drain(self);
    if (!atomic_load(&server->stopping))
        return true;
    if (!self->stops) {
        stop_accepting(self);
        return true;
    }
    if (self->now_ns >= atomic_load(&server->stop_deadline_ns)) {
        close_connections(self, false);
        return false;
    }
    close_connections(self, true);
    return !weir_list_empty(&self->connections) || !weir_list_empty(&self->exchanges);
}

static int64_t wait_ns(struct weir_http_loop *self)
{
    int64_t until_ns = self->now_ns + TURN_NS;
    int64_t next_ns = weir_timers_next_ns(&self->timers);
    int64_t stop_ns = atomic_load(&self->server->stop_deadline_ns);
    bool inbox_empty;

    weir_lock_acquire(&self->lock);
    inbox_empty = weir_list_empty(&self->inbox);
    self->sleeping = inbox_empty;
    weir_lock_release(&self->lock);
    if (!inbox_empty || !weir_list_empty(&self->again))
        return 0;
    if (next_ns < until_ns)
        until_ns = next_ns;
    if (stop_ns < until_ns)
        until_ns = stop_ns;
    if (self->stops && until_ns > self->now_ns + ACCEPT_PAUSE_NS)
        until_ns = self->now_ns + ACCEPT_PAUSE_NS;
    return until_ns > self->now_ns ? until_ns - self->now_ns : 0;
}

static void turn(struct weir_http_loop *self)
{
    struct epoll_event events[EVENTS_MAX];
    int64_t ns = wait_ns(self);
    int count =
        epoll_wait(self->epoll, events, EVENTS_MAX, (int)((ns + 999999) / 1000000));

    weir_lock_acquire(&self->lock);
    self->sleeping = false;
    weir_lock_release(&self->lock);
    self->now_ns = weir_system_now_ns();
    atomic_store(&self->last_run_ns, self->now_ns);
    for (int i = 0; i < count; i++)
        handle_event(self, &events[i]);
    drain_inbox(self);
    run_again(self);
    weir_timers_fire_due(&self->timers, self->now_ns);
}

static void *run(void *argument)
{
    struct weir_http_loop *self = argument;

    do
        turn(self);
    while (obey(self));
    return NULL;
}

/* --- life ---------------------------------------------------------------------- */

enum weir_status weir_http_loop_start(struct weir_http_loop *self)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = self};
    sigset_t all, before;

    if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->signal, &event) != 0)
        return WEIR_SYSTEM;
    watch_listeners(self, true);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->started = pthread_create(&self->thread, NULL, run, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self->started ? WEIR_OK : WEIR_SYSTEM;
}

void weir_http_loop_join(struct weir_http_loop *self)
{
    if (!self->started)
        return;
    pthread_join(self->thread, NULL);
    self->started = false;
}

uint32_t weir_http_loop_count_open(struct weir_http_loop *self)
{
    uint32_t count = 0;

    weir_lock_acquire(&self->lock);
    WEIR_LIST_EACH(link, &self->exchanges)
    {
        count += !WEIR_CONTAINER_OF(link, struct weir_http_exchange, link)->ended;
    }
    weir_lock_release(&self->lock);
    return count;
}

void weir_http_loop_fini(struct weir_http_loop *self)
{
    if (self->server == NULL)
        return;
    close_connections(self, false);
    drain_inbox(self);
    WEIR_ASSERT(weir_list_empty(&self->exchanges));
    if (self->epoll >= 0)
        close(self->epoll);
    if (self->signal >= 0)
        close(self->signal);
    if (self->spare >= 0)
        close(self->spare);
    weir_heap_free(self->server->heap, self->input);
    weir_heap_free(self->server->heap, self->parse);
    weir_lock_fini(&self->lock);
    self->server = NULL;
}
