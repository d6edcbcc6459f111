/*
 * Tests of ward/threads.c: actions that hang, the clock of a pool whose threads all wait,
 * reserve threads, and many threads at once.
 *
 * Nothing here is timed. A test waits for states, with a limit that only a hang
 * reaches, and checks counts and lower bounds. Actions write down what they see; the
 * checks are made by the test itself once everything has come to rest.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/random.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/runtime.h"

#define MS(n) WEIR_MILLISECONDS(n)
#define WAIT_LIMIT WEIR_SECONDS(60)

/* Until a state is reached. */
#define WAIT_UNTIL(condition)                                                            \
    do {                                                                                 \
        int64_t limit_ns_ = weir_system_now_ns() + WAIT_LIMIT;                           \
                                                                                         \
        while (!(condition)) {                                                           \
            if (weir_system_now_ns() > limit_ns_)                                        \
                weir_test_fail(__FILE__, __LINE__, "waited in vain: %s", #condition);    \
            (void)sched_yield();                                                         \
        }                                                                                \
    } while (0)

/* ---- a pool, a ward, and a door to hang at ----------------------------------------- */

struct pool {
    struct weir_faulty_heap heap;
    struct weir_executor *executor;
    struct weir_ward *ward;
    _Atomic uint32_t ends;
};

static void count_end(void *state, const struct weir_worker_end *end)
{
    struct pool *self = state;

    (void)end;
    atomic_fetch_add(&self->ends, 1);
}

static void pool_open_with(struct pool *self, uint32_t threads, uint32_t reserve_threads,
                           weir_worker_end_fn on_end, void *state)
{
    struct weir_ward_options ward = {.name = "crew", .on_end = on_end, .state = state};
    struct weir_executor_options options;

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    weir_executor_options_init(&options);
    options.heap = &self->heap.heap;
    options.threads = threads;
    options.reserve_threads = reserve_threads;
    check_status(weir_executor_create(&options, &self->executor, NULL), WEIR_OK);
    check_status(weir_ward_create(self->executor, &ward, &self->ward, NULL), WEIR_OK);
}

static void pool_open(struct pool *self, uint32_t threads, uint32_t reserve_threads)
{
    pool_open_with(self, threads, reserve_threads, count_end, self);
}

static struct weir_notifier *pool_notifier(struct pool *self)
{
    struct weir_notifier *notifier;

    check_status(weir_notifier_create(self->executor, &notifier), WEIR_OK);
    return notifier;
}

static void pool_spawn(struct pool *self, const struct weir_worker_options *options)
{
    struct weir_error error;

    if (weir_ward_spawn(self->ward, options, NULL, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
}

static void pool_close(struct pool *self)
{
    check_int(weir_ward_stop(self->ward, WAIT_LIMIT), 0);
    weir_ward_destroy(self->ward);
    weir_executor_destroy(self->executor);
    check_int(self->heap.outstanding, 0);
}

/* No pace, no backoff, one notifier. */
static struct weir_worker_options job(const char *name, weir_action_fn action,
                                      void *state, struct weir_notifier *const *bell)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = name;
    options.action = action;
    options.state = state;
    options.notifiers = bell;
    options.notifier_count = 1;
    options.pace = weir_pace_none();
    options.backoff = weir_backoff_none();
    options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    return options;
}

/* Whoever goes through waits until the door is opened, and listens to nothing else. */
struct door {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool open;
    _Atomic uint32_t arrived;
    _Atomic uint32_t passed;
};

static void door_close(struct door *self)
{
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->opened, NULL);
}

static void door_open(struct door *self)
{
    pthread_mutex_lock(&self->mutex);
    self->open = true;
    pthread_cond_broadcast(&self->opened);
    pthread_mutex_unlock(&self->mutex);
}

static void door_pass(struct door *self)
{
    atomic_fetch_add(&self->arrived, 1);
    pthread_mutex_lock(&self->mutex);
    while (!self->open)
        pthread_cond_wait(&self->opened, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    atomic_fetch_add(&self->passed, 1);
}

static enum weir_status hang(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)out;
    (void)error;
    door_pass(state);
    return WEIR_OK;
}

static enum weir_status count_call(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    _Atomic uint32_t *calls = state;

    (void)context;
    (void)out;
    (void)error;
    atomic_fetch_add(calls, 1);
    return WEIR_OK;
}

struct counter {
    _Atomic uint32_t calls;
};

/* ---- leaving main with a stuck action ---------------------------------------------- */

/*
 * The test runs its own program again, with this test only and a word in the
 * environment that says how to leave. First in the file, so that nothing else has run
 * in the parent either.
 */
static const char *const HOW_TO_LEAVE = "WEIR_TEST_HOW_TO_LEAVE";

static void leave_with_a_stuck_action(bool tidy)
{
    static struct pool pool; /* what the stuck one touches lives as long as the process */
    static struct door door;
    struct weir_notifier *bell;
    struct weir_worker_options options;

    pool_open(&pool, 2, 1);
    door_close(&door);
    bell = pool_notifier(&pool);
    options = job("stuck", hang, &door, &bell);
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bell);
    WAIT_UNTIL(door.arrived == 1);

    weir_notifier_destroy(bell);
    if (tidy) {
        check_int(weir_ward_stop(pool.ward, MS(10)), 1);
        weir_ward_destroy(pool.ward);
        weir_executor_destroy(pool.executor);
    }
}

static void check_leaves_cleanly(const char *how)
{
    char *const arguments[] = {strdup("test_threads"), strdup("leaves_main"), NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;

    check(setenv(HOW_TO_LEAVE, how, 1) == 0);
    check(posix_spawn_file_actions_init(&actions) == 0);
    check(posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0) ==
          0);
    check_int(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ),
              0);
    check(unsetenv(HOW_TO_LEAVE) == 0);
    posix_spawn_file_actions_destroy(&actions);
    check_int(waitpid(child, &status, 0), child);

    check(WIFEXITED(status));
    check_int(WEXITSTATUS(status), 0);
    free(arguments[0]);
    free(arguments[1]);
}

WEIR_TEST(threads, program_that_leaves_main_with_a_stuck_action_ends_cleanly)
{
    const char *how = getenv(HOW_TO_LEAVE);

    if (how != NULL) {
        leave_with_a_stuck_action(strcmp(how, "tidy") == 0);
        return;
    }
    check_leaves_cleanly("tidy");
    check_leaves_cleanly("as it is");
}

