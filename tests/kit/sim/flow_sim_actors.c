/*
 * flow_sim_actors.c - see flow_sim_private.h: whoever calls the engine, and tells the
 * model.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "db/clock.h"
#include "kit/sim/flow_sim_private.h"
#include "kit/test.h"
#include "weir/context.h"

static const char *const LANES[FLOW_LANES] = {"a", "b"};
static const char *const GPU = "gpu";
static const char *const BUDGET = FLOW_BUDGET;

/* ---- calls ------------------------------------------------------------------------- */

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

void flow_actor_rest(struct flow_actor *self, uint32_t most_ms)
{
    weir_sleep_through(self->context, timeline_up_to_ms(&sim_of(self)->time, most_ms));
}

struct flow_call *flow_actor_begin(struct flow_actor *self, enum flow_verb verb)
{
    struct flow_sim *sim = sim_of(self);

    self->call =
        flow_model_call(sim->model, verb, self->name, weir_context_now(self->context),
                        flow_journal_seen(sim->journal));
    return self->call;
}

void flow_actor_end(struct flow_actor *self, enum weir_status status)
{
    struct flow_sim *sim = sim_of(self);
    struct flow_call *call = self->call;

    call->status = status;
    call->answered = true;
    call->ended_ns = weir_context_now(self->context);
    call->seen_to = flow_journal_seen(sim->journal);
    self->call = NULL;
    event_log_note(&sim->event_log, self->name, "call %u: %d of %zu: %s", call->number,
                   (int)call->verb, call->item_count, weir_status_text(status));
}

/* ---- drafts ------------------------------------------------------------------------ */

static void make_policy(struct flow_sim *self, struct weir_execution_policy *out)
{
    static const int64_t INITIAL_MS[] = {0, 50, 300};

    weir_execution_policy_init(out);
    out->retries_max = timeline_below(&self->time, 4);
    out->backoff =
        timeline_one_in(&self->time, 2) ? WEIR_RETRY_FIXED : WEIR_RETRY_EXPONENTIAL;
    out->backoff_initial_ms = INITIAL_MS[timeline_below(&self->time, 3)];
    out->backoff_multiplier = 1 + timeline_below(&self->time, 3);
    out->backoff_max_ms = 1000;
    out->attempt_timeout_ms =
        timeline_one_in(&self->time, 2) ? 0 : 300 + timeline_below(&self->time, 2000);
    out->reclaims_max = timeline_below(&self->time, 4);
    out->replays_max = timeline_below(&self->time, 3);
}

static void make_id(struct flow_sim *self, struct weir_execution_id *out)
{
    for (int i = 0; i < WEIR_UUID_SIZE; i++)
        out->uuid[i] = (uint8_t)timeline_below(&self->time, 256);
    out->uuid[6] = (uint8_t)((out->uuid[6] & 0x0f) | 0x70);
    out->uuid[8] = (uint8_t)((out->uuid[8] & 0x3f) | 0x80);
    out->partition = 1;
}

/* A key of its own, one that an earlier draft has, or none; then perhaps an id. */
static void make_name(struct flow_sim *self, struct flow_draft *draft)
{
    uint32_t number = draft->number;

    if (timeline_one_in(&self->time, 2)) {
        if (number > 0 && timeline_one_in(&self->time, 6))
            number = timeline_below(&self->time, number);
        (void)snprintf(draft->key, sizeof draft->key, "key-%u", number);
        draft->draft.idempotency_key = draft->key;
    } else if (timeline_one_in(&self->time, 2)) {
        make_id(self, &draft->id);
        draft->draft.id = &draft->id;
    }
}

static void make_draft(struct flow_sim *self, uint32_t number)
{
    struct flow_draft *draft = &self->drafts[number];

    draft->number = number;
    (void)snprintf(draft->kind, sizeof draft->kind, "k%u", number);
    make_policy(self, &draft->policy);
    draft->draft = (struct weir_execution_draft){
        .lane = LANES[timeline_below(&self->time, FLOW_LANES)],
        .kind = draft->kind,
        .priority = (int32_t)timeline_below(&self->time, 4),
        .input = draft->kind,
        .input_size = strlen(draft->kind),
        .policy = &draft->policy,
        .delay_ms =
            timeline_one_in(&self->time, 2) ? 0 : timeline_below(&self->time, 2000),
        .deadline_ms =
            timeline_one_in(&self->time, 3) ? 500 + timeline_below(&self->time, 6000) : 0,
    };
    if (timeline_one_in(&self->time, 4)) {
        draft->draft.capabilities = &GPU;
        draft->draft.capability_count = 1;
    }
    if (timeline_one_in(&self->time, 3)) {
        draft->tag = (struct weir_tag){"tenant.plan", "gold"};
        draft->draft.tags = &draft->tag;
        draft->draft.tag_count = 1;
    }
    if (self->plan->budget != 0 && timeline_one_in(&self->time, 2)) {
        draft->budgeted = true;
        draft->draft.budgets = &BUDGET;
        draft->draft.budget_count = 1;
    }
    make_name(self, draft);
}

