/*
 * flows_crash_tell.c - a process that signals, and looks after what nobody has a token
 * for, after budgets and after the key of tokens.
 *
 * Of each suspension one signaller sends every other signal: two race for it, and both
 * race its timeout. A signal has a key by its number, so that whoever comes after one
 * who was killed sends the same again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "crash/flows/flows_crash_shared.h"

/* A token that is known for so long has been used, if anybody could. */
enum { STALE_US = 3000000, CHORES_MS = 400, PAGE = 200, HOUR_MS = 3600000 };

struct teller {
    struct flows_crash *run;
    struct rig_client client;
    uint32_t number; /* of the signallers */
    int64_t chores_us;
    uint32_t patients[PAGE]; /* members that are suspended */
    uint32_t patient_count;
    struct weir_error error;
};

static struct flows_crash_member *member_of(struct teller *self, uint32_t number)
{
    return &self->run->shared->members[number];
}

/* ---- one signal -------------------------------------------------------------------- */

static enum weir_status call(struct teller *self, uint32_t number, uint32_t index,
                             enum weir_signal_effect *effect)
{
    struct flows_crash_member *member = member_of(self, number);
    struct flows_crash_plan plan = flows_crash_plan_of(self->run, number);
    struct flows_crash_word word = flows_crash_plan_word(plan.condition, index);
    char key[FLOWS_CRASH_NAME_SIZE];
    struct weir_signal signal = {
        .id = member->id,
        .token = member->tokens[word.waitpoint],
        .name = word.name,
        .source_type = "person",
        .source = word.source,
        .payload = key,
        .payload_size =
            (size_t)snprintf(key, sizeof key, "%" PRIu32 ".%" PRIu32, number, index),
        .key = key,
    };

    if (index >= FLOWS_CRASH_SIGNALS_SENT) {
        signal.token = NULL;
        return weir_execution_approve(self->client.executions, &member->id,
                                      FLOWS_CRASH_KEYS[word.waitpoint], &signal, effect,
                                      &self->error);
    }
    memcpy(signal.waitpoint, member->uuids[word.waitpoint], WEIR_UUID_SIZE);
    return weir_execution_signal(self->client.executions, &signal, effect, &self->error);
}

/* Until it is answered. False: an operator finds that there is no such waitpoint. */
static bool ask(struct teller *self, uint32_t number, uint32_t index,
                enum weir_signal_effect *effect)
{
    struct flows_crash_signal *note = &member_of(self, number)->signals[index];
    enum weir_status status;

    do {
        status = call(self, number, index, effect);
    } while (flows_crash_again(self->run, &note->call, status));
    if (status == WEIR_NOT_FOUND && index >= FLOWS_CRASH_SIGNALS_SENT)
        return false;
    (void)rig_went_well(&self->run->rig, "signal", status, &self->error);
    return true;
}

static void send(struct teller *self, uint32_t number, uint32_t index)
{
    struct flows_crash_signal *note = &member_of(self, number)->signals[index];
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;

    flows_crash_begin(&note->call);
    if (!ask(self, number, index, &effect)) {
        atomic_store(&note->nowhere, true);
    } else {
        atomic_store(&note->effect, (uint8_t)effect + 1);
        if (rig_roll(&self->run->rig, 5) == 0 && ask(self, number, index, &effect))
            atomic_store(&note->again, (uint8_t)effect + 1);
    }
    atomic_store(&note->call.answered, true);
}

/* ---- those with tokens ------------------------------------------------------------- */

static bool is_mine(const struct teller *self, uint32_t number, uint32_t index)
{
    return (number + index) % FLOWS_CRASH_SIGNALLERS == self->number;
}

/* Returns whether there is nothing left to be sent. */
static bool tell(struct teller *self, uint32_t number)
{
    struct flows_crash_member *member = member_of(self, number);
    struct flows_crash_plan plan = flows_crash_plan_of(self->run, number);
    int64_t due_us = atomic_load(&member->known_us) + plan.tell_ms * 1000;
    bool done = true;

    if (plan.role == FLOWS_CRASH_FORGOTTEN)
        return true;
    if (process_set_now_us() < due_us && !atomic_load(&self->run->shared->hurry))
        return false;
    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_SENT; i++) {
        uint32_t slot = flows_crash_plan_word(plan.condition, i).waitpoint;

        if (!is_mine(self, number, i) || atomic_load(&member->signals[i].call.answered))
            continue;
        if ((atomic_load(&member->known) >> slot & 1) != 0 &&
            !rig_must_leave(&self->run->rig))
            send(self, number, i);
        else
            done = false;
    }
    return done;
}

/* All that came, from the first that is not done with. */
static void tell_all(struct teller *self)
{
    struct flows_crash_shared *shared = self->run->shared;
    _Atomic uint32_t *handled = &shared->handled[self->number];
    uint32_t count = atomic_load(&shared->wait_count);
    bool all = true;

    for (uint32_t i = atomic_load(handled); i < count; i++) {
        uint32_t number = atomic_load(&shared->waits[i]);

        /* 0: whoever took the place has not written yet, or was killed */
        if (number == 0 || !tell(self, number - 1))
            all = false;
        if (all)
            atomic_store(handled, i + 1);
    }
}

/* ---- those without ----------------------------------------------------------------- */

static void note_patient(void *state, const struct weir_execution_info *info)
{
    struct teller *self = state;
    uint32_t number = flows_crash_find(self->run, info->kind);

    if (number != UINT32_MAX && self->patient_count < PAGE)
        self->patients[self->patient_count++] = number;
}

