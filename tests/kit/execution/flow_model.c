/*
 * flow_model.c - see flow_model.h: the journal, step by step.
 *
 * A step is tried with each rule that whoever made it may use. A rule says what the row
 * must be afterwards, at what times it may be used, and what else must be written; the
 * first that fits is what happened.
 */
#include "kit/execution/flow_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/test.h"

/* As stored. Not from src/flow: a number that changes there is a bug. */
enum {
    READY = 1,
    DELAYED = 2,
    BLOCKED = 3,
    ACTIVE = 4,
    SUSPENDED = 5,
    SUCCEEDED = 10,
    FAILED = 11,
    CANCELLED = 12,
    EXPIRED = 13
};
enum {
    NOT_HELD = 0,
    HELD_BY_DELAY = 1,
    HELD_BY_BACKOFF = 2,
    HELD_BY_RESUMPTION = 3,
    HELD_BY_BUDGET = 5,
    HELD_BY_SIGNAL = 7,
    HELD_BY_REVIEW = 11
};
enum { FIRST = 0, RETRY = 1, RECLAIM = 2, REPLAY = 3, RESUME = 4 }; /* comes next */
enum { SUCCESS = 1, RETRIED, FAILURE, INTERRUPTED, LEASE_LOST, CALLED_OFF, RAN_OUT };

#define BEGINNING_US INT64_C(1577836800000000) /* of simulations */
#define KEY_US (INT64_C(24) * 3600 * 1000000)

/* Since when a reconciler may have been at it: longer than any call of the database
 * waits. */
#define RECONCILER_NS WEIR_SECONDS(20)

#define COL(row, name) ((row)->of[FLOW_##name])

/* ---- life -------------------------------------------------------------------------- */

static void *grow(void *memory, size_t count, size_t size)
{
    /* Powers of two, beginning with 16. */
    if (count == 0 || (count >= 16 && (count & (count - 1)) == 0)) {
        memory = realloc(memory, (count < 16 ? 16 : count * 2) * size);
        check(memory != NULL);
    }
    return memory;
}

struct flow_model *flow_model_create(const struct flow_model_options *options)
{
    struct flow_model *self = calloc(1, sizeof *self);

    check(self != NULL);
    self->options = *options;
    self->jump_count = 1; /* at the beginning the clock is right */
    return self;
}

void flow_model_destroy(struct flow_model *self)
{
    for (size_t i = 0; i < self->call_count; i++)
        free(self->calls[i]);
    for (size_t i = 0; i < self->execution_count; i++)
        free(self->executions[i].versions);
    free(self->calls);
    free(self->executions);
    free(self->keys);
    free(self->signals);
    free(self->signal_nos);
    free(self->reports);
    free(self->report_us);
    free(self);
}

struct flow_call *flow_model_call(struct flow_model *self, enum flow_verb verb,
                                  const char *who, int64_t now_ns, int64_t seen)
{
    struct flow_call *call = calloc(1, sizeof *call);

    check(call != NULL);
    self->calls = grow(self->calls, self->call_count, sizeof(struct flow_call *));
    self->calls[self->call_count++] = call;
    call->number = (uint32_t)self->call_count;
    call->verb = verb;
    call->begun_ns = now_ns;
    call->seen_from = seen;
    (void)snprintf(call->who, sizeof call->who, "%s", who);
    return call;
}

/* ---- time -------------------------------------------------------------------------- */

void flow_model_clock(struct flow_model *self, int64_t now_ns, int64_t error_us)
{
    check(self->jump_count < FLOW_JUMPS_MAX);
    self->jumps[self->jump_count].ns = now_ns;
    self->jumps[self->jump_count++].error_us = error_us;
}

struct flow_moment flow_model_moment(const struct flow_model *self, int64_t from_ns,
                                     int64_t to_ns)
{
    struct flow_moment moment = {INT64_MAX, 0};

    for (size_t i = 0; i < self->jump_count; i++) {
        int64_t begin_ns = self->jumps[i].ns;
        int64_t end_ns = i + 1 < self->jump_count ? self->jumps[i + 1].ns : INT64_MAX;
        int64_t base_us = BEGINNING_US + self->jumps[i].error_us;

        if (begin_ns < from_ns)
            begin_ns = from_ns;
        if (end_ns > to_ns)
            end_ns = to_ns;
        if (begin_ns > end_ns)
            continue;
        if (base_us + begin_ns / 1000 < moment.least_us)
            moment.least_us = base_us + begin_ns / 1000;
        if (base_us + end_ns / 1000 > moment.most_us)
            moment.most_us = base_us + end_ns / 1000;
    }
    return moment;
}

/* ---- one step ---------------------------------------------------------------------- */

struct step {
    struct flow_model *model;
    struct flow_call *call; /* NULL: a reconciler */
    struct flow_item *item; /* of the call; NULL: it names nobody */
    const struct flow_execution *execution;
    const struct weir_execution_policy *policy;
    const struct flow_row *before;
    const struct flow_row *after;

    /* what a rule makes of it */
    struct flow_row row;
    struct flow_moment moment;
    struct flow_debt debt;
    int64_t late_us; /* since it was due; of reconcilers */
};

typedef bool (*rule_fn)(struct step *self);

static bool at(struct step *self, int64_t time_us)
{
    bool possible = time_us >= self->moment.least_us && time_us <= self->moment.most_us;

    self->moment = (struct flow_moment){time_us, time_us};
    return possible;
}

static bool not_before(struct step *self, int64_t time_us)
{
    if (self->moment.least_us < time_us)
        self->moment.least_us = time_us;
    return self->moment.least_us <= self->moment.most_us;
}

