/*
 * script.h - a runtime, a few scripted workers, and a script of cues, played in virtual
 * time or on threads.
 *
 *   struct script stage;
 *   struct actor actor = {.acts = ACTS(act_idle())};
 *
 *   script_open(&stage, IN_SIMULATION);
 *   bell = script_notifier(&stage);
 *   script_add_worker(&stage, &actor, &bell, 1);          options in actor.options if
 *                                                         need be
 *   script_play(&stage, CUES(at(MS(50), notify, bell), at(MS(500), cancel, NULL)));
 *   check_int(actor.calls, 2);
 *   script_close(&stage);
 *
 * The cues are given by a worker of a second ward, which sleeps on the stage's own
 * clock, so the same script runs on both kinds of executors. play() returns when the
 * last cue was given and, if one of them was `cancel`, when every actor has ended.
 */
#ifndef WEIR_TEST_SCRIPT_H
#define WEIR_TEST_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/executor.h>
#include <weir/gate.h>
#include <weir/notifier.h>
#include <weir/poker.h>
#include <weir/sim.h>
#include <weir/time.h>
#include <weir/ward.h>

#define MS(n) WEIR_MILLISECONDS(n)

enum script_kind { IN_SIMULATION, ON_THREADS };

enum { SCRIPT_PROPS_MAX = 32, ACTOR_CALLS_MAX = 256 };

/* One answer of an actor. */
struct act {
    enum { ACT_PROCEED, ACT_IDLE, ACT_SLEEP, ACT_ERROR, ACT_PANIC } kind;
    int64_t work_ns;  /* first work so long, whatever happens */
    int64_t sleep_ns; /* of ACT_SLEEP */
};

#define ACT(what, ...) ((struct act){.kind = (what), __VA_ARGS__})

/* The acts of an actor in order; the last one is repeated. */
#define ACTS(...)                                                                        \
    .acts = (const struct act[]){__VA_ARGS__},                                           \
    .act_count = sizeof((const struct act[]){__VA_ARGS__}) / sizeof(struct act)

/* Shared by actors whose concurrency is watched. */
struct peers {
    _Atomic int inside;
    _Atomic int most;
};

struct actor {
    const struct act *acts;
    size_t act_count;
    const char *name;    /* NULL: "actor" */
    struct peers *peers; /* may be NULL */
    bool saw_cancel;     /* the token was seen set from inside, after the work */
    _Atomic uint32_t calls;
    int64_t begun_ns[ACTOR_CALLS_MAX]; /* on the executor's clock */
};

/* A cue, and whom it is for. */
typedef void (*cue_fn)(void *argument);
struct cue {
    int64_t at_ns; /* since play() */
    cue_fn give;
    void *argument;
};
#define CUES(...)                                                                        \
    (const struct cue[]){__VA_ARGS__},                                                   \
        sizeof((const struct cue[]){__VA_ARGS__}) / sizeof(struct cue)

struct script {
    enum script_kind kind;
    struct weir_sim *sim; /* in simulation */
    struct weir_executor *executor;
    struct weir_ward *ward;      /* of the actors */
    struct weir_ward *backstage; /* of the one who gives the cues */
    int64_t opened_ns;
    int64_t ended_ns; /* when every actor had ended, since it was opened */
    struct weir_notifier *notifiers[SCRIPT_PROPS_MAX];
    struct weir_gate *gates[SCRIPT_PROPS_MAX];
    struct weir_poker *pokers[SCRIPT_PROPS_MAX];
    size_t notifier_count;
    size_t gate_count;
    size_t poker_count;
    const struct cue *cues;
    size_t cue_count;
    size_t cue_next;
    _Atomic bool played;
};

void script_open(struct script *self, enum script_kind kind);
void script_open_seeded(struct script *self, uint64_t seed);

/* Stops what still runs, which must end in time, and frees everything. */
void script_close(struct script *self);

/* Props live as long as the stage. */
struct weir_notifier *script_notifier(struct script *self);
struct weir_notifier *script_bell(struct script *self); /* with a permit stored */
struct weir_notifier *script_poker(struct script *self, int64_t interval_ns);
struct weir_gate *script_gate(struct script *self, uint32_t permits);

/* The options of the scenario tables: zero pace, no backoff, a signal is needed after an
 * error. The caller changes what it wants before script_spawn(). */
struct weir_worker_options script_options(struct actor *actor);
void script_spawn(struct script *self, const struct weir_worker_options *options);

/* script_options() and script_spawn() with these notifiers. */
void script_add_worker(struct script *self, struct actor *actor,
                       struct weir_notifier *const *notifiers, size_t notifier_count);

/* Give the cues. */
void script_play(struct script *self, const struct cue *cues, size_t cue_count);

/* Time since the stage was opened. */
int64_t script_now(const struct script *self);

/* What cues do. */
void cue_notify(void *notifier);
void cue_notify_all(void *notifier);
void cue_cancel(void *script);
void cue_leave(void *gate);
void cue_nothing(void *unused);

/* The action of actors, for tests that build their own workers. */
enum weir_status actor_act(struct weir_context *context, void *state,
                           struct weir_directive *out, struct weir_error *error);

#endif
