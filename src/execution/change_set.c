/*
 * change_set.c - see change_set.h.
 *
 * The order inside the transaction is free, since all of it commits together: what
 * needs no answer goes with the commit (commit_batch.h). The rows are locked, so
 * nothing is in the way of writing them.
 */
#include "execution/change_set.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "execution/events.h"
#include "execution/executions.h"
#include "execution/flow/resolve.h"
#include "execution/wait/wait_store.h"
#include "weir/outbox.h"

#define SOON(kind, ...) [WEIR_DUE_##kind] = WEIR_##kind##_LOOK_MS * 1000,
static const int64_t SOON_US[WEIR_DUE_KINDS] = {
    WEIR_RECONCILERS(SOON, WEIR_NO_ROW_OF_LIST, SOON, SOON, WEIR_NO_ROW_OF_LIST)};

/* Lists of all that is to be written, each as long as the changes at most. */
struct change_lists {
    const struct weir_heap *heap;
    struct weir_execution_record *rows;
    struct weir_ended_attempt *attempts;
    struct weir_new_result *results;
    int64_t *nos; /* room for numbers */
    size_t row_count;
    size_t attempt_count;
    size_t result_count;
};

static enum weir_status lists_init(struct change_lists *self,
                                   const struct weir_heap *heap, size_t count,
                                   struct weir_error *error)
{
    *self = (struct change_lists){
        .heap = heap,
        .rows = weir_heap_zalloc_array(heap, count, sizeof *self->rows),
        .attempts = weir_heap_zalloc_array(heap, count, sizeof *self->attempts),
        .results = weir_heap_zalloc_array(heap, count, sizeof *self->results),
        .nos = weir_heap_zalloc_array(heap, count, sizeof *self->nos),
    };
    if (self->rows != NULL && self->attempts != NULL && self->results != NULL &&
        self->nos != NULL)
        return WEIR_OK;
    return weir_no_memory_for(error, "%zu changes", count);
}

static void lists_fini(struct change_lists *self)
{
    weir_heap_free(self->heap, self->rows);
    weir_heap_free(self->heap, self->attempts);
    weir_heap_free(self->heap, self->results);
    weir_heap_free(self->heap, self->nos);
}

static struct weir_ended_attempt attempt_of(const struct weir_change *change,
                                            int64_t now_us)
{
    const struct weir_execution_row *row = &change->stored->row;

    return (struct weir_ended_attempt){
        .no = row->no,
        .number = row->attempts - 1,
        .type = row->attempt_type,
        .outcome = change->consequence.outcome,
        .epoch = change->consequence.attempt_epoch,
        .started_us = row->claimed_us,
        .ended_us = now_us,
        .worker = row->worker,
        .instance = row->instance,
        .failure = change->consequence.failure,
    };
}

static void collect(struct change_lists *self, const struct weir_change *change,
                    int64_t now_us)
{
    self->rows[self->row_count++] = *change->stored;
    if (change->consequence.attempt_ended)
        self->attempts[self->attempt_count++] = attempt_of(change, now_us);
    if (change->result.data != NULL)
        self->results[self->result_count++] =
            (struct weir_new_result){change->stored->row.no, change->result};
}

void weir_pending_wakeups_note_due(struct weir_pending_wakeups *pending_wakeups,
                                   enum weir_due_kind kind, int64_t due_us)
{
    int64_t *earliest_us = &pending_wakeups->due_us[kind];

    if (due_us > 0 && (*earliest_us == 0 || due_us < *earliest_us))
        *earliest_us = due_us;
}

void weir_pending_wakeups_note(struct weir_pending_wakeups *pending_wakeups,
                               const struct weir_execution_row *row)
{
    if (weir_state_is_over(row->state)) {
        pending_wakeups->over = true;
        return;
    }
    if (row->state == WEIR_EXEC_READY)
        pending_wakeups->ready = true;
    if (row->state != WEIR_EXEC_BLOCKED)
        weir_pending_wakeups_note_due(
            pending_wakeups,
            row->state == WEIR_EXEC_SUSPENDED ? WEIR_DUE_WAIT : WEIR_DUE_DELAYED,
            row->due_us);
    weir_pending_wakeups_note_due(pending_wakeups, WEIR_DUE_LEASE, row->lease_us);
    weir_pending_wakeups_note_due(pending_wakeups, WEIR_DUE_ATTEMPT,
                                  row->attempt_deadline_us);
    weir_pending_wakeups_note_due(pending_wakeups, WEIR_DUE_DEADLINE, row->deadline_us);
}