static bool before(struct step *self, int64_t time_us)
{
    if (self->moment.most_us >= time_us)
        self->moment.most_us = time_us - 1;
    return self->moment.least_us <= self->moment.most_us;
}

bool flow_row_is_over(const struct flow_row *row)
{
    return COL(row, state) >= SUCCEEDED;
}

static bool has_attempt(const struct flow_row *row)
{
    return COL(row, state) == ACTIVE || COL(row, pending) == RESUME;
}

enum weir_public_state flow_row_public(const struct flow_row *row)
{
    switch (COL(row, state)) {
    case READY:
        return COL(row, pending) == RESUME ? WEIR_STATE_RESUMABLE : WEIR_STATE_WAITING;
    case DELAYED:
        return WEIR_STATE_DELAYED;
    case BLOCKED:
        return WEIR_STATE_RATE_LIMITED;
    case ACTIVE:
        return WEIR_STATE_ACTIVE;
    case SUSPENDED:
        return WEIR_STATE_SUSPENDED;
    case SUCCEEDED:
        return WEIR_STATE_COMPLETED;
    case CANCELLED:
        return WEIR_STATE_CANCELLED;
    case EXPIRED:
        return WEIR_STATE_EXPIRED;
    default:
        return WEIR_STATE_FAILED;
    }
}

/* ---- what rules have in common ----------------------------------------------------- */

static void say(struct step *self, const char *failure)
{
    (void)snprintf(self->row.failure, sizeof self->row.failure, "%s", failure);
}

static void end_attempt(struct step *self, int64_t outcome)
{
    const struct flow_row *old = self->before;

    if (!has_attempt(old))
        return;
    self->debt.attempt = true;
    self->debt.ended = (struct flow_attempt){
        .number = COL(old, attempts) - 1,
        .type = COL(old, attempt_type),
        .outcome = outcome,
        .epoch = COL(old, state) == ACTIVE ? COL(old, epoch) : COL(old, settled_epoch),
        .started_us = COL(old, claimed_us),
    };
}

/* Nobody holds it any more. */
static void free_it(struct step *self, const char *event)
{
    if (COL(self->before, state) == ACTIVE) {
        self->debt.lease = event;
        self->debt.lease_epoch = COL(self->before, epoch);
    }
    COL(&self->row, epoch)++;
    COL(&self->row, lease_us) = 0;
    COL(&self->row, attempt_deadline_us) = 0;
}

static bool end_it(struct step *self, int64_t state, const char *outcome,
                   const char *event)
{
    free_it(self, event);
    COL(&self->row, state) = state;
    COL(&self->row, hold) = NOT_HELD;
    COL(&self->row, pending) = FIRST;
    COL(&self->row, due_us) = 0;
    COL(&self->row, ended_us) = COL(self->after, ended_us);
    self->debt.completion = outcome;
    self->debt.completion_epoch = COL(&self->row, epoch);
    return at(self, COL(self->after, ended_us));
}

/* Somebody else may have it, now or so much later. */
static bool pass_on(struct step *self, int64_t pending, int64_t hold, int64_t delay_us)
{
    COL(&self->row, pending) = pending;
    COL(&self->row, state) = delay_us > 0 ? DELAYED : READY;
    COL(&self->row, hold) = delay_us > 0 ? hold : NOT_HELD;
    COL(&self->row, due_us) = delay_us > 0 ? COL(self->after, due_us) : 0;
    return delay_us == 0 || at(self, COL(self->after, due_us) - delay_us);
}

static int64_t backoff_us(const struct weir_execution_policy *policy, int64_t retries)
{
    double us = (double)policy->backoff_initial_ms * 1000;

    if (policy->backoff == WEIR_RETRY_FIXED)
        return (int64_t)us;
    us *= pow(policy->backoff_multiplier, (double)retries);
    return us < (double)policy->backoff_max_ms * 1000 ? (int64_t)us
                                                      : policy->backoff_max_ms * 1000;
}

static bool try_again(struct step *self)
{
    return pass_on(self, RETRY, HELD_BY_BACKOFF,
                   backoff_us(self->policy, COL(&self->row, retries)++));
}

static bool may_try_again(const struct step *self)
{
    return COL(self->before, retries) < (int64_t)self->policy->retries_max;
}

/* ---- rules of workers -------------------------------------------------------------- */

bool flow_call_may_have(const struct flow_call *self, const struct flow_draft *draft)
{
    uint32_t lane = strcmp(draft->draft.lane, "a") == 0 ? 1U : 2U;

    return (self->lanes & lane) != 0 && (draft->draft.capability_count == 0 || self->gpu);
}

static bool is_held_back(const struct flow_model *self, const struct flow_execution *it)
{
    return it->draft->budgeted && flow_model_budget_is_reached(self);
}

/* Could the caller have had this one instead? */
static bool was_free_for(const struct flow_execution *other, const struct flow_call *call)
{
    return other->removed_seq == 0 &&
           COL(&other->versions[other->version_count - 1].row, state) == READY &&
           flow_call_may_have(call, other->draft);
}

/* By priority; then what is ready again, by the time of that; then the older. */
static bool is_better(const struct flow_execution *a, const struct flow_execution *b)
{
    const struct flow_row *of_a = &a->versions[a->version_count - 1].row;
    const struct flow_row *of_b = &b->versions[b->version_count - 1].row;

    if (COL(of_a, priority) != COL(of_b, priority))
        return COL(of_a, priority) > COL(of_b, priority);
    if (COL(of_a, turn) != COL(of_b, turn))
        return COL(of_a, turn) < COL(of_b, turn);
    return a->no < b->no;
}

