/*
 * test_ward_spawn.c - spawning: what it keeps of its options, and that nothing is left
 * of a worker that came too late. Bad options are in test_options.c.
 */
#include <string.h>

#include "base/heap.h"
#include "unit/ward/worker_fixture.h"

/* A ward in simulation, on a heap that counts. */
struct env {
    struct weir_faulty_heap heap;
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct actor actor;
    struct weir_worker_options options;
};

static const struct act ONLY_IDLE[] = {{.kind = ACT_IDLE}};

static void env_open(struct env *self)
{
    struct weir_sim_options options = {.heap = &self->heap.heap, .seed = 1};

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    check_status(weir_sim_create(&options, &self->sim, NULL), WEIR_OK);
    check_status(weir_ward_create(weir_sim_executor(self->sim),
                                  &(struct weir_ward_options){.name = "office"},
                                  &self->ward, NULL),
                 WEIR_OK);
    self->actor = (struct actor){.acts = ONLY_IDLE, .act_count = 1, .name = "clerk"};
    self->options = script_options(&self->actor);
}

static void env_close(struct env *self)
{
    weir_ward_destroy(self->ward);
    weir_sim_destroy(self->sim);
    check_int(self->heap.outstanding, 0);
}

/* ---- what is kept ------------------------------------------------------------------ */

WEIR_TEST(spawn, accepts_the_longest_name_and_copies_it)
{
    char name[WEIR_WORKER_NAME_SIZE_MAX + 1];
    struct weir_worker_info info;
    struct weir_worker *worker;
    struct env env;
    env_open(&env);
    memset(name, '~', sizeof name);
    name[WEIR_WORKER_NAME_SIZE_MAX] = '\0';
    env.options.name = name;

    check_status(weir_ward_spawn(env.ward, &env.options, &worker, NULL), WEIR_OK);
    memset(name, 'x', sizeof name - 1);

    check_int(strlen(weir_worker_name(worker)), WEIR_WORKER_NAME_SIZE_MAX);
    check_int(weir_worker_name(worker)[0], '~');
    weir_worker_read(worker, &info);
    check_str(info.name, weir_worker_name(worker));
    weir_worker_release(worker);
    env_close(&env);
}

/* Spawned as options_init() left it, with a name and an action, a worker works. */
WEIR_TEST(spawn, accepts_the_defaults)
{
    struct actor actor = {ACTS(IDLE)};
    struct weir_worker_options options;
    struct weir_worker_info info;
    struct env env;
    env_open(&env);
    weir_worker_options_init(&options);
    check_int(options.notifier_count, 0);
    check_int(options.listener_count, 0);
    check(options.shared == NULL && options.guaranteed == NULL);
    check_int(options.pace.min_ns, MS(10));
    check_int(options.pace.active_ns, MS(100));
    check_int(options.pace.ramp_ns, MS(10));
    check_int(options.on_panic, WEIR_ON_PANIC_END);
    check_int(options.worker_class, WEIR_WORKER_COMMON);
    check_int(options.failures_initial, 0);
    options.name = "plain";
    options.action = actor_act;
    options.state = &actor;

    check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
    weir_sim_run_until(env.sim, WEIR_HOURS(1));

    check_int(weir_ward_read(env.ward, &info, 1), 1);
    check_int(info.state, WEIR_WORKER_IDLING);
    check_int(actor.calls, 0);
    env_close(&env);
}

/* Lists of no elements may be NULL or point anywhere: nobody looks. */
WEIR_TEST(spawn, does_not_look_at_empty_lists)
{
    struct env env;
    env_open(&env);
    env.options.notifiers = (struct weir_notifier *const *)(uintptr_t)1;
    env.options.listeners = (const struct weir_listener *const *)(uintptr_t)1;
    env.options.state = &env.actor;

    check_status(weir_ward_spawn(env.ward, &env.options, NULL, NULL), WEIR_OK);

    weir_sim_run_until(env.sim, MS(1));
    check_int(weir_ward_count(env.ward), 1);
    env_close(&env);
}

/* ---- after the end ----------------------------------------------------------------- */

/* Its gate and its notifier are let go as well, down to the last block. */
static void spawn_too_late(void (*end)(struct weir_ward *))
{
    struct weir_worker *worker = (struct weir_worker *)&worker;
    struct weir_notifier *bell;
    struct weir_gate *gate;
    struct weir_error error;
    struct env env;
    int64_t outstanding;
    env_open(&env);
    check_status(weir_notifier_create(weir_sim_executor(env.sim), &bell), WEIR_OK);
    check_status(weir_gate_create(weir_sim_executor(env.sim), 1, &gate, NULL), WEIR_OK);
    weir_notifier_notify_one(bell);
    env.options.notifiers = &bell;
    env.options.notifier_count = 1;
    env.options.shared = gate;

    end(env.ward);
    outstanding = env.heap.outstanding;
    check_status(weir_ward_spawn(env.ward, &env.options, &worker, &error), WEIR_CLOSED);
    check(worker == NULL);
    check_str(error.text, "spawn worker \"clerk\": ward \"office\" was stopped");
    check_status(weir_ward_spawn(env.ward, &env.options, NULL, NULL), WEIR_CLOSED);
    check_int(env.heap.outstanding, outstanding);
    check_int(weir_ward_count(env.ward), 0);
    weir_sim_run_until(env.sim, WEIR_SECONDS(1));

    check_int(env.actor.calls, 0);
    check(weir_notifier_stored(bell));
    weir_gate_destroy(gate);
    weir_notifier_destroy(bell);
    env_close(&env);
}

static void stop(struct weir_ward *ward)
{
    check_int(weir_ward_stop(ward, WEIR_SECONDS(1)), 0);
}

WEIR_TEST(spawn, after_a_stop_is_refused)
{
    spawn_too_late(stop);
}

WEIR_TEST(spawn, after_a_cancel_is_refused)
{
    spawn_too_late(weir_ward_cancel);
}
