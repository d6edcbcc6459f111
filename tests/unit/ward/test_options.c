/*
 * Tests of bad input: every option that can be out of range is refused with
 * WEIR_INVALID and a text that names the field, the value and the limit, and nothing
 * was created.
 *
 * Each test begins with options that are good, spoils one field, and looks for the
 * words in the text. That the good ones are accepted is a test of its own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/test.h"
#include "weir/runtime.h"

struct env {
    struct weir_faulty_heap heap;
    struct weir_sim *sim;
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_notifier *bell;
    struct weir_gate *gates[2];
    struct weir_listener listener;
    const struct weir_listener *listeners[WEIR_WORKER_LISTENERS_MAX + 1];
    struct weir_notifier *notifiers[WEIR_WORKER_NOTIFIERS_MAX + 1];
    struct weir_worker_options options; /* good, until a test spoils them */

    /* another executor, whose things are not for this one */
    struct weir_sim *foreign;
    struct weir_notifier *foreign_bell;
    struct weir_gate *foreign_gate;

    int64_t outstanding; /* when everything was set up */
};

static enum weir_status idle(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)out;
    (void)error;
    return WEIR_OK;
}

static void env_open(struct env *self)
{
    struct weir_sim_options sim = {.heap = &self->heap.heap, .seed = 1};

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    check_status(weir_sim_create(&sim, &self->sim, NULL), WEIR_OK);
    self->executor = weir_sim_executor(self->sim);
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "office"},
                                  &self->ward, NULL),
                 WEIR_OK);
    check_status(weir_notifier_create(self->executor, &self->bell), WEIR_OK);
    for (size_t i = 0; i < 2; i++)
        check_status(weir_gate_create(self->executor, 1, &self->gates[i], NULL), WEIR_OK);
    for (size_t i = 0; i <= WEIR_WORKER_LISTENERS_MAX; i++)
        self->listeners[i] = &self->listener;
    for (size_t i = 0; i <= WEIR_WORKER_NOTIFIERS_MAX; i++)
        self->notifiers[i] = self->bell;

    check_status(weir_sim_create(&sim, &self->foreign, NULL), WEIR_OK);
    check_status(
        weir_notifier_create(weir_sim_executor(self->foreign), &self->foreign_bell),
        WEIR_OK);
    check_status(
        weir_gate_create(weir_sim_executor(self->foreign), 1, &self->foreign_gate, NULL),
        WEIR_OK);

    weir_worker_options_init(&self->options);
    self->options.name = "clerk";
    self->options.action = idle;
    self->options.notifiers = self->notifiers;
    self->options.notifier_count = 1;
    self->options.listeners = self->listeners;
    self->options.listener_count = 1;
    self->options.shared = self->gates[0];
    self->options.guaranteed = self->gates[1];
    self->outstanding = self->heap.outstanding;
}

/* Whatever was refused has left no trace: all memory comes back. */
static void env_close(struct env *self)
{
    check_int(weir_ward_stop(self->ward, 0), 0);
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->bell);
    weir_notifier_destroy(self->foreign_bell);
    for (size_t i = 0; i < 2; i++)
        weir_gate_destroy(self->gates[i]);
    weir_gate_destroy(self->foreign_gate);
    weir_sim_destroy(self->sim);
    weir_sim_destroy(self->foreign);
    check_int(self->heap.outstanding, 0);
}

/* A text is one line of printable characters, whatever the input was; the only one beyond
 * ASCII is the micro of the library's own durations. */
static void check_printable(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (strncmp(at, "\302\265", 2) == 0)
            at++;
        else if (*at < ' ' || *at > '~')
            weir_test_fail(__FILE__, __LINE__, "byte 0x%02x in \"%s\"",
                           (unsigned)(unsigned char)*at, text);
    }
}

static void check_contains(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, words[i]) == NULL)
            weir_test_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\"", words[i], text);
    }
    check_printable(text);
}

