/*
 * flow_model_answers.c - whether what callers were told fits what the journal says
 * (flow_model.h,
 * M7 to M9).
 *
 * A call saw the journal from `seen_from` on, when it began, up to `seen_to`. Whatever
 * it was told must have been so at one of these places.
 */
#include <inttypes.h>
#include <string.h>

#include "kit/execution/flow_model.h"

enum { READY = 1, ACTIVE = 4, SUSPENDED = 5, CANCELLED = 12 };

#define COL(row, name) ((row)->of[FLOW_##name])

/* One item of a call. */
struct case_of {
    struct flow_model *model;
    const struct flow_call *call;
    const struct flow_item *item;
    const struct flow_execution *execution; /* NULL: there never was one */
    int64_t most_us;                        /* what the clock may have shown */
};

/* Does this version explain it? */
typedef bool (*explains_fn)(const struct case_of *self, const struct flow_row *row);

static bool was_shown(const struct flow_execution *execution, size_t index,
                      const struct flow_call *call)
{
    int64_t next_seq = index + 1 < execution->version_count
                           ? execution->versions[index + 1].seq
                           : execution->removed_seq;

    return execution->versions[index].seq <= call->seen_to &&
           (next_seq == 0 || next_seq > call->seen_from);
}

static bool some(const struct case_of *self, explains_fn explains)
{
    for (size_t i = 0; self->execution != NULL && i < self->execution->version_count;
         i++) {
        if (was_shown(self->execution, i, self->call) &&
            explains(self, &self->execution->versions[i].row))
            return true;
    }
    return false;
}

static void complain(const struct case_of *self, const char *what)
{
    struct event_log *book = self->model->options.event_log;

    if (self->execution != NULL && book->violation[0] == '\0') {
        event_log_note(book, "journal", "seen %" PRId64 " to %" PRId64,
                       self->call->seen_from, self->call->seen_to);
        flow_execution_tell(self->execution, book);
    }
    event_log_violate(
        book, "M7, M8: call %u of %s, execution %" PRId64 " epoch %" PRId64 ": %s",
        self->call->number, self->call->who,
        self->execution != NULL ? self->execution->no : 0, self->item->claim.epoch, what);
}

/* Not there at some moment of the call. */
static bool was_missing(const struct case_of *self)
{
    const struct flow_execution *it = self->execution;

    return it == NULL || it->versions[0].seq > self->call->seen_from ||
           (it->removed_seq != 0 && it->removed_seq <= self->call->seen_to);
}

/* Was a row of this execution written by the call? */
static bool did(const struct case_of *self)
{
    for (size_t i = 0; self->execution != NULL && i < self->call->written; i++) {
        if (self->call->written_nos[i] == self->execution->no)
            return true;
    }
    return false;
}

/* ---- reasons ----------------------------------------------------------------------- */

static bool is_what_was_told(const struct case_of *self, const struct flow_row *row)
{
    const struct weir_execution_status *current = &self->item->current;

    return current->state == flow_row_public(row) && current->epoch == COL(row, epoch) &&
           current->lease_us == COL(row, lease_us);
}

static bool is_not_his(const struct case_of *self, const struct flow_row *row)
{
    return COL(row, epoch) != self->item->claim.epoch || COL(row, state) != ACTIVE ||
           COL(row, lease_us) <= self->most_us;
}

static bool is_neither_his_nor_settled(const struct case_of *self,
                                       const struct flow_row *row)
{
    return is_not_his(self, row) && COL(row, settled_epoch) != self->item->claim.epoch;
}

/* Who has settled it otherwise cannot suspend it as well. */
static bool is_not_his_to_suspend(const struct case_of *self, const struct flow_row *row)
{
    return is_not_his(self, row) && (COL(row, state) != SUSPENDED ||
                                     COL(row, settled_epoch) != self->item->claim.epoch);
}

static bool was_settled_by_him(const struct case_of *self, const struct flow_row *row)
{
    return COL(row, settled_epoch) == self->item->claim.epoch;
}

static int64_t settles_as(const struct case_of *self)
{
    return self->call->verb == FLOW_SUSPEND ? FLOW_SETTLED_BY_SUSPENSION
                                            : flow_item_settled_as(self->item);
}

