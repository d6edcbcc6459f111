/*
 * server.h - what `weir serve` is: listeners, API, databases, relays and supervisors of
 * one configuration, in one process.
 *
 *   create   the listeners are bound, the databases are begun to be opened
 *   judge    waits until each database was reached or not; one that does not fit fails
 *   start    relays, supervisors, and requests are taken
 *   reload   another configuration, as far as it needs no restart
 *   stop     in good order, within the grace
 *
 * Threads  One owner, except for what it does inside.
 * Memory   Borrows the first configuration, heap and log until destroy(), and the
 *          configuration of a reload() until the next one.
 */
#ifndef WEIR_SERVER_PROCESS_SERVER_H
#define WEIR_SERVER_PROCESS_SERVER_H

#include "server/api/api.h"
#include "server/config/config.h"
#include "server/systemd/systemd.h"

struct weir_server;

struct weir_server_options {
    const struct weir_config *config;
    const struct weir_heap *heap;
    struct weir_log log;
    const char *name;                       /* Weir-Server; borrowed */
    const struct weir_api_token *temporary; /* for the life of the process; NULL: none */
    struct weir_systemd *systemd;           /* sockets it has bound; borrowed */
};

/* Fails with WEIR_INVALID, WEIR_EXISTS (an address is in use), WEIR_SYSTEM or
 * WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status
weir_server_create(const struct weir_server_options *options, struct weir_server **out,
                   struct weir_error *error);

/* Wait up to `wait_ns` until each database was opened or found away. WEIR_SCHEMA: the
 * tables of one do not fit. */
WEIR_CHECKED enum weir_status weir_server_judge(struct weir_server *self, int64_t wait_ns,
                                                struct weir_error *error);

WEIR_CHECKED enum weir_status weir_server_start(struct weir_server *self,
                                                struct weir_error *error);

/* The address of a listener, as a client reaches it; NULL: there are no more. */
const char *weir_server_address(const struct weir_server *self, size_t index);

/* `config` was checked against the one before (weir_config_check_reload()). It replaces
 * that one, unless certificate or tokens cannot be used: then nothing has changed. If it
 * fails later, a relay does not run; the next reload begins it. */
WEIR_CHECKED enum weir_status weir_server_reload(struct weir_server *self,
                                                 const struct weir_config *config,
                                                 struct weir_error *error);

/* The one that is in use: after a reload(), the new one or the one before. */
const struct weir_config *weir_server_config(const struct weir_server *self);

/* /readyz says that the server drains, and parked requests are answered. */
void weir_server_drain(struct weir_server *self);

/* Ends requests, relays and supervisors within the grace of the configuration. Returns
 * how much has not ended. */
size_t weir_server_stop(struct weir_server *self);

/* After stop(). NULL is fine. */
void weir_server_destroy(struct weir_server *self);

#endif
