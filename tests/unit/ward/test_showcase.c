/*
 * test_showcase.c - the eight showcase scenarios, in virtual time and again on threads.
 *
 * On threads an hour is 20 ms and everything else is scaled alike; there only counts and
 * lower bounds are claimed, since a busy machine may be late but never early.
 */
#include "lib/stage.h"
#include "lib/test.h"

static int64_t hour(const struct stage *stage)
{
    return stage->kind == IN_SIMULATION ? WEIR_HOURS(1) : MS(20);
}

static int64_t second(const struct stage *stage)
{
    return stage->kind == IN_SIMULATION ? WEIR_SECONDS(1) : MS(2);
}

/* poker 4 h; work 2 h -> idle, 5 h -> proceed, 1 h -> idle; default pacing. */
static void long_interval_worker(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t h = hour(&stage);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 2 * h),
                               ACT(ACT_PROCEED, .work_ns = 5 * h),
                               ACT(ACT_IDLE, .work_ns = h), ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *poker = stage_poker(&stage, 4 * h);
    struct weir_worker_options options = stage_options(&actor);
    struct weir_worker_options defaults;
    weir_worker_options_init(&defaults);
    options.pace = defaults.pace;
    options.notifiers = &poker;
    options.notifier_count = 1;
    stage_spawn(&stage, &options);

    /* On threads the default pace of 100 ms is long against an hour. */
    stage_play(&stage,
               CUES({16 * h + (kind == ON_THREADS ? MS(300) : 0), cue_cancel, &stage}));

    check(actor.calls >= 3);
    check(actor.begun_ns[2] - actor.begun_ns[1] >= 5 * h + options.pace.active_ns);
    if (kind == IN_SIMULATION) {
        check_int(actor.begun_ns[2] - actor.begun_ns[1], 5 * h + options.pace.active_ns);
        check(stage.ended_ns < 17 * h);
    }
    stage_close(&stage);
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
static void event_driven_worker(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t h = hour(&stage);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *notifiers[] = {stage_poker(&stage, 5 * h), stage_bell(&stage)};
    stage_cast(&stage, &actor, notifiers, 2);

    stage_play(&stage,
               CUES({h, cue_notify, notifiers[1]}, {2 * h, cue_notify, notifiers[1]},
                    {4 * h, cue_cancel, &stage}));

    if (kind == IN_SIMULATION) {
        check_int(actor.calls, 3);
        check(stage.ended_ns < 5 * h);
    }
    check(actor.calls >= 2);
    stage_close(&stage);
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
static void transient_errors(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t s = second(&stage);
    struct actor actor = {
        ACTS(ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_ERROR, .work_ns = 0),
             ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_PROCEED, .work_ns = 0),
             ACT(ACT_ERROR, .work_ns = 0), ACT(ACT_SLEEP, .sleep_ns = 3600 * s))};
    struct weir_notifier *bell = stage_bell(&stage);
    struct diary diary = {.executor = stage.executor};
    struct weir_listener listener = {.state = &diary, .on_execute_start = note_start};
    const struct weir_listener *listeners[] = {&listener};
    struct weir_worker_options options = stage_options(&actor);
    options.listeners = listeners;
    options.listener_count = 1;
    options.backoff = (struct weir_backoff){s, 3600 * s, 2.0, 0.0};
    options.notifiers = &bell;
    options.notifier_count = 1;
    stage_spawn(&stage, &options);

    stage_play(&stage,
               CUES({5 * s, cue_notify, bell}, {10 * s, cue_notify, bell},
                    {15 * s, cue_notify, bell}, {20 * s, cue_notify, bell},
                    {3600 * s / (kind == ON_THREADS ? 20 : 1), cue_cancel, &stage}));

    if (kind == IN_SIMULATION)
        check_int(actor.calls, 6);
    check(actor.calls >= 2);
    for (uint32_t i = 1; i < actor.calls && i < 4; i++) /* 1, 2, 4 seconds at least */
        check(diary.begun_ns[i] - diary.begun_ns[i - 1] >= s << (i - 1));
    if (actor.calls == 6) {
        check(diary.begun_ns[5] - diary.begun_ns[4] >= s); /* restarts at one second */
        check(diary.begun_ns[5] - diary.begun_ns[0] >= 8 * s);
    }
    stage_close(&stage);
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
static void several_notifiers(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t h = hour(&stage);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *abc[] = {stage_bell(&stage), stage_notifier(&stage),
                                   stage_notifier(&stage)};
    stage_cast(&stage, &actor, abc, 3);

    stage_play(&stage, CUES({h, cue_notify, abc[1]}, {2 * h, cue_notify, abc[2]},
                            {3 * h, cue_notify, abc[0]}, {6 * h, cue_cancel, &stage}));

    if (kind == IN_SIMULATION)
        check_int(actor.calls, 4);
    check_in_range(actor.calls, 2,
                   4); /* on a busy machine two signals may meet one wait */
    stage_close(&stage);
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
static void shared_gate(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t s = second(&stage);
    struct crowd crowd = {0, 0};
    struct actor actors[4];
    struct weir_notifier *bell = stage_notifier(&stage);
    struct weir_gate *gate = stage_gate(&stage, 2);
    const struct act work[] = {ACT(ACT_IDLE, .work_ns = 30 * s)};
    uint32_t calls = 0;
    for (size_t i = 0; i < 4; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1, .crowd = &crowd};
        struct weir_worker_options options = stage_options(&actors[i]);
        options.shared = gate;
        options.notifiers = &bell;
        options.notifier_count = 1;
        stage_spawn(&stage, &options);
    }

    stage_play(&stage, CUES({5 * s, cue_notify, bell}, {10 * s, cue_notify, bell},
                            {15 * s, cue_notify, bell}, {20 * s, cue_notify, bell},
                            {25 * s, cue_notify, bell}, {30 * s, cue_notify, bell},
                            {35 * s, cue_notify, bell}, {40 * s, cue_notify, bell},
                            {300 * s, cue_cancel, &stage}));

    for (size_t i = 0; i < 4; i++)
        calls += actors[i].calls;
    check(calls >= (kind == IN_SIMULATION ? 4 : 2));
    check_in_range(crowd.most, 1, 2);
    stage_close(&stage);
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
static void self_scheduling(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t h = hour(&stage);
    struct actor actor = {ACTS(ACT(ACT_SLEEP, .sleep_ns = h))};
    struct weir_notifier *poker = stage_poker(&stage, h / 6);
    stage_cast(&stage, &actor, &poker, 1);

    stage_play(&stage, CUES({4 * h, cue_cancel, &stage}));

    check(actor.calls >= (kind == IN_SIMULATION ? 3 : 1));
    stage_close(&stage);
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
static void panicking_worker(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t s = second(&stage);
    struct actor actor = {
        ACTS(ACT(ACT_PANIC, .work_ns = 0), ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *poker = stage_poker(&stage, s);
    struct weir_worker_options options = stage_options(&actor);
    options.on_panic = WEIR_ON_PANIC_RETRY;
    options.notifiers = &poker;
    options.notifier_count = 1;
    stage_spawn(&stage, &options);

    stage_play(&stage, CUES({(kind == ON_THREADS ? 100 : 10) * s, cue_cancel, &stage}));

    check(actor.calls > 1);
    stage_close(&stage);
}

WEIR_TEST(showcase, panicking_worker_recovers)
{
    panicking_worker(IN_SIMULATION);
}

WEIR_TEST(showcase, panicking_worker_recovers_on_threads_too)
{
    panicking_worker(ON_THREADS);
}

static void panicking_sibling(enum stage_kind kind)
{
    struct stage stage;
    stage_open(&stage, kind);
    int64_t s = second(&stage);
    struct actor bad = {ACTS(ACT(ACT_PANIC, .work_ns = 0), ACT(ACT_IDLE, .work_ns = 0)),
                        .name = "bad"};
    struct actor good = {ACTS(ACT(ACT_IDLE, .work_ns = 0)), .name = "good"};
    struct weir_notifier *pokers[] = {stage_poker(&stage, s), stage_poker(&stage, s)};
    struct weir_worker_options options = stage_options(&bad);
    options.on_panic = WEIR_ON_PANIC_RETRY;
    options.notifiers = &pokers[0];
    options.notifier_count = 1;
    stage_spawn(&stage, &options);
    stage_cast(&stage, &good, &pokers[1], 1);

    stage_play(&stage, CUES({(kind == ON_THREADS ? 100 : 10) * s, cue_cancel, &stage}));

    check(bad.calls > 1);
    check(good.calls >= 1);
    stage_close(&stage);
}

WEIR_TEST(showcase, panicking_worker_does_not_kill_siblings)
{
    panicking_sibling(IN_SIMULATION);
}

WEIR_TEST(showcase, panicking_worker_does_not_kill_siblings_on_threads_too)
{
    panicking_sibling(ON_THREADS);
}
