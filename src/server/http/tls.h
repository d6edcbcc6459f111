/*
 * tls.h - certificate, key and rules of TLS, shared by connections.
 *
 * TLS 1.2 or 1.3, no renegotiation, no compression, no session resumption; ALPN offers
 * http/1.1 only. A client certificate is verified against `client_ca` only.
 *
 * Threads  Never changes; hold() and release() from any thread. A server that gets
 *          another one (weir_http_server_set_tls()) uses it for new connections; those
 *          that are open keep theirs.
 * Memory   OpenSSL allocates with malloc().
 */
#ifndef WEIR_SERVER_HTTP_TLS_H
#define WEIR_SERVER_HTTP_TLS_H

#include <stdbool.h>

#include "base/str.h"
#include "weir/error.h"
#include "weir/status.h"

struct weir_heap;
struct weir_http_tls;

enum weir_http_tls_client {
    WEIR_HTTP_TLS_CLIENT_NO,       /* does not ask for a certificate */
    WEIR_HTTP_TLS_CLIENT_OPTIONAL, /* one that is sent must be valid */
    WEIR_HTTP_TLS_CLIENT_REQUIRED
};

struct weir_http_tls_options {
    struct weir_str certificate; /* PEM: own certificate first, then its chain */
    struct weir_str key;         /* PEM, not encrypted */
    struct weir_str client_ca;   /* PEM; needed unless `client` is NO */
    enum weir_http_tls_client client;
    bool tls13_only;
};

/* Fails with WEIR_INVALID (a text that is no PEM, a key that does not fit the
 * certificate) or WEIR_NO_MEMORY. *out is then NULL. The texts are not kept. */
WEIR_CHECKED enum weir_status
weir_http_tls_create(const struct weir_heap *heap,
                     const struct weir_http_tls_options *options,
                     struct weir_http_tls **out, struct weir_error *error);

struct weir_http_tls *weir_http_tls_hold(struct weir_http_tls *self);
void weir_http_tls_release(struct weir_http_tls *self); /* NULL is fine */

#endif