/* ---- actions that do not listen ---------------------------------------------------- */

/* One hangs, five others are done with. The caller gives everything up while it is
 * inside. */
WEIR_TEST(threads, stop_counts_one_stuck_action_and_all_can_be_destroyed_around_it)
{
    static struct pool pool;
    static struct door door;
    struct counter counter = {0};
    struct weir_notifier *bells[2];
    struct weir_worker_options options;
    int64_t began_ns;
    pool_open(&pool, 4, 0);
    door_close(&door);
    for (size_t i = 0; i < 2; i++)
        bells[i] = pool_notifier(&pool);
    options = job("stuck", hang, &door, &bells[0]);
    pool_spawn(&pool, &options);
    options = job("good", count_call, &counter, &bells[1]);
    for (int i = 0; i < 5; i++)
        pool_spawn(&pool, &options);
    weir_notifier_notify_one(bells[0]);
    weir_notifier_notify_one(bells[1]);
    WAIT_UNTIL(door.arrived == 1 && counter.calls == 1 &&
               weir_notifier_waiting(bells[1]) == 5);

    began_ns = weir_system_now_ns();
    check_int(weir_ward_stop(pool.ward, MS(50)), 1);

    check(weir_system_now_ns() - began_ns >= MS(50));
    check_int(pool.ends, 5);
    check_int(weir_ward_count(pool.ward), 1);
    for (size_t i = 0; i < 2; i++)
        weir_notifier_destroy(bells[i]);
    weir_ward_destroy(pool.ward);
    weir_executor_destroy(pool.executor);
    check(pool.heap.outstanding > 0);
    check_int(door.passed, 0);

    /* When it comes back at last, it ends as any other, and the rest goes with it. */
    door_open(&door);
    WAIT_UNTIL(pool.heap.outstanding == 0);
    check_int(door.passed, 1);
    check_int(pool.ends, 6);
}

/* All three threads hang; seven are starting, idle or ready and need none to end. */
WEIR_TEST(threads, stop_counts_exactly_three_stuck_of_ten_on_three_threads)
{
    struct pool pool;
    struct door door;
    struct counter counter = {0};
    struct weir_notifier *bells[2];
    struct weir_worker_options options;
    pool_open(&pool, 3, 0);
    door_close(&door);
    for (size_t i = 0; i < 2; i++)
        bells[i] = pool_notifier(&pool);
    options = job("good", count_call, &counter, &bells[1]);
    for (int i = 0; i < 5; i++)
        pool_spawn(&pool, &options);
    WAIT_UNTIL(weir_notifier_waiting(bells[1]) == 5);
    options = job("stuck", hang, &door, &bells[0]);
    for (int i = 0; i < 3; i++)
        pool_spawn(&pool, &options);
    WAIT_UNTIL(weir_notifier_waiting(bells[0]) == 3);
    weir_notifier_notify_all(bells[0]);
    WAIT_UNTIL(door.arrived == 3);
    weir_notifier_notify_one(bells[1]); /* one is ready now, without a thread */
    options = job("late", count_call, &counter, &bells[1]);
    for (int i = 0; i < 2; i++)
        pool_spawn(&pool, &options); /* these cannot even start */

    check_int(weir_ward_stop(pool.ward, MS(20)), 3);
    check_int(weir_ward_stop(pool.ward, 0), 3);

    check_int(pool.ends, 7);
    check_int(counter.calls, 0);
    door_open(&door);
    check_int(weir_ward_stop(pool.ward, WAIT_LIMIT), 0);
    check_int(pool.ends, 10);
    for (size_t i = 0; i < 2; i++)
        weir_notifier_destroy(bells[i]);
    pool_close(&pool);
}

/* The thread that waits in stop() keeps the time itself: the only other one hangs. */
WEIR_TEST(threads, stop_notices_the_end_of_the_grace_on_a_pool_of_one_stuck_thread)
{
    struct pool pool;
    struct door door;
    struct weir_notifier *bell;
    struct weir_worker_options options;
    pool_open(&pool, 1, 0);
    door_close(&door);
    bell = pool_notifier(&pool);
    options = job("stuck", hang, &door, &bell);
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bell);
    WAIT_UNTIL(door.arrived == 1);

    check_int(weir_ward_stop(pool.ward, MS(20)), 1);

    door_open(&door);
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

/* ---- the clock of a pool whose threads wait inside actions ------------------------- */

struct sleeper {
    _Atomic uint32_t rounds;
    _Atomic uint32_t early;
    _Atomic uint32_t wrong;
};

static enum weir_status sleep_often(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct sleeper *self = state;

    (void)out;
    (void)error;
    for (int i = 0; i < 10; i++) {
        int64_t before_ns = weir_context_now(context);

        if (i % 2 == 0)
            weir_sleep_through(context, MS(2));
        else if (weir_sleep(context, MS(2)) != WEIR_OK)
            self->wrong++;
        if (weir_context_now(context) - before_ns < MS(2))
            self->early++;
        self->rounds++;
    }
    return WEIR_OK;
}