/* Those that are past their deadline do not count. Nor does what came after the call
 * had begun: it may want a lane or capabilities that nobody had heard of when the
 * caller looked them up. */
static bool is_best(const struct step *self)
{
    for (size_t i = 0; i < self->model->execution_count; i++) {
        const struct flow_execution *other = &self->model->executions[i];
        int64_t deadline_us;

        if (other == self->execution || other->versions[0].seq > self->call->seen_from ||
            !was_free_for(other, self->call) || !is_better(other, self->execution) ||
            is_held_back(self->model, other))
            continue;
        deadline_us = COL(&other->versions[other->version_count - 1].row, deadline_us);
        if (deadline_us == 0 || deadline_us > self->moment.most_us)
            return false;
    }
    return true;
}

static bool claim(struct step *self)
{
    const struct flow_row *old = self->before;
    int64_t now_us = COL(self->after, lease_us) - self->call->ttl_us;
    int64_t timeout_us = self->policy->attempt_timeout_ms * 1000;

    if (COL(old, state) != READY || !was_free_for(self->execution, self->call) ||
        is_held_back(self->model, self->execution) || !at(self, now_us) ||
        !is_best(self) ||
        (COL(old, deadline_us) > 0 && !before(self, COL(old, deadline_us))))
        return false;
    if (COL(old, pending) != RESUME) {
        COL(&self->row, attempts)++;
        COL(&self->row, attempt_type) = COL(old, pending);
        COL(&self->row, claimed_us) = now_us;
        if (COL(old, started_us) == 0)
            COL(&self->row, started_us) = now_us;
    }
    COL(&self->row, epoch)++;
    COL(&self->row, state) = ACTIVE;
    COL(&self->row, pending) = FIRST;
    COL(&self->row, lease_us) = now_us + self->call->ttl_us;
    COL(&self->row, attempt_deadline_us) = timeout_us > 0 ? now_us + timeout_us : 0;
    (void)snprintf(self->row.instance, sizeof self->row.instance, "%s",
                   self->call->instance);
    self->debt.lease = COL(old, pending) == RECLAIM ? "reclaimed" : "acquired";
    self->debt.lease_epoch = COL(&self->row, epoch);
    return true;
}

/* M12: whoever claims it finds that the limit is reached. */
static bool hold_back(struct step *self)
{
    COL(&self->row, state) = BLOCKED;
    COL(&self->row, hold) = HELD_BY_BUDGET;
    return COL(self->before, state) == READY &&
           was_free_for(self->execution, self->call) &&
           is_held_back(self->model, self->execution);
}

/* M2 */
static bool holds(struct step *self)
{
    return self->item != NULL && COL(self->before, state) == ACTIVE &&
           COL(self->before, epoch) == self->item->claim.epoch &&
           before(self, COL(self->before, lease_us));
}

static bool renew(struct step *self)
{
    COL(&self->row, lease_us) = COL(self->after, lease_us);
    return holds(self) && at(self, COL(self->after, lease_us) - self->call->ttl_us);
}

static bool report(struct step *self)
{
    if (!holds(self))
        return false;
    COL(&self->row, percent) = self->item->number;
    return true;
}

static bool complete(struct step *self)
{
    end_attempt(self, SUCCESS);
    say(self, "");
    self->debt.has_result = true;
    memcpy(self->debt.result, self->item->text, sizeof self->debt.result);
    return end_it(self, SUCCEEDED, "success", "revoked");
}

static bool fail(struct step *self)
{
    say(self, self->item->text);
    if (self->item->permanent || !may_try_again(self)) {
        end_attempt(self, FAILURE);
        return end_it(self, FAILED, "failed", "revoked");
    }
    end_attempt(self, RETRIED);
    free_it(self, "revoked");
    return try_again(self);
}

static bool cancel_it(struct step *self)
{
    say(self, self->item->text);
    end_attempt(self, CALLED_OFF);
    return end_it(self, CANCELLED, "cancelled", "revoked");
}

int64_t flow_item_settled_as(const struct flow_item *item)
{
    switch (item->settle) {
    case WEIR_SETTLE_COMPLETE:
        return 1;
    case WEIR_SETTLE_FAIL:
        return item->permanent ? 3 : 2;
    case WEIR_SETTLE_DELAY:
        return 4;
    default:
        return 5;
    }
}

static bool settle(struct step *self)
{
    if (!holds(self))
        return false;
    COL(&self->row, settled_epoch) = self->item->claim.epoch;
    COL(&self->row, settled_as) = flow_item_settled_as(self->item);
    switch (self->item->settle) {
    case WEIR_SETTLE_COMPLETE:
        return complete(self);
    case WEIR_SETTLE_FAIL:
        return fail(self);
    case WEIR_SETTLE_DELAY:
        free_it(self, "revoked");
        return pass_on(self, RESUME, HELD_BY_DELAY, self->item->delay_us);
    case WEIR_SETTLE_ABANDON:
        break;
    }
    return cancel_it(self);
}

static bool suspend(struct step *self)
{
    const struct flow_item *item = self->item;

    if (!holds(self))
        return false;
    COL(&self->row, settled_epoch) = item->claim.epoch;
    COL(&self->row, settled_as) = FLOW_SETTLED_BY_SUSPENSION;
    free_it(self, "revoked");
    COL(&self->row, state) = SUSPENDED;
    COL(&self->row, hold) = HELD_BY_SIGNAL;
    COL(&self->row, pending) = RESUME;
    COL(&self->row, on_timeout) = (int64_t)item->on_timeout;
    COL(&self->row, due_us) = item->timeout_us > 0 ? COL(self->after, due_us) : 0;
    return item->timeout_us == 0 || at(self, COL(self->after, due_us) - item->timeout_us);
}

