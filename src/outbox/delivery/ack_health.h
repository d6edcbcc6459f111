/*
 * ack_health.h - whether acknowledgements can be stored, and why not.
 *
 * What a handler has done is repeated after a restart unless its acknowledgement was
 * stored. When that fails, on a full disk for example, the acker tries again and
 * nothing else is to be seen; so the last result is kept here for the operators of
 * the process.
 *
 * Threads  Any thread.
 */
#ifndef WEIR_OUTBOX_DELIVERY_ACK_HEALTH_H
#define WEIR_OUTBOX_DELIVERY_ACK_HEALTH_H

#include "ward/lock.h"
#include "weir/error.h"

struct weir_ack_health {
    struct weir_lock lock; /* guards what follows */
    enum weir_status status;
    char text[WEIR_ERROR_TEXT_SIZE];
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_ack_health_init(struct weir_ack_health *self);
void weir_ack_health_fini(struct weir_ack_health *self);

/* How the last group of acknowledgements went; `error` is read unless it went well. */
void weir_ack_health_note(struct weir_ack_health *self, enum weir_status status,
                          const struct weir_error *error);

/* WEIR_OK, or why not, with the text in `out` of WEIR_ERROR_TEXT_SIZE bytes. */
enum weir_status weir_ack_health_read(struct weir_ack_health *self, char *out);

#endif
