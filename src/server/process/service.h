/*
 * service.h - something that is kept open: a relay, a supervisor.
 *
 * It is opened in the background, as often as it takes, looked after while it runs, and
 * opened again when it cannot go on. So a database or a sink that is away at the start
 * keeps nothing else from starting.
 *
 *   opening --> running --> opening ...          stop() closes it, from anywhere
 *      ^  |        |  a look fails: closed
 *      '--'        |
 *    backoff 0.1 to 5 s
 *
 * Threads  create(), stop() and destroy() by one owner; the rest any thread. open(),
 *          look() and close() are called by one thread at a time.
 * Failure  Logged when it begins, when it changes, and when it is over.
 */
#ifndef WEIR_SERVER_PROCESS_SERVICE_H
#define WEIR_SERVER_PROCESS_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/error.h"
#include "weir/heap.h"
#include "weir/log.h"

struct weir_service;

struct weir_service_kind {
    const char *name; /* "relay", of its lines in the log */

    /* May block, and leaves nothing open when it fails. */
    enum weir_status (*open)(void *state, struct weir_error *error);

    /* Once a second while it is open. WEIR_OK: it goes on. `error` with a text and
     * WEIR_OK: it goes on, with trouble. Anything else closes it. */
    enum weir_status (*look)(void *state, struct weir_error *error);

    /* Returns how much of it has not ended within the grace. */
    size_t (*close)(void *state, int64_t grace_ns);
};

struct weir_service_status {
    bool running;
    char text[WEIR_ERROR_TEXT_SIZE]; /* what is wrong; "" */
};

/* `state` is borrowed until stop(), and longer if that does not return 0. */
WEIR_CHECKED enum weir_status
weir_service_create(const struct weir_heap *heap, const struct weir_log *log,
                    const char *name, const struct weir_service_kind *kind, void *state,
                    struct weir_service **out, struct weir_error *error);

/* Returns how much has not ended. Twice is harmless. */
size_t weir_service_stop(struct weir_service *self, int64_t grace_ns);

/* stop(0) if need be. NULL is fine. */
void weir_service_destroy(struct weir_service *self);

void weir_service_read_status(struct weir_service *self, struct weir_service_status *out);

#endif
