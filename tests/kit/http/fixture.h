/*
 * fixture.h - an HTTP server whose handler does what the path says.
 *
 *   /hello     200 "hello"
 *   /echo      200 with the body of the request
 *   /show      200 with method, segments, parameters, headers x-*, and peer
 *   /large/N   200 with N bytes, from a buffer
 *   /deny      401 in admit()
 *   /small     as /echo, but admit() allows a body of 10 bytes only
 *   /park      parked; the test answers by http_fixture_answer()
 *   /park/N    the same, and an answer "expired" after N ms, or "draining", or "gone"
 *   /stream    begun and parked; the test writes and ends
 *   /cut       cut
 *   any other  404
 *
 * Threads  The tests' thread; handlers run on the loops.
 */
#ifndef WEIR_TEST_HTTP_FIXTURE_H
#define WEIR_TEST_HTTP_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "kit/http/client.h"
#include "server/http/server.h"
#include "ward/system.h"

enum { HTTP_EVENTS = WEIR_HTTP_CUT + 1 };

struct http_fixture {
    struct weir_faulty_heap heap;
    struct weir_fault_points points;
    struct weir_http_listener_options listener;
    struct weir_http_options options; /* may be changed before start() */
    struct weir_http_server *server;

    _Atomic uint32_t handled; /* calls of handle() */
    pthread_mutex_t lock;
    struct http_parked *parked; /* the oldest first */
    uint32_t events[HTTP_EVENTS];
};

/* A server on 127.0.0.1 with a port of the system, not started. */
void http_fixture_init(struct http_fixture *self);
void http_fixture_start(struct http_fixture *self);
/* Both. */
void http_fixture_open(struct http_fixture *self);
/* Answers what is parked, stops, and checks that no memory is left. */
void http_fixture_close(struct http_fixture *self);

const char *http_fixture_address(const struct http_fixture *self);

/* Wait until so many are parked, or so many events have come in all. */
void http_fixture_wait_parked(struct http_fixture *self, uint32_t count);
void http_fixture_wait_event(struct http_fixture *self, enum weir_http_event event,
                             uint32_t count);
uint32_t http_fixture_events(struct http_fixture *self, enum weir_http_event event);

/* Take the oldest that is parked; NULL: there is none. */
struct weir_http_exchange *http_fixture_take(struct http_fixture *self);
/* Answer it with 200 and the text. */
void http_fixture_answer(struct http_fixture *self, const char *text);

/* Answer any exchange. */
void http_answer(struct weir_http_exchange *exchange, uint32_t status, const char *text);

struct weir_http_stats http_fixture_stats(const struct http_fixture *self);

/* Wait until the expression of the figures holds. */
#define http_fixture_wait_stats(self, expression)                                        \
    do {                                                                                 \
        struct weir_http_stats stats;                                                    \
        int64_t until_ns = weir_system_now_ns() + HTTP_WAIT_MS * INT64_C(1000000);       \
        while (stats = http_fixture_stats(self), !(expression)) {                        \
            check(weir_system_now_ns() < until_ns);                                      \
            weir_system_sleep_ns(1000000);                                               \
        }                                                                                \
    } while (0)

#endif