void flow_sim_make_drafts(struct flow_sim *self)
{
    check(self->plan->drafts <= FLOW_DRAFTS_MAX);
    for (uint32_t i = 0; i < self->plan->drafts; i++)
        make_draft(self, i);
}

/* ---- submitters -------------------------------------------------------------------- */

static bool repeats_well(const struct flow_draft *draft)
{
    return draft->key[0] != '\0' || draft->draft.id != NULL;
}

/* The next one, or one that was there before. */
static const struct flow_draft *choose_draft(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);

    if (sim->draft_next > 0 &&
        (sim->draft_next >= sim->plan->drafts || one_in(self, 4))) {
        const struct flow_draft *old = &sim->drafts[below(self, sim->draft_next)];

        if (repeats_well(old))
            return old;
    }
    return sim->draft_next < sim->plan->drafts ? &sim->drafts[sim->draft_next++] : NULL;
}

static void learn(struct flow_actor *self, const struct flow_call *call)
{
    struct flow_sim *sim = sim_of(self);

    for (size_t i = 0; i < call->item_count; i++) {
        if (sim->known_count < FLOW_KNOWN_MAX)
            sim->known[sim->known_count++] = call->items[i].id;
    }
}

/* In a transaction of the caller's, who may think better of it. */
static enum weir_status submit_inside(struct flow_actor *self,
                                      const struct weir_execution_draft *drafts,
                                      size_t count, struct weir_submission *out)
{
    struct weir_db *db = sim_process_db(self->process->life.sim_process);
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, NULL);

    if (status == WEIR_OK)
        status = weir_connection_begin(connection, NULL);
    if (status == WEIR_OK) {
        status = weir_execution_submit(self->process->executions, connection, drafts,
                                       count, out, NULL);
        flow_actor_rest(self, 20);
        if (status != WEIR_OK || one_in(self, 4)) {
            self->call->undone = true;
            weir_connection_rollback(connection);
        } else {
            status = weir_connection_commit(connection, NULL);
        }
    }
    weir_db_release(db, connection);
    if (status == WEIR_OK && !self->call->undone)
        weir_executions_flush(self->process->executions);
    return status;
}

static enum weir_status submit(struct flow_actor *self,
                               const struct flow_draft *const *chosen, size_t count)
{
    struct weir_execution_draft drafts[FLOW_ITEMS_MAX];
    struct weir_submission out[FLOW_ITEMS_MAX];
    struct flow_call *call = flow_actor_begin(self, FLOW_SUBMIT);
    enum weir_status status;

    call->item_count = count;
    for (size_t i = 0; i < count; i++) {
        call->items[i].draft = chosen[i];
        drafts[i] = chosen[i]->draft;
    }
    status = one_in(self, 4) ? submit_inside(self, drafts, count, out)
                             : weir_execution_submit(self->process->executions, NULL,
                                                     drafts, count, out, NULL);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        call->items[i].id = out[i].id;
        call->items[i].duplicate = out[i].duplicate;
    }
    if (status == WEIR_OK && !call->undone)
        learn(self, call);
    flow_actor_end(self, status);
    return status;
}

void flow_actor_submit(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);

    flow_actor_make_budget(self);
    while (!sim->time.healed) {
        const struct flow_draft *chosen[FLOW_ITEMS_MAX];
        size_t count = 0;
        enum weir_status status;

        for (size_t left = 1 + below(self, 3); left > 0; left--) {
            chosen[count] = choose_draft(self);
            count += chosen[count] != NULL;
        }
        flow_actor_rest(self, sim->draft_next < sim->plan->drafts ? 400 : 2000);
        if (count == 0)
            continue;
        status = submit(self, chosen, count);
        /* A caller in doubt repeats the call: that is what keys are for. */
        for (int i = 0;
             i < 3 && weir_status_class(status) == WEIR_CLASS_RETRY && !sim->time.healed;
             i++) {
            flow_actor_rest(self, 50);
            status = submit(self, chosen, count);
        }
    }
}