WEIR_TEST(threads, sleep_inside_actions_works_on_a_pool_of_one_thread)
{
    struct pool pool;
    struct sleeper sleeper = {0};
    struct weir_notifier *bell;
    struct weir_worker_options options;
    pool_open(&pool, 1, 0);
    bell = pool_notifier(&pool);
    options = job("sleeper", sleep_often, &sleeper, &bell);
    for (int i = 0; i < 3; i++)
        pool_spawn(&pool, &options);
    WAIT_UNTIL(weir_notifier_waiting(bell) == 3);

    weir_notifier_notify_all(bell);
    WAIT_UNTIL(sleeper.rounds == 30);

    check_int(sleeper.early, 0);
    check_int(sleeper.wrong, 0);
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

struct listener {
    struct weir_notifier *poked;
    struct weir_gate *closed; /* no permits */
    _Atomic uint32_t heard;
    _Atomic uint32_t wrong;
};

static enum weir_status listen_often(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    struct listener *self = state;

    (void)out;
    (void)error;
    for (int i = 0; i < 10; i++) {
        int64_t soon_ns = weir_context_now(context) + MS(1);

        if (weir_notifier_wait(self->poked, context, WEIR_FOREVER) != WEIR_OK)
            self->wrong++;
        if (weir_gate_enter(self->closed, context, soon_ns) != WEIR_TIMEOUT)
            self->wrong++;
        self->heard++;
    }
    return WEIR_OK;
}

/* The only thread waits for the poker, and has to notice itself that the poke is due. */
WEIR_TEST(threads, poker_wakes_an_action_that_waits_on_a_pool_of_one_thread)
{
    struct pool pool;
    struct listener listener = {0};
    struct weir_poker *poker;
    struct weir_notifier *bell;
    struct weir_worker_options options;
    pool_open(&pool, 1, 0);
    bell = pool_notifier(&pool);
    check_status(weir_poker_create(pool.ward, MS(2), &poker, NULL), WEIR_OK);
    check_status(weir_gate_create(pool.executor, 0, &listener.closed, NULL), WEIR_OK);
    listener.poked = weir_poker_notifier(poker);
    options = job("listener", listen_often, &listener, &bell);
    pool_spawn(&pool, &options);

    weir_notifier_notify_one(bell);
    WAIT_UNTIL(listener.heard == 10);

    check_int(listener.wrong, 0);
    weir_poker_destroy(poker);
    weir_notifier_destroy(bell);
    weir_gate_destroy(listener.closed);
    pool_close(&pool);
}

/* Each says how long it sleeps, and looks at the clock when it is woken. */
struct napper {
    int64_t duration_ns;
    int64_t fell_asleep_ns;
    uint32_t naps;
    bool early;
};

static _Atomic uint32_t naps_total;

static enum weir_status nap(struct weir_context *context, void *state,
                            struct weir_directive *out, struct weir_error *error)
{
    struct napper *self = state;
    int64_t now_ns = weir_context_now(context);

    (void)error;
    if (self->naps > 0 && now_ns - self->fell_asleep_ns < self->duration_ns)
        self->early = true;
    self->naps++;
    atomic_fetch_add(&naps_total, 1);
    self->fell_asleep_ns = now_ns;
    *out = self->naps <= 5 ? weir_sleep_for(self->duration_ns) : weir_idle();
    return WEIR_OK;
}

WEIR_TEST(threads, no_sleep_of_hundreds_ends_early_and_none_is_forgotten)
{
    enum { NAPPERS = 500 };
    static struct napper nappers[NAPPERS];
    struct pool pool;
    struct weir_notifier *bell;
    struct weir_random random;
    pool_open(&pool, 2, 0);
    bell = pool_notifier(&pool);
    weir_random_init(&random, 1);
    atomic_store(&naps_total, 0);
    for (size_t i = 0; i < NAPPERS; i++) {
        struct weir_worker_options options = job("napper", nap, &nappers[i], &bell);
        nappers[i] =
            (struct napper){.duration_ns = MS(1) + weir_random_below(&random, 30000000)};
        pool_spawn(&pool, &options);
    }
    WAIT_UNTIL(weir_notifier_waiting(bell) == NAPPERS);

    weir_notifier_notify_all(bell);
    WAIT_UNTIL(naps_total == NAPPERS * 6);

    check_int(weir_ward_stop(pool.ward, WAIT_LIMIT), 0);
    for (size_t i = 0; i < NAPPERS; i++)
        check(!nappers[i].early);
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

/* Waits in every timed way there is; nothing but the clock ends most of its waits. */
struct waiter {
    struct weir_gate *narrow; /* one permit for all */
    struct weir_notifier *never;
    struct weir_random random;
    uint32_t left; /* executions in this round */
    _Atomic uint32_t *done;
};

static enum weir_status wait_somehow(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    struct waiter *self = state;
    int64_t wait_ns = 1000 + weir_random_below(&self->random, 200000);
    int64_t soon_ns = weir_context_now(context) + wait_ns;

    if (self->left == 0)
        return WEIR_OK; /* a second signal of the same round */
    if (--self->left == 0) {
        atomic_fetch_add(self->done, 1);
        return WEIR_OK;
    }
    switch (weir_random_below(&self->random, 7)) {
    case 0:
        *out = weir_proceed();
        return WEIR_OK;
    case 1:
        *out = weir_sleep_for(wait_ns);
        return WEIR_OK;
    case 2:
        weir_sleep_through(context, wait_ns);
        break;
    case 3:
        if (weir_gate_enter(self->narrow, context, soon_ns) == WEIR_OK) {
            weir_sleep_through(context, wait_ns / 2);
            weir_gate_leave(self->narrow);
        }
        break;
    case 4:
        (void)!weir_notifier_wait(self->never, context, soon_ns);
        break;
    case 5:
        weir_panic(context, "left %u", self->left);
    default:
        return weir_error_set(error, WEIR_FAILED, "left %u", self->left);
    }
    *out = weir_sleep_for(wait_ns);
    return WEIR_OK;
}

/* Many short rounds: a timer that nobody watches shows when the last one waits alone. */
static void wait_in_every_way(uint32_t threads, uint32_t reserve_threads)
{
    enum { WAITERS = 6, ROUNDS = 40, EXECUTIONS = 8 };
    struct waiter waiters[WAITERS];
    _Atomic uint32_t done = 0;
    struct weir_notifier *bell;
    struct weir_notifier *never;
    struct weir_gate *narrow;
    struct pool pool;
    pool_open(&pool, threads, reserve_threads);
    bell = pool_notifier(&pool);
    never = pool_notifier(&pool);
    check_status(weir_gate_create(pool.executor, 1, &narrow, NULL), WEIR_OK);
    for (uint32_t i = 0; i < WAITERS; i++) {
        struct weir_worker_options options =
            job("waiter", wait_somehow, &waiters[i], &bell);
        waiters[i] = (struct waiter){.narrow = narrow, .never = never, .done = &done};
        weir_random_init(&waiters[i].random, i);
        options.pace = (struct weir_pace){1000, 100000, 10000};
        options.backoff = (struct weir_backoff){1000, 100000, 2.0, 0.3};
        options.on_error = WEIR_ON_ERROR_RETRY;
        options.on_panic = WEIR_ON_PANIC_RETRY;
        options.worker_class =
            i == 0 && reserve_threads > 0 ? WEIR_WORKER_RESERVED : WEIR_WORKER_COMMON;
        pool_spawn(&pool, &options);
    }

    for (int round = 0; round < ROUNDS; round++) {
        WAIT_UNTIL(weir_notifier_waiting(bell) == WAITERS);
        for (uint32_t i = 0; i < WAITERS; i++)
            waiters[i].left = EXECUTIONS;
        atomic_store(&done, 0);
        weir_notifier_notify_all(bell);
        WAIT_UNTIL(done == WAITERS);
    }

    weir_gate_destroy(narrow);
    weir_notifier_destroy(bell);
    weir_notifier_destroy(never);
    pool_close(&pool);
}

WEIR_TEST(threads, every_timed_wait_ends_on_a_pool_of_any_size)
{
    wait_in_every_way(1, 0);
    wait_in_every_way(2, 0);
    wait_in_every_way(4, 0);
    wait_in_every_way(1, 1);
}

/* ---- the clock is handed over ------------------------------------------------------ */

/*
 * Whoever keeps the time of a pool may be called away: to work, out of its wait, or to
 * its end. Each time somebody else who waits has to take over, or a timer is never
 * looked at. The pool has two threads, and a sleeper whose timer makes the first of
 * them the timekeeper.
 */
struct clockwork {
    struct pool pool;
    struct weir_notifier
        *bells[4];          /* of sleeper, parker and blocker; and the parker's own */
    struct counter sleeper; /* executions; sleeps after each */
    int64_t sleep_ns;
    int64_t parker_wait_ns; /* how long it waits for its own bell */
    _Atomic int parker_status;
    struct door after_parking;
    struct door door; /* the blocker's */
};

static enum weir_status sleep_again(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct clockwork *self = state;

    (void)context;
    (void)error;
    self->sleeper.calls++;
    *out = weir_sleep_for(self->sleep_ns);
    return WEIR_OK;
}

static enum weir_status park(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct clockwork *self = state;
    int64_t deadline_ns = self->parker_wait_ns == WEIR_FOREVER
                              ? WEIR_FOREVER
                              : weir_context_now(context) + self->parker_wait_ns;

    (void)out;
    (void)error;
    self->parker_status = (int)weir_notifier_wait(self->bells[3], context, deadline_ns);
    door_pass(&self->after_parking);
    return WEIR_OK;
}

/* The first thread sleeps as timekeeper, the second waits inside the parker's action. */
static void clockwork_open(struct clockwork *self, int64_t sleep_ns,
                           int64_t parker_wait_ns)
{
    struct weir_worker_options options;

    pool_open(&self->pool, 2, 0);
    for (size_t i = 0; i < 4; i++)
        self->bells[i] = pool_notifier(&self->pool);
    self->sleeper.calls = 0;
    self->sleep_ns = sleep_ns;
    self->parker_wait_ns = parker_wait_ns;
    self->parker_status = -1;
    door_close(&self->after_parking);
    door_close(&self->door);
    options = job("sleeper", sleep_again, self, &self->bells[0]);
    pool_spawn(&self->pool, &options);
    options = job("parker", park, self, &self->bells[1]);
    pool_spawn(&self->pool, &options);
    options = job("blocker", hang, &self->door, &self->bells[2]);
    pool_spawn(&self->pool, &options);
    for (size_t i = 0; i < 3; i++)
        WAIT_UNTIL(weir_notifier_waiting(self->bells[i]) == 1);

    /* On a machine that is very busy either wait may be over before it is seen. */
    weir_notifier_notify_one(self->bells[0]);
    WAIT_UNTIL(self->sleeper.calls >= 2 ||
               (self->sleeper.calls == 1 && weir_notifier_waiting(self->bells[0]) == 1));
    weir_notifier_notify_one(self->bells[1]);
    WAIT_UNTIL(self->parker_status != -1 || weir_notifier_waiting(self->bells[3]) == 1);
}

static void clockwork_close(struct clockwork *self)
{
    door_open(&self->after_parking);
    door_open(&self->door);
    check_int(weir_ward_stop(self->pool.ward, WAIT_LIMIT), 0);
    for (size_t i = 0; i < 4; i++)
        weir_notifier_destroy(self->bells[i]);
    pool_close(&self->pool);
}

static struct clockwork clockwork; /* a hanging thread of a failed test may look at it */

/* The timekeeper gets the blocker to run; the parker has to notice its own deadline. */
WEIR_TEST(threads, clock_goes_on_when_the_timekeeper_is_called_to_work)
{
    clockwork_open(&clockwork, WEIR_HOURS(1), MS(200));

    weir_notifier_notify_one(clockwork.bells[2]);
    WAIT_UNTIL(clockwork.door.arrived == 1);
    WAIT_UNTIL(clockwork.parker_status != -1);

    check_status((enum weir_status)clockwork.parker_status, WEIR_TIMEOUT);
    clockwork_close(&clockwork);
}

/* The parker takes over as above, then the blocker's thread is free again, and the
 * parker is called out of its wait: the free thread has to notice that the sleeper is
 * due. */
WEIR_TEST(threads, clock_goes_on_when_the_timekeeper_has_waited_enough)
{
    for (int round = 0; round < 10; round++) {
        clockwork_open(&clockwork, MS(30), WEIR_FOREVER);
        weir_notifier_notify_one(clockwork.bells[2]);
        WAIT_UNTIL(clockwork.door.arrived == 1);
        for (int i = 0; i < 100; i++)
            (void)sched_yield(); /* the parker is on its way to take over */
        door_open(&clockwork.door);
        WAIT_UNTIL(weir_notifier_waiting(clockwork.bells[2]) == 1);

        weir_notifier_notify_one(clockwork.bells[3]);
        WAIT_UNTIL(clockwork.after_parking.arrived == 1);
        WAIT_UNTIL(clockwork.sleeper.calls >= 2);

        check_int(clockwork.after_parking.passed, 0);
        clockwork_close(&clockwork);
    }
}

/* The pool goes, and with it the timekeeper; the parker is all that is left. */
WEIR_TEST(threads, clock_goes_on_when_the_timekeeper_has_ended)
{
    clockwork_open(&clockwork, WEIR_HOURS(1), MS(200));

    weir_executor_destroy(clockwork.pool.executor);
    WAIT_UNTIL(clockwork.parker_status != -1);

    check_status((enum weir_status)clockwork.parker_status, WEIR_TIMEOUT);
    door_open(&clockwork.after_parking);
    check_int(weir_ward_stop(clockwork.pool.ward, WAIT_LIMIT), 0);
    for (size_t i = 0; i < 4; i++)
        weir_notifier_destroy(clockwork.bells[i]);
    weir_ward_destroy(clockwork.pool.ward);
    WAIT_UNTIL(clockwork.pool.heap.outstanding == 0);
}

/* ---- destroying an executor early -------------------------------------------------- */

WEIR_TEST(threads, executor_may_be_destroyed_before_its_wards)
{
    struct pool pool;
    struct counter counter = {0};
    struct weir_notifier *bell;
    struct weir_poker *poker;
    struct weir_worker_options options;
    struct weir_worker *handle;
    struct weir_worker_info info;
    pool_open(&pool, 3, 1);
    bell = pool_notifier(&pool);
    check_status(weir_poker_create(pool.ward, MS(1), &poker, NULL), WEIR_OK);
    options = job("idler", count_call, &counter, &bell);
    check_status(weir_ward_spawn(pool.ward, &options, &handle, NULL), WEIR_OK);
    WAIT_UNTIL(weir_notifier_waiting(bell) == 1);

    weir_executor_destroy(pool.executor);

    /* Everything may still be called; nothing is executed. */
    weir_notifier_notify_one(bell);
    pool_spawn(&pool, &options);
    check_int(weir_ward_count(pool.ward), 2);
    weir_worker_read(handle, &info);
    check_int(info.state, WEIR_WORKER_READY);
    weir_worker_cancel(handle);
    check_int(weir_ward_stop(pool.ward, WAIT_LIMIT), 0);
    check_int(counter.calls, 0);
    check_int(pool.ends, 2);
    weir_worker_release(handle);
    weir_poker_destroy(poker);
    weir_notifier_destroy(bell);
    check(pool.heap.outstanding > 0);
    weir_ward_destroy(pool.ward);
    check_int(pool.heap.outstanding, 0);
}

struct dreamer {
    _Atomic bool asleep;
    _Atomic bool awake;
    int64_t duration_ns;
    bool through;
};

static enum weir_status dream(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct dreamer *self = state;

    (void)out;
    (void)error;
    self->asleep = true;
    if (self->through)
        weir_sleep_through(context, self->duration_ns);
    else
        (void)!weir_sleep(context, self->duration_ns);
    self->awake = true;
    return WEIR_OK;
}

/* Destroy all while an action sleeps; it must wake by itself and take the rest with
 * it. */
static void destroy_around(struct dreamer *dreamer)
{
    static struct pool pool;
    struct weir_notifier *bell;
    struct weir_worker_options options;
    pool_open(&pool, 3, 1);
    bell = pool_notifier(&pool);
    options = job("dreamer", dream, dreamer, &bell);
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bell);
    WAIT_UNTIL(dreamer->asleep);

    weir_executor_destroy(pool.executor);
    weir_ward_destroy(pool.ward);
    weir_notifier_destroy(bell);

    WAIT_UNTIL(pool.heap.outstanding == 0);
    check(dreamer->awake);
    check_int(pool.ends, 1);
}

/* All other threads are gone, so the one that sleeps has to keep the time itself. */
WEIR_TEST(threads, action_that_sleeps_through_the_end_of_its_pool_wakes_in_time)
{
    struct dreamer dreamer = {.duration_ns = MS(50), .through = true};

    destroy_around(&dreamer);
}

WEIR_TEST(threads, action_that_sleeps_is_woken_by_the_end_of_its_ward)
{
    struct dreamer dreamer = {.duration_ns = WEIR_HOURS(1)};

    destroy_around(&dreamer);
}

/* ---- lanes ------------------------------------------------------------------------- */

static enum weir_status tick(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct counter *counter = state;

    (void)context;
    (void)error;
    counter->calls++;
    *out = weir_sleep_for(MS(1));
    return WEIR_OK;
}

/* The reserve thread keeps the time as well, since nobody else can. */
WEIR_TEST(threads, reserved_worker_runs_while_user_code_blocks_every_common_thread)
{
    struct pool pool;
    struct door door;
    struct counter reserved = {0};
    struct counter common = {0};
    struct weir_notifier *bells[3];
    struct weir_worker_options options;
    pool_open(&pool, 2, 1);
    door_close(&door);
    for (size_t i = 0; i < 3; i++)
        bells[i] = pool_notifier(&pool);
    options = job("blocker", hang, &door, &bells[0]);
    for (int i = 0; i < 2; i++)
        pool_spawn(&pool, &options);
    options = job("waiting", count_call, &common, &bells[1]);
    pool_spawn(&pool, &options);
    WAIT_UNTIL(weir_notifier_waiting(bells[0]) == 2 &&
               weir_notifier_waiting(bells[1]) == 1);
    weir_notifier_notify_all(bells[0]);
    WAIT_UNTIL(door.arrived == 2);

    weir_notifier_notify_one(bells[1]);
    options = job("lease", tick, &reserved, &bells[2]);
    options.worker_class = WEIR_WORKER_RESERVED;
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bells[2]);
    WAIT_UNTIL(reserved.calls >= 20);

    check_int(common.calls, 0); /* not even though the reserve thread was often free */
    check_int(door.passed, 0);
    door_open(&door);
    WAIT_UNTIL(common.calls == 1);
    for (size_t i = 0; i < 3; i++)
        weir_notifier_destroy(bells[i]);
    pool_close(&pool);
}