static bool was_settled_so(const struct case_of *self, const struct flow_row *row)
{
    return was_settled_by_him(self, row) && COL(row, settled_as) == settles_as(self);
}

/* Rows do not tell with which result it was completed. */
static bool was_settled_otherwise(const struct case_of *self, const struct flow_row *row)
{
    return was_settled_by_him(self, row) && (COL(row, settled_as) != settles_as(self) ||
                                             self->item->settle == WEIR_SETTLE_COMPLETE);
}

static bool is_cancelled(const struct case_of *self, const struct flow_row *row)
{
    (void)self;
    return COL(row, state) == CANCELLED;
}

static bool ended_otherwise(const struct case_of *self, const struct flow_row *row)
{
    (void)self;
    return flow_row_is_over(row) && COL(row, state) != CANCELLED;
}

static bool has_that_priority(const struct case_of *self, const struct flow_row *row)
{
    return COL(row, state) == READY && COL(row, priority) == self->item->number;
}

static bool is_not_ready(const struct case_of *self, const struct flow_row *row)
{
    (void)self;
    return COL(row, state) != READY;
}

static bool is_suspended(const struct case_of *self, const struct flow_row *row)
{
    (void)self;
    return COL(row, state) == SUSPENDED;
}

static bool is_not_suspended(const struct case_of *self, const struct flow_row *row)
{
    return !is_suspended(self, row);
}

static bool cannot_be_replayed(const struct case_of *self, const struct flow_row *row)
{
    return !flow_row_is_over(row) ||
           COL(row, replays) >= (int64_t)self->execution->draft->policy.replays_max;
}

static bool has_no_lease(const struct case_of *self, const struct flow_row *row)
{
    return COL(row, state) != ACTIVE || COL(row, lease_us) <= self->most_us;
}

static bool has_another_epoch(const struct case_of *self, const struct flow_row *row)
{
    return COL(row, state) == ACTIVE && COL(row, epoch) != self->item->claim.epoch;
}

/* M9 */
static bool is_what_was_read(const struct case_of *self, const struct flow_row *row)
{
    const struct weir_execution_info *info = &self->item->info;

    return info->state == flow_row_public(row) && info->epoch == COL(row, epoch) &&
           info->priority == COL(row, priority) && info->attempts == COL(row, attempts) &&
           (int64_t)info->retries == COL(row, retries) &&
           (int64_t)info->reclaims == COL(row, reclaims) &&
           (int64_t)info->replays == COL(row, replays) &&
           info->progress_percent == COL(row, percent) &&
           info->created_us == COL(row, created_us) &&
           info->started_us == COL(row, started_us) &&
           info->ended_us == COL(row, ended_us) && info->due_us == COL(row, due_us) &&
           info->lease_us == COL(row, lease_us) &&
           info->deadline_us == COL(row, deadline_us);
}

/* ---- workers ----------------------------------------------------------------------- */

static void judge_worker(const struct case_of *self)
{
    bool settles = self->call->verb == FLOW_SETTLE || self->call->verb == FLOW_SUSPEND;

    switch (self->item->status) {
    case WEIR_OK:
        if (!did(self) && !(settles && some(self, was_settled_so)))
            complain(self, "told that it was done, and nobody did it");
        break;
    case WEIR_FENCED:
        if (!some(self, self->call->verb == FLOW_SUSPEND ? is_not_his_to_suspend
                        : settles                        ? is_neither_his_nor_settled
                                                         : is_not_his))
            complain(self, "refused, though it was his or he had settled it");
        break;
    case WEIR_MISMATCH:
        if (self->call->verb != FLOW_SETTLE || !some(self, was_settled_otherwise))
            complain(self, "refused as settled in another way, which it was not");
        break;
    case WEIR_NOT_FOUND:
        if (!was_missing(self))
            complain(self, "not found, and it was there");
        return;
    default:
        complain(self, "an answer that is none");
        return;
    }
    if ((self->call->verb != FLOW_PROGRESS || self->item->status != WEIR_OK) &&
        !some(self, is_what_was_told))
        complain(self, "what he was told of it was never so");
}