/* ---- workers ----------------------------------------------------------------------- */

static void remember(struct flow_sim *sim, const struct weir_claim *claim)
{
    sim->claims[sim->claim_count++ % FLOW_CLAIMS_KEPT] = *claim;
}

static void check_claimed(struct flow_actor *self, const struct weir_claimed *claimed)
{
    struct flow_sim *sim = sim_of(self);

    if (claimed->input_size != strlen(claimed->kind) ||
        memcmp(claimed->input, claimed->kind, claimed->input_size) != 0)
        event_log_violate(&sim->event_log, "%s was given the input of another",
                          self->name);
}

static void take(struct flow_actor *self, struct flow_call *call,
                 struct weir_claimed *claimed, size_t count)
{
    call->item_count = count;
    self->held_count = count;
    for (size_t i = 0; i < count; i++) {
        check_claimed(self, &claimed[i]);
        call->items[i].claim = claimed[i].claim;
        call->items[i].claimed = claimed[i];
        self->held[i] = claimed[i].claim;
        remember(sim_of(self), &claimed[i].claim);
    }
}

static void claim(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);
    struct flow_call *call = flow_actor_begin(self, FLOW_CLAIM);
    const char *lanes[FLOW_LANES];
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    size_t wanted = sim->time.healed ? FLOW_HELD_MAX : 1 + below(self, FLOW_HELD_MAX - 1);
    enum weir_status status;

    weir_claim_options_init(&options);
    call->lanes = sim->time.healed ? 3 : 1 + below(self, 3);
    call->gpu = sim->time.healed || one_in(self, 2);
    (void)snprintf(call->instance, sizeof call->instance, "%s", self->name);
    for (uint32_t i = 0; i < FLOW_LANES; i++) {
        if ((call->lanes & (1U << i)) != 0)
            lanes[options.lane_count++] = LANES[i];
    }
    options.lanes = lanes;
    options.capabilities = &GPU;
    options.capability_count = call->gpu ? 1 : 0;
    options.worker = "pool";
    options.instance = self->name;
    options.lease_ms = 1000 + below(self, 1500);
    options.wait_ms = one_in(self, 3) ? 0 : below(self, 600);
    call->ttl_us = options.lease_ms * 1000;
    status = weir_execution_claim(self->process->executions, &options, wanted, &claimed,
                                  &count, NULL);
    self->held_count = 0;
    if (status == WEIR_OK)
        take(self, call, claimed, count);
    weir_claimed_free(self->process->executions, claimed);
    flow_actor_end(self, status);
}

static void renew(struct flow_actor *self, const struct weir_claim *claims, size_t count)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_RENEW);
    struct weir_renewal renewals[FLOW_ITEMS_MAX];
    int64_t lease_ms = 1000 + below(self, 1500);
    enum weir_status status;

    call->ttl_us = lease_ms * 1000;
    call->item_count = count;
    for (size_t i = 0; i < count; i++) {
        call->items[i].claim = claims[i];
        renewals[i] = (struct weir_renewal){.claim = claims[i]};
    }
    status =
        weir_execution_renew(self->process->executions, lease_ms, renewals, count, NULL);
    for (size_t i = 0; i < count; i++) {
        call->items[i].status = renewals[i].status;
        call->items[i].current = renewals[i].current;
    }
    flow_actor_end(self, status);
}

static void report(struct flow_actor *self, const struct weir_claim *claim)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_PROGRESS);
    struct flow_item *item = &call->items[0];

    call->item_count = 1;
    item->claim = *claim;
    item->number = below(self, 101);
    item->status =
        weir_execution_progress(self->process->executions, claim, (int32_t)item->number,
                                "so far", &item->current, NULL);
    flow_actor_end(self, item->status);
}

static enum weir_settle choose_settle(struct flow_actor *self)
{
    uint32_t dice = sim_of(self)->time.healed ? 0 : below(self, 20);

    return dice < 11   ? WEIR_SETTLE_COMPLETE
           : dice < 16 ? WEIR_SETTLE_FAIL
           : dice < 19 ? WEIR_SETTLE_DELAY
                       : WEIR_SETTLE_ABANDON;
}

