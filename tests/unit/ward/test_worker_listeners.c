/*
 * test_worker_listeners.c - what a worker tells its listeners, in which order and with
 * which values; the listener rows of the "Worker loop" table are at the top.
 */
#include <sched.h>
#include <string.h>

#include "unit/ward/event_recorder.h"
#include "unit/ward/worker_fixture.h"

/* A scene with one listener that writes everything down. */
struct told {
    struct worker_fixture worker_fixture;
    struct page page;
    struct event_recorder event_recorder;
    const struct weir_listener *listeners[1];
};

static void told_open(struct told *self, struct actor *actor)
{
    memset(self, 0, sizeof *self);
    worker_fixture_open(&self->worker_fixture, IN_SIMULATION, actor);
    self->listeners[0] = event_recorder_open(&self->event_recorder, "", &self->page);
    self->worker_fixture.options.listeners = self->listeners;
    self->worker_fixture.options.listener_count = 1;
}

static void told_play_until(struct told *self, int64_t end_ns)
{
    worker_fixture_play(&self->worker_fixture,
                        CUES(CANCEL_AT(self->worker_fixture, end_ns)));
}

/* ---- the rows of the table --------------------------------------------------------- */

WEIR_TEST(listener, hears_start_first_and_stop_last)
{
    struct actor actor = {ACTS(IDLE)};
    struct told told;
    told_open(&told, &actor);
    worker_fixture_spawn(&told.worker_fixture);
    weir_ward_cancel(told.worker_fixture.script.ward);

    told_play_until(&told, MS(10));

    check_str(told.page.text, "start\n"
                              "stop\n");
    check_int(actor.calls, 0);
    worker_fixture_close(&told.worker_fixture);
}

WEIR_TEST(listener, hears_of_a_success)
{
    struct actor actor = {ACTS(WORK(MS(30)))};
    struct told told;
    told_open(&told, &actor);

    told_play_until(&told, MS(50));

    check(strstr(told.page.text, "execute\ncomplete in 30: idle\n") != NULL);
    worker_fixture_close(&told.worker_fixture);
}

WEIR_TEST(listener, hears_of_an_error)
{
    struct actor actor = {ACTS(ACT(ACT_ERROR, .work_ns = MS(30)))};
    struct told told;
    told_open(&told, &actor);

    told_play_until(&told, MS(50));

    check(strstr(told.page.text,
                 "execute\n"
                 "error 1 in 30, back off 0: call 0 was told to fail\n") != NULL);
    worker_fixture_close(&told.worker_fixture);
}

WEIR_TEST(listener, is_told_in_the_order_of_the_list)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    struct page page = {.size = 0};
    struct event_recorder a;
    struct event_recorder b;
    const struct weir_listener *both[] = {event_recorder_open(&a, "A", &page),
                                          event_recorder_open(&b, "B", &page)};
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.listeners = both;
    worker_fixture.options.listener_count = 2;
    worker_fixture_spawn(&worker_fixture);
    weir_ward_cancel(worker_fixture.script.ward);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_str(page.text, "A start\n"
                         "B start\n"
                         "A stop\n"
                         "B stop\n");
    worker_fixture_close(&worker_fixture);
}

/* ---- every event ------------------------------------------------------------------- */

