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

void weir_pending_wakeups_announce(struct weir_executions *executions,
                                   struct weir_connection *connection,
                                   struct weir_pending_wakeups *pending_wakeups,
                                   int64_t now_us, struct weir_commit_batch *commit_batch)
{
    struct weir_notify_throttle *notify_throttle = &executions->notify_throttle;
    const struct weir_announcement news = {
        .ready = pending_wakeups->ready,
        .kinds = weir_notify_throttle_due(notify_throttle, soon(pending_wakeups, now_us),
                                          weir_clock_now_ns()),
        .teller = pending_wakeups->adopted ? 0 : notify_throttle->teller,
    };

    pending_wakeups->announced = news.kinds;
    weir_notify_throttle_notify(notify_throttle, connection, &news, commit_batch);
}

static enum weir_status store_lists(struct weir_executions *executions,
                                    struct weir_connection *connection,
                                    const struct change_lists *change_lists,
                                    struct weir_commit_batch *commit_batch,
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

    return weir_store_rewrite(&executions->store, connection, &rewrite, commit_batch,
                              error);
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
static enum weir_status
close_waits(struct weir_executions *executions, struct weir_connection *connection,
            const struct weir_change *changes, size_t count, int64_t *nos, int64_t now_us,
            struct weir_commit_batch *commit_batch, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t closed = 0;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (changes[i].consequence.wait_ended)
            nos[closed++] = changes[i].stored->row.no;
        if (changes[i].consequence.waited_too_long)
            status = tell_timeout(connection, changes[i].stored->row.no, now_us, error);
    }
    return status == WEIR_OK ? weir_wait_store_close(&executions->store, connection, nos,
                                                     closed, now_us, commit_batch, error)
                             : status;
}

/* All that is to be written about these is written, or is in the commit batch; nothing
 * that follows from it for others. */
static enum weir_status
store_rows(struct weir_executions *executions, struct weir_connection *connection,
           struct weir_change *changes, size_t count, int64_t now_us,
           struct weir_pending_wakeups *pending_wakeups,
           struct weir_commit_batch *commit_batch, struct weir_error *error)
{
    struct change_lists change_lists;
    enum weir_status status = lists_init(&change_lists, executions->heap, count, error);
    bool told = false;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        collect(&change_lists, &changes[i], now_us);
        weir_pending_wakeups_note(pending_wakeups, &changes[i].stored->row);
    }
    if (status == WEIR_OK)
        status = store_lists(executions, connection, &change_lists, commit_batch, error);
    if (status == WEIR_OK)
        status = close_waits(executions, connection, changes, count, change_lists.nos,
                             now_us, commit_batch, error);
    if (status == WEIR_OK)
        status = weir_events_send(executions, connection, changes, count, now_us, &told,
                                  error);
    lists_fini(&change_lists);
    pending_wakeups->events |= told;
    return status;
}

/* Are they counted as ends of their flows already? */
enum moment { END_NOW, ENDED_BEFORE };

/* What a level needs in a commit batch, and what comes behind the last one. */
enum { LEVEL_STEPS = 6, LEVEL_VALUES = 48, LAST_STEPS = 1, LAST_VALUES = 8 };

/* What follows from what has followed, until nothing does any more. */
static enum weir_status resolve_levels(struct weir_resolution *resolution,
                                       struct weir_connection *connection, int64_t now_us,
                                       struct weir_pending_wakeups *pending_wakeups,
                                       struct weir_error *error)
{
    struct weir_commit_batch *commit_batch = resolution->commit_batch;
    enum weir_status status = WEIR_OK;

    for (int depth = 1; status == WEIR_OK && resolution->count > 0; depth++) {
        status = weir_commit_batch_make_room(commit_batch, connection, LEVEL_STEPS,
                                             LEVEL_VALUES, error);
        if (status == WEIR_OK)
            status = store_rows(resolution->executions, connection, resolution->changes,
                                resolution->count, now_us, pending_wakeups, commit_batch,
                                error);
        if (status == WEIR_OK)
            status = weir_resolution_count(resolution, resolution->changes,
                                           resolution->count, error);
        if (status != WEIR_OK || !weir_resolution_goes_on(resolution))
            break;
        if (depth == WEIR_RESOLVE_DEPTH) {
            weir_pending_wakeups_note_due(pending_wakeups, WEIR_DUE_EDGES, now_us);
            break;
        }
        status = weir_commit_batch_send(commit_batch, connection, error);
        if (status == WEIR_OK)
            status =
                weir_resolution_step(resolution, connection, resolution->changes,
                                     resolution->count, now_us, pending_wakeups, error);
    }
    return status;
}

static void release_resolution(void *resolution)
{
    weir_resolution_destroy(resolution);
}

/* Level by level. What it has loaded is kept until all of it is written. */
static enum weir_status
resolve(struct weir_executions *executions, struct weir_connection *connection,
        const struct weir_change *changes, size_t count, enum moment moment,
        int64_t now_us, struct weir_pending_wakeups *pending_wakeups,
        struct weir_commit_batch *commit_batch, size_t *edges, struct weir_error *error)
{
    struct weir_resolution *resolution;
    enum weir_status status = WEIR_OK;