static struct flow_item choose_item(struct flow_actor *self,
                                    const struct weir_claim *claim)
{
    struct flow_item item = {.claim = *claim,
                             .settle = choose_settle(self),
                             .permanent = one_in(self, 5),
                             .delay_us = 0};

    if (!one_in(self, 4))
        item.delay_us = (int64_t)below(self, 800) * 1000;
    if (!one_in(self, 6))
        (void)snprintf(item.text, sizeof item.text, "said %u", below(self, 1000000));
    return item;
}

static enum weir_status settle(struct flow_actor *self, const struct flow_item *items,
                               size_t count)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_SETTLE);
    struct weir_settlement settlements[FLOW_ITEMS_MAX];
    enum weir_status status;

    call->item_count = count;
    for (size_t i = 0; i < count; i++) {
        bool completes = items[i].settle == WEIR_SETTLE_COMPLETE;

        call->items[i] = items[i];
        settlements[i] = (struct weir_settlement){
            .claim = items[i].claim,
            .verb = items[i].settle,
            .result = completes ? items[i].text : NULL,
            .result_size = completes ? strlen(items[i].text) : 0,
            .reason = items[i].text,
            .permanent = items[i].permanent,
            .delay_ms = items[i].delay_us / 1000,
        };
    }
    status = weir_execution_settle(self->process->executions, settlements, count, NULL);
    for (size_t i = 0; i < count; i++) {
        call->items[i].status = settlements[i].status;
        call->items[i].current = settlements[i].current;
    }
    flow_actor_end(self, status);
    return status;
}

/* Until it is known to be done, and now and then once more. */
static void settle_surely(struct flow_actor *self, const struct weir_claim *claims,
                          size_t count)
{
    struct flow_item items[FLOW_ITEMS_MAX];
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        items[i] = choose_item(self, &claims[i]);
    status = settle(self, items, count);
    for (int i = 0; i < 4 && weir_status_class(status) == WEIR_CLASS_RETRY; i++) {
        flow_actor_rest(self, 60);
        status = settle(self, items, count);
    }
    if (!sim_of(self)->time.healed && one_in(self, 8)) {
        flow_actor_rest(self, 300);
        (void)settle(self, items, count);
    }
}

/* A worker uses a claim of long ago, its own or another's. */
static void come_late(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);
    size_t kept =
        sim->claim_count < FLOW_CLAIMS_KEPT ? sim->claim_count : FLOW_CLAIMS_KEPT;
    struct weir_claim claims[2];

    if (kept == 0)
        return;
    claims[0] = sim->claims[below(self, (uint32_t)kept)];
    claims[1] = sim->claims[below(self, (uint32_t)kept)];
    if (one_in(self, 3))
        renew(self, claims, 1);
    else if (one_in(self, 2))
        report(self, &claims[0]);
    else
        settle_surely(self, claims, 1 + below(self, 2));
}

static void work_on(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);

    if (!sim->time.healed)
        flow_actor_rest(self, timeline_happens(&sim->time, FLOW_WORKERS, 6) ? 4000 : 300);
    if (one_in(self, 3)) {
        renew(self, self->held, self->held_count);
        flow_actor_rest(self, 200);
    }
    if (one_in(self, 4))
        report(self, &self->held[0]);
    if (sim->plan->budget != 0)
        flow_actor_spend(self, &self->held[below(self, (uint32_t)self->held_count)]);
    if (timeline_happens(&sim->time, FLOW_WORKERS, 6))
        return; /* and forgets what it holds */
    if (sim->plan->signallers > 0 && !sim->time.healed && one_in(self, 2)) {
        flow_actor_suspend(self, &self->held[--self->held_count]);
        if (self->held_count == 0)
            return;
    }
    if (one_in(self, 2)) {
        settle_surely(self, self->held, self->held_count);
        return;
    }
    for (size_t i = 0; i < self->held_count; i++)
        settle_surely(self, &self->held[i], 1);
}

void flow_actor_work(struct flow_actor *self)
{
    struct flow_sim *sim = sim_of(self);

    while (!sim->ending) {
        claim(self);
        if (self->held_count > 0)
            work_on(self);
        else
            flow_actor_rest(self, 300);
        if (sim->time.healed && self->held_count == 0)
            flow_actor_end_waits(self);
        if (timeline_happens(&sim->time, FLOW_WORKERS, 4))
            come_late(self);
    }
}

