/*
 * retention.c - the worker that removes dead letters whose time is over.
 *
 * Those that were resolved or discarded longer ago than their queue keeps them. Never those that
 * wait for a decision. It looks as seldom as the sweep does without load, and in bounded steps;
 * what another process is removing at the moment is left to it.
 */
#include "base/heap.h"
#include "base/log.h"
#include "outbox/dead_letter_rows.h"
#include "outbox/dead_letter_statements.h"
#include "outbox/outbox.h"

/*
 * By the index of closed ones, which SQLite has to be told (`how`): none younger than the shortest time that any queue keeps them is
 * looked at, and without such a queue none at all. {2} is now: a clock in the statement would be
 * asked for each row. 64: place.h.
 */
#define EXPIRED(how)                                                                     \
    "DELETE FROM {p}_dead_letter WHERE id IN (SELECT d.id FROM {p}_dead_letter d" how    \
    " JOIN {p}_queue q ON q.id = d.partition / 64 WHERE " WEIR_LETTER_CLOSED             \
    " AND d.completed_us < {2} - (SELECT min(retention_us) FROM {p}_queue"               \
    "   WHERE retention_us > 0)"                                                         \
    " AND q.retention_us > 0 AND d.completed_us < {2} - q.retention_us"                  \
    " ORDER BY d.completed_us LIMIT (SELECT {1})"

const struct weir_sql weir_letter_sql_expire[] = {
    [WEIR_SQLITE] = {.name = "remove old dead letters",
                     .text = EXPIRED(" INDEXED BY {p}_dead_letter_closed") ")",
                     .parameters = "ii"},
    [WEIR_POSTGRESQL] = {.name = "remove old dead letters",
                         .text = EXPIRED("") " FOR UPDATE OF d SKIP LOCKED)",
                         .parameters = "ii"},
};

/* A small table; so that nothing is written where no queue has a limit. */
static const struct weir_sql SQL_IS_WANTED = {
    .name = "look for retention",
    .text = "SELECT count(*) FROM {p}_queue WHERE retention_us > 0",
    .parameters = "",
};

enum { STEPS_PER_RUN = 16 };

struct weir_retention {
    struct weir_outbox *outbox;
    struct weir_outbox_report report;
};

static enum weir_status expire(struct weir_outbox *outbox, int64_t *removed,
                               struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    int64_t queues = 0;
    int64_t now_us = 0;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    *removed = 0;
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_IS_WANTED, NO_VALUES,
                                               &queues, error);
    if (status == WEIR_OK && queues > 0)
        status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK && queues > 0)
        status = weir_connection_execute(
            connection, &weir_letter_sql_expire[outbox->log.ops->engine],
            VALUES(weir_integer(WEIR_DEAD_LETTER_STEP), weir_integer(now_us)), removed,
            error);
    weir_db_release(outbox->db, connection);
    return status;
}

static enum weir_status retain(struct weir_context *context, void *state,
                               struct weir_directive *out, struct weir_error *error)
{
    struct weir_retention *self = state;
    struct weir_outbox *outbox = self->outbox;
    int64_t removed = WEIR_DEAD_LETTER_STEP;
    enum weir_status status = WEIR_OK;

    self->report.messages = 0;
    for (int i = 0; i < STEPS_PER_RUN && removed == WEIR_DEAD_LETTER_STEP &&
                    status == WEIR_OK && !weir_context_cancelled(context);
         i++) {
        status = expire(outbox, &removed, error);
        self->report.messages += (uint64_t)removed;
    }
    if (self->report.messages > 0)
        weir_log_event(outbox->words, WEIR_LOG_INFO, "outbox.dead_letters_removed",
                       "count=%llu", (unsigned long long)self->report.messages);
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
    struct weir_staff_options options = {.category = "retention"};

    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "start the retention");
    self->outbox = outbox;
    outbox->retention = self;
    weir_worker_options_init(&options.worker);
    options.worker.name = "retention";
    options.worker.action = retain;
    options.worker.state = self;
    options.worker.notifiers = &outbox->bells[WEIR_BELL_RETENTION];
    options.worker.notifier_count = 1;
    options.worker.shared = outbox->shared;
    options.worker.pace = weir_pace_none();
    options.worker.backoff.initial_ns = WEIR_MILLISECONDS(500);
    options.worker.backoff.max_ns = WEIR_SECONDS(60);
    return weir_outbox_spawn(outbox, &options, error);
}
