/*
 * flows_crash_work.c - a process that claims members of flows, spends, suspends, and
 * says of each what has become of it.
 *
 * What a worker is told is noted as soon as it knows. A call is noted before it is
 * made, too: one that was begun and not answered may have been done.
 */
#include <stdio.h>
#include <string.h>

#include "crash/flows/flows_crash_shared.h"

enum { LEASE_MS_MORE = 1000, WAIT_MS = 200, HOUR_MS = 3600000 };

struct worker {
    struct flows_crash *run;
    struct rig_client client;
    char instance[32];
    struct flows_crash_claim *notes[FLOWS_CRASH_BATCH];
    struct weir_claim claims[FLOWS_CRASH_BATCH];
    size_t count;
    struct weir_error error;
};

static struct flows_crash_member *member_of(struct worker *self, uint32_t number)
{
    return &self->run->shared->members[number];
}

/* ---- claiming ---------------------------------------------------------------------- */

static void choose_verb(struct worker *self, struct flows_crash_claim *note)
{
    static const struct {
        uint32_t below; /* of a hundred */
        uint8_t verb;
    } LUCK[] = {
        {78, WEIR_SETTLE_COMPLETE}, {88, WEIR_SETTLE_FAIL},    {92, WEIR_SETTLE_DELAY},
        {95, WEIR_SETTLE_ABANDON},  {100, FLOWS_CRASH_VANISH},
    };
    uint32_t luck = rig_roll(&self->run->rig, 100);
    size_t i = 0;

    while (luck >= LUCK[i].below)
        i++;
    note->verb = LUCK[i].verb;
}

static struct flows_crash_claim *note_claim(struct worker *self,
                                            const struct weir_claimed *claimed)
{
    struct flows_crash *run = self->run;
    size_t slot = atomic_fetch_add(&run->shared->claim_count, 1);
    struct flows_crash_claim *note;

    if (slot >= FLOWS_CRASH_CLAIMS_MAX)
        rig_give_up(&run->rig, "there is no room for more claims");
    note = &run->shared->claims[slot];
    note->member = flows_crash_find(run, claimed->kind);
    if (note->member == UINT32_MAX)
        rig_give_up(&run->rig, "\"%s\" was claimed, which nobody has submitted",
                    claimed->kind);
    note->process = run->rig.process;
    note->attempt = claimed->attempt;
    note->no = claimed->claim.no;
    note->epoch = claimed->claim.epoch;
    flows_crash_write_given((struct weir_str){claimed->input, claimed->input_size},
                            note->input);
    choose_verb(self, note);
    atomic_store(&note->written, true);
    return note;
}

static bool claim(struct worker *self)
{
    static const char *const LANES[] = {"north", "south"};
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    enum weir_status status;

    weir_claim_options_init(&options);
    options.lanes = LANES;
    options.lane_count = 2;
    options.worker = "crew";
    options.instance = self->instance;
    options.lease_ms = FLOWS_CRASH_LEASE_MS + rig_roll(&self->run->rig, LEASE_MS_MORE);
    options.wait_ms = WAIT_MS;
    status = weir_execution_claim(self->client.executions, &options,
                                  1 + rig_roll(&self->run->rig, FLOWS_CRASH_BATCH),
                                  &claimed, &self->count, &self->error);
    if (!rig_went_well(&self->run->rig, "claim", status, &self->error)) {
        rig_rest_us(5000);
        return false;
    }
    for (size_t i = 0; i < self->count; i++) {
        self->notes[i] = note_claim(self, &claimed[i]);
        self->claims[i] = claimed[i].claim;
    }
    weir_claimed_free(self->client.executions, claimed);
    return self->count > 0;
}

/* ---- suspending -------------------------------------------------------------------- */

/* Everybody may use it from now on. */
static void publish(struct worker *self, uint32_t number, uint32_t slot,
                    const struct weir_waitpoint *waitpoint)
{
    struct flows_crash_shared *shared = self->run->shared;
    struct flows_crash_member *member = member_of(self, number);
    uint8_t bit = (uint8_t)(1U << slot);

    if ((atomic_load(&member->known) & bit) != 0)
        return;
    memcpy(member->uuids[slot], waitpoint->uuid, WEIR_UUID_SIZE);
    memcpy(member->tokens[slot], waitpoint->token, WEIR_TOKEN_TEXT_SIZE);
    if (atomic_fetch_or(&member->known, bit) != 0)
        return;
    atomic_store(&member->known_us, process_set_now_us());
    atomic_store(&shared->waits[atomic_fetch_add(&shared->wait_count, 1)], number + 1);
}

static void note_closed(void *state, const struct weir_waitpoint_info *info)
{
    *(bool *)state |= info->state == WEIR_WAITPOINT_CLOSED;
}

/* Its wait is over: it goes on. */
static bool has_waited(struct worker *self, const struct weir_claim *claim)
{
    struct flows_crash_call call = {.begun = true};
    bool closed = false;
    enum weir_status status;

    do {
        status = weir_execution_waitpoints(self->client.executions, &claim->id,
                                           note_closed, &closed, &self->error);
    } while (flows_crash_again(self->run, &call, status));
    (void)rig_went_well(&self->run->rig, "waitpoints", status, &self->error);
    return closed;
}

/* False: the claim is not ours any more. */
static bool make_early(struct worker *self, size_t index,
                       struct weir_waitpoint *waitpoint)
{
    struct flows_crash_call call = {.begun = true};
    enum weir_status status;