/* Both hear of one event before either hears of the next, whatever the event is. */
WEIR_TEST(listener, hears_each_event_right_after_the_one_before_it_in_the_list)
{
    struct actor actor = {ACTS(PROCEED, SLEEP(MS(10)), ERROR, IDLE)};
    struct worker_fixture worker_fixture;
    struct page page = {.size = 0};
    struct event_recorder a;
    struct event_recorder b;
    const struct weir_listener *both[] = {event_recorder_open(&a, "A", &page),
                                          event_recorder_open(&b, "B", &page)};
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.listeners = both;
    worker_fixture.options.listener_count = 2;

    worker_fixture_play(&worker_fixture, CUES({MS(20), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(30))));

    char *line = strtok(page.text, "\n");
    size_t pairs = 0;
    while (line != NULL) {
        char *next = strtok(NULL, "\n");

        check(line[0] == 'A' && next != NULL && next[0] == 'B');
        check_str(next + 1, line + 1);
        line = strtok(NULL, "\n");
        pairs++;
    }
    check_int(pairs, 14); /* start, idle, 4 x (execute, result), sleep, 2 x idle, stop */
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(listener, hears_every_event_of_a_life_in_order)
{
    struct actor actor = {ACTS(PROCEED, SLEEP(MS(10)), ERROR, IDLE)};
    struct told told;
    told_open(&told, &actor);
    told.worker_fixture.options.backoff = (struct weir_backoff){MS(5), MS(5), 1.0, 0.0};

    worker_fixture_play(&told.worker_fixture,
                        CUES({MS(20), cue_notify, told.worker_fixture.bell},
                             CANCEL_AT(told.worker_fixture, MS(30))));

    check_str(told.page.text, "start\n"
                              "idle\n"
                              "execute\n"
                              "complete in 0: proceed\n"
                              "execute\n"
                              "complete in 0: sleep\n"
                              "sleep 10\n"
                              "execute\n"
                              "error 1 in 0, back off 5: call 2 was told to fail\n"
                              "idle\n"
                              "execute\n"
                              "complete in 0: idle\n"
                              "idle\n"
                              "stop\n");
    worker_fixture_close(&told.worker_fixture);
}

/* It does not idle: it will run again by itself. */
WEIR_TEST(listener, hears_of_no_idle_before_a_retry)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct told told;
    told_open(&told, &actor);
    told.worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    told.worker_fixture.options.backoff = (struct weir_backoff){MS(5), MS(5), 1.0, 0.0};

    told_play_until(&told, MS(30));

    check_str(told.page.text, "start\n"
                              "idle\n"
                              "execute\n"
                              "error 1 in 0, back off 5: call 0 was told to fail\n"
                              "execute\n"
                              "complete in 0: sleep\n"
                              "sleep 3600000\n"
                              "stop\n");
    worker_fixture_close(&told.worker_fixture);
}

/* An execution that was cancelled on its way is told to its end, and no wait follows. */
WEIR_TEST(listener, hears_of_no_wait_after_a_cancel)
{
    struct actor actor = {ACTS(WORK(MS(20)))};
    struct told told;
    told_open(&told, &actor);

    told_play_until(&told, MS(10));

    check_str(told.page.text, "start\n"
                              "idle\n"
                              "execute\n"
                              "complete in 20: idle\n"
                              "stop\n");
    worker_fixture_close(&told.worker_fixture);
}

/* The values are those of the error: failures in a row, the time it took, the backoff. */
WEIR_TEST(listener, hears_elapsed_time_failures_and_backoff_of_each_error)
{
    struct actor actor = {ACTS(ACT(ACT_ERROR, .work_ns = MS(7)),
                               ACT(ACT_ERROR, .work_ns = MS(30)),
                               ACT(ACT_ERROR, .work_ns = 0), PROCEED,
                               ACT(ACT_ERROR, .work_ns = MS(1)), SLEEP(LONG))};
    struct told told;
    told_open(&told, &actor);
    told.worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    told.worker_fixture.options.backoff =
        (struct weir_backoff){MS(100), MS(300), 2.0, 0.0};

    told_play_until(&told, WEIR_SECONDS(10));

    check_str(told.page.text, "start\n"
                              "idle\n"
                              "execute\n"
                              "error 1 in 7, back off 100: call 0 was told to fail\n"
                              "execute\n"
                              "error 2 in 30, back off 200: call 1 was told to fail\n"
                              "execute\n"
                              "error 3 in 0, back off 300: call 2 was told to fail\n"
                              "execute\n"
                              "complete in 0: proceed\n"
                              "execute\n"
                              "error 1 in 1, back off 100: call 4 was told to fail\n"
                              "execute\n"
                              "complete in 0: sleep\n"
                              "sleep 3600000\n"
                              "stop\n");
    worker_fixture_close(&told.worker_fixture);
}

static enum weir_status busy_without_words(struct weir_context *context, void *state,
                                           struct weir_directive *out,
                                           struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)out;
    (void)error;
    return WEIR_BUSY;
}

WEIR_TEST(listener, hears_the_status_s_own_text_when_the_error_has_none)
{
    struct actor actor = {ACTS(IDLE)};
    struct told told;
    told_open(&told, &actor);
    told.worker_fixture.options.action = busy_without_words;

    told_play_until(&told, MS(10));

    check(strstr(told.page.text, "error 1 in 0, back off 0: busy\n") != NULL);
    worker_fixture_close(&told.worker_fixture);
}

/* What an earlier execution left in the error is not repeated by the next. */
static enum weir_status words_once(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    int *calls = state;

    (void)context;
    (void)out;
    if ((*calls)++ == 0)
        return weir_error_set(error, WEIR_FAILED, "the first time");
    return WEIR_TIMEOUT;
}