static void judge_claimed(const struct case_of *self)
{
    const struct weir_claimed *got = &self->item->claimed;

    for (size_t i = 0; self->execution != NULL && i < self->execution->version_count;
         i++) {
        const struct flow_version *version = &self->execution->versions[i];
        const struct flow_row *row = &version->row;

        if (version->call == self->call->number && COL(row, epoch) == got->claim.epoch &&
            COL(row, state) == ACTIVE && COL(row, attempts) - 1 == got->attempt &&
            COL(row, attempt_type) == (int64_t)got->type &&
            COL(row, lease_us) == got->lease_us)
            return;
    }
    complain(self, "was given a claim that is none");
}

/* Ready for him at every moment of his call? */
static bool was_there_all_the_time(const struct flow_execution *it,
                                   const struct flow_call *call, int64_t most_us)
{
    if (!flow_call_may_have(call, it->draft) || it->draft->budgeted ||
        it->versions[0].seq > call->seen_from ||
        (it->removed_seq != 0 && it->removed_seq <= call->seen_to))
        return false;
    for (size_t i = 0; i < it->version_count; i++) {
        const struct flow_row *row = &it->versions[i].row;

        if (was_shown(it, i, call) &&
            (COL(row, state) != READY ||
             (COL(row, deadline_us) > 0 && COL(row, deadline_us) <= most_us)))
            return false;
    }
    return true;
}

/* M10 */
static void judge_empty_claim(struct flow_model *self, const struct flow_call *call)
{
    int64_t most_us = flow_model_moment(self, call->begun_ns, call->ended_ns).most_us;

    for (size_t i = 0; i < self->execution_count; i++) {
        const struct flow_execution *it = &self->executions[i];

        if (was_there_all_the_time(it, call, most_us)) {
            flow_execution_tell(it, self->options.event_log);
            event_log_violate(self->options.event_log,
                              "M10: call %u of %s claimed in vain, and execution %" PRId64
                              " was there",
                              call->number, call->who, it->no);
        }
    }
}

/* ---- submitters -------------------------------------------------------------------- */

/* M5: did the key of a duplicate still count? One that has none is known by its id. */
static bool key_counted(const struct case_of *self)
{
    const struct flow_model *model = self->model;
    int64_t least_us =
        flow_model_moment(model, self->call->begun_ns, self->call->ended_ns).least_us;

    for (size_t i = 0; i < model->key_count; i++) {
        if (memcmp(model->keys[i].id.uuid, self->item->id.uuid, WEIR_UUID_SIZE) == 0 &&
            model->keys[i].until_us <= least_us)
            return false;
    }
    return true;
}

static void judge_submitted(const struct case_of *self)
{
    const struct flow_execution *it = self->execution;

    if (it == NULL || it->draft != self->item->draft ||
        it->versions[0].seq > self->call->seen_to)
        complain(self, "submitted, and not there");
    else if ((it->versions[0].call == self->call->number) == self->item->duplicate &&
             !(self->item->duplicate && self->call->item_count > 1))
        complain(self, self->item->duplicate ? "it is new and was called a duplicate"
                                             : "it was there and was called new");
    else if (self->item->duplicate && !key_counted(self))
        complain(self, "called a duplicate by a key that had run out");
}

/* A key that another draft had used. */
static bool may_be_refused(const struct flow_model *model, const struct flow_call *call)
{
    for (size_t i = 0; i < call->item_count; i++) {
        for (size_t j = 0; j < model->key_count; j++) {
            const struct flow_draft *draft = call->items[i].draft;

            if (draft->key[0] != '\0' && draft != model->keys[j].draft &&
                strcmp(draft->key, model->keys[j].draft->key) == 0)
                return true;
        }
        for (size_t j = 0; j < i; j++) {
            if (call->items[i].draft != call->items[j].draft &&
                call->items[i].draft->key[0] != '\0' &&
                strcmp(call->items[i].draft->key, call->items[j].draft->key) == 0)
                return true;
        }
    }
    return false;
}

static size_t count_new(const struct flow_call *call)
{
    size_t count = 0;

    for (size_t i = 0; i < call->item_count; i++)
        count += !call->items[i].duplicate;
    return count;
}

/* ---- operators and readers --------------------------------------------------------- */