static void add(struct weir_pending_wakeups *self,
                const struct weir_pending_wakeups *other)
{
    self->ready |= other->ready;
    self->over |= other->over;
    self->events |= other->events;
    self->announced |= other->announced;
    for (int i = 0; i < WEIR_DUE_KINDS; i++)
        weir_pending_wakeups_note_due(self, (enum weir_due_kind)i, other->due_us[i]);
}

/* The kinds of those that come before their reconciler looks by itself. */
static uint32_t soon(const struct weir_pending_wakeups *pending_wakeups, int64_t now_us)
{
    uint32_t kinds = 0;

    for (int i = 0; i < WEIR_DUE_KINDS; i++) {
        if (pending_wakeups->due_us[i] > 0 &&
            pending_wakeups->due_us[i] - now_us < SOON_US[i])
            kinds |= 1U << i;
    }
    return kinds;
}

void weir_pending_wakeups_announce(const struct weir_unit *unit)
{
    struct weir_notify_throttle *notify_throttle = &unit->executions->notify_throttle;
    struct weir_pending_wakeups *pending_wakeups = unit->wakeups;
    const struct weir_announcement news = {
        .ready = pending_wakeups->ready,
        .kinds = weir_notify_throttle_due(
            notify_throttle, soon(pending_wakeups, unit->now_us), weir_clock_now_ns()),
        .teller = pending_wakeups->adopted ? 0 : notify_throttle->teller,
    };

    pending_wakeups->announced = news.kinds;
    weir_notify_throttle_notify(notify_throttle, unit->connection, &news,
                                unit->commit_batch);
}

static enum weir_status store_lists(const struct weir_unit *unit,
                                    const struct change_lists *change_lists,
                                    struct weir_error *error)
{
    const struct weir_rewrite rewrite = {
        .rows = change_lists->rows,
        .row_count = change_lists->row_count,
        .attempts = change_lists->attempts,
        .attempt_count = change_lists->attempt_count,
        .results = change_lists->results,
        .result_count = change_lists->result_count,
    };

    return weir_store_rewrite(&unit->executions->store, unit->connection, &rewrite,
                              unit->commit_batch, error);
}

/* A worker that resumes after a timeout learns of it by a signal, at no waitpoint. */
static enum weir_status tell_timeout(struct weir_connection *connection, int64_t no,
                                     int64_t now_us, struct weir_error *error)
{
    struct weir_signal_row row = {
        .idempotency_key = weir_str("timeout"),
        .name = weir_str("timeout"),
        .source_type = weir_str("engine"),
        .source = weir_str("suspension_timeout"),
        .payload = weir_str(""),
        .came_us = now_us,
    };
    bool added = false;

    return weir_signal_add(connection, no, &row, &added, error);
}

/* Suspensions that are over. */
static enum weir_status close_waits(const struct weir_unit *unit,
                                    const struct weir_change *changes, size_t count,
                                    int64_t *nos, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t closed = 0;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        int64_t no = changes[i].stored->row.no;

        if (changes[i].consequence.wait_ended)
            nos[closed++] = no;
        if (changes[i].consequence.waited_too_long)
            status = tell_timeout(unit->connection, no, unit->now_us, error);
    }
    return status == WEIR_OK
               ? weir_wait_store_close(unit->connection, nos, closed, unit->now_us,
                                       unit->commit_batch, error)
               : status;
}

/* All that is to be written about these is written, or is in the commit batch; nothing
 * that follows from it for others. */