WEIR_TEST(listener, hears_no_text_of_an_earlier_error)
{
    struct actor actor = {ACTS(IDLE)};
    struct told told;
    int calls = 0;
    told_open(&told, &actor);
    told.worker_fixture.options.action = words_once;
    told.worker_fixture.options.state = &calls;

    worker_fixture_play(&told.worker_fixture,
                        CUES({MS(5), cue_notify, told.worker_fixture.bell},
                             CANCEL_AT(told.worker_fixture, MS(10))));

    check(strstr(told.page.text, "error 1 in 0, back off 0: the first time\n") != NULL);
    check(strstr(told.page.text, "error 2 in 0, back off 0: timed out\n") != NULL);
    worker_fixture_close(&told.worker_fixture);
}

WEIR_TEST(listener, hears_a_panic_as_an_error)
{
    struct actor actor = {ACTS(PANIC, IDLE)};
    struct told told;
    told_open(&told, &actor);
    told.worker_fixture.options.on_panic = WEIR_ON_PANIC_RETRY;

    told_play_until(&told, MS(10));

    check_str(told.page.text,
              "start\n"
              "idle\n"
              "execute\n"
              "error 1 in 0, back off 0: panic: call 0 was told to panic\n"
              "idle\n"
              "stop\n");
    worker_fixture_close(&told.worker_fixture);
}

/* Under WEIR_ON_PANIC_END the error is the last that is heard. */
WEIR_TEST(listener, hears_of_no_stop_after_a_panic_that_ends_the_worker)
{
    struct actor actor = {ACTS(PANIC)};
    struct told told;
    told_open(&told, &actor);

    told_play_until(&told, MS(10));

    check_str(told.page.text,
              "start\n"
              "idle\n"
              "execute\n"
              "error 1 in 0, back off 0: panic: call 0 was told to panic\n");
    worker_fixture_close(&told.worker_fixture);
}

/* ---- reports ----------------------------------------------------------------------- */

static const struct weir_report_type COUNTS = {"counts"};
static const struct weir_report_type OTHER = {"other"};

struct counts {
    int messages;
    char words[32];
};

/* A listener that reads reports of one type. */
struct reader {
    struct weir_listener listener;
    const struct weir_report_type *type;
    int reports;
    int messages;
    char words[32];
};

static void read_report(void *state, const char *worker, int64_t elapsed_ns,
                        const struct weir_directive *directive)
{
    struct reader *self = state;
    const struct counts *counts = weir_directive_report(directive, self->type);

    (void)worker;
    (void)elapsed_ns;
    if (counts == NULL)
        return;
    self->reports++;
    self->messages += counts->messages;
    memcpy(self->words, counts->words, sizeof self->words);
}

static enum weir_status report_state(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)error;
    *out = weir_directive_with(weir_sleep_for(MS(10)), &COUNTS, state);
    return WEIR_OK;
}

static enum weir_status report_memory(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct counts *counts = weir_context_alloc(context, sizeof *counts);

    (void)state;
    if (counts == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "no memory for the report");
    *counts = (struct counts){.messages = 7, .words = "short-lived"};
    *out = weir_directive_with(weir_idle(), &COUNTS, counts);
    return WEIR_OK;
}

static void reader_open(struct reader *self, const struct weir_report_type *type)
{
    *self = (struct reader){.type = type};
    self->listener.state = self;
    self->listener.on_complete = read_report;
}

WEIR_TEST(listener, gets_the_report_of_a_directive)
{
    struct actor actor = {ACTS(IDLE)};
    struct counts counts = {.messages = 5, .words = "from the state"};
    struct reader reader;
    struct worker_fixture worker_fixture;
    reader_open(&reader, &COUNTS);
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.action = report_state;
    worker_fixture.options.state = &counts;
    worker_fixture.options.listeners = (const struct weir_listener *[]){&reader.listener};
    worker_fixture.options.listener_count = 1;

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, MS(25)))); /* at 0, 10 and 20 ms */

    check_int(reader.reports, 3);
    check_int(reader.messages, 15);
    check_str(reader.words, "from the state");
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(listener, gets_a_report_from_the_execution_s_own_memory)
{
    struct actor actor = {ACTS(IDLE)};
    struct reader readers[2];
    struct worker_fixture worker_fixture;
    reader_open(&readers[0], &COUNTS);
    reader_open(&readers[1], &COUNTS);
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.action = report_memory;
    worker_fixture.options.listeners =
        (const struct weir_listener *[]){&readers[0].listener, &readers[1].listener};
    worker_fixture.options.listener_count = 2;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    for (size_t i = 0; i < 2; i++) {
        check_int(readers[i].messages, 7);
        check_str(readers[i].words, "short-lived");
    }
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(listener, gets_no_report_of_another_type)
{
    struct actor actor = {ACTS(IDLE)};
    struct counts counts = {.messages = 5};
    struct reader reader;
    struct worker_fixture worker_fixture;
    reader_open(&reader, &OTHER);
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.action = report_state;
    worker_fixture.options.state = &counts;
    worker_fixture.options.listeners = (const struct weir_listener *[]){&reader.listener};
    worker_fixture.options.listener_count = 1;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(25))));

    check_int(reader.reports, 0);
    worker_fixture_close(&worker_fixture);
}

