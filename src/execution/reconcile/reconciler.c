/*
 * reconciler.c - see reconciler.h.
 *
 *   I1  what a tick leaves behind although it is due (another process has it,
 *       or it fails) is not waited for: the next look is for what comes later, or at the
 *       interval. So nothing spins
 *   I2  what becomes due while a tick runs is seen by it, or by another one: until its
 *       last look has been noted, every hint begins another cycle. While it is
 *       attentive it looks so often that a hint has only to make that last; one that
 *       finds it asleep wakes it
 *   I3  a batch is larger by those that are left alone, so they never fill it
 */
#include "execution/reconcile/reconciler.h"

#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/transact.h"
#include "ward/failures.h"

enum {
    BATCHES_PER_TICK = 16, /* then others have their turn on the executor's threads */
    ROWS_MAX = WEIR_RECONCILE_BATCH + WEIR_FAILURES_COUNT_MAX
};

/* One tick, in steps. */
struct round {
    struct weir_reconciler_task *task;
    struct weir_context *context;
    const struct weir_scan_tick *tick;
    struct weir_scan_report *report;
    struct weir_store_filter filter; /* with the partition at hand */
    bool more; /* it has not come to an end, and goes on at once in another tick */
};

/* One transaction. All behind `list` is what came of it. */
struct batch {
    struct round *round;
    int64_t only;   /* the number of a row; 0: whatever is due */
    bool list;      /* load, and leave it at that */
    bool full;      /* there may be more */
    size_t changed; /* of the task's changes */
    size_t skipped;
    struct weir_pending_wakeups pending_wakeups;
};

enum weir_status weir_reconciler_init(struct weir_reconciler_task *self,
                                      struct weir_error *error)
{
    enum weir_status status = weir_lock_init(&self->lock);

    if (status != WEIR_OK) {
        self->kind = NULL;
        return weir_error_set(error, status, "no lock");
    }
    weir_execution_records_init(&self->records, self->heap, ROWS_MAX);
    atomic_init(&self->look_us, INT64_MAX);
    atomic_init(&self->attentive_ns, 0);
    atomic_init(&self->told, false);
    self->looked_ns = INT64_MIN;
    self->borrowed = false;
    self->changes = NULL;
    self->nos = NULL;
    self->room = 0;
    self->running = NULL;
    return WEIR_OK;
}

void weir_reconciler_fini(struct weir_reconciler_task *self)
{
    if (self->kind == NULL)
        return;
    weir_heap_free(self->heap, self->nos);
    weir_heap_free(self->heap, self->changes);
    weir_execution_records_fini(&self->records);
    weir_lock_fini(&self->lock);
}

static int64_t period_of(const struct weir_reconciler_kind *kind)
{
    return kind->period_ns > 0 ? kind->period_ns : WEIR_RECONCILER_PERIOD_NS;
}

/* ---- what others see --------------------------------------------------------------- */

static bool is_late_for(const struct weir_reconciler_task *self, int64_t due_us)
{
    return due_us > 0 && due_us < atomic_load(&self->look_us);
}

/* Look often until then. True: it was asleep. */
static bool attend(struct weir_reconciler_task *self, int64_t until_ns)
{
    int64_t attentive_ns = atomic_load(&self->attentive_ns);

    while (attentive_ns < until_ns) {
        if (atomic_compare_exchange_weak(&self->attentive_ns, &attentive_ns, until_ns))
            return attentive_ns == 0;
    }
    return false;
}

bool weir_reconciler_hears(struct weir_reconciler_task *self,
                           const struct weir_pending_wakeups *pending_wakeups,
                           int64_t now_ns)
{
    enum weir_due_kind due = self->due;
    int64_t duration_ns = pending_wakeups->silence_ns;

    if (self->kind == NULL || self->kind->removes)
        return false;
    if ((pending_wakeups->nameless & 1U << due) != 0 || pending_wakeups->due_us[due] > 0)
        atomic_store(&self->told, true);
    if (duration_ns < WEIR_RECONCILER_PERIOD_NS)
        duration_ns = WEIR_RECONCILER_PERIOD_NS;
    if ((pending_wakeups->nameless & 1U << due) != 0 &&
        attend(self, weir_sat_add_i64(now_ns, duration_ns)))
        return true;
    return is_late_for(self, pending_wakeups->due_us[due]);
}

void weir_reconciler_abort(struct weir_reconciler_task *self)
{
    weir_lock_acquire(&self->lock);
    if (self->running != NULL)
        weir_connection_cancel(self->running);
    weir_lock_release(&self->lock);
}

