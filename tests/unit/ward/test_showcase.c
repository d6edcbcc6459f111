/*
 * test_showcase.c - the eight showcase scenarios, in virtual time and again on threads.
 *
 * On threads an hour is 20 ms and everything else is scaled alike; there only counts and
 * lower bounds are claimed, since a busy machine may be late but never early.
 */
#include "kit/sim/script.h"
#include "kit/test.h"

static int64_t hour(const struct script *script)
{
    return script->kind == IN_SIMULATION ? WEIR_HOURS(1) : MS(20);
}

static int64_t second(const struct script *script)
{
    return script->kind == IN_SIMULATION ? WEIR_SECONDS(1) : MS(2);
}

/* poker 4 h; work 2 h -> idle, 5 h -> proceed, 1 h -> idle; default pacing. */
static void long_interval_worker(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t h = hour(&script);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 2 * h),
                               ACT(ACT_PROCEED, .work_ns = 5 * h),
                               ACT(ACT_IDLE, .work_ns = h), ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *poker = script_poker(&script, 4 * h);
    struct weir_worker_options options = script_options(&actor);
    struct weir_worker_options defaults;
    weir_worker_options_init(&defaults);
    options.pace = defaults.pace;
    options.notifiers = &poker;
    options.notifier_count = 1;
    script_spawn(&script, &options);

    /* On threads the default pace of 100 ms is long against an hour. */
    script_play(&script,
                CUES({16 * h + (kind == ON_THREADS ? MS(300) : 0), cue_cancel, &script}));

    check(actor.calls >= 3);
    check(actor.begun_ns[2] - actor.begun_ns[1] >= 5 * h + options.pace.active_ns);
    if (kind == IN_SIMULATION) {
        check_int(actor.begun_ns[2] - actor.begun_ns[1], 5 * h + options.pace.active_ns);
        check(script.ended_ns < 17 * h);
    }
    script_close(&script);
}

WEIR_TEST(showcase, long_interval_worker_reschedules_when_work_exceeds_its_window)
{
    long_interval_worker(IN_SIMULATION);
}

WEIR_TEST(showcase, long_interval_worker_reschedules_on_threads_too)
{
    long_interval_worker(ON_THREADS);
}

/* poker 5 h and an event notifier; events at 1 h and 2 h. */
static void event_driven_worker(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t h = hour(&script);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *notifiers[] = {script_poker(&script, 5 * h),
                                         script_bell(&script)};
    script_add_worker(&script, &actor, notifiers, 2);

    script_play(&script,
                CUES({h, cue_notify, notifiers[1]}, {2 * h, cue_notify, notifiers[1]},
                     {4 * h, cue_cancel, &script}));

    if (kind == IN_SIMULATION) {
        check_int(actor.calls, 3);
        check(script.ended_ns < 5 * h);
    }
    check(actor.calls >= 2);
    script_close(&script);
}

WEIR_TEST(showcase, event_driven_worker_ignores_long_poker)
{
    event_driven_worker(IN_SIMULATION);
}

WEIR_TEST(showcase, event_driven_worker_runs_on_threads_too)
{
    event_driven_worker(ON_THREADS);
}

/* When each execution began, told by the worker: the action itself may see it later. */
struct diary {
    struct weir_executor *executor;
    int64_t begun_ns[16];
    size_t count;
};

static void note_start(void *state, const char *worker)
{
    struct diary *diary = state;

    (void)worker;
    if (diary->count < 16)
        diary->begun_ns[diary->count++] = weir_executor_now(diary->executor);
}

/* Err x3, proceed, Err, sleep 1 h; backoff 1 s doubling; notifies at 5, 10, 15, 20 s. */
static void transient_errors(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t s = second(&script);
    struct actor actor = {
        ACTS(ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_ERROR, .work_ns = 0),
             ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_PROCEED, .work_ns = 0),
             ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_SLEEP, .sleep_ns = 3600 * s))};
    struct weir_notifier *bell = script_bell(&script);
    struct diary diary = {.executor = script.executor};
    struct weir_listener listener = {.state = &diary, .on_execute_start = note_start};
    const struct weir_listener *listeners[] = {&listener};
    struct weir_worker_options options = script_options(&actor);
    options.listeners = listeners;
    options.listener_count = 1;
    options.backoff = (struct weir_backoff){s, 3600 * s, 2.0, 0.0};
    options.notifiers = &bell;
    options.notifier_count = 1;
    script_spawn(&script, &options);

    script_play(&script,
                CUES({5 * s, cue_notify, bell}, {10 * s, cue_notify, bell},
                     {15 * s, cue_notify, bell}, {20 * s, cue_notify, bell},
                     {3600 * s / (kind == ON_THREADS ? 20 : 1), cue_cancel, &script}));

    if (kind == IN_SIMULATION)
        check_int(actor.calls, 6);
    check(actor.calls >= 2);
    for (uint32_t i = 1; i < actor.calls && i < 4; i++) /* 1, 2, 4 seconds at least */
        check(diary.begun_ns[i] - diary.begun_ns[i - 1] >= s << (i - 1));
    if (actor.calls == 6) {
        check(diary.begun_ns[5] - diary.begun_ns[4] >= s); /* restarts at one second */
        check(diary.begun_ns[5] - diary.begun_ns[0] >= 8 * s);
    }
    script_close(&script);
}

WEIR_TEST(showcase, transient_errors_back_off_then_recover)
{
    transient_errors(IN_SIMULATION);
}

WEIR_TEST(showcase, transient_errors_back_off_on_threads_too)
{
    transient_errors(ON_THREADS);
}