/* ---- rules of the world ------------------------------------------------------------ */

/* M11 */
static bool wake(struct step *self)
{
    return self->execution->owes_resume && COL(self->before, state) == SUSPENDED &&
           pass_on(self, RESUME, HELD_BY_RESUMPTION,
                   self->execution->suspension.resume_delay_us);
}

/* ---- rules of operators ------------------------------------------------------------ */

static bool cancel(struct step *self)
{
    return self->item != NULL && !flow_row_is_over(self->before) && cancel_it(self);
}

static bool revoke(struct step *self)
{
    if (self->item == NULL || COL(self->before, state) != ACTIVE ||
        !before(self, COL(self->before, lease_us)) ||
        (self->item->claim.epoch != 0 &&
         self->item->claim.epoch != COL(self->before, epoch)))
        return false;
    say(self, "lease_revoked");
    end_attempt(self, LEASE_LOST);
    free_it(self, "revoked");
    return pass_on(self, RECLAIM, NOT_HELD, 0);
}

static bool prioritise(struct step *self)
{
    if (self->item == NULL || COL(self->before, state) != READY)
        return false;
    COL(&self->row, priority) = self->item->number;
    self->debt.operated = "priority_changed";
    return COL(self->before, priority) != self->item->number;
}

static bool replay(struct step *self)
{
    const struct flow_row *old = self->before;

    if (self->item == NULL || !flow_row_is_over(old) ||
        COL(old, replays) >= (int64_t)self->policy->replays_max)
        return false;
    COL(&self->row, replays)++;
    COL(&self->row, retries) = 0;
    COL(&self->row, reclaims) = 0;
    COL(&self->row, ended_us) = 0;
    COL(&self->row, epoch)++;
    self->debt.operated = "replayed";
    if (COL(old, deadline_us) > 0) { /* one that has passed is dropped */
        COL(&self->row, deadline_us) = COL(self->after, deadline_us);
        if (COL(self->after, deadline_us) == 0 ? !not_before(self, COL(old, deadline_us))
                                               : !before(self, COL(old, deadline_us)))
            return false;
        if (COL(self->after, deadline_us) != 0 &&
            COL(self->after, deadline_us) != COL(old, deadline_us))
            return false;
    }
    return pass_on(self, REPLAY, NOT_HELD, 0);
}

static bool resume(struct step *self)
{
    self->debt.operated = "resumed";
    return self->item != NULL && COL(self->before, state) == SUSPENDED &&
           pass_on(self, RESUME, HELD_BY_RESUMPTION, self->item->delay_us);
}

/* ---- rules of reconcilers ---------------------------------------------------------- */

/* Done because this time has come. */
static bool due(struct step *self, int64_t time_us)
{
    self->late_us = self->moment.most_us - time_us;
    return not_before(self, time_us);
}

static bool promote(struct step *self)
{
    return COL(self->before, state) == DELAYED && due(self, COL(self->before, due_us)) &&
           pass_on(self, COL(self->before, pending), NOT_HELD, 0);
}

static bool expire(struct step *self)
{
    if (flow_row_is_over(self->before) || COL(self->before, deadline_us) == 0 ||
        !due(self, COL(self->before, deadline_us)))
        return false;
    say(self, "execution_deadline");
    end_attempt(self, RAN_OUT);
    return end_it(self, EXPIRED, "expired", "expired");
}

static bool time_out(struct step *self)
{
    if (COL(self->before, state) != ACTIVE ||
        COL(self->before, attempt_deadline_us) == 0 ||
        !due(self, COL(self->before, attempt_deadline_us)))
        return false;
    say(self, "attempt_timeout");
    end_attempt(self, INTERRUPTED);
    if (!may_try_again(self))
        return end_it(self, EXPIRED, "expired", "expired");
    free_it(self, "expired");
    return try_again(self);
}

static bool lose_lease(struct step *self)
{
    int64_t limit_us = COL(self->before, attempt_deadline_us);

    if (COL(self->before, state) != ACTIVE || !due(self, COL(self->before, lease_us)) ||
        (limit_us > 0 && !before(self, limit_us)))
        return false;
    end_attempt(self, LEASE_LOST);
    if (COL(self->before, reclaims) >= (int64_t)self->policy->reclaims_max) {
        say(self, "max_reclaims_exceeded");
        return end_it(self, FAILED, "failed", "expired");
    }
    say(self, "lease_expired");
    COL(&self->row, reclaims)++;
    free_it(self, "expired");
    return pass_on(self, RECLAIM, NOT_HELD, 0);
}

static bool wait_too_long(struct step *self)
{
    if (COL(self->before, state) != SUSPENDED || COL(self->before, due_us) == 0 ||
        !due(self, COL(self->before, due_us)))
        return false;
    switch ((enum weir_on_timeout)COL(self->before, on_timeout)) {
    case WEIR_TIMEOUT_FAIL:
        say(self, "suspension_timeout:fail");
        end_attempt(self, FAILURE);
        return end_it(self, FAILED, "failed", "revoked");
    case WEIR_TIMEOUT_CANCEL:
        say(self, "suspension_timeout:cancel");
        end_attempt(self, CALLED_OFF);
        return end_it(self, CANCELLED, "cancelled", "revoked");
    case WEIR_TIMEOUT_EXPIRE:
        say(self, "suspension_timeout:expire");
        end_attempt(self, RAN_OUT);
        return end_it(self, EXPIRED, "expired", "revoked");
    case WEIR_TIMEOUT_RESUME:
        self->debt.timeout_signal = true;
        return pass_on(self, RESUME, NOT_HELD, 0);
    default:
        COL(&self->row, hold) = HELD_BY_REVIEW;
        COL(&self->row, due_us) = 0;
        return true;
    }
}