static enum weir_status store_rows(const struct weir_unit *unit,
                                   struct weir_change *changes, size_t count,
                                   struct weir_error *error)
{
    struct change_lists change_lists;
    enum weir_status status =
        lists_init(&change_lists, unit->executions->heap, count, error);
    bool told = false;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        collect(&change_lists, &changes[i], unit->now_us);
        weir_pending_wakeups_note(unit->wakeups, &changes[i].stored->row);
    }
    if (status == WEIR_OK)
        status = store_lists(unit, &change_lists, error);
    if (status == WEIR_OK)
        status = close_waits(unit, changes, count, change_lists.nos, error);
    if (status == WEIR_OK)
        status = weir_events_send(unit->executions, unit->connection, changes, count,
                                  unit->now_us, &told, error);
    lists_fini(&change_lists);
    unit->wakeups->events |= told;
    return status;
}

/* Are they counted as ends of their flows already? */
enum moment { END_NOW, ENDED_BEFORE };

/* What a level needs in a commit batch, and what comes behind the last one. */
enum { LEVEL_STEPS = 6, LEVEL_VALUES = 48, LAST_STEPS = 1, LAST_VALUES = 8 };

/* What follows from what has followed, until nothing does any more. */
static enum weir_status resolve_levels(struct weir_resolution *resolution,
                                       struct weir_error *error)
{
    const struct weir_unit *unit = &resolution->unit;
    enum weir_status status = WEIR_OK;

    for (int depth = 1; status == WEIR_OK && resolution->count > 0; depth++) {
        status = weir_commit_batch_make_room(unit->commit_batch, unit->connection,
                                             LEVEL_STEPS, LEVEL_VALUES, error);
        if (status == WEIR_OK)
            status = store_rows(unit, resolution->changes, resolution->count, error);
        if (status == WEIR_OK)
            status = weir_resolution_count(resolution, resolution->changes,
                                           resolution->count, error);
        if (status != WEIR_OK || !weir_resolution_goes_on(resolution))
            break;
        if (depth == WEIR_RESOLVE_DEPTH) {
            weir_pending_wakeups_note_due(unit->wakeups, WEIR_DUE_EDGES, unit->now_us);
            break;
        }
        status = weir_commit_batch_send(unit->commit_batch, unit->connection, error);
        if (status == WEIR_OK)
            status = weir_resolution_step(resolution, resolution->changes,
                                          resolution->count, error);
    }
    return status;
}

static void release_resolution(void *resolution)
{
    weir_resolution_destroy(resolution);
}

/* Level by level. What it has loaded is kept until all of it is written. */
static enum weir_status resolve(const struct weir_unit *unit,
                                const struct weir_change *changes, size_t count,
                                enum moment moment, size_t *edges,
                                struct weir_error *error)
{
    struct weir_resolution *resolution;
    enum weir_status status = WEIR_OK;

    *edges = 0;
    if (!weir_resolution_is_needed(changes, count))
        return WEIR_OK;
    resolution = weir_resolution_create(unit);
    if (resolution == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    weir_commit_batch_keep(unit->commit_batch, resolution, release_resolution);
    if (moment == END_NOW)
        status = weir_resolution_count(resolution, changes, count, error);
    else
        resolution->edges_max = WEIR_RESOLVE_EDGES_LEFT;
    if (status == WEIR_OK)
        status = weir_resolution_step(resolution, changes, count, error);
    if (status == WEIR_OK)
        status = resolve_levels(resolution, error);
    if (status == WEIR_OK)
        status = weir_resolution_finish(resolution, error);
    *edges = resolution->edges;
    return status;
}

/* Inside the transaction: the word to others, behind all else. */
static enum weir_status announce(const struct weir_unit *unit, struct weir_error *error)
{
    enum weir_status status = weir_commit_batch_make_room(
        unit->commit_batch, unit->connection, LAST_STEPS, LAST_VALUES, error);

