/*
 * script.c - see script.h.
 */
#include "kit/sim/script.h"

#include <sched.h>
#include <string.h>

#include "kit/test.h"
#include "ward/system.h"

/* How long anything on threads may take before the test gives up. */
#define WAIT_LIMIT WEIR_SECONDS(60)

void script_open_seeded(struct script *self, uint64_t seed)
{
    struct weir_sim_options options = {.seed = seed};

    memset(self, 0, sizeof *self);
    self->kind = IN_SIMULATION;
    check_status(weir_sim_create(&options, &self->sim, NULL), WEIR_OK);
    self->executor = weir_sim_executor(self->sim);
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "actors"},
                                  &self->ward, NULL),
                 WEIR_OK);
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "backstage"},
                                  &self->backstage, NULL),
                 WEIR_OK);
}

void script_open(struct script *self, enum script_kind kind)
{
    struct weir_executor_options options;

    if (kind == IN_SIMULATION) {
        script_open_seeded(self, 1);
        return;
    }
    memset(self, 0, sizeof *self);
    self->kind = kind;
    weir_executor_options_init(&options);
    options.threads = 6;
    check_status(weir_executor_create(&options, &self->executor, NULL), WEIR_OK);
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "actors"},
                                  &self->ward, NULL),
                 WEIR_OK);
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "backstage"},
                                  &self->backstage, NULL),
                 WEIR_OK);
    self->opened_ns = weir_executor_now(self->executor);
}

void script_close(struct script *self)
{
    check_int(weir_ward_stop(self->ward, WAIT_LIMIT), 0);
    check_int(weir_ward_stop(self->backstage, WAIT_LIMIT), 0);
    for (size_t i = 0; i < self->poker_count; i++)
        weir_poker_destroy(self->pokers[i]);
    weir_ward_destroy(self->ward);
    weir_ward_destroy(self->backstage);
    for (size_t i = 0; i < self->notifier_count; i++)
        weir_notifier_destroy(self->notifiers[i]);
    for (size_t i = 0; i < self->gate_count; i++)
        weir_gate_destroy(self->gates[i]);
    if (self->kind == IN_SIMULATION)
        weir_sim_destroy(self->sim);
    else
        weir_executor_destroy(self->executor);
}

struct weir_notifier *script_notifier(struct script *self)
{
    check(self->notifier_count < SCRIPT_PROPS_MAX);
    check_status(
        weir_notifier_create(self->executor, &self->notifiers[self->notifier_count]),
        WEIR_OK);
    return self->notifiers[self->notifier_count++];
}

struct weir_notifier *script_bell(struct script *self)
{
    struct weir_notifier *bell = script_notifier(self);

    weir_notifier_notify_one(bell);
    return bell;
}

struct weir_notifier *script_poker(struct script *self, int64_t interval_ns)
{
    check(self->poker_count < SCRIPT_PROPS_MAX);
    check_status(weir_poker_create(self->ward, interval_ns,
                                   &self->pokers[self->poker_count], NULL),
                 WEIR_OK);
    return weir_poker_notifier(self->pokers[self->poker_count++]);
}

struct weir_gate *script_gate(struct script *self, uint32_t permits)
{
    check(self->gate_count < SCRIPT_PROPS_MAX);
    check_status(
        weir_gate_create(self->executor, permits, &self->gates[self->gate_count], NULL),
        WEIR_OK);
    return self->gates[self->gate_count++];
}

static void enter_peers(struct peers *peers)
{
    int inside = atomic_fetch_add(&peers->inside, 1) + 1;
    int most = atomic_load(&peers->most);

    while (inside > most && !atomic_compare_exchange_weak(&peers->most, &most, inside))
        ;
}

enum weir_status actor_act(struct weir_context *context, void *state,
                           struct weir_directive *out, struct weir_error *error)
{
    struct actor *self = state;
    uint32_t call = atomic_fetch_add(&self->calls, 1);
    const struct act *act =
        &self->acts[call < self->act_count ? call : self->act_count - 1];