void weir_reconciler_runs_on(struct weir_reconciler_task *self,
                             struct weir_connection *connection)
{
    weir_lock_acquire(&self->lock);
    self->running = connection;
    weir_lock_release(&self->lock);
}

void weir_reconciler_has_locked(struct weir_reconciler_task *self)
{
    (void)WEIR_POINT(weir_db_config(self->db)->points, "reconciler.locked");
}

/* ---- those that fail --------------------------------------------------------------- */

/* Their key is the id as people see it: it is what the log shows. */
static bool is_left_alone(const struct round *round, const struct weir_execution_row *row)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (weir_failures_count(round->tick->failures) == 0)
        return false;
    (void)weir_execution_id_format(&row->id, id);
    return weir_failures_skips(round->tick->failures, id, strlen(id));
}

static void note_success(const struct round *round, const struct weir_execution_row *row)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (weir_failures_count(round->tick->failures) == 0)
        return;
    (void)weir_execution_id_format(&row->id, id);
    weir_failures_note_success(round->tick->failures, id, strlen(id));
}

static void note_failure(struct round *round, const struct weir_execution_id *which,
                         const struct weir_error *error)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    (void)weir_execution_id_format(which, id);
    weir_log_event(weir_db_log(round->task->db), WEIR_LOG_WARNING, "execution.row_failed",
                   "reconciler=%s execution=%s text=\"%s\"", round->tick->scan, id,
                   error->text);
    weir_failures_note_failure(round->tick->failures, id, strlen(id));
    round->report->errors++;
}

/* ---- one transaction --------------------------------------------------------------- */

static enum weir_status load(struct batch *self, struct weir_connection *connection,
                             int64_t now_us, struct weir_error *error)
{
    struct round *round = self->round;
    struct weir_reconciler_task *task = round->task;
    struct weir_due_query query = {
        .kind = task->due, .now_us = now_us, .filter = round->filter};
    enum weir_status status;

    if (self->only != 0)
        return weir_store_load(task->store, connection, &self->only, 1, &task->records,
                               error);
    query.limit =
        WEIR_RECONCILE_BATCH + weir_failures_count(round->tick->failures); /* I3 */
    status = weir_store_pick_due(task->store, connection, &query, &task->records, error);
    self->full = status == WEIR_OK && task->records.count == query.limit;
    return status;
}

/* Room for as many changes as rows are loaded. */
static enum weir_status make_room(struct weir_reconciler_task *task,
                                  struct weir_error *error)
{
    size_t count = task->records.count;

    if (count <= task->room)
        return WEIR_OK;
    weir_heap_free(task->heap, task->nos);
    weir_heap_free(task->heap, task->changes);
    task->room = 0;
    task->nos = weir_heap_zalloc_array(task->heap, count, sizeof *task->nos);
    task->changes = weir_heap_zalloc_array(task->heap, count, sizeof *task->changes);
    if (task->nos == NULL || task->changes == NULL)
        return weir_no_memory_for(error, "%zu %s", count,
                                  WEIR_NOUN(count, "row", "rows"));
    task->room = count;
    return WEIR_OK;
}

/* The rule for each that is not left alone; those that it changed are the task's
 * changes. */
static void decide(struct batch *self, int64_t now_us)
{
    struct weir_reconciler_task *task = self->round->task;

    for (size_t i = 0; i < task->records.count; i++) {
        struct weir_execution_record *stored = &task->records.rows[i];
        struct weir_change *change = &task->changes[self->changed];

        if (is_left_alone(self->round, &stored->row)) {
            self->skipped++;
            continue;
        }
        *change = (struct weir_change){.stored = stored};
        if (task->kind->rule(&stored->row, now_us, &change->consequence) ==
            WEIR_RULING_DONE)
            self->changed++;
    }
}

static enum weir_status write_rows(struct batch *self, struct weir_connection *connection,
                                   int64_t now_us, struct weir_error *error)
{
    struct weir_reconciler_task *task = self->round->task;

    return weir_change_set_store(task->executions, connection, task->changes,
                                 self->changed, now_us, &self->pending_wakeups, error);
}

static enum weir_status remove_rows(struct batch *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    struct weir_reconciler_task *task = self->round->task;

    for (size_t i = 0; i < self->changed; i++)
        task->nos[i] = task->changes[i].stored->row.no;
    return weir_store_remove(task->store, connection, task->nos, self->changed, error);
}

static enum weir_status store(struct batch *self, struct weir_connection *connection,
                              int64_t now_us, struct weir_error *error)
{
    if (self->changed == 0)
        return WEIR_OK;
    if (self->round->task->kind->removes)
        return remove_rows(self, connection, error);
    return write_rows(self, connection, now_us, error);
}