    *edges = 0;
    if (!weir_resolution_is_needed(changes, count))
        return WEIR_OK;
    resolution = weir_resolution_create(executions, commit_batch);
    if (resolution == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    weir_commit_batch_keep(commit_batch, resolution, release_resolution);
    if (moment == END_NOW)
        status = weir_resolution_count(resolution, changes, count, error);
    else
        resolution->edges_max = WEIR_RESOLVE_EDGES_LEFT;
    if (status == WEIR_OK)
        status = weir_resolution_step(resolution, connection, changes, count, now_us,
                                      pending_wakeups, error);
    if (status == WEIR_OK)
        status = resolve_levels(resolution, connection, now_us, pending_wakeups, error);
    if (status == WEIR_OK)
        status = weir_resolution_finish(resolution, connection, now_us, error);
    *edges = resolution->edges;
    return status;
}

/* Inside the transaction: the word to others, behind all else. */
static enum weir_status announce(struct weir_executions *executions,
                                 struct weir_connection *connection,
                                 struct weir_pending_wakeups *pending_wakeups,
                                 int64_t now_us, struct weir_commit_batch *commit_batch,
                                 struct weir_error *error)
{
    enum weir_status status = weir_commit_batch_make_room(commit_batch, connection,
                                                          LAST_STEPS, LAST_VALUES, error);

    if (status == WEIR_OK)
        weir_pending_wakeups_announce(executions, connection, pending_wakeups, now_us,
                                      commit_batch);
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
    struct weir_commit_batch *commit_batch;
    enum weir_status status =
        weir_commit_batch_create(executions->heap, &commit_batch, error);

    *edges = 0;
    if (status == WEIR_OK)
        status = resolve(executions, connection, changes, count, ENDED_BEFORE, now_us,
                         &fresh, commit_batch, edges, error);
    if (status == WEIR_OK)
        status = announce(executions, connection, &fresh, now_us, commit_batch, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(commit_batch, connection, error);
    if (status == WEIR_OK)
        add(pending_wakeups, &fresh);
    weir_commit_batch_destroy(commit_batch);
    return status;
}

/* With all that follows. */
static enum weir_status write_down(struct weir_executions *executions,
                                   struct weir_connection *connection,
                                   struct weir_change *changes, size_t count,
                                   int64_t now_us, struct weir_pending_wakeups *fresh,
                                   struct weir_commit_batch *commit_batch,
                                   struct weir_error *error)
{
    size_t edges;
    enum weir_status status = store_rows(executions, connection, changes, count, now_us,
                                         fresh, commit_batch, error);

    if (status == WEIR_OK)
        status = resolve(executions, connection, changes, count, END_NOW, now_us, fresh,
                         commit_batch, &edges, error);
    return status == WEIR_OK
               ? announce(executions, connection, fresh, now_us, commit_batch, error)
               : status;
}

/* The commit batch is the caller's, also after a failure. */
static enum weir_status compose(struct weir_executions *executions,
                                struct weir_connection *connection,
                                struct weir_change *changes, size_t count, int64_t now_us,
                                struct weir_pending_wakeups *fresh,
                                struct weir_commit_batch **out, struct weir_error *error)
{
    enum weir_status status = weir_commit_batch_create(executions->heap, out, error);

    return status == WEIR_OK ? write_down(executions, connection, changes, count, now_us,
                                          fresh, *out, error)
                             : status;
}

enum weir_status weir_change_set_store_at_commit(
    struct weir_executions *executions, struct weir_connection *connection,
    struct weir_change *changes, size_t count, int64_t now_us,
    struct weir_pending_wakeups *pending_wakeups, struct weir_error *error)
{
    struct weir_pending_wakeups fresh = {.ready = false};
    struct weir_commit_batch *commit_batch = NULL;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = compose(executions, connection, changes, count, now_us, &fresh,
                     &commit_batch, error);
    if (status != WEIR_OK) {
        weir_commit_batch_destroy(commit_batch);
        return status;
    }
    weir_commit_batch_attach(commit_batch, connection);
    add(pending_wakeups, &fresh);
    return WEIR_OK;
}

enum weir_status weir_change_set_store(struct weir_executions *executions,
                                       struct weir_connection *connection,
                                       struct weir_change *changes, size_t count,
                                       int64_t now_us,
                                       struct weir_pending_wakeups *pending_wakeups,
                                       struct weir_error *error)
{
    struct weir_pending_wakeups fresh = {.ready = false};
    struct weir_commit_batch *commit_batch = NULL;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = compose(executions, connection, changes, count, now_us, &fresh,
                     &commit_batch, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(commit_batch, connection, error);
    if (status == WEIR_OK)
        add(pending_wakeups, &fresh);
    weir_commit_batch_destroy(commit_batch);
    return status;
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