/* The first worker that a thread runs marks it; none of the other class may follow. */
static _Thread_local int class_of_this_thread = -1;

struct marker {
    enum weir_worker_class own;
    _Atomic uint32_t *calls_left;
    _Atomic uint32_t *strangers;
};

static enum weir_status mark_thread(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct marker *self = state;
    uint32_t left = atomic_load(self->calls_left);

    (void)context;
    (void)error;
    if (class_of_this_thread == -1)
        class_of_this_thread = (int)self->own;
    if (class_of_this_thread != (int)self->own)
        atomic_fetch_add(self->strangers, 1);
    while (left > 0 && !atomic_compare_exchange_weak(self->calls_left, &left, left - 1))
        ;
    *out = left > 1 ? weir_proceed() : weir_idle();
    return WEIR_OK;
}

WEIR_TEST(threads, reserved_worker_without_reserve_threads_is_refused)
{
    struct pool pool;
    struct counter counter = {0};
    struct weir_worker_options options;
    struct weir_notifier *bell;
    struct weir_error error;
    pool_open(&pool, 1, 0);
    bell = pool_notifier(&pool);
    options = job("reserved", count_call, &counter, &bell);
    options.worker_class = WEIR_WORKER_RESERVED;

    check_status(weir_ward_spawn(pool.ward, &options, NULL, &error), WEIR_INVALID);

    check(strstr(error.text, "no reserve threads") != NULL);
    check_int(weir_ward_count(pool.ward), 0);
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

WEIR_TEST(threads, each_class_keeps_to_its_own_threads)
{
    enum { WORKERS = 12, CALLS = 5000 };
    struct pool pool;
    struct marker markers[WORKERS];
    _Atomic uint32_t left[2] = {CALLS, CALLS};
    _Atomic uint32_t strangers = 0;
    struct weir_notifier *bell;
    pool_open(&pool, 2, 2);
    bell = pool_notifier(&pool);
    for (size_t i = 0; i < WORKERS; i++) {
        enum weir_worker_class own =
            i % 3 == 0 ? WEIR_WORKER_RESERVED : WEIR_WORKER_COMMON;
        struct weir_worker_options options =
            job("marker", mark_thread, &markers[i], &bell);
        markers[i] = (struct marker){
            .own = own, .calls_left = &left[own], .strangers = &strangers};
        options.worker_class = own;
        pool_spawn(&pool, &options);
    }
    WAIT_UNTIL(weir_notifier_waiting(bell) == WORKERS);

    weir_notifier_notify_all(bell);
    WAIT_UNTIL(left[0] == 0 && left[1] == 0);

    check_int(strangers, 0);
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

/* ---- what a worker leaves behind when it goes into user code ----------------------- */

/* The end of a worker is user code too: on_end hangs at the door, on the thread that
 * has just handed the permit to the next in line. The other thread is free and must be
 * told. */
static void hang_at_the_end(void *state, const struct weir_worker_end *end)
{
    if (end->outcome == WEIR_WORKER_PANICKED)
        door_pass(state);
}

static enum weir_status panic_when_asked(struct weir_context *context, void *state,
                                         struct weir_directive *out,
                                         struct weir_error *error)
{
    (void)out;
    (void)error;
    door_pass(state);
    weir_panic(context, "as asked");
}

static uint32_t waiting_at(struct weir_gate *gate)
{
    struct weir_gate_info info;

    weir_gate_read(gate, &info);
    return info.waiting;
}

WEIR_TEST(threads, slow_report_of_an_end_does_not_delay_the_next_in_line)
{
    struct pool pool;
    struct door at_the_end;
    struct door inside;
    struct counter counter = {0};
    struct weir_notifier *bells[2];
    struct weir_gate *gate;
    struct weir_worker_options options;
    door_close(&at_the_end);
    door_close(&inside);
    pool_open_with(&pool, 2, 0, hang_at_the_end, &at_the_end);
    check_status(weir_gate_create(pool.executor, 1, &gate, NULL), WEIR_OK);
    for (size_t i = 0; i < 2; i++)
        bells[i] = pool_notifier(&pool);
    options = job("panics", panic_when_asked, &inside, &bells[0]);
    options.shared = gate;
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bells[0]);
    WAIT_UNTIL(inside.arrived == 1);
    options = job("next", count_call, &counter, &bells[1]);
    options.shared = gate;
    pool_spawn(&pool, &options);
    weir_notifier_notify_one(bells[1]);
    WAIT_UNTIL(waiting_at(gate) == 1);

    door_open(&inside);
    WAIT_UNTIL(at_the_end.arrived == 1);
    WAIT_UNTIL(counter.calls == 1);

    check_int(at_the_end.passed, 0);
    door_open(&at_the_end);
    weir_gate_destroy(gate);
    for (size_t i = 0; i < 2; i++)
        weir_notifier_destroy(bells[i]);
    pool_close(&pool);
}

/* ---- no signal is lost ------------------------------------------------------------- */

enum { BOXES = 8, PUSHERS = 8, PUSHES = 100000, PUSHES_PER_ROUND = 50 }; /* by each */

struct mailbox {
    struct weir_notifier *bell;
    _Atomic uint64_t sent;
    _Atomic uint64_t seen; /* what had been sent when the action last looked */
};

/* A round begins when all are at the barrier, and so it ends. */
struct post {
    pthread_barrier_t barrier;
    struct mailbox boxes[BOXES];
};

struct pusher {
    struct post *post;
    uint64_t seed;
};

static enum weir_status look_into(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct mailbox *box = state;

    (void)context;
    (void)out;
    (void)error;
    atomic_store(&box->seen, atomic_load(&box->sent));
    return WEIR_OK;
}

static void *push(void *argument)
{
    struct pusher *self = argument;
    struct weir_random random;

    weir_random_init(&random, self->seed);
    for (int i = 0; i < PUSHES; i++) {
        struct mailbox *box = &self->post->boxes[weir_random_below(&random, BOXES)];

        if (i % PUSHES_PER_ROUND == 0)
            pthread_barrier_wait(&self->post->barrier);
        atomic_fetch_add(&box->sent, 1);
        weir_notifier_notify_one(box->bell);
        if ((i + 1) % PUSHES_PER_ROUND == 0)
            pthread_barrier_wait(&self->post->barrier);
    }
    return NULL;
}

/*
 * After each round every worker has looked, or will look, after the last signal: a lost
 * one would leave a letter unseen until the next round, which does not begin before.
 */
WEIR_TEST(threads, eight_threads_notify_eight_workers_and_no_signal_is_lost)
{
    static struct post post;
    static struct pusher pushers[PUSHERS];
    pthread_t threads[PUSHERS];
    struct pool pool;
    uint64_t sent = 0;
    pool_open(&pool, 4, 0);
    check_int(pthread_barrier_init(&post.barrier, NULL, PUSHERS + 1), 0);
    for (size_t i = 0; i < BOXES; i++) {
        struct mailbox *box = &post.boxes[i];
        struct weir_worker_options options = job("box", look_into, box, &box->bell);
        *box = (struct mailbox){.bell = pool_notifier(&pool)};
        pool_spawn(&pool, &options);
    }
    for (size_t i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.post = &post, .seed = i};
        check_int(pthread_create(&threads[i], NULL, push, &pushers[i]), 0);
    }

    for (int round = 0; round < PUSHES / PUSHES_PER_ROUND; round++) {
        pthread_barrier_wait(&post.barrier);
        pthread_barrier_wait(&post.barrier);
        for (size_t i = 0; i < BOXES; i++)
            WAIT_UNTIL(post.boxes[i].seen == post.boxes[i].sent);
    }

    for (size_t i = 0; i < PUSHERS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < BOXES; i++) {
        sent += post.boxes[i].sent;
        weir_notifier_destroy(post.boxes[i].bell);
    }
    check_int(sent, PUSHERS * PUSHES);
    pthread_barrier_destroy(&post.barrier);
    pool_close(&pool);
}