static bool let_in(struct step *self)
{
    return COL(self->before, state) == BLOCKED &&
           COL(self->before, hold) == HELD_BY_BUDGET &&
           pass_on(self, COL(self->before, pending), NOT_HELD, 0);
}

/* ---- choosing the rule ------------------------------------------------------------- */

enum { RULES_MAX = 6 };

static const rule_fn RULES[FLOW_VERBS][RULES_MAX] = {
    [FLOW_RECONCILE] = {promote, time_out, lose_lease, expire, wait_too_long, let_in},
    [FLOW_CLAIM] = {claim, expire, hold_back},
    [FLOW_RENEW] = {renew},
    [FLOW_SETTLE] = {settle},
    [FLOW_PROGRESS] = {report},
    [FLOW_SUSPEND] = {suspend},
    [FLOW_CANCEL] = {cancel},
    [FLOW_REVOKE] = {revoke},
    [FLOW_PRIORITISE] = {prioritise},
    [FLOW_REPLAY] = {replay},
    [FLOW_RESUME] = {resume},
    [FLOW_SIGNAL] = {wake},
};

static bool rows_equal(const struct flow_row *a, const struct flow_row *b)
{
    return memcmp(a->of, b->of, sizeof a->of) == 0 &&
           strcmp(a->instance, b->instance) == 0 && strcmp(a->failure, b->failure) == 0;
}

/* A new place in line for what becomes ready again, and for another priority: the time
 * of that, minus 2^63. */
static bool takes_its_turn(struct step *self)
{
    bool again = COL(self->after, state) == READY &&
                 (COL(self->before, state) != READY ||
                  COL(self->before, priority) != COL(self->after, priority));

    if (!again)
        return true;
    COL(&self->row, turn) = COL(self->after, turn);
    return COL(self->after, turn) < 0 && at(self, COL(self->after, turn) - INT64_MIN);
}

/* The rule that leads from one to the other; NULL: none does. */
static rule_fn find_rule(struct step *self)
{
    const rule_fn *rules = RULES[self->call != NULL ? self->call->verb : FLOW_RECONCILE];
    const struct flow_moment moment = self->moment;

    for (int i = 0; i < RULES_MAX && rules[i] != NULL; i++) {
        self->row = *self->before;
        self->moment = moment;
        self->debt = (struct flow_debt){.attempt = false};
        if (rules[i](self) && takes_its_turn(self) && rows_equal(&self->row, self->after))
            return rules[i];
    }
    return NULL;
}

static struct flow_item *item_of(struct flow_call *call,
                                 const struct flow_execution *execution)
{
    for (size_t i = 0; call != NULL && i < call->item_count; i++) {
        struct flow_item *item = &call->items[i];

        if (call->verb == FLOW_RENEW || call->verb == FLOW_SETTLE ||
            call->verb == FLOW_PROGRESS || call->verb == FLOW_SUSPEND) {
            const struct flow_row *row =
                &execution->versions[execution->version_count - 1].row;

            if (item->claim.no == execution->no && item->claim.epoch == COL(row, epoch))
                return item;
        } else if (call->verb >= FLOW_CANCEL &&
                   memcmp(item->id.uuid, execution->id.uuid, WEIR_UUID_SIZE) == 0) {
            return item;
        }
    }
    return NULL;
}

/* ---- the journal ------------------------------------------------------------------- */

static struct event_log *book(const struct flow_model *self)
{
    return self->options.event_log;
}

static const struct flow_draft *draft_of(const struct flow_model *self, const char *kind)
{
    for (uint32_t i = 0; i < self->options.draft_count; i++) {
        if (strcmp(self->options.drafts[i].kind, kind) == 0)
            return &self->options.drafts[i];
    }
    return NULL;
}

static struct flow_execution *find(struct flow_model *self, int64_t no)
{
    for (size_t i = 0; i < self->execution_count; i++) {
        if (self->executions[i].no == no)
            return &self->executions[i];
    }
    return NULL;
}

static struct flow_call *caller(const struct flow_model *self,
                                const struct flow_entry *entry)
{
    return entry->call > 0 && entry->call <= self->call_count
               ? self->calls[entry->call - 1]
               : NULL;
}

static struct flow_moment moment_of(const struct flow_model *self,
                                    const struct flow_entry *entry)
{
    const struct flow_call *call = caller(self, entry);

    return flow_model_moment(
        self, call != NULL ? call->begun_ns : entry->ns - RECONCILER_NS, entry->ns);
}

static void count_written(struct flow_call *call, int64_t no)
{
    if (call == NULL)
        return;
    check(call->written < FLOW_WRITTEN_MAX);
    call->written_nos[call->written++] = no;
}

static void add_version(struct flow_execution *execution, const struct flow_entry *entry,
                        const struct flow_row *row)
{
    execution->versions =
        grow(execution->versions, execution->version_count, sizeof *execution->versions);
    execution->versions[execution->version_count++] =
        (struct flow_version){entry->seq, entry->call, *row};
}

/* The first column that is not as it should be. */
static const char *difference(const struct flow_row *a, const struct flow_row *b)
{
#define FLOW_COLUMN_NAME_(name) #name,
    static const char *const NAMES[] = {FLOW_COLUMNS(FLOW_COLUMN_NAME_)};
#undef FLOW_COLUMN_NAME_

    for (int i = 0; i < FLOW_COLUMN_COUNT; i++) {
        if (a->of[i] != b->of[i])
            return NAMES[i];
    }
    return strcmp(a->instance, b->instance) != 0 ? "instance" : "failure";
}