/* ---- operators --------------------------------------------------------------------- */

static enum weir_status revoke(struct flow_actor *self, struct flow_item *item)
{
    struct weir_revocation revocation = {.epoch =
                                             one_in(self, 3) ? 1 + below(self, 6) : 0};
    enum weir_status status;

    item->claim.epoch = revocation.epoch;
    status =
        weir_execution_revoke(self->process->executions, &item->id, &revocation, NULL);
    item->revoked = revocation.revoked;
    item->why = revocation.reason;
    item->current = revocation.current;
    return status;
}

static void note_info(void *state, const struct weir_execution_info *info)
{
    struct flow_item *item = state;

    item->info = *info; /* its texts are gone afterwards, and are not read */
}

static enum weir_status operate(struct flow_actor *self, struct flow_call *call)
{
    struct weir_executions *executions = self->process->executions;
    struct flow_item *item = &call->items[0];

    switch (call->verb) {
    case FLOW_CANCEL:
        (void)snprintf(item->text, sizeof item->text, "enough");
        return weir_execution_cancel(executions, &item->id, item->text, NULL);
    case FLOW_REVOKE:
        return revoke(self, item);
    case FLOW_PRIORITISE:
        item->number = below(self, 6);
        return weir_execution_prioritise(executions, &item->id, (int32_t)item->number,
                                         NULL);
    case FLOW_REPLAY:
        return weir_execution_replay(executions, &item->id, NULL);
    case FLOW_RESUME:
        item->delay_us = one_in(self, 2) ? 0 : (int64_t)below(self, 400) * 1000;
        return weir_execution_resume(executions, &item->id, item->delay_us / 1000, NULL);
    default:
        return weir_execution_get(executions, &item->id, note_info, item, NULL);
    }
}

void flow_actor_operate(struct flow_actor *self)
{
    static const enum flow_verb VERBS[] = {FLOW_CANCEL,     FLOW_REVOKE, FLOW_REVOKE,
                                           FLOW_PRIORITISE, FLOW_REPLAY, FLOW_REPLAY,
                                           FLOW_RESUME,     FLOW_GET};
    struct flow_sim *sim = sim_of(self);

    while (!sim->time.healed) {
        struct flow_call *call;

        flow_actor_rest(self, 500);
        if (sim->known_count == 0 || sim->time.healed)
            continue;
        call = flow_actor_begin(self, VERBS[below(self, sizeof VERBS / sizeof VERBS[0])]);
        call->item_count = 1;
        call->items[0].id = sim->known[below(self, (uint32_t)sim->known_count)];
        flow_actor_end(self, operate(self, call));
    }
}

/* ---- reading ----------------------------------------------------------------------- */

static void count_attempt(void *state, const struct weir_attempt_info *info)
{
    struct flow_item *item = state;

    if (item->attempts_read >= 0 && info->number == item->attempts_read)
        item->attempts_read++;
    else
        item->attempts_read = -1;
}

static void read_one(struct flow_actor *self, const struct weir_execution_id *id)
{
    struct flow_call *call = flow_actor_begin(self, FLOW_GET);
    struct flow_item *item = &call->items[0];
    enum weir_status status;

    call->item_count = 1;
    item->id = *id;
    status = weir_execution_get(self->process->executions, id, note_info, item, NULL);
    if (status == WEIR_OK &&
        weir_execution_attempts(self->process->executions, id, count_attempt, item,
                                NULL) != WEIR_OK)
        item->attempts_read = 0; /* removed meanwhile */
    flow_actor_end(self, status);
}

struct list_call {
    struct weir_execution_id ids[FLOW_KNOWN_MAX];
    size_t count;
};

static void note_id(void *state, const struct weir_execution_info *info)
{
    struct list_call *self = state;

    if (self->count < FLOW_KNOWN_MAX)
        self->ids[self->count++] = info->id;
}

void flow_actor_read_all(struct flow_actor *self)
{
    struct weir_execution_filter filter = {.count = 5};
    struct list_call list_call = {.count = 0};

    do {
        int64_t next = 0;

        if (weir_execution_list(self->process->executions, &filter, note_id, &list_call,
                                &next, NULL) != WEIR_OK)
            event_log_violate(&sim_of(self)->event_log, "nothing can be listed");
        filter.before = next;
    } while (filter.before != 0);
    for (size_t i = 0; i < list_call.count; i++)
        read_one(self, &list_call.ids[i]);
}