/* One notifier for all: whoever is woken takes everything that is there. */
struct heap_of_work {
    struct weir_notifier *bell;
    _Atomic uint64_t waiting;
    _Atomic uint64_t done;
};

static enum weir_status take_all(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct heap_of_work *work = state;

    (void)context;
    (void)out;
    (void)error;
    atomic_fetch_add(&work->done, atomic_exchange(&work->waiting, 0));
    return WEIR_OK;
}

static void *pile_up(void *argument)
{
    struct heap_of_work *work = argument;

    for (int i = 0; i < PUSHES; i++) {
        atomic_fetch_add(&work->waiting, 1);
        weir_notifier_notify_one(work->bell);
    }
    return NULL;
}

WEIR_TEST(threads, workers_that_share_a_notifier_leave_no_work_undone)
{
    pthread_t threads[PUSHERS];
    struct heap_of_work work = {0};
    struct weir_worker_options options;
    struct pool pool;
    pool_open(&pool, 4, 0);
    work.bell = pool_notifier(&pool);
    options = job("taker", take_all, &work, &work.bell);
    for (int i = 0; i < 8; i++)
        pool_spawn(&pool, &options);

    for (size_t i = 0; i < PUSHERS; i++)
        check_int(pthread_create(&threads[i], NULL, pile_up, &work), 0);
    for (size_t i = 0; i < PUSHERS; i++)
        pthread_join(threads[i], NULL);

    WAIT_UNTIL(work.done == PUSHERS * PUSHES);
    weir_notifier_destroy(work.bell);
    pool_close(&pool);
}

