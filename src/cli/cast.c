/*
 * cast.c - seven small actions and the table that says how each is run.
 *
 * A worker idles before its first execution, so each one is given a notifier with a stored
 * permit: its entrance. The runtime keeps no texts of errors; a listener does that here.
 */
#include "cli/cast.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weir/executor.h"
#include "weir/listener.h"
#include "weir/notifier.h"
#include "weir/poker.h"
#include "weir/ward.h"

enum { BURST_LENGTH = 24, FLAKY_PERIOD = 6, CRASHY_PERIOD = 4, NOTIFIERS_MAX = 2 };

/* How one of them is run. */
struct role {
    const char *name;
    const char *about;
    weir_action_fn action;
    int64_t poke_ns; /* 0: no poker */
    int64_t backoff_ns, backoff_ns_max;
    struct weir_pace pace;
    bool takes_the_van;
};

/* A worker with what its action and its listener keep. */
struct member {
    struct weir_worker *worker;
    struct weir_notifier *entrance;
    struct weir_listener listener;
    unsigned run; /* the action's own count, from 1 */

    pthread_mutex_t lock; /* guards what follows */
    uint64_t panics;
    char last_error[WEIR_CAST_ERROR_SIZE];
};

struct weir_cast {
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_gate *van;
    struct weir_poker *poker;
    int64_t start_ns;
    size_t unfinished;
    struct member members[WEIR_CAST_COUNT];
};

static enum weir_status beat(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error);
static enum weir_status burst(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error);
static enum weir_status fail_often(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error);
static enum weir_status panic_sometimes(struct weir_context *context, void *state,
                                        struct weir_directive *out,
                                        struct weir_error *error);
static enum weir_status deliver(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error);
static enum weir_status sweep(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error);

static const struct role ROLES[WEIR_CAST_COUNT] = {
    {
        .name = "heartbeat",
        .about = "poked every 500 ms",
        .action = beat,
        .poke_ns = WEIR_MILLISECONDS(500),
    },
    {
        .name = "burst",
        .about = "speeds up, then rests",
        .action = burst,
        .pace = {WEIR_MILLISECONDS(10), WEIR_MILLISECONDS(250), WEIR_MILLISECONDS(10)},
    },
    {
        .name = "flaky",
        .about = "fails five times of six",
        .action = fail_often,
        .backoff_ns = WEIR_MILLISECONDS(200),
        .backoff_ns_max = WEIR_SECONDS(3),
    },
    {
        .name = "crashy",
        .about = "panics every fourth time",
        .action = panic_sometimes,
        .backoff_ns = WEIR_MILLISECONDS(800),
        .backoff_ns_max = WEIR_SECONDS(3),
    },
    {
        .name = "courier-1",
        .about = "shares one van",
        .action = deliver,
        .pace = {WEIR_MILLISECONDS(200), WEIR_MILLISECONDS(200), 0},
        .takes_the_van = true,
    },
    {
        .name = "courier-2",
        .about = "shares one van",
        .action = deliver,
        .pace = {WEIR_MILLISECONDS(200), WEIR_MILLISECONDS(200), 0},
        .takes_the_van = true,
    },
    {
        .name = "janitor",
        .about = "sleeps most of the time",
        .action = sweep,
    },
};

static enum weir_status spawn(struct weir_cast *self, const struct role *role,
                              struct member *member, struct weir_error *error);
static void keep_error(void *state, const char *worker, int64_t elapsed_ns,
                       const char *text, uint32_t failures, int64_t backoff_ns);

enum weir_status weir_cast_create(struct weir_cast **out, struct weir_error *error)
{
    struct weir_ward_options ward_options = {.name = "demo"};
    struct weir_executor_options executor_options;
    struct weir_cast *self = NULL;
    enum weir_status status;

    *out = NULL;
    self = calloc(1, sizeof *self);
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++)
        pthread_mutex_init(&self->members[i].lock, NULL);

    weir_executor_options_init(&executor_options);
    executor_options.threads = WEIR_CAST_THREADS;
    status = weir_executor_create(&executor_options, &self->executor, error);
    if (status != WEIR_OK)
        goto out;
    self->start_ns = weir_executor_now(self->executor);
    status = weir_ward_create(self->executor, &ward_options, &self->ward, error);
    if (status != WEIR_OK)
        goto out;
    status = weir_gate_create(self->executor, 1, &self->van, error);
    for (size_t i = 0; i < WEIR_CAST_COUNT && status == WEIR_OK; i++)
        status = spawn(self, &ROLES[i], &self->members[i], error);
    if (status != WEIR_OK)
        goto out;

    *out = self;
    self = NULL;

out:
    weir_cast_destroy(self);
    return status;
}

void weir_cast_destroy(struct weir_cast *self)
{
    if (self == NULL)
        return;
    if (self->ward != NULL && self->unfinished == 0)
        self->unfinished = weir_ward_stop(self->ward, 0);

    for (size_t i = 0; i < WEIR_CAST_COUNT; i++) {
        weir_worker_release(self->members[i].worker);
        weir_notifier_destroy(self->members[i].entrance);
    }
    weir_poker_destroy(self->poker);
    weir_gate_destroy(self->van);
    weir_ward_destroy(self->ward);
    weir_executor_destroy(self->executor);
    if (self->unfinished > 0)
        return; /* actions still use their members */
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++)
        pthread_mutex_destroy(&self->members[i].lock);
    free(self);
}

