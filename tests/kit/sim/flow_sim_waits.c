/*
 * flow_sim_waits.c - see flow_sim_private.h: executions that are suspended, whoever
 * signals them, and what is used of the budget.
 */
#include <stdio.h>
#include <string.h>

#include "kit/sim/flow_sim_private.h"
#include "kit/test.h"
#include "weir/budget.h"
#include "weir/context.h"
#include "weir/suspension.h"

enum { REPEATS = 4, BLOCKED = 3, SUSPENDED = 5 /* as stored */ };

static const char *const CONDITIONS[FLOW_WAITS] = {
    [FLOW_WAIT_ONE] = "*@w",
    [FLOW_WAIT_TWO] = "2 of signals *@w",
    [FLOW_WAIT_BOTH] = "all(go@w, go@v)",
    [FLOW_WAIT_SOURCES] = "2 of sources go@(w, v)",
    [FLOW_WAIT_OPERATOR] = "operator",
    [FLOW_WAIT_TIMEOUT] = "timeout",
};

static struct flow_sim *sim_of(const struct flow_actor *self)
{
    return self->process->sim;
}

static uint32_t below(const struct flow_actor *self, uint32_t limit)
{
    return timeline_below(&sim_of(self)->time, limit);
}

static bool one_in(const struct flow_actor *self, uint32_t n)
{
    return timeline_one_in(&sim_of(self)->time, n);
}

static bool may_work_later(enum weir_status status)
{
    return weir_status_class(status) == WEIR_CLASS_RETRY;
}

/* ---- workers that wait ------------------------------------------------------------- */

static size_t list_waitpoints(enum flow_wait wait, struct weir_waitpoint *out)
{
    memset(out, 0, 2 * sizeof *out);
    out[0].key = "w";
    out[1].key = "v";
    return wait >= FLOW_WAIT_OPERATOR                            ? 0
           : wait == FLOW_WAIT_BOTH || wait == FLOW_WAIT_SOURCES ? 2
                                                                 : 1;
}

static enum weir_status suspend(struct flow_actor *self, const struct flow_item *asked)
{
    struct flow_sim *sim = sim_of(self);
    struct flow_call *call = flow_actor_begin(self, FLOW_SUSPEND);
    struct flow_item *item = &call->items[0];
    struct weir_waitpoint waitpoints[2];
    struct weir_suspend_options options;
    bool satisfied = false;

    *item = *asked;
    call->item_count = 1;
    weir_suspend_options_init(&options);
    options.waitpoints = waitpoints;
    options.waitpoint_count = list_waitpoints(item->wait, waitpoints);
    options.until = CONDITIONS[item->wait];
    options.timeout_ms = item->timeout_us / 1000;
    options.on_timeout = item->on_timeout;
    options.resume_delay_ms = item->delay_us / 1000;
    item->status = weir_execution_suspend(self->process->executions, &item->claim,
                                          &options, &satisfied, &item->current, NULL);
    for (size_t i = 0; i < options.waitpoint_count && item->status == WEIR_OK; i++)
        sim->spots[sim->waitpoint_slot_count++ % FLOW_SPOTS_KEPT] =
            (struct flow_waitpoint_slot){item->claim.id, waitpoints[i]};
    if (satisfied)
        event_log_violate(&sim->event_log, "nothing had come, and it sufficed");
    flow_actor_end(self, item->status);
    return item->status;
}

void flow_actor_suspend(struct flow_actor *self, const struct weir_claim *claim)
{
    struct flow_item item = {
        .claim = *claim,
        .wait = (enum flow_wait)below(self, FLOW_WAITS),
        .on_timeout = (enum weir_on_timeout)below(self, WEIR_ON_TIMEOUT_COUNT)};
    enum weir_status status;

    if (item.wait == FLOW_WAIT_TIMEOUT || one_in(self, 2))
        item.timeout_us = (int64_t)(200 + below(self, 2000)) * 1000;
    if (one_in(self, 3))
        item.delay_us = (int64_t)(1 + below(self, 400)) * 1000;
    status = suspend(self, &item);
    for (int i = 0; i < REPEATS && may_work_later(status); i++) {
        flow_actor_rest(self, 60);
        status = suspend(self, &item);
    }
}

/* ---- the world answers ------------------------------------------------------------- */

static enum weir_status signal(struct flow_actor *self, const struct flow_item *asked)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_SIGNAL);
    struct flow_item *item = &call->items[0];
    struct weir_signal signal = {.id = asked->id,
                                 .token = item->waitpoint_slot.token,
                                 .name = item->signal,
                                 .source = item->source};
    enum weir_status status;

    *item = *asked;
    call->item_count = 1;
    memcpy(signal.waitpoint, item->waitpoint_slot.uuid, WEIR_UUID_SIZE);
    signal.key = item->key[0] != '\0' ? item->key : NULL;
    status =
        weir_execution_signal(self->process->executions, &signal, &item->effect, NULL);
    flow_actor_end(self, status);
    return status;
}

