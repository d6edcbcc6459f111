/*
 * tcp_proxy.h - a wire to a server that can be cut at the right moment.
 *
 *   client --- wire ---> server
 *
 * The wire listens on a port of its own and hands everything on, until it is told to
 * lose the next request or the next answer: those bytes disappear and both ends are
 * closed. So a commit that never arrived and a commit whose answer never arrived can
 * both be had for real.
 *
 * It may also lead elsewhere from a moment on, as a proxy does after a switchover:
 * whoever is connected stays where it is. Or carry nothing any more, without anybody
 * being told.
 *
 * Threads  The test's; the wire has one of its own.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_TCP_PROXY_H
#define WEIR_TEST_TCP_PROXY_H

#include <stdint.h>

struct tcp_proxy;

enum tcp_proxy_mode {
    TCP_PROXY_CARRIES,
    TCP_PROXY_LOSES_NEXT_REQUEST, /* the server never hears of it */
    TCP_PROXY_LOSES_NEXT_ANSWER,  /* the server has done it */
    TCP_PROXY_SWALLOWS            /* nothing arrives, either way, until it is closed */
};

/* A wire to a port of this machine. Owes one close. */
struct tcp_proxy *tcp_proxy_open(uint16_t server_port);
void tcp_proxy_close(struct tcp_proxy *self);

uint16_t tcp_proxy_port(const struct tcp_proxy *self);

/* From now on; it carries again, for new connections, once something was lost. */
void tcp_proxy_set_mode(struct tcp_proxy *self, enum tcp_proxy_mode mode);

/* Connections that are made from now on lead to this port. */
void tcp_proxy_lead_to(struct tcp_proxy *self, uint16_t server_port);

#endif