static enum weir_status run(struct batch *self, struct weir_connection *connection,
                            struct weir_error *error)
{
    int64_t age_us = self->round->task->age_us;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = load(self, connection, now_us - age_us, error);
    if (status != WEIR_OK || self->list)
        return status;
    weir_reconciler_has_locked(self->round->task);
    status = make_room(self->round->task, error);
    if (status != WEIR_OK)
        return status;
    decide(self, now_us - age_us);
    return store(self, connection, now_us, error);
}

/* May run several times: nothing but *self is changed. */
static enum weir_status run_on(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct batch *self = argument;
    enum weir_status status;

    self->full = false;
    self->changed = 0;
    self->skipped = 0;
    self->pending_wakeups = (struct weir_pending_wakeups){.due_us = 0};
    weir_reconciler_runs_on(self->round->task, connection);
    status = run(self, connection, error);
    weir_reconciler_runs_on(self->round->task, NULL);
    return status;
}

static enum weir_status run_batch(struct batch *self, struct weir_error *error)
{
    struct round *round = self->round;
    struct weir_reconciler_task *task = round->task;
    enum weir_status status = weir_transact(task->db, run_on, self, error);

    if (status != WEIR_OK)
        return status;
    if (self->changed > 0)
        weir_pending_wakeups_send(task->executions, &self->pending_wakeups);
    for (size_t i = 0; i < self->changed; i++)
        note_success(round, &task->changes[i].stored->row);
    round->report->processed += self->changed;
    return WEIR_OK;
}

/* ---- looking ----------------------------------------------------------------------- */

/* The first that is due after `after_us`. */
static enum weir_status look(const struct round *round, int64_t after_us,
                             struct weir_due_time *out, struct weir_error *error)
{
    struct weir_reconciler_task *task = round->task;
    const struct weir_due_query query = {.kind = task->due,
                                         .now_us = after_us - task->age_us,
                                         .limit = 1,
                                         .filter = round->filter};
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(task->db, &connection, error);

    *out = (struct weir_due_time){.due_us = INT64_MAX};
    if (status == WEIR_OK) {
        task->looked_ns = weir_clock_now_ns();
        task->borrowed = false;
        weir_reconciler_runs_on(task, connection);
        status = weir_store_next_due(connection, &query, out, error);
        weir_reconciler_runs_on(task, NULL);
    }
    weir_db_release(task->db, connection);
    out->due_us = weir_sat_add_i64(out->due_us, task->age_us);
    return status;
}

static enum weir_status look_at_all(const struct round *round, struct weir_due_time *out,
                                    struct weir_error *error)
{
    return look(round, round->task->age_us, out, error);
}

/* For all that share the due cache. */
static enum weir_status look_for_others(struct weir_reconciler_task *task,
                                        const struct weir_store_filter *filter,
                                        struct weir_due_time *out,
                                        struct weir_error *error)
{
    const struct weir_due_query query = {.kind = task->due, .filter = *filter};
    struct weir_connection *connection = NULL;
    struct weir_due_times times;
    enum weir_status status = weir_db_acquire(task->db, &connection, error);

    if (status == WEIR_OK) {
        task->looked_ns = weir_clock_now_ns();
        weir_reconciler_runs_on(task, connection);
        status = weir_store_next_times(connection, &query, &times, error);
        weir_reconciler_runs_on(task, NULL);
    }
    weir_db_release(task->db, connection);
    if (status != WEIR_OK)
        return status;
    weir_due_cache_note(task->due_cache, task->looked_ns, &times);
    *out = (struct weir_due_time){times.due_us[task->due], times.now_us};
    return WEIR_OK;
}

static bool is_asleep(struct weir_reconciler_task *task)
{
    return atomic_load(&task->attentive_ns) == 0;
}

/* Of a look within the interval, that was not before its own. */
static bool is_known(struct weir_reconciler_task *task, struct weir_due_time *out)
{
    int64_t now_ns = weir_clock_now_ns();
    int64_t since_ns = weir_sat_sub_i64(now_ns, task->interval_us * 1000 - 1);

    if (since_ns < task->looked_ns)
        since_ns = task->looked_ns;
    return weir_due_cache_find(task->due_cache, task->due, now_ns, since_ns, out,
                               &task->looked_ns);
}

enum weir_status weir_reconciler_look(struct weir_reconciler_task *self, bool told,
                                      const struct weir_store_filter *filter,
                                      struct weir_due_time *out, struct weir_error *error)
{
    static const struct weir_store_filter ANYBODYS = {
        .name_space = {"", 0}, .tag_key = {"", 0}, .tag_value = {"", 0}};
    struct round round = {.task = self, .filter = filter != NULL ? *filter : ANYBODYS};

