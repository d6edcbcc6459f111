/*
 * suspended.h - suspended executions for tests.
 */
#ifndef WEIR_TEST_SUSPENDED_H
#define WEIR_TEST_SUSPENDED_H

#include "contract/flow/flow_fixture.h"
#include "weir/suspension.h"

/* One execution that waits until something. */
struct wait {
    struct weir_executions *executions;
    struct weir_execution_id id;
    struct weir_claim claim;             /* with which it was suspended */
    struct weir_waitpoint waitpoints[4]; /* "a", "b", "c", "d" */
    struct weir_suspend_options options;
};

/* Claimed, and not suspended yet. */
static inline void wait_claim(struct wait *self, struct fixture *fixture,
                              struct weir_executions *executions)
{
    static const char *const KEYS[] = {"a", "b", "c", "d"};

    *self = (struct wait){.executions = executions};
    for (size_t i = 0; i < 4; i++)
        self->waitpoints[i].key = KEYS[i];
    self->id = flow_fixture_submit(fixture, executions, "orders");
    self->claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    weir_suspend_options_init(&self->options);
    self->options.waitpoints = self->waitpoints;
    self->options.waitpoint_count = 4;
}

static inline bool wait_suspend(struct wait *self, struct fixture *fixture,
                                const char *until)
{
    bool satisfied = false;

    self->options.until = until;
    check_db(weir_execution_suspend(self->executions, &self->claim, &self->options,
                                    &satisfied, NULL, &fixture->error),
             WEIR_OK);
    return satisfied;
}

static inline void wait_open(struct wait *self, struct fixture *fixture,
                             struct weir_executions *executions, const char *until)
{
    wait_claim(self, fixture, executions);
    check(!wait_suspend(self, fixture, until));
    check_str(flow_fixture_state(fixture, executions, &self->id), "suspended");
}

static inline struct weir_signal wait_signal(const struct wait *self, size_t waitpoint,
                                             const char *name)
{
    struct weir_signal signal = {.id = self->id,
                                 .token = self->waitpoints[waitpoint].token,
                                 .name = name,
                                 .source_type = "user",
                                 .source = "bob"};

    memcpy(signal.waitpoint, self->waitpoints[waitpoint].uuid, WEIR_UUID_SIZE);
    return signal;
}

/* What it did, by name. */
static inline const char *wait_send(struct wait *self, struct fixture *fixture,
                                    const struct weir_signal *signal)
{
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;

    check_db(weir_execution_signal(self->executions, signal, &effect, &fixture->error),
             WEIR_OK);
    return weir_signal_effect_name(effect);
}

static inline const char *wait_tell(struct wait *self, struct fixture *fixture,
                                    size_t waitpoint, const char *name)
{
    struct weir_signal signal = wait_signal(self, waitpoint, name);

    return wait_send(self, fixture, &signal);
}

/* "a:approved, b:vote" */
struct wait_log {
    char text[512];
};

static inline void wait_write_signal(void *state, const struct weir_signal_info *info)
{
    struct wait_log *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s:%s",
                   used > 0 ? ", " : "", info->waitpoint_key, info->name);
}

static inline struct wait_log wait_signals(struct wait *self, struct fixture *fixture)
{
    struct wait_log log = {.text = ""};

    check_db(weir_execution_signals(self->executions, &self->id, wait_write_signal, &log,
                                    &fixture->error),
             WEIR_OK);
    return log;
}

/* "a:active, b:closed" */
static inline void wait_write_waitpoint(void *state,
                                        const struct weir_waitpoint_info *info)
{
    struct wait_log *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s:%s",
                   used > 0 ? ", " : "", info->key,
                   weir_waitpoint_state_name(info->state));
}

static inline struct wait_log wait_waitpoints(struct wait *self, struct fixture *fixture)
{
    struct wait_log log = {.text = ""};

    check_db(weir_execution_waitpoints(self->executions, &self->id, wait_write_waitpoint,
                                       &log, &fixture->error),
             WEIR_OK);
    return log;
}

#endif
