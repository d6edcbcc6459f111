/*
 * tls_parts.h - what the transport needs of a TLS context.
 */
#ifndef WEIR_SERVER_HTTP_TLS_PARTS_H
#define WEIR_SERVER_HTTP_TLS_PARTS_H

#include <stddef.h>

#include "base/str.h"
#include "server/http/tls.h"

struct ssl_st;

/* The server's side of a new connection; NULL without memory. Borrows `fd`. */
struct ssl_st *weir_http_tls_open(const struct weir_http_tls *self, int fd);

/* The names of the client's verified certificate, at most `count_max`; 0 without one.
 * `text` gets their bytes, one after another; names that do not fit into `room` or have a
 * zero inside are left out. */
size_t weir_http_tls_read_names(struct ssl_st *ssl, struct weir_str *names,
                                size_t count_max, char *text, size_t room);

#endif