    self->borrowed = false;
    if (told || self->due_cache == NULL || (1U << self->due & WEIR_DUE_ASKED) == 0 ||
        !is_asleep(self))
        return look_at_all(&round, out, error);
    self->borrowed = is_known(self, out);
    return self->borrowed ? WEIR_OK : look_for_others(self, &round.filter, out, error);
}

static bool is_due(const struct weir_due_time *time)
{
    return time->due_us <= time->now_us;
}

/* ---- in smaller pieces ------------------------------------------------------------- */

bool weir_reconciler_is_about_rows(enum weir_status status)
{
    return weir_status_class(status) == WEIR_CLASS_REJECT || status == WEIR_FAILED ||
           status == WEIR_TIMEOUT || status == WEIR_LOCKED || status == WEIR_CONFLICT;
}

/* Again while there is more and something comes of it. */
static enum weir_status run_batches(struct round *round, struct weir_error *error)
{
    struct batch batch = {.round = round};
    bool more = true;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < BATCHES_PER_TICK && more && status == WEIR_OK; i++) {
        if (weir_context_cancelled(round->context))
            return WEIR_CANCELLED;
        status = run_batch(&batch, error);
        more = batch.full && batch.changed > 0;
    }
    if (status == WEIR_OK) {
        round->more |= more;
        round->report->skipped += batch.skipped; /* the same ones in all of them */
    }
    return status;
}

struct candidate {
    int64_t no;
    struct weir_execution_id id;
};

/* What is due in the partition and not left alone, without changing it. *full: that is
 * not all. */
static enum weir_status list(struct round *round, struct candidate **out, size_t *count,
                             bool *full, struct weir_error *error)
{
    struct weir_reconciler_task *task = round->task;
    struct batch batch = {.round = round, .list = true};
    struct candidate *candidates;
    enum weir_status status = run_batch(&batch, error);

    *out = NULL;
    *count = 0;
    *full = false;
    if (status != WEIR_OK || task->records.count == 0)
        return status;
    candidates =
        weir_heap_zalloc_array(task->heap, task->records.count, sizeof *candidates);
    if (candidates == NULL)
        return weir_no_memory_for(error, "%zu %s", task->records.count,
                                  WEIR_NOUN(task->records.count, "row", "rows"));
    for (size_t i = 0; i < task->records.count; i++) {
        const struct weir_execution_row *row = &task->records.rows[i].row;

        if (is_left_alone(round, row))
            round->report->skipped++;
        else
            candidates[(*count)++] = (struct candidate){row->no, row->id};
    }
    *out = candidates;
    *full = batch.full;
    return WEIR_OK;
}

/* When nothing of it works, what is behind has to wait too: there is no end to that
 * (I1). */
static enum weir_status run_one_by_one(struct round *round, struct weir_error *error)
{
    uint64_t processed = round->report->processed;
    struct candidate *candidates = NULL;
    size_t count = 0;
    bool full = false;
    enum weir_status status = list(round, &candidates, &count, &full, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct batch batch = {.round = round, .only = candidates[i].no};

        if (weir_context_cancelled(round->context)) {
            status = WEIR_CANCELLED;
            break;
        }
        (void)WEIR_POINT(weir_db_config(round->task->db)->points, "reconciler.row");
        status = run_batch(&batch, error);
        if (weir_reconciler_is_about_rows(status)) {
            note_failure(round, &candidates[i].id, error);
            status = WEIR_OK;
        }
    }
    round->more |= full && round->report->processed > processed;
    weir_heap_free(round->task->heap, candidates);
    return status;
}

static enum weir_status run_partition(struct round *round, struct weir_error *error)
{
    struct weir_due_time time;
    enum weir_status status = look_at_all(round, &time, error);

    if (status != WEIR_OK || !is_due(&time))
        return status;
    status = run_batches(round, error);
    return weir_reconciler_is_about_rows(status) ? run_one_by_one(round, error) : status;
}

static enum weir_status run_partitions(struct round *round, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    round->filter.in_partition = true;
    for (uint32_t i = 0; i < round->task->partitions && status == WEIR_OK; i++) {
        if (weir_context_cancelled(round->context)) {
            status = WEIR_CANCELLED;
            break;
        }
        round->filter.partition = (uint16_t)i;
        status = run_partition(round, error);
    }
    round->filter.in_partition = false;
    return status;
}

/* ---- a tick ------------------------------------------------------------------------ */

static enum weir_status catch_up(struct round *round, struct weir_error *error)
{
    enum weir_status status;

