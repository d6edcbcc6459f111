/*
 * queue_removal.h - removes a queue while others may be enqueueing into it.
 *
 * A producer looks a queue up, remembers its number for a second (registry.h), appends
 * under that number and commits whenever it likes. If the queue were gone by then, the
 * commit would succeed and the message would never be delivered. So a queue is removed in
 * three steps:
 *
 *   mark      "being removed" and until when, committed: producers are refused with
 *             WEIR_BUSY
 *   wait      until no process can have the number any more, and all transactions that
 *             have used it have ended
 *   remove    count once more what waits, and remove; or take the mark back
 *
 * The mark ends by itself, by the database's clock: a process that dies in between
 * leaves a queue that can be used again, or removed again, half a minute later.
 *
 * Threads  The holder of the connection. Blocks for a second, and up to
 *          WEIR_REMOVAL_WAIT_NS when transactions are open.
 */
#ifndef WEIR_OUTBOX_QUEUE_QUEUE_REMOVAL_H
#define WEIR_OUTBOX_QUEUE_QUEUE_REMOVAL_H

#include <stdbool.h>

#include "db/connection.h"
#include "outbox/log/log.h"

#define WEIR_REMOVAL_WAIT_NS WEIR_SECONDS(10)

/*
 * WEIR_BUSY: something waits in it, and not `force`; or transactions that may have
 * enqueued are still open, which are named; or another process is removing it. Then the
 * queue is as it was. WEIR_NOT_FOUND.
 */
WEIR_CHECKED enum weir_status weir_queue_remove(const struct weir_outbox_log *log,
                                                struct weir_connection *connection,
                                                const char *name, bool force,
                                                struct weir_error *error);

#endif
