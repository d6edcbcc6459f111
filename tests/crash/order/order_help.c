/*
 * order_help.c - processes that do one thing a deliverer does, and do it all the time.
 */
#include "crash/order/order_shared.h"
#include "outbox/log/log.h"

struct helper {
    struct order_run *run;
    struct weir_db *db;
    struct weir_connection *connection;
    struct weir_outbox_log log;
    struct weir_error error;
};

static void open_helper(struct helper *self, struct order_run *run)
{
    *self = (struct helper){.run = run, .db = rig_open_db(&run->rig)};
    weir_error_clear(&self->error);
    order_must(run, "connect", weir_db_acquire(self->db, &self->connection, &self->error),
               &self->error);
    order_must(run, "open",
               weir_outbox_log_open(&self->log, self->connection, &self->error),
               &self->error);
    self->log.points = &run->shared->rig.points;
}

static void close_helper(struct helper *self)
{
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
}

/* After that it may rest or leave. */
static bool goes_on(struct helper *self, enum weir_status status)
{
    if (!order_is_passing(self->run, status))
        order_must(self->run, "help", status, &self->error);
    rig_rest_us(1000);
    return !rig_must_leave(&self->run->rig);
}

static enum weir_status cut(struct helper *self)
{
    struct weir_log_position head = {0};
    bool moved;

    return self->log.ops->advance(&self->log, self->connection, head, true, NULL, &head,
                                  &moved, &self->error);
}

void order_cut(struct order_run *run)
{
    struct helper self;

    open_helper(&self, run);
    while (goes_on(&self, cut(&self)))
        continue;
    close_helper(&self);
}

void order_sweep(struct order_run *run)
{
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    struct helper self;

    open_helper(&self, run);
    while (goes_on(&self,
                   self.log.ops->sweep(&self.log, self.db, &state, &report, &self.error)))
        continue;
    close_helper(&self);
}
