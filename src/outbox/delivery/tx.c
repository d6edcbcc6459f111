/*
 * tx.c - see tx.h.
 *
 * Whatever goes wrong with the transaction itself breaks it (I2), and what is left is
 * to roll back. That a statement of the handler's has failed is not of that kind: a
 * return to the savepoint mends it, so it is only an answer that cannot be kept.
 */
#include "outbox/delivery/tx.h"

#include "base/assert.h"
#include "base/fault_point.h"
#include "db/db.h"
#include "outbox/delivery/mark.h"
#include "weir/time.h"

enum weir_status weir_tx_init(struct weir_tx *self)
{
    *self = (struct weir_tx){.state = WEIR_TX_FREE};
    return weir_lock_init(&self->lock);
}

void weir_tx_fini(struct weir_tx *self)
{
    WEIR_ASSERT(self->state == WEIR_TX_FREE);
    weir_lock_fini(&self->lock);
}

/* ---- beginning --------------------------------------------------------------------- */

static enum weir_status begin(struct weir_tx *self, struct weir_error *error)
{
    const struct weir_tx_options *options = &self->options;
    struct weir_connection *connection = self->connection;
    bool ours = false;
    enum weir_status status =
        weir_connection_begin_to_lend(connection, options->limit_us, error);

    if (status == WEIR_OK)
        status = weir_lease_confirm(connection, options->owner, &options->lease,
                                    options->limit_us, &ours, error);
    if (status == WEIR_OK && !ours)
        status = weir_error_set(error, WEIR_FENCED, "another process has the lease");
    if (status == WEIR_OK)
        status = weir_connection_savepoint(connection, error);
    return status;
}

/* True unless the outbox is gone. */
static bool move_to(struct weir_tx *self, enum weir_tx_state state, int64_t deadline_ns)
{
    bool abandoned;

    weir_lock_acquire(&self->lock);
    self->state = state;
    self->deadline_ns = deadline_ns;
    abandoned = self->abandoned;
    weir_lock_release(&self->lock);
    return !abandoned;
}

enum weir_status weir_tx_begin(struct weir_tx *self,
                               const struct weir_tx_options *options,
                               struct weir_error *error)
{
    enum weir_status status;

    self->options = *options;
    self->broken = false;
    (void)move_to(self, WEIR_TX_AT_WORK, WEIR_FOREVER);
    status = weir_db_acquire(options->db, &self->connection, error);
    if (status == WEIR_OK && options->mark != NULL)
        status = weir_mark_store(self->connection, options->owner, options->mark, error);
    if (status == WEIR_OK && WEIR_POINT(options->points, "tx.cannot_begin"))
        status = weir_error_set(error, WEIR_LOST, "lost by order of a test");
    if (status == WEIR_OK)
        status = begin(self, error);
    if (status == WEIR_OK)
        weir_connection_lend(self->connection);
    else
        weir_tx_end(self);
    return status;
}

struct weir_connection *weir_tx_connection(struct weir_tx *self)
{
    return self->connection;
}

/* ---- answers ----------------------------------------------------------------------- */

static enum weir_status repeat(const struct weir_error *failure, struct weir_error *error)
{
    if (error != NULL)
        *error = *failure;
    return failure->status;
}

/* From here on there is nothing to commit; everything else fails for the same reason. */
static enum weir_status break_off(struct weir_tx *self, struct weir_error *error)
{
    self->broken = true;
    return repeat(&self->failure, error);
}

/* Is it still our transaction? WEIR_FAILED: yes, but something in it has failed. */
static enum weir_status examine(struct weir_tx *self, struct weir_error *error)
{
    enum weir_status status;

    if (self->broken)
        return repeat(&self->failure, error);
    status = weir_connection_examine(self->connection, &self->failure);
    if (status == WEIR_OK)
        return WEIR_OK;
    if (status == WEIR_FAILED)
        return repeat(&self->failure, error);
    if (status == WEIR_INVALID)
        (void)weir_error_set(&self->failure, WEIR_INVALID,
                             "the transaction was ended by the handler, or given up by "
                             "the database");
    return break_off(self, error);
}