/* Three notifiers: a permit on A, then B at 1 h, C at 2 h, A at 3 h. */
static void several_notifiers(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t h = hour(&script);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *abc[] = {script_bell(&script), script_notifier(&script),
                                   script_notifier(&script)};
    script_add_worker(&script, &actor, abc, 3);

    script_play(&script, CUES({h, cue_notify, abc[1]}, {2 * h, cue_notify, abc[2]},
                              {3 * h, cue_notify, abc[0]}, {6 * h, cue_cancel, &script}));

    if (kind == IN_SIMULATION)
        check_int(actor.calls, 4);
    check_in_range(actor.calls, 2,
                   4); /* on a busy machine two signals may meet one wait */
    script_close(&script);
}

WEIR_TEST(showcase, any_of_several_notifiers_wakes)
{
    several_notifiers(IN_SIMULATION);
}

WEIR_TEST(showcase, any_of_several_notifiers_wakes_on_threads_too)
{
    several_notifiers(ON_THREADS);
}

/* Four workers, one notifier, a gate of two, work 30 s, eight signals 5 s apart. */
static void shared_gate(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t s = second(&script);
    struct peers peers = {0, 0};
    struct actor actors[4];
    struct weir_notifier *bell = script_notifier(&script);
    struct weir_gate *gate = script_gate(&script, 2);
    const struct act work[] = {ACT(ACT_IDLE, .work_ns = 30 * s)};
    uint32_t calls = 0;
    for (size_t i = 0; i < 4; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1, .peers = &peers};
        struct weir_worker_options options = script_options(&actors[i]);
        options.shared = gate;
        options.notifiers = &bell;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }

    script_play(&script, CUES({5 * s, cue_notify, bell}, {10 * s, cue_notify, bell},
                              {15 * s, cue_notify, bell}, {20 * s, cue_notify, bell},
                              {25 * s, cue_notify, bell}, {30 * s, cue_notify, bell},
                              {35 * s, cue_notify, bell}, {40 * s, cue_notify, bell},
                              {300 * s, cue_cancel, &script}));

    for (size_t i = 0; i < 4; i++)
        calls += actors[i].calls;
    check(calls >= (kind == IN_SIMULATION ? 4 : 2));
    check_in_range(peers.most, 1, 2);
    script_close(&script);
}

WEIR_TEST(showcase, parallel_workers_share_gate_and_notifier)
{
    shared_gate(IN_SIMULATION);
}

WEIR_TEST(showcase, parallel_workers_share_gate_and_notifier_on_threads_too)
{
    shared_gate(ON_THREADS);
}

/* poker 10 min, the action answers sleep 1 h. */
static void self_scheduling(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t h = hour(&script);
    struct actor actor = {ACTS(ACT(ACT_SLEEP, .sleep_ns = h))};
    struct weir_notifier *poker = script_poker(&script, h / 6);
    script_add_worker(&script, &actor, &poker, 1);

    script_play(&script, CUES({4 * h, cue_cancel, &script}));

    check(actor.calls >= (kind == IN_SIMULATION ? 3 : 1));
    script_close(&script);
}

WEIR_TEST(showcase, vacuum_style_worker_schedules_itself)
{
    self_scheduling(IN_SIMULATION);
}

WEIR_TEST(showcase, vacuum_style_worker_schedules_itself_on_threads_too)
{
    self_scheduling(ON_THREADS);
}

/* Panics on its first call, then idles; a poker every second. */
static void panicking_worker(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t s = second(&script);
    struct actor actor = {
        ACTS(ACT(ACT_PANIC, .work_ns = 0), ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *poker = script_poker(&script, s);
    struct weir_worker_options options = script_options(&actor);
    options.on_panic = WEIR_ON_PANIC_RETRY;
    options.notifiers = &poker;
    options.notifier_count = 1;
    script_spawn(&script, &options);

    script_play(&script,
                CUES({(kind == ON_THREADS ? 100 : 10) * s, cue_cancel, &script}));

    check(actor.calls > 1);
    script_close(&script);
}

WEIR_TEST(showcase, panicking_worker_recovers)
{
    panicking_worker(IN_SIMULATION);
}

WEIR_TEST(showcase, panicking_worker_recovers_on_threads_too)
{
    panicking_worker(ON_THREADS);
}

static void panicking_sibling(enum script_kind kind)
{
    struct script script;
    script_open(&script, kind);
    int64_t s = second(&script);
    struct actor bad = {ACTS(ACT(ACT_PANIC, .work_ns = 0), ACT(ACT_IDLE, .work_ns = 0)),
                        .name = "bad"};
    struct actor good = {ACTS(ACT(ACT_IDLE, .work_ns = 0)), .name = "good"};
    struct weir_notifier *pokers[] = {script_poker(&script, s), script_poker(&script, s)};
    struct weir_worker_options options = script_options(&bad);
    options.on_panic = WEIR_ON_PANIC_RETRY;
    options.notifiers = &pokers[0];
    options.notifier_count = 1;
    script_spawn(&script, &options);
    script_add_worker(&script, &good, &pokers[1], 1);

    script_play(&script,
                CUES({(kind == ON_THREADS ? 100 : 10) * s, cue_cancel, &script}));

    check(bad.calls > 1);
    check(good.calls >= 1);
    script_close(&script);
}

WEIR_TEST(showcase, panicking_worker_does_not_kill_siblings)
{
    panicking_sibling(IN_SIMULATION);
}

WEIR_TEST(showcase, panicking_worker_does_not_kill_siblings_on_threads_too)
{
    panicking_sibling(ON_THREADS);
}
