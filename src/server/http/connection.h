/*
 * connection.h - one client: requests in, answers out, one at a time.
 *
 *   HANDSHAKE --> HEAD --> BODY --> HANDLING --> ANSWERING --> LINGER --> CLOSED
 *                  ^  |                ^           |
 *                  |  +----------------+           |
 *                  +-------------------------------+
 *
 * Threads  The loop's.
 * Memory   About 600 bytes while it waits, and what has been received of a request.
 */
#ifndef WEIR_SERVER_HTTP_CONNECTION_H
#define WEIR_SERVER_HTTP_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "server/http/exchange_parts.h"

struct weir_http_connection;
struct weir_http_listener;
struct weir_http_loop;

/* Takes `fd`, also on failure. With `refusal` the client gets that and nothing else; a
 * client that speaks TLS gets nothing. */
void weir_http_connection_create(struct weir_http_loop *loop,
                                 const struct weir_http_listener *listener, int fd,
                                 const struct weir_http_peer *peer, bool counted,
                                 const struct weir_http_refusal *refusal);

/* The socket is ready; `events` are those of epoll. May destroy it. */
void weir_http_connection_handle(struct weir_http_connection *self, uint32_t events);

/* Go on; may destroy it. */
void weir_http_connection_run(struct weir_http_connection *self);

/* Close it now. Its exchange, if there is one, is told. */
void weir_http_connection_destroy(struct weir_http_connection *self);

/* Neither a request nor an answer is under way. */
bool weir_http_connection_is_idle(const struct weir_http_connection *self);

struct weir_http_connection *weir_http_connection_of_link(struct weir_list *link);
struct weir_http_connection *weir_http_connection_of_again(struct weir_list *link);

#endif
