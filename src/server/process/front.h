/*
 * front.h - between the HTTP layer and the API: a request becomes a call, and the answer
 * of the call a response.
 *
 * Threads  Any thread; the handler runs on the loops and never blocks.
 */
#ifndef WEIR_SERVER_PROCESS_FRONT_H
#define WEIR_SERVER_PROCESS_FRONT_H

#include <stdatomic.h>

#include "server/api/api.h"
#include "server/http/server.h"

struct weir_front {
    struct weir_api *api;   /* borrowed; set before the server starts */
    atomic_bool unix_admin; /* the server's own user and root may do everything there */
};

/* The handler of an HTTP server; `self` is its context and outlives the server. */
struct weir_http_handler weir_front_handler(struct weir_front *self);

#endif
