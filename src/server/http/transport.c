/*
 * transport.c - see transport.h.
 *
 * OpenSSL's own socket BIO writes without MSG_NOSIGNAL, so ours does it. The error queue
 * of OpenSSL belongs to the thread: it is emptied before each call, since SSL_get_error()
 * looks at it.
 */
#include "server/http/transport.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/tls_parts.h"

bool weir_http_transport_open(struct weir_http_transport *self, int fd,
                              const struct weir_http_tls *tls)
{
    *self = (struct weir_http_transport){.fd = fd};
    if (tls == NULL)
        return true;
    self->ssl = weir_http_tls_open(tls, fd);
    return self->ssl != NULL;
}

void weir_http_transport_close(struct weir_http_transport *self)
{
    SSL_free(self->ssl);
    self->ssl = NULL;
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

static bool would_block(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

/* What a failed call of OpenSSL means. */
static enum weir_http_io judge(struct weir_http_transport *self, int result)
{
    switch (SSL_get_error(self->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        self->wants = EPOLLIN;
        return WEIR_HTTP_IO_BLOCKED;
    case SSL_ERROR_WANT_WRITE:
        self->wants = EPOLLOUT;
        return WEIR_HTTP_IO_BLOCKED;
    case SSL_ERROR_ZERO_RETURN:
        return WEIR_HTTP_IO_END;
    default:
        return WEIR_HTTP_IO_FAILED;
    }
}

/* No TLS record, but text: it is answered as text. */
static bool is_plain(unsigned long error)
{
    return ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
}

enum weir_http_io weir_http_transport_handshake(struct weir_http_transport *self)
{
    enum weir_http_io io;
    int result;

    ERR_clear_error();
    self->wants = 0;
    result = SSL_accept(self->ssl);
    if (result == 1)
        return WEIR_HTTP_IO_DONE;
    io = judge(self, result);
    if (io == WEIR_HTTP_IO_FAILED && is_plain(ERR_peek_error())) {
        SSL_free(self->ssl);
        self->ssl = NULL;
        return WEIR_HTTP_IO_PLAIN;
    }
    return io;
}

static enum weir_http_io read_plain(int fd, char *out, size_t room, size_t *got)
{
    ssize_t count = recv(fd, out, room, 0);

    if (count < 0)
        return would_block(errno) ? WEIR_HTTP_IO_BLOCKED : WEIR_HTTP_IO_FAILED;
    *got = (size_t)count;
    return count > 0 ? WEIR_HTTP_IO_DONE : WEIR_HTTP_IO_END;
}

enum weir_http_io weir_http_transport_read(struct weir_http_transport *self, char *out,
                                           size_t room, size_t *got)
{
    int count;

    *got = 0;
    if (self->ssl == NULL)
        return read_plain(self->fd, out, room, got);
    ERR_clear_error();
    self->wants = 0;
    count = SSL_read(self->ssl, out, room < INT_MAX ? (int)room : INT_MAX);
    if (count <= 0)
        return judge(self, count);
    *got = (size_t)count;
    return WEIR_HTTP_IO_DONE;
}

static enum weir_http_io write_plain(int fd, const struct iovec *pieces, int count,
                                     size_t *sent)
{
    struct iovec copy[WEIR_HTTP_PIECES_MAX];
    struct msghdr message = {.msg_iov = copy};
    ssize_t done;

    for (int i = 0; i < count && i < WEIR_HTTP_PIECES_MAX; i++)
        copy[message.msg_iovlen++] = pieces[i];
    done = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (done < 0)
        return would_block(errno) ? WEIR_HTTP_IO_BLOCKED : WEIR_HTTP_IO_FAILED;
    *sent = (size_t)done;
    return WEIR_HTTP_IO_DONE;
}

enum weir_http_io weir_http_transport_write(struct weir_http_transport *self,
                                            const struct iovec *pieces, int count,
                                            size_t *sent)
{
    size_t size = pieces[0].iov_len;
    int done;

    *sent = 0;
    if (self->ssl == NULL)
        return write_plain(self->fd, pieces, count, sent);
    ERR_clear_error();
    self->wants = 0;
    done = SSL_write(self->ssl, pieces[0].iov_base, size < INT_MAX ? (int)size : INT_MAX);
    if (done <= 0)
        return judge(self, done);
    *sent = (size_t)done;
    return WEIR_HTTP_IO_DONE;
}

void weir_http_transport_shut(struct weir_http_transport *self)
{
    if (self->ssl != NULL) {
        ERR_clear_error();
        (void)SSL_shutdown(self->ssl);
    }
    self->wants = 0;
    (void)shutdown(self->fd, SHUT_WR);
}

enum weir_http_io weir_http_transport_discard(struct weir_http_transport *self,
                                              char *scratch, size_t room, size_t *got)
{
    *got = 0;
    return read_plain(self->fd, scratch, room, got);
}
