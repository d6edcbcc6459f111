/*
 * traffic.h - how many messages per second go into a queue, and how many come out of it.
 *
 * Read from the database, at once: weir/inspect.h says how, and how good the figures are.
 *
 * Threads  The holder of the connection. Nothing is locked.
 */
#ifndef WEIR_OUTBOX_TRAFFIC_H
#define WEIR_OUTBOX_TRAFFIC_H

#include "db/connection.h"

/* From the newest rows of the log. */
WEIR_CHECKED enum weir_status weir_traffic_read_in(struct weir_connection *connection,
                                                   int64_t queue, double *per_s,
                                                   struct weir_error *error);

/* What live processes say: of one subscription; for 0, of the one with the most. */
WEIR_CHECKED enum weir_status weir_traffic_read_out(struct weir_connection *connection,
                                                    int64_t queue, int64_t subscription,
                                                    double *per_s,
                                                    struct weir_error *error);

#endif
