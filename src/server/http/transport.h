/*
 * transport.h - the bytes of one connection, plain or through TLS.
 *
 * Never blocks and never raises SIGPIPE.
 *
 * Threads  The owner's.
 * Memory   OpenSSL's; a connection that waits holds about 10 KiB of it.
 */
#ifndef WEIR_SERVER_HTTP_TRANSPORT_H
#define WEIR_SERVER_HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ssl_st;
struct weir_http_tls;

enum { WEIR_HTTP_PIECES_MAX = 8 }; /* that one write looks at */

struct weir_http_transport {
    int fd;
    struct ssl_st *ssl; /* NULL: plain */
    uint32_t wants;     /* EPOLLIN, EPOLLOUT: what TLS waits for besides its caller */
};

enum weir_http_io {
    WEIR_HTTP_IO_DONE,
    WEIR_HTTP_IO_BLOCKED, /* try again when the socket is ready */
    WEIR_HTTP_IO_END,     /* the other side sends nothing more */
    WEIR_HTTP_IO_PLAIN,   /* handshake: the other side does not speak TLS */
    WEIR_HTTP_IO_FAILED
};

/* Takes `fd`. With `tls` (may be NULL) handshake() comes first. False without memory; the
 * descriptor is then still the transport's. */
bool weir_http_transport_open(struct weir_http_transport *self, int fd,
                              const struct weir_http_tls *tls);
void weir_http_transport_close(struct weir_http_transport *self);

/* After WEIR_HTTP_IO_PLAIN the transport is a plain one. */
enum weir_http_io weir_http_transport_handshake(struct weir_http_transport *self);

/* DONE: *got is at least 1. */
enum weir_http_io weir_http_transport_read(struct weir_http_transport *self, char *out,
                                           size_t room, size_t *got);

/* DONE: *sent is at least 1, and may be less than all. */
enum weir_http_io weir_http_transport_write(struct weir_http_transport *self,
                                            const struct iovec *pieces, int count,
                                            size_t *sent);

/* Say that nothing more will be sent. Reading is no longer decrypted: discard() only. */
void weir_http_transport_shut(struct weir_http_transport *self);
enum weir_http_io weir_http_transport_discard(struct weir_http_transport *self,
                                              char *scratch, size_t room, size_t *got);

#endif
