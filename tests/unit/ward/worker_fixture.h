/*
 * worker_fixture.h - the smallest play there is: one actor that listens to one bell.
 *
 *   struct actor actor = {ACTS(PROCEED, SLEEP(LONG))};
 *   struct worker_fixture scene;
 *
 *   worker_fixture_open(&scene, IN_SIMULATION, &actor);       change scene.options here
 *   worker_fixture_play(&scene, CUES({MS(50), cue_notify, scene.bell}, CANCEL_AT(scene,
 *   MS(100)))); check_int(actor.calls, 2); worker_fixture_close(&scene);
 *
 * The bell has a permit stored, so the actor runs as soon as it is spawned; play()
 * spawns it unless the test has done so. The options are those of the scenario tables
 * (script.h).
 */
#ifndef WEIR_TEST_WORKER_FIXTURE_H
#define WEIR_TEST_WORKER_FIXTURE_H

#include "kit/sim/script.h"
#include "kit/test.h"

/* Longer than any play. */
#define LONG WEIR_HOURS(1)

#define PROCEED ACT(ACT_PROCEED, .work_ns = 0)
#define IDLE ACT(ACT_IDLE, .work_ns = 0)
#define SLEEP(duration) ACT(ACT_SLEEP, .sleep_ns = (duration))
#define ERROR ACT(ACT_ERROR, .work_ns = 0)
#define PANIC ACT(ACT_PANIC, .work_ns = 0)

/* Idles after so much work. */
#define WORK(duration) ACT(ACT_IDLE, .work_ns = (duration))

#define CANCEL_AT(worker_fixture, time)                                                  \
    {                                                                                    \
        (time), cue_cancel, &(worker_fixture).script                                     \
    }

struct worker_fixture {
    struct script script;
    struct weir_notifier *bell;
    struct weir_worker_options options;
    struct weir_worker *worker; /* a handle, once spawned */
};

static inline void worker_fixture_open(struct worker_fixture *self, enum script_kind kind,
                                       struct actor *actor)
{
    script_open(&self->script, kind);
    self->bell = script_bell(&self->script);
    self->options = script_options(actor);
    self->options.notifiers = &self->bell;
    self->options.notifier_count = 1;
    self->worker = NULL;
}

static inline void worker_fixture_spawn(struct worker_fixture *self)
{
    struct weir_error error;

    if (weir_ward_spawn(self->script.ward, &self->options, &self->worker, &error) !=
        WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline void worker_fixture_play(struct worker_fixture *self,
                                       const struct cue *cues, size_t cue_count)
{
    if (self->worker == NULL)
        worker_fixture_spawn(self);
    script_play(&self->script, cues, cue_count);
}

static inline struct weir_worker_info worker_fixture_read(struct worker_fixture *self)
{
    struct weir_worker_info info;

    weir_worker_read(self->worker, &info);
    return info;
}

static inline void worker_fixture_close(struct worker_fixture *self)
{
    weir_worker_release(self->worker);
    script_close(&self->script);
}

/* One more actor, who listens to `bell` and has to pass `gate`. */
static inline void cast_behind_gate(struct script *script, struct actor *actor,
                                    struct weir_notifier *bell, struct weir_gate *gate)
{
    struct weir_worker_options options = script_options(actor);

    options.shared = gate;
    options.notifiers = &bell;
    options.notifier_count = 1;
    script_spawn(script, &options);
}

/* A cue that looks at a gate. */
struct gate_look {
    struct weir_gate *gate;
    struct weir_gate_info info;
};

static inline void cue_look(void *look)
{
    struct gate_look *self = look;

    weir_gate_read(self->gate, &self->info);
}

static inline struct weir_gate_info gate_now(struct weir_gate *gate)
{
    struct weir_gate_info info;

    weir_gate_read(gate, &info);
    return info;
}

#endif