/* Once. It may have been done although there was no answer. */
static void resume(struct teller *self, uint32_t number)
{
    struct flows_crash_member *member = member_of(self, number);
    enum weir_status status;

    atomic_fetch_add(&member->resumes_asked, 1);
    status = weir_execution_resume(self->client.executions, &member->id, 0, &self->error);
    if (status == WEIR_OK)
        atomic_fetch_add(&member->resumes_done, 1);
    else if (status != WEIR_MISMATCH)
        (void)rig_went_well(&self->run->rig, "resume", status, &self->error);
    if (status != WEIR_IN_DOUBT)
        atomic_fetch_add(&member->resumes_answered, 1);
}

static void look_after(struct teller *self, uint32_t number)
{
    struct flows_crash_member *member = member_of(self, number);
    struct flows_crash_plan plan = flows_crash_plan_of(self->run, number);
    bool stale = atomic_load(&self->run->shared->hurry) ||
                 process_set_now_us() - atomic_load(&member->known_us) > STALE_US;

    if (plan.role == FLOWS_CRASH_FORGOTTEN)
        return;
    if (plan.condition == FLOWS_CRASH_BY_OPERATOR ||
        (plan.timeout_ms > 0 && plan.on_timeout == WEIR_TIMEOUT_ESCALATE)) {
        resume(self, number);
        return;
    }
    for (uint32_t i = FLOWS_CRASH_SIGNALS_SENT; i < FLOWS_CRASH_SIGNALS_EACH && stale;
         i++) {
        struct flows_crash_signal *note = &member->signals[i];

        if (!atomic_load(&note->call.answered) || atomic_load(&note->nowhere))
            send(self, number, i);
    }
}

/* The newest; older ones come when these are gone. */
static void look_after_some(struct teller *self)
{
    struct weir_execution_filter filter = {.states = 1U << WEIR_STATE_SUSPENDED,
                                           .count = PAGE};
    int64_t next = 0;
    enum weir_status status;

    do {
        self->patient_count = 0;
        status = weir_execution_list(self->client.executions, &filter, note_patient, self,
                                     &next, &self->error);
        if (!rig_went_well(&self->run->rig, "list", status, &self->error))
            return;
        for (uint32_t i = 0; i < self->patient_count; i++) {
            if ((self->patients[i] + self->number) % FLOWS_CRASH_SIGNALLERS == 0 &&
                !rig_must_leave(&self->run->rig))
                look_after(self, self->patients[i]);
        }
        filter.before = next;
    } while (next != 0);
}

/* ---- budgets and the key ----------------------------------------------------------- */

static void note_waiting(void *state, const struct weir_budget_info *info)
{
    *(bool *)state = info->waiting > 0;
}

/* One of those that have no period, when somebody waits for it: so it is reached on any
 * machine. At times for no reason. */
static void reset_one(struct teller *self)
{
    const char *name =
        FLOWS_CRASH_BUDGET_NAMES[1 + rig_roll(&self->run->rig, FLOWS_CRASH_BUDGETS - 1)];
    bool waited_for = false;
    enum weir_status status = weir_budget_get(self->client.executions, name, note_waiting,
                                              &waited_for, &self->error);

    if (!rig_went_well(&self->run->rig, "look at budget", status, &self->error) ||
        (!waited_for && rig_roll(&self->run->rig, 20) > 0))
        return;
    status = weir_budget_reset(self->client.executions, name, &self->error);
    if (rig_went_well(&self->run->rig, "reset", status, &self->error))
        atomic_fetch_add(&self->run->shared->resets, 1);
}

/* Tokens of the one before stay good. Its secret follows from its name, so it may be
 * made again. */
static void rotate(struct teller *self)
{
    uint32_t number = atomic_fetch_add(&self->run->shared->keys, 1);
    uint8_t secret[WEIR_SECRET_SIZE];
    char name[FLOWS_CRASH_NAME_SIZE];
    struct flows_crash_call call = {.begun = true};
    enum weir_status status;

    memset(secret, (int)(number % 200) + 1, sizeof secret);
    (void)snprintf(name, sizeof name, "key-%" PRIu32, number);
    do {
        status = weir_executions_rotate_key(self->client.executions, name, secret,
                                            HOUR_MS, &self->error);
    } while (flows_crash_again(self->run, &call, status));
    (void)rig_went_well(&self->run->rig, "rotate", status, &self->error);
}

static void do_chores(struct teller *self)
{
    int64_t now_us = process_set_now_us();

    if (now_us < self->chores_us)
        return;
    self->chores_us = now_us + (int64_t)CHORES_MS * 1000;
    look_after_some(self);
    reset_one(self);
    flows_crash_spend(self->run, &self->client,
                      rig_roll(&self->run->rig, FLOWS_CRASH_BUDGETS), UINT32_MAX);
    if (rig_roll(&self->run->rig, 8) == 0)
        rotate(self);
}

void flows_crash_tell(struct flows_crash *run)
{
    static struct teller self;

    self.run = run;
    self.number = run->rig.slot - FLOWS_CRASH_FIRST_SIGNALLER;
    weir_error_clear(&self.error);
    rig_client_open(&run->rig, &self.client);
    rig_be_ready(&run->rig);
    while (!rig_must_leave(&run->rig)) {
        tell_all(&self);
        do_chores(&self);
        rig_rest_us(3000);
    }
    rig_client_close(&self.client);
}