int64_t weir_cast_elapsed(struct weir_cast *self)
{
    return weir_executor_now(self->executor) - self->start_ns;
}

void weir_cast_read(struct weir_cast *self, struct weir_cast_snapshot *out)
{
    int64_t now_ns = weir_executor_now(self->executor);

    out->elapsed_ns = now_ns - self->start_ns;
    weir_gate_read(self->van, &out->van);
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++) {
        struct weir_cast_member *shown = &out->members[i];
        struct member *member = &self->members[i];

        shown->about = ROLES[i].about;
        weir_worker_read(member->worker, &shown->info);
        shown->due_in_ns = -1;
        if (shown->info.due_ns != 0)
            shown->due_in_ns =
                shown->info.due_ns > now_ns ? shown->info.due_ns - now_ns : 0;

        pthread_mutex_lock(&member->lock);
        shown->panics = member->panics;
        memcpy(shown->last_error, member->last_error, sizeof shown->last_error);
        pthread_mutex_unlock(&member->lock);
    }
}

size_t weir_cast_stop(struct weir_cast *self, int64_t grace_ns)
{
    self->unfinished = weir_ward_stop(self->ward, grace_ns);
    return self->unfinished;
}

static enum weir_status spawn(struct weir_cast *self, const struct role *role,
                              struct member *member, struct weir_error *error)
{
    const struct weir_listener *listeners[] = {&member->listener};
    struct weir_notifier *notifiers[NOTIFIERS_MAX];
    struct weir_worker_options options;
    enum weir_status status;

    weir_worker_options_init(&options);
    options.name = role->name;
    options.action = role->action;
    options.state = member;
    options.on_panic = WEIR_ON_PANIC_RETRY;
    options.notifiers = notifiers;
    options.listeners = listeners;
    options.listener_count = 1;
    member->listener = (struct weir_listener){.state = member, .on_error = keep_error};
    if (role->pace.active_ns > 0)
        options.pace = role->pace;
    if (role->takes_the_van)
        options.shared = self->van;
    if (role->backoff_ns > 0) {
        options.backoff.initial_ns = role->backoff_ns;
        options.backoff.max_ns = role->backoff_ns_max;
    }

    status = weir_notifier_create(self->executor, &member->entrance);
    if (status != WEIR_OK)
        return weir_error_set(error, status, "worker \"%s\": no notifier", role->name);
    weir_notifier_notify_one(member->entrance);
    notifiers[options.notifier_count++] = member->entrance;
    if (role->poke_ns > 0) {
        status = weir_poker_create(self->ward, role->poke_ns, &self->poker, error);
        if (status != WEIR_OK)
            return status;
        notifiers[options.notifier_count++] = weir_poker_notifier(self->poker);
    }
    return weir_ward_spawn(self->ward, &options, &member->worker, error);
}

static void keep_error(void *state, const char *worker, int64_t elapsed_ns,
                       const char *text, uint32_t failures, int64_t backoff_ns)
{
    static const char PANIC[] = "panic: ";
    struct member *member = state;

    (void)worker, (void)elapsed_ns, (void)failures, (void)backoff_ns;
    pthread_mutex_lock(&member->lock);
    member->panics += strncmp(text, PANIC, strlen(PANIC)) == 0;
    weir_text_format(member->last_error, sizeof member->last_error, "%s", text);
    pthread_mutex_unlock(&member->lock);
}

/* --- the actions --- */

/* Nothing to do but to be alive: idle until the next poke. */
static enum weir_status beat(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    (void)context, (void)state, (void)error;
    *out = weir_idle();
    return WEIR_OK;
}

/* As if there was a backlog: ask for more, faster and faster, until it is done. */
static enum weir_status burst(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct member *member = state;

    (void)context, (void)error;
    *out = ++member->run % BURST_LENGTH != 0 ? weir_proceed()
                                             : weir_sleep_for(WEIR_SECONDS(3));
    return WEIR_OK;
}

static enum weir_status fail_often(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    struct member *member = state;

    (void)context;
    if (++member->run % FLAKY_PERIOD != 0)
        return weir_error_set(error, WEIR_FAILED, "no answer");
    *out = weir_sleep_for(WEIR_SECONDS(1));
    return WEIR_OK;
}

static enum weir_status panic_sometimes(struct weir_context *context, void *state,
                                        struct weir_directive *out,
                                        struct weir_error *error)
{
    struct member *member = state;

    (void)error;
    if (++member->run % CRASHY_PERIOD == 0)
        weir_panic(context, "no ink");
    *out = weir_sleep_for(WEIR_MILLISECONDS(400));
    return WEIR_OK;
}

/* Takes a while, and listens when it is asked to come home. */
static enum weir_status deliver(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    (void)state, (void)error;
    if (weir_sleep(context, WEIR_MILLISECONDS(600)) == WEIR_OK)
        *out = weir_proceed();
    return WEIR_OK;
}

static enum weir_status sweep(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    (void)context, (void)state, (void)error;
    *out = weir_sleep_for(WEIR_SECONDS(20));
    return WEIR_OK;
}
