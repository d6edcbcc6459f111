/*
 * listener.h - a socket that accepts connections.
 *
 * Threads  open() and close() by the owner; the loops of the server share the
 *          descriptor.
 */
#ifndef WEIR_SERVER_HTTP_LISTENER_H
#define WEIR_SERVER_HTTP_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/http/server.h"

enum { WEIR_HTTP_LISTENER_TEXT_SIZE = 160 };

struct weir_http_listener {
    int fd; /* -1: closed */
    uint32_t index;
    bool tls;
    bool unix_socket;
    bool made_file; /* the file of a unix socket is ours */
    dev_t device;   /* of that file */
    ino_t inode;
    char address[WEIR_HTTP_LISTENER_TEXT_SIZE]; /* "127.0.0.1:9347", "unix:PATH" */
};

/* Open and listen, or take a socket that listens. Fails as weir_http_server_create(). */
WEIR_CHECKED enum weir_status
weir_http_listener_open(struct weir_http_listener *self,
                        const struct weir_http_listener_options *options,
                        struct weir_error *error);

/* Twice is harmless. Removes the file of a unix socket if it is still ours. */
void weir_http_listener_close(struct weir_http_listener *self);

#endif