static const char *verb_name(const struct flow_call *call)
{
    static const char *const NAMES[FLOW_VERBS] = {
        [FLOW_SUBMIT] = "submit",         [FLOW_CLAIM] = "claim",
        [FLOW_RENEW] = "renew",           [FLOW_SETTLE] = "settle",
        [FLOW_PROGRESS] = "progress",     [FLOW_CANCEL] = "cancel",
        [FLOW_SUSPEND] = "suspend",       [FLOW_RESUME] = "resume",
        [FLOW_SIGNAL] = "signal",         [FLOW_REPORT] = "report",
        [FLOW_RELEASE] = "release",       [FLOW_RESET] = "reset",
        [FLOW_REVOKE] = "revoke",         [FLOW_PRIORITISE] = "prioritise",
        [FLOW_REPLAY] = "replay",         [FLOW_GET] = "get",
        [FLOW_RECONCILE] = "a reconciler"};

    return NAMES[call != NULL ? call->verb : FLOW_RECONCILE];
}

void flow_execution_tell(const struct flow_execution *self, struct event_log *event_log)
{
    for (size_t i = 0; i < self->version_count; i++) {
        const struct flow_version *it = &self->versions[i];

        event_log_note(event_log, "journal",
                       "%" PRId64 ": execution %" PRId64 " state %" PRId64
                       " epoch %" PRId64 " settled %" PRId64 " lease %" PRId64
                       " by call %u",
                       it->seq, self->no, COL(&it->row, state), COL(&it->row, epoch),
                       COL(&it->row, settled_epoch), COL(&it->row, lease_us), it->call);
    }
}

/* ---- keys (M5) --------------------------------------------------------------------- */

static void take_key(struct flow_model *self, const struct flow_execution *execution,
                     int64_t now_us)
{
    const struct flow_draft *draft = execution->draft;

    for (size_t i = 0; i < self->key_count; i++) {
        if (strcmp(self->keys[i].draft->key, draft->key) == 0 &&
            self->keys[i].until_us > now_us)
            event_log_violate(book(self),
                              "M5: execution %" PRId64
                              " was made with the key %s, which stands for another",
                              execution->no, draft->key);
    }
    self->keys = grow(self->keys, self->key_count, sizeof *self->keys);
    self->keys[self->key_count++] =
        (struct flow_key){draft, execution->id, now_us + KEY_US};
}

void flow_model_key_forgotten(struct flow_model *self, const struct flow_entry *entry,
                              int64_t until_us)
{
    if (until_us > moment_of(self, entry).most_us)
        event_log_violate(book(self), "M5: a key was forgotten too early");
}

/* ---- new ones ---------------------------------------------------------------------- */

static bool is_fresh(const struct flow_execution *self, const struct flow_row *row)
{
    const struct weir_execution_draft *draft = &self->draft->draft;
    int64_t now_us = COL(row, created_us);
    bool later = draft->delay_ms > 0;
    struct flow_row want = {.instance = ""};

    COL(&want, state) = later ? DELAYED : READY;
    COL(&want, hold) = later ? HELD_BY_DELAY : NOT_HELD;
    COL(&want, percent) = -1;
    COL(&want, priority) = draft->priority;
    COL(&want, created_us) = now_us;
    COL(&want, turn) = now_us;
    COL(&want, due_us) = later ? now_us + draft->delay_ms * 1000 : 0;
    COL(&want, deadline_us) =
        draft->deadline_ms > 0 ? now_us + draft->deadline_ms * 1000 : 0;
    return rows_equal(&want, row);
}

static bool was_asked_for(const struct flow_call *call, const struct flow_draft *draft)
{
    if (call == NULL || call->verb != FLOW_SUBMIT)
        return false;
    for (size_t i = 0; i < call->item_count; i++) {
        if (call->items[i].draft == draft)
            return true;
    }
    return false;
}

static void begin(struct flow_model *self, const struct flow_entry *entry,
                  const struct weir_execution_id *id, const char *kind,
                  const struct flow_row *row)
{
    struct flow_moment moment = moment_of(self, entry);
    struct flow_execution *made;
    const struct flow_draft *draft = draft_of(self, kind);

    if (draft == NULL || !was_asked_for(caller(self, entry), draft)) {
        event_log_violate(book(self), "execution %" PRId64 " was not submitted",
                          entry->no);
        return;
    }
    for (size_t i = 0; i < self->execution_count; i++) {
        if (self->executions[i].removed_seq == 0 &&
            memcmp(self->executions[i].id.uuid, id->uuid, WEIR_UUID_SIZE) == 0)
            event_log_violate(book(self),
                              "executions %" PRId64 " and %" PRId64 " have the same id",
                              self->executions[i].no, entry->no);
    }
    self->executions =
        grow(self->executions, self->execution_count, sizeof *self->executions);
    made = &self->executions[self->execution_count++];
    *made = (struct flow_execution){.no = entry->no, .id = *id, .draft = draft};
    (void)weir_execution_id_format(id, made->id_text);
    add_version(made, entry, row);
    count_written(caller(self, entry), entry->no);
    self->stats.executions++;
    if (!is_fresh(made, row))
        event_log_violate(book(self), "M1: execution %" PRId64 " is new and is not",
                          entry->no);
    if (COL(row, created_us) < moment.least_us || COL(row, created_us) > moment.most_us)
        event_log_violate(book(self),
                          "M1: execution %" PRId64 " was made at a time that was not",
                          entry->no);
    if (draft->key[0] != '\0')
        take_key(self, made, COL(row, created_us));
}

/* ---- steps ------------------------------------------------------------------------- */