    if (status == WEIR_OK)
        weir_pending_wakeups_announce(unit);
    return status;
}

enum weir_status weir_change_set_resolve(struct weir_executions *executions,
                                         struct weir_connection *connection,
                                         struct weir_change *changes, size_t count,
                                         int64_t now_us,
                                         struct weir_pending_wakeups *pending_wakeups,
                                         size_t *edges, struct weir_error *error)
{
    struct weir_pending_wakeups fresh = {.ready = false};
    struct weir_unit unit = {executions, connection, now_us, &fresh, NULL};
    enum weir_status status =
        weir_commit_batch_create(executions->heap, &unit.commit_batch, error);

    *edges = 0;
    if (status == WEIR_OK)
        status = resolve(&unit, changes, count, ENDED_BEFORE, edges, error);
    if (status == WEIR_OK)
        status = announce(&unit, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(unit.commit_batch, connection, error);
    if (status == WEIR_OK)
        add(pending_wakeups, &fresh);
    weir_commit_batch_destroy(unit.commit_batch);
    return status;
}

/* With all that follows. */
static enum weir_status write_down(const struct weir_unit *unit,
                                   struct weir_change *changes, size_t count,
                                   struct weir_error *error)
{
    size_t edges;
    enum weir_status status = store_rows(unit, changes, count, error);

    if (status == WEIR_OK)
        status = resolve(unit, changes, count, END_NOW, &edges, error);
    return status == WEIR_OK ? announce(unit, error) : status;
}

/* When what needs no answer is sent. */
enum sending { SEND_NOW, SEND_AT_COMMIT };

/* What is to be announced is added to that of the unit once all of it is stored. */
static enum weir_status store(struct weir_unit unit, struct weir_change *changes,
                              size_t count, enum sending sending,
                              struct weir_error *error)
{
    struct weir_pending_wakeups *all = unit.wakeups;
    struct weir_pending_wakeups fresh = {.ready = false};
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    unit.wakeups = &fresh;
    status = weir_commit_batch_create(unit.executions->heap, &unit.commit_batch, error);
    if (status == WEIR_OK)
        status = write_down(&unit, changes, count, error);
    if (status == WEIR_OK && sending == SEND_NOW)
        status = weir_commit_batch_send(unit.commit_batch, unit.connection, error);
    if (status == WEIR_OK && sending == SEND_AT_COMMIT)
        weir_commit_batch_attach(unit.commit_batch, unit.connection);
    else
        weir_commit_batch_destroy(unit.commit_batch);
    if (status == WEIR_OK)
        add(all, &fresh);
    return status;
}

enum weir_status weir_change_set_store_at_commit(
    struct weir_executions *executions, struct weir_connection *connection,
    struct weir_change *changes, size_t count, int64_t now_us,
    struct weir_pending_wakeups *pending_wakeups, struct weir_error *error)
{
    return store(
        (struct weir_unit){executions, connection, now_us, pending_wakeups, NULL},
        changes, count, SEND_AT_COMMIT, error);
}

enum weir_status weir_change_set_store(struct weir_executions *executions,
                                       struct weir_connection *connection,
                                       struct weir_change *changes, size_t count,
                                       int64_t now_us,
                                       struct weir_pending_wakeups *pending_wakeups,
                                       struct weir_error *error)
{
    return store(
        (struct weir_unit){executions, connection, now_us, pending_wakeups, NULL},
        changes, count, SEND_NOW, error);
}

void weir_pending_wakeups_send(struct weir_executions *executions,
                               const struct weir_pending_wakeups *pending_wakeups)
{
    if (pending_wakeups->announced != 0)
        weir_notify_throttle_note_sent(&executions->notify_throttle,
                                       pending_wakeups->announced, weir_clock_now_ns());
    if (pending_wakeups->ready)
        weir_claim_waiters_wake(&executions->claim_waiters);
    weir_lock_acquire(&executions->lock);
    WEIR_LIST_EACH(link, &executions->listeners)
    {
        struct weir_executions_listener *listener =
            WEIR_CONTAINER_OF(link, struct weir_executions_listener, link);

        listener->heard(listener->state, pending_wakeups);
    }
    weir_lock_release(&executions->lock);
    if (pending_wakeups->events)
        weir_outbox_flush(executions->outbox);
}