    if (call < ACTOR_CALLS_MAX)
        self->begun_ns[call] = weir_context_now(context);
    if (self->peers != NULL)
        enter_peers(self->peers);
    if (act->work_ns > 0)
        weir_sleep_through(context, act->work_ns);
    if (self->peers != NULL)
        atomic_fetch_sub(&self->peers->inside, 1);
    self->saw_cancel = weir_context_cancelled(context);

    switch (act->kind) {
    case ACT_PROCEED:
        *out = weir_proceed();
        break;
    case ACT_IDLE:
        *out = weir_idle();
        break;
    case ACT_SLEEP:
        *out = weir_sleep_for(act->sleep_ns);
        break;
    case ACT_ERROR:
        return weir_error_set(error, WEIR_FAILED, "call %u was told to fail", call);
    case ACT_PANIC:
        weir_panic(context, "call %u was told to panic", call);
    }
    return WEIR_OK;
}

struct weir_worker_options script_options(struct actor *actor)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = actor->name != NULL ? actor->name : "actor";
    options.action = actor_act;
    options.state = actor;
    options.pace = weir_pace_none();
    options.backoff = weir_backoff_none();
    options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    return options;
}

void script_spawn(struct script *self, const struct weir_worker_options *options)
{
    struct weir_error error;
    enum weir_status status = weir_ward_spawn(self->ward, options, NULL, &error);

    if (status != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
}

void script_add_worker(struct script *self, struct actor *actor,
                       struct weir_notifier *const *notifiers, size_t notifier_count)
{
    struct weir_worker_options options = script_options(actor);

    options.notifiers = notifiers;
    options.notifier_count = notifier_count;
    script_spawn(self, &options);
}

int64_t script_now(const struct script *self)
{
    return weir_executor_now(self->executor) - self->opened_ns;
}

/* The worker backstage: one cue per execution would pace it, so it gives them all in
 * one. */
static enum weir_status give_cues(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct script *self = state;
    int64_t began_ns = weir_context_now(context);

    (void)error;
    for (size_t i = 0; i < self->cue_count; i++) {
        int64_t rest_ns = began_ns + self->cues[i].at_ns - weir_context_now(context);

        if (rest_ns > 0)
            weir_sleep_through(context, rest_ns);
        self->cues[i].give(self->cues[i].argument);
    }
    atomic_store(&self->played, true);
    *out = weir_idle();
    weir_worker_cancel(weir_context_worker(context));
    return WEIR_OK;
}

static void wait_until_played(struct script *self)
{
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;

    if (self->kind == IN_SIMULATION) {
        int64_t last_ns = weir_sim_now(self->sim) + self->cues[self->cue_count - 1].at_ns;

        weir_sim_run_until(self->sim, last_ns);
    }
    while (!atomic_load(&self->played)) {
        check(self->kind == ON_THREADS && weir_system_now_ns() < limit_ns);
        (void)sched_yield();
    }
}

void script_play(struct script *self, const struct cue *cues, size_t cue_count)
{
    struct weir_worker_options options;
    struct weir_notifier *go = script_bell(self);
    bool cancels = false;

    self->cues = cues;
    self->cue_count = cue_count;
    atomic_store(&self->played, false);
    weir_worker_options_init(&options);
    options.name = "prompter";
    options.action = give_cues;
    options.state = self;
    options.notifiers = &go;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(self->backstage, &options, NULL, NULL), WEIR_OK);
    wait_until_played(self);

    for (size_t i = 0; i < cue_count; i++)
        cancels = cancels || cues[i].give == cue_cancel;
    if (cancels) {
        check_int(weir_ward_stop(self->ward, WEIR_DURATION_MAX), 0);
        self->ended_ns = script_now(self);
    }
}

void cue_notify(void *notifier)
{
    weir_notifier_notify_one(notifier);
}

void cue_notify_all(void *notifier)
{
    weir_notifier_notify_all(notifier);
}

void cue_cancel(void *script)
{
    weir_ward_cancel(((struct script *)script)->ward);
}

void cue_leave(void *gate)
{
    weir_gate_leave(gate);
}

void cue_nothing(void *unused)
{
    (void)unused;
}