    do {
        status = weir_execution_waitpoint(self->client.executions, &self->claims[index],
                                          waitpoint, HOUR_MS, NULL, &self->error);
    } while (flows_crash_again(self->run, &call, status));
    if (status == WEIR_FENCED || status == WEIR_NOT_FOUND)
        return false;
    (void)rig_went_well(&self->run->rig, "waitpoint", status, &self->error);
    publish(self, self->notes[index]->member, 0, waitpoint);
    rig_rest_us(rig_roll(&self->run->rig, 30000)); /* for whoever signals */
    return true;
}

/* Returns whether the claim goes on: what came before sufficed. */
static bool suspend(struct worker *self, size_t index,
                    const struct flows_crash_plan *plan)
{
    struct flows_crash_claim *note = self->notes[index];
    struct weir_waitpoint waitpoints[FLOWS_CRASH_WAITPOINTS] = {{.key = NULL}};
    struct flows_crash_call call = {.begun = true};
    struct weir_suspend_options options;
    bool satisfied = false;
    enum weir_status status;

    for (int i = 0; i < FLOWS_CRASH_WAITPOINTS; i++)
        waitpoints[i].key = FLOWS_CRASH_KEYS[i];
    if (plan->early && !make_early(self, index, &waitpoints[0]))
        return false;
    weir_suspend_options_init(&options);
    options.waitpoints = waitpoints;
    options.waitpoint_count = FLOWS_CRASH_WAITPOINTS;
    options.until = FLOWS_CRASH_CONDITION_TEXTS[plan->condition];
    options.timeout_ms = plan->timeout_ms;
    options.on_timeout = plan->on_timeout;
    options.resume_delay_ms = plan->resume_delay_ms;
    do {
        status = weir_execution_suspend(self->client.executions, &self->claims[index],
                                        &options, &satisfied, NULL, &self->error);
    } while (flows_crash_again(self->run, &call, status));
    if (status == WEIR_FENCED || status == WEIR_NOT_FOUND)
        return false;
    (void)rig_went_well(&self->run->rig, "suspend", status, &self->error);
    if (satisfied)
        return true;
    note->verb = FLOWS_CRASH_SUSPEND;
    for (uint32_t i = 0; i < FLOWS_CRASH_WAITPOINTS; i++)
        publish(self, note->member, i, &waitpoints[i]);
    return false;
}

/* ---- ending ------------------------------------------------------------------------ */

static void release(struct worker *self, uint32_t number, uint32_t budget)
{
    int64_t begin_us = process_set_now_us();
    struct flows_crash_call call = {.begun = true};
    enum weir_status status;

    do {
        status =
            weir_budget_release(self->client.executions, FLOWS_CRASH_BUDGET_NAMES[budget],
                                &member_of(self, number)->id, &self->error);
    } while (flows_crash_again(self->run, &call, status));
    if (rig_went_well(&self->run->rig, "release", status, &self->error))
        atomic_store(&member_of(self, number)->released_us, begin_us);
}

static void settle(struct worker *self, size_t index)
{
    struct flows_crash_claim *note = self->notes[index];
    char text[FLOWS_CRASH_NOTE_SIZE];
    struct weir_settlement settlement = {
        .claim = self->claims[index],
        .verb = (enum weir_settle)note->verb,
        .result = text,
        .reason = text,
        .permanent = note->epoch % 3 == 0,
        .delay_ms = note->verb == WEIR_SETTLE_DELAY ? 30 : 0,
    };
    enum weir_status status;

    flows_crash_write_note(note, text);
    if (note->verb == WEIR_SETTLE_COMPLETE)
        settlement.result_size = strlen(text);
    flows_crash_begin(&note->call);
    do {
        status =
            weir_execution_settle(self->client.executions, &settlement, 1, &self->error);
    } while (flows_crash_again(self->run, &note->call, status));
    (void)rig_went_well(&self->run->rig, "settle", status, &self->error);
    atomic_store(&note->ok, settlement.status == WEIR_OK);
    atomic_store(&note->call.answered, true);
}

/* Most for a moment; some until the lease is over, and then others of the batch lose
 * theirs, too. */
static void labour(struct worker *self)
{
    uint32_t luck = rig_roll(&self->run->rig, 100);

    if (atomic_load(&self->run->shared->hurry))
        return;
    if (luck == 0)
        rig_rest_us(FLOWS_CRASH_LEASE_MS * 1000 + rig_roll(&self->run->rig, 900000));
    else if (luck < 40)
        rig_rest_us(rig_roll(&self->run->rig, 20000));
}

static void work(struct worker *self, size_t index)
{
    struct flows_crash_claim *note = self->notes[index];
    struct flows_crash_plan plan = flows_crash_plan_of(self->run, note->member);

    if (plan.budget >= 0)
        flows_crash_spend(self->run, &self->client, (uint32_t)plan.budget, note->member);
    labour(self);
    if (plan.role != FLOWS_CRASH_PLAIN && !has_waited(self, &self->claims[index]) &&
        !suspend(self, index, &plan))
        return;
    if (plan.budget == FLOWS_CRASH_BUDGETS - 1 && rig_roll(&self->run->rig, 2) == 0)
        release(self, note->member, (uint32_t)plan.budget);
    if (note->verb != FLOWS_CRASH_VANISH)
        settle(self, index);
}

/* ---- all of it --------------------------------------------------------------------- */

void flows_crash_labour(struct flows_crash *run)
{
    static struct worker self;

    self.run = run;
    weir_error_clear(&self.error);
    (void)snprintf(self.instance, sizeof self.instance, "worker-%u", run->rig.process);
    rig_client_open(&run->rig, &self.client);
    rig_be_ready(&run->rig);
    while (!rig_must_leave(&run->rig)) {
        if (!claim(&self))
            continue;
        for (size_t i = 0; i < self.count; i++)
            work(&self, i);
    }
    rig_client_close(&self.client);
}