#define CHECK_CONTAINS(text, ...)                                                        \
    check_contains(text, (const char *const[]){__VA_ARGS__},                             \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The spoilt options are refused with these words, with and without an error to write
 * to. */
static void check_spawn_refused(struct env *self, const char *const *words, size_t count)
{
    struct weir_worker *worker = (struct weir_worker *)(void *)self;
    struct weir_error error;

    check_status(weir_ward_spawn(self->ward, &self->options, &worker, &error),
                 WEIR_INVALID);
    check(worker == NULL);
    check_int(error.status, WEIR_INVALID);
    check_contains(error.text, words, count);
    check_status(weir_ward_spawn(self->ward, &self->options, NULL, NULL), WEIR_INVALID);
    check_int(weir_ward_count(self->ward), 0);
    check_int(self->heap.outstanding, self->outstanding);
}

/* One test: open, spoil, refused with these words, close. */
#define REFUSES(claim, spoil, ...)                                                       \
    WEIR_TEST(options, claim)                                                            \
    {                                                                                    \
        struct env env;                                                                  \
        const char *const words[] = {__VA_ARGS__};                                       \
        env_open(&env);                                                                  \
        struct weir_worker_options *options = &env.options;                              \
        spoil;                                                                           \
        check_spawn_refused(&env, words, sizeof words / sizeof words[0]);                \
        env_close(&env);                                                                 \
    }                                                                                    \
    struct weir_test /* so that the line ends in a semicolon */

static void check_spawn_accepted(struct env *self)
{
    struct weir_error error;
    size_t before = weir_ward_count(self->ward);
    enum weir_status status = weir_ward_spawn(self->ward, &self->options, NULL, &error);

    if (status != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
    check_int(weir_ward_count(self->ward), before + 1);
}

WEIR_TEST(options, that_are_good_are_accepted)
{
    struct env env;
    env_open(&env);

    check_spawn_accepted(&env);

    env_close(&env);
}

/* ---- names ------------------------------------------------------------------------- */

static char long_name[WEIR_WORKER_NAME_SIZE_MAX + 2];

static const char *name_of_size(size_t size)
{
    memset(long_name, 'n', size);
    long_name[size] = '\0';
    return long_name;
}

REFUSES(name_that_is_missing_is_refused, options->name = NULL, "name", "empty",
        "1 to 255");
REFUSES(name_that_is_empty_is_refused, options->name = "", "name", "empty", "1 to 255");
REFUSES(name_of_256_characters_is_refused, options->name = name_of_size(256), "name",
        "nnnn", "at most 255");
REFUSES(name_with_a_space_is_refused, options->name = "two words", "name", "0x20", "at 3",
        "printable ASCII");
REFUSES(name_with_a_newline_is_refused, options->name = "two\nlines", "name", "0x0a",
        "at 3", "printable ASCII");
REFUSES(name_with_an_escape_is_refused, options->name = "\033[1mbold", "name", "0x1b",
        "at 0", "printable ASCII");
REFUSES(name_with_a_delete_is_refused, options->name = "del\177", "name", "0x7f", "at 3",
        "printable ASCII");
REFUSES(name_beyond_ascii_is_refused, options->name = "na\303\257ve", "name", "0xc3",
        "at 2", "printable ASCII");

/* Too long and full of newlines: even then the text is one line. */
WEIR_TEST(options, name_that_is_wrong_in_two_ways_does_not_spoil_the_text)
{
    static const char *const words[] = {"name"};
    struct env env;
    env_open(&env);
    memset(long_name, '\n', 256);
    long_name[256] = '\0';
    env.options.name = long_name;

    check_spawn_refused(&env, words, 1);

    env_close(&env);
}

WEIR_TEST(options, name_of_255_characters_or_of_one_is_accepted)
{
    struct weir_worker_info infos[2];
    struct env env;
    env_open(&env);

    env.options.name = name_of_size(255);
    check_spawn_accepted(&env);
    env.options.name = "~";
    check_spawn_accepted(&env);

    check_int(weir_ward_read(env.ward, infos, 2), 2);
    check_int(strlen(infos[0].name), 255);
    check_str(infos[1].name, "~");
    env_close(&env);
}

/* ---- action and lists -------------------------------------------------------------- */

REFUSES(action_that_is_missing_is_refused, options->action = NULL, "action", "NULL",
        "must be");
REFUSES(notifiers_beyond_64_are_refused, options->notifier_count = 65, "notifier_count",
        "65", "at most 64");
REFUSES(notifiers_without_end_are_refused, options->notifier_count = SIZE_MAX,
        "notifier_count", "18446744073709551615", "at most 64");
REFUSES(notifiers_that_are_missing_are_refused, options->notifiers = NULL, "notifiers",
        "NULL");
REFUSES(notifier_that_is_missing_is_refused,
        (env.notifiers[2] = NULL, options->notifier_count = 3), "notifiers[2]");
REFUSES(notifier_of_another_executor_is_refused,
        (env.notifiers[1] = env.foreign_bell, options->notifier_count = 2),
        "notifiers[1]", "executor");
REFUSES(listeners_beyond_16_are_refused, options->listener_count = 17, "listener_count",
        "17", "at most 16");
REFUSES(listeners_that_are_missing_are_refused, options->listeners = NULL, "listeners",
        "NULL");
REFUSES(listener_that_is_missing_is_refused,
        (env.listeners[15] = NULL, options->listener_count = 16), "listeners[15]",
        "NULL");

WEIR_TEST(options, lists_may_be_full_or_empty)
{
    struct env env;
    env_open(&env);

    env.options.notifier_count = WEIR_WORKER_NOTIFIERS_MAX;
    env.options.listener_count = WEIR_WORKER_LISTENERS_MAX;
    check_spawn_accepted(&env);
    env.options.notifiers = NULL;
    env.options.notifier_count = 0;
    env.options.listeners = NULL;
    env.options.listener_count = 0;
    check_spawn_accepted(&env);

    env_close(&env);
}

/* The same notifier 64 times: one signal is one execution, and its places do not mix. */
WEIR_TEST(options, notifier_that_is_listed_twice_is_heard_once)
{
    struct weir_worker_info info;
    struct env env;
    env_open(&env);
    env.options.notifier_count = WEIR_WORKER_NOTIFIERS_MAX;
    check_spawn_accepted(&env);

    for (int i = 0; i < 3; i++) {
        check(weir_sim_run_until_quiet(env.sim, WEIR_FOREVER));
        weir_notifier_notify_one(env.bell);
    }
    check(weir_sim_run_until_quiet(env.sim, WEIR_FOREVER));

    check_int(weir_ward_read(env.ward, &info, 1), 1);
    check_int(info.executions, 3);
    env_close(&env);
}

/* ---- gates ------------------------------------------------------------------------- */

REFUSES(shared_gate_of_another_executor_is_refused, options->shared = env.foreign_gate,
        "shared", "executor");
REFUSES(guaranteed_gate_of_another_executor_is_refused,
        options->guaranteed = env.foreign_gate, "guaranteed", "executor");
REFUSES(same_gate_twice_is_refused, options->guaranteed = options->shared, "shared",
        "guaranteed", "same");

WEIR_TEST(options, either_gate_may_be_missing)
{
    struct env env;
    env_open(&env);

    env.options.shared = NULL;
    check_spawn_accepted(&env);
    env.options.guaranteed = NULL;
    check_spawn_accepted(&env);
    env.options.shared = env.gates[0];
    check_spawn_accepted(&env);

    env_close(&env);
}

WEIR_TEST(options, gate_with_more_than_a_million_permits_is_refused)
{
    struct weir_gate *gate = NULL;
    struct weir_error error;
    struct env env;
    env_open(&env);

    gate = env.gates[0];
    check_status(weir_gate_create(env.executor, 1000001, &gate, &error), WEIR_INVALID);
    check(gate == NULL);
    CHECK_CONTAINS(error.text, "permits", "1000001", "at most 1000000");
    check_status(weir_gate_create(env.executor, UINT32_MAX, &gate, &error), WEIR_INVALID);
    CHECK_CONTAINS(error.text, "permits", "4294967295", "at most 1000000");
    check_status(weir_gate_create(env.executor, UINT32_MAX, &gate, NULL), WEIR_INVALID);

    check_int(env.heap.outstanding, env.outstanding);
    env_close(&env);
}

WEIR_TEST(options, gate_may_have_no_permits_or_a_million)
{
    struct weir_gate *gates[2];
    struct env env;
    env_open(&env);

    check_status(weir_gate_create(env.executor, 0, &gates[0], NULL), WEIR_OK);
    check_status(weir_gate_create(env.executor, 1000000, &gates[1], NULL), WEIR_OK);

    for (size_t i = 0; i < 2; i++)
        weir_gate_destroy(gates[i]);
    env_close(&env);
}

/* ---- pace and backoff -------------------------------------------------------------- */

REFUSES(pace_below_zero_is_refused, options->pace.min_ns = -1, "pace.min_ns", "-1",
        "from 0");
REFUSES(pace_beyond_a_year_is_refused, options->pace.min_ns = WEIR_DURATION_MAX + 1,
        "pace.min_ns", "31622400000000001 ns", "to 366 d");
REFUSES(active_pace_below_zero_is_refused, options->pace.active_ns = INT64_MIN,
        "pace.active_ns", "-9223372036854775808", "from 0");
REFUSES(active_pace_beyond_a_year_is_refused, options->pace.active_ns = INT64_MAX,
        "pace.active_ns", "to 366 d");
REFUSES(ramp_below_zero_is_refused, options->pace.ramp_ns = -1000, "pace.ramp_ns", "-1",
        "from 0");
REFUSES(ramp_beyond_a_year_is_refused, options->pace.ramp_ns = INT64_MAX, "pace.ramp_ns",
        "to 366 d");
REFUSES(pace_with_a_minimum_above_active_is_refused,
        options->pace.min_ns = options->pace.active_ns + WEIR_MILLISECONDS(1),
        "pace.min_ns", "101 ms", "at most pace.active_ns", "100 ms");

REFUSES(backoff_below_zero_is_refused, options->backoff.initial_ns = -1,
        "backoff.initial_ns", "-1", "from 0");
REFUSES(backoff_beyond_a_year_is_refused, options->backoff.initial_ns = INT64_MAX,
        "backoff.initial_ns", "to 366 d");
REFUSES(maximum_backoff_below_zero_is_refused, options->backoff.max_ns = -1,
        "backoff.max_ns", "-1", "from 0");
REFUSES(maximum_backoff_beyond_a_year_is_refused,
        options->backoff.max_ns = WEIR_HOURS(24 * 367), "backoff.max_ns", "367 d",
        "to 366 d");
REFUSES(backoff_that_begins_above_its_maximum_is_refused,
        options->backoff.initial_ns = WEIR_SECONDS(31), "backoff.initial_ns", "31 s",
        "at most backoff.max_ns", "30 s");
REFUSES(multiplier_below_one_is_refused, options->backoff.multiplier = 0.5,
        "backoff.multiplier", "0.5", "from 1 to 1000");
REFUSES(multiplier_above_a_thousand_is_refused, options->backoff.multiplier = 1000.5,
        "backoff.multiplier", "1000.5", "from 1 to 1000");
REFUSES(multiplier_that_is_no_number_is_refused, options->backoff.multiplier = NAN,
        "backoff.multiplier", "nan", "from 1 to 1000");
REFUSES(multiplier_that_is_infinite_is_refused, options->backoff.multiplier = INFINITY,
        "backoff.multiplier", "inf", "from 1 to 1000");
REFUSES(jitter_below_zero_is_refused, options->backoff.jitter = -0.1, "backoff.jitter",
        "-0.1", "from 0 to 1");
REFUSES(jitter_above_one_is_refused, options->backoff.jitter = 1.001, "backoff.jitter",
        "1.001", "from 0 to 1");
REFUSES(jitter_that_is_no_number_is_refused, options->backoff.jitter = NAN,
        "backoff.jitter", "nan", "from 0 to 1");
REFUSES(no_backoff_with_retry_is_refused, options->backoff.initial_ns = 0,
        "backoff.initial_ns", "0", "at least 1", "retry");

WEIR_TEST(options, pace_and_backoff_are_accepted_up_to_their_limits)
{
    struct env env;
    env_open(&env);

    env.options.pace =
        (struct weir_pace){WEIR_DURATION_MAX, WEIR_DURATION_MAX, WEIR_DURATION_MAX};
    env.options.backoff =
        (struct weir_backoff){WEIR_DURATION_MAX, WEIR_DURATION_MAX, 1000.0, 1.0};
    check_spawn_accepted(&env);
    env.options.pace = weir_pace_none();
    env.options.backoff = (struct weir_backoff){1, 1, 1.0, 0.0};
    check_spawn_accepted(&env);
    env.options.backoff = weir_backoff_none();
    env.options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    check_spawn_accepted(&env);

    env_close(&env);
}

WEIR_TEST(options, backoff_init_refuses_and_leaves_the_backoff_alone)
{
    struct weir_backoff backoff = {1, 2, 3.0, 0.25};
    struct weir_error error;

    check_status(weir_backoff_init(&backoff, WEIR_SECONDS(2), WEIR_SECONDS(1), 2, &error),
                 WEIR_INVALID);
    CHECK_CONTAINS(error.text, "backoff.initial_ns", "2 s", "1 s");
    check_status(weir_backoff_init(&backoff, 1, 2, 0.99, &error), WEIR_INVALID);
    CHECK_CONTAINS(error.text, "backoff.multiplier", "0.99", "from 1 to 1000");
    check_status(weir_backoff_init(&backoff, -5, 2, 1, NULL), WEIR_INVALID);

    check_int(backoff.initial_ns, 1);
    check_int(backoff.max_ns, 2);
    check(backoff.multiplier > 2.9 && backoff.jitter < 0.3);
}

/* ---- choices ----------------------------------------------------------------------- */

REFUSES(on_error_beyond_its_choices_is_refused, options->on_error = (enum weir_on_error)2,
        "on_error", "2", "0 to 1");
REFUSES(on_error_below_its_choices_is_refused,
        options->on_error = (enum weir_on_error)(-1), "on_error", "-1", "0 to 1");
REFUSES(on_panic_beyond_its_choices_is_refused, options->on_panic = (enum weir_on_panic)2,
        "on_panic", "2", "0 to 1");
REFUSES(on_panic_below_its_choices_is_refused,
        options->on_panic = (enum weir_on_panic)(-7), "on_panic", "-7", "0 to 1");
REFUSES(worker_class_beyond_its_choices_is_refused,
        options->worker_class = (enum weir_worker_class)2, "worker_class", "2", "0 to 1");
REFUSES(worker_class_below_its_choices_is_refused,
        options->worker_class = (enum weir_worker_class)(-1), "worker_class", "-1",
        "0 to 1");

/* ---- wards and pokers -------------------------------------------------------------- */

static void check_ward_refused(struct env *env, const char *name, const char *value,
                               const char *limit)
{
    struct weir_ward_options options = {.name = name};
    struct weir_ward *ward = env->ward;
    struct weir_error error;

    check_status(weir_ward_create(env->executor, &options, &ward, &error), WEIR_INVALID);
    check(ward == NULL);
    CHECK_CONTAINS(error.text, "ward", "name", value, limit);
    check_status(weir_ward_create(env->executor, &options, &ward, NULL), WEIR_INVALID);
    check_int(env->heap.outstanding, env->outstanding);
}

WEIR_TEST(options, ward_with_a_bad_name_is_refused)
{
    struct env env;
    env_open(&env);

    check_ward_refused(&env, NULL, "empty", "1 to 255");
    check_ward_refused(&env, "", "empty", "1 to 255");
    check_ward_refused(&env, name_of_size(256), "nnn", "at most 255");
    check_ward_refused(&env, "a b", "0x20", "printable ASCII");
    check_ward_refused(&env, "a\tb", "0x09", "printable ASCII");
    check_ward_refused(&env, "\200", "0x80", "printable ASCII");

    env_close(&env);
}

static void check_poker_refused(struct env *env, int64_t interval_ns, const char *value)
{
    struct weir_poker *poker = (struct weir_poker *)(void *)env;
    struct weir_error error;

    check_status(weir_poker_create(env->ward, interval_ns, &poker, &error), WEIR_INVALID);
    check(poker == NULL);
    CHECK_CONTAINS(error.text, "interval_ns", value, "must be");
    check_status(weir_poker_create(env->ward, interval_ns, &poker, NULL), WEIR_INVALID);
    check_int(env->heap.outstanding, env->outstanding);
}

WEIR_TEST(options, poker_with_a_bad_interval_is_refused)
{
    struct env env;
    env_open(&env);

    check_poker_refused(&env, 0, "0");
    check_poker_refused(&env, 999, "999");
    check_poker_refused(&env, -1, "-1");
    check_poker_refused(&env, INT64_MIN, "-9223372036854775808");
    check_poker_refused(&env, WEIR_DURATION_MAX + 1, "31622400000000001");

    check(weir_sim_run_until_quiet(env.sim, WEIR_FOREVER)); /* no timer was armed */
    env_close(&env);
}

WEIR_TEST(options, poker_is_accepted_up_to_its_limits)
{
    struct weir_poker *pokers[2];
    struct env env;
    env_open(&env);

    check_status(weir_poker_create(env.ward, WEIR_MICROSECONDS(1), &pokers[0], NULL),
                 WEIR_OK);
    check_status(weir_poker_create(env.ward, WEIR_DURATION_MAX, &pokers[1], NULL),
                 WEIR_OK);

    for (size_t i = 0; i < 2; i++)
        weir_poker_destroy(pokers[i]);
    env_close(&env);
}

/* ---- executors --------------------------------------------------------------------- */

static void check_executor_refused(const struct weir_executor_options *options,
                                   const char *field, const char *value,
                                   const char *limit)
{
    struct weir_executor *executor = (struct weir_executor *)(void *)&options;
    struct weir_error error;

    check_status(weir_executor_create(options, &executor, &error), WEIR_INVALID);
    check(executor == NULL);
    CHECK_CONTAINS(error.text, field, value, limit);
    check_status(weir_executor_create(options, &executor, NULL), WEIR_INVALID);
}

WEIR_TEST(options, executor_with_a_bad_number_of_threads_is_refused)
{
    struct weir_executor_options options;
    struct weir_faulty_heap heap;
    weir_faulty_heap_init(&heap);
    weir_executor_options_init(&options);
    options.heap = &heap.heap;

    options.threads = 0;
    check_executor_refused(&options, "threads", "0", "1 to 1024");
    options.threads = 1025;
    check_executor_refused(&options, "threads", "1025", "1 to 1024");
    options.threads = UINT32_MAX;
    check_executor_refused(&options, "threads", "4294967295", "1 to 1024");
    options.threads = 1;
    options.reserve_threads = 1025;
    check_executor_refused(&options, "reserve_threads", "1025", "at most 1024");
    options.reserve_threads = UINT32_MAX;
    check_executor_refused(&options, "reserve_threads", "4294967295", "at most 1024");

    check_int(heap.allocations, 0);
}

WEIR_TEST(options, executor_may_have_one_thread)
{
    struct weir_executor_options options;
    struct weir_executor *executor;
    struct weir_faulty_heap heap;
    weir_faulty_heap_init(&heap);
    weir_executor_options_init(&options);
    options.heap = &heap.heap;
    options.threads = 1;

    check_status(weir_executor_create(&options, &executor, NULL), WEIR_OK);
    weir_executor_destroy(executor);

    check_int(heap.outstanding, 0);
}

/* ---- what an action answers -------------------------------------------------------- */

struct answer {
    enum weir_status status;
    int kind;
    uint32_t errors;
    char text[WEIR_ERROR_TEXT_SIZE];
};

static enum weir_status answer(struct weir_context *context, void *state,
                               struct weir_directive *out, struct weir_error *error)
{
    struct answer *self = state;

    (void)context;
    (void)error;
    out->kind = (enum weir_directive_kind)self->kind;
    return self->status;
}

static void hear_error(void *state, const char *worker, int64_t elapsed_ns,
                       const char *text, uint32_t failures, int64_t backoff_ns)
{
    struct answer *self = state;

    (void)worker;
    (void)elapsed_ns;
    (void)failures;
    (void)backoff_ns;
    self->errors++;
    (void)snprintf(self->text, sizeof self->text, "%s", text);
}

/* The worker takes it for an error, lives on, and does not hang the shutdown. */
static void check_answer_refused(struct answer *self, const char *value,
                                 const char *limit)
{
    struct weir_worker_info info;
    struct env env;
    env_open(&env);
    env.listener = (struct weir_listener){.state = self, .on_error = hear_error};
    env.options.action = answer;
    env.options.state = self;
    env.options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    check_spawn_accepted(&env);

    weir_notifier_notify_one(env.bell);
    check(weir_sim_run_until_quiet(env.sim, WEIR_FOREVER));

    check_int(self->errors, 1);
    CHECK_CONTAINS(self->text, value, limit);
    check_int(weir_ward_read(env.ward, &info, 1), 1);
    check_int(info.state, WEIR_WORKER_IDLING);
    check_int(info.failures, 1);
    env_close(&env);
}

WEIR_TEST(options, directive_that_is_none_counts_as_an_error)
{
    struct answer beyond = {.status = WEIR_OK, .kind = 3};
    struct answer below = {.status = WEIR_OK, .kind = -1};

    check_answer_refused(&beyond, "directive.kind is 3", "0 to 2");
    check_answer_refused(&below, "directive.kind is -1", "0 to 2");
}

WEIR_TEST(options, status_that_is_none_counts_as_an_error)
{
    struct answer strange = {.status = (enum weir_status)1000, .kind = WEIR_IDLE};

    check_answer_refused(&strange, "unknown status", "");
}

/* ---- after the end ----------------------------------------------------------------- */

/* Bad options are bad whether or not the ward takes anybody; good ones are just too
 * late. */
WEIR_TEST(options, ward_that_was_stopped_takes_nothing)
{
    struct weir_worker *worker;
    struct weir_poker *poker;
    struct weir_error error;
    struct env env;
    env_open(&env);
    weir_ward_cancel(env.ward);

    check_status(weir_ward_spawn(env.ward, &env.options, &worker, &error), WEIR_CLOSED);
    check(worker == NULL);
    CHECK_CONTAINS(error.text, "clerk", "office", "stopped");
    check_status(weir_ward_spawn(env.ward, &env.options, NULL, NULL), WEIR_CLOSED);
    check_status(weir_poker_create(env.ward, WEIR_SECONDS(1), &poker, &error),
                 WEIR_CLOSED);
    check(poker == NULL);
    check_printable(error.text);
    check_status(weir_poker_create(env.ward, WEIR_SECONDS(1), &poker, NULL), WEIR_CLOSED);

    check_int(weir_ward_count(env.ward), 0);
    check_int(env.heap.outstanding, env.outstanding);
    env_close(&env);
}
