/*
 * queue_removal.c - see queue_removal.h.
 *
 * Which transactions may still write under the number of a queue that is marked?
 *
 *   SQLite      Processes that remember it. The mark was the only write transaction there
 *               was, and a transaction with an older snapshot cannot write any more.
 *   PostgreSQL  Also a transaction whose snapshot is older than the mark: it looks the
 *               queue up and finds it unmarked. One that has no transaction id yet is
 *               in no list but that of the locks, where each transaction
 *               has its virtual id, visible to all. So all that are open now must have
 *               ended; then no transaction can find the old row, and a second later
 *               no process remembers it; and then those that are open again, since they
 *               may have remembered.
 *   MariaDB     Lists of transactions are for privileged users. There the look in the
 *               enqueue is a current read that holds the name until the transaction
 *               ends (catalog.c); a transaction that marks or removes the queue has it
 *               alone when all that have looked have ended, whatever their snapshot. What
 *               others have appended from memory is seen by a dirty read.
 */
#include "outbox/queue/queue_removal.h"

#include "base/buf.h"
#include "base/fault_point.h"
#include "db/clock.h"
#include "outbox/engine.h"
#include "outbox/queue/catalog.h"
#include "outbox/queue/queue_ops.h"
#include "outbox/queue/registry.h"

/* The mark outlasts the wait by so much: what the last transaction may take. */
#define MARGIN_NS WEIR_SECONDS(10)

enum { LIST_SIZE_MAX = 1 << 20 };

/* ---- the three steps --------------------------------------------------------------- */

static enum weir_status wait_for_others(struct weir_queue_removal *self,
                                        struct weir_error *error)
{
    const struct weir_queue_ops *ops = weir_outbox_engine_of(self->connection)->queue;
    enum weir_status status = WEIR_OK;

    if (ops->outlast_blind != NULL)
        status = ops->outlast_blind(self, error);
    if (status == WEIR_OK && !weir_clock_sleep(WEIR_REGISTRY_AGE_NS))
        return weir_error_set(error, WEIR_CLOSED, "asked to stop");
    if (status == WEIR_OK && ops->outlast_all != NULL)
        status = ops->outlast_all(self, error);
    return status;
}

enum weir_status weir_queue_remove(const struct weir_outbox_log *log,
                                   struct weir_connection *connection, const char *name,
                                   bool force, struct weir_error *error)
{
    int64_t wait_ns = WEIR_POINT(log->points, "removal.short_wait")
                          ? WEIR_MILLISECONDS(50)
                          : WEIR_REMOVAL_WAIT_NS;
    struct weir_queue_removal self = {.log = log, .connection = connection, .name = name};
    enum weir_status status = weir_catalog_mark(
        log, connection, name, force, (wait_ns + WEIR_REGISTRY_AGE_NS + MARGIN_NS) / 1000,
        &self.queue_id, error);

    if (status != WEIR_OK)
        return status;
    self.deadline_ns = weir_clock_now_ns() + WEIR_REGISTRY_AGE_NS + wait_ns;
    weir_buf_init(&self.waited_for, weir_connection_config(connection)->heap,
                  LIST_SIZE_MAX);
    (void)WEIR_POINT(log->points, "removal.marked");
    status = wait_for_others(&self, error);
    if (status == WEIR_OK)
        status = weir_catalog_remove(log, connection, name, force, error);
    if (status != WEIR_OK)
        weir_catalog_unmark(connection, self.queue_id);
    weir_buf_fini(&self.waited_for);
    return status;
}
