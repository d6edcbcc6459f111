/*
 * wire.h - a wire to a server that can be cut at the right moment.
 *
 *   client --- wire ---> server
 *
 * The wire listens on a port of its own and hands everything on, until it is told to lose the
 * next request or the next answer: those bytes disappear and both ends are closed. So a commit
 * that never arrived and a commit whose answer never arrived can both be had for real.
 *
 * It may also lead elsewhere from a moment on, as a proxy does after a switchover: whoever is
 * connected stays where it is. Or carry nothing any more, without anybody being told.
 *
 * Threads  The test's; the wire has one of its own.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_WIRE_H
#define WEIR_TEST_WIRE_H

#include <stdint.h>

struct wire;

enum wire_mode {
    WIRE_CARRIES,
    WIRE_LOSES_NEXT_REQUEST, /* the server never hears of it */
    WIRE_LOSES_NEXT_ANSWER,  /* the server has done it */
    WIRE_SWALLOWS            /* nothing arrives, either way, until it is closed */
};

/* A wire to a port of this machine. Owes one close. */
struct wire *wire_open(uint16_t server_port);
void wire_close(struct wire *self);

uint16_t wire_port(const struct wire *self);

/* From now on; it carries again, for new connections, once something was lost. */
void wire_set_mode(struct wire *self, enum wire_mode mode);

/* Connections that are made from now on lead to this port. */
void wire_lead_to(struct wire *self, uint16_t server_port);

#endif