static void check_debt(struct flow_model *self, const struct flow_execution *execution)
{
    const struct flow_debt *debt = &execution->debt;

    if (debt->attempt)
        event_log_violate(book(self),
                          "M3: attempt %" PRId64 " of execution %" PRId64
                          " has ended and is not there",
                          debt->ended.number, execution->no);
    if (debt->has_result && debt->result[0] != '\0')
        event_log_violate(book(self), "M1: execution %" PRId64 " has lost its result",
                          execution->no);
    if (execution->owes_resume)
        event_log_violate(book(self),
                          "M11: execution %" PRId64
                          " waits on, and what it waited for is there",
                          execution->no);
    if (execution->told != NULL)
        event_log_violate(book(self), "M4: execution %" PRId64 ": a signal was not told",
                          execution->no);
    if (debt->timeout_signal)
        event_log_violate(book(self),
                          "M11: execution %" PRId64 " was not told of its timeout",
                          execution->no);
    if (debt->completion != NULL || debt->lease != NULL || debt->operated != NULL)
        event_log_violate(book(self), "M4: execution %" PRId64 ": nobody was told \"%s\"",
                          execution->no,
                          debt->completion != NULL ? debt->completion
                          : debt->lease != NULL    ? debt->lease
                                                   : debt->operated);
}

static void note_suspension(struct flow_model *self, struct flow_execution *execution,
                            const struct step *step)
{
    bool waits = COL(step->after, state) == SUSPENDED;

    execution->owes_resume = false;
    if (waits && COL(step->before, state) != SUSPENDED) {
        execution->suspension =
            (struct flow_suspension){.open = true,
                                     .wait = step->item->wait,
                                     .resume_delay_us = step->item->delay_us};
        self->stats.suspensions++;
    }
    execution->suspension.open = waits;
}

/* M10: their intervals, and what transactions of others take. */
static void check_lateness(const struct step *self, rule_fn rule, int64_t no)
{
    int64_t most_ms = (rule == promote         ? 750
                       : rule == time_out      ? 2000
                       : rule == lose_lease    ? 1500
                       : rule == wait_too_long ? 2000
                                               : 5000) +
                      250;

    if (self->model->options.punctual && self->call == NULL &&
        self->late_us > most_ms * 1000)
        event_log_violate(book(self->model),
                          "M10: a reconciler comes to execution %" PRId64 " %" PRId64
                          " ms too late",
                          no, self->late_us / 1000);
}

/* M3: those that have ended, and the one that has not. */
static void check_attempts(struct flow_model *self, const struct flow_execution *it)
{
    const struct flow_row *row = &it->versions[it->version_count - 1].row;
    int64_t open = it->ended_attempts + (has_attempt(row) ? 1 : 0);

    if (COL(row, attempts) != open)
        event_log_violate(book(self),
                          "M3: execution %" PRId64 " has %" PRId64
                          " attempts, and %" PRId64 " are there",
                          it->no, COL(row, attempts), open);
}

static void refuse_step(const struct step *self, const struct flow_entry *entry)
{
    const struct flow_row *old = self->before;
    const struct flow_row *new = self->after;

    if (self->call != NULL && self->item == NULL && self->call->verb != FLOW_CLAIM)
        event_log_violate(book(self->model),
                          "M2: execution %" PRId64 ", epoch %" PRId64
                          ": changed by %s (call %u) without its epoch or id",
                          entry->no, COL(old, epoch), verb_name(self->call), entry->call);
    else
        event_log_violate(book(self->model),
                          "M1: execution %" PRId64 " at %" PRId64
                          " ms: %s (call %u) cannot lead from state %" PRId64
                          " epoch %" PRId64 " to state %" PRId64 " epoch %" PRId64
                          " (%s)",
                          entry->no, entry->ns / 1000000, verb_name(self->call),
                          entry->call, COL(old, state), COL(old, epoch), COL(new, state),
                          COL(new, epoch), difference(&self->row, new));
}

static void take_step(struct flow_model *self, struct flow_execution *execution,
                      const struct flow_entry *entry, const struct flow_row *row)
{
    struct flow_call *call = caller(self, entry);
    struct step step = {
        .model = self,
        .call = call,
        .item = item_of(call, execution),
        .execution = execution,
        .policy = &execution->draft->policy,
        .before = &execution->versions[execution->version_count - 1].row,
        .after = row,
        .moment = moment_of(self, entry),
    };
    rule_fn rule;

    if (call != NULL && call->verb == FLOW_SIGNAL && execution->owes_resume) {
        rule = find_rule(&step);
        execution->owes_resume = false; /* it is paid by this step, whatever it is */
    } else {
        rule = find_rule(&step);
    }
    /* A signal is told after its step, in the same transaction. */
    if (rule != wake)
        check_debt(self, execution);
    if (rule == NULL) {
        flow_execution_tell(execution, book(self));
        refuse_step(&step, entry);
        return;
    }
    if (COL(row, epoch) < COL(step.before, epoch))
        event_log_violate(book(self), "M1: the epoch of execution %" PRId64 " went back",
                          entry->no);
    check_lateness(&step, rule, entry->no);
    execution->debt = step.debt;
    execution->debt.when = step.moment;
    note_suspension(self, execution, &step);
    self->stats.held_back += rule == hold_back;
    if ((rule != expire && rule != hold_back) || call == NULL)
        count_written(call, entry->no);
    self->stats.steps++;
    self->stats.attempts += (uint64_t)(COL(row, attempts) - COL(step.before, attempts));
    self->stats.ends += flow_row_is_over(row);
    add_version(execution, entry, row);
}

