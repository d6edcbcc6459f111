/*
 * read_lock_timeout.h - how long a read for a status waits for a lock.
 *
 * On PostgreSQL the sweep has a leaf of the log to itself while it judges and copies
 * its rows: for seconds, if there are a million. Status answers meanwhile: it gives up
 * a statement that would wait for that, and says what is known without the log.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_READ_LOCK_TIMEOUT_H
#define WEIR_OUTBOX_READ_LOCK_TIMEOUT_H

#include "db/connection.h"
#include "weir/time.h"

#define WEIR_READ_LOCK_TIMEOUT_NS WEIR_MILLISECONDS(150)

/*
 * From here on a statement that waits for a lock longer than WEIR_READ_LOCK_TIMEOUT_NS
 * fails with WEIR_LOCKED. Nothing on SQLite, where readers do not wait. Outside
 * of any transaction: a failed statement would end it. Behind a pooler it is a
 * transaction for reading, up to regain().
 */
WEIR_CHECKED enum weir_status
weir_read_lock_timeout_set(struct weir_connection *connection, struct weir_error *error);

/*
 * As it was. `status` is what came of the statements meanwhile, and is returned; but
 * WEIR_LOCKED is WEIR_OK and *locked.
 */
WEIR_CHECKED enum weir_status
weir_read_lock_timeout_reset(struct weir_connection *connection, enum weir_status status,
                             bool *locked, struct weir_error *error);

#endif
