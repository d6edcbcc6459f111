/*
 * flow_crash_work.c - a process that claims executions and says of each what has become
 * of it.
 *
 * What a worker is told is noted as soon as it knows. A call is noted before it is
 * made, too: one that was begun and not answered may have been done.
 */
#include <stdio.h>
#include <string.h>

#include "crash/executions/flow_crash_shared.h"

enum { LEASE_MS_MORE = 500, BATCH_MAX = 60, CALLS_MAX = 3, WAIT_MS = 200 };

struct worker {
    struct flow_crash *run;
    struct rig_client client;
    char instance[32];
    struct flow_crash_claim *notes[BATCH_MAX];
    struct weir_claim claims[BATCH_MAX];
    size_t count;
    struct weir_settlement settlements[BATCH_MAX];
    char texts[BATCH_MAX][FLOW_CRASH_NOTE_SIZE];
    struct weir_error error;
};

static enum flow_crash_answer answer_of(struct worker *self, enum weir_status status)
{
    switch (status) {
    case WEIR_OK:
        return FLOW_CRASH_OK;
    case WEIR_FENCED:
        return FLOW_CRASH_FENCED;
    case WEIR_NOT_FOUND:
        return FLOW_CRASH_NOT_FOUND;
    default:
        break;
    }
    rig_give_up(&self->run->rig, "an answer is %s", weir_status_name(status));
}

/* ---- claiming ---------------------------------------------------------------------- */

/* Of a hundred. */
static void choose_verb(struct worker *self, struct flow_crash_claim *note)
{
    static const struct {
        uint32_t below;
        uint8_t verb;
        bool permanent;
    } LUCK[] = {
        {66, WEIR_SETTLE_COMPLETE, false}, {82, WEIR_SETTLE_FAIL, false},
        {84, WEIR_SETTLE_FAIL, true},      {93, WEIR_SETTLE_DELAY, false},
        {96, WEIR_SETTLE_ABANDON, false},  {100, FLOW_CRASH_VANISH, false},
    };
    uint32_t luck = rig_roll(&self->run->rig, 100);
    size_t i = 0;

    while (luck >= LUCK[i].below)
        i++;
    note->verb = LUCK[i].verb;
    note->permanent = LUCK[i].permanent;
}

static struct flow_crash_claim *note_claim(struct worker *self,
                                           const struct weir_claimed *claimed)
{
    struct flow_crash *run = self->run;
    size_t slot = atomic_fetch_add(&run->shared->claim_count, 1);
    struct flow_crash_claim *note;

    if (slot >= FLOW_CRASH_CLAIMS_MAX)
        rig_give_up(&run->rig, "there is no room for more claims");
    note = &run->shared->claims[slot];
    note->number = flow_crash_read_number(claimed->input, claimed->input_size);
    note->process = run->rig.process;
    note->attempt = claimed->attempt;
    note->type = (uint8_t)claimed->type;
    note->no = claimed->claim.no;
    note->epoch = claimed->claim.epoch;
    atomic_store(&note->lease_us, claimed->lease_us);
    choose_verb(self, note);
    atomic_store(&note->written, true);
    return note;
}

/* All, or one. */
static void choose_lanes(struct worker *self, struct weir_claim_options *options)
{
    uint32_t luck = rig_roll(&self->run->rig, 4 * FLOW_CRASH_LANES);
    bool one = luck < FLOW_CRASH_LANES;

    options->lanes = &FLOW_CRASH_LANE_NAMES[one ? luck : 0];
    options->lane_count = one ? 1 : FLOW_CRASH_LANES;
}