/* ---- everything at once ------------------------------------------------------------ */

enum { MEDDLERS = 4, MEDDLES = 300, CALLS_MIN = 1000 };

struct riot {
    struct pool pool;
    struct weir_notifier *bell;
    struct weir_gate *gate;
    struct counter counter;
    _Atomic uint32_t meddles;
    _Atomic uint32_t spawned;
    _Atomic uint32_t closed;
    _Atomic uint32_t wrong;
};

struct meddler {
    struct riot *riot;
    uint64_t seed;
};

static enum weir_status work_a_little(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct riot *riot = state;
    uint32_t call = atomic_fetch_add(&riot->counter.calls, 1);

    if (weir_context_alloc(context, 100) == NULL)
        return WEIR_NO_MEMORY;
    switch (call % 6) {
    case 0:
        *out = weir_proceed();
        break;
    case 1:
        *out = weir_sleep_for(MS(1));
        break;
    case 2:
        return weir_error_set(error, WEIR_FAILED, "call %u", call);
    case 3:
        (void)!weir_sleep(context, WEIR_MICROSECONDS(100));
        break;
    case 4:
        weir_notifier_notify_one(riot->bell);
        break;
    default:
        if (call % 4 == 0)
            weir_panic(context, "call %u", call);
        break;
    }
    return WEIR_OK;
}

