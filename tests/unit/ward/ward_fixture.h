/*
 * ward_fixture.h - a ward in simulation that remembers what it was told about the ends
 * of its workers, and actions that end in their own time.
 *
 *   struct ward_fixture hall;
 *   struct patient patient = {.last_step_ns = MS(10)};
 *
 *   ward_fixture_open(&hall);
 *   weir_worker_release(ward_fixture_spawn(&hall, "patient", wait_for_cancel, &patient));
 *   check_int(weir_ward_stop(hall.ward, WEIR_SECONDS(1)), 0);
 *   check_str(hall.names[0], "hall/patient");
 *   ward_fixture_close(&hall);
 */
#ifndef WEIR_TEST_WARD_FIXTURE_H
#define WEIR_TEST_WARD_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "unit/ward/captured_log.h"
#include "unit/ward/worker_fixture.h"

enum { ENDS_MAX = 8 };

struct ward_fixture {
    struct captured_log captured_log;
    struct weir_sim *sim;
    struct weir_ward *ward;
    size_t end_count;
    struct weir_worker_end ends[ENDS_MAX]; /* texts are copied */
    char names[ENDS_MAX][32];
    char texts[ENDS_MAX][64];
};

static inline void remember_end(void *state, const struct weir_worker_end *end)
{
    struct ward_fixture *self = state;
    size_t i = self->end_count++;

    if (i >= ENDS_MAX)
        return;
    self->ends[i] = *end;
    snprintf(self->names[i], sizeof self->names[i], "%s/%s", end->ward, end->worker);
    snprintf(self->texts[i], sizeof self->texts[i], "%s", end->text);
}

static inline void ward_fixture_open(struct ward_fixture *self)
{
    struct weir_sim_options options = {.seed = 1};

    memset(self, 0, sizeof *self);
    options.log = captured_log_open(&self->captured_log);
    check_status(weir_sim_create(&options, &self->sim, NULL), WEIR_OK);
    check_status(weir_ward_create(weir_sim_executor(self->sim),
                                  &(struct weir_ward_options){.name = "hall",
                                                              .on_end = remember_end,
                                                              .state = self},
                                  &self->ward, NULL),
                 WEIR_OK);
}

/* Spawn an actor that runs at once. */
static inline struct weir_worker *ward_fixture_spawn(struct ward_fixture *self,
                                                     const char *name,
                                                     weir_action_fn action, void *state)
{
    struct actor nobody = {.name = name};
    struct weir_worker_options options = script_options(&nobody);
    struct weir_notifier *bell;
    struct weir_worker *worker;

    check_status(weir_notifier_create(weir_sim_executor(self->sim), &bell), WEIR_OK);
    weir_notifier_notify_one(bell);
    options.action = action;
    options.state = state;
    options.notifiers = &bell;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(self->ward, &options, &worker, NULL), WEIR_OK);
    weir_notifier_destroy(bell);
    return worker;
}

static inline void ward_fixture_add_worker(struct ward_fixture *self, const char *name,
                                           struct actor *actor)
{
    weir_worker_release(ward_fixture_spawn(self, name, actor_act, actor));
}

static inline void ward_fixture_close(struct ward_fixture *self)
{
    weir_ward_destroy(self->ward);
    weir_sim_destroy(self->sim);
}

/* Waits to be cancelled, then takes a last step. */
struct patient {
    bool waits;
    bool finished;
    int64_t last_step_ns; /* how long it takes */
};

static inline enum weir_status wait_for_cancel(struct weir_context *context, void *state,
                                               struct weir_directive *out,
                                               struct weir_error *error)
{
    struct patient *self = state;

    (void)out;
    (void)error;
    self->waits = true;
    if (weir_sleep(context, WEIR_DURATION_MAX) == WEIR_CANCELLED) {
        weir_sleep_through(context, self->last_step_ns);
        self->finished = true;
    }
    return WEIR_OK;
}

/* Never listens: it takes as long as it takes. */
static inline enum weir_status ignore_cancel(struct weir_context *context, void *state,
                                             struct weir_directive *out,
                                             struct weir_error *error)
{
    int64_t *duration_ns = state;

    (void)out;
    (void)error;
    weir_sleep_through(context, *duration_ns);
    return WEIR_OK;
}

#endif
