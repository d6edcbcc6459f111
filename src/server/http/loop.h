/*
 * loop.h - one thread with its connections.
 *
 *   wait --> sockets that are ready --> inbox --> connections that go on --> timers --+
 *     ^                                                                               |
 *     +-------------------------------------------------------------------------------+
 *
 * Threads  The loop's own thread, except for the group that its lock guards and
 *          signal().
 */
#ifndef WEIR_SERVER_HTTP_LOOP_H
#define WEIR_SERVER_HTTP_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "server/http/head.h"
#include "server/http/server.h"
#include "server/http/target.h"
#include "ward/lock.h"
#include "ward/timer.h"

enum {
    WEIR_HTTP_HEADER_MAX_MAX = 256 * 1024, /* the largest header_max */
    WEIR_HTTP_READ_SIZE = 64 * 1024        /* bytes that one read asks for */
};

/* What the connection that runs has received and not used: data[start] to data[end]. */
struct weir_http_input {
    char data[WEIR_HTTP_HEADER_MAX_MAX + WEIR_HTTP_READ_SIZE];
    size_t start;
    size_t end;
};

/* Room for the request that is being parsed. */
struct weir_http_parse {
    struct weir_http_head head;
    struct weir_http_target target;
    char decoded[WEIR_HTTP_HEADER_MAX_MAX];
};

struct weir_http_loop {
    struct weir_http_server *server;
    pthread_t thread;
    bool started;
    int epoll;
    int signal;   /* an eventfd */
    int spare;    /* given up for a moment when there is no other descriptor; or -1 */
    bool accepts; /* the listeners are watched */
    struct weir_http_limits limits;
    uint32_t limits_version;
    struct weir_timers timers;
    struct weir_timer accept_timer; /* accepting goes on */
    int64_t now_ns;                 /* when this turn began */
    int64_t warned_ns;              /* the last log line about accepting */
    struct weir_list connections;
    struct weir_list again;     /* of connections that go on in the next turn */
    struct weir_list exchanges; /* that have not been freed */
    struct weir_http_input *input;
    struct weir_http_parse *parse;
    uint64_t next_id; /* mixed, it is the id of the next request */
    bool drained;     /* DRAINING was sent to those parked */
    bool stops;       /* idle connections were closed */
    _Atomic int64_t last_run_ns;

    struct weir_lock lock;
    struct weir_list inbox; /* of exchanges with something to collect */
    bool sleeping;          /* signal() is needed */
};

/* On failure fini() is still due. */
WEIR_CHECKED enum weir_status weir_http_loop_init(struct weir_http_loop *self,
                                                  struct weir_http_server *server);
/* The thread has ended or was never started. Frees exchanges that have ended. */
void weir_http_loop_fini(struct weir_http_loop *self);

WEIR_CHECKED enum weir_status weir_http_loop_start(struct weir_http_loop *self);
void weir_http_loop_join(struct weir_http_loop *self);

/* Let it run soon. */
void weir_http_loop_signal(struct weir_http_loop *self);

/* 16 hex digits that no other request has. */
void weir_http_loop_make_id(struct weir_http_loop *self,
                            char out[WEIR_HTTP_REQUEST_ID_SIZE]);

/* Exchanges that a handler still has. The thread has ended. */
uint32_t weir_http_loop_count_open(struct weir_http_loop *self);

#endif