void flow_model_row(struct flow_model *self, const struct flow_entry *entry,
                    const struct weir_execution_id *id, const char *kind,
                    const struct flow_row *row)
{
    struct flow_execution *execution = find(self, entry->no);

    if (execution == NULL)
        begin(self, entry, id, kind, row);
    else
        take_step(self, execution, entry, row);
}

/* M6 */
void flow_model_removed(struct flow_model *self, const struct flow_entry *entry)
{
    struct flow_execution *execution = find(self, entry->no);
    const struct flow_row *row;

    if (execution == NULL)
        return;
    row = &execution->versions[execution->version_count - 1].row;
    check_debt(self, execution);
    execution->debt = (struct flow_debt){.attempt = false};
    if (!flow_row_is_over(row))
        event_log_violate(book(self),
                          "M6: execution %" PRId64 " was removed and had not ended",
                          entry->no);
    else if (entry->call != 0 || self->options.retention_us == 0 ||
             COL(row, ended_us) + self->options.retention_us >
                 moment_of(self, entry).most_us)
        event_log_violate(book(self), "M6: execution %" PRId64 " was removed too early",
                          entry->no);
    check_attempts(self, execution);
    execution->removed_seq = entry->seq;
    self->stats.removed++;
}

/* M3 */
void flow_model_attempt(struct flow_model *self, const struct flow_entry *entry,
                        const struct flow_attempt *attempt)
{
    struct flow_execution *execution = find(self, entry->no);
    const struct flow_debt *debt = execution != NULL ? &execution->debt : NULL;
    const struct flow_attempt *owed = execution != NULL ? &debt->ended : NULL;

    if (debt == NULL || !debt->attempt || attempt->number != owed->number ||
        attempt->type != owed->type || attempt->outcome != owed->outcome ||
        attempt->epoch != owed->epoch || attempt->started_us != owed->started_us ||
        attempt->ended_us < debt->when.least_us ||
        attempt->ended_us > debt->when.most_us) {
        event_log_violate(book(self),
                          "M3: attempt %" PRId64 " of execution %" PRId64
                          " (outcome %" PRId64 ") has not ended so",
                          attempt->number, entry->no, attempt->outcome);
        return;
    }
    if (attempt->number != execution->ended_attempts)
        event_log_violate(book(self),
                          "M3: execution %" PRId64 ": attempt %" PRId64
                          " comes after %d others",
                          entry->no, attempt->number, execution->ended_attempts);
    execution->ended_attempts++;
    execution->debt.attempt = false;
    check_attempts(self, execution);
}

void flow_model_result(struct flow_model *self, const struct flow_entry *entry,
                       const char *bytes, size_t size)
{
    struct flow_execution *execution = find(self, entry->no);

    if (execution == NULL || !execution->debt.has_result ||
        strlen(execution->debt.result) != size ||
        memcmp(execution->debt.result, bytes, size) != 0)
        event_log_violate(book(self), "M1: execution %" PRId64 " has a wrong result",
                          entry->no);
    else
        execution->debt.has_result = false;
}

/* ---- events (M4) ------------------------------------------------------------------- */

static struct flow_execution *find_in(struct flow_model *self, const char *payload)
{
    const char *text = strstr(payload, "\"execution\":\"");

    for (size_t i = self->execution_count; text != NULL && i > 0; i--) {
        struct flow_execution *it = &self->executions[i - 1];

        if (it->removed_seq == 0 && strncmp(text + strlen("\"execution\":\""),
                                            it->id_text, strlen(it->id_text)) == 0)
            return it;
    }
    return NULL;
}

static bool says(const char *payload, const char *event)
{
    char start[64];

    (void)snprintf(start, sizeof start, "{\"event\":\"%s\",", event);
    return strncmp(payload, start, strlen(start)) == 0;
}

static bool says_epoch(const char *payload, int64_t epoch)
{
    char text[40];

    (void)snprintf(text, sizeof text, "\"epoch\":%" PRId64 ",", epoch);
    return strstr(payload, text) != NULL;
}

/* Pay a debt; false: there is none of this. */
static bool pay(const char **owed, const char *payload)
{
    if (*owed == NULL || !says(payload, *owed))
        return false;
    *owed = NULL;
    return true;
}

void flow_model_event(struct flow_model *self, const struct flow_entry *entry,
                      const char *payload)
{
    struct flow_execution *execution = find_in(self, payload);
    struct flow_debt *debt = execution != NULL ? &execution->debt : NULL;
    bool paid = false;

    (void)entry;
    if (debt == NULL)
        paid = false;
    else if (strstr(payload, "\"waitpoint\":") != NULL)
        paid = pay(&execution->told, payload);
    else if (strstr(payload, "\"attempts\":") != NULL)
        paid = says_epoch(payload, debt->completion_epoch) &&
               pay(&debt->completion, payload);
    else if (strstr(payload, "\"attempt\":") != NULL)
        paid = says_epoch(payload, debt->lease_epoch) && pay(&debt->lease, payload);
    else
        paid = pay(&debt->operated, payload);
    if (!paid)
        event_log_violate(book(self), "M4: told, and it was not so: %.120s", payload);
}

/* ---- the end ----------------------------------------------------------------------- */

void flow_model_judge(struct flow_model *self, bool healed, struct flow_stats *out)
{
    for (size_t i = 0; i < self->execution_count; i++) {
        const struct flow_execution *it = &self->executions[i];

        check_debt(self, it);
        check_attempts(self, it);
        if (healed && it->removed_seq == 0 &&
            !flow_row_is_over(&it->versions[it->version_count - 1].row))
            event_log_violate(book(self), "execution %" PRId64 " has not ended", it->no);
    }
    flow_model_judge_answers(self);
    self->stats.calls = self->call_count;
    *out = self->stats;
}