static void meddle_once(struct riot *riot, struct weir_random *random)
{
    struct weir_worker_info infos[4];
    struct weir_gate_info gate_info;
    struct weir_worker *worker = NULL;
    struct weir_worker_options options = job("rioter", work_a_little, riot, &riot->bell);
    enum weir_status status;

    options.shared = riot->gate;
    options.on_panic =
        weir_random_below(random, 2) == 0 ? WEIR_ON_PANIC_RETRY : WEIR_ON_PANIC_END;
    atomic_fetch_add(&riot->meddles, 1);
    status = weir_ward_spawn(riot->pool.ward, &options, &worker, NULL);
    if (status == WEIR_OK)
        atomic_fetch_add(&riot->spawned, 1);
    else if (status == WEIR_CLOSED)
        atomic_fetch_add(&riot->closed, 1);
    else
        atomic_fetch_add(&riot->wrong, 1);

    weir_notifier_notify_one(riot->bell);
    if (weir_ward_count(riot->pool.ward) > weir_ward_read(riot->pool.ward, infos, 4) &&
        worker == NULL)
        weir_notifier_notify_all(riot->bell);
    weir_gate_read(riot->gate, &gate_info);
    if (gate_info.inside > gate_info.permits)
        atomic_fetch_add(&riot->wrong, 1);
    if (worker != NULL) {
        weir_worker_read(worker, &infos[0]);
        if (weir_random_below(random, 4) > 0)
            weir_worker_cancel(worker);
        weir_worker_read(worker, &infos[0]);
        weir_worker_release(worker);
    }
}

/* Until there was some action, too. The last steps are taken while others are stopping
 * the ward already. */
static void *meddle(void *argument)
{
    struct meddler *self = argument;
    struct weir_random random;
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;

    weir_random_init(&random, self->seed);
    for (int i = 0; i < MEDDLES || (atomic_load(&self->riot->counter.calls) < CALLS_MIN &&
                                    weir_system_now_ns() < limit_ns);
         i++)
        meddle_once(self->riot, &random);
    if (weir_ward_stop(self->riot->pool.ward, WAIT_LIMIT) != 0)
        atomic_fetch_add(&self->riot->wrong, 1);
    return NULL;
}

WEIR_TEST(threads, spawn_cancel_read_and_stop_from_several_threads_at_once)
{
    static struct riot riot;
    struct meddler meddlers[MEDDLERS];
    pthread_t threads[MEDDLERS];
    struct weir_poker *poker;
    memset(&riot, 0, sizeof riot);
    pool_open(&riot.pool, 3, 0);
    riot.bell = pool_notifier(&riot.pool);
    check_status(weir_gate_create(riot.pool.executor, 2, &riot.gate, NULL), WEIR_OK);
    check_status(weir_poker_create(riot.pool.ward, MS(1), &poker, NULL), WEIR_OK);

    for (size_t i = 0; i < MEDDLERS; i++) {
        meddlers[i] = (struct meddler){.riot = &riot, .seed = i};
        check_int(pthread_create(&threads[i], NULL, meddle, &meddlers[i]), 0);
    }
    for (size_t i = 0; i < MEDDLERS; i++)
        pthread_join(threads[i], NULL);

    check_int(riot.wrong, 0);
    check_int(riot.spawned + riot.closed, riot.meddles);
    check_int(riot.pool.ends, riot.spawned);
    check(riot.counter.calls >= CALLS_MIN);
    weir_poker_destroy(poker);
    weir_notifier_destroy(riot.bell);
    weir_gate_destroy(riot.gate);
    pool_close(&riot.pool);
}

