/*
 * catalog.h - the queues and subscriptions of a database.
 *
 * Threads  The holder of the connection. Functions that change something are
 *          transactions of their own.
 */
#ifndef WEIR_OUTBOX_QUEUE_CATALOG_H
#define WEIR_OUTBOX_QUEUE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"
#include "outbox/log/log.h"
#include "weir/outbox.h"

struct weir_queue_row {
    int64_t id;
    int32_t partitions;
    bool paused;
    enum weir_unread unread;
    int64_t backlog_max;
    uint32_t attempts_max; /* 0: no limit */
    int64_t retention_us;  /* of dead letters; 0: for ever */
    int64_t retain_us;     /* what every subscription has passed; 0: not at all */
    bool going;            /* it is being removed (queue_removal.h) */
};

/* May the queue be made, or must it exist? */
enum weir_catalog_put { WEIR_CATALOG_ADD, WEIR_CATALOG_SET };

/*
 * Make the queue, or find it and change the policies that `options` names
 * (weir/outbox.h). WEIR_MISMATCH: it has another number of partitions; both are in the
 * text. WEIR_NOT_FOUND: it does not exist and must not be made. `change` may be NULL.
 */
WEIR_CHECKED enum weir_status
weir_catalog_put_queue(struct weir_connection *connection, enum weir_catalog_put put,
                       const struct weir_queue_options *options,
                       struct weir_queue_row *out, struct weir_queue_change *change,
                       struct weir_error *error);

/* The same with WEIR_CATALOG_ADD and no `change`. */
WEIR_CHECKED enum weir_status
weir_catalog_add_queue(struct weir_connection *connection,
                       const struct weir_queue_options *options,
                       struct weir_queue_row *out, struct weir_error *error);

/* WEIR_NOT_FOUND: no such queue. Also inside the caller's transaction. */
WEIR_CHECKED enum weir_status weir_catalog_find_queue(struct weir_connection *connection,
                                                      const char *name,
                                                      struct weir_queue_row *out,
                                                      struct weir_error *error);

/*
 * The same for a producer: what it gets is true now, whatever its transaction's
 * snapshot, or will be found out by the removal of the queue. WEIR_BUSY: the queue is
 * being removed.
 */
WEIR_CHECKED enum weir_status
weir_catalog_find_for_producer(struct weir_connection *connection, const char *name,
                               struct weir_queue_row *out, struct weir_error *error);

/* Make the subscription with a position and a lease for each partition, or find it.
 * Under the lock that keeps the sweep from removing what it starts with. WEIR_MISMATCH:
 * served by the other kind. */
WEIR_CHECKED enum weir_status weir_catalog_subscribe(
    const struct weir_outbox_log *log, struct weir_connection *connection,
    const struct weir_queue_row *queue, const char *name, enum weir_serving serving,
    enum weir_start start, int64_t *out, struct weir_error *error);

/* Inside the caller's transaction, up to its end: the lock that subscribing takes
 * shared, alone. No process subscribes, removes or sweeps meanwhile. */
WEIR_CHECKED enum weir_status weir_catalog_lock_alone(struct weir_connection *connection,
                                                      struct weir_error *error);

/* Would subscribe() be refused with WEIR_MISMATCH? Changes nothing. */
WEIR_CHECKED enum weir_status
weir_catalog_check_serving(struct weir_connection *connection,
                           const struct weir_queue_row *queue, const char *name,
                           enum weir_serving serving, struct weir_error *error);

WEIR_CHECKED enum weir_status weir_catalog_pause(struct weir_connection *connection,
                                                 const char *name, bool paused,
                                                 struct weir_error *error);

/* Look at the rows of all queues, and tell of each that is out of range, for people
 * (stored_queue.h). `text` is borrowed for the call. */
typedef void (*weir_catalog_flaw_fn)(void *state, const char *text);
WEIR_CHECKED enum weir_status weir_catalog_find_flaws(struct weir_connection *connection,
                                                      weir_catalog_flaw_fn tell,
                                                      void *state,
                                                      struct weir_error *error);

/* Mark a queue as being removed, for so long. WEIR_BUSY: something waits, and not
 * `force`; or another process removes it. */
WEIR_CHECKED enum weir_status weir_catalog_mark(const struct weir_outbox_log *log,
                                                struct weir_connection *connection,
                                                const char *name, bool force,
                                                int64_t duration_us, int64_t *queue_id,
                                                struct weir_error *error);

/* Take the mark back. A failure does no harm: it ends by itself. */
void weir_catalog_unmark(struct weir_connection *connection, int64_t queue_id);

/* The last step of weir_queue_remove(): the queue is marked. WEIR_BUSY: something
 * waits, and not `force`; or the mark has ended. */
WEIR_CHECKED enum weir_status weir_catalog_remove(const struct weir_outbox_log *log,
                                                  struct weir_connection *connection,
                                                  const char *name, bool force,
                                                  struct weir_error *error);

#endif
