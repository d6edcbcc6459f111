/*
 * client.h - an HTTP client for tests: it sends bytes as they are given, and reads
 * answers strictly.
 *
 * Threads  A client is its owner's; texts that are returned are the calling thread's.
 * Failure  Waits of more than HTTP_WAIT_MS and malformed answers fail the test.
 */
#ifndef WEIR_TEST_HTTP_CLIENT_H
#define WEIR_TEST_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_WAIT_MS = 60000 };

struct ssl_st;

struct http_client {
    int fd;
    struct ssl_st *ssl; /* NULL: plain */
    char *data;         /* received, not read as an answer yet */
    size_t size;
    size_t capacity;
    bool ended; /* the server has closed */
};

struct http_reply {
    int status;
    char *head; /* with its empty line */
    char *body; /* chunks are put together */
    size_t body_size;
};

/* To "127.0.0.1:PORT", "[::1]:PORT" or "unix:PATH". */
void http_connect(struct http_client *self, const char *address);
/* False: the connection was refused. */
bool http_try_connect(struct http_client *self, const char *address);
void http_close(struct http_client *self);
void http_reset(struct http_client *self);      /* closes with a reset */
void http_half_close(struct http_client *self); /* sends nothing more */

void http_send(struct http_client *self, const char *text);
/* False: the server has closed or reset the connection. */
bool http_try_send(struct http_client *self, const void *bytes, size_t size);

/* Read one answer to a request of this method (a HEAD has no body). False: the server has
 * closed before its first byte. */
bool http_receive_to(struct http_client *self, const char *method,
                     struct http_reply *reply);
bool http_receive(struct http_client *self, struct http_reply *reply);
void http_reply_fini(struct http_reply *self);

/* Send a request and compare the status of its answer; returns the body, until the next
 * call. */
const char *http_ask(struct http_client *self, const char *request, int status);

/* The value of a header, until the next call; NULL without one. */
const char *http_header(const struct http_reply *reply, const char *name);

/* Receive until at least `size` bytes or the end are there. */
void http_fill(struct http_client *self, size_t size);
/* The server closes, and sends nothing before. */
void http_check_closed(struct http_client *self);

#endif