    (void)WEIR_POINT(weir_db_config(round->task->db)->points, "reconciler.due");
    status = run_batches(round, error);
    return weir_reconciler_is_about_rows(status) ? run_partitions(round, error) : status;
}

/* Does it still look often? A new announcement from now on wakes it if not. */
static bool is_attentive(struct weir_reconciler_task *task)
{
    int64_t now_ns = weir_clock_now_ns();
    int64_t attentive_ns = atomic_load(&task->attentive_ns);

    while (attentive_ns <= now_ns) {
        if (atomic_compare_exchange_weak(&task->attentive_ns, &attentive_ns, 0))
            return false;
    }
    return true;
}

/* What another has seen gets old before its own would. */
static int64_t rest_of_interval(const struct weir_reconciler_task *task)
{
    int64_t seen_us = (weir_clock_now_ns() - task->looked_ns) / 1000;

    if (!task->borrowed)
        return task->interval_us;
    return seen_us < task->interval_us ? task->interval_us - seen_us : 1;
}

/* When to look again; others may compare with it (I2). */
static void plan(struct round *round, const struct weir_due_time *next)
{
    struct weir_reconciler_task *task = round->task;
    int64_t period_us = period_of(task->kind) / 1000;
    int64_t rest_us = is_attentive(task) && period_us < task->interval_us
                          ? period_us
                          : rest_of_interval(task);
    int64_t wait_us = task->kind->removes ? INT64_MAX : next->due_us - next->now_us;

    if (round->more)
        wait_us = 0;
    if (wait_us > rest_us)
        wait_us = rest_us;
    if (wait_us < task->interval_us)
        round->report->next_ns = wait_us > 0 ? wait_us * 1000 : WEIR_SCAN_NEXT_MIN;
    atomic_store(&task->look_us, weir_sat_add_i64(next->now_us, wait_us));
}

/* Nothing wakes it before its interval: what has failed is not tried at every
 * commit. */
static void rest(struct weir_reconciler_task *task)
{
    atomic_store(&task->look_us, 0);
    atomic_store(&task->attentive_ns, INT64_MAX);
}

static void wake_up(struct weir_reconciler_task *task)
{
    int64_t resting = INT64_MAX;

    atomic_store(&task->look_us, INT64_MAX); /* I2 */
    (void)atomic_compare_exchange_strong(&task->attentive_ns, &resting, 0);
}

bool weir_reconciler_begins(struct weir_reconciler_task *self)
{
    wake_up(self);
    return atomic_exchange(&self->told, false);
}

void weir_reconciler_ends(struct weir_reconciler_task *self, enum weir_status status,
                          struct weir_scan_report *report)
{
    if (status != WEIR_OK) {
        atomic_store(&self->told, true); /* it was woken in vain */
        rest(self);
        return;
    }
    if (is_attentive(self)) {
        if (report->next_ns == 0 || report->next_ns > period_of(self->kind))
            report->next_ns = period_of(self->kind);
    } else if (self->borrowed && report->next_ns == 0) {
        report->next_ns = rest_of_interval(self) * 1000;
    }
    atomic_store(&self->look_us, INT64_MAX - 1);
}

enum weir_status weir_reconcile(struct weir_context *context, void *task,
                                const struct weir_scan_tick *tick,
                                struct weir_scan_report *out, struct weir_error *error)
{
    struct round round = {
        .task = task, .context = context, .tick = tick, .report = out, .more = false};
    struct weir_due_time next = {.due_us = INT64_MAX};
    enum weir_status status;
    bool told;

    if (tick->filter != NULL)
        round.filter = *(const struct weir_store_filter *)tick->filter;
    told = weir_reconciler_begins(task);
    status = weir_reconciler_look(task, told, &round.filter, &next, error);
    if (status == WEIR_OK && is_due(&next)) {
        status = catch_up(&round, error);
        if (status == WEIR_OK && !round.more)
            status = look(&round, next.now_us, &next, error); /* I1 */
    }
    if (status == WEIR_OK)
        plan(&round, &next);
    else
        rest(task);
    return status;
}

enum weir_status weir_reconcile_found(struct weir_context *context, void *task,
                                      const struct weir_scan_tick *tick,
                                      struct weir_scan_report *out,
                                      struct weir_error *error)
{
    struct weir_reconciler_task *self = task;
    bool told = weir_reconciler_begins(self);
    struct weir_due_time next;
    enum weir_status status =
        weir_reconciler_look(self, told, tick->filter, &next, error);

    if (status == WEIR_OK && next.due_us != INT64_MAX)
        status = self->kind->work(context, task, tick, out, error);
    weir_reconciler_ends(self, status, out);
    return status;
}