static bool claim(struct worker *self)
{
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    enum weir_status status;

    weir_claim_options_init(&options);
    choose_lanes(self, &options);
    options.worker = "crew";
    options.instance = self->instance;
    options.lease_ms = FLOW_CRASH_LEASE_MS + rig_roll(&self->run->rig, LEASE_MS_MORE);
    options.wait_ms = WAIT_MS;
    status = weir_execution_claim(self->client.executions, &options,
                                  1 + rig_roll(&self->run->rig, BATCH_MAX), &claimed,
                                  &self->count, &self->error);
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

/* ---- while it works ---------------------------------------------------------------- */

static void note_renewal(struct worker *self, size_t index,
                         const struct weir_renewal *renewal)
{
    struct flow_crash_claim *note = self->notes[index];

    if (answer_of(self, renewal->status) == FLOW_CRASH_OK)
        atomic_store(&note->lease_us, renewal->current.lease_us);
    else
        atomic_store(&note->refused_renewal, true);
    atomic_store(&note->renewing, false);
}

/* Without an answer nothing is known; it was not for less time than the claim, so the
 * lease is not over before what was told last. */
static void renew(struct worker *self)
{
    struct weir_renewal renewals[BATCH_MAX];
    size_t count = 1 + rig_roll(&self->run->rig, (uint32_t)self->count);
    enum weir_status status;

    for (size_t i = 0; i < count; i++) {
        renewals[i] = (struct weir_renewal){.claim = self->claims[i]};
        atomic_store(&self->notes[i]->renewing, true);
    }
    status =
        weir_execution_renew(self->client.executions, FLOW_CRASH_LEASE_MS + LEASE_MS_MORE,
                             renewals, count, &self->error);
    if (!rig_went_well(&self->run->rig, "renew", status, &self->error))
        return;
    for (size_t i = 0; i < count; i++)
        note_renewal(self, i, &renewals[i]);
}

static void report(struct worker *self)
{
    size_t index = rig_roll(&self->run->rig, (uint32_t)self->count);
    enum weir_status status = weir_execution_progress(
        self->client.executions, &self->claims[index],
        (int32_t)rig_roll(&self->run->rig, 101), "on its way", NULL, &self->error);

    if (status == WEIR_FENCED)
        atomic_store(&self->notes[index]->refused_renewal, true);
    else
        (void)rig_went_well(&self->run->rig, "report", status, &self->error);
}

/* Mostly for moments; for so long at times that whoever has lost it meets its next
 * owner; and now and then until about the end of the lease, without being stopped. */
static uint32_t choose_us(struct worker *self)
{
    enum { SHORT_US = 15000, LONG_US = 600000, EARLY_US = 10000, LATE_US = 300000 };
    uint32_t luck = rig_roll(&self->run->rig, 30);
    int64_t left_us = atomic_load(&self->notes[0]->lease_us) - process_set_now_us();

    if (luck < 2 && left_us > EARLY_US)
        return (uint32_t)left_us - EARLY_US +
               rig_roll(&self->run->rig, luck == 0 ? 3 * EARLY_US : LATE_US);
    return rig_roll(&self->run->rig, luck < 8 ? LONG_US : SHORT_US);
}

static void labour(struct worker *self)
{
    uint32_t us = choose_us(self);

    rig_rest_us(us / 2);
    if (rig_roll(&self->run->rig, 3) == 0)
        renew(self);
    if (rig_roll(&self->run->rig, 3) == 0)
        report(self);
    rig_rest_us(us / 2);
}

/* ---- settling ---------------------------------------------------------------------- */

/* What is to be said of those from `begin` on. */
static size_t write_settlements(struct worker *self, size_t begin, size_t end)
{
    size_t count = 0;

    for (size_t i = begin; i < end; i++) {
        const struct flow_crash_claim *note = self->notes[i];
        char *text = self->texts[count];

        if (note->verb == FLOW_CRASH_VANISH)
            continue;
        flow_crash_write_note(note, text);
        self->settlements[count++] = (struct weir_settlement){
            .claim = self->claims[i],
            .verb = (enum weir_settle)note->verb,
            .result = text,
            .result_size = note->verb == WEIR_SETTLE_COMPLETE ? strlen(text) : 0,
            .reason = text,
            .permanent = note->permanent,
            .delay_ms =
                note->verb == WEIR_SETTLE_DELAY ? rig_roll(&self->run->rig, 150) : 0,
        };
    }
    return count;
}

/* The notes of those from `begin` on that have something said of them, one after the
 * other. */
static struct flow_crash_claim *next_note(struct worker *self, size_t *begin)
{
    while (self->notes[*begin]->verb == FLOW_CRASH_VANISH)
        (*begin)++;
    return self->notes[(*begin)++];
}

static void note_asked(struct worker *self, size_t begin, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_store(&next_note(self, &begin)->asked, true);
}

static void note_doubt(struct worker *self, size_t begin, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add(&next_note(self, &begin)->doubts, 1);
}

/* The first answer, or that to the same question once more. */
static void note_answers(struct worker *self, size_t begin, size_t count, bool again)
{
    for (size_t i = 0; i < count; i++) {
        struct flow_crash_claim *note = next_note(self, &begin);
        uint8_t answer = (uint8_t)answer_of(self, self->settlements[i].status);

        atomic_store(again ? &note->again : &note->answer, answer);
    }
}

/* Until there is an answer. */
static void ask(struct worker *self, size_t begin, size_t count, bool again)
{
    enum weir_status status;

    do {
        status = weir_execution_settle(self->client.executions, self->settlements, count,
                                       &self->error);
        if (!rig_went_well(&self->run->rig, "settle", status, &self->error))
            rig_rest_us(5000);
        if (status == WEIR_IN_DOUBT && !again)
            note_doubt(self, begin, count);
    } while (status != WEIR_OK);
    note_answers(self, begin, count, again);
}

static void settle(struct worker *self, size_t begin, size_t end)
{
    size_t count = write_settlements(self, begin, end);

    if (count == 0)
        return;
    note_asked(self, begin, count);
    ask(self, begin, count, false);
    if (rig_roll(&self->run->rig, 8) == 0)
        ask(self, begin, count, true);
}

static void settle_all(struct worker *self)
{
    size_t begin = 0;

    for (int i = 0; i < CALLS_MAX && begin < self->count; i++) {
        size_t left = self->count - begin;
        size_t count =
            i == CALLS_MAX - 1 ? left : 1 + rig_roll(&self->run->rig, (uint32_t)left);

        settle(self, begin, begin + count);
        begin += count;
    }
}

/* ---- all of it --------------------------------------------------------------------- */

void flow_crash_labour(struct flow_crash *run)
{
    static struct worker self; /* large */

    self.run = run;
    weir_error_clear(&self.error);
    (void)snprintf(self.instance, sizeof self.instance, "worker-%u", run->rig.process);
    rig_client_open(&run->rig, &self.client);
    rig_be_ready(&run->rig);
    while (!rig_must_leave(&run->rig)) {
        if (!claim(&self))
            continue;
        labour(&self);
        settle_all(&self);
    }
    rig_client_close(&self.client);
}