static enum weir_status lose_savepoint(struct weir_tx *self, struct weir_error *error)
{
    if (self->failure.status != WEIR_LOST)
        weir_error_prefix(&self->failure,
                          "the transaction was ended by the handler, or has failed");
    return break_off(self, error);
}

static enum weir_status keep(void *state, struct weir_error *error)
{
    struct weir_tx *self = state;
    enum weir_status status = examine(self, error);

    if (status != WEIR_OK)
        return status;
    status = weir_connection_savepoint_renew(self->connection, &self->failure);
    return status == WEIR_OK ? WEIR_OK : lose_savepoint(self, error);
}

static enum weir_status undo(void *state, struct weir_error *error)
{
    struct weir_tx *self = state;
    enum weir_status status = examine(self, error);

    if (status != WEIR_OK && status != WEIR_FAILED)
        return status;
    status = weir_connection_savepoint_return(self->connection, &self->failure);
    return status == WEIR_OK ? WEIR_OK : lose_savepoint(self, error);
}

struct weir_batch_effects weir_tx_effects(struct weir_tx *self)
{
    return (struct weir_batch_effects){.keep = keep, .undo = undo, .state = self};
}

enum weir_status weir_tx_undo(struct weir_tx *self, struct weir_error *error)
{
    return undo(self, error);
}

/* ---- ending ------------------------------------------------------------------------ */

enum weir_status weir_tx_commit(struct weir_tx *self, struct weir_ack *ack,
                                struct weir_error *error)
{
    enum weir_status status;

    if (self->broken)
        return repeat(&self->failure, error);
    (void)WEIR_POINT(self->options.points, "tx.commit");
    status = weir_ack_move_inside(self->connection, self->options.owner, ack, 1, error);
    if (status == WEIR_OK && !ack->accepted)
        status = weir_error_set(error, WEIR_FENCED, "another process has the lease");
    (void)WEIR_POINT(self->options.points, "tx.moved");
    if (status == WEIR_OK)
        status = weir_connection_commit(self->connection, error);
    if (status == WEIR_OK)
        (void)WEIR_POINT(self->options.points, "tx.committed");
    return status;
}

bool weir_tx_has_enqueued(const struct weir_tx *self)
{
    return weir_connection_is_marked(self->connection);
}

enum weir_status weir_tx_give_up_lease(struct weir_tx *self, struct weir_error *error)
{
    weir_connection_rollback(self->connection);
    return weir_lease_release(self->connection, self->options.owner, &self->options.lease,
                              1, error);
}

void weir_tx_end(struct weir_tx *self)
{
    struct weir_connection *connection = self->connection;

    self->connection = NULL;
    weir_db_release(self->options.db, connection);
    (void)move_to(self, WEIR_TX_FREE, WEIR_FOREVER);
}

/* ---- the handler's time ------------------------------------------------------------ */

void weir_tx_enter(struct weir_tx *self, int64_t deadline_ns)
{
    (void)move_to(self, WEIR_TX_IN_HANDLER, deadline_ns);
}

void weir_tx_leave(struct weir_tx *self)
{
    if (!move_to(self, WEIR_TX_AT_WORK, WEIR_FOREVER)) {
        (void)weir_error_set(&self->failure, WEIR_CLOSED, "the outbox was stopped");
        (void)break_off(self, NULL);
    }
    weir_connection_reclaim(self->connection);
}

int64_t weir_tx_cancel_late(struct weir_tx *self, int64_t now_ns)
{
    int64_t deadline_ns = WEIR_FOREVER;

    weir_lock_acquire(&self->lock);
    if (self->state == WEIR_TX_IN_HANDLER)
        deadline_ns = self->deadline_ns;
    if (deadline_ns <= now_ns)
        weir_connection_cancel(self->connection);
    weir_lock_release(&self->lock);
    return deadline_ns;
}

bool weir_tx_abandon(struct weir_tx *self)
{
    bool at_work;

    weir_lock_acquire(&self->lock);
    at_work = self->state == WEIR_TX_AT_WORK;
    if (self->state == WEIR_TX_IN_HANDLER) {
        self->abandoned = true;
        weir_db_abandon(self->options.db, self->connection);
    }
    weir_lock_release(&self->lock);
    return !at_work;
}