/* With a key it may be repeated, because the reply was lost or just so. */
static void signal_surely(struct flow_actor *self, const struct flow_item *item)
{
    enum weir_status status = signal(self, item);

    for (int i = 0; i < REPEATS && item->key[0] != '\0' && may_work_later(status); i++) {
        flow_actor_rest(self, 60);
        status = signal(self, item);
    }
    if (item->key[0] != '\0' && one_in(self, 3)) {
        flow_actor_rest(self, 200);
        (void)signal(self, item);
    }
}

void flow_actor_signal(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);

    while (!sim->time.healed) {
        size_t kept = sim->waitpoint_slot_count < FLOW_SPOTS_KEPT
                          ? sim->waitpoint_slot_count
                          : FLOW_SPOTS_KEPT;
        const struct flow_waitpoint_slot *waitpoint_slot;
        struct flow_item item = {.effect = WEIR_SIGNAL_EFFECT_COUNT};

        flow_actor_rest(self, 200);
        if (kept == 0 || sim->time.healed)
            continue;
        waitpoint_slot = &sim->spots[below(self, (uint32_t)kept)];
        item.id = waitpoint_slot->id;
        item.waitpoint_slot = waitpoint_slot->waitpoint;
        (void)snprintf(item.signal, sizeof item.signal, "%s",
                       one_in(self, 4) ? "no" : "go");
        (void)snprintf(item.source, sizeof item.source, "%s",
                       one_in(self, 2) ? "ann" : "bob");
        if (!one_in(self, 3)) /* the same for what is the same */
            (void)snprintf(item.key, sizeof item.key, "%.2s-%.3s-%u", item.signal,
                           item.source, below(self, 2));
        signal_surely(self, &item);
    }
}

/* ---- the budget -------------------------------------------------------------------- */

/* None, or a few seconds. */
static int64_t period_of(const struct flow_plan *plan)
{
    return plan->seed % 2 == 0 ? 0 : 1000 + (int64_t)(plan->seed % 2000);
}

void flow_actor_make_budget(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);
    struct weir_budget_limit limit = {
        .dimension = "tokens", .hard = sim->plan->budget, .soft = sim->plan->budget / 2};
    struct weir_budget_draft draft = {.name = FLOW_BUDGET,
                                      .period_ms = period_of(sim->plan),
                                      .limits = &limit,
                                      .limit_count = 1};
    bool existed = false;

    if (sim->plan->budget == 0)
        return;
    while (weir_budget_create(self->process->executions, &draft, &existed, NULL) !=
           WEIR_OK)
        flow_actor_rest(self, 50);
}

static enum weir_status report(struct flow_actor *self, const struct flow_item *asked)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_REPORT);
    struct flow_item *item = &call->items[0];
    struct weir_budget_answer answer = {.used = 0};
    struct weir_amount amount = {.dimension = "tokens", .amount = asked->number};
    enum weir_status status;

    *item = *asked;
    call->item_count = 1;
    status =
        weir_budget_report(self->process->executions, FLOW_BUDGET, &item->id, &amount, 1,
                           item->key[0] != '\0' ? item->key : NULL, &answer, NULL);
    item->spending = answer.spending;
    flow_actor_end(self, status);
    return status;
}

static void release(struct flow_actor *self, const struct weir_execution_id *id)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_RELEASE);

    call->item_count = 1;
    call->items[0].id = *id;
    flow_actor_end(self,
                   weir_budget_release(self->process->executions, FLOW_BUDGET, id, NULL));
}

static void reset(struct flow_actor *self)
{
    (void)flow_actor_begin(self, FLOW_RESET);
    flow_actor_end(self, weir_budget_reset(self->process->executions, FLOW_BUDGET, NULL));
}

void flow_actor_spend(struct flow_actor *self, const struct weir_claim *claim)
{
    struct flow_sim *sim = sim_of(self);
    struct flow_item item = {.id = claim->id, .number = 1 + below(self, 3)};
    enum weir_status status;

    if (sim->time.healed || one_in(self, 2))
        return;
    if (!one_in(self, 4))
        (void)snprintf(item.key, sizeof item.key, "report-%u", sim->report_next++);
    status = report(self, &item);
    for (int i = 0; i < REPEATS && item.key[0] != '\0' && may_work_later(status); i++) {
        flow_actor_rest(self, 60);
        status = report(self, &item);
    }
    if (item.key[0] != '\0' && one_in(self, 4))
        (void)report(self, &item);
    if (one_in(self, 5))
        release(self, &claim->id);
    else if (one_in(self, 12))
        reset(self);
}

/* ---- the end ----------------------------------------------------------------------- */

static void resume(struct flow_actor *self, const struct weir_execution_id *id)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_RESUME);

    call->item_count = 1;
    call->items[0].id = *id;
    flow_actor_end(self, weir_execution_resume(self->process->executions, id, 0, NULL));
}

void flow_actor_end_waits(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);
    struct weir_execution_id ids[FLOW_KNOWN_MAX];
    size_t count = flow_journal_in_state(sim->journal, SUSPENDED, ids, FLOW_KNOWN_MAX);

    for (size_t i = 0; i < count && !sim->ending; i++)
        resume(self, &ids[i]);
    if (flow_journal_in_state(sim->journal, BLOCKED, ids, 1) > 0 && !sim->ending)
        reset(self);
}
