/*
 * retention.c - the worker that removes dead letters and audit rows whose time is over.
 *
 * Letters that were resolved or discarded longer ago than their queue keeps them. Never
 * those that wait for a decision. It looks as seldom as the sweep does without load,
 * and in bounded steps; what another process is removing at the moment is left to it.
 */
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/transact.h"
#include "outbox/audit/audit_retention.h"
#include "outbox/dead_letter/dead_letter_rows.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/outbox.h"

/* A small table; so that nothing is written where no queue has a limit. */
static const struct weir_sql SQL_SHORTEST = {
    .name = "look for retention",
    .text = "SELECT coalesce(min(retention_us), 0) FROM {p}_queue WHERE retention_us > 0",
    .parameters = "",
};

enum { STEPS_PER_RUN = 16 };

struct weir_retention {
    struct weir_outbox *outbox;
    struct weir_outbox_report report;
};

/* One step. */
struct expiry {
    int64_t shortest_us; /* that any queue keeps them; 0: all do for ever */
    struct weir_letter_picks picks;
};

static enum weir_status remove_old(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    struct expiry *self = argument;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_letter_picks_read(
            &self->picks, connection, &weir_outbox_engine_of(connection)->letters->expire,
            VALUES(weir_integer(WEIR_DEAD_LETTER_STEP), weir_integer(now_us),
                   weir_integer(now_us - self->shortest_us)),
            error);
    if (status == WEIR_OK)
        status =
            weir_letters_remove(connection, self->picks.items, self->picks.count, error);
    return status;
}

static enum weir_status expire(struct weir_outbox *outbox, size_t *removed,
                               struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct expiry self = {.shortest_us = 0};
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    weir_letter_picks_init(&self.picks, outbox->heap);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_SHORTEST, NO_VALUES,
                                               &self.shortest_us, error);
    if (status == WEIR_OK && self.shortest_us > 0)
        status = weir_transact_on(connection, remove_old, &self, error);
    weir_db_release(outbox->db, connection);
    *removed = status == WEIR_OK ? self.picks.count : 0;
    weir_letter_picks_fini(&self.picks);
    return status;
}

/* ---- audit rows -------------------------------------------------------------------- */

static enum weir_status remove_audit_rows(struct weir_connection *connection,
                                          void *argument, struct weir_error *error)
{
    return weir_audit_expire(connection, argument, error);
}

static enum weir_status expire_audit(struct weir_context *context,
                                     struct weir_outbox *outbox, struct weir_error *error)
{
    int64_t removed = WEIR_AUDIT_EXPIRE_STEP;
    int64_t sum = 0;
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < STEPS_PER_RUN && removed >= WEIR_AUDIT_EXPIRE_STEP &&
                    status == WEIR_OK && !weir_context_cancelled(context);
         i++) {
        status = weir_transact(outbox->db, remove_audit_rows, &removed, error);
        sum += status == WEIR_OK ? removed : 0;
    }
    if (sum > 0)
        weir_log_event(outbox->logger, WEIR_LOG_INFO, "outbox.audit_removed",
                       "count=%lld", (long long)sum);
    return status;
}

/* ---- the worker -------------------------------------------------------------------- */

static enum weir_status retain(struct weir_context *context, void *state,
                               struct weir_directive *out, struct weir_error *error)
{
    struct weir_retention *self = state;
    struct weir_outbox *outbox = self->outbox;
    size_t removed = WEIR_DEAD_LETTER_STEP;
    enum weir_status status = WEIR_OK;

    self->report.messages = 0;
    for (int i = 0; i < STEPS_PER_RUN && removed == WEIR_DEAD_LETTER_STEP &&
                    status == WEIR_OK && !weir_context_cancelled(context);
         i++) {
        status = expire(outbox, &removed, error);
        self->report.messages += removed;
    }
    if (self->report.messages > 0)
        weir_log_event(outbox->logger, WEIR_LOG_INFO, "outbox.dead_letters_removed",
                       "count=%llu", (unsigned long long)self->report.messages);
    if (status == WEIR_OK)
        status = expire_audit(context, outbox, error);
    *out = status == WEIR_OK && removed == WEIR_DEAD_LETTER_STEP
               ? weir_proceed()
               : weir_sleep_for(outbox->tuning[WEIR_KIND_SWEEP].idle_ns);
    *out = weir_directive_with(*out, &weir_outbox_report_type, &self->report);
    if (status != WEIR_OK)
        weir_error_prefix(error, "retention");
    return status;
}

enum weir_status weir_retention_spawn(struct weir_outbox *outbox,
                                      struct weir_error *error)
{
    struct weir_retention *self = weir_heap_zalloc(outbox->heap, sizeof *self);

    if (self == NULL)
        return weir_no_memory(error, "start the retention");
    self->outbox = outbox;
    outbox->retention = self;
    return weir_outbox_spawn_maintenance(outbox, "retention", retain, self,
                                         WEIR_NOTIFY_RETENTION, error);
}