static void judge_revocation(const struct case_of *self)
{
    const struct flow_item *item = self->item;

    if (item->revoked != did(self))
        complain(self, "revoked and told otherwise, or the other way round");
    else if (!item->revoked && strcmp(item->why, "no_active_lease") == 0 &&
             !some(self, has_no_lease))
        complain(self, "there was a lease, and he was told there is none");
    else if (!item->revoked && strcmp(item->why, "epoch_moved") == 0 &&
             !some(self, has_another_epoch))
        complain(self, "told that the epoch has moved, and it had not");
    else if (!item->revoked && item->why[0] == '\0')
        complain(self, "not revoked, without a reason");
    if (!some(self, is_what_was_told))
        complain(self, "what he was told of it was never so");
}

static void judge_reading(const struct case_of *self)
{
    if (!some(self, is_what_was_read))
        complain(self, "M9: what was read was never so");
    if (self->item->attempts_read != 0 &&
        self->item->attempts_read != self->item->info.attempts)
        complain(self, "M3: its attempts were read with a gap");
}

static void judge_done(const struct case_of *self)
{
    switch (self->call->verb) {
    case FLOW_CANCEL:
        if (!did(self) && !some(self, is_cancelled))
            complain(self, "told that it is cancelled, and it is not");
        break;
    case FLOW_REVOKE:
        judge_revocation(self);
        break;
    case FLOW_PRIORITISE:
        if (!did(self) && !some(self, has_that_priority))
            complain(self, "told that it has a priority, and it has not");
        break;
    case FLOW_REPLAY:
        if (!did(self))
            complain(self, "told that it was replayed, and it was not");
        break;
    case FLOW_RESUME:
        if (!did(self))
            complain(self, "told that it was resumed, and it was not");
        break;
    default:
        judge_reading(self);
        break;
    }
}

static void judge_mismatch(const struct case_of *self)
{
    explains_fn explains = self->call->verb == FLOW_CANCEL       ? ended_otherwise
                           : self->call->verb == FLOW_PRIORITISE ? is_not_ready
                           : self->call->verb == FLOW_RESUME     ? is_not_suspended
                                                                 : cannot_be_replayed;

    if (!some(self, explains))
        complain(self, "refused, though its state allowed it");
}

static void judge_operator(const struct case_of *self)
{
    if (self->call->status == WEIR_OK)
        judge_done(self);
    else if (self->call->status == WEIR_MISMATCH)
        judge_mismatch(self);
    else if (self->call->status == WEIR_NOT_FOUND && !was_missing(self))
        complain(self, "not found, and it was there");
}

/* ---- the world --------------------------------------------------------------------- */

/* M11: what was told of a signal is what became of it. */
static void judge_signal(const struct case_of *self)
{
    const struct flow_item *item = self->item;
    size_t taken = self->call->signals;

    if (self->call->status != WEIR_OK) {
        if (taken > 0)
            complain(self, "refused, and the signal was taken");
        return;
    }
    switch (item->effect) {
    case WEIR_SIGNAL_RESUMED:
        if (taken != 1 || !did(self))
            complain(self, "told that it resumes, and it does not");
        break;
    case WEIR_SIGNAL_KEPT:
    case WEIR_SIGNAL_IGNORED:
        if (taken != 1 || did(self))
            complain(self, "told that it is kept, and it is not");
        break;
    case WEIR_SIGNAL_DUPLICATE:
        if (taken != 0 || item->key[0] == '\0')
            complain(self, "told that it came before");
        break;
    case WEIR_SIGNAL_LATE:
        if (taken != 0)
            complain(self, "late, and it was taken");
        break;
    default:
        complain(self, "an effect that is none");
        break;
    }
}

/* M12 */
static void judge_budget(const struct flow_model *model, const struct flow_call *call)
{
    bool spent = call->verb == FLOW_REPORT && call->status == WEIR_OK &&
                 (call->items[0].spending == WEIR_SPENT ||
                  call->items[0].spending == WEIR_SPENT_OVER_SOFT);

    if (call->verb == FLOW_REPORT && call->spent != (spent ? 1 : 0))
        event_log_violate(model->options.event_log,
                          "M12: call %u of %s was told %d (%s) and has spent %zu times",
                          call->number, call->who, (int)call->items[0].spending,
                          weir_status_name(call->status), call->spent);
    if (call->status != WEIR_OK && call->spent > 0)
        event_log_violate(model->options.event_log,
                          "M12: call %u of %s was refused and has changed a budget",
                          call->number, call->who);
}

