/*
 * registry.h - queues by name, remembered for a moment.
 *
 * An enqueue needs the id and the number of partitions of its queue. Asking the
 * database each time would double its statements; remembering for ever would send
 * messages to a queue that was removed meanwhile. So an entry counts for
 * WEIR_REGISTRY_AGE_NS and is then asked for again, on the connection of the
 * caller.
 *
 * Threads  Any thread.
 */
#ifndef WEIR_OUTBOX_QUEUE_REGISTRY_H
#define WEIR_OUTBOX_QUEUE_REGISTRY_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/map.h"
#include "outbox/queue/backlog.h"
#include "outbox/queue/catalog.h"
#include "ward/lock.h"

#define WEIR_REGISTRY_AGE_NS WEIR_SECONDS(1)

struct weir_registry {
    const struct weir_heap *heap; /* borrowed */
    struct weir_lock lock;        /* guards all that follows */
    struct weir_map entries;      /* of struct weir_registry_entry, owned */
    struct weir_map declared;     /* of int32_t: partitions, owned */
    struct weir_map counters;     /* of struct weir_queue_counter, owned */
    struct weir_list counted;     /* the same, oldest first */
};

/* How much this process has enqueued into a queue. Lives as long as the registry, also
 * when the queue is gone; the count is shared. */
struct weir_queue_counter {
    struct weir_list link;
    _Atomic uint64_t enqueued;
    char name[]; /* with a zero */
};

WEIR_CHECKED enum weir_status weir_registry_init(struct weir_registry *self,
                                                 const struct weir_heap *heap);
void weir_registry_fini(struct weir_registry *self);

/* What is known of a queue, from memory or from the database
 * (weir_catalog_find_for_producer()). WEIR_NOT_FOUND; WEIR_BUSY: it is being removed. */
WEIR_CHECKED enum weir_status weir_registry_find(struct weir_registry *self,
                                                 struct weir_connection *connection,
                                                 const char *name,
                                                 struct weir_queue_row *out,
                                                 struct weir_error *error);

/* The same, and where to count: NULL when there is no memory for that. */
WEIR_CHECKED enum weir_status
weir_registry_find_counted(struct weir_registry *self, struct weir_connection *connection,
                           const char *name, struct weir_queue_row *out,
                           struct weir_queue_counter **counter, struct weir_error *error);

/* The same of what is known without a statement, with the backlog of a queue that has a
 * limit (see below); else false. */
bool weir_registry_find_known(struct weir_registry *self, const char *name,
                              struct weir_queue_row *out,
                              struct weir_queue_counter **counter, int64_t *backlog);

/* The counter after this one, or the first; NULL: there is no other. */
struct weir_queue_counter *
weir_registry_next_counter(struct weir_registry *self,
                           const struct weir_queue_counter *after);

/* This is how it was at `asked_ns` (weir_clock_now_ns(), before the statement): the
 * removal of a queue relies on its age. Without memory nothing is remembered, which does
 * no harm. */
void weir_registry_put(struct weir_registry *self, const char *name,
                       const struct weir_queue_row *row, int64_t asked_ns);
void weir_registry_forget(struct weir_registry *self, const char *name);

/* A queue is added to an outbox once: WEIR_EXISTS names both numbers of partitions. */
WEIR_CHECKED enum weir_status weir_registry_declare(struct weir_registry *self,
                                                    const char *name, int32_t partitions,
                                                    struct weir_error *error);
void weir_registry_undeclare(struct weir_registry *self, const char *name);

/*
 * The backlog of a queue with a limit: true with *out when it was read within the last
 * second, plus what this process has added since. set_backlog(): a number was read; the
 * result is the sum, which stays as it is while the number is of the same count.
 */
bool weir_registry_backlog(struct weir_registry *self, const char *name, int64_t *out);
int64_t weir_registry_set_backlog(struct weir_registry *self, const char *name,
                                  const struct weir_backlog *number);
void weir_registry_add_backlog(struct weir_registry *self, const char *name,
                               int64_t count);

#endif