/* ---- panics ------------------------------------------------------------------------ */

struct faller {
    uint32_t number;
    _Atomic uint32_t falls;
    uint32_t swept;
    uint32_t wrong;
};

static void sweep_faller(void *argument, bool panicked)
{
    struct faller *self = argument;

    self->swept++;
    if (!panicked)
        self->wrong++;
}

static enum weir_status fall_inside(struct weir_context *context, void *argument,
                                    struct weir_error *error)
{
    (void)error;
    if (weir_defer(context, sweep_faller, argument) != WEIR_OK)
        return WEIR_NO_MEMORY;
    weir_panic(context, "inner %u", ((struct faller *)argument)->number);
}

static enum weir_status fall(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct faller *self = state;
    char want[32];

    (void)out;
    (void)snprintf(want, sizeof want, "panic: inner %u", self->number);
    if (weir_guard(context, fall_inside, self, error) != WEIR_PANICKED ||
        strcmp(error->text, want) != 0)
        self->wrong++;
    if (weir_defer(context, sweep_faller, self) != WEIR_OK)
        self->wrong++;
    self->falls++;
    weir_panic(context, "outer %u", self->number);
}

static void hear_fall(void *state, const char *worker, int64_t elapsed_ns,
                      const char *text, uint32_t failures, int64_t backoff_ns)
{
    struct faller *self = state;
    char want[32];

    (void)worker;
    (void)elapsed_ns;
    (void)backoff_ns;
    (void)snprintf(want, sizeof want, "panic: outer %u", self->number);
    if (strcmp(text, want) != 0 || failures != self->falls)
        self->wrong++;
}

/* Backoff of a microsecond: they fall again and again, four at a time. */
WEIR_TEST(threads, panics_on_several_threads_at_once_do_not_mix)
{
    enum { FALLERS = 8, FALLS = 300 };
    struct faller fallers[FALLERS];
    struct weir_listener listeners[FALLERS];
    struct weir_notifier *bell;
    struct pool pool;
    pool_open(&pool, 4, 0);
    bell = pool_notifier(&pool);
    for (uint32_t i = 0; i < FALLERS; i++) {
        const struct weir_listener *listener = &listeners[i];
        struct weir_worker_options options = job("faller", fall, &fallers[i], &bell);
        fallers[i] = (struct faller){.number = i};
        listeners[i] =
            (struct weir_listener){.state = &fallers[i], .on_error = hear_fall};
        options.listeners = &listener;
        options.listener_count = 1;
        options.on_panic = WEIR_ON_PANIC_RETRY;
        options.on_error = WEIR_ON_ERROR_RETRY;
        options.backoff = (struct weir_backoff){1000, 1000, 1.0, 0.0};
        pool_spawn(&pool, &options);
    }
    WAIT_UNTIL(weir_notifier_waiting(bell) == FALLERS);

    weir_notifier_notify_all(bell);
    for (uint32_t i = 0; i < FALLERS; i++)
        WAIT_UNTIL(fallers[i].falls >= FALLS);
    check_int(weir_ward_stop(pool.ward, WAIT_LIMIT), 0);

    for (uint32_t i = 0; i < FALLERS; i++) {
        check_int(fallers[i].wrong, 0);
        check_int(fallers[i].swept, 2 * fallers[i].falls);
    }
    weir_notifier_destroy(bell);
    pool_close(&pool);
}

/* ---- idling costs nothing ---------------------------------------------------------- */

enum { POOL = 4 };

struct roll {
    struct door door;
    _Atomic uint32_t count;
    long tids[POOL];
};

static enum weir_status sign(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct roll *roll = state;

    (void)context;
    (void)error;
    roll->tids[atomic_fetch_add(&roll->count, 1)] = syscall(SYS_gettid);
    door_pass(&roll->door); /* so that each thread signs once */
    *out = weir_sleep_for(WEIR_HOURS(1));
    return WEIR_OK;
}

/* How often a thread of ours went to sleep by itself so far. */
static long sleeps_of(long tid)
{
    char path[64];
    char line[256];
    long count = -1;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/status", tid);
    file = fopen(path, "r");
    check(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    fclose(file);
    check(count >= 0);
    return count;
}

static void read_sleeps(const struct roll *roll, long *out)
{
    for (size_t i = 0; i < POOL; i++)
        out[i] = sleeps_of(roll->tids[i]);
}

/*
 * Four workers that sleep for an hour and a hundred that idle: for a whole second no
 * thread of the pool wakes up. The second is what is measured, not what makes it right;
 * the first one may still see the threads lie down, so a few are tried.
 */
WEIR_TEST(threads, idle_pool_does_not_wake_up_at_all)
{
    struct timespec second = {.tv_sec = 1};
    long before[POOL];
    long after[POOL];
    bool silent = false;
    struct roll roll = {.count = 0};
    struct counter counter = {0};
    struct weir_notifier *bells[2];
    struct weir_worker_options options;
    struct pool pool;
    pool_open(&pool, POOL, 0);
    door_close(&roll.door);
    for (size_t i = 0; i < 2; i++)
        bells[i] = pool_notifier(&pool);
    options = job("idler", count_call, &counter, &bells[1]);
    for (int i = 0; i < 100; i++)
        pool_spawn(&pool, &options);
    options = job("sleeper", sign, &roll, &bells[0]);
    for (int i = 0; i < POOL; i++)
        pool_spawn(&pool, &options);
    WAIT_UNTIL(weir_notifier_waiting(bells[0]) == POOL);
    weir_notifier_notify_all(bells[0]);
    WAIT_UNTIL(roll.door.arrived == POOL);
    door_open(&roll.door);
    WAIT_UNTIL(weir_notifier_waiting(bells[0]) == POOL);

    for (int i = 0; i < 5 && !silent; i++) {
        read_sleeps(&roll, before);
        (void)nanosleep(&second, NULL);
        read_sleeps(&roll, after);
        silent = memcmp(before, after, sizeof before) == 0;
    }

    check(silent);
    for (size_t i = 0; i < 2; i++)
        weir_notifier_destroy(bells[i]);
    pool_close(&pool);
}