/* ---- calls ------------------------------------------------------------------------- */

static const struct flow_execution *execution_of(const struct flow_model *self,
                                                 const struct flow_call *call,
                                                 const struct flow_item *item)
{
    bool by_claim = call->verb >= FLOW_CLAIM && call->verb <= FLOW_SUSPEND;

    /* From the newest: an id may have been used again after its execution was removed. */
    for (size_t i = self->execution_count; i > 0; i--) {
        const struct flow_execution *it = &self->executions[i - 1];

        if (by_claim ? it->no == item->claim.no
                     : memcmp(it->id.uuid, item->id.uuid, WEIR_UUID_SIZE) == 0 &&
                           it->versions[0].seq <= call->seen_to)
            return it;
    }
    return NULL;
}

static void judge_item(struct flow_model *self, const struct flow_call *call,
                       const struct flow_item *item, int64_t ended_ns)
{
    struct case_of it = {
        .model = self,
        .call = call,
        .item = item,
        .execution = execution_of(self, call, item),
        .most_us = flow_model_moment(self, call->begun_ns, ended_ns).most_us,
    };

    switch (call->verb) {
    case FLOW_SUBMIT:
        if (call->status == WEIR_OK && !call->undone)
            judge_submitted(&it);
        break;
    case FLOW_CLAIM:
        if (call->status == WEIR_OK)
            judge_claimed(&it);
        break;
    case FLOW_RENEW:
    case FLOW_SETTLE:
        if (call->status == WEIR_OK)
            judge_worker(&it);
        break;
    case FLOW_SIGNAL:
        judge_signal(&it);
        break;
    case FLOW_PROGRESS:
    case FLOW_SUSPEND:
        if (item->status == WEIR_OK || item->status == WEIR_FENCED ||
            item->status == WEIR_NOT_FOUND)
            judge_worker(&it);
        break;
    default:
        judge_operator(&it);
        break;
    }
}

/* M7: how much of it there must be in the journal. */
static void judge_size(struct flow_model *self, const struct flow_call *call)
{
    struct event_log *book = self->options.event_log;
    bool done = call->status == WEIR_OK && !call->undone;

    if (!done && call->written > 0)
        event_log_violate(book, "M7: call %u of %s was refused (%s) and has changed %zu",
                          call->number, call->who, weir_status_name(call->status),
                          call->written);
    if (done && call->verb == FLOW_CLAIM && call->written != call->item_count)
        event_log_violate(book, "M7: call %u of %s was given %zu and claimed %zu",
                          call->number, call->who, call->item_count, call->written);
    if (done && call->verb == FLOW_SUBMIT && call->written != count_new(call))
        event_log_violate(book, "M7: call %u of %s made %zu new ones and was told %zu",
                          call->number, call->who, call->written, count_new(call));
    if (call->verb == FLOW_SUBMIT && call->status == WEIR_MISMATCH &&
        !may_be_refused(self, call))
        event_log_violate(book, "M5: call %u of %s was refused without a reason",
                          call->number, call->who);
}

/* All of it or nothing: duplicates may be among it, but never more than it asked for. */
static void judge_doubt(struct flow_model *self, const struct flow_call *call)
{
    if (call->verb == FLOW_SUBMIT && call->written > call->item_count)
        event_log_violate(self->options.event_log,
                          "M7: call %u of %s made %zu out of %zu", call->number,
                          call->who, call->written, call->item_count);
}

void flow_model_judge_answers(struct flow_model *self)
{
    for (size_t i = 0; i < self->call_count; i++) {
        const struct flow_call *call = self->calls[i];

        if (!call->answered || call->status == WEIR_IN_DOUBT) {
            self->stats.doubts++;
            judge_doubt(self, call);
            continue;
        }
        judge_size(self, call);
        if (call->verb >= FLOW_REPORT) {
            judge_budget(self, call);
            continue;
        }
        if (call->verb == FLOW_CLAIM && call->status == WEIR_OK && call->item_count == 0)
            judge_empty_claim(self, call);
        for (size_t j = 0; j < call->item_count; j++) {
            judge_item(self, call, &call->items[j], call->ended_ns);
            self->stats.refusals += call->items[j].status == WEIR_FENCED;
        }
    }
}