/* ---- permits and callbacks --------------------------------------------------------- */

/* A listener that looks at the gate whenever it hears something. */
struct watcher {
    struct weir_listener listener;
    struct weir_gate *gate;
    uint32_t inside_at_execute;
    uint32_t inside_at_complete;
    uint32_t inside_at_stop;
};

static void watch_execute(void *state, const char *worker)
{
    struct watcher *self = state;

    (void)worker;
    self->inside_at_execute = gate_now(self->gate).inside;
}

static void watch_complete(void *state, const char *worker, int64_t elapsed_ns,
                           const struct weir_directive *directive)
{
    struct watcher *self = state;

    (void)worker;
    (void)elapsed_ns;
    (void)directive;
    self->inside_at_complete = gate_now(self->gate).inside;
}

static void watch_stop(void *state, const char *worker)
{
    struct watcher *self = state;

    (void)worker;
    self->inside_at_stop = gate_now(self->gate).inside;
}

/* From before the execution until its result is told; a slow on_stop keeps nobody out.
 * The cancel comes while the action runs, so that the same run leads from one to the
 * other. */
WEIR_TEST(listener, hears_the_result_inside_the_gate_and_the_stop_outside)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct watcher watcher = {.gate = script_gate(&worker_fixture.script, 1),
                              .inside_at_stop = 99};
    watcher.listener = (struct weir_listener){
        .state = &watcher,
        .on_execute_start = watch_execute,
        .on_complete = watch_complete,
        .on_stop = watch_stop,
    };
    worker_fixture.options.shared = watcher.gate;
    worker_fixture.options.listeners =
        (const struct weir_listener *[]){&watcher.listener};
    worker_fixture.options.listener_count = 1;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(5))));

    check_int(actor.calls, 1);
    check_int(watcher.inside_at_execute, 1);
    check_int(watcher.inside_at_complete, 1);
    check_int(watcher.inside_at_stop, 0);
    worker_fixture_close(&worker_fixture);
}

static void ring_when_idle(void *state, const char *worker)
{
    (void)worker;
    weir_notifier_notify_one(state);
}

/* Callbacks come without a lock, so they may call the runtime; the signal is not lost. */
WEIR_TEST(listener, may_notify_its_own_worker)
{
    struct actor actor = {ACTS(IDLE, IDLE, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_notifier *silent = script_notifier(&worker_fixture.script);
    struct weir_listener listener = {.state = silent, .on_idle = ring_when_idle};
    worker_fixture.options.notifiers = &silent;
    worker_fixture.options.listeners = (const struct weir_listener *[]){&listener};
    worker_fixture.options.listener_count = 1;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 3);
    worker_fixture_close(&worker_fixture);
}

/* Cut each line of a page after its first word; numbers differ from run to run. */
static void first_words(struct page *page, char *out, size_t size)
{
    out[0] = '\0';
    for (char *line = strtok(page->text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t used = strlen(out);

        (void)snprintf(out + used, size - used, "%.*s ", (int)strcspn(line, " "), line);
    }
}

WEIR_TEST(listener, hears_every_event_in_order_on_threads_too)
{
    struct actor actor = {ACTS(PROCEED, SLEEP(0), ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    struct page page = {.size = 0};
    struct event_recorder event_recorder;
    const struct weir_listener *listeners[] = {
        event_recorder_open(&event_recorder, "", &page)};
    char words[256];
    worker_fixture_open(&worker_fixture, ON_THREADS, &actor);
    worker_fixture.options.backoff = (struct weir_backoff){MS(1), MS(1), 1.0, 0.0};
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.listeners = listeners;
    worker_fixture.options.listener_count = 1;
    worker_fixture_spawn(&worker_fixture);

    while (atomic_load(&actor.calls) < 4 ||
           worker_fixture_read(&worker_fixture).state != WEIR_WORKER_SLEEPING)
        (void)sched_yield();
    check_int(weir_ward_stop(worker_fixture.script.ward, LONG), 0);

    first_words(&page, words, sizeof words);
    check_str(words, "start idle execute complete execute complete sleep execute error "
                     "execute complete sleep stop ");
    worker_fixture_close(&worker_fixture);
}
